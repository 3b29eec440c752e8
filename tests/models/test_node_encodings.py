import pytest
import torch

from gtcourse.graphs import collate
from gtcourse.models import LaplacianEncoding, SVDEncoding, WalkEncoding
from tests.graphs.random_graphs import graph_of


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


@pytest.mark.parametrize(("module", "columns"), MODULES)
def test_an_encoding_in_single_precision_enters_a_model_in_double(module, columns):
    batch = batch_with(**columns)
    batch.encodings = {name: tensor.float() for name, tensor in batch.encodings.items()}
    assert module.double()(batch).dtype == torch.float64


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


@pytest.mark.parametrize(
    ("module", "transform"),
    [
        (LaplacianEncoding(4, 5), "laplacian_eigenvectors; expected what AddLaplacianEigenvectors"),
        (WalkEncoding(4, 5), r"rwse; expected what AddRandomWalks\(pairs=False\)"),
        (SVDEncoding(2, 5), "svd; expected what AddSVD"),
    ],
)
def test_a_missing_encoding_is_refused_with_the_transform_that_makes_it(module, transform):
    with pytest.raises(ValueError, match=transform):
        module(batch_with())


def test_what_is_flipped_is_what_is_asked_for():
    batch = batch_with(svd=4)
    torch.manual_seed(0)  # with which the three nodes do not draw one sign by accident
    for flip, same in (("pairs", True), ("nodes", False)):
        module = SVDEncoding(2, 5, flip).double().train()
        module.projection = torch.nn.Identity()
        module.projection.in_features, module.projection.weight = 4, torch.zeros(1).double()
        signs = module(batch)[0, :3] / batch.encodings["svd"][0, :3]
        assert bool((signs.round() == signs.round()[:1]).all()) == same
    with pytest.raises(ValueError, match="flip_signs is 'rows'; expected 'pairs', 'nodes' or None"):
        SVDEncoding(2, 5, "rows")


def test_another_number_of_columns_is_refused():
    with pytest.raises(ValueError, match="laplacian_eigenvectors have 3 columns; expected 4"):
        LaplacianEncoding(4, 5)(batch_with(laplacian_eigenvectors=3))
