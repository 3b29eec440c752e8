"""Weights and checkpoints: what torch's files of a run are no more."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import torch

from gtcourse.graphs.files import file_sha256
from gtcourse.training.leaderboard import trained
from gtcourse.training.records import Record, read_weights, write_weights
from tests.bad_input.case import Case
from tests.bad_input.payload import Payload
from tests.bad_input.records import a_record
from tests.training.small_run import run


def weights(spoil: Callable[[Path, Record], Record]) -> Callable:
    """A record's weights that are no more what they were."""

    def make(folder: Path) -> Callable:
        record = a_record()
        write_weights(record, {"w": torch.arange(9.0)}, folder)
        record = spoil(folder / record.weights_filename, record)
        return lambda: read_weights(record, folder)

    return make


def flipped(path: Path, record: Record) -> Record:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    return record


def signed(write: Callable[[Path], object]) -> Callable:
    """Something else, of which the record has the checksum."""

    def spoil(path: Path, record: Record) -> Record:
        write(path)
        return replace(record, weights=file_sha256(path))

    return spoil


def pickled(path: Path) -> None:
    path.write_bytes(pickle.dumps(Payload(path.parent.parent / "executed")))


def packed_pickle(path: Path) -> None:
    torch.save({"w": Payload(path.parent.parent / "executed")}, path)


WEIGHTS = [
    Case(what, weights(spoil), says)
    for what, spoil, says in [
        ("one bit less", flipped, "is damaged; expected the file of which the record has the sum"),
        (
            "a record without weights",
            lambda path, record: replace(record, weights=""),
            "no weights of 'gin-100k/zinc' with seed 0 are kept; expected",
        ),
        (
            "a pickle that runs code",
            signed(pickled),
            "cannot be read (File is not a zip file); expected the weights of a run",
        ),
        (
            "a pickle that runs code, as torch packs it",
            signed(packed_pickle),
            "cannot be read (it would run code); expected the weights of a run",
        ),
        (
            "a tensor for a dictionary",
            signed(lambda path: torch.save(torch.ones(3), path)),
            "holds something else; expected tensors by their names",
        ),
        (
            "text among the weights",
            signed(lambda path: torch.save({"w": "heavy"}, path)),
            "holds something else; expected tensors by their names",
        ),
    ]
] + [
    Case(
        "a model that the leaderboard does not have",
        lambda folder: lambda: trained("gin"),
        "there is no model 'gin'; expected one of transformer-100k",
        KeyError,
    ),
    Case(
        "a seed that was not run",
        lambda folder: lambda: trained("gin-100k", seed=7),
        "seed is 7; expected one of 0, 1, 2, with which gin-100k is recorded",
        KeyError,
    ),
]


@cache
def a_checkpoint() -> bytes:
    """Of a small run's first epoch."""
    with tempfile.TemporaryDirectory() as folder:
        run(folder, epochs=1)
        return (Path(folder) / "last.ckpt").read_bytes()


def checkpoint(change: Callable[[Path], object]) -> Callable:
    """The checkpoint of a run, spoiled before the run goes on."""

    def make(folder: Path) -> Callable:
        path = folder / "last.ckpt"
        path.write_bytes(a_checkpoint())
        (folder / ".lock").touch()
        change(path)
        return lambda: run(folder, epochs=2)

    return make


def a_bit(path: Path) -> None:
    """In the middle of a tensor's numbers, where torch would not see it."""
    content = bytearray(path.read_bytes())
    weights = torch.load(path, weights_only=True)["model"]
    numbers = next(iter(weights.values())).numpy().tobytes()
    content[content.find(numbers) + len(numbers) // 2] ^= 4
    path.write_bytes(content)


def state(**changes) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        torch.save(torch.load(path, weights_only=True) | changes, path)

    return change


CHECKPOINTS = [
    Case(what, checkpoint(change), "{folder}/last.ckpt " + says)
    for what, change, says in [
        ("a flipped bit in a weight", a_bit, "cannot be read ('archive/data/"),
        (
            "half a file",
            lambda p: p.write_bytes(p.read_bytes()[:5000]),
            "cannot be read (File is no",
        ),
        (
            "an empty file",
            lambda p: p.write_bytes(b""),
            "cannot be read (File is not a zip file); ex",
        ),
        (
            "a pickle that runs code",
            packed_pickle,
            "cannot be read (it would run code); expec",
        ),
        (
            "a tensor",
            lambda p: torch.save(torch.ones(1), p),
            "is not this run's checkpoint (",
        ),
        (
            "weights alone",
            lambda p: torch.save({"w": torch.ones(1)}, p),
            "is not this run's checkpoint (",
        ),
        (
            "no random state",
            state(rng=None),
            "is not this run's checkpoint (",
        ),
        (
            "a random state of words",
            state(rng="dice"),
            "is not this run's checkpoint (",
        ),
        (
            "an optimizer of words",
            state(optimizer="adam"),
            "is not this run's checkpoint (",
        ),
        (
            "another model's weights",
            state(model={"w": torch.ones(1)}),
            "is not this run's checkpoint (",
        ),
    ]
]


CASES = [
    *(replace(case, what=f"weights: {case.what}") for case in WEIGHTS),
    *(replace(case, what=f"a checkpoint of {case.what}") for case in CHECKPOINTS),
]
