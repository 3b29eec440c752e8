"""A second objective for models with a vector for each pair: how far apart the two nodes are.

Shapes: B graphs, N nodes (padded), ν farthest distance asked for.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from gtcourse.graphs.arguments import at_least, positive
from gtcourse.graphs.batch import MISSING_LABEL, GraphBatch
from gtcourse.training.task import Task, mean_cross_entropy, total_cross_entropy


def with_distances(
    task: Task,
    hops: int,
    weight: float,
    reduction: Literal["sum", "mean"] = "sum",
    self_is_one_hop: bool = False,
) -> Task:
    r"""``task``, and the distance of each pair of nodes as a class to be told (EGT, Sec. 3.3).

    .. math:: J = J_\text{task} + \kappa\,\mathcal{D}, \qquad
              \mathcal{D} = \frac1B \sum_b \sum_{(i, j):\, 0 \le D_{b,ij} \le \nu}
              -\log \operatorname{softmax}(x_{b,ij})_{D_{b,ij}}

    for the logits :math:`x` ``[B, N, N, ν + 1]`` that a model gives beside its prediction when it
    is called as ``model(batch, return_distances=True)``. :math:`D` is the encoding ``distance``, of
    :class:`gtcourse.encodings.AddShortestPaths`: pairs farther apart than ν, without a path or at
    padding are left out. The metrics are those of ``task``.

    Args:
        hops: ν. ``AddShortestPaths(max_distance)`` stores longer distances as ``max_distance``,
            which therefore has to be above ν, or a pair farther apart would count as one at ν.
        weight: κ, of the sum over a graph's pairs: 0.05 on ZINC, where that is about two hundred
            terms.
        reduction: "sum", of a graph's pairs, and the mean over graphs, as in the authors' code; the
            paper does not say. With "mean" :math:`\mathcal{D}` is the mean over the batch's pairs.
        self_is_one_hop: a node's distance to itself is 1, as for the authors' code, which counts
            the walks of A + I. No pair is then of class 0. (Their classes are numbered the other
            way round, ν + 1 - D, and their class 0 is what is left out.)

    Raises:
        ValueError: ν is below 1, κ is not above 0, or ``reduction`` is neither of the two. When
            the loss is taken: there are no distances, or no logits that fit them.
    """
    at_least(1, hops=hops)
    positive(weight=weight)
    if reduction not in ("sum", "mean"):
        raise ValueError(f"reduction is {reduction!r}; expected 'sum' or 'mean'.")

    def loss(predictions: tuple[Tensor, Tensor], batch: GraphBatch) -> Tensor:
        prediction, logits = _prediction_and_logits(predictions)
        classes = _distance_classes(logits, batch, hops, self_is_one_hop)
        if reduction == "sum":
            distance_loss = total_cross_entropy(logits, classes) / batch.num_graphs
        else:
            distance_loss = mean_cross_entropy(logits, classes)
        return task.loss(prediction, batch) + weight * distance_loss

    pairs = f"the {reduction} over pairs" + (", self 1 hop" if self_is_one_hop else "")
    return replace(
        task,
        name=f"{task.name}, and distances to {hops} hops by {weight:g} ({pairs})",
        loss=loss,
        asks=task.asks | {"return_distances": True},
    )


def _prediction_and_logits(predictions: object) -> tuple[Tensor, Tensor]:
    if not isinstance(predictions, tuple) or len(predictions) != 2:
        raise ValueError(
            "the model gives no distance logits; expected one called as model(batch, "
            "return_distances=True) that gives a prediction and the logits."
        )
    return predictions


def _distance_classes(
    logits: Tensor, batch: GraphBatch, hops: int, self_is_one_hop: bool
) -> Tensor:
    """``[B, N, N]`` int64: 0 to ν, or ``MISSING_LABEL``."""
    distance = batch.encodings.get("distance")
    if distance is None:
        raise ValueError(
            "the graphs have no distances to be told; expected those of "
            "encode(graphs, AddShortestPaths())."
        )
    if logits.shape != (*distance.shape, hops + 1):
        raise ValueError(
            f"the distance logits are {list(logits.shape)}; expected "
            f"{[*distance.shape, hops + 1]}, for distances of 0 to {hops} hops."
        )
    if self_is_one_hop:
        distance = torch.where(distance == 0, 1, distance)
    return distance.long().masked_fill((distance < 0) | (distance > hops), MISSING_LABEL)
