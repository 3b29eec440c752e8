"""gtcourse: graph Transformers, one readable file for each paper."""

import warnings

__version__ = "0.1.0"

# PyG imports tqdm's notebook bar, which warns where ipywidgets is missing; no bar of ours needs it.
warnings.filterwarnings("ignore", message="IProgress not found")

from gtcourse.graphs import (  # noqa: E402
    DenseLoader,
    GraphBatch,
    GraphDataset,
    collate,
    load_dataset,
    unbatch,
)
from gtcourse.training.budget import budget, device  # noqa: E402

__all__ = [
    "DenseLoader",
    "GraphBatch",
    "GraphDataset",
    "budget",
    "collate",
    "device",
    "load_dataset",
    "unbatch",
]
