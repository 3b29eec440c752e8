"""Tasks on whole graphs: a number, yes-or-no questions, one of several classes.

Shapes: B graphs, T targets of a graph, C classes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor
from torchmetrics import Metric, MetricCollection
from torchmetrics.utilities import dim_zero_cat

from gtcourse.graphs.batch import MISSING_LABEL, GraphBatch
from gtcourse.training.task import Task, classes_task, metric_collection


def graph_regression() -> Task:
    """Mean absolute error on targets ``[B]`` or ``[B, T]``; NaN targets are left out."""
    from torchmetrics import MeanAbsoluteError

    return Task(
        name="graph regression",
        loss=_mean_over_known(lambda prediction, y: (prediction - y).abs()),
        update=_update_known,
        metrics=lambda: metric_collection(mae=MeanAbsoluteError()),
        monitor="mae",
        mode="min",
        size=_known_targets,
    )


def graph_classification(num_tasks: int = 1) -> Task:
    """Yes-or-no questions about a graph: cross-entropy on logits ``[B]`` or ``[B, T]``.

    Targets are 0, 1, or NaN for an unknown answer, which is left out. Judged by the area under the
    ROC curve for one question, by average precision over several, as OGB does
    (:class:`MeanAveragePrecision`).

    Args:
        num_tasks: T.
    """
    from torchmetrics.classification import BinaryAUROC

    metrics = {"auroc": BinaryAUROC()} if num_tasks == 1 else {"ap": MeanAveragePrecision()}

    def update(collection: MetricCollection, prediction: Tensor, batch: GraphBatch) -> None:
        known = _known(prediction, batch)
        if num_tasks == 1:
            collection.update(prediction[known].sigmoid(), batch.y[known].long())
        else:
            collection.update(prediction, batch.y)

    return Task(
        name="graph classification",
        loss=_mean_over_known(partial(F.binary_cross_entropy_with_logits, reduction="none")),
        update=update,
        metrics=lambda: metric_collection(**metrics),
        monitor=next(iter(metrics)),
        mode="max",
        size=_known_targets,
    )


def graph_multiclass(num_classes: int) -> Task:
    """Which of C classes a graph is: cross-entropy on logits ``[B, C]``, judged by accuracy.

    Targets ``[B]`` are 0 to C - 1; ``MISSING_LABEL`` is left out.

    Args:
        num_classes: C.
    """
    from torchmetrics.classification import MulticlassAccuracy

    accuracy = MulticlassAccuracy(num_classes, average="micro", ignore_index=MISSING_LABEL)
    name = f"graph classification, {num_classes} classes"
    return classes_task(name, num_classes, accuracy, "accuracy")


class MeanAveragePrecision(Metric):
    """Average precision, as a mean over those questions that have both answers among the targets.

    A question without a "yes", or without a "no", has no ranking to judge; OGB leaves it out too.
    NaN where none is left.

    Shapes:
        prediction: ``[B, T]`` logits; y: ``[B, T]``, 0, 1 or NaN
    """

    higher_is_better = True
    full_state_update = False

    def __init__(self):
        super().__init__()
        self.add_state("predictions", [], dist_reduce_fx="cat")
        self.add_state("targets", [], dist_reduce_fx="cat")

    def update(self, prediction: Tensor, y: Tensor) -> None:
        self.predictions.append(prediction.float())
        self.targets.append(y)

    def compute(self) -> Tensor:
        from torchmetrics.functional.classification import binary_average_precision

        predictions, targets = dim_zero_cat(self.predictions), dim_zero_cat(self.targets)
        scores = []
        for prediction, y in zip(predictions.T, targets.T, strict=True):
            known = ~y.isnan()
            answers = y[known].long()
            if 0 < answers.sum() < len(answers):
                # Ranks in place of probabilities: large logits are one and the same sigmoid.
                rank = prediction[known].unique(return_inverse=True)[1] / len(answers)
                scores.append(binary_average_precision(rank, answers))
        return torch.stack(scores).mean() if scores else predictions.new_tensor(torch.nan)


def _mean_over_known(
    loss_of: Callable[[Tensor, Tensor], Tensor],
) -> Callable[[Tensor, GraphBatch], Tensor]:
    """``loss_of(prediction, y)``, a number for each target, as a mean over the known targets."""

    def loss(prediction: Tensor, batch: GraphBatch) -> Tensor:
        known = _known(prediction, batch)
        losses = loss_of(prediction, batch.y.nan_to_num().to(prediction.dtype))
        return (losses * known).sum() / known.sum().clamp(min=1)

    return loss


def _known_targets(batch: GraphBatch) -> Tensor:
    return (~batch.y.isnan()).sum()


def _update_known(metrics: MetricCollection, prediction: Tensor, batch: GraphBatch) -> None:
    known = _known(prediction, batch)
    metrics.update(prediction[known].float(), batch.y[known].float())


def _known(prediction: Tensor, batch: GraphBatch) -> Tensor:
    """Where there is a target; the two must agree in shape, or broadcasting would hide it."""
    if batch.y is None:
        raise ValueError("the graphs have no targets y; expected one for each prediction.")
    if prediction.shape != batch.y.shape:
        raise ValueError(
            f"the model predicts {list(prediction.shape)} and the {batch.target} targets are "
            f"{list(batch.y.shape)}; expected the same shape."
        )
    return ~batch.y.isnan()
