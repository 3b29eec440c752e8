import math
from types import SimpleNamespace

import pytest
import torch
from sklearn.metrics import average_precision_score, roc_auc_score

from gtcourse.graphs import MISSING_LABEL, collate
from gtcourse.training.tasks import graph_classification, graph_multiclass, graph_regression
from tests.graphs.random_graphs import graph_of


def batch_of(targets):
    graphs = [graph_of(2, []) for _ in targets]
    for graph, target in zip(graphs, targets, strict=True):
        graph.y = torch.tensor([target])
    return collate(graphs)


def scores(task, prediction, batch):
    metric = task.metric()
    task.update(metric, prediction, batch)
    return {task.monitor: float(metric.compute())}


def test_regression_leaves_missing_targets_out_of_loss_gradient_and_metric():
    task, batch = graph_regression(), batch_of([1.0, math.nan, 4.0])
    prediction = torch.tensor([2.0, 50.0, 1.0], requires_grad=True)
    loss = task.loss(prediction, batch)
    loss.backward()
    assert loss.item() == 2.0
    assert prediction.grad.tolist() == [0.5, 0.0, -0.5]
    assert scores(task, prediction.detach(), batch) == {"mae": 2.0}


def test_classification_is_cross_entropy_and_ranks_by_auroc():
    task, batch = graph_classification(), batch_of([1.0, 0.0, 1.0, math.nan])
    prediction = torch.tensor([2.0, 1.0, 0.0, 9.0])
    expected = (math.log1p(math.exp(-2)) + math.log1p(math.exp(1)) + math.log(2)) / 3
    assert task.loss(prediction, batch).item() == pytest.approx(expected, rel=1e-6)
    assert scores(task, prediction, batch) == {"auroc": 0.5}  # 2 > 1, but 0 < 1


def test_one_of_several_classes_is_cross_entropy_and_accuracy_without_the_missing():
    task, batch = graph_multiclass(3), batch_of([2, 0, MISSING_LABEL, 1])
    logits = [[0.0, 0.0, 1.0], [1.0, 2.0, 0.0], [9.0, 0.0, 0.0], [0.0, 3.0, 0.0]]
    chosen = [(row, y) for row, y in zip(logits, (2, 0, None, 1), strict=True) if y is not None]
    expected = [math.log(sum(map(math.exp, row))) - row[y] for row, y in chosen]
    prediction = torch.tensor(logits, requires_grad=True)
    loss = task.loss(prediction, batch)
    loss.backward()
    assert loss.item() == pytest.approx(sum(expected) / 3, rel=1e-6)
    assert prediction.grad[2].tolist() == [0.0, 0.0, 0.0]
    assert scores(task, prediction.detach(), batch) == {"accuracy": pytest.approx(2 / 3)}
    assert (task.monitor, task.mode) == ("accuracy", "max")
    assert task.loss(prediction[2:3], batch_of([MISSING_LABEL])).item() == 0.0


@pytest.mark.parametrize(
    ("shape", "targets", "sentence"),
    [
        ((2,), [2, 0], r"predicts \[2\] and the graph targets are \[2\]"),
        ((2, 4), [2, 0], r"expected predictions \[2, 3\] and integer"),
        ((2, 3), [2.0, 0.0], r"of torch\.float32; expected"),
        ((2, 3), None, "the graphs have no targets y"),
    ],
)
def test_logits_and_classes_that_do_not_fit_raise(shape, targets, sentence):
    batch = batch_of(targets or [0, 0])
    batch.y = None if targets is None else batch.y
    with pytest.raises(ValueError, match=sentence):
        graph_multiclass(3).loss(torch.zeros(shape), batch)


@pytest.mark.parametrize(
    ("task", "targets", "sentence"),
    [
        (graph_classification(), [-1.0, 1.0], "from -1 to 1; expected classes, 0 to 1"),
        (graph_classification(), [0.5, 1.0], "from 0.5 to 1; expected classes, 0 to 1"),
        (graph_multiclass(3), [0, 3], "from 0 to 3; expected classes, 0 to 2"),
        (graph_multiclass(3), [MISSING_LABEL], "all targets are missing"),
    ],
)
def test_targets_that_cannot_be_judged_raise(task, targets, sentence):
    with pytest.raises(ValueError, match=sentence):
        task.check(torch.tensor(targets))


@pytest.mark.parametrize(
    ("metric", "judge"), [("auroc", roc_auc_score), ("ap", average_precision_score)]
)
def test_ranks_are_scikit_learns_over_the_questions_with_both_answers(metric, judge):
    generator = torch.Generator().manual_seed(1)
    y = (torch.rand(200, 12, generator=generator) < 0.1).float()
    y[torch.rand(200, 12, generator=generator) < 0.3] = torch.nan
    y[:, 0], y[:, 1] = 0.0, 1.0
    # Large logits are one and the same sigmoid.
    prediction = 30 * torch.randn(200, 12, generator=generator)
    known = [~answers.isnan() for answers in y.T]
    expected = [judge(y[known[t], t], prediction[known[t], t]) for t in range(2, 12)]
    task = graph_classification(12, metric=metric)
    found = task.metric()
    for part in torch.arange(200).split(50):
        task.update(found, prediction[part], SimpleNamespace(y=y[part], target="graph"))
    assert found.compute().item() == pytest.approx(sum(expected) / 10, rel=1e-6)
    found.reset()
    task.update(found, prediction[:1], SimpleNamespace(y=y[:1], target="graph"))
    assert found.compute().isnan()
    names = {"auroc": "graph classification by auroc", "ap": "graph classification"}
    assert (task.monitor, task.name) == (metric, names[metric])


def test_what_counts_as_better():
    small, large = graph_regression(), graph_classification()
    assert small.improves(1.0, None)
    assert small.improves(1.0, 2.0)
    assert not small.improves(2.0, 2.0)
    assert large.improves(2.0, 1.0)
    for task in (small, large):
        assert not task.improves(math.nan, None)
        assert not task.improves(math.nan, 1.0)
