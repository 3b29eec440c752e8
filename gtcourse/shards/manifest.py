"""What a folder's list of shards holds, and that its parts agree."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gtcourse.graphs.ragged import SPLITS
from gtcourse.shards.format import Shard

SHA256 = re.compile("[0-9a-f]{64}")
MOST_SHARDS = 10**6
"""Of a split; more would not lie in one folder."""


def names_of_split(plan: dict, split: str) -> list[str]:
    """The files that a plan leads to."""
    count = -(-plan["split_sizes"][split] // plan["rows_per_shard"])
    return [f"{split}-{number:05d}.parquet" for number in range(count)]


def check_manifest(plan: dict, shards: Sequence[Shard]) -> None:
    """Refuses a plan that is none, and a shard that it does not lead to.

    Raises:
        KeyError, TypeError, ValueError: with what is wrong.
    """
    _expect(isinstance(plan, dict), "plan", plan)
    for name in ("name", "source", "target"):
        _expect(isinstance(plan[name], str), name, plan[name])
    _expect(plan["target"] in ("graph", "node", "edge"), "target", plan["target"])
    _expect(isinstance(plan["checksum"], str | None), "checksum", plan["checksum"])
    _expect(_texts(plan["stored"]), "stored", plan["stored"])
    for name in ("node_vocabulary", "edge_vocabulary"):
        _expect(plan[name] is None or _texts(plan[name]), name, plan[name])
    _expect(_whole(plan["rows_per_shard"], 1), "rows_per_shard", plan["rows_per_shard"])
    sizes = plan["split_sizes"]
    _expect(isinstance(sizes, dict) and {*sizes} == {*SPLITS}, "split_sizes", sizes)
    for split, size in sizes.items():
        most = MOST_SHARDS * plan["rows_per_shard"]
        _expect(_whole(size, 0) and size <= most, f"split_sizes of {split}", size)
    _check_shards(plan, shards)


def _check_shards(plan: dict, shards: Sequence[Shard]) -> None:
    rows = plan["rows_per_shard"]
    expected = {
        name: min(rows, plan["split_sizes"][split] - rows * number)
        for split in SPLITS
        for number, name in enumerate(names_of_split(plan, split))
    }
    for shard in shards:
        _expect(isinstance(shard.name, str) and shard.name in expected, "name", shard.name)
        _expect(shard.rows == expected[shard.name], f"rows of {shard.name}", shard.rows)
        _expect(_whole(shard.size, 1), f"size of {shard.name}", shard.size)
        fits = isinstance(shard.sha256, str) and SHA256.fullmatch(shard.sha256)
        _expect(bool(fits), f"sha256 of {shard.name}", shard.sha256)


def _expect(fits: bool, name: str, value: object) -> None:
    if not fits:
        raise ValueError(f"its {name} is {repr(value)[:60]}")


def _whole(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)
