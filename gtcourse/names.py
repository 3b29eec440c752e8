"""What the command line can look up without PyTorch, whose import takes seconds.

A wrong name of a recipe, a trained model or a data set is answered at once.
"""

from __future__ import annotations

import json
from difflib import get_close_matches
from pathlib import Path

from safetensors import safe_open

PACKAGE = Path(__file__).parent
WEIGHTS = PACKAGE / "weights"
MODEL_CARDS = "https://github.com/gtcourse/gtcourse/blob/main/book/models/index.md"
RECIPE_NAMES = (PACKAGE / "recipes" / "names.txt").read_text(encoding="utf-8").split()
SMALL_RECIPE_NAMES = [
    "transformer-100k/molecules",
    "gin-100k/molecules",
    "gat-100k/molecules",
    "gatedgcn-100k/molecules",
    "signnet-100k/molecules",
    "graphormer-100k/molecules",
    "egt-100k/molecules",
    "grpe-100k/molecules",
    "csa-100k/molecules",
]
"""Chapter 10's comparison, of which some weights are shipped (:mod:`gtcourse.recipes.small`)."""

DATASET_NAMES = (
    *("molecules", "cycles", "csl", "pattern", "cluster", "tsp", "digits"),
    *("zinc", "zinc-full", "ogbg-molhiv", "ogbg-molpcba", "pcqm4mv2"),
    *("pcqm4mv2-subset", "mnist", "cifar10"),
)


TABLES = (".csv", ".tsv", ".txt", ".smi", ".xlsx")
"""Endings of what is no graph file, but may hold molecules."""


def check_recipe(name: str) -> None:
    """Raises a ValueError with similar names if there is no such recipe."""
    known = RECIPE_NAMES + SMALL_RECIPE_NAMES
    if name not in known:
        near = get_close_matches(str(name), known, n=5, cutoff=0.3) or known[:5]
        raise ValueError(f"there is no recipe {name!r}; expected one such as {', '.join(near)}.")


def check_dataset(name: str) -> None:
    """Raises a ValueError if :func:`gtcourse.load_dataset` knows no data set of this name."""
    if name not in DATASET_NAMES:
        raise ValueError(
            f"there is no dataset {name!r}; expected one of {', '.join(DATASET_NAMES)}."
        )


def check_data_source(source: str) -> None:
    """Raises a ValueError if this is none of the sources of graphs, and no path of graphs."""
    if not isinstance(source, str | Path) or source == "":
        raise ValueError(f"data is {source!r}; expected 'embedded', 'real', a name or a path.")
    if Path(source).suffix.lower() in TABLES:
        raise ValueError(
            f"data is {source}, a table; expected --csv with its path, or the path of an .npz "
            "graph file."
        )
    if source not in ("embedded", "real", *DATASET_NAMES) and not Path(source).exists():
        raise ValueError(
            f"data is {source[:300]!r}; expected 'embedded', 'real', the path of an .npz graph "
            f"file or of a prepared folder, or one of {', '.join(DATASET_NAMES)}."
        )


def check_table_exists(path: str | Path) -> None:
    """Raises a ValueError if there is no such file of molecules."""
    if not Path(path).is_file():
        raise ValueError(f"there is no file {path}; expected a CSV file.")


def trained_models() -> list[str]:
    """The names of the models that come with the package."""
    names = set()
    for path in WEIGHTS.glob("*.safetensors"):
        with safe_open(path, framework="numpy") as file:
            names.add(json.loads(file.metadata()["record"])["name"])
    return sorted(names)


def record_stem(name: str, seed: int) -> str:
    """The name of a run's files without the ending."""
    return f"{name.replace('/', '-')}-seed{seed}"


def model_path(model: str | Path, seed: int = 0) -> Path:
    """Where a trained model is: its file of weights, or the record in the folder of its run.

    Args:
        model: the name of a model that comes with the package, or the path of such a file or
            folder.
        seed: of the run, for a model that comes with the package.

    Raises:
        ValueError: there is no such model, or the run is not finished.
    """
    path = Path(model)
    if path.suffix == ".safetensors" and path.is_file():
        return path
    if path.is_dir():
        records = sorted(path.glob("*-seed*.json"))
        if len(records) == 1 and [*(path / "weights").glob(f"{records[0].stem}.*")]:
            return records[0]
    else:
        shipped = WEIGHTS / f"{record_stem(str(model), seed)}.safetensors"
        if shipped.is_file():
            return shipped
    known = trained_models()
    near = get_close_matches(str(model), known, n=1, cutoff=0.8)
    similar = f" (similar: {near[0]})" if near else ""
    of_seed = f" with seed {seed}" if seed != 0 else ""
    raise ValueError(
        f"{model} is not a trained model{of_seed}{similar}; expected one of {', '.join(known)}, or "
        "the folder of one finished run."
    )
