"""What the command line can look up without PyTorch, whose import takes seconds.

A wrong name of a recipe, a trained model or a data set is answered at once.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from gtcourse.messages import shown

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

WITHOUT_RECIPE = ("molecules", "csl", "digits")
"""The data sets for which no paper has a recipe."""

TABLES = (".csv", ".tsv", ".txt", ".smi", ".xlsx")
"""Endings of what is no graph file, but may hold molecules."""


def check_recipe(name: str) -> None:
    """Raises a ValueError with similar names if there is no such recipe."""
    known = RECIPE_NAMES + SMALL_RECIPE_NAMES
    if not isinstance(name, str) or name not in known:
        near = get_close_matches(str(name), known, n=5, cutoff=0.3) or known[:5]
        raise ValueError(
            f"there is no recipe {shown(name)}; expected one such as {', '.join(near)}."
        )


def check_dataset(name: str) -> None:
    """Raises a ValueError if :func:`gtcourse.load_dataset` knows no data set of this name."""
    if not isinstance(name, str) or name not in DATASET_NAMES:
        raise ValueError(
            f"there is no dataset {shown(name)}; expected one of {', '.join(DATASET_NAMES)}."
        )


def check_has_recipe(dataset: str) -> None:
    """Raises a ValueError if there is no published recipe for a data set."""
    if dataset in WITHOUT_RECIPE:
        known = sorted({*DATASET_NAMES} - {*WITHOUT_RECIPE})
        raise ValueError(
            f"there is no published recipe for {dataset!r}; expected one of {', '.join(known)}."
        )


FORMS = {
    "csa": ("factorised", "direct", "chunked", "fused"),
    "egt": ("direct", "fused"),
    "grpe": ("direct", "fused"),
}
"""The forms of attention of the models that have several, by the family of their recipes."""


def family_of(recipe: str) -> str:
    """The family of a recipe's model, which is the first word of the recipe's name."""
    return re.split("[-/]", recipe)[0]


def check_form(form: str, recipe: str) -> None:
    """Raises a ValueError if no model of a recipe's family has this form."""
    forms = FORMS.get(family_of(recipe))
    if forms is None:
        raise ValueError(
            f"form is {shown(form)} for {recipe}; expected a recipe of CSA, EGT or GRPE."
        )
    if form not in forms:
        raise ValueError(f"form is {shown(form)}; expected one of {', '.join(forms)}.")


def check_data_source(source: str) -> None:
    """Raises a ValueError if this is none of the sources of graphs, and no path of graphs."""
    if not isinstance(source, str | Path) or source == "":
        raise ValueError(f"data is {shown(source)}; expected 'embedded', 'real', a name or a path.")
    if Path(source).suffix.lower() in TABLES:
        raise ValueError(
            f"data is {source}, a table; expected --csv with its path, or the path of an .npz "
            "graph file."
        )
    if source not in ("embedded", "real", *DATASET_NAMES) and not Path(source).exists():
        raise ValueError(
            f"data is {shown(str(source))}; expected 'embedded', 'real', the path of an .npz graph "
            f"file or of a prepared folder, or one of {', '.join(DATASET_NAMES)}."
        )


def check_table_exists(path: str | Path) -> None:
    """Raises a ValueError if there is no such file of molecules."""
    if not isinstance(path, str | Path):
        raise ValueError(f"the table is {shown(path)}; expected the path of a CSV file.")
    if str(path).startswith(("http:/", "https:/", "ftp:/")):
        raise ValueError(f"{path} is an address; expected a CSV file on this machine.")
    if Path(path).is_dir():
        raise ValueError(f"{path} is a folder; expected a CSV file.")
    if not Path(path).exists():
        raise ValueError(f"there is no file {path}; expected a CSV file.")


def available() -> list[str]:
    """The names of the models that come with the package."""
    return sorted({shipped_record(path)["name"] for path in WEIGHTS.glob("*.safetensors")})


def shipped_record(path: Path) -> dict[str, Any]:
    """The record of the run in a file of weights that comes with the package."""
    with safe_open(path, framework="numpy") as file:
        return json.loads(file.metadata()["record"])


def shipped_seeds(name: str) -> list[int]:
    """The seeds of a model whose weights come with the package, in order."""
    records = [shipped_record(path) for path in WEIGHTS.glob("*.safetensors")]
    return sorted(record["seed"] for record in records if record["name"] == name)


@dataclass(frozen=True)
class Card:
    """What ``gtcourse models`` prints of a model that comes with the package.

    Attributes:
        name: for ``gtcourse predict``.
        target: what it predicts, with its unit.
        data: what it was trained on.
        atoms: the sizes of the smallest and the largest training molecule, hydrogens not counted.
        test_error: the mean absolute error on test molecules, in the unit of the target.
        tested: which molecules these are.
    """

    name: str
    target: str
    data: str
    atoms: tuple[int, int]
    test_error: float
    tested: str


TARGETS = {
    "zinc": "penalised logP, without a unit",
    "molecules": "penalised logP, without a unit",
}
"""What is predicted, by the data set."""

SIZES = {"zinc": (9, 37), "molecules": (9, 37)}
"""Atoms of the smallest and the largest training molecule, hydrogens not counted."""


def available_models() -> list[Card]:
    """A card for each model that comes with the package, for each data set the best first."""
    cards = []
    for name in available():
        record = shipped_record(WEIGHTS / f"{record_stem(name, 0)}.safetensors")
        data = record["data"]["name"]
        sizes = record["data"]["sizes"]
        which = "of ZINC" if data == "zinc" else "embedded in RDKit"
        card = Card(
            name=name,
            target=TARGETS[data],
            data=f"{sizes['train']:,} molecules {which}",
            atoms=SIZES[data],
            test_error=record["result"]["test_mae"],
            tested=f"{sizes['test']:,} molecules {which}",
        )
        cards.append(card)
    return sorted(cards, key=lambda card: (card.data, card.test_error))


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
        ValueError: there is no such model, the run is not finished, or a seed is given with the
            path of a run.
    """
    if not isinstance(model, str | Path) or model == "":
        raise ValueError(
            f"the model is {shown(model)}; expected its name, or the folder of its run."
        )
    path = Path(model)
    if seed != 0 and path.exists():
        raise ValueError(
            f"seed is {seed}, which has no effect on {model}, a run of one seed; expected the path "
            "of the run with this seed."
        )
    if path.suffix == ".safetensors" and path.is_file():
        return path
    if path.is_dir():
        return _record_of_only_run(path)
    shipped = WEIGHTS / f"{record_stem(str(model), seed)}.safetensors"
    if shipped.is_file():
        return shipped
    known = available()
    near = get_close_matches(str(model), known, n=1, cutoff=0.8)
    similar = f" (similar: {near[0]})" if near else ""
    of_seed = f" with seed {seed}" if seed != 0 else ""
    raise ValueError(
        f"{model} is not a trained model{of_seed}{similar}; expected one of {', '.join(known)}, or "
        "the folder of one finished run."
    )


def _record_of_only_run(folder: Path) -> Path:
    """The record of the only run in a folder.

    Raises:
        ValueError: the folder has no record of a finished run or several, or the weights of the run
            are missing.
    """
    records = sorted(folder.glob("*-seed*.json"))
    in_folders = sorted(folder.glob("*/*-seed*.json"))
    if not records and in_folders:
        raise ValueError(
            f"{folder} holds folders of runs, {len(in_folders)} of them finished; expected one of "
            f"these folders, such as {in_folders[0].parent}."
        )
    if len(records) != 1:
        reason = f"the folder holds {len(records) or 'no'} records of finished runs"
    elif [*(folder / "weights").glob(f"{records[0].stem}.*")]:
        return records[0]
    else:
        reason = f"the folder lacks the weights of the run in {records[0].name}"
    raise ValueError(
        f"{folder} is not a trained model, because {reason}; expected one of "
        f"{', '.join(available())}, or the folder of one finished run."
    )


def has_records(folder: Path) -> bool:
    """Whether a folder, or a folder in it, has the record of a finished run."""
    return any(folder.rglob("*-seed*.json"))


def predicts_values(model: str | Path) -> bool:
    """Whether the record of a trained model says that it predicts values, and so has no logits.

    The answer is False for a record that does not name the task, or that cannot be read.

    Args:
        model: as :func:`model_path` takes it.
    """
    path = model_path(model)
    try:
        if path.suffix == ".safetensors":
            record = shipped_record(path)
        else:
            record = json.loads(path.read_text(encoding="utf-8"))
        own_data = record["config"].get("changed", {}).get("own_data")
        task = None if own_data is None else own_data["task"]
        dataset = record["data"]["name"]
    except (OSError, ValueError, SafetensorError, KeyError, TypeError, AttributeError):
        return False  # the file is damaged, which is reported when the model is loaded
    return task == "regression" if task is not None else dataset in TARGETS
