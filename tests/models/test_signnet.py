"""SignNet beside its loop, in training too; which functions it can be; the published encoder."""

from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gtcourse.graphs import collate
from gtcourse.models import SignNet, SignNetConfig
from tests.graphs.small import graph_of, graphs
from tests.loops.signnet import signnet_loop
from tests.models.small import in_use, load, reference

SMALL = SignNetConfig(
    k=3, d_model=5, phi_layers=2, phi_hidden=6, phi_out=2, rho_layers=2, rho_hidden=7
)
KINDS = [replace(SMALL, phi=phi, rho=rho) for phi, rho in product(("gin", "mlp"), ("mlp", "sum"))]
EVERY_KIND = pytest.mark.parametrize("config", KINDS, ids=lambda c: f"{c.phi}-{c.rho}")
EVERY_MODE = pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])


def signnet(config: SignNetConfig = SMALL, training: bool = False) -> SignNet:
    return in_use(SignNet(config)).train(training)


@torch.no_grad()
def encoded(model: SignNet, batch, vectors):
    """The encoding, with the running statistics put back."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    out = model.encode(vectors, batch.adjacency, batch.mask)
    model.load_state_dict(state)
    return out


def assert_close(got, expected):
    torch.testing.assert_close(got, expected, atol=1e-10, rtol=0)


def with_padding_columns(graph, width: int):
    """The graph with zeros after so many eigenvectors, as a small graph has them."""
    graph.laplacian_eigenvectors = graph.laplacian_eigenvectors.clone()
    graph.laplacian_eigenvectors[:, width:] = 0
    return graph


@pytest.mark.holds("CS224W, S14")
@EVERY_KIND
@EVERY_MODE
@given(
    graphs=st.lists(graphs(max_nodes=5), min_size=1, max_size=3),
    widths=st.lists(st.integers(0, 3), min_size=3, max_size=3),
)
def test_signnet_equals_loop(config, training, graphs, widths):
    model = signnet(config, training)
    graphs = [with_padding_columns(g, w) for g, w in zip(graphs, widths, strict=False)]
    batch = collate(graphs)
    pairs = [
        (graph.laplacian_eigenvectors.double(), batch.adjacency[g, : len(graph.x), : len(graph.x)])
        for g, graph in enumerate(graphs)
    ]
    got = encoded(model, batch, batch.encodings["laplacian_eigenvectors"].double())
    for g, right in enumerate(signnet_loop(model, pairs, training)):
        assert_close(got[g, : len(right)], right)
        assert (got[g, len(right) :] == 0).all()


@pytest.mark.holds("CS224W, S13")
@given(
    numbers=st.lists(st.floats(-3, 3), min_size=5, max_size=5).filter(any),
    powers=st.lists(st.floats(-2, 2), min_size=5, max_size=5),
)
def test_functions_are_even_iff_they_are_phi_of_v_plus_phi_of_minus_v(numbers, powers):
    v = torch.tensor(numbers, dtype=torch.float64).view(1, 5, 1)

    def encoding(phi, v):
        """Of SignNet for a single eigenvector, with this phi and nothing after it."""
        model = signnet(replace(SMALL, k=1))
        model.phi.forward = lambda vectors, real, adjacency: (phi(vectors) * real)[..., None]
        model.rho.forward = lambda rows: rows
        return model.encode(v, torch.zeros(1, 5, 5).bool(), torch.ones(1, 5).bool())

    def any_function(v):
        return sum(c * v**n for n, c in enumerate(powers)) + torch.exp(v)

    def even_function(v):
        return sum(c * v.abs() ** n for n, c in enumerate(powers)) + torch.cos(v)

    got = encoding(any_function, v)  # whatever phi is, the sum is even ...
    assert_close(got, any_function(v) + any_function(-v))
    assert_close(encoding(any_function, -v), got)
    half = encoding(lambda v: even_function(v) / 2, v)  # ... and half of f will do as phi
    assert_close(half, even_function(v))


@pytest.mark.holds("CS224W, S14")
@given(seed=st.integers(0, 10_000))
def test_sign_invariant_functions_of_two_unit_vectors_are_signnets(seed):
    generator = torch.Generator().manual_seed(seed)
    numbers = torch.randn(5, 2, generator=generator, dtype=torch.float64)
    U = torch.linalg.qr(numbers).Q  # [5, 2]

    def invariant(u, v):
        return u[0] * u[1] * v[2] * v[3] + (u @ v.abs()) ** 2 - v.abs().max()

    def up_to_signs(row):
        """The two vectors of a node's rows of u uᵀ and v vᵀ, each u or -u."""
        return nn.functional.normalize(row.view(2, 5), dim=1)

    def combined(rows):
        return torch.stack([invariant(*up_to_signs(row)) for row in rows])[:, None]

    model = signnet(replace(SMALL, k=2))
    model.phi.forward = lambda u, real, adjacency: torch.einsum("bim,bjm->bimj", u, u) / 2
    model.rho.forward = combined
    for signs in product((1.0, -1.0), repeat=2):
        vectors = (U * torch.tensor(signs))[None]
        got = model.encode(vectors, torch.zeros(1, 5, 5).bool(), torch.ones(1, 5).bool())
        assert_close(got[0, :, 0], invariant(*U.T).expand(5))


@EVERY_KIND
@EVERY_MODE
def test_signnet_is_invariant_to_all_sign_patterns_of_six_eigenvectors(config, training):
    model = signnet(replace(config, k=6), training)
    batch = collate([graph_of(7, [(i, (i + 1) % 7) for i in range(7)]), graph_of(5, [(0, 1)])])
    vectors = torch.randn(2, 7, 6, dtype=torch.float64) * batch.mask[:, :, None]
    expected = encoded(model, batch, vectors)
    for pattern in product((1.0, -1.0), repeat=6):
        signs = torch.ones(2, 1, 6, dtype=torch.float64)
        signs[1] = torch.tensor(pattern)  # the signs of one graph alone
        assert_close(encoded(model, batch, vectors * signs), expected)
        assert_close(encoded(model, batch, vectors * signs.flip(0)), expected)


def test_gin_phi_distinguishes_relative_signs_and_mlp_phi_does_not():
    batch = collate([graph_of(4, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)])])
    vectors = torch.tensor([[[0.5], [0.3], [-0.3], [-0.5]]], dtype=torch.float64)
    for phi, same in (("mlp", True), ("gin", False)):
        model = signnet(replace(SMALL, k=1, phi=phi))
        one, other = (encoded(model, batch, v) for v in (vectors, vectors.abs()))
        assert torch.allclose(one, other, atol=1e-10) == same


def test_zinc_model_has_the_authors_parameter_count():
    """91,604 with 16 eigenvectors, where the last map of their rho goes to 16 numbers."""
    config = SignNetConfig(k=16, d_model=16)
    assert sum(p.numel() for p in SignNet(config).parameters()) == 91_604


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("mlp_rho", {"k": 4, "rho": "mlp", "phi_out": 3, "rho_layers": 2}),
        ("deepset", {"k": None, "rho": "sum", "phi_out": 6, "rho_layers": 3}),
    ],
)
def test_encoding_equals_the_authors_code(name, sizes):
    config = SignNetConfig(d_model=5, phi="gin", phi_layers=3, phi_hidden=8, rho_hidden=8, **sizes)
    model = SignNet(config).double().eval()
    stored = reference("signnet")

    def load_norm(norm: nn.BatchNorm1d, array: str) -> None:
        gain, bias, mean, variance = stored(f"{name}/{array}(gain,bias,mean,var)").double()
        load(norm, gain, bias)
        norm.running_mean = mean
        norm.running_var = variance

    def load_mlp(layers: nn.Sequential, array: str) -> None:
        """Linear, ReLU, batch norm, …: the n-th of each kind is stored as ``lin<n>``, ``bn<n>``."""
        for number, linear in enumerate(m for m in layers if isinstance(m, nn.Linear)):
            weight = stored(f"{name}/{array}/lin{number}_W[in,out]").double().T.contiguous()
            load(linear, weight, stored(f"{name}/{array}/lin{number}_b").double())
        for number, norm in enumerate(m for m in layers if isinstance(m, nn.BatchNorm1d)):
            load_norm(norm, f"{array}/bn{number}")

    for number, layer in enumerate(model.phi.layers):
        load_mlp(layer, f"phi/gin{number}")
    for number, norm in enumerate(model.phi.norms):
        load_norm(norm, f"phi/between_bn{number}")
    load_mlp(model.rho, "rho")
    mask = torch.arange(9) < stored("in_num_nodes")[:, None]
    vectors = torch.zeros(2, 9, 9, dtype=torch.float64)
    vectors[mask] = stored("in_eigvecs[total_nodes,9](zero padded)").double()
    got = model.encode(vectors[..., : config.k], stored("in_adjacency").bool(), mask)
    torch.testing.assert_close(got[mask], stored(f"{name}/out"), rtol=0, atol=1e-9)
