"""What is killed, how far it had come by what lies in its folder, and what has to come of it."""

from __future__ import annotations

import codecs
import hashlib
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path

import torch

from gtcourse import cli
from gtcourse.encodings import AddRings
from gtcourse.graphs import communities, datasets, downloads, load_dataset, molecules
from gtcourse.graphs.files import HALF, write_graphs
from gtcourse.graphs.molecules import import_ogb, parse, penalized_logp
from gtcourse.shards import pcqm4mv2, prepare
from gtcourse.shards.dataset import read_manifest
from gtcourse.training.records import Record, read_record, write_record, write_weights
from tests.graphs.served import content
from tests.graphs.test_real_loaders import write_zinc
from tests.shards.layout import write_some
from tests.training.small_run import run as small_run
from tests.training.tiny_data import tiny

RUN = "gin-100k-zinc-seed0"


@dataclass(frozen=True)
class Kind:
    """Something that a process can be killed in the middle of.

    Attributes:
        name: for the record; run: does it, or finishes it, in a folder.
        phase: how far it has come, by what is there; it looks at whether that is whole.
        result: what has to be the same, whatever happened on the way.
        finished: files that are not to be touched again.
    """

    name: str
    run: Callable[[Path], None]
    phase: Callable[[Path], str]
    result: Callable[[Path], object]
    finished: Callable[[Path], list[Path]] = lambda folder: []


def halves(folder: Path) -> list[str]:
    """The files that were being written, by the names they would have got."""
    found = [HALF.fullmatch(path.name) for path in sorted(folder.rglob(".*.tmp"))]
    return [half[1] for half in found if half]


def rubbish(folder: Path) -> list[str]:
    """What is hidden in a folder and is no lock: nothing of it is meant to stay."""
    hidden = [path for path in sorted(folder.rglob(".*")) if not path.name.endswith(".lock")]
    return [str(path.relative_to(folder)) for path in hidden]


def files(folder: Path) -> dict[str, str]:
    """sha256 by name of every file that is meant to be there."""
    names = [path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.is_file()]
    return {
        str(name): hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in names
        if not any(part.startswith(".") for part in name.parts)
    }


def listed(folder: Path) -> str:
    """What a folder holds and what is being made in it, in words."""
    there = files(folder)
    begun = [path.name[1 : -len(".lock")] for path in sorted(folder.glob(".*.lock"))]
    parts = [*there, *(f"half of {name}" for name in halves(folder))]
    parts += [f"{name} is begun" for name in begun if name not in there]
    come = [path for path in folder.glob(".*.download/**/*") if path.is_file()]
    size = sum(path.stat().st_size for path in come)
    parts += [f"{len(come)} file(s) of the publisher, {size:,} bytes"] * bool(come)
    return ", ".join(parts) or "nothing yet"


# Training by the command: batch norm, checkpoints within epochs, logs, weights, record.


def train(folder: Path) -> None:
    data = folder.parent / "zinc.npz"
    sys.argv = ["gtcourse", "train", "gin-100k/zinc", "--data", str(data), "--out", str(folder)]
    sys.argv += ["--epochs", "6", "--batch-size", "8", "--checkpoint-every", "2", "--auto-resume"]
    cli.main()


def trained(folder: Path) -> object:
    record = vars(read_record(folder / RUN / f"{RUN}.json"))
    curve = [without_seconds(row) for row in record["curve"]]
    kept = {key: record[key] for key in ("name", "config", "data", "result", "weights")}
    return kept | {"curve": curve, "files": files(folder / RUN / "weights")}


def training_phase(folder: Path) -> str:
    run = folder / RUN
    if (run / f"{RUN}.json").exists():
        return "the record is written"
    if (run / "weights" / f"{RUN}.pt").exists():
        return "the weights are written"
    return checkpoint_phase(run)


def checkpoint_phase(run: Path) -> str:
    if not (run / "last.ckpt").exists():
        return "before the first checkpoint"
    state = torch.load(run / "last.ckpt", weights_only=True)
    epoch, current = len(state["progress"]["history"]["epochs"]), state["progress"]["current"]
    where = f"epoch {epoch} begins"
    if current:
        where = f"after {current['batches']} batches of epoch {epoch}"
    return where + "".join(f", half of {name}" for name in halves(run))


def without_seconds(row: dict) -> dict:
    return {name: value for name, value in row.items() if name != "seconds"}


# Training by `fit`: dropout, a schedule, checkpoints within epochs.


def fit(folder: Path) -> None:
    history, digest = small_run(folder, checkpoint_every=2)
    curve = [without_seconds(row) for row in history.epochs]
    (folder / "end.json").write_text(json.dumps({"weights": digest, "curve": curve}))


def fitted(folder: Path) -> object:
    return json.loads((folder / "end.json").read_text())


# Molecules from SMILES to shards with their rings.


def shard(folder: Path) -> None:
    source = pcqm4mv2(folder.parent / "layout")
    prepare(source, folder, stored=(AddRings(6),), rows_per_shard=4, progress=False)


def finished_shards(folder: Path) -> list[Path]:
    if not (folder / "shards.json").exists():
        return []
    return [folder / name for name in read_manifest(folder)[1]]


def shards_phase(folder: Path) -> str:
    if not (folder / "shards.json").exists():
        return "nothing yet"
    whole = f"{len(finished_shards(folder))} shards"
    return whole + "".join(f", half of {name}" for name in halves(folder))


# Caches: graphs by recipe, and some of the embedded molecules.


def build(folder: Path) -> None:
    molecules.SPLIT_SIZES = (80, 8, 8)
    sizes = (60, 10, 10)
    for name in ("pattern", "cluster"):
        whole = getattr(communities, f"build_{name}")
        setattr(communities, f"build_{name}", partial(whole, sizes))
    for name in ("csl", "pattern", "molecules", "cluster"):
        load_dataset(name, root=folder)


# A download: the publisher's files come slowly over the line.


class SlowLine:
    """What an address answers, in small pieces."""

    def __init__(self, content: bytes):
        self.content, self.headers = content, {"Content-Length": str(len(content))}

    def read(self, size: int) -> bytes:
        time.sleep(0.005)
        size = max(1, len(self.content) // 8)
        piece, self.content = self.content[:size], self.content[size:]
        return piece

    def __enter__(self) -> SlowLine:
        return self

    def __exit__(self, *error) -> None:
        return


def fetch(folder: Path) -> None:
    zinc = replace(datasets.PUBLICATIONS["zinc"], split_sizes=(2, 2, 2), graph_file=None)
    datasets.PUBLICATIONS["zinc"] = zinc
    answers = [folder.parent / f"answer-{number}" for number in range(len(zinc.downloads))]
    answers = {each.url: path for each, path in zip(zinc.downloads, answers, strict=True)}
    downloads._open = lambda url: SlowLine(answers[url].read_bytes())
    load_dataset("zinc", root=folder)


# Files written again and again: each is the old or the new one.


def version(number: int) -> tuple[Record, dict, object]:
    record = Record(
        name="written/often", config={"version": number}, data={"name": "none", "source": "none"},
        seed=0, seconds=1.0, parameters=1, curve=[{"epoch": 0}], result={"test_mae": float(number)},
        command="none", commit="none", device="none", versions={"python": "3"}, date="2026-01-01",
    )  # fmt: skip
    weights = {"w": torch.full((20_000,), float(number))}
    return record, weights, tiny("zinc", 6 * (1 + number), seed=number)


def write(folder: Path, rounds: int = 60) -> None:
    versions = [version(0), version(1)]
    for number in range(rounds):
        record, weights, graphs = versions[number % 2]
        write_weights(record, weights, folder)
        write_record(record, folder / record.filename)
        write_graphs(folder / "graphs.npz", graphs)


def writing_phase(folder: Path) -> str:
    known = json.loads((folder.parent / "versions.json").read_text())
    there = files(folder)
    strange = [name for name, digest in there.items() if digest not in known[name]]
    if strange:
        raise ValueError(f"{', '.join(strange)} is neither the old file nor the new one")
    parts = [f"{name} {known[name].index(digest)}" for name, digest in there.items()]
    parts += [f"half of {name}" for name in halves(folder)]
    return ", ".join(parts) or "nothing yet"


KINDS = {
    "training": Kind("training by the command", train, training_phase, trained),
    "fit": Kind("training in the middle of epochs", fit, checkpoint_phase, fitted),
    "shards": Kind("encoding into shards", shard, shards_phase, files, finished_shards),
    "caches": Kind("building caches", build, listed, files),
    "download": Kind("a download", fetch, listed, files),
    "writing": Kind("records, weights and graph files", write, writing_phase, files),
}


def import_ahead() -> None:
    """What the jobs import or read when they need it would else be most of their time."""
    penalized_logp(parse("CCO"))
    import_ogb()
    for name in (
        "lightning_fabric",
        "lightning_fabric.strategies",
        "ogb.lsc",
        "pandas",
        "pyarrow.parquet",
        "rdkit.Chem",
        "tensorboardX.event_file_writer",
        "torch._dynamo",
        "torch_geometric.datasets",
        "torchmetrics",
    ):
        import_module(name)
    for name in ("cp437", "latin-1"):  # a child without rights may find no more modules
        codecs.lookup(name)


def make_ready(kind: str, folder: Path) -> None:
    """What is there before the first of them begins, beside the folders they work in."""
    if kind == "training":
        write_graphs(folder / "zinc.npz", tiny("zinc", 48))
    if kind == "shards":
        write_some(folder / "layout", count=96)
    if kind == "download":
        write_zinc(folder / "published")
        for number, each in enumerate(datasets.PUBLICATIONS["zinc"].downloads):
            (folder / f"answer-{number}").write_bytes(content(each, folder / "published"))
    if kind == "writing":
        versions = [{}, {}]
        for number in range(2):
            place = folder / f"version-{number}"
            partial(write, rounds=number + 1)(place)
            versions[number] = files(place)
        (folder / "versions.json").write_text(
            json.dumps({name: [each[name] for each in versions] for name in versions[0]})
        )
