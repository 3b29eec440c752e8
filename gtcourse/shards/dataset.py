"""A folder of shards: what is in it, and whether it is whole.

``shards.json`` holds the plan (of what data, with what stored) and an entry for each finished
shard. It is written anew after each of them, so a killed run leaves a list of what it finished.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from gtcourse.graphs.json_files import read_json, write_json
from gtcourse.graphs.ragged import SPLITS
from gtcourse.shards.format import AGAIN, Shard
from gtcourse.shards.manifest import check_manifest, names_of_split

MANIFEST = "shards.json"
FORMAT = 1


@dataclass(frozen=True)
class ShardedGraphs:
    """Graphs in shards, of which none is read yet; beside :class:`~gtcourse.graphs.GraphDataset`.

    Attributes:
        folder: where they lie.
        name, source, checksum: of the data they were made of.
        target: what ``y`` belongs to: "graph", "node" or "edge".
        stored: the encodings in them, as ``repr`` writes them.
        shards: by split; all of a split have equally many graphs but the last, which may have less.
        node_vocabulary, edge_vocabulary: as of a ``GraphDataset``.
    """

    folder: Path
    name: str
    source: str
    checksum: str
    target: str
    stored: tuple[str, ...]
    shards: dict[str, tuple[Shard, ...]] = field(repr=False)
    node_vocabulary: tuple[str, ...] | None = field(default=None, repr=False)
    edge_vocabulary: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def split_sizes(self) -> dict[str, int]:
        return {split: sum(shard.kept for shard in self.shards[split]) for split in SPLITS}

    @property
    def provenance(self) -> dict:
        """Which data these are, for the record of a run on them."""
        return {
            "name": self.name,
            "source": self.source,
            "checksum": self.checksum,
            "sizes": self.split_sizes,
        }

    def first(self, count: int) -> ShardedGraphs:
        """The first ``count`` training graphs, and a quarter as many of the others."""
        counts = dict(zip(SPLITS, (count, count // 4, count // 4), strict=True))
        shards = {split: _first(self.shards[split], max(1, counts[split])) for split in SPLITS}
        return replace(self, shards=shards)

    def __len__(self) -> int:
        return sum(self.split_sizes.values())


def open_shards(folder: str | Path) -> ShardedGraphs:
    """A folder that :func:`gtcourse.shards.prepare` has finished.

    Every shard's presence and size are looked at; its sha256 when it is read.

    Raises:
        FileNotFoundError: there are no shards in the folder, or not yet all.
        ValueError: a file in it is damaged; the sentence names it.
    """
    folder = Path(folder).expanduser()
    plan, finished = read_manifest(folder)
    names = shard_names(plan)
    total = sum(map(len, names.values()))
    if len(finished) < total:
        raise FileNotFoundError(f"{folder} holds {len(finished)} of {total} shards; {AGAIN}")
    for shard in finished.values():
        fault = fault_by_size(folder / shard.name, shard)
        if fault:
            raise ValueError(f"the shard {folder / shard.name} {fault}; {AGAIN}")
    return ShardedGraphs(
        folder=folder,
        **{name: plan[name] for name in ("name", "source", "checksum", "target")},
        stored=tuple(plan["stored"]),
        shards={split: tuple(finished[name] for name in names[split]) for split in SPLITS},
        node_vocabulary=_names(plan["node_vocabulary"]),
        edge_vocabulary=_names(plan["edge_vocabulary"]),
    )


def read_manifest(folder: Path) -> tuple[dict, dict[str, Shard]]:
    """The plan of a folder, and its finished shards by name.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it is damaged, or of another format.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise FileNotFoundError(f"{folder} has no {MANIFEST}; expected a folder of shards.")
    content = read_json(path, "the list of a folder's shards")
    try:
        if {*content} != {"format", "plan", "shards"}:
            raise ValueError(f"its fields are {', '.join(content)}"[:100])
        if content["format"] != FORMAT:
            raise ValueError(f"its format is {content['format']!r}; expected {FORMAT}")
        shards = [Shard(**entry, kept=entry["rows"]) for entry in content["shards"]]
        check_manifest(content["plan"], shards)
        return content["plan"], {shard.name: shard for shard in shards}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{path} is damaged ({error}); expected the list as it was written. Delete it, and "
            "prepare the same data into the same folder again."
        ) from None


def write_manifest(folder: Path, plan: dict, shards: dict[str, Shard]) -> None:
    entries = [
        {name: value for name, value in asdict(shards[key]).items() if name != "kept"}
        for key in sorted(shards)
    ]
    content = {"format": FORMAT, "plan": plan, "shards": entries}
    write_json(folder / MANIFEST, content)


def shard_names(plan: dict) -> dict[str, list[str]]:
    """The files of each split that a plan leads to."""
    return {split: names_of_split(plan, split) for split in SPLITS}


def fault_by_size(path: Path, shard: Shard) -> str | None:
    """What is wrong with a shard, as far as the folder's listing tells."""
    if not path.is_file():
        return "is missing"
    if path.stat().st_size != shard.size:
        return f"is damaged: it has {path.stat().st_size} bytes, not {shard.size}"
    return None


def _first(shards: tuple[Shard, ...], count: int) -> tuple[Shard, ...]:
    kept = []
    for shard in shards:
        if count > 0:
            kept.append(replace(shard, kept=min(count, shard.kept)))
            count -= shard.kept
    return tuple(kept)


def _names(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)
