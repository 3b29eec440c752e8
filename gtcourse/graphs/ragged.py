"""Graphs end to end in a few long arrays, and the course's graph file: a pickle-free ``.npz``.

For G graphs with ΣN nodes and ΣE directed edges in all:

================  =============  ==========================================================
``num_nodes``     ``[G]``        at least 1
``num_edges``     ``[G]``        directed: an undirected edge counts twice
``edge_index``    ``[2, ΣE]``    node numbers within their graph
``x``             ``[ΣN, …]``    node features; ``atom_type`` is read as well
``edge_attr``     ``[ΣE, …]``    edge features, optional; ``bond_type`` is read as well
``y``             ``[G, …]``     or ``[ΣN, …]``, ``[ΣE, …]`` if ``target`` says so
``split``         ``[G]``        0 train, 1 val, 2 test
================  =============  ==========================================================

Optional: ``smiles_utf8`` (bytes of one SMILES a line), ``node_vocabulary`` and ``edge_vocabulary``
(or ``atom_vocab``, ``bond_vocab``), ``name``, ``target``, ``missing_targets`` (y may be NaN), and
further node, edge or graph arrays, told apart by their length; ``node_attributes``,
``edge_attributes`` and ``graph_attributes`` name them where lengths coincide.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse.graphs.batch import RaggedTensors, check_graphs, check_vocabulary
from gtcourse.graphs.files import file_sha256, locked, remove_unfinished, replacing

SPLITS = ("train", "val", "test")
LEVELS = ("graph", "node", "edge")
ALIASES = {
    "atom_type": "x",
    "bond_type": "edge_attr",
    "atom_vocab": "node_vocabulary",
    "bond_vocab": "edge_vocabulary",
}
DESCRIPTIONS = ("split_names", "y_coef")
"""Arrays of a file that describe it and belong to no graph."""


class Splits:
    """What all data sets with ``name``, ``source``, ``checksum`` and ``split`` have in common."""

    train = property(lambda self: self["train"])
    val = property(lambda self: self["val"])
    test = property(lambda self: self["test"])

    @property
    def split_sizes(self) -> dict[str, int]:
        return {name: int((self.split == number).sum()) for number, name in enumerate(SPLITS)}

    @property
    def provenance(self) -> dict:
        """Which data these are, for the record of a run on them."""
        named = {name: getattr(self, name) for name in ("name", "source", "checksum")}
        return named | {"sizes": self.split_sizes}

    def rows_of(self, split: str) -> Tensor:
        """The numbers of a split's graphs."""
        if split not in SPLITS:
            raise KeyError(f"{split!r} is not a split; expected {', '.join(SPLITS)}.")
        return (self.split == SPLITS.index(split)).nonzero().flatten()


@dataclass
class GraphDataset(Splits):
    """Graphs in file order, and which of them are for training, validation and testing.

    Attributes:
        name: "molecules", "zinc", …
        source: which data this is, for captions and records.
        graphs: PyG ``Data``; of molecules ``x`` ``[n, 1]`` and ``edge_attr`` ``[E, 1]`` int64,
            ``y`` ``[1]`` float32, both directions of every bond in ``edge_index``.
        split: ``[G]`` integers: 0 train, 1 val, 2 test.
        node_vocabulary: the meanings of the values of ``x[:, 0]``, or None.
        edge_vocabulary: the meanings of the values of ``edge_attr[:, 0]``; row 0 is "no edge".
        target: what ``y`` belongs to: "graph", "node" or "edge".
        checksum: sha256 of the graph file that it was read from.
    """

    name: str
    source: str
    graphs: list[Data] = field(repr=False)
    split: Tensor = field(repr=False)
    node_vocabulary: tuple[str, ...] | None = field(default=None, repr=False)
    edge_vocabulary: tuple[str, ...] | None = field(default=None, repr=False)
    target: str = "graph"
    checksum: str | None = None

    def __post_init__(self) -> None:
        split = torch.as_tensor(self.split)
        self.split = split.long()
        valid = split.shape == (len(self.graphs),) and ((split == 0) | (split == 1) | (split == 2))
        if not torch.as_tensor(valid).all():
            raise ValueError(
                f"dataset {self.name!r} has {len(self.graphs)} graphs and a split of shape "
                f"{list(split.shape)}; expected 0 (train), 1 (val) or 2 (test) for each graph."
            )

    def __len__(self) -> int:
        return len(self.graphs)

    def __iter__(self) -> Iterator[Data]:
        return iter(self.graphs)

    def __getitem__(self, key: int | str) -> Data | list[Data]:
        """The graph at a position, or the list of a split's graphs."""
        if isinstance(key, int):
            return self.graphs[key]
        return [self.graphs[i] for i in self.rows_of(key)]


@dataclass
class RaggedGraphs:
    """The content of a graph file.

    Attributes:
        num_nodes, num_edges: ``[G]``; both directions of an undirected edge count.
        edge_index: ``[2, ΣE]``; node numbers within their graph.
        node: ``x`` and other arrays ``[ΣN, …]``.
        edge: ``edge_attr`` and other arrays ``[ΣE, …]``.
        graph: ``split`` and other arrays ``[G, …]``.
        target: which of the three ``y`` is in.
        smiles: one for each graph, or None.
        node_vocabulary, edge_vocabulary: names of the types, or None.
        missing_targets: whether ``y`` may be NaN.
    """

    num_nodes: np.ndarray
    num_edges: np.ndarray
    edge_index: np.ndarray
    node: dict[str, np.ndarray]
    edge: dict[str, np.ndarray]
    graph: dict[str, np.ndarray]
    target: str = "graph"
    smiles: list[str] | None = None
    node_vocabulary: tuple[str, ...] | None = None
    edge_vocabulary: tuple[str, ...] | None = None
    missing_targets: bool = False

    @classmethod
    def from_data(cls, graphs: Sequence[Data], split: np.ndarray, target: str) -> RaggedGraphs:
        """Puts valid graphs (:func:`check_graphs`) end to end, with all their attributes."""
        rows = {
            "graph": [1] * len(graphs),
            "node": [graph.x.shape[0] for graph in graphs],
            "edge": [graph.edge_index.shape[1] for graph in graphs],
        }
        levels = {level: {} for level in LEVELS}
        levels["graph"]["split"] = np.asarray(split)
        for name in sorted({*graphs[0].keys()} - {"edge_index", "num_nodes", "smiles"}):
            values = [graph[name] for graph in graphs]
            lengths = [len(value) if value.dim() else None for value in values]
            fixed = {"x": "node", "edge_attr": "edge", "y": target}.get(name)
            fitting = [level for level in LEVELS if lengths == rows[level]]
            level = fixed or (fitting or [None])[0]
            if level not in fitting or len({value.shape[1:] for value in values}) > 1:
                raise ValueError(
                    f"graph 0 has {name} of shape {list(values[0].shape)}; expected one row for "
                    "each node, each edge or the graph, of one width in all graphs."
                )
            levels[level][name] = torch.cat(values).detach().cpu().numpy()
        return cls(
            num_nodes=np.array(rows["node"]),
            num_edges=np.array(rows["edge"]),
            edge_index=torch.cat([graph.edge_index for graph in graphs], dim=1).numpy(),
            target=target,
            smiles=[graph.smiles for graph in graphs] if "smiles" in graphs[0] else None,
            **levels,
        )

    def to_data(self) -> list[Data]:
        """One PyG ``Data`` a graph; integers become int64, floats float32, memory of its own."""
        sizes = {
            "node": self.num_nodes.tolist(),
            "edge": self.num_edges.tolist(),
            "graph": [1] * len(self.num_nodes),
        }
        columns = {
            name: _tensor(values, matrix=name in ("x", "edge_attr")).split(sizes[level])
            for level in sizes
            for name, values in getattr(self, level).items()
            if name != "split"
        }
        graphs = []
        for index, edge_index in enumerate(_tensor(self.edge_index).split(sizes["edge"], dim=1)):
            values = {name: column[index].clone() for name, column in columns.items()}
            if self.smiles is not None:
                values["smiles"] = self.smiles[index]
            values["edge_index"] = edge_index.clone(memory_format=torch.contiguous_format)
            graphs.append(Data(**values))
        return graphs

    def to_dataset(self, name: str, source: str) -> GraphDataset:
        return GraphDataset(
            name=name,
            source=source,
            graphs=self.to_data(),
            split=self.graph["split"].astype(np.int64),
            node_vocabulary=self.node_vocabulary,
            edge_vocabulary=self.edge_vocabulary,
            target=self.target,
        )

    def to_tensors(self) -> RaggedTensors:
        arrays = {
            level: {name: _tensor(values) for name, values in getattr(self, level).items()}
            for level in LEVELS
        } | {"pair": {}}
        counts = _tensor(self.num_nodes), _tensor(self.num_edges)
        return RaggedTensors.from_arrays(*counts, _tensor(self.edge_index), arrays, self.target)


def read_graphs(
    path: str | Path,
    *,
    name: str | None = None,
    node_vocabulary: tuple[str, ...] | None = None,
    edge_vocabulary: tuple[str, ...] | None = None,
) -> GraphDataset:
    """Reads a graph file; every array in it is checked.

    Args:
        path: the ``.npz`` file.
        name: what the dataset is called; by default what the file says, or its stem.
        node_vocabulary, edge_vocabulary: for a file without its own.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is damaged or a graph in it is malformed; one sentence names the file,
            the graph, the value and what was expected.
    """
    path = Path(path)
    stored = read_npz(path)
    try:
        arrays = {ALIASES.get(key, key): values for key, values in stored.items()}
        ragged = _from_arrays(arrays)
        ragged.node_vocabulary = ragged.node_vocabulary or node_vocabulary
        ragged.edge_vocabulary = ragged.edge_vocabulary or edge_vocabulary
        name = name or str(arrays.get("name", path.stem))
        dataset = ragged.to_dataset(name, f"file: {path.name}")
        check_graphs(dataset.graphs)
        _check(ragged, dataset)
    except Exception as error:  # torch and numpy raise anything, depending on the arrays
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path} is not a valid graph file: {reason.rstrip('.')}.") from None
    return replace(dataset, checksum=file_sha256(path))


def _check(ragged: RaggedGraphs, dataset: GraphDataset) -> None:
    """What the graphs themselves do not say: the name, missing targets and vocabularies."""
    if not dataset.name.isprintable() or not 0 < len(dataset.name) <= 100:
        raise ValueError(f"name is {dataset.name[:100]!r}; expected 1 to 100 printable characters.")
    y = getattr(ragged, ragged.target)["y"]
    if y.dtype.kind == "f" and np.isnan(y).any() and not ragged.missing_targets:
        graph = next(i for i, graph in enumerate(dataset.graphs) if graph.y.isnan().any())
        raise ValueError(f"graph {graph} has y = nan; expected numbers, or missing_targets = True.")
    for name, words in (("x", ragged.node_vocabulary), ("edge_attr", ragged.edge_vocabulary)):
        if words is not None and name in dataset.graphs[0]:
            check_vocabulary(dataset.graphs, name, len(words))


def write_graphs(path: str | Path, dataset: GraphDataset, *, missing_targets: bool = False) -> str:
    """Writes a graph file atomically; the same graphs always give the same bytes.

    Integers are stored in the smallest type that holds them, floats as float32. Every attribute of
    a graph with one row for each node, each edge or the graph is stored; pair encodings
    ``[n, n, …]`` are not data and raise an error.

    Args:
        missing_targets: targets may be NaN (a label nobody measured).

    Returns:
        sha256 of the file.

    Raises:
        ValueError: a graph is malformed; the sentence names it, the value and what was expected.
    """
    check_graphs(dataset.graphs)
    ragged = RaggedGraphs.from_data(dataset.graphs, dataset.split.numpy(), dataset.target)
    ragged.node_vocabulary = dataset.node_vocabulary
    ragged.edge_vocabulary = dataset.edge_vocabulary
    ragged.missing_targets = missing_targets
    _check(ragged, dataset)
    return write_ragged(path, ragged, name=dataset.name)


def write_ragged(path: str | Path, ragged: RaggedGraphs, *, name: str) -> str:
    """:func:`write_graphs` for graphs that are already end to end."""
    arrays = {key: getattr(ragged, key) for key in ("num_nodes", "num_edges", "edge_index")}
    for level in LEVELS:
        attributes = getattr(ragged, level)
        arrays |= attributes
        arrays[f"{level}_attributes"] = np.array(sorted(attributes), dtype=str)
    for key in ("node_vocabulary", "edge_vocabulary"):
        if getattr(ragged, key) is not None:
            arrays[key] = np.array(getattr(ragged, key), dtype=str)
    if ragged.smiles is not None:
        arrays["smiles_utf8"] = np.frombuffer("\n".join(ragged.smiles).encode(), dtype=np.uint8)
    for key in ("target", "missing_targets"):
        arrays[key] = np.array(getattr(ragged, key))
    arrays["name"] = np.array(name)
    floats = {key: v.astype(np.float32) for key, v in arrays.items() if v.dtype.kind == "f"}
    return write_npz(path, {key: narrow(values) for key, values in (arrays | floats).items()})


def load_cached(
    root: Path,
    name: str,
    build: Callable[[], RaggedGraphs],
    source: str,
    checksum: str | None = None,
    tag: str = "",
) -> GraphDataset:
    """A dataset from its graph file under ``root``, which the first process that asks builds.

    Args:
        checksum: sha256 of the file behind the course's numbers; part of the file's name, and if
            the file is another one, ``.source`` says so.
        tag: more of the file's name.
    """
    path = root / f"{name}{tag}{'-' + checksum[:8] if checksum else ''}.npz"
    if not path.is_file():
        with locked(path.with_name(f".{path.name}.lock")):
            if not path.is_file():  # another process may have built it meanwhile
                remove_unfinished(path, older_than=0)
                write_ragged(path, build(), name=name)
    dataset = read_graphs(path)
    if checksum not in (None, dataset.checksum):
        source += ", not byte for byte those of the course's numbers"
    return replace(dataset, source=source)


def _from_arrays(arrays: dict[str, np.ndarray]) -> RaggedGraphs:
    """Sorts a file's arrays by what they belong to, and checks their lengths."""
    required = ("num_nodes", "num_edges", "edge_index", "x", "y", "split")
    if missing := [key for key in required if key not in arrays]:
        raise ValueError(f"there is no array {', '.join(missing)}; expected {', '.join(required)}.")
    target = str(arrays.get("target", "graph"))
    if target not in LEVELS:
        raise ValueError(f"target is {target!r}; expected 'graph', 'node' or 'edge'.")
    num_nodes, num_edges, edge_index = (arrays[key] for key in required[:3])
    for counts in (num_nodes, num_edges):
        if counts.dtype.kind not in "iu" or (counts < 0).any() or len(counts) != len(num_nodes):
            raise ValueError("expected num_nodes and num_edges to be counts, one for each graph")
    rows = {"graph": len(num_nodes), "node": int(num_nodes.sum()), "edge": int(num_edges.sum())}
    if edge_index.shape != (2, rows["edge"]):
        shape = list(edge_index.shape)
        raise ValueError(f"edge_index has shape {shape}; expected [2, {rows['edge']}].")
    smiles = arrays.get("smiles_utf8")
    smiles = None if smiles is None else smiles.tobytes().decode().split("\n")
    if smiles is not None and len(smiles) != len(num_nodes):
        raise ValueError(f"there are {len(smiles)} SMILES; expected one for each graph.")
    levels = {level: {} for level in LEVELS}
    known = {"x": "node", "edge_attr": "edge", "y": target, "split": "graph"}
    known |= {key: level for level in LEVELS for key in arrays.get(f"{level}_attributes", ())}
    for key in sorted(arrays.keys() - {*required[:3], "smiles_utf8", *DESCRIPTIONS}):
        values = arrays[key]
        if values.ndim == 0 or values.dtype.kind == "U":  # a description
            continue
        fitting = [level for level in LEVELS if len(values) == rows[level]]
        level = known.get(key, fitting[0] if fitting else None)
        if level not in fitting:
            counts = ", ".join(f"{count} {level}s" for level, count in rows.items())
            raise ValueError(f"{key} has {len(values)} rows; expected one for each of {counts}.")
        levels[level][key] = values
    return RaggedGraphs(
        num_nodes,
        num_edges,
        edge_index,
        target=target,
        smiles=smiles,
        node_vocabulary=tuple(map(str, arrays.get("node_vocabulary", ()))) or None,
        edge_vocabulary=tuple(map(str, arrays.get("edge_vocabulary", ()))) or None,
        missing_targets=bool(arrays.get("missing_targets", False)),
        **levels,
    )


def _tensor(values: np.ndarray, matrix: bool = False) -> Tensor:
    if values.dtype.kind not in "biuf":
        raise ValueError(f"an array is {values.dtype}; expected integers or floats.")
    with np.errstate(over="ignore"):  # infinity is reported with the graph that has it
        values = values.astype(np.float32 if values.dtype.kind == "f" else np.int64)
    tensor = torch.from_numpy(values)
    return tensor[:, None] if matrix and tensor.dim() == 1 else tensor


def narrow(values: np.ndarray, types: str = "u1 i1 u2 i2 u4 i4") -> np.ndarray:
    """Integers in the first of the types that holds them, else as int64; others unchanged."""
    if values.dtype.kind not in "iu":
        return values
    low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
    fitting = (t for t in types.split() if np.iinfo(t).min <= low and high <= np.iinfo(t).max)
    return values.astype(next(fitting, np.int64))


def write_npz(path: str | Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Writes arrays under their names, atomically.

    Members are sorted, stored uncompressed (compressors differ between machines), little-endian
    and dated 1980, so that the same arrays give the same bytes everywhere.

    Returns:
        sha256 of the file.
    """
    with replacing(Path(path)) as temporary:
        with zipfile.ZipFile(temporary, "x", zipfile.ZIP_STORED) as archive:
            for name in sorted(arrays):
                member = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                member.create_system = 3  # otherwise the operating system's number
                member.external_attr = 0o644 << 16
                values = np.asarray(arrays[name], order="C")
                values = values.astype(values.dtype.newbyteorder("<"), copy=False)
                buffer = io.BytesIO()
                np.lib.format.write_array(buffer, values, version=(1, 0), allow_pickle=False)
                archive.writestr(member, buffer.getvalue())
        return file_sha256(temporary)


def read_npz(path: str | Path) -> dict[str, np.ndarray]:
    """Reads every array, checked against the archive's own checksums; nothing is unpickled.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is not an ``.npz``, is damaged, or holds something else than plain arrays.
    """
    try:
        with open(path, "rb") as file:
            if not zipfile.is_zipfile(file):
                raise ValueError("it is not a zip archive, or its end is missing")
            archive = np.load(file, allow_pickle=False)
            arrays = {name: archive[name] for name in archive.files}
        if not all(isinstance(values, np.ndarray) for values in arrays.values()):
            raise ValueError("it has members that are not arrays")
        return arrays
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}; expected an .npz graph file.") from None
    except Exception as error:  # numpy and zipfile raise anything, depending on the damage
        reason = (str(error) or type(error).__name__).splitlines()[0][:200].rstrip(".")
        raise ValueError(
            f"{path} cannot be read ({reason}); expected an .npz file of plain arrays."
        ) from None
