"""SignNet with the published modules' weights gives the published modules' encodings."""

from pathlib import Path

import numpy as np
import pytest
import torch

from gtcourse.models import SignNet, SignNetConfig

REFERENCE = np.load(Path(__file__).parents[1] / "reference" / "signnet.npz")


def stored(name: str) -> torch.Tensor:
    return torch.from_numpy(REFERENCE[name])


def load_mlp(layers: torch.nn.Sequential, name: str) -> None:
    """Linear, ReLU, batch norm, …: the n-th of each kind is stored as ``lin<n>``, ``bn<n>``."""
    linears = [layer for layer in layers if isinstance(layer, torch.nn.Linear)]
    norms = [layer for layer in layers if isinstance(layer, torch.nn.BatchNorm1d)]
    for number, linear in enumerate(linears):
        linear.weight.data = stored(f"{name}/lin{number}_W[in,out]").double().T.contiguous()
        linear.bias.data = stored(f"{name}/lin{number}_b").double()
    for number, norm in enumerate(norms):
        load_norm(norm, f"{name}/bn{number}")


def load_norm(norm: torch.nn.BatchNorm1d, name: str) -> None:
    gain, bias, mean, variance = stored(f"{name}(gain,bias,mean,var)").double()
    norm.weight.data, norm.bias.data = gain, bias
    norm.running_mean, norm.running_var = mean, variance


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("mlp_rho", {"k": 4, "rho": "mlp", "phi_out": 3, "rho_layers": 2}),
        ("deepset", {"k": None, "rho": "sum", "phi_out": 6, "rho_layers": 3}),
    ],
)
def test_the_encoding_is_the_published_one(name, sizes):
    config = SignNetConfig(d_model=5, phi="gin", phi_layers=3, phi_hidden=8, rho_hidden=8, **sizes)
    model = SignNet(config).double().eval()
    for number, layer in enumerate(model.phi.layers):
        load_mlp(layer, f"{name}/phi/gin{number}")
    for number, norm in enumerate(model.phi.norms):
        load_norm(norm, f"{name}/phi/between_bn{number}")
    load_mlp(model.rho, f"{name}/rho")

    mask = torch.arange(9) < stored("in_num_nodes")[:, None]
    vectors = torch.zeros(2, 9, 9, dtype=torch.float64)
    vectors[mask] = stored("in_eigvecs[total_nodes,9](zero padded)").double()
    got = model.encode(vectors[..., : config.k], stored("in_adjacency").bool(), mask)
    torch.testing.assert_close(got[mask], stored(f"{name}/out"), rtol=0, atol=1e-9)
    assert got[~mask].abs().sum() == 0
