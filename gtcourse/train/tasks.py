"""Tasks: losses and metrics for targets of graphs, nodes and edges.

A :class:`Task` of your own needs a loss and a metric of torchmetrics.

Shapes:
    B: graphs in a batch
    N: nodes, with padding
    T: targets of a graph
    C: classes
    ν: the largest distance that is predicted
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.arguments import check_bools, check_choice, is_number, whole_number
from gtcourse.graphs.batch import MISSING_LABEL, GraphBatch, has_lowered_distances
from gtcourse.messages import shown
from gtcourse.models.categories import can_read

if TYPE_CHECKING:
    from torchmetrics import Metric

# torchmetrics is imported where a metric is built: it takes over a second (SciPy's signals,
# Matplotlib), and a prediction needs none.


Loss = Callable[[Any, GraphBatch], Tensor]
"""Takes ``model(batch)`` and the batch. The losses here can be pickled, as can their tasks."""


def unchanged(values: Tensor) -> Tensor:
    """Returns a copy: the outputs of the model are already in the unit of the targets."""
    return values.clone()


@dataclass(frozen=True)
class Task:
    """A loss, and the metric that decides which weights are best.

    Attributes:
        name: what is learned; when a run is resumed, two tasks with the same name count as the
            same.
        loss: takes ``model(batch, **model_options)`` and the batch, and returns the mean loss over
            the batch's targets.
        metric: creates a new metric.
        update: takes a metric, ``model(batch)`` and the batch, and adds the batch to the metric.
        monitor: the name of the metric.
        mode: whether the metric should be small ("min") or large ("max").
        size: what the loss of a batch is a mean over: graphs, known targets, or the sum of their
            weights. Losses of several batches or processes are weighted by it.
        model_options: how the model is called in training, besides the batch.
        num_classes: C; None for numbers.
        predictions: converts the model's outputs to numbers in the unit of the targets, or to
            probabilities.
        kind: what the predictions are: "value", "probability" of class 1, or "probabilities" of C
            classes, ``[..., C]``.
    """

    name: str
    loss: Loss
    metric: Callable[[], Metric]
    update: Callable[[Metric, Tensor, GraphBatch], None]
    monitor: str
    mode: Literal["min", "max"]
    size: Callable[[GraphBatch], Tensor | int] = attrgetter("num_graphs")
    model_options: dict[str, object] = field(default_factory=dict)
    num_classes: int | None = None
    predictions: Callable[[Tensor], Tensor] = unchanged
    kind: Literal["value", "probability", "probabilities"] = "value"

    def improves(self, value: float, best: float | None) -> bool:
        """Whether a value of the metric is better than the best so far; NaN never is."""
        if best is None:
            return not math.isnan(value)
        return value < best if self.mode == "min" else value > best

    def check(self, targets: Tensor, *, all_may_be_missing: bool = False) -> None:
        """Raises a ValueError if no target is known, or a target is not one of the classes."""
        known = targets[~targets.isnan() & (targets != MISSING_LABEL)]
        if not len(known):
            if all_may_be_missing:
                return
            raise ValueError("all targets are missing; expected at least one that is known.")
        classes = range(self.num_classes or 0)
        if not classes:
            return
        wrong = [value for value in known.unique().tolist() if value not in classes]
        if wrong:
            raise ValueError(
                f"a target is {wrong[0]:g}; expected classes, 0 to {len(classes) - 1}."
            )


@dataclass(frozen=True)
class Scale:
    """The scale of T targets, for models that predict standardised ones.

    Attributes:
        mean: the mean of each target.
        sd: the standard deviation of each target.

    Raises:
        ValueError: the numbers of means and standard deviations differ, one of them is not finite,
            or a standard deviation is not above 0.
    """

    mean: tuple[float, ...]
    sd: tuple[float, ...]

    def __post_init__(self) -> None:
        for values in (self.mean, self.sd):
            is_list = isinstance(values, Sequence) and not isinstance(values, str | bytes)
            if not is_list or not all(isinstance(each, int | float) for each in values):
                raise ValueError(
                    f"mean is {shown(self.mean)} and sd is {shown(self.sd)}; expected "
                    "a tuple of numbers each."
                )
        numbers = [*self.mean, *self.sd]
        if len(self.mean) != len(self.sd) or not all(map(math.isfinite, numbers)):
            raise ValueError(
                f"mean is {self.mean} and sd is {self.sd}; expected a finite number of each for "
                "each target."
            )
        if min(self.sd, default=0.0) <= 0:
            raise ValueError(f"sd is {self.sd}; expected numbers above 0.")

    def standardised(self, y: Tensor) -> Tensor:
        """(y - mean) / sd of targets ``[...]`` or, if there are several, ``[..., T]``."""
        mean, sd = self._like(y)
        return (y - mean) / sd

    def restored(self, prediction: Tensor) -> Tensor:
        """Predictions in the unit of the targets."""
        mean, sd = self._like(prediction)
        return prediction * sd + mean

    def _like(self, values: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and standard deviation on the device of the values: ``[T]``, or one number each."""
        T = len(self.mean)
        if T > 1 and (values.dim() < 2 or values.shape[-1] != T):
            raise ValueError(
                f"the values have the shape {list(values.shape)}, and the scale has {T} targets; "
                f"expected [..., {T}]."
            )
        mean = values.new_tensor(self.mean)
        sd = values.new_tensor(self.sd)
        if len(self.mean) == 1:
            return mean[0], sd[0]
        return mean, sd


def graph_regression(scale: Scale | None = None) -> Task:
    """Mean absolute error on targets ``[B]`` or ``[B, T]``; NaN targets are left out.

    With a ``scale``, the model predicts standardised targets. The loss is computed on these; the
    metric and the predictions are in the unit of the targets. Targets of nodes, ``[B, N]``, are
    accepted as well.
    """
    name = "graph regression"
    if scale is not None:
        if not isinstance(scale, Scale):
            raise ValueError(f"scale is {shown(scale)}; expected a Scale of the targets, or None.")
        name += f", targets standardised by mean {list(scale.mean)}, sd {list(scale.sd)}"
    error = partial(_absolute_error, scale)
    update = partial(_update_error, scale)
    task = _numbers(name, error, _mean_absolute_error, update, "mae", "min")
    return task if scale is None else replace(task, predictions=scale.restored)


def _absolute_error(scale: Scale | None, prediction: Tensor, y: Tensor) -> Tensor:
    """The error of each target, on the scale on which the model predicts."""
    standardised = y if scale is None else scale.standardised(y)
    return F.l1_loss(prediction, standardised, reduction="none")


def _mean_absolute_error() -> Metric:
    from torchmetrics import MeanAbsoluteError

    return MeanAbsoluteError()


def _update_error(
    scale: Scale | None, metric: Metric, prediction: Tensor, batch: GraphBatch
) -> None:
    """Adds the known targets of a batch to a metric, in the unit of the targets."""
    y = _checked_targets(prediction, batch)
    known = ~y.isnan()
    # Half precision is too coarse for errors, and single precision for large float64 targets.
    precise = prediction.to(torch.promote_types(prediction.dtype, torch.float32))
    if scale is not None:
        precise = scale.restored(precise)
    error = (precise - y)[known]
    metric.update(error, torch.zeros_like(error))


def graph_classification(num_tasks: int = 1) -> Task:
    """Binary classification of a graph: cross-entropy on logits ``[B]`` or ``[B, T]``.

    Targets are 0 or 1; NaN (unknown) is left out. The metric of one target is "auroc",
    the area under the ROC curve, and of T targets "ap", average precision, averaged over those that
    have both a 0 and a 1, as in OGB for ogbg-molhiv and ogbg-molpcba.
    """
    whole_number("num_tasks", num_tasks, 1)
    monitor: Literal["auroc", "ap"] = "auroc" if num_tasks == 1 else "ap"
    cross_entropy = partial(F.binary_cross_entropy_with_logits, reduction="none")

    ranking = partial(_mean_over_targets, monitor)
    name = "graph classification"
    task = _numbers(name, cross_entropy, ranking, _update_ranking, monitor, "max", 2)
    loss = partial(_loss_of_tasks, num_tasks, task.loss)
    return replace(task, loss=loss, predictions=torch.sigmoid, kind="probability")


def _update_ranking(metric: Metric, prediction: Tensor, batch: GraphBatch) -> None:
    metric.update(prediction, _checked_targets(prediction, batch))


def _loss_of_tasks(num_tasks: int, loss: Loss, prediction: Tensor, batch: GraphBatch) -> Tensor:
    """The loss; a ValueError if the graphs have another number of targets than the task."""
    found = targets_of(batch)[0].numel()
    if found != num_tasks:
        raise ValueError(
            f"the graphs have {found} target(s) each, and the task has {num_tasks}; expected "
            f"graph_classification({found})."
        )
    return loss(prediction, batch)


def node_binary_classification() -> Task:
    """Binary classification of nodes: cross-entropy on logits ``[B, N]``, scored by ROC AUC.

    Targets are 0 or 1; NaN (unknown, or padding) is left out.
    """
    cross_entropy = partial(F.binary_cross_entropy_with_logits, reduction="none")

    ranking = partial(_mean_over_targets, "auroc")
    name = "node classification"
    task = _numbers(name, cross_entropy, ranking, _update_flat_ranking, "auroc", "max", 2)
    return replace(task, predictions=torch.sigmoid, kind="probability")


def _update_flat_ranking(metric: Metric, prediction: Tensor, batch: GraphBatch) -> None:
    y = _checked_targets(prediction, batch)
    metric.update(prediction.flatten(), y.flatten())


def graph_multiclass(num_classes: int) -> Task:
    """Classification of graphs into C classes: cross-entropy on ``[B, C]``, scored by accuracy.

    Targets ``[B]`` are 0 to C - 1; ``MISSING_LABEL`` is left out.
    """
    name = f"graph classification, {num_classes} classes"
    metric = partial(_accuracy, num_classes, "micro")
    return _classes(name, num_classes, "accuracy", metric)


def node_classification(num_classes: int, class_sizes: Sequence[int] | None = None) -> Task:
    r"""Classification of nodes into C classes: cross-entropy on logits ``[B, N, C]``.

    Targets ``[B, N]`` are 0 to C - 1; ``MISSING_LABEL`` is left out. A class of :math:`c_k` targets
    has the weight

    .. math:: w_k = \frac{\sum_l c_l - c_k}{\sum_l c_l},
              \qquad J = \frac{\sum_n w_{y_n} J_n}{\sum_n w_{y_n}}.

    By default all weights are the same. The sizes are counted once for a data set, as EGT's authors
    do; Dwivedi et al. (2020) count in each batch.

    Scored by accuracy as in the literature on PATTERN and CLUSTER: the mean over classes of the
    share of their targets that is predicted. A class without targets counts as 0 if it was
    predicted, and is left out otherwise.
    """
    num_classes = whole_number("num_classes", num_classes, 2)
    name = f"node classification, {num_classes} classes"
    weights = None
    if class_sizes is not None:
        if not isinstance(class_sizes, Sequence) or isinstance(class_sizes, str | bytes):
            raise ValueError(f"class_sizes is {shown(class_sizes)}; expected a list of sizes.")
        class_sizes = [whole_number("a size of a class", size, 0) for size in class_sizes]
        if len(class_sizes) != num_classes or sum(class_sizes) == 0:
            raise ValueError(
                f"class_sizes is {[*class_sizes]}; expected the number of targets of each of "
                f"{num_classes} classes."
            )
        total = sum(class_sizes)
        weights = [(total - size) / total for size in class_sizes]
        name += f", weighted by their sizes {list(class_sizes)}"
    metric = partial(_accuracy, num_classes, "macro")
    return _classes(name, num_classes, "accuracy", metric, weights)


def edge_classification() -> Task:
    """Binary classification of edges: cross-entropy on logits ``[B, N, N, 2]``, scored by F1.

    Targets ``[B, N, N]`` are 0 or 1, at ``[b, i, j]`` that of the edge from i to j;
    ``MISSING_LABEL``, which also marks pairs without an edge, is left out. F1 is the harmonic mean
    of precision and recall of class 1.
    """
    return _classes("edge classification", 2, "f1", _f1)


def _f1() -> Metric:
    from torchmetrics.classification import BinaryF1Score

    return BinaryF1Score(ignore_index=MISSING_LABEL)


def with_distances(
    task: Task,
    hops: int,
    weight: float,
    reduction: Literal["sum", "mean"] = "sum",
    self_is_one_hop: bool = False,
) -> Task:
    r"""``task``, and the distance of each pair of nodes as a class to predict (EGT, Sec. 3.3).

    .. math:: J = J_\text{task} + \kappa\,\mathcal{D}, \qquad
              \mathcal{D} = \frac1B \sum_b \sum_{(i, j):\, 0 \le D_{b,ij} \le \nu}
              -\log \operatorname{softmax}(x_{b,ij})_{D_{b,ij}}

    for the logits :math:`x` ``[B, N, N, ν + 1]`` that a model returns beside its prediction when it
    is called as ``model(batch, return_distances=True)``. :math:`D` is the encoding ``distance`` of
    :class:`gtcourse.encodings.AddShortestPaths`, whose ``max_distance`` has to be above ν: pairs
    that are farther apart than ν, have no path or contain padding are left out.

    Args:
        task: the task of the graphs.
        hops: ν.
        weight: κ, of the sum over a graph's pairs: 0.05 on ZINC, about two hundred terms.
        reduction: "sum" of a graph's pairs, averaged over graphs, as in the authors' code; the
            paper does not say. With "mean" :math:`\mathcal{D}` is the mean over the batch's pairs.
        self_is_one_hop: a node's distance to itself is 1, as in the authors' code, which counts
            the walks of A + I. No pair is then of class 0. (Their classes are ν + 1 - D.)

    Raises:
        ValueError: ν is below 1, κ is not above 0, or another argument is not one of those above.
            The loss raises a ValueError if distances up to ν are not exact.
    """
    check_task(task)
    hops = whole_number("hops", hops, 1)
    if not is_number(weight) or weight <= 0:
        raise ValueError(f"weight is {shown(weight)}; expected a number above 0.")
    check_choice("reduction", reduction, ("sum", "mean"))
    check_bools(self_is_one_hop=self_is_one_hop)

    pairs = f"the {reduction} over pairs" + (", self 1 hop" if self_is_one_hop else "")
    name = f"{task.name}, and distances to {hops} hops by {weight:g} ({pairs})"
    options = task.model_options | {"return_distances": True}
    loss = partial(_loss_with_distances, task.loss, hops, weight, reduction, self_is_one_hop)
    return replace(task, name=name, loss=loss, model_options=options)


def _loss_with_distances(
    loss: Loss,
    hops: int,
    weight: float,
    reduction: str,
    self_is_one_hop: bool,
    predictions: tuple[Tensor, Tensor],
    batch: GraphBatch,
) -> Tensor:
    """A task's loss, to which the weighted loss of the distances is added (with_distances)."""
    prediction, logits = predictions
    distance = batch.encoding("distance").long()
    if logits.shape[-1] != hops + 1:
        raise ValueError(
            f"the model predicts distances to {logits.shape[-1] - 1} hops and the task has "
            f"{hops}; expected the same, the model's distance_hops."
        )
    if self_is_one_hop:
        distance = torch.where(distance == 0, 1, distance)
    classes = distance.masked_fill((distance < 0) | (distance > hops), MISSING_LABEL)
    total, pairs = _cross_entropy(logits, classes)
    distance_loss = total / (batch.num_graphs if reduction == "sum" else pairs.clamp(min=1))
    stored = batch.encoding("distance")  # [B, N, N]
    largest = stored.amax(dim=(1, 2))  # [B]
    has_wrong_class = has_lowered_distances(stored, batch.adjacency) & (largest <= hops)  # [B]
    if not can_read(stored):  # the loss is NaN, at which fit stops
        distance_loss = distance_loss.masked_fill(has_wrong_class.any(), torch.nan)
    elif has_wrong_class.any():
        raise ValueError(
            f"distances are lowered to {int(largest[has_wrong_class].max())} or less, and "
            f"distances up to {hops} are predicted; expected exact ones, as AddShortestPaths() "
            "computes."
        )
    return loss(prediction, batch) + weight * distance_loss


def check_task(task: object) -> None:
    """Raises a ValueError for what is no task, such as the name of one."""
    if not isinstance(task, Task):
        raise ValueError(
            f"task is {shown(task)}; expected a Task, such as tasks.graph_regression()."
        )


def check_model(model: object) -> None:
    """Raises a ValueError for what is no model of PyTorch, such as the name of one."""
    if not isinstance(model, nn.Module):
        raise ValueError(f"model is {shown(model)}; expected a model, such as GIN(GINConfig()).")


def check_gradients(tensors: Iterable[Tensor]) -> None:
    """Raises a ValueError if PyTorch's inference mode rules out gradients.

    Args:
        tensors: What a gradient depends on: parameters, and the data beside them.
    """
    if torch.is_inference_mode_enabled() or any(each.is_inference() for each in tensors):
        raise ValueError(
            "torch.inference_mode() is on, or was on when the model or the data were made, and "
            "there are no gradients then; expected all of it outside of inference mode."
        )


def targets_of(batch: GraphBatch) -> Tensor:
    """The batch's targets, or a ValueError if it has none."""
    if batch.y is None:
        raise ValueError("the graphs have no targets y; expected one for each prediction.")
    return batch.y


def _checked_targets(prediction: Tensor, batch: GraphBatch, *classes: int) -> Tensor:
    """The targets, or a ValueError if the predictions have another shape.

    Data and models can be the user's own: ``[B, 1]`` and ``[B]`` would broadcast silently.
    """
    y = targets_of(batch)
    expected = [*y.shape, *classes]
    if not isinstance(prediction, Tensor):
        raise ValueError(
            f"the model returns a {type(prediction).__name__}; expected predictions {expected}."
        )
    if [*prediction.shape] != expected or y.is_floating_point() == bool(classes):
        raise ValueError(
            f"the model predicts {list(prediction.shape)} and the {batch.target} targets are "
            f"{list(y.shape)} of {y.dtype}; expected predictions {expected} and "
            f"{'integer' if classes else 'float'} targets."
        )
    return y


def _numbers(
    name: str,
    loss_of: Callable[[Tensor, Tensor], Tensor],
    metric: Callable[[], Metric],
    update: Callable[[Metric, Tensor, GraphBatch], None],
    monitor: str,
    mode: Literal["min", "max"],
    num_classes: int | None = None,
) -> Task:
    """A task of float targets: the mean of ``loss_of(prediction, y)`` over the known targets."""
    loss = partial(_loss_of_numbers, loss_of)
    return Task(name, loss, metric, update, monitor, mode, _num_known, num_classes=num_classes)


def _loss_of_numbers(
    loss_of: Callable[[Tensor, Tensor], Tensor], prediction: Tensor, batch: GraphBatch
) -> Tensor:
    y = _checked_targets(prediction, batch)
    known = ~y.isnan()
    losses = loss_of(prediction, y.nan_to_num().to(prediction.dtype))
    return (losses * known).sum() / known.sum().clamp(min=1)


def _num_known(batch: GraphBatch) -> Tensor:
    return (~targets_of(batch).isnan()).sum()


def _classes(
    name: str,
    num_classes: int,
    monitor: str,
    metric: Callable[[], Metric],
    weights: Sequence[float] | None = None,
) -> Task:
    """A task of C classes: cross-entropy on logits ``[..., C]``, scored by a metric of classes."""
    whole_number("num_classes", num_classes, 2)

    return Task(
        name,
        partial(_loss_of_classes, num_classes, weights),
        metric,
        partial(_update_classes, num_classes),
        monitor,
        mode="max",
        size=partial(_weight_of_known, weights),
        num_classes=num_classes,
        predictions=partial(torch.softmax, dim=-1),
        kind="probabilities",
    )


def _loss_of_classes(
    num_classes: int, weights: Sequence[float] | None, prediction: Tensor, batch: GraphBatch
) -> Tensor:
    y = _checked_targets(prediction, batch, num_classes)
    total, size = _cross_entropy(prediction, y, weights)
    return total / size.where(size > 0, 1)


def _update_classes(
    num_classes: int, metric: Metric, prediction: Tensor, batch: GraphBatch
) -> None:
    y = _checked_targets(prediction, batch, num_classes)
    metric.update(prediction.argmax(dim=-1).flatten(), y.flatten())


def _weight_of_known(weights: Sequence[float] | None, batch: GraphBatch) -> Tensor:
    return _total_weight(targets_of(batch), weights)


def _mean_over_targets(score: Literal["auroc", "ap"]) -> Metric:
    from gtcourse.train.metrics import MeanOverTargets

    return MeanOverTargets(score)


def _accuracy(num_classes: int, average: Literal["micro", "macro"]) -> Metric:
    from torchmetrics.classification import MulticlassAccuracy

    return MulticlassAccuracy(num_classes, average=average, ignore_index=MISSING_LABEL)


def _cross_entropy(
    logits: Tensor, y: Tensor, weights: Sequence[float] | None = None
) -> tuple[Tensor, Tensor]:
    r"""The sums :math:`\sum_n -w_{y_n} \log \operatorname{softmax}(x_n)_{y_n}` and
    :math:`\sum_n w_{y_n}` over the known targets.
    """
    rows = logits.flatten(0, -2)
    y = y.flatten().long()
    of_class = None if weights is None else logits.new_tensor(weights)
    total = F.cross_entropy(rows, y, of_class, ignore_index=MISSING_LABEL, reduction="sum")
    return total, _total_weight(y, weights, logits.dtype)


def _total_weight(
    y: Tensor, weights: Sequence[float] | None, dtype: torch.dtype = torch.float64
) -> Tensor:
    """The sum of the weights of the known targets; by default each has a weight of 1."""
    known = y != MISSING_LABEL
    if weights is None:
        return known.sum()
    of_class = torch.tensor(weights, dtype=dtype, device=y.device)
    return (of_class[y.where(known, 0).long()] * known).sum()
