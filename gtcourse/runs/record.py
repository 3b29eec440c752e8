"""Records of runs and trained weights, in files.

A record is JSON. Weights are safetensors. Their metadata contain the record as well, so that one
file is a complete trained model. New files are written beside the old ones and then renamed, so
that a process killed at any moment leaves the old file or the new one. Reading a file executes
nothing in it.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from statistics import mean, stdev
from types import UnionType
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from gtcourse._moved import moved_attribute
from gtcourse.graphs.arguments import check_path
from gtcourse.graphs.io import file_sha256, replacing
from gtcourse.messages import shown
from gtcourse.names import record_stem
from gtcourse.recipes import RECIPES, Recipe
from gtcourse.train.checkpoint import read_tensors
from gtcourse.train.loop import device

PACKAGE = Path(str(files("gtcourse")))
"""The folder of the package, in which the weights of the trained models are."""

RESULTS_OF_RUNS = ("weights", "course/records")
"""Folders of the package that are no part of what runs."""


def __getattr__(name: str) -> object:
    """Names that moved to another module warn and are found there."""
    return moved_attribute(__name__, name)


def current_commit() -> str:
    """The commit of the package's source, or the installed version.

    "+changes" follows the commit if the source has changed since.
    """

    def git(*arguments: str) -> str:
        done = subprocess.run(["git", *arguments], cwd=PACKAGE, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else ""

    with suppress(FileNotFoundError):  # no git on this machine
        if git("ls-files", "__init__.py"):
            results = [f":(exclude){folder}" for folder in RESULTS_OF_RUNS]
            changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *results)
            return git("rev-parse", "HEAD") + ("+changes" if changed else "")
    return f"gtcourse {version('gtcourse')}"


def device_name() -> str:
    """The accelerator's name, or the processor's architecture and the threads in use."""
    where = device().type
    if where == "cuda":
        return torch.cuda.get_device_name()
    if where == "mps":
        return f"Apple MPS ({platform.machine()})"
    threads = torch.get_num_threads()
    return f"CPU ({platform.machine()}, {threads} thread{'' if threads == 1 else 's'})"


def installed_versions() -> dict[str, str]:
    """Versions of Python and of what results depend on, where it is installed."""
    versions = {"python": platform.python_version()}
    for package in ("gtcourse", "torch", "torch-geometric", "numpy", "rdkit"):
        with suppress(PackageNotFoundError):
            versions[package] = version(package)
    return versions


@dataclass
class Record:
    """One run.

    Attributes:
        name: what was run, such as "bag/molecules".
        config: every setting that the run depends on.
        data: name, source, checksum and sizes of the graphs.
        seed: the seed of the random numbers.
        seconds: wall time of training.
        parameters: the number of trainable parameters.
        curve: a row for each epoch.
        result: the final metrics, such as ``{"test_mae": …}``.
        command: the command line that repeats the run.
        commit: the commit of the package's source, or its version.
        device: the accelerator, or the processor and the number of threads.
        versions: the versions of Python and of the libraries that results depend on.
        date: the day on which the run ended.
        weights: SHA-256 of the trained weights (:func:`weights_sha256`), if they are stored; in
            runs of earlier releases, the SHA-256 of their file.
    """

    name: str
    config: dict[str, Any]
    data: dict[str, Any]
    seed: int
    seconds: float
    parameters: int
    curve: list[dict[str, Any]]
    result: dict[str, Any]
    command: str
    commit: str = field(default_factory=current_commit)
    device: str = field(default_factory=device_name)
    versions: dict[str, str] = field(default_factory=installed_versions)
    date: str = field(default_factory=lambda: datetime.now(UTC).strftime("%Y-%m-%d"))
    weights: str = ""

    @property
    def filename(self) -> str:
        """The name of the record's file."""
        return record_filename(self.name, self.seed)

    @property
    def weights_filename(self) -> str:
        """The path of the weights, in the folder of the record."""
        return f"weights/{record_stem(self.name, self.seed)}.safetensors"


def record_filename(name: str, seed: int) -> str:
    """The name of the file with the record of a run."""
    return f"{record_stem(name, seed)}.json"


def write_record(record: Record, path: Path | str) -> None:
    """Writes a record as JSON; numbers of its curve that are not finite become null."""
    write_json(path, as_json(record))


def as_json(record: Record) -> dict[str, Any]:
    """A record in the form of JSON; numbers of its curve that are not finite become None."""
    content = asdict(record)
    for row in content["curve"]:
        for name, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                row[name] = None
    return content


def write_json(path: Path | str, content: Mapping[str, Any]) -> None:
    """Writes a JSON file beside the old one, which it then replaces."""
    with replacing(Path(path)) as temporary:
        temporary.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")


def read_record(path: Path | str) -> Record:
    """Reads a record, or raises a ValueError if the file is something else."""
    check_path("the record", path)
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror}); expected the JSON of a record."
        ) from None
    return record_of(content, path)


def record_of(text: str | bytes, where: Path | str) -> Record:
    """The record in a JSON string; raises a ValueError that names the file."""
    try:
        text = text if isinstance(text, str) else text.decode("utf-8")
        content = {"weights": "", **json.loads(text)}
        content.pop("sha256", None)  # of older records
        _check_content(content)
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{where} is not a record of a run ({error}); expected the JSON of a record."
        ) from None
    return Record(**content)


TYPES_IN_JSON: dict[str, type | UnionType] = {
    "name": str,
    "config": dict,
    "data": dict,
    "seed": int,
    "seconds": int | float,
    "parameters": int,
    "curve": list,
    "result": dict,
    "command": str,
    "commit": str,
    "device": str,
    "versions": dict,
    "date": str,
    "weights": str,
}
"""The type of each field of a record in JSON."""

OF_SPLITS = ("train_", "val_", "test_")
"""How the names of the results begin that are scores of a split."""


def _check_content(content: Mapping[str, Any]) -> None:
    """Raises a ValueError, whose text is a reason, for JSON that is not that of a record."""
    if wrong := sorted(content.keys() ^ TYPES_IN_JSON.keys()):
        raise ValueError(f"missing or unknown: {', '.join(wrong)}")
    wrong = [name for name, kind in TYPES_IN_JSON.items() if not _is_of_type(content[name], kind)]
    if not wrong and not isinstance(content["config"].get("changed", {}), dict):
        wrong = ["config"]
    if wrong:
        raise ValueError(f"values of a wrong type: {', '.join(wrong)}")
    if not {"name", "source"} <= content["data"].keys():
        raise ValueError("data without name or source")
    for name, value in content["result"].items():
        if name.startswith(OF_SPLITS) and not _is_of_type(value, int | float):
            raise ValueError(f"the result {name} is {shown(value)}")


def _is_of_type(value: object, kind: type | UnionType) -> bool:
    """Whether a value of JSON is of a type, where true and false are no numbers."""
    return isinstance(value, kind) and not isinstance(value, bool)


def write_weights(record: Record, weights: Mapping[str, Tensor], path: Path) -> None:
    """Stores a run's weights and its record in one file, and their checksum in the record."""
    # A copy each: safetensors refuses tensors that share memory.
    weights = {name: weight.detach().cpu().clone() for name, weight in weights.items()}
    weights = {name: weight.contiguous() for name, weight in weights.items()}
    record.weights = weights_sha256(weights)
    metadata = {"record": json.dumps(as_json(record), allow_nan=False)}
    with replacing(path) as temporary:
        temporary.write_bytes(save(weights, metadata))


def read_weights(record: Record, folder: Path) -> dict[str, Tensor]:
    """The weights that a run ended with, by the names of ``state_dict``.

    ``folder`` is that of the run. Files of earlier releases, which ``torch.save`` wrote, are read
    without executing anything in them.
    """
    path = folder / record.weights_filename
    earlier = path.with_suffix(".pt")
    if not path.is_file() and earlier.is_file():
        if file_sha256(earlier) == record.weights:
            return read_tensors(earlier)
        path = earlier
    elif path.is_file():
        stored, weights = read_model(path)
        # Without a checksum of its own, the file is compared with the record beside it.
        if (stored.weights or weights_sha256(weights)) == record.weights:
            return weights
    raise ValueError(
        f"{path} is missing or damaged; expected the weights of {record.name!r} with seed "
        f"{record.seed}, with the record's checksum."
    )


def read_model(path: Path) -> tuple[Record, dict[str, Tensor]]:
    """The record and the weights in a file of :func:`write_weights`.

    Raises:
        ValueError: the file is something else, or damaged.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except Exception as error:  # of a damaged file, safetensors' own or any other
        reason = str(error).partition("\n")[0][:150].rstrip(".")
        raise ValueError(
            f"{path} cannot be read ({reason}); expected weights that gtcourse saved."
        ) from None
    if "record" not in metadata:
        raise ValueError(
            f"{path} holds no record of a run beside its weights; expected weights that gtcourse "
            "saved."
        )
    record = record_of(metadata["record"], path)
    if record.weights and weights_sha256(weights) != record.weights:
        raise ValueError(
            f"{path} is damaged: its weights are not those that were saved; expected the file as "
            "gtcourse wrote it."
        )
    return record, weights


def record_in(path: Path) -> Record:
    """The record in a file of :func:`write_weights`, without the weights."""
    with safe_open(path, framework="pt") as file:
        return record_of(file.metadata()["record"], path)


def weights_sha256(weights: Mapping[str, Tensor]) -> str:
    """The SHA-256 of the names, types, shapes and bytes of all weights."""
    digest = hashlib.sha256()
    for name in sorted(weights):
        weight = weights[name].detach().cpu().contiguous()
        digest.update(f"{name} {weight.dtype} {list(weight.shape)}\n".encode())
        digest.update(weight.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Result:
    """Several seeds of one recipe with the same budget and data, and the paper's result.

    Attributes:
        recipe: the published recipe; None for a user's own.
        metric: its name.
        paper: the printed mean and standard deviation (or None) of the metric; None if nothing is
            printed.
        records: the runs that have this metric, by seed; none if the recipe was not run.
    """

    recipe: Recipe | None
    metric: str
    paper: tuple[float, float | None] | None
    records: tuple[Record, ...] = ()

    @property
    def values(self) -> list[float]:
        """The metric of each run."""
        return [record.result[self.metric] for record in self.records]

    @property
    def budget(self) -> str:
        """The budget in words, relative to that of the published run."""
        config = self.records[0].config if self.records else {}
        if self.recipe is None or not config:
            if "epochs" not in config:
                return ""
            return "1 epoch" if config["epochs"] == 1 else f"{config['epochs']} epochs"
        changed = config.get("changed")
        if not changed:
            return "the paper's"
        text = f"{config.get('epochs', 'unknown')} of {self.recipe.epochs:,} epochs"
        if "graphs" in changed:
            text += f", {changed['graphs']} graphs"
        if "batch_size" in changed:
            text += f", batches of {changed['batch_size']}"
        return text


def read_results(folders: Iterable[Path]) -> list[Record]:
    """Every record of a run in folders and the folders in them.

    A run counts once, also if its record was copied or a folder is given twice.

    Raises:
        ValueError: the folder does not exist, or a record is damaged.
    """
    if isinstance(folders, str | Path) or not isinstance(folders, Iterable):
        raise ValueError(f"folders is {folders!r}; expected a list of folders.")
    folders = [*folders]
    for folder in folders:
        check_path("a folder of runs", folder, "the path of a folder")
    folders = [Path(folder) for folder in folders]
    for folder in folders:
        if not folder.is_dir():
            raise ValueError(f"{folder} is not a folder; expected one with runs.")
    paths = (path for folder in folders for path in sorted(folder.rglob("*-seed*.json")))
    records: dict[str, Record] = {}
    for path in paths:
        record = read_record(path)
        records.setdefault(json.dumps(asdict(record), sort_keys=True), record)
    return [*records.values()]


def results(records: Iterable[Record], dataset: str | None = None) -> list[Result]:
    """A result for each recipe, data and budget.

    A published recipe that was not run has a result without records. Runs of a user's own recipes
    come last, with all metrics of the test set.

    Args:
        records: the records of all runs.
        dataset: only recipes for this data set.
    """
    own: list[Record] = []
    published: list[Record] = []
    for record in records:
        # Earlier releases gave a run on a table zinc.csv the name of the published run.
        is_own = "own_data" in record.config.get("changed", {})
        (own if is_own else published).append(record)
    groups_of = _groups(published)
    found: list[Result] = []
    for name, recipe in RECIPES.items():
        if dataset not in (None, recipe.dataset):
            continue
        groups = groups_of.pop(name, [])
        metrics: list[tuple[str, tuple[float, float | None] | None]] = [*printed(recipe)]
        if not recipe.paper_result:
            measured = {metric for group in groups for run in group for metric in run.result}
            of_split = sorted(name for name in measured if name.startswith(("val_", "test_")))
            metrics = [(metric, None) for metric in of_split]
        for metric, paper in metrics:
            found += [_result(recipe, metric, paper, group) for group in groups or [[]]]
    others = [groups for name, groups in groups_of.items() if name not in RECIPES]
    for groups in [*others, *_groups(own).values()]:
        for group in groups:
            if dataset in (None, group[0].data["name"]):
                tested = [metric for metric in group[0].result if metric.startswith("test_")]
                found += [_result(None, metric, None, group) for metric in tested]
    return found


def _groups(records: Iterable[Record]) -> dict[str, list[list[Record]]]:
    """The seeds of each run, by ascending seed, and the runs of each recipe, by its name."""
    runs: defaultdict[str, dict[tuple[str, ...], list[Record]]] = defaultdict(dict)
    for record in sorted(records, key=lambda record: record.seed):
        is_own = "own_data" in record.config.get("changed", {})
        # "csa/zinc-on-molecules" is a run of the recipe csa/zinc.
        name = record.name if is_own else record.name.split("-on-")[0]
        settings = ("changed", "precision", "compile", "buckets", "accumulate")
        budget = str([record.config.get(setting) for setting in settings])
        data = (record.data["source"], str(record.data.get("checksum")))
        runs[name].setdefault((*data, budget), []).append(record)
    return {name: [*of_name.values()] for name, of_name in runs.items()}


def _result(
    recipe: Recipe | None,
    metric: str,
    paper: tuple[float, float | None] | None,
    group: list[Record],
) -> Result:
    """The result of a group by a metric, without the runs that do not have this metric."""
    return Result(recipe, metric, paper, tuple(run for run in group if metric in run.result))


def printed(recipe: Recipe) -> list[tuple[str, tuple[float, float | None]]]:
    """The paper's numbers by metric, except for those of several sizes of the training set."""
    return [item for item in recipe.paper_result.items() if isinstance(item[1], tuple)]


def spread(values: list[float]) -> str:
    """Mean ± standard deviation over seeds, and the number of seeds."""
    if not values:
        return "not yet run"
    if len(values) == 1:
        return f"{values[0]:.3f} (1 seed)"
    return f"{mean(values):.3f} ± {stdev(values):.3f} ({len(values)} seeds)"


def with_deviation(value: float, deviation: float) -> str:
    """A printed mean ± standard deviation, both with as many decimals as the longer of them."""
    decimals = max(len(f"{number:g}".partition(".")[2]) for number in (value, deviation))
    return f"{value:.{decimals}f} ± {deviation:.{decimals}f}"


def row(result: Result) -> tuple[str, ...]:
    """A row of text: name, metric, the paper's value, our value, their gap, budget, data."""
    paper = ""
    gap = ""
    if result.paper:
        value, deviation = result.paper
        paper = with_deviation(value, deviation) if deviation else f"{value:g}"
        if result.values:
            gap = f"{mean(result.values) - value:+.3f}"
    name = result.recipe.name if result.recipe else result.records[0].name
    data = result.records[0].data["source"] if result.records else ""
    return name, result.metric, paper, spread(result.values), gap, result.budget, data
