from itertools import combinations, product

import pytest
import torch

from gtcourse.encodings import signs
from gtcourse.encodings.spectral import laplacian_eigenvectors
from gtcourse.graphs import collate
from gtcourse.models import (
    BagTransformer,
    BagTransformerConfig,
    LaplacianEncoding,
    SVDEncoding,
    WalkEncoding,
)
from tests.graphs.random_graphs import graph_of
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


MODULES = [
    (LaplacianEncoding(4, 5), {"laplacian_eigenvectors": 4}),
    (WalkEncoding(4, 5), {"rwse": 4}),
    (SVDEncoding(2, 5), {"svd": 4}),
]


@pytest.mark.parametrize(("module", "columns"), MODULES)
def test_each_node_gets_the_linear_map_of_its_own_row(module, columns):
    batch, (name,) = batch_with(**columns), columns
    weight, bias = module.projection.weight.double(), module.projection.bias.double()
    got = module.double()(batch)
    assert got.shape == (2, 3, 5)
    for graph, node in batch.mask.nonzero().tolist():
        row = batch.encodings[name][graph, node]
        expected = torch.stack([(weight[c] * row).sum() + bias[c] for c in range(5)])
        torch.testing.assert_close(got[graph, node], expected, atol=1e-10, rtol=0)


def test_walks_between_pairs_give_their_diagonal():
    batch = batch_with(random_walks=4)
    diagonal = torch.stack(
        [batch.encodings["random_walks"][:, i, i] for i in range(batch.mask.shape[1])], dim=1
    )
    module, on_nodes = WalkEncoding(4, 5).double(), batch_with(rwse=4)
    on_nodes.encodings["rwse"] = diagonal
    assert torch.equal(module(batch), module(on_nodes))


FLIPPING = [
    LaplacianEncoding(4, 5, True),
    SVDEncoding(2, 5, True),
    SVDEncoding(2, 5, "pairs"),
    SVDEncoding(2, 5, "nodes"),
]


@pytest.mark.parametrize("module", FLIPPING)
def test_signs_are_flipped_in_training_alone(module):
    columns = {"laplacian_eigenvectors": 4, "svd": 4}
    batch = batch_with(**columns)
    module.double().train()
    torch.manual_seed(0)
    drawn = torch.stack([module(batch) for _ in range(20)])
    assert not torch.equal(drawn[0], drawn[1])
    module.eval()
    assert torch.equal(module(batch), module(batch))
    module.flip_signs = False
    assert torch.equal(module(batch), module.train()(batch))


K = 3


def reader() -> BagTransformer:
    """A model that adds its nodes' rows of K eigenvectors to what they are."""
    torch.manual_seed(0)
    sizes = BagTransformerConfig(d_model=8, num_heads=2, d_hidden=8)
    return BagTransformer(sizes, LaplacianEncoding(K, 8)).double().eval()


def with_eigenvectors():
    """A tree in which no two nodes are alike, so that no sign is another numbering."""
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (2, 6)]
    graph = graph_of(7, edges + [(j, i) for i, j in edges])
    values, vectors = laplacian_eigenvectors(collate([graph]).adjacency)
    graph.laplacian_eigenvectors = vectors[0, :, 1 : K + 1]
    graph.laplacian_eigenvalues = values[0, 1 : K + 1]
    return graph


@pytest.mark.holds("GRPE, Eq. 5")
def test_a_nodes_row_of_the_laplacian_is_added_to_its_vector():
    model, graph = reader(), with_eigenvectors()
    weight, bias = model.node_encoding.projection.weight, model.node_encoding.projection.bias
    got = model.embed(collate([graph]))[0]
    for i in range(7):
        for c in range(8):
            encoded = sum(weight[c, m] * graph.laplacian_eigenvectors[i, m] for m in range(K))
            expected = model.embedding.weight[graph.x[i, 0], c] + encoded + bias[c]
            torch.testing.assert_close(got[i, c], expected, rtol=0, atol=1e-10)


@pytest.mark.holds("CS224W, S12")
def test_either_sign_of_an_eigenvector_is_one_and_k_of_them_make_2_to_the_k_predictions():
    model, graph = reader(), with_eigenvectors()
    L, values = laplacian_loop(graph, "combinatorial"), graph.laplacian_eigenvalues
    vectors, predictions = graph.laplacian_eigenvectors.clone(), []
    for pattern in product((1.0, -1.0), repeat=K):
        graph.laplacian_eigenvectors = vectors * torch.tensor(pattern)
        signed = graph.laplacian_eigenvectors
        torch.testing.assert_close(L @ signed, signed * values, rtol=0, atol=1e-10)
        predictions.append(float(model(collate([graph])).detach()))
    assert len(predictions) == 8
    assert min(abs(one - other) for one, other in combinations(predictions, 2)) > 1e-6
    drawn = signs.flip_signs(vectors.expand(50, -1, -1))
    assert {tuple(row) for row in (drawn / vectors)[:, 0].round().tolist()} == set(
        product((1.0, -1.0), repeat=K)
    )
