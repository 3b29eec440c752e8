"""From a batch to vectors: encodings added to the nodes, their signs, norms of padded nodes."""

from itertools import combinations, product

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn

from gtcourse import models
from gtcourse.encodings.spectral import laplacian_eigenvectors
from gtcourse.graphs import collate
from gtcourse.models.batch_norm import NodeBatchNorm
from gtcourse.models.egt import flip_nodes, flip_pairs
from gtcourse.models.signnet import flip_signs
from tests.graphs.small import graph_of
from tests.loops.encodings import laplacian_loop


def batch_with(**columns):
    """Graphs of three nodes and of one, with random encodings of so many columns."""
    graphs = [graph_of(3, [(0, 1), (1, 2)]), graph_of(1, [])]
    generator = torch.Generator().manual_seed(0)
    for graph in graphs:
        n = len(graph.x)
        del graph.laplacian_eigenvectors
        for name, width in columns.items():
            shape = (n, n, width) if name == "random_walks" else (n, width)
            graph[name] = torch.randn(shape, generator=generator, dtype=torch.float64)
    return collate(graphs)


@pytest.mark.holds("GRPE, Eq. 5")
@pytest.mark.parametrize(
    ("module", "name"),
    [
        (models.LaplacianEncoding(4, 5), "laplacian_eigenvectors"),
        (models.WalkEncoding(4, 5), "rwse"),
        (models.WalkEncoding(4, 5), "random_walks"),
        (models.SVDEncoding(2, 5), "svd"),
    ],
)
def test_node_encodings_are_linear_in_the_nodes_own_row(module, name):
    batch = batch_with(**{name: 4})
    weight = module.projection.weight.double()
    bias = module.projection.bias.double()
    got = module.double()(batch)
    assert got.shape == (2, 3, 5)
    for graph, node in batch.mask.nonzero().tolist():
        row = batch.encodings[name][graph, node]
        row = row[node] if name == "random_walks" else row  # returns are the diagonal
        expected = torch.stack([(weight[c] * row).sum() + bias[c] for c in range(5)])
        torch.testing.assert_close(got[graph, node], expected, atol=1e-10, rtol=0)


def drawn(flip, width: int, graphs: int = 2000):
    """Each graph's signs, ``[B, width]``, of three nodes that must agree on them."""
    vectors = torch.rand(graphs, 3, width, generator=torch.Generator().manual_seed(0)) + 0.5
    torch.manual_seed(1)
    signs = flip(vectors) / vectors
    assert ((signs.abs() - 1).abs() < 1e-6).all()
    assert (signs.round() == signs.round()[:, :1]).all()
    return signs[:, 0].round()


def test_random_signs_are_independent_for_each_graph_and_eigenvector():
    signs = drawn(flip_signs, 3)
    assert len(signs.unique(dim=0)) == 8
    assert signs.mean(dim=0).abs().max() < 0.1
    assert (signs.T @ signs / len(signs) - torch.eye(3)).abs().max() < 0.1


def test_left_and_right_singular_vectors_flip_together():
    signs = drawn(flip_pairs, 4)
    assert torch.equal(signs[:, :2], signs[:, 2:])
    assert len(signs.unique(dim=0)) == 4


def test_flipping_a_nodes_sign_changes_the_products_of_egts_eq_8():
    svd = torch.rand(500, 3, 4, generator=torch.Generator().manual_seed(0)) + 0.5
    torch.manual_seed(1)
    flipped = flip_nodes(svd)
    signs = (flipped / svd).round()
    assert (signs == signs[..., :1]).all()
    assert len(signs[..., 0].unique(dim=0)) == 8
    products, before = (s[..., :2] @ s[..., 2:].mT for s in (flipped, svd))
    torch.testing.assert_close(products.abs(), before)
    assert not torch.allclose(products, before)
    paired = flip_pairs(svd)
    torch.testing.assert_close(paired[..., :2] @ paired[..., 2:].mT, before)


@pytest.mark.parametrize(
    "module",
    [
        models.LaplacianEncoding(4, 5, True),
        models.LaplacianEncoding(4, 5, "batch"),
        models.SVDEncoding(2, 5, "pairs"),
        models.SVDEncoding(2, 5, "nodes"),
    ],
)
def test_signs_are_flipped_only_in_training(module):
    batch = batch_with(laplacian_eigenvectors=4, svd=4)
    module.double().train()
    torch.manual_seed(0)
    assert not torch.equal(module(batch), module(batch))
    module.eval()
    assert torch.equal(module(batch), module(batch))
    module.flip_signs = False
    assert torch.equal(module(batch), module.train()(batch))


def test_signs_can_be_shared_by_all_graphs_of_a_batch():
    batch = batch_with(laplacian_eigenvectors=4)
    vectors = batch.encodings["laplacian_eigenvectors"]
    encoding = models.LaplacianEncoding(4, 4, "batch").double()
    with torch.no_grad():
        encoding.projection.weight.copy_(torch.eye(4)), encoding.projection.bias.zero_()
    torch.manual_seed(0)
    patterns = set()
    for _ in range(100):
        signs = encoding(batch)[batch.mask] / vectors[batch.mask]
        torch.testing.assert_close(signs, signs[:1].sign().expand_as(signs))
        patterns.add(tuple(signs[0].round().tolist()))
    assert len(patterns) == 16


@pytest.mark.holds("CS224W, S12")
def test_k_eigenvectors_have_2_to_the_k_sign_choices_with_different_predictions():
    """On a tree in which no two nodes are alike, so that no sign is another numbering."""
    torch.manual_seed(0)
    config = models.BagTransformerConfig(d_model=8, num_heads=2, d_hidden=8)
    K = 3
    model = models.BagTransformer(config, models.LaplacianEncoding(K, 8)).double().eval()
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (2, 6)]
    graph = graph_of(7, edges + [(j, i) for i, j in edges])
    values, vectors = laplacian_eigenvectors(collate([graph]).adjacency)
    values = values[0, 1 : K + 1]
    vectors = vectors[0, :, 1 : K + 1]
    L = laplacian_loop(graph, "combinatorial")
    predictions = []
    patterns = set(product((1.0, -1.0), repeat=K))
    for pattern in patterns:
        graph.laplacian_eigenvectors = vectors * torch.tensor(pattern)
        signed = graph.laplacian_eigenvectors
        torch.testing.assert_close(L @ signed, signed * values, rtol=0, atol=1e-10)
        predictions.append(float(model(collate([graph])).detach()))
    assert min(abs(one - other) for one, other in combinations(predictions, 2)) > 1e-6
    signs = flip_signs(vectors.expand(50, -1, -1)) / vectors
    assert {tuple(row) for row in signs[:, 0].round().tolist()} == patterns


def padded(sizes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    h = torch.randn(len(sizes), max(sizes), 3, generator=generator, dtype=torch.float64)
    return h, torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.booleans(), st.integers(0, 99))
def test_node_batch_norm_equals_torch_on_unpadded_nodes(sizes, training, seed):
    h, mask = padded(sizes, seed)
    assume(not training or mask.sum() > 1)  # torch raises at a single row
    ours = NodeBatchNorm(3).double()
    theirs = nn.BatchNorm1d(3).double()
    for layer in (ours, theirs):
        layer.train(training)
        layer.running_mean += 0.5
        layer.weight.data = torch.tensor([1.0, -2.0, 3.0]).double()
        layer.bias.data = torch.tensor([0.5, 0.0, -1.0]).double()
    h.requires_grad_()
    found = ours(h, mask)
    expected = theirs(h[mask])
    torch.testing.assert_close(found[mask], expected)
    assert (found[~mask] == 0).all()
    pull = torch.randn_like(found)  # a sum of squares would be the same for whatever h
    gradients = [
        torch.autograd.grad((out * pull_of).sum(), [h, *layer.parameters()])
        for out, pull_of, layer in ((found, pull, ours), (expected, pull[mask], theirs))
    ]
    torch.testing.assert_close(*gradients)
    torch.testing.assert_close(dict(ours.named_buffers()), dict(theirs.named_buffers()))


@pytest.mark.parametrize("padding", [True, False])
def test_batch_norm_of_one_node_or_none_keeps_the_running_statistics(padding):
    layer = NodeBatchNorm(3).double()
    layer.running_mean += 1.0
    h, mask = padded([1])
    given = (h, mask) if padding else (h[mask],)
    torch.testing.assert_close(layer(*given).flatten(), ((h - 1) / (1 + 1e-5) ** 0.5).flatten())
    assert layer(*(part[:0] for part in given)).numel() == 0
    torch.testing.assert_close(layer.running_mean, torch.ones(3, dtype=torch.float64))
