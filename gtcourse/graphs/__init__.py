"""What a graph is here: one batch type, one file format, every dataset by name."""

from gtcourse.graphs.batch import MISSING_LABEL, UNREACHABLE, GraphBatch, collate, unbatch
from gtcourse.graphs.checks import check_graph, check_graphs, check_vocabulary
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.graphs.files import read_graphs, write_graphs
from gtcourse.graphs.load import load_dataset
from gtcourse.graphs.loader import DenseLoader

__all__ = [
    "MISSING_LABEL",
    "UNREACHABLE",
    "DenseLoader",
    "GraphBatch",
    "GraphDataset",
    "check_graph",
    "check_graphs",
    "check_vocabulary",
    "collate",
    "load_dataset",
    "read_graphs",
    "unbatch",
    "write_graphs",
]
