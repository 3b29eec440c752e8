from dataclasses import replace
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.graphs import collate
from gtcourse.models import (
    SignNet,
    SignNetConfig,
)
from gtcourse.models.embeddings import FlatBatchNorm
from tests.graphs.random_graphs import graph_of, graphs
from tests.loops.signnet import signnet_loop

SMALL = SignNetConfig(
    k=3, d_model=5, phi_layers=2, phi_hidden=6, phi_out=2, rho_layers=2, rho_hidden=7
)
KINDS = [replace(SMALL, phi=phi, rho=rho) for phi, rho in product(("gin", "mlp"), ("mlp", "sum"))]
kinds = pytest.mark.parametrize("config", KINDS, ids=lambda c: f"{c.phi}-{c.rho}")
modes = pytest.mark.parametrize("training", [False, True], ids=["eval", "train"])


def signnet(config: SignNetConfig = SMALL, training: bool = False, seed: int = 0) -> SignNet:
    """With running statistics and scales that are not those of a new normalisation."""
    torch.manual_seed(seed)
    model = SignNet(config).double().train(training)
    for module in model.modules():
        if isinstance(module, FlatBatchNorm):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            torch.nn.init.uniform_(module.weight, 0.5, 2)
            torch.nn.init.normal_(module.bias)
    return model


def encoded(model: SignNet, batch, vectors=None):
    """Without leaving a trace in the running statistics."""
    state = {name: value.clone() for name, value in model.state_dict().items()}
    if vectors is None:
        vectors = batch.encodings["laplacian_eigenvectors"].double()
    with torch.no_grad():
        out = model.encode(vectors, batch.adjacency, batch.mask)
    model.load_state_dict(state)
    return out


def assert_close(got, expected):
    torch.testing.assert_close(got, expected, atol=1e-10, rtol=0)


def with_padding_columns(graph, width: int):
    """The graph with its last eigenvectors replaced by padding, as a small graph has it."""
    graph.laplacian_eigenvectors = graph.laplacian_eigenvectors.clone()
    graph.laplacian_eigenvectors[:, width:] = 0
    return graph


@pytest.mark.holds("CS224W, S14")
@kinds
@modes
@given(
    graphs=st.lists(graphs(max_nodes=5), min_size=1, max_size=3),
    widths=st.lists(st.integers(0, 3), min_size=3, max_size=3),
)
def test_signnet_equals_the_loop_over_graphs_eigenvectors_signs_and_nodes(
    config, training, graphs, widths
):
    model = signnet(config, training)
    graphs = [with_padding_columns(g, w) for g, w in zip(graphs, widths, strict=False)]
    batch = collate(graphs)
    pairs = [
        (graph.laplacian_eigenvectors.double(), batch.adjacency[g, : len(graph.x), : len(graph.x)])
        for g, graph in enumerate(graphs)
    ]
    expected = signnet_loop(model, pairs, training)
    got = encoded(model, batch)
    for g, right in enumerate(expected):
        assert_close(got[g, : len(right)], right)
        assert (got[g, len(right) :] == 0).all()


class Entrywise(torch.nn.Module):
    """A phi that is any function of a number."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, vectors, real, adjacency):
        return (self.function(vectors) * real)[..., None]


def of_one_eigenvector(function) -> SignNet:
    """SignNet for a single eigenvector, with this phi and nothing after it."""
    model = signnet(replace(SMALL, k=1))
    model.phi, model.rho = Entrywise(function), torch.nn.Identity()
    model.register_parameter("precision", torch.nn.Parameter(torch.zeros(1).double()))
    return model


@pytest.mark.holds("CS224W, S13")
@given(
    numbers=st.lists(st.floats(-3, 3), min_size=5, max_size=5),
    powers=st.lists(st.floats(-2, 2), min_size=5, max_size=5),
)
def test_a_function_is_even_if_and_only_if_it_is_phi_of_v_plus_phi_of_minus_v(numbers, powers):
    vectors = torch.tensor(numbers, dtype=torch.float64).view(1, 5, 1)
    path = torch.zeros(1, 5, 5).bool()
    everyone = torch.ones(1, 5).bool()

    def any_function(v):
        return sum(c * v**n for n, c in enumerate(powers)) + torch.exp(v)

    def even_function(v):
        return sum(c * v.abs() ** n for n, c in enumerate(powers)) + torch.cos(v)

    f = of_one_eigenvector(any_function)  # whatever phi is, the sum is even ...
    got = f.encode(vectors, path, everyone)[0, :, 0]
    for i, v in enumerate(vectors[0, :, 0]):
        nothing = not any(numbers)  # a column of zeros is padding, and no eigenvector
        expected = 0 * v if nothing else any_function(v) + any_function(-v)
        assert_close(got[i], expected)
    assert_close(f.encode(-vectors, path, everyone)[0, :, 0], got)
    half = of_one_eigenvector(lambda v: even_function(v) / 2)  # ... and half of f will do as phi
    if any(numbers):
        assert_close(half.encode(vectors, path, everyone), even_function(vectors))


@kinds
@modes
def test_none_of_the_sign_patterns_of_six_eigenvectors_changes_anything(config, training):
    model = signnet(replace(config, k=6), training)
    batch = collate([graph_of(7, [(i, (i + 1) % 7) for i in range(7)]), graph_of(5, [(0, 1)])])
    vectors = torch.randn(2, 7, 6, dtype=torch.float64) * batch.mask[:, :, None]
    reference = encoded(model, batch, vectors)
    for pattern in product((1.0, -1.0), repeat=6):
        signs = torch.ones(2, 1, 6, dtype=torch.float64)
        signs[1] = torch.tensor(pattern)  # one graph's signs alone: the other must not notice
        assert_close(encoded(model, batch, vectors * signs), reference)
        assert_close(encoded(model, batch, vectors * signs.flip(0)), reference)


@kinds
def test_training_statistics_are_those_of_real_rows_alone(config):
    graphs = [with_padding_columns(graph_of(2, [(0, 1), (1, 0)]), 2), graph_of(5, [(0, 1), (1, 2)])]
    tight, wide = (signnet(config, training=True) for _ in range(2))
    for model, nodes in ((tight, 5), (wide, 9)):
        batch = collate(graphs, num_nodes=nodes)
        model.encode(batch.encodings["laplacian_eigenvectors"], batch.adjacency, batch.mask)
    assert len(tight.state_dict()) > 4
    for name, value in tight.state_dict().items():
        torch.testing.assert_close(wide.state_dict()[name], value, atol=1e-10, rtol=0)


@pytest.mark.parametrize("phi", ["gin", "mlp"])
def test_a_sum_takes_any_number_and_any_order_of_eigenvectors(phi):
    model = signnet(replace(SMALL, k=None, phi=phi, rho="sum"))
    batch = collate([graph_of(6, [(i, i + 1) for i in range(5)])])
    vectors = torch.randn(1, 6, 9, dtype=torch.float64)
    all_nine = encoded(model, batch, vectors)
    assert_close(encoded(model, batch, vectors[..., torch.randperm(9)]), all_nine)
    padded = torch.cat([vectors, torch.zeros(1, 6, 4)], dim=-1)
    assert_close(encoded(model, batch, padded), all_nine)
    assert not torch.allclose(encoded(model, batch, vectors[..., :8]), all_nine)


def test_gin_separates_equal_from_opposite_signs_and_an_mlp_does_not():
    batch = collate([graph_of(4, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)])])
    vectors = torch.tensor([[[0.5], [0.3], [-0.3], [-0.5]]], dtype=torch.float64)
    other = vectors.abs()
    for phi, same in (("mlp", True), ("gin", False)):
        model = signnet(replace(SMALL, k=1, phi=phi))
        gap = (encoded(model, batch, vectors) - encoded(model, batch, other)).abs().max()
        assert (gap < 1e-10) == same


def test_the_authors_size_for_zinc_has_their_number_of_parameters():
    """91,604 with 16 eigenvectors, where the last map of their rho goes to 16 numbers."""
    config = SignNetConfig(k=16, d_model=16)
    assert sum(p.numel() for p in SignNet(config).parameters()) == 91_604
