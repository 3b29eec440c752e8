"""EGT's layer beside the values of its authors' module."""

from pathlib import Path

import numpy as np
import pytest
import torch

from gtcourse.models import EGTLayer

REFERENCE = np.load(Path(__file__).parents[1] / "reference" / "egt.npz")
RUNS = {
    "plain": {},
    "degree": {"degree_scaler": True},
    "degree_vn2": {"degree_scaler": True, "virtual_nodes": 2},
    "unscaled_dot": {"scaled": False},
    "no_edge_update": {"update_edges": False},
}
PRECISION = pytest.mark.parametrize(
    ("dtype", "atol"), [(torch.float64, 1e-9), (torch.float32, 1e-5)]
)


def stored(name: str) -> torch.Tensor:
    return torch.from_numpy(REFERENCE[name])


def layer_of(run: str) -> EGTLayer:
    layer = EGTLayer(16, 8, 4, **RUNS[run])
    # Per head [head, in, width] and [head, width]; ours are [(q k v) head width, in].
    qkv = [stored(f"W_{symbol}").transpose(1, 2).flatten(0, 1) for symbol in "QKV"]
    biases = [stored(f"b_{symbol}").flatten() for symbol in "QKV"]
    load(layer.attention.qkv, torch.cat(qkv), torch.cat(biases))
    load(layer.attention.output, stored("W_O_h").flatten(0, 1).T, stored("b_O_h"))
    weights = torch.cat([stored("W_E").T, stored("W_G").T])
    load(layer.attention.edge_input, weights, torch.cat([stored("b_E"), stored("b_G")]))
    for kind, part in (("h", "node"), ("e", "edge")):
        load_norm(getattr(layer, f"{part}_norm"), f"LN1_{kind}")
        if part == "edge" and not layer.update_edges:
            continue
        norm, first, _, second = getattr(layer, f"{part}_network")
        load_norm(norm, f"LN2_{kind}")
        load(first, stored(f"FFN_{kind}_W1").T, stored(f"FFN_{kind}_b1"))
        load(second, stored(f"FFN_{kind}_W2").T, stored(f"FFN_{kind}_b2"))
    if layer.update_edges:
        load(layer.edge_output, stored("W_O_e").T, stored("b_O_e"))
    return layer


def load(module: torch.nn.Module, weight: torch.Tensor, bias: torch.Tensor) -> None:
    assert module.weight.shape == weight.shape
    module.weight.data, module.bias.data = weight, bias


def load_norm(module: torch.nn.Module, name: str) -> None:
    load(module, stored(f"{name}_gain"), stored(f"{name}_bias"))


@PRECISION
@pytest.mark.parametrize("run", RUNS)
def test_the_layer_is_the_published_one(run, dtype, atol):
    layer, pairs = layer_of(run).to(dtype), stored("mask_additive")[..., 0] == 0
    real = pairs.any(-1)
    assert not real.all()
    h, e = layer(stored("in_h").to(dtype), stored("in_e").to(dtype), mask=pairs)
    close = {"rtol": 0, "atol": atol}
    torch.testing.assert_close(h[real], stored(f"{run}/out_h").to(dtype)[real], **close)
    wanted = "in_e" if run == "no_edge_update" else f"{run}/out_e"
    torch.testing.assert_close(e[pairs], stored(wanted).to(dtype)[pairs], **close)
    if run == "no_edge_update":
        assert torch.equal(stored(f"{run}/out_e"), stored("in_e"))
