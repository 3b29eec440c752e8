import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader
from torch_geometric.transforms import AddLaplacianEigenvectorPE, AddRandomWalkPE

from gtcourse.encodings import AddRandomWalks
from gtcourse.graphs import (
    MISSING_LABEL,
    UNREACHABLE,
    DenseLoader,
    GraphBatch,
    GraphDataset,
    collate,
    unbatch,
)
from tests.graphs.small import assert_same, chain, graphs, three_chains


@given(st.lists(graphs(), min_size=1, max_size=5), st.integers(0, 3))
def test_collate_equals_the_loop_over_graphs_and_edges(batch, padding):
    N = max(len(graph.x) for graph in batch) + padding
    got = collate(batch, num_nodes=N)
    for b, graph in enumerate(batch):
        n = len(graph.x)
        adjacency = torch.zeros(N, N).bool()
        attributes = torch.zeros(N, N, 1).long()
        for e, (i, j) in reversed(list(enumerate(graph.edge_index.T.tolist()))):
            adjacency[i, j] = True
            attributes[i, j] = graph.edge_attr[e]
        assert torch.equal(got.adjacency[b], adjacency)
        assert torch.equal(got.edge_attr[b], attributes)
        assert torch.equal(got.x[b, :n], graph.x)
        assert (got.x[b, n:] == 0).all()
        assert got.mask[b].tolist() == [True] * n + [False] * (N - n)
        assert got.y[b] == graph.y[0]
        distance = got.encodings["distance"][b]
        assert torch.equal(distance[:n, :n], graph.distance)
        assert (distance[n:] == UNREACHABLE).all()
        assert (distance[:, n:] == UNREACHABLE).all()
        vectors = got.encodings["laplacian_eigenvectors"][b]
        assert torch.equal(vectors[:n], graph.laplacian_eigenvectors)
        assert (vectors[n:] == 0).all()


@given(st.lists(graphs(), min_size=1, max_size=5))
def test_unbatching_and_collating_again_gives_the_same_batch(batch):
    once = collate(batch)
    assert_same(collate(unbatch(once)), once)


@given(st.lists(graphs(), min_size=2, max_size=5))
def test_selecting_graphs_equals_collating_only_them(batch):
    selected = collate(batch).select(torch.tensor([1, 0]))
    assert_same(selected, collate([batch[1], batch[0]], num_nodes=selected.mask.shape[1]))


@pytest.mark.parametrize(
    ("target", "rows", "shape"), [("graph", 1, (2,)), ("node", 3, (2, 3)), ("edge", 2, (2, 3, 3))]
)
@pytest.mark.parametrize("floating", [True, False])
def test_targets_belong_to_graphs_nodes_or_edges(target, rows, shape, floating):
    first = Data(x=torch.zeros(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]]))
    second = Data(x=torch.zeros(2, 1), edge_index=torch.tensor([[1], [0]]))
    first.y = torch.arange(rows) + 5
    second.y = torch.arange({"graph": 1, "node": 2, "edge": 1}[target]) + 8
    if floating:
        first.y = first.y.float()
        second.y = second.y.float()
    batch = collate([first, second])
    assert batch.target == target
    assert batch.y.shape == shape
    missing = batch.y.isnan() if floating else batch.y == MISSING_LABEL
    known = {"graph": torch.ones(2).bool(), "node": batch.mask, "edge": batch.adjacency}[target]
    assert torch.equal(missing, ~known)
    assert [graph.y.tolist() for graph in unbatch(batch)] == [first.y.tolist(), second.y.tolist()]


@pytest.mark.parametrize(("targets", "shape"), [(5, (2, 5)), (1, (2,))])
def test_graph_targets_are_numbers_or_rows(targets, shape):
    edge_index = torch.zeros(2, 0).long()
    graph = Data(x=torch.zeros(2, 1), edge_index=edge_index, y=torch.ones(1, targets))
    assert collate([graph, graph]).y.shape == shape


@given(st.lists(graphs(), min_size=1, max_size=4))
def test_pyg_batch_round_trip(several):
    for graph in several:  # edges once, in row-major order; pair encodings do not fit into PyG's
        graph.edge_index = graph.edge_index.unique(dim=1)
        graph.edge_attr = torch.arange(graph.num_edges)[:, None]
        del graph.distance
    theirs = Batch.from_data_list(several)
    batch = GraphBatch.from_pyg(theirs)
    assert torch.equal(batch.edge_index, theirs.edge_index)
    assert torch.equal(batch.graph_index, theirs.batch)
    assert torch.equal(batch.x[batch.mask], theirs.x)
    assert torch.equal(batch.edge_attr[batch.adjacency], theirs.edge_attr)
    back = batch.to_pyg()
    for name in ("x", "edge_index", "edge_attr", "batch", "laplacian_eigenvectors"):
        assert torch.equal(back[name], theirs[name])


def test_custom_encodings_of_nodes_and_pairs_are_padded():
    """PyG's as the models read them, and whatever a user sets; what may be of edges is left out."""
    graphs = [chain(0, 1, 2), chain(0, 1)]
    to_batch = []
    for graph in graphs:
        graph = AddLaplacianEigenvectorPE(1)(AddRandomWalkPE(3)(graph))
        n = graph.num_nodes
        edges = graph.edge_index.shape[1]
        graph.mine = torch.arange(n * n * 2.0).reshape(n, n, 2)
        graph.of_edges = torch.zeros(edges, 2)
        to_batch.append(graph)
    batch = collate(to_batch)
    assert {*batch.encodings} == {"rwse", "laplacian_eigenvectors", "mine"}
    assert batch.encodings["laplacian_eigenvectors"].shape == (2, 3, 1)
    ours = AddRandomWalks(3, pairs=False)(chain(0, 1, 2)).rwse
    torch.testing.assert_close(batch.encodings["rwse"][0], ours)
    assert torch.equal(batch.encodings["mine"][1, :2, :2], to_batch[1].mine)
    assert batch.encodings["mine"][1, 2].abs().sum() == 0
    assert torch.equal(unbatch(batch)[1].mine, to_batch[1].mine)
    (loaded,) = DenseLoader(to_batch, 2)
    assert torch.equal(loaded.encodings["mine"], batch.encodings["mine"])
    ambiguous = Data(x=torch.zeros(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]))
    ambiguous.weight = torch.zeros(2, 4)  # two nodes, two edges
    assert collate([ambiguous]).encodings == {}


def test_a_data_set_declares_whether_targets_belong_to_graphs_nodes_or_edges():
    """In a directed ring there are as many edges as nodes."""
    rings = []
    for n in (3, 4, 5):
        nodes = torch.arange(n)
        ends = torch.stack([nodes, (nodes + 1) % n])  # [2, n]
        rings.append(Data(x=torch.zeros(n, 1), edge_index=ends, y=torch.arange(float(n))))
    data = GraphDataset("rings", "a test", rings, [0, 1, 2], target="edge")
    assert collate(rings).target == "node"
    batch = collate(data)
    assert batch.target == "edge"
    assert [batch.y[2, i, (i + 1) % 5].item() for i in range(5)] == [0, 1, 2, 3, 4]


def test_collate_takes_data_sets_and_pyg_batches():
    data = three_chains()
    expected = collate(data.graphs)
    for same in (data, Batch.from_data_list(data.graphs)):
        assert torch.equal(collate(same).x, expected.x)
        (loaded,) = DenseLoader(same, 3)
        assert torch.equal(loaded.adjacency, expected.adjacency)


def test_an_edge_given_twice_with_the_same_values_counts_once():
    """Its two directions may differ, and so may the same edge of another graph."""
    once = Data(
        x=torch.zeros(2, 1),
        edge_index=torch.tensor([[0, 1], [1, 0]]),
        edge_attr=torch.tensor([[0.1], [0.2]]),
        y=torch.tensor([torch.nan, 1.0]),
    )
    other = once.clone()
    other.edge_attr = once.edge_attr + 1
    twice = [
        Data(
            x=graph.x,
            edge_index=graph.edge_index.repeat(1, 2),
            edge_attr=graph.edge_attr.repeat(2, 1),
            y=graph.y.repeat(2),
        )
        for graph in (once, other)
    ]
    assert_same(collate(twice, target="edge"), collate([once, other], target="edge"))


def test_numbers_of_any_integer_type_select_graphs():
    batch = collate(three_chains().graphs)
    for dtype in (torch.uint8, torch.int32):
        assert batch.select(torch.tensor([2, 0], dtype=dtype)).sizes.tolist() == [1, 2]


def test_a_pyg_batch_may_have_what_its_loader_adds():
    graphs = three_chains().graphs
    for follow_batch in (None, ["x"]):
        (batch,) = DataLoader(graphs, 3, follow_batch=follow_batch)
        assert_same(collate(batch), collate(graphs))
