"""Tasks on the nodes of a graph, and on its edges: one of several classes for each.

Shapes: B graphs, N nodes (padded), C classes.
"""

from __future__ import annotations

from collections.abc import Sequence

from gtcourse.graphs.batch import MISSING_LABEL
from gtcourse.training.task import Task, classes_task


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
    name, weights = f"node classification, {num_classes} classes", None
    if class_sizes is not None:
        weights = _shares_of_others(class_sizes, num_classes)
        name += f", weighted by their sizes {list(class_sizes)}"
    return classes_task(name, num_classes, accuracy, "accuracy", weights)


def edge_classification() -> Task:
    """Whether an edge is of class 1: cross-entropy on logits ``[B, N, N, 2]``, judged by F1.

    Targets ``[B, N, N]`` are 0 or 1, at ``[b, i, j]`` that of the edge from i to j;
    ``MISSING_LABEL``, as where there is no edge, is left out. F1 is the harmonic mean of two shares
    of class 1: of the edges predicted, how many are right, and of the edges to be found, how many
    are.
    """
    from torchmetrics.classification import BinaryF1Score

    f1 = BinaryF1Score(ignore_index=MISSING_LABEL)
    return classes_task("edge classification", 2, f1, "f1")


def _shares_of_others(sizes: Sequence[int], num_classes: int) -> list[float]:
    """The share of all targets that are not of a class, for each class."""
    if len(sizes) != num_classes or not all(size > 0 for size in sizes):
        raise ValueError(
            f"class_sizes is {list(sizes)}; expected {num_classes} numbers of targets above 0."
        )
    return [(sum(sizes) - size) / sum(sizes) for size in sizes]
