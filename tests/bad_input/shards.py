"""Shards: the list of a folder, the files in it, and how they are asked for."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gtcourse.encodings import AddRings
from gtcourse.graphs.json_files import sealed
from gtcourse.shards import open_shards, prepare, process_pool
from gtcourse.shards.format import KEY, read_shard
from gtcourse.shards.loader import ShardLoader
from tests.bad_input.case import Case
from tests.shards.small import numbered

STORED = (AddRings(4),)


@cache
def a_folder() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        split = [0, 0, 0, 1, 2]
        prepare(numbered(5, split), folder, stored=STORED, rows_per_shard=2, progress=False)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def unpack(folder: Path) -> None:
    for name, content in a_folder().items():
        (folder / name).write_bytes(content)


def opened(change: Callable[[Path], object]) -> Callable:
    """A folder of shards, spoiled before it is opened."""

    def make(folder: Path) -> Callable:
        unpack(folder)
        change(folder)
        return lambda: open_shards(folder)

    return make


def listed(change: Callable[[dict], object]) -> Callable:
    """The list of a folder of shards, with something else in it."""

    def rewrite(folder: Path) -> None:
        content = json.loads((folder / "shards.json").read_text())
        change(content)
        del content["sha256"]
        (folder / "shards.json").write_text(json.dumps(sealed(content)))

    return opened(rewrite)


def plan(**changes) -> Callable[[dict], None]:
    return lambda content: content["plan"].update(changes)


def entry(**changes) -> Callable[[dict], None]:
    return lambda content: content["shards"][0].update(changes)


DAMAGED = "{folder}/shards.json is damaged ("
LISTS = [
    Case(what, listed(change), DAMAGED + says)
    for what, change, says in [
        ("another format", lambda c: c.update(format=9), "its format is 9; expected 1); expected"),
        ("no plan", lambda c: c.pop("plan"), "its fields are format, shards); expected the list"),
        (
            "a plan in words",
            lambda c: c.update(plan="all"),
            "its plan is 'all'); expected the list",
        ),
        (
            "0 rows in a shard",
            plan(rows_per_shard=0),
            "its rows_per_shard is 0); expected the list",
        ),
        ("half a row", plan(rows_per_shard=1.5), "its rows_per_shard is 1.5); expected the list"),
        (
            "more graphs than any folder holds",
            plan(split_sizes={"train": 10**18, "val": 1, "test": 1}),
            "its split_sizes of train is 1000000000000000000); expected the list",
        ),
        (
            "a negative split",
            plan(split_sizes={"train": -1, "val": 1, "test": 1}),
            "its split_sizes",
        ),
        (
            "two splits",
            plan(split_sizes={"train": 3, "val": 1}),
            "its split_sizes is {'train': 3, 'v",
        ),
        (
            "an unknown target",
            plan(target="pair"),
            "its target is 'pair'); expected the list as it",
        ),
        (
            "encodings in words",
            plan(stored="rings"),
            "its stored is 'rings'); expected the list as",
        ),
        (
            "a shard elsewhere",
            entry(name="../../secret"),
            "its name is '../../secret'); expected the",
        ),
        ("a shard of other rows", entry(rows=99), "its rows of "),
        (
            "a size in words",
            entry(size="large"),
            "its size of test-00000.parquet is 'large'); expected the list as it was written",
        ),
        (
            "a checksum that is none",
            entry(sha256="0"),
            "its sha256 of test-00000.parquet is '0'); expected the list as it was written",
        ),
        ("a field more", entry(colour="red"), "Shard.__init__() got an unex"),
    ]
]


def rewritten(change: Callable[[pa.Table], pa.Table]) -> Callable:
    """A shard with another table in it."""

    def make(folder: Path) -> Callable:
        unpack(folder)
        path = folder / "train-00000.parquet"
        pq.write_table(change(pq.read_table(path)), path)
        return lambda: read_shard(path)

    return make


def described(name: str, text: str) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(name)
        field = table.schema.field(name).with_metadata({KEY: text})
        return table.cast(table.schema.set(place, field))

    return change


def replaced(name: str, values: list) -> Callable[[pa.Table], pa.Table]:
    def change(table: pa.Table) -> pa.Table:
        place = table.schema.get_field_index(name)
        field = pa.field(name, pa.int64(), metadata=table.schema.field(name).metadata)
        return table.set_column(place, field, pa.array(values, field.type))

    return change


DEEP = "[" * 100_000
BROKEN = "the shard {folder}/train-00000.parquet is damaged or none ("
FILES = [
    Case(what, rewritten(change), BROKEN + says)
    for what, change, says in [
        ("a table of something else", lambda t: pa.table({"a": [1]}), ""),
        ("a description that is no JSON", described("x", "{"), "Expecting property name enclosed"),
        ("a description without end", described("x", DEEP), "it is nested too deeply)"),
        ("a description of another shape", described("x", '{"level": "node", "shape": [7], '
         '"dtype": "int64"}'), "cannot reshape array"),
        ("more nodes than features", replaced("num_nodes", [9, 9]), "its x has"),
        ("a negative number of nodes", replaced("num_nodes", [1, -1]), "its numbers of nodes and"),
        ("nodes without end", replaced("num_nodes", [2**31 - 1] * 2), "its x has"),
        ("more edges than there are", replaced("num_edges", [7, 7]), "its edges are not as many"),
    ]
]  # fmt: skip
OTHERS = [
    Case(
        "a folder without shards",
        lambda folder: lambda: open_shards(folder),
        "{folder} has no shards.json; expected a folder of shards",
        FileNotFoundError,
    ),
    Case(
        "a list that is empty",
        opened(lambda folder: (folder / "shards.json").write_text("")),
        "{folder}/shards.json is not JSON (Expecting value: line 1 column 1",
    ),
    Case(
        "a list of one name twice",
        opened(lambda folder: (folder / "shards.json").write_text('{"format": 1, "format": 1}')),
        "it holds 'format' twice",
    ),
    Case(
        "a shard too few",
        opened(lambda folder: (folder / "val-00000.parquet").unlink()),
        "the shard {folder}/val-00000.parquet is missing; expected what was written",
    ),
    Case(
        "a shard cut short",
        opened(lambda folder: (folder / "val-00000.parquet").write_bytes(b"PAR1")),
        "the shard {folder}/val-00000.parquet is damaged: it has 4 bytes, not",
    ),
    Case(
        "a shard with one bit less",
        lambda folder: (
            unpack(folder),
            lambda: read_shard(folder / "val-00000.parquet", sha256="0" * 64),
        )[1],
        "the shard {folder}/val-00000.parquet is damaged: its sha256 is not the recorded one",
    ),
    Case(
        "a shard that is not there",
        lambda folder: lambda: read_shard(folder / "a.parquet"),
        "there is no shard {folder}/a.parquet; expected what was written",
        FileNotFoundError,
    ),
    Case(
        "shards of 0 rows",
        lambda folder: lambda: prepare(numbered(2), folder / "out", rows_per_shard=0),
        "rows_per_shard is 0; expected a whole number, 1 or more",
    ),
    Case(
        "shards with a stored name",
        lambda folder: lambda: prepare(numbered(2), folder / "out", stored=["rings"]),
        "stored holds 'rings'; expected the course's encodings, such as AddRings(18)",
    ),
    Case(
        "shards with two rings",
        lambda folder: (
            lambda: prepare(numbered(2), folder / "out", stored=[AddRings(4), AddRings(6)])
        ),
        "stored holds AddRings(max_size=4) and AddRings(max_size=6), which both set 'ring'; expect",
    ),
    Case(
        "shards by no worker",
        lambda folder: lambda: process_pool(0),
        "workers is 0; expected a whole number, 1 or more",
    ),
]


def loader(**options) -> Callable:
    def make(folder: Path) -> Callable:
        unpack(folder)
        shards = open_shards(folder)
        return lambda: ShardLoader(shards, **{"split": "train", "batch_size": 2} | options)

    return make


LOADERS = [
    Case(f"a loader of shards with {options}", loader(**options), says)
    for options, says in [
        ({"split": "valid"}, "split is 'valid'; expected one of train, val, test"),
        ({"batch_size": 0}, "batch_size is 0; expected a whole number, 1 or more"),
        ({"batch_size": 2.0}, "batch_size is 2.0; expected a whole number, 1 or more"),
        ({"shards_at_once": "all"}, "shards_at_once is 'all'; expected a whole number, 1 or more"),
        ({"seed": -1}, "seed is -1; expected a whole number from 0 to 4294967295"),
        ({"device": "tpu:9"}, "device is 'tpu:9'; expected one that this machine has: cpu"),
    ]
]

CASES = [*LISTS, *FILES, *OTHERS, *LOADERS]
