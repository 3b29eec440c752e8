"""Tasks on the nodes of a graph, and on its edges: one of several classes for each.

Shapes: B graphs, N nodes (padded), C classes.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torchmetrics import MetricCollection

from gtcourse.graphs.batch import MISSING_LABEL, GraphBatch
from gtcourse.training.task import Task, class_targets, mean_cross_entropy, metric_collection


def node_classification(num_classes: int, class_sizes: Sequence[int] | None = None) -> Task:
    r"""Which of C classes a node is: cross-entropy on logits ``[B, N, C]``.

    Targets ``[B, N]`` are 0 to C - 1; ``MISSING_LABEL`` is left out. A class of :math:`c_k` targets
    weighs

    .. math:: w_k = \frac{\sum_l c_l - c_k}{\sum_l c_l},
              \qquad J = \frac{\sum_n w_{y_n} J_n}{\sum_n w_{y_n}},

    which a factor common to all :math:`w_k` does not change. Judged by accuracy as the literature
    on PATTERN and CLUSTER has it: the share that is right of each class's targets, and the mean of
    these over the classes. A class without a target counts 0 where it was predicted, and otherwise
    not at all.

    Args:
        num_classes: C.
        class_sizes: :math:`c_k`; by default all classes weigh the same. They are counted once for
            a data set, as EGT's authors do; Dwivedi et al. (2020) count in each batch.

    Raises:
        ValueError: there are not C class sizes above 0.
    """
    from torchmetrics.classification import MulticlassAccuracy

    accuracy = MulticlassAccuracy(num_classes, average="macro", ignore_index=MISSING_LABEL)
    shares = None if class_sizes is None else _shares_of_others(class_sizes, num_classes)

    def loss(prediction: Tensor, batch: GraphBatch) -> Tensor:
        y = class_targets(prediction, batch, num_classes)
        weights = None if shares is None else prediction.new_tensor(shares)
        return mean_cross_entropy(prediction, y, weights)

    def update(metrics: MetricCollection, prediction: Tensor, batch: GraphBatch) -> None:
        y = class_targets(prediction, batch, num_classes)
        metrics.update(prediction.flatten(0, -2), y.flatten())

    weighted = "" if class_sizes is None else f", weighted by their sizes {list(class_sizes)}"
    return Task(
        name=f"node classification, {num_classes} classes{weighted}",
        loss=loss,
        update=update,
        metrics=lambda: metric_collection(accuracy=accuracy),
        monitor="accuracy",
        mode="max",
    )


def edge_classification() -> Task:
    """Whether an edge is of class 1: cross-entropy on logits ``[B, N, N, 2]``, judged by F1.

    Targets ``[B, N, N]`` are 0 or 1, at ``[b, i, j]`` that of the edge from i to j;
    ``MISSING_LABEL``, as where there is no edge, is left out. F1 is the harmonic mean of two shares
    of class 1: of the edges predicted, how many are right, and of the edges to be found, how many
    are.
    """
    from torchmetrics.classification import BinaryF1Score

    f1 = BinaryF1Score(ignore_index=MISSING_LABEL)

    def loss(prediction: Tensor, batch: GraphBatch) -> Tensor:
        return mean_cross_entropy(prediction, class_targets(prediction, batch, num_classes=2))

    def update(metrics: MetricCollection, prediction: Tensor, batch: GraphBatch) -> None:
        y = class_targets(prediction, batch, num_classes=2)
        metrics.update(prediction.argmax(dim=-1), y)

    return Task(
        name="edge classification",
        loss=loss,
        update=update,
        metrics=lambda: metric_collection(f1=f1),
        monitor="f1",
        mode="max",
    )


def _shares_of_others(sizes: Sequence[int], num_classes: int) -> list[float]:
    """The share of all targets that are not of a class, for each class."""
    if len(sizes) != num_classes or not all(size > 0 for size in sizes):
        raise ValueError(
            f"class_sizes is {list(sizes)}; expected {num_classes} numbers of targets above 0."
        )
    return [(sum(sizes) - size) / sum(sizes) for size in sizes]
