"""One shard: graphs of one split in a Parquet file, a row for each graph.

==========================  ==============================================================
``num_nodes, num_edges``    numbers; both directions of an undirected edge count
``edge_source, …_target``   lists ``[E]`` of node numbers within the graph
node arrays, ``x``          lists ``[n · F]``, row after row
edge arrays, ``edge_attr``  lists ``[E · F]``
pair arrays, ``ring``       lists ``[n² · F]``
graph arrays, ``y``         a number, or a list ``[F]``
``smiles``                  text, where the graphs have it
==========================  ==============================================================

Numbers are stored in the narrowest type that holds them. A column's metadata says what it belongs
to, the shape behind its first axis and the type it had; the file's says what the target belongs to
and names the types. Any reader of Parquet opens it; the same graphs give the same bytes as long as
pyarrow is the same.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np

from gtcourse.graphs.files import DAMAGE, file_sha256, replacing
from gtcourse.graphs.json_files import parse_json
from gtcourse.graphs.ragged import Arrays, RaggedGraphs

KEY = b"gtcourse"
MOST_BYTES = 2**32
"""Of a shard's arrays in memory, 4 GiB; one is read while another is in use."""
LEVELS = ("node", "edge", "pair", "graph")
NARROW = (np.uint8, np.int8, np.int16, np.int32)
"""Without the wider unsigned types: torch cannot index tensors of those."""

AGAIN = (
    "expected what was written. Prepare the same data into the same folder again, which makes anew "
    "what is not whole."
)
"""What to do about a shard."""

PYARROW_MISSING = (
    'shards need pyarrow, which is not installed; install it with `pip install "gtcourse[shards]"`.'
)


@dataclass
class ShardGraphs(RaggedGraphs):
    """:class:`RaggedGraphs` with what belongs to pairs of nodes.

    Attributes:
        pair: arrays ``[Σn², …]``, graph after graph, row after row.
        dtypes: the type of each array before it was stored in fewer bits.
    """

    pair: Arrays = field(default_factory=dict)
    dtypes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Shard:
    """What is known of a shard without reading it.

    Attributes:
        name: of the file.
        rows: graphs in it.
        size: bytes of the file.
        sha256: of the file.
        kept: graphs that are used, the first ones.
    """

    name: str
    rows: int
    size: int
    sha256: str
    kept: int


def write_shard(path: str | Path, graphs: RaggedGraphs) -> Shard:
    """Writes a shard, whole or not at all.

    Args:
        graphs: valid ones (``check_ragged``).
    """
    pa, pq = pyarrow()
    columns, fields = [], []
    for name, values, described in _columns(graphs):
        column = _arrow(pa, values, described.pop("counts"))
        metadata = {KEY: json.dumps(described)}
        columns.append(column)
        fields.append(pa.field(name, column.type, nullable=False, metadata=metadata))
    if graphs.smiles is not None:
        columns.append(pa.array(graphs.smiles, pa.string()))
        fields.append(pa.field("smiles", pa.string(), nullable=False))
    whole = {
        "target": graphs.target,
        "missing_targets": graphs.missing_targets,
        "node_vocabulary": graphs.node_vocabulary,
        "edge_vocabulary": graphs.edge_vocabulary,
    }
    table = pa.Table.from_arrays(columns, schema=pa.schema(fields, {KEY: json.dumps(whole)}))
    path, rows = Path(path), len(graphs.num_nodes)
    with replacing(path) as temporary:
        pq.write_table(
            table, temporary, row_group_size=rows, compression="zstd", write_page_checksum=True
        )
        return Shard(path.name, rows, temporary.stat().st_size, file_sha256(temporary), rows)


def read_shard(path: str | Path, sha256: str | None = None, *, smiles: bool = True) -> ShardGraphs:
    """Reads a shard; its arrays are as narrow as they are stored.

    Args:
        sha256: what the file has to have; without it, the pages' own checksums are compared.
        smiles: leave them out where nobody asks for them.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, or no shard.
    """
    pa, pq = pyarrow()
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no shard {path}; {AGAIN}")
    if path.stat().st_size > MOST_BYTES:
        size = f"{path.stat().st_size:,} bytes"
        raise ValueError(f"the shard {path} has {size}, at most {MOST_BYTES:,} are read; {AGAIN}")
    content = path.read_bytes()  # once, for the checksum and for what is in it
    if sha256 is not None and hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(
            f"the shard {path} is damaged: its sha256 is not the recorded one; {AGAIN}"
        )
    try:
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        _refuse_bomb(file.metadata)
        names = [name for name in file.schema_arrow.names if smiles or name != "smiles"]
        # Read beside a training loop, on its own thread: a pool of threads more would disturb it.
        graphs = _graphs(file.read(columns=names, use_threads=False))
        _check_lengths(graphs)
        return graphs
    except (pa.ArrowException, *DAMAGE, LookupError, AttributeError) as error:
        brief = str(error).strip().split("\n")[0][:200].rstrip(".")
        raise ValueError(f"the shard {path} is damaged or none ({brief}); {AGAIN}") from None


def _refuse_bomb(metadata) -> None:
    """Refuses by what the file says of itself, before that much is made."""
    columns = [
        metadata.row_group(group).column(column)
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]
    # Of a column that repeats one value, the pages are small and only the count is large.
    unpacked = sum(max(c.total_uncompressed_size, 8 * c.num_values) for c in columns)
    if unpacked > MOST_BYTES:
        raise ValueError(f"it would unpack to {unpacked:,} bytes; expected at most {MOST_BYTES:,}")


def _check_lengths(graphs: ShardGraphs) -> None:
    """The lists of a shard are as long as its numbers say; its sha256 answers for the rest."""
    nodes, edges = graphs.num_nodes, graphs.num_edges
    rows = {
        "node": nodes.sum(), "edge": edges.sum(), "pair": (nodes**2).sum(), "graph": len(nodes)
    }  # fmt: skip
    if min(nodes, default=0) < 1 or min(edges, default=0) < 0 or len(nodes) != len(edges):
        raise ValueError("its numbers of nodes and edges are none")
    if graphs.target not in LEVELS or graphs.edge_index.shape[1] != rows["edge"]:
        raise ValueError("its edges are not as many as it says")
    for level, expected in rows.items():
        for name, values in getattr(graphs, level).items():
            if len(values) != expected:
                raise ValueError(f"its {name} has {len(values)} rows; expected {expected}")


def narrow(values: np.ndarray) -> np.ndarray:
    """The smallest type that holds the integers, of those that torch can index; others as is."""
    if values.dtype.kind not in "iu":
        return values
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    for kind in NARROW:
        if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max:
            return values.astype(kind)
    return values.astype(np.int64)


def pyarrow():
    """``pyarrow`` and ``pyarrow.parquet``, imported when they are first needed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise ImportError(PYARROW_MISSING) from None
    return pyarrow, pyarrow.parquet


def _columns(graphs: RaggedGraphs):
    """Name, values and description of each column; ``counts`` is None for a number a graph."""
    source, target = graphs.edge_index
    sizes = graphs.num_nodes.astype(np.int64)
    counts = {"node": sizes, "edge": graphs.num_edges.astype(np.int64), "pair": sizes**2}
    arrays = [
        ("num_nodes", "count", graphs.num_nodes),
        ("num_edges", "count", graphs.num_edges),
        ("edge_source", "edge", source),
        ("edge_target", "edge", target),
    ]
    for level in LEVELS:
        held = sorted(getattr(graphs, level, {}).items())
        arrays += [(name, level, values) for name, values in held]
    for name, level, values in arrays:
        shape = values.shape[1:]
        count = counts.get(level)
        if count is None and shape:
            count = np.ones(len(sizes), dtype=np.int64)
        described = {"level": level, "shape": list(shape), "dtype": values.dtype.name}
        yield name, values, described | {"counts": None if count is None else count * prod(shape)}


def _arrow(pa, values: np.ndarray, counts: np.ndarray | None):
    flat = pa.array(narrow(values).reshape(-1))
    if counts is None:
        return flat
    offsets = pa.array(np.concatenate([[0], counts.cumsum()]))
    kind = pa.large_list(pa.field("element", flat.type, nullable=False))
    return pa.LargeListArray.from_arrays(offsets, flat, type=kind)


def _graphs(table) -> ShardGraphs:
    whole = parse_json(table.schema.metadata[KEY])
    arrays = {level: {} for level in ("count", *LEVELS)}
    dtypes = {}
    for column in table.schema:
        if column.name == "smiles":
            continue
        described = parse_json(column.metadata[KEY])
        arrays[described["level"]][column.name] = _values(table[column.name], described["shape"])
        dtypes[column.name] = described["dtype"]
    edges = arrays["edge"]
    counts = {name: values.astype(np.int64) for name, values in arrays.pop("count").items()}
    return ShardGraphs(
        **counts,
        edge_index=np.stack([edges.pop("edge_source"), edges.pop("edge_target")]),
        **arrays,
        target=whole["target"],
        smiles=table["smiles"].to_pylist() if "smiles" in table.column_names else None,
        node_vocabulary=_names(whole["node_vocabulary"]),
        edge_vocabulary=_names(whole["edge_vocabulary"]),
        missing_targets=whole["missing_targets"],
        dtypes=dtypes,
    )


def _values(column, shape: list[int]) -> np.ndarray:
    flat = column.combine_chunks()
    flat = flat.flatten() if hasattr(flat, "flatten") else flat
    return flat.to_numpy(zero_copy_only=False).reshape(-1, *shape)


def _names(names: list[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(names)
