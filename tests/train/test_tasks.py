"""Losses and metrics, held to loops over the known targets."""

import math
import pickle

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score
from torch import nn

from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.graphs import MISSING_LABEL, DenseLoader, collate
from gtcourse.recipes import RECIPES
from gtcourse.train.loop import evaluate, fit
from gtcourse.train.metrics import MeanOverTargets
from gtcourse.train.tasks import (
    Scale,
    edge_classification,
    graph_classification,
    graph_multiclass,
    graph_regression,
    node_binary_classification,
    node_classification,
    with_distances,
)
from tests.graphs.small import graph_of, graphs, of_first
from tests.loops.losses import (
    distance_loss_loop,
    f1_loop,
    mean_recall_loop,
    weighted_cross_entropy_loop,
)

SIZES = [5, 90, 30]
HOPS = 3


def batch_of(targets):
    graphs = [graph_of(2, []) for _ in targets]
    for graph, target in zip(graphs, targets, strict=True):
        graph.y = torch.tensor([target])
    return collate(graphs)


def score(task, prediction, batch):
    metric = task.metric()
    task.update(metric, prediction, batch)
    return float(metric.compute())


def test_regression_leaves_missing_targets_out_of_loss_gradient_and_metric():
    task = graph_regression()
    batch = batch_of([1.0, math.nan, 4.0])
    prediction = torch.tensor([2.0, 50.0, 1.0], requires_grad=True)
    loss = task.loss(prediction, batch)
    loss.backward()
    assert loss.item() == 2.0
    assert prediction.grad.tolist() == [0.5, 0.0, -0.5]
    assert score(task, prediction.detach(), batch) == 2.0


def test_binary_classification_uses_cross_entropy_and_auroc():
    task = graph_classification()
    batch = batch_of([1.0, 0.0, 1.0, math.nan])
    prediction = torch.tensor([2.0, 1.0, 0.0, 9.0])
    expected = (math.log1p(math.exp(-2)) + math.log1p(math.exp(1)) + math.log(2)) / 3
    assert task.loss(prediction, batch).item() == pytest.approx(expected, rel=1e-6)
    assert score(task, prediction, batch) == 0.5  # 2 > 1, but 0 < 1


def test_multiclass_classification_uses_cross_entropy_and_accuracy_of_known_labels():
    task = graph_multiclass(3)
    targets = [2, 0, MISSING_LABEL, 1]
    logits = [[0.0, 0.0, 1.0], [1.0, 2.0, 0.0], [9.0, 0.0, 0.0], [0.0, 3.0, 0.0]]
    prediction = torch.tensor(logits, requires_grad=True)
    batch = batch_of(targets)
    loss = task.loss(prediction, batch)
    loss.backward()
    assert loss.item() == pytest.approx(weighted_cross_entropy_loop(logits, targets, None))
    assert prediction.grad[2].tolist() == [0.0, 0.0, 0.0]
    assert score(task, prediction.detach(), batch) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("metric", "judge"), [("auroc", roc_auc_score), ("ap", average_precision_score)]
)
def test_ranking_metrics_equal_scikit_learns_over_targets_with_both_classes(metric, judge):
    generator = torch.Generator().manual_seed(1)
    y = (torch.rand(200, 12, generator=generator) < 0.1).float()
    y[torch.rand(200, 12, generator=generator) < 0.3] = torch.nan
    y[:, 0] = 0.0
    y[:, 1] = 1.0
    # Large logits are one and the same sigmoid.
    prediction = 30 * torch.randn(200, 12, generator=generator)
    known = [~answers.isnan() for answers in y.T]
    expected = [judge(y[known[t], t], prediction[known[t], t]) for t in range(2, 12)]
    found = MeanOverTargets(metric)
    for part in torch.arange(200).split(50):
        found.update(prediction[part], y[part])
    assert found.compute().item() == pytest.approx(sum(expected) / 10, rel=1e-6)
    found.reset()
    found.update(prediction[:1], y[:1])
    assert math.isnan(found.compute())


def test_a_tasks_mode_decides_which_score_is_better():
    for task, better, worse in ((graph_regression(), 1.0, 2.0), (graph_classification(), 2.0, 1.0)):
        assert task.improves(better, None)
        assert task.improves(better, worse)
        assert not task.improves(better, better)
        assert not task.improves(math.nan, None)
        assert not task.improves(math.nan, worse)


# Nodes and edges.


def with_targets(graph, target, classes, seed=0, missing=False):
    """The same graph with a class for each node or edge, some of them missing."""
    generator = torch.Generator().manual_seed(seed)
    count = len(graph.x) if target == "node" else graph.edge_index.shape[1]
    y = torch.randint(0, classes, (count,), generator=generator)
    if missing:
        y[torch.rand(count, generator=generator) < 0.3] = MISSING_LABEL
    graph = graph.clone()
    graph.y = of_first(graph.edge_index, y) if target == "edge" else y
    return graph


@st.composite
def lists(draw, target, classes):
    found = draw(st.lists(graphs(max_nodes=6), min_size=1, max_size=4))
    seed = draw(st.integers(0, 2**31))
    missing = draw(st.booleans())
    return [with_targets(g, target, classes, seed + i, missing) for i, g in enumerate(found)]


def logits_like(batch, classes, seed=0):
    """Random logits, at padding and where there is no edge as well."""
    generator = torch.Generator().manual_seed(seed)
    shape = (*batch.y.shape, classes)
    return 3 * torch.randn(shape, generator=generator, dtype=torch.float64)


def batched(data, target, extra=1):
    return collate(data, target=target, num_nodes=max(len(g.x) for g in data) + extra)


@pytest.mark.parametrize("sizes", [None, SIZES])
@given(data=lists("node", 3))
def test_node_loss_equals_the_loop_over_real_nodes(sizes, data):
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
def test_edge_loss_equals_the_loop_over_edges(data):
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
    tight = batched(data, target, extra=0)
    wide = batched(data, target, extra)
    logits = logits_like(wide, classes, seed)
    cut = tuple(slice(size) for size in tight.y.shape)
    for value in (task.loss, lambda p, b: score(task, p, b)):
        padded = float(value(logits, wide))
        bare = float(value(logits[cut], tight))
        assert padded == pytest.approx(bare, rel=1e-12)


@pytest.mark.parametrize("target", ["node", "edge"])
@given(seed=st.integers(0, 2**31))
def test_metrics_equal_the_loop_over_all_batches(target, seed):
    task, classes = (node_classification(3), 3) if target == "node" else (edge_classification(), 2)
    metric = task.metric()
    predicted = []
    targets = []
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
    [(edge_classification(), "edge", 2), (node_classification(3, SIZES), "node", 3)],
)
def test_a_batch_without_a_known_target_has_no_loss_and_no_gradient(task, target, classes):
    graph = graph_of(3, [])
    graph.y = torch.full((3,), MISSING_LABEL) if target == "node" else torch.zeros(0).long()
    batch = batched([graph], target)
    logits = logits_like(batch, classes).requires_grad_()
    loss = task.loss(logits, batch)
    loss.backward()
    assert loss.item() == 0.0
    assert (logits.grad == 0).all()
    assert score(task, logits.detach(), batch) == 0.0


# Distances as classes.


def path(n):
    return graph_of(n, [(i, i + 1) for i in range(n - 1)] + [(i + 1, i) for i in range(n - 1)])


def with_outputs(data, hops):
    """A batch of float64 targets; a prediction and logits, random at padding as well."""
    data = encode([graph.clone() for graph in data], AddShortestPaths())
    batch = collate(data, num_nodes=max(len(g.x) for g in data) + 1)
    batch.y = batch.y.double()
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(*batch.adjacency.shape, hops + 1, generator=generator).double()
    return batch, torch.randn(batch.num_graphs, generator=generator).double(), 3 * logits


@pytest.mark.parametrize("self_is_one_hop", [False, True])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@given(data=st.lists(graphs(max_nodes=7), min_size=1, max_size=4), hops=st.integers(1, 4))
def test_distance_loss_equals_the_loop_over_pairs(reduction, self_is_one_hop, data, hops):
    batch, prediction, logits = with_outputs(data, hops)
    task = with_distances(graph_regression(), hops, 0.05, reduction, self_is_one_hop)
    real = [
        (batch.encodings["distance"][b, :n, :n].tolist(), logits[b, :n, :n].tolist())
        for b, n in enumerate(batch.sizes.tolist())
    ]
    pairs = distance_loss_loop(real, hops, reduction, self_is_one_hop)
    mae = sum(abs(p - y) for p, y in zip(prediction.tolist(), batch.y.tolist(), strict=True))
    loss = task.loss((prediction, logits), batch).item()
    assert loss == pytest.approx(mae / len(data) + 0.05 * pairs, rel=1e-12)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_distance_loss_is_zero_if_all_pairs_are_beyond_the_largest_distance(reduction):
    batch, prediction, logits = with_outputs([path(2)], HOPS)
    batch.encodings["distance"] = torch.full((1, 3, 3), -1)
    task = with_distances(graph_regression(), HOPS, 1.0, reduction)
    loss = task.loss((prediction, logits.requires_grad_()), batch)
    loss.backward()
    assert loss.item() == graph_regression().loss(prediction, batch).item()
    assert (logits.grad == 0).all()


class Reader(nn.Module):
    """Atoms to a prediction; a vector for each pair to distance logits, if asked for."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.nodes = nn.Embedding(28, 1)
        self.pairs = nn.Embedding(2, HOPS + 1)
        self.calls = []

    def forward(self, batch, *, return_distances=False):
        self.calls.append((self.training, return_distances))
        prediction = (self.nodes(batch.x[..., 0])[..., 0] * batch.mask).sum(1)
        if not return_distances:
            return prediction
        return prediction, self.pairs(batch.adjacency.long())


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_fit_requests_distances_in_training_only(precision):
    model = Reader()
    task = with_distances(graph_regression(), HOPS, 0.05)
    data = encode([path(n) for n in (2, 3, 4)], AddShortestPaths())
    loader = DenseLoader(data, 3)
    (batch,) = loader
    before = model.pairs.weight.detach().clone()
    expected = task.loss(model(batch, return_distances=True), batch).item()
    model.calls.clear()
    history = fit(
        model, task, loader, DenseLoader(data, 2), epochs=2, precision=precision, progress=False
    )
    assert model.calls == 2 * [(True, True), (False, False), (False, False)]
    assert history.epochs[0]["train_loss"] == pytest.approx(expected, rel=1e-2)
    assert not torch.equal(model.pairs.weight, before)  # learned from the distances alone
    assert evaluate(model, task, loader) == evaluate(model, graph_regression(), loader)


@pytest.mark.parametrize(
    "task",
    [
        graph_regression(),
        graph_regression(Scale((1.0,), (2.0,))),
        graph_classification(2),
        node_binary_classification(),
        graph_multiclass(3),
        node_classification(2, [1, 3]),
        edge_classification(),
        with_distances(graph_regression(), 2, 0.1),
    ],
    ids=lambda task: task.name[:40],
)
def test_a_task_can_be_pickled_for_another_process(task):
    copied = pickle.loads(pickle.dumps(task))
    assert copied.name == task.name
    values = torch.tensor([[0.5, -1.0]])
    assert copied.predictions(values).equal(task.predictions(values))


def test_every_recipe_can_be_pickled_for_another_process():
    for recipe in RECIPES.values():
        assert pickle.loads(pickle.dumps(recipe)).config() == recipe.config()
