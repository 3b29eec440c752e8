"""What a model is asked: every task of the course, to be imported from here.

Targets of a graph: :func:`~gtcourse.training.tasks_graphs.graph_regression`,
:func:`~gtcourse.training.tasks_graphs.graph_classification` and
:func:`~gtcourse.training.tasks_graphs.graph_multiclass`. Of nodes and edges:
:func:`~gtcourse.training.tasks_nodes_edges.node_classification` and
:func:`~gtcourse.training.tasks_nodes_edges.edge_classification`.
:func:`~gtcourse.training.tasks_distances.with_distances` adds a second objective to any of them. A
:class:`~gtcourse.training.task.Task` of your own is a loss, metrics, and the metric that decides.
"""

from gtcourse.training.task import Task
from gtcourse.training.tasks_distances import with_distances
from gtcourse.training.tasks_graphs import (
    MeanAveragePrecision,
    graph_classification,
    graph_multiclass,
    graph_regression,
)
from gtcourse.training.tasks_nodes_edges import edge_classification, node_classification

__all__ = [
    "MeanAveragePrecision",
    "Task",
    "edge_classification",
    "graph_classification",
    "graph_multiclass",
    "graph_regression",
    "node_classification",
    "with_distances",
]
