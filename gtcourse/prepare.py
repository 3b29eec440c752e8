"""Large data sets, prepared once over cores or machines and written to a memory-mapped folder.

A part is made by one call of :func:`make_part`, which depends on its own graphs alone: it does not
matter which process or machine makes it, in what order, or after how many attempts. When all parts
are there, they are joined into the folder's arrays and removed.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from threading import Thread

import numpy as np
import torch
from tqdm import tqdm

from gtcourse.encodings.structure import AddRings
from gtcourse.encodings.transform import Encoding, encode
from gtcourse.graphs.arguments import at_least
from gtcourse.graphs.batch import ENCODINGS, check_graphs, distinct_edges, encodings_of
from gtcourse.graphs.datasets import PUBLICATIONS, cause, pcqm4mv2_table, spelled
from gtcourse.graphs.downloads import download, pin
from gtcourse.graphs.files import (
    locked,
    narrow,
    read_npz,
    remove_halves,
    replacing,
    work_folder,
    write_npz,
)
from gtcourse.graphs.mapped import META, MappedGraphs, fault_of, join_parts, open_graphs
from gtcourse.graphs.molecules import smiles_graphs
from gtcourse.graphs.ragged import GraphDataset, RaggedGraphs, check_ragged

PUBLISHED = PUBLICATIONS["pcqm4mv2"]
LEVELS = ("graph", "node", "pair")
"""What an encoding with 0, 1 or 2 node axes belongs to."""

PARTS, PLAN, LOCK = "parts", "plan.json", ".lock"
INDEXED = (np.uint8, np.int8, np.int16, np.int32)
"""Integers that torch can index: no wider unsigned types."""


@dataclass(frozen=True)
class Molecules:
    """SMILES and their targets, of which :func:`prepare` makes graphs.

    Attributes:
        name, source: as of a :class:`~gtcourse.graphs.GraphDataset`.
        smiles: one for each molecule.
        y: ``[G]`` float64; NaN where the publisher keeps the target back.
        split: ``[G]`` integers: 0 train, 1 val, 2 test.
    """

    name: str
    source: str
    smiles: Sequence[str] = field(repr=False)
    y: np.ndarray = field(repr=False)
    split: np.ndarray = field(repr=False)

    target = "graph"
    node_vocabulary = edge_vocabulary = None

    @property
    def checksum(self) -> str:
        """sha256 of the molecules, their targets and their split."""
        digest = hashlib.sha256("\n".join(self.smiles).encode())
        for values in (self.y.astype("<f8"), self.split.astype("<i8")):
            digest.update(values.tobytes())
        return digest.hexdigest()

    content = checksum

    def part(self, rows: slice) -> MoleculePart:
        return MoleculePart(
            index=np.arange(len(self.smiles))[rows],
            smiles=list(self.smiles[rows]),
            y=self.y[rows].astype(np.float32),
            split=self.split[rows].astype(np.int64),
        )


@dataclass(frozen=True)
class MoleculePart:
    """A slice of the molecules, small enough to be sent to another machine.

    Attributes:
        index: ``[g]``, the numbers of the molecules in the publisher's file.
    """

    index: np.ndarray
    smiles: list[str]
    y: np.ndarray
    split: np.ndarray

    def graphs(self) -> RaggedGraphs:
        """Their graphs by ogb: 9 features an atom, 3 a bond, both directions of every bond."""
        ragged = smiles_graphs(self.smiles, self.index.tolist())
        ragged.graph = {"y": self.y, "split": self.split, "index": self.index}
        ragged.missing_targets = True
        return ragged


def pcqm4mv2(root: str | Path) -> Molecules:
    """PCQM4Mv2's molecules from ``root/pcqm4m-v2``, downloaded if there is no such folder.

    Files in the publisher's layout may hold other molecules: then name and source say so. The
    targets of test-dev and test-challenge (both: test) are kept back by the publisher, and NaN.

    Raises:
        ImportError: ogb or RDKit is not installed.
        FileNotFoundError: the folder lacks one of the publisher's files.
        RuntimeError: the download failed (nothing of it is kept), or the files cannot be read.
    """
    PUBLISHED.needs()
    root = Path(root).expanduser()
    if not (root / "pcqm4m-v2").exists():
        _download(root)
    missing = [file for file in PUBLISHED.files if not (root / file).is_file()]
    if missing:
        raise FileNotFoundError(
            f"{root} has no {', '.join(missing)}; expected the files of {PUBLISHED.source}: "
            f"{', '.join(PUBLISHED.files)}."
        )
    try:
        return _read(root)
    except Exception as error:  # whatever gzip, csv or torch raise
        raise RuntimeError(
            f"pcqm4mv2 could not be read from {root} ({cause(error)}); expected the files of "
            f"{PUBLISHED.source} as published."
        ) from error


def _download(root: Path) -> None:
    """Only a complete download is moved to its place."""
    with locked(root / ".pcqm4m-v2.lock"), work_folder(root / ".pcqm4m-v2.download") as work:
        if (root / "pcqm4m-v2").exists():  # another process has downloaded it meanwhile
            return
        try:
            new = download(PUBLISHED.downloads, work, root)
            found = np.bincount(_read(work).split, minlength=3)
            if tuple(found) != PUBLISHED.split_sizes:
                raise ValueError(f"it has {spelled(found)} molecules for train, val and test")
        except Exception as error:  # whatever urllib, zipfile, csv or torch raise
            raise RuntimeError(
                f"pcqm4mv2 could not be downloaded ({cause(error)}); nothing of it was kept in "
                f"{root}. Try again where there is a network, or put the publisher's files there."
            ) from error
        pin(root, new)
        (work / "pcqm4m-v2").rename(root / "pcqm4m-v2")


def _read(root: Path) -> Molecules:
    smiles, y, split = pcqm4mv2_table(root)
    makers = f"graphs by ogb {version('ogb')} and RDKit {version('rdkit')}"
    sizes = tuple(np.bincount(split, minlength=3))
    if sizes == PUBLISHED.split_sizes:
        name, source = "pcqm4mv2", f"{PUBLISHED.source}, {makers}"
    else:
        name = "pcqm4mv2-layout"
        source = f"{spelled(sizes)} other molecules in the files of {PUBLISHED.source}, {makers}"
    return Molecules(name, source, smiles, y, split)


class ListedGraphs:
    """A :class:`GraphDataset` as a source of parts."""

    def __init__(self, dataset: GraphDataset):
        check_graphs(dataset.graphs)
        held = next((name for name in ENCODINGS if name in dataset.graphs[0]), None)
        if held is not None:
            raise ValueError(
                f"graph 0 holds the encoding {held!r}; expected graphs without encodings, and "
                "those to be stored as stored=(AddRings(18), …)."
            )
        if "y" not in dataset.graphs[0]:
            raise ValueError("graph 0 has no target y; expected one.")
        self.name, self.source, self.target = dataset.name, dataset.source, dataset.target
        self.node_vocabulary = dataset.node_vocabulary
        self.edge_vocabulary = dataset.edge_vocabulary
        self.dataset, self.split = dataset, dataset.split.numpy()
        self.content = self._content()
        self.checksum = dataset.checksum or self.content

    def _content(self) -> str:
        """sha256 of all arrays; ``checksum`` may be that of a file that holds more graphs."""
        ragged = self.part(slice(None)).ragged
        digest = hashlib.sha256("\n".join(ragged.smiles or []).encode())
        arrays = [ragged.num_nodes, ragged.num_edges, ragged.edge_index]
        for level in (ragged.node, ragged.edge, ragged.graph):
            arrays += [level[name] for name in sorted(level)]
        for values in arrays:
            digest.update(f"{values.dtype} {values.shape}".encode())
            digest.update(np.ascontiguousarray(values).tobytes())
        return digest.hexdigest()

    def part(self, rows: slice) -> GraphPart:
        graphs, split = self.dataset.graphs[rows], self.split[rows]
        ragged = RaggedGraphs.from_data(graphs, split, self.target)
        ragged.graph.setdefault("index", np.arange(len(self.dataset))[rows])
        ragged.node_vocabulary, ragged.edge_vocabulary = self.node_vocabulary, self.edge_vocabulary
        ragged.missing_targets = True  # a GraphDataset does not say; NaN is a missing one
        return GraphPart(ragged)


@dataclass(frozen=True)
class GraphPart:
    """A slice of a data set in memory."""

    ragged: RaggedGraphs

    def graphs(self) -> RaggedGraphs:
        return self.ragged


def prepare(
    source: Molecules | GraphDataset,
    out: str | Path,
    *,
    stored: Sequence[Encoding] = (AddRings(18),),
    rows_per_part: int = 8192,
    executor: Executor | None = None,
    progress: bool = True,
) -> MappedGraphs:
    """Writes a data set to a memory-mapped folder, or finishes what an earlier call began.

    Parts that an earlier call finished are kept. A damaged one, or a damaged array of a finished
    folder, is named in a warning and made again. The same data give the same bytes, whoever makes
    them; stored floats (AddSVD) can differ in the last bit between kinds of machines.

    Args:
        source: :func:`pcqm4mv2`, or any data set; its split is kept.
        out: the folder, which all workers have to see. One call at a time writes into it; another
            one waits for its end.
        stored: encodings that are slow to compute. The others are computed for each batch, on the
            device (:func:`gtcourse.encodings.transform.encode_batch`).
        rows_per_part: graphs in a part.
        executor: where the parts are made: :func:`process_pool` for the cores of this machine,
            ``dask.distributed.Client(…).get_executor()`` for several machines, or any other of
            ``concurrent.futures``; by default here, one after the other.
        progress: show a bar while it runs.

    Raises:
        ValueError: two of ``stored`` set the same name, or another argument is invalid; the folder
            was begun with other data; or a graph is malformed. The sentence names it; all other
            parts are finished and kept.
        OSError: the folder cannot be written; what is finished is kept.
    """
    _check_arguments(stored, rows_per_part)
    source = ListedGraphs(source) if isinstance(source, GraphDataset) else source
    out = Path(out).expanduser().absolute()  # a worker may run in another folder
    plan = {
        **{name: getattr(source, name) for name in ("name", "source", "checksum", "content")},
        "target": source.target,
        "node_vocabulary": source.node_vocabulary and list(source.node_vocabulary),
        "edge_vocabulary": source.edge_vocabulary and list(source.edge_vocabulary),
        "stored": [repr(transform) for transform in stored],
    }
    # A finished folder may be read-only. A kill right after the join leaves its parts to remove.
    if not _is_finished(out, plan) or (out / PARTS).exists():
        with locked(out / LOCK):
            if not _is_finished(out, plan, warn=True):
                _complete(source, out, plan, tuple(stored), rows_per_part, executor, progress)
            shutil.rmtree(out / PARTS, ignore_errors=True)
    return open_graphs(out)


def _is_finished(out: Path, plan: dict, *, warn: bool = False) -> bool:
    if not (out / META).is_file():
        return False
    try:
        graphs = open_graphs(out)
        _compare(out, plan, {name: _json(getattr(graphs, name)) for name in plan})
        faults = (
            (name, fault_of(out / f"{name}.npy", column, read=True))
            for name, column in graphs.columns.items()
        )
        fault = next((f"{out / name}.npy {text}" for name, text in faults if text), None)
    except DifferentPlanError:
        raise
    except ValueError as error:
        fault = str(error).partition(";")[0]
    if fault and warn:
        warnings.warn(f"{fault}; the folder is made again.", stacklevel=4)
    return fault is None


def _json(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


class DifferentPlanError(ValueError):
    """The folder was begun with other data or encodings."""


def _compare(out: Path, plan: dict, begun: dict) -> None:
    differs = [name for name in plan if plan[name] != begun.get(name)]
    if differs:
        name = differs[0]
        raise DifferentPlanError(
            f"{out} holds other graphs, which differ in {', '.join(differs)} ({name} is "
            f"{begun.get(name)!r} there and {plan[name]!r} here); expected the data and encodings "
            "that it was begun with, or another folder."
        )


def _complete(
    source, out: Path, plan: dict, stored: tuple, size: int, executor, progress: bool
) -> None:
    """Makes the parts that are missing, and joins all of them."""
    parts = out / PARTS
    plan_of_parts = {**plan, "rows_per_part": size}
    if (parts / PLAN).is_file():
        _compare(out, plan_of_parts, json.loads((parts / PLAN).read_text(encoding="utf-8")))
    else:
        with replacing(parts / PLAN) as temporary:
            temporary.write_text(json.dumps(plan_of_parts), encoding="utf-8")
    for folder in (out, parts):
        remove_halves(folder)
    (out / META).unlink(missing_ok=True)

    count = len(source.split)
    names = [parts / f"{start // size:05}.npz" for start in range(0, count, size)]
    todo = [number for number, path in enumerate(names) if not _is_part(path)]
    tasks = (
        (names[number], source.part(slice(number * size, (number + 1) * size)), stored)
        for number in todo
    )
    failed = {}
    bar = {"total": len(names), "initial": len(names) - len(todo), "unit": "part", "leave": False}
    with tqdm(**bar, **({} if progress else {"disable": True})) as bar:
        for path, future in _done(tasks, executor):
            try:
                future.result()
            except ValueError as error:  # a fault of the data: the others can be made meanwhile
                failed[path] = error
            bar.update()
    if failed:
        path = min(failed)
        raise ValueError(
            f"{path.name} cannot be made: {failed[path]} Of {len(names)} parts "
            f"{len(names) - len(failed)} are finished in {parts}, and the next call keeps them."
        ) from failed[path]
    columns = [line.split() for line in read_npz(names[0])["columns"]]
    levels = {name: level for name, level, _ in columns}
    join_parts(out, names, levels, {name: dtype for name, _, dtype in columns}, plan)


def _is_part(path: Path) -> bool:
    """Whether a part is there and complete."""
    if not path.is_file():
        return False
    try:
        read_npz(path)
    except ValueError as error:
        warnings.warn(f"{error} It is made again.", stacklevel=5)
        return False
    return True


def make_part(path: Path, part: MoleculePart | GraphPart, stored: tuple[Encoding, ...]) -> None:
    """A worker's task: the graphs of a part, their stored encodings, one file.

    Raises:
        ValueError: a graph cannot be made, or is malformed.
    """
    ragged = part.graphs()
    check_ragged(ragged)
    _remove_repeated_edges(ragged)
    source, destination = ragged.edge_index
    levels = {
        "node": ragged.node,
        "edge": {"source": source, "destination": destination, **ragged.edge},
        "pair": {},
        "graph": {
            "num_nodes": ragged.num_nodes,
            "num_edges": ragged.num_edges,
            **ragged.graph,
        },
    }
    if stored:
        graphs = encode(ragged.to_data(), *stored)
        names = {name for transform in stored for name in _sets(transform)}
        for name, axes in encodings_of(graphs).items():
            if name in names:
                values = [graph[name].numpy() for graph in graphs]
                rows = [v.reshape(-1, *v.shape[axes:]) if axes else v[None] for v in values]
                levels[LEVELS[axes]][name] = np.concatenate(rows)
    arrays = {name: values for level in levels.values() for name, values in level.items()}
    columns = [
        f"{name} {level} {values.dtype.name}"
        for level, held in levels.items()
        for name, values in held.items()
    ]
    narrowed = {name: narrow(values, INDEXED) for name, values in arrays.items()}
    write_npz(path, {**narrowed, "columns": np.array(columns)})


def _remove_repeated_edges(ragged: RaggedGraphs) -> None:
    """Of an edge given twice the first stays, as in ``collate``."""
    counts = [torch.from_numpy(n.astype(np.int64)) for n in (ragged.num_nodes, ragged.num_edges)]
    ends = torch.from_numpy(ragged.edge_index.astype(np.int64))
    first = distinct_edges(*counts, *ends).numpy()
    owner = np.repeat(np.arange(len(ragged.num_nodes)), ragged.num_edges)[first]
    ragged.num_edges = np.bincount(owner, minlength=len(ragged.num_nodes))
    ragged.edge_index = ragged.edge_index[:, first]
    ragged.edge = {name: values[first] for name, values in ragged.edge.items()}


def process_pool(workers: int) -> ProcessPoolExecutor:
    """An executor for ``workers`` cores of this machine, one thread each; close it with ``with``.

    Raises:
        ValueError: ``workers`` is below 1.
    """
    at_least(1, workers=workers)
    # A forked process would have the locks of this one's threads, but not the threads.
    methods = multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
    if "forkserver" in methods:  # imported once for all workers
        context.set_forkserver_preload(["__main__", __name__])
    return ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker)


def _begin_worker() -> None:
    # As many processes as cores, each with as many threads as cores, would wait for each other.
    torch.set_num_threads(1)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Without it, the workers of a killed process would wait for tasks for ever."""
    multiprocessing.parent_process().join()
    os._exit(1)


def _check_arguments(stored: Sequence[Encoding], rows_per_part: int) -> None:
    at_least(1, rows_per_part=rows_per_part)
    by_name = {}
    for transform in stored:
        if not isinstance(transform, Encoding):
            raise ValueError(
                f"stored holds {transform!r}; expected the course's encodings, such as "
                "AddRings(18)."
            )
        for name in _sets(transform):
            if name in by_name:
                raise ValueError(
                    f"stored holds {by_name[name]!r} and {transform!r}, which both set {name!r}; "
                    "expected one of them."
                )
            by_name[name] = transform


def _sets(transform: Encoding) -> list[str]:
    """The names of what it sets, computed for a graph of one node."""
    nothing = torch.zeros(1, 1, 1, 1)
    return [*transform.compute(nothing[..., 0].bool(), nothing)]


def _done(tasks: Iterator[tuple], executor: Executor | None) -> Iterator[tuple[Path, Future]]:
    """The tasks' futures as they are done; those still waiting are cancelled at an error."""
    if executor is None:
        for task in tasks:
            yield task[0], _here(task)
        return
    paths = {executor.submit(make_part, *task): task[0] for task in tasks}
    try:
        for future in as_completed(paths):
            yield paths[future], future
    finally:
        for future in paths:
            future.cancel()


def _here(task: tuple) -> Future:
    future = Future()
    try:
        future.set_result(make_part(*task))
    except ValueError as error:
        future.set_exception(error)
    return future
