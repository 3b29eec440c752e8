"""Tasks on nodes and edges, held to a loop over the real ones."""

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from gtcourse.graphs import MISSING_LABEL, collate
from gtcourse.training.tasks import edge_classification, node_classification
from tests.graphs.random_graphs import graph_of, graphs
from tests.loops.losses import f1_loop, mean_recall_loop, weighted_cross_entropy_loop

SIZES = [5, 90, 30]


def with_targets(graph, target, classes, seed=0, missing=False):
    """The same graph with a class for each node or edge, some of them missing."""
    generator = torch.Generator().manual_seed(seed)
    count = len(graph.x) if target == "node" else graph.edge_index.shape[1]
    y = torch.randint(0, classes, (count,), generator=generator)
    if missing:
        y[torch.rand(count, generator=generator) < 0.3] = MISSING_LABEL
    graph = graph.clone()
    graph.y = y
    return graph


@st.composite
def lists(draw, target, classes):
    """Graphs with targets, and one more node of padding than they need."""
    found = draw(st.lists(graphs(max_nodes=6), min_size=1, max_size=4))
    seed, missing = draw(st.integers(0, 2**31)), draw(st.booleans())
    return [with_targets(g, target, classes, seed + i, missing) for i, g in enumerate(found)]


def logits_like(batch, classes, seed=0):
    """Random logits, at padding and where there is no edge as well."""
    generator = torch.Generator().manual_seed(seed)
    shape = (*batch.y.shape, classes)
    return 3 * torch.randn(shape, generator=generator, dtype=torch.float64)


def batched(data, target, extra=1):
    return collate(data, target=target, num_nodes=max(len(g.x) for g in data) + extra)


def score(task, prediction, batch):
    metric = task.metric()
    task.update(metric, prediction, batch)
    return float(metric.compute())


@pytest.mark.parametrize("sizes", [None, SIZES])
@given(data=lists("node", 3))
def test_the_loss_on_nodes_is_the_loop_over_real_nodes(sizes, data):
    batch = batched(data, "node")
    logits = logits_like(batch, 3).requires_grad_()
    loss = node_classification(3, sizes).loss(logits, batch)
    rows = [logits[b, i].tolist() for b, g in enumerate(data) for i in range(len(g.x))]
    expected = weighted_cross_entropy_loop(rows, [y for g in data for y in g.y.tolist()], sizes)
    assert loss.item() == pytest.approx(expected, abs=1e-12)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert (gradient[batch.y == MISSING_LABEL] == 0).all()
    assert (gradient[batch.y != MISSING_LABEL] != 0).any(dim=-1).all()


@given(data=lists("edge", 2))
def test_the_loss_on_edges_is_the_loop_over_edges(data):
    batch = batched(data, "edge")
    logits = logits_like(batch, 2).requires_grad_()
    loss = edge_classification().loss(logits, batch)
    first = {}  # of an edge given twice, the first counts
    for b, graph in enumerate(data):
        for i, j, y in zip(*graph.edge_index.tolist(), graph.y.tolist(), strict=True):
            first.setdefault((b, i, j), y)
    rows = [logits[place].tolist() for place in first]
    expected = weighted_cross_entropy_loop(rows, [*first.values()], None)
    assert loss.item() == pytest.approx(expected, abs=1e-12)
    (gradient,) = torch.autograd.grad(loss, logits)
    assert (gradient[batch.y == MISSING_LABEL] == 0).all()


@pytest.mark.parametrize(
    ("task", "target", "classes"),
    [(node_classification(3, SIZES), "node", 3), (edge_classification(), "edge", 2)],
)
@given(extra=st.integers(1, 5), seed=st.integers(0, 2**31))
def test_more_padding_changes_neither_loss_nor_metric(task, target, classes, extra, seed):
    edges = [(0, 1), (1, 2), (2, 0), (3, 3)]
    data = [with_targets(graph_of(n, edges, seed=n), target, classes, seed) for n in (4, 6)]
    tight, wide = batched(data, target, extra=0), batched(data, target, extra)
    logits = logits_like(wide, classes, seed)
    cut = tuple(slice(size) for size in tight.y.shape)
    for value in (task.loss, lambda p, b: score(task, p, b)):
        padded, bare = float(value(logits, wide)), float(value(logits[cut], tight))
        assert padded == pytest.approx(bare, rel=1e-12)


def test_only_the_shares_of_the_classes_count():
    batch = batched([with_targets(graph_of(4, []), "node", 2)], "node")
    logits = logits_like(batch, 2)
    loss, same = (node_classification(2, s).loss(logits, batch) for s in ([1, 3], [100, 300]))
    torch.testing.assert_close(loss, same)


@pytest.mark.parametrize("target", ["node", "edge"])
@given(seed=st.integers(0, 2**31))
def test_the_metrics_are_the_loops_over_all_batches(target, seed):
    task, classes = (node_classification(3), 3) if target == "node" else (edge_classification(), 2)
    metric, predicted, targets = task.metric(), [], []
    for n in (7, 4):
        edges = [(i, j) for i in range(n) for j in range(n) if (i + 2 * j) % 3]
        batch = batched([with_targets(graph_of(n, edges), target, classes, seed + n)], target)
        logits = logits_like(batch, classes, seed)
        task.update(metric, logits, batch)
        known = batch.y != MISSING_LABEL
        predicted += logits.argmax(-1)[known].tolist()
        targets += batch.y[known].tolist()
    assume(len({*targets}) == classes)  # a class that is only predicted counts for torchmetrics
    expected = (
        mean_recall_loop(predicted, targets, 3) if target == "node" else f1_loop(predicted, targets)
    )
    assert float(metric.compute()) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("task", "target", "classes"),
    [
        (edge_classification(), "edge", 2),
        (node_classification(3), "node", 3),
        (node_classification(3, SIZES), "node", 3),
    ],
)
def test_a_batch_without_anything_known_has_no_loss_and_no_gradient(task, target, classes):
    graph = graph_of(3, [])
    graph.y = torch.full((3,), MISSING_LABEL) if target == "node" else torch.zeros(0).long()
    batch = batched([graph], target)
    logits = logits_like(batch, classes).requires_grad_()
    loss = task.loss(logits, batch)
    loss.backward()
    assert loss.item() == 0.0
    assert (logits.grad == 0).all()
    assert score(task, logits.detach(), batch) == 0.0
