"""gtcourse: graph Transformers, one readable file for each paper."""

import sys
import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from gtcourse._moved import MovedModules

if TYPE_CHECKING:
    from gtcourse.graphs import (
        DenseLoader,
        GraphBatch,
        GraphDataset,
        collate,
        load_dataset,
        unbatch,
    )
    from gtcourse.names import available_models
    from gtcourse.predict import load
    from gtcourse.train.loop import budget, device

__version__ = "0.20.0"
__all__ = [
    "DenseLoader",
    "GraphBatch",
    "GraphDataset",
    "available_models",
    "budget",
    "collate",
    "device",
    "load",
    "load_dataset",
    "unbatch",
]
HOMES = {
    "DenseLoader": "graphs",
    "GraphBatch": "graphs",
    "GraphDataset": "graphs",
    "available_models": "names",
    "budget": "train.loop",
    "collate": "graphs",
    "device": "train.loop",
    "load": "predict",
    "load_dataset": "course.tasks",  # which adds the generated data sets to the published ones
    "unbatch": "graphs",
}

sys.meta_path.insert(0, MovedModules())

# PyG imports tqdm's notebook bar, which warns where ipywidgets is missing; no bar of ours needs it.
warnings.filterwarnings("ignore", message="IProgress not found")
# PyG calls what PyTorch 2.15 is about to drop; it is a note to PyG's developers.
warnings.filterwarnings("ignore", message="`torch.jit.script` is deprecated")


def __getattr__(name: str) -> Any:
    """Each name is imported when it is asked for: PyG takes seconds, and ``--help`` needs none."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = import_module(f"gtcourse.{HOMES[name]}")
    return globals().setdefault(name, getattr(home, name))


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
