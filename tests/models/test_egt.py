"""EGT's attention, start and layer; the whole model stands beside its loop in ``properties``."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from gtcourse import collate
from gtcourse.models import EGT, EGTAttention, EGTConfig, EGTLayer
from tests.graphs.small import graph_of
from tests.models.small import EGTS, PRECISIONS, encoded, large_weights, load, reference


@pytest.mark.parametrize("config", [c for c in EGTS.values() if c.num_node_types == (28,)])
def test_every_parameter_has_a_gradient(config):
    two = encoded(graph_of(4, [(0, 1), (1, 2)]), graph_of(3, [(0, 2), (2, 1)], seed=3))
    model = large_weights(EGT(config))
    *results, _ = model(
        collate(two), return_distances=config.distance_hops > 0, return_attention=True
    )
    sum(result.square().sum() for result in results).backward()
    without = {n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()}
    assert without == unread(model)


def unread(model: EGT) -> set[str]:
    """Values and gates of a last layer whose nodes no head reads, which the authors have too."""
    if model.node_norm is not None:
        return set()
    last = f"layers.{model.config.num_layers - 1}.attention"
    maps = ("value", "edge_gate") if model.config.gated else ("value",)
    return {f"{last}.{name}.{part}" for name in maps for part in ("weight", "bias")}


OLD_NAMES = {
    "node_ffn.": "node_network.",
    "edge_ffn.": "edge_network.",
    "input.features.weight": "input.features.table.weight",
    "virtual_nodes.pairs.weight": "edge_input.virtual",
    "virtual_nodes.nodes.weight": "virtual_nodes",
}
FUSED = {"qkv": ("query", "key", "value"), "edge_input": ("edge_bias", "edge_gate")}


def as_in_release_0_2(model: EGT) -> dict[str, torch.Tensor]:
    """A model's weights under their old names, with several maps in one."""
    state = model.state_dict()
    for layer in range(model.config.num_layers):
        for fused, names in FUSED.items():
            for kind in ("weight", "bias"):
                maps = [f"layers.{layer}.attention.{name}.{kind}" for name in names]
                found = [state.pop(name) for name in maps if name in state]
                state[f"layers.{layer}.attention.{fused}.{kind}"] = torch.cat(found)
    for new, old in OLD_NAMES.items():
        state = {name.replace(new, old): values for name, values in state.items()}
    return state


@torch.no_grad()
@pytest.mark.parametrize("config", [EGTS["graph"], replace(EGTS["graph"], gated=False)])
def test_weights_of_release_0_2_are_read(config):
    config = replace(config, virtual_nodes=2)
    model = large_weights(EGT(config)).eval()
    old = as_in_release_0_2(model)
    assert {"virtual_nodes", "edge_input.virtual", "layers.0.attention.qkv.bias"} <= old.keys()
    assert not old.keys() & {"node_input.features.weight", "layers.0.attention.query.weight"}
    read = EGT(config).double().eval()
    read.load_state_dict(old)
    batch = collate(encoded(graph_of(4, [(0, 1), (1, 2)])))
    assert torch.equal(read(batch), model(batch))


def test_dot_product_is_clipped_before_the_edge_bias_is_added():
    attention = large_weights(EGTAttention(8, 6, 2, clip=0.5))
    h = 100 * torch.randn(1, 3, 8).double()
    e = torch.zeros(1, 3, 3, 6).double()
    attention.edge_bias.bias.data = torch.tensor([9.0, -9]).double()
    _, logits = attention(h, e)
    assert logits[..., 0].max().item() == 9.5
    assert logits[..., 1].min().item() == -9.5


def test_initial_weights_have_the_authors_distribution():
    torch.manual_seed(0)
    config = EGTConfig((400,), num_edge_types=(400,), svd_rank=8, virtual_nodes=8, distance_hops=3)
    for name, module in EGT(config).named_modules():
        if isinstance(module, nn.Embedding):
            expected = 0.05 / 3**0.5
        elif isinstance(module, nn.Linear) and min(module.weight.shape) > 2:
            fused = name.endswith(("query", "key", "value"))  # one map of 3 d in the authors' code
            expected = (2 / (sum(module.weight.shape) + 2 * fused * 64)) ** 0.5
            assert not module.bias.any(), name
        else:
            continue
        assert float(module.weight.detach().std()) == pytest.approx(expected, rel=0.2), name


def test_bias_and_gate_maps_are_initialised_separately():
    """Glorot's bound of one map to H outputs, for E and for G, as in the authors' code."""
    torch.manual_seed(0)
    model = EGT(EGTConfig(d_model=256, d_edge=256, num_heads=64, num_layers=2))
    bound = (6 / (256 + 64)) ** 0.5
    for layer in model.layers:
        for term in (layer.attention.edge_bias, layer.attention.edge_gate):
            assert 0.99 * bound < float(term.weight.detach().abs().max()) <= bound


RUNS = {"plain": {}, "unscaled_dot": {"scaled": False}, "no_edge_update": {"update_edges": False}}


@PRECISIONS
@pytest.mark.parametrize("run", RUNS)
def test_layer_equals_the_authors_code(run, dtype, atol):
    stored = reference("egt")
    layer = published(stored, RUNS[run]).to(dtype)
    pairs = stored("mask_additive")[..., 0] == 0
    real = pairs.any(-1)
    assert not real.all()
    h, e = layer(stored("in_h").to(dtype), stored("in_e").to(dtype), mask=pairs)
    close = {"rtol": 0, "atol": atol}
    torch.testing.assert_close(h[real], stored(f"{run}/out_h").to(dtype)[real], **close)
    torch.testing.assert_close(e[pairs], stored(f"{run}/out_e").to(dtype)[pairs], **close)


def published(stored, options: dict) -> EGTLayer:
    layer = EGTLayer(16, 8, 4, **options)
    # Per head [head, in, width] and [head, width]; ours are [(q k v) head width, in].
    for symbol, name in (("Q", "query"), ("K", "key"), ("V", "value")):
        weight = stored(f"W_{symbol}").transpose(1, 2).flatten(0, 1)
        load(getattr(layer.attention, name), weight, stored(f"b_{symbol}").flatten())
    load(layer.attention.output, stored("W_O_h").flatten(0, 1).T, stored("b_O_h"))
    load(layer.attention.edge_bias, stored("W_E").T, stored("b_E"))
    load(layer.attention.edge_gate, stored("W_G").T, stored("b_G"))
    parts = {"h": "node", "e": "edge"} if layer.update_edges else {"h": "node"}
    for kind, part in parts.items():
        norm, first, _, second = getattr(layer, f"{part}_ffn")
        load(norm, stored(f"LN2_{kind}_gain"), stored(f"LN2_{kind}_bias"))
        load(first, stored(f"FFN_{kind}_W1").T, stored(f"FFN_{kind}_b1"))
        load(second, stored(f"FFN_{kind}_W2").T, stored(f"FFN_{kind}_b2"))
    load(layer.node_norm, stored("LN1_h_gain"), stored("LN1_h_bias"))
    load(layer.edge_norm, stored("LN1_e_gain"), stored("LN1_e_bias"))
    if layer.update_edges:
        load(layer.edge_output, stored("W_O_e").T, stored("b_O_e"))
    return layer
