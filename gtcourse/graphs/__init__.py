"""What a graph is here: one batch type, one way to hold many, every data set by name."""

from gtcourse.graphs.batch import MISSING_LABEL, UNREACHABLE, GraphBatch, unbatch
from gtcourse.graphs.check import check_graphs
from gtcourse.graphs.dataset import GraphDataset, MappedGraphs, collate
from gtcourse.graphs.io import open_graphs, read_graphs, write_graphs
from gtcourse.graphs.loader import DenseLoader
from gtcourse.graphs.published import load_dataset
