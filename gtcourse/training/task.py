"""What a task is: the loss a model is trained on and the metrics it is judged by.

Shapes: B graphs, N nodes (padded), C classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import torch.nn.functional as F
from torch import Tensor
from torchmetrics import Metric, MetricCollection

from gtcourse.graphs.batch import MISSING_LABEL, GraphBatch
from gtcourse.models.waiting import refuse


def graphs_of(batch: GraphBatch) -> int:
    """How many graphs there are: what most losses are a mean over."""
    return batch.num_graphs


@dataclass(frozen=True)
class Task:
    """A loss, metrics, and the metric that decides which weights are best.

    Attributes:
        loss: (predictions, batch) to the mean loss over the batch's targets. The predictions are
            what the model gives where it is asked for what ``asks`` says.
        update: (metrics, predictions, batch): adds the batch's targets to the metrics. They hold
            sums, so that a value at the end is over graphs and not a mean of batch means. The
            predictions are those of ``model(batch)``.
        metrics: makes a fresh collection.
        monitor: the metric that decides; mode: whether it is to be small or large.
        size: what the loss is a mean over: graphs, known targets, or the sum of their weights. The
            processes of a run weigh theirs by it and so have, together, the gradient of one.
        asks: keyword arguments that the model is given in training, where the loss needs more than
            the predictions: ``model(batch, **asks)``. It is not given them when it is evaluated.
    """

    name: str
    loss: Callable[[Any, GraphBatch], Tensor]
    update: Callable[[MetricCollection, Tensor, GraphBatch], None]
    metrics: Callable[[], MetricCollection]
    monitor: str
    mode: Literal["min", "max"]
    size: Callable[[GraphBatch], Tensor | int] = field(default_factory=lambda: graphs_of)
    asks: dict[str, object] = field(default_factory=dict)

    def improves(self, value: float, best: float | None) -> bool:
        if best is None:
            return value == value  # anything but NaN
        return value < best if self.mode == "min" else value > best


def metric_collection(**metrics: Metric) -> MetricCollection:
    """Fresh copies of metrics, by name."""
    return MetricCollection({name: metric.clone() for name, metric in metrics.items()})


def class_targets(logits: Tensor, batch: GraphBatch, num_classes: int) -> Tensor:
    """``batch.y`` as int64, for logits ``[*y.shape, C]``.

    Raises:
        ValueError: there is no ``y``, the two do not fit together, or a target is none of the
            classes.
    """
    if batch.y is None:
        raise ValueError("the graphs have no targets y; expected a class for each.")
    if logits.shape != (*batch.y.shape, num_classes) or batch.y.is_floating_point():
        raise ValueError(
            f"the model predicts {list(logits.shape)} and the {batch.target} targets are "
            f"{list(batch.y.shape)} of {batch.y.dtype}; expected {num_classes} logits for each "
            "target, and whole numbers as targets."
        )
    wrong = (batch.y != MISSING_LABEL) & ((batch.y < 0) | (batch.y >= num_classes))
    refuse(
        wrong,
        lambda: f"a target is {int(batch.y[wrong][0])}; expected classes 0 to {num_classes - 1}.",
    )
    return batch.y.long()


def classes_task(
    name: str,
    num_classes: int,
    metric: Metric,
    score: str,
    weights: Sequence[float] | None = None,
) -> Task:
    """Which of C classes: cross-entropy on logits ``[..., C]``, judged by a metric of the classes.

    Args:
        metric: of predicted classes and targets, both flat; score: what it is called.
        weights: of the classes in the loss; all weigh the same where it is None.
    """

    def loss(prediction: Tensor, batch: GraphBatch) -> Tensor:
        y = class_targets(prediction, batch, num_classes)
        return mean_cross_entropy(prediction, y, weights_on(prediction))

    def size(batch: GraphBatch) -> Tensor:
        return total_weight(batch.y, weights_on(batch.mask.double()))

    def weights_on(like: Tensor) -> Tensor | None:
        return None if weights is None else like.new_tensor(weights)

    def update(metrics: MetricCollection, prediction: Tensor, batch: GraphBatch) -> None:
        y = class_targets(prediction, batch, num_classes)
        metrics.update(prediction.argmax(dim=-1).flatten(), y.flatten())

    return Task(
        name=name,
        loss=loss,
        update=update,
        metrics=lambda: metric_collection(**{score: metric}),
        monitor=score,
        mode="max",
        size=size,
    )


def total_cross_entropy(logits: Tensor, y: Tensor, weights: Tensor | None = None) -> Tensor:
    r""":math:`\sum_n -w_{y_n} \log \operatorname{softmax}(x_n)_{y_n}`, without missing targets.

    Shapes:
        logits: ``[..., C]``; y: ``[...]``, ``MISSING_LABEL`` to be left out; weights: ``[C]``
    """
    return F.cross_entropy(
        logits.flatten(0, -2), y.flatten(), weights, ignore_index=MISSING_LABEL, reduction="sum"
    )


def mean_cross_entropy(logits: Tensor, y: Tensor, weights: Tensor | None = None) -> Tensor:
    """:func:`total_cross_entropy` over the sum of the targets' weights; 0 where none is known."""
    size = total_weight(y, weights)
    return total_cross_entropy(logits, y, weights) / size.where(size > 0, 1)


def total_weight(y: Tensor, weights: Tensor | None) -> Tensor:
    """The sum of the known targets' weights; how many are known where all weigh the same."""
    known = y != MISSING_LABEL
    if weights is None:
        return known.sum()
    return (weights[y.where(known, 0).long()] * known).sum()
