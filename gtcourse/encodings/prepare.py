"""Large data sets, prepared once over cores or machines and written to a memory-mapped folder.

A part is written by one call of :func:`make_part`, which depends on its own graphs alone. So any
process or machine may make it, in any order. When all parts exist, they are joined into the
folder's arrays and removed.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import shutil
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from filelock import FileLock
from torch import Tensor
from torch_geometric.data import Data
from tqdm import tqdm

from gtcourse.encodings.structure import AddRings
from gtcourse.encodings.transform import Encoding, check_together, encode
from gtcourse.graphs.arguments import Target, check_path, whole_number
from gtcourse.graphs.check import check_graphs
from gtcourse.graphs.dataset import GraphDataset, MappedGraphs, RaggedGraphs
from gtcourse.graphs.digest import add_tensor
from gtcourse.graphs.io import (
    META,
    check_dtypes_of_numpy,
    check_same,
    join_parts,
    open_graphs,
    write_part,
)
from gtcourse.graphs.molecules import ogb_graphs
from gtcourse.graphs.published import PUBLICATIONS, pcqm4mv2_table

PUBLISHED = PUBLICATIONS["pcqm4mv2"]

Part = Callable[[], Sequence[Data]] | Sequence[Data]
"""The graphs of a part of a folder, or what makes them."""


@dataclass(frozen=True)
class Molecules:
    """SMILES and their targets, of which :func:`prepare` makes graphs.

    Attributes:
        name: What the data set is called.
        source: Which data this is, for captions and records.
        smiles: G molecules.
        y: Their targets, ``[G]`` float64, NaN where the publisher withholds one.
        split: ``[G]``, 0 train, 1 val, 2 test.
    """

    name: str
    source: str
    smiles: Sequence[str] = field(repr=False)
    y: np.ndarray = field(repr=False)
    split: np.ndarray = field(repr=False)

    target: ClassVar[Target] = "graph"
    node_vocabulary: ClassVar[None] = None
    edge_vocabulary: ClassVar[None] = None

    @property
    def checksum(self) -> str:
        """sha256 of the molecules, their targets and their split."""
        digest = hashlib.sha256("\n".join(self.smiles).encode())
        for values in (self.y.astype("<f8"), self.split.astype("<i8")):
            digest.update(values.tobytes())
        return digest.hexdigest()

    def part(self, rows: slice) -> Callable[[], list[Data]]:
        """A function that makes the graphs of these molecules, on any machine."""
        return partial(ogb_graphs, self.smiles[rows], self.y[rows], rows.start)


def pcqm4mv2(root: str | Path) -> Molecules:
    """The molecules of PCQM4Mv2 from ``root/pcqm4m-v2``, downloaded if there is no such folder.

    Files in the publisher's layout may hold other molecules; name and source then say so. The
    publisher withholds the targets of test-dev and test-challenge, which are both the test split
    here; they are NaN.

    Raises:
        RuntimeError: The download fails, of which nothing is left, or a file cannot be read.
    """
    check_path("root", root, "the path of a folder for data sets")
    root = Path(root).expanduser()
    folder = root / PUBLISHED.folder
    if not folder.exists():
        with FileLock(root / ".pcqm4m-v2.lock"):
            if not folder.exists():  # another process may have downloaded it meanwhile
                with PUBLISHED.downloaded("pcqm4mv2", root) as complete:
                    complete.rename(folder)
    with PUBLISHED.reading("pcqm4mv2", folder):
        smiles, y, split = pcqm4mv2_table(folder)
    tools = f"graphs by ogb {version('ogb')} and RDKit {version('rdkit')}"
    sizes = tuple(np.bincount(split, minlength=3).tolist())
    name = "pcqm4mv2"
    source = f"{PUBLISHED.source}, {tools}"
    if sizes != PUBLISHED.split_sizes:
        name = "pcqm4mv2-layout"
        spelled = "/".join(f"{size:,}" for size in sizes)
        source = f"{spelled} other molecules in the files of {PUBLISHED.source}, {tools}"
    return Molecules(name, source, smiles, y, split)


def content_of(dataset: GraphDataset) -> str:
    """sha256 of a data set's graphs."""
    check_graphs(dataset.graphs)
    ragged = RaggedGraphs.from_data(dataset.graphs, dataset.target, dataset.split)
    check_dtypes_of_numpy(ragged)
    levels = ("node", "edge", "graph", "pair")
    names = sorted(ragged.columns, key=lambda name: (levels.index(ragged.levels[name]), name))
    edge_index = torch.stack([*ragged.edge_index])  # [2, ΣE]
    digest = hashlib.sha256("\n".join(ragged.smiles or []).encode())
    tensors = [ragged.num_nodes, ragged.num_edges, edge_index]
    tensors += [ragged.columns[name] for name in names]
    for values in tensors:
        add_tensor(digest, values)
    return digest.hexdigest()


def prepare(
    source: Molecules | GraphDataset,
    out: str | Path,
    *,
    stored: Iterable[Encoding] = (AddRings(18),),
    rows_per_part: int = 8192,
    executor: Executor | None = None,
    progress: bool = True,
) -> MappedGraphs:
    """Writes a data set to a memory-mapped folder, or finishes what an earlier call began.

    Finished parts of an earlier call are reused. The same data give the same bytes in any
    process; stored floats (AddSVD) can differ in the last bit between kinds of machines.

    Args:
        source: :func:`pcqm4mv2`, or any data set; its split is kept.
        out: the folder, which all workers can see. One call at a time writes into it; another
            waits for its end.
        stored: encodings that are slow to compute. The others are computed for each batch, on the
            device (:func:`gtcourse.encodings.transform.encode_batch`).
        executor: where the parts are made: :func:`process_pool` for the cores of this machine,
            ``dask.distributed.Client(…).get_executor()`` for several machines, or any other of
            ``concurrent.futures``; by default here, one after the other.

    Raises:
        ValueError: the folder holds other data, a graph is malformed, or an argument is not
            allowed; finished parts stay.
    """
    check_path("out", out, "the path of a folder")
    out = Path(out).expanduser().absolute()  # a worker may run in another folder
    if isinstance(stored, Encoding) or not isinstance(stored, Iterable):
        raise ValueError(f"stored is {stored!r}; expected a list of encodings of this package.")
    stored = [*stored]  # a generator is read once
    _check_arguments(source, out, stored, executor)
    rows_per_part = whole_number("rows_per_part", rows_per_part, 1)
    plan: dict[str, Any] = {
        "name": source.name,
        "source": source.source,
        "target": source.target,
        "node_vocabulary": source.node_vocabulary,
        "edge_vocabulary": source.edge_vocabulary,
    }
    plan["content"] = content_of(source) if isinstance(source, GraphDataset) else source.checksum
    plan["checksum"] = source.checksum or plan["content"]
    plan["stored"] = [repr(transform) for transform in stored]
    plan = json.loads(json.dumps(plan))  # as it will be read
    if len(stored) > 1 and not (out / META).is_file():  # what does not go together raises now
        if isinstance(source, GraphDataset):
            first = source.graphs[:1]
        else:
            first = source.part(slice(0, 1))()
        encode(first, *stored)
    if not (out / META).is_file() or (out / "parts").exists():  # a finished one may be read-only
        with FileLock(out / ".lock"):
            if not (out / META).is_file():
                _write(source, out, plan, stored, rows_per_part, executor, progress)
            shutil.rmtree(out / "parts", ignore_errors=True)
    prepared = open_graphs(out)
    begun = json.loads((out / META).read_text(encoding="utf-8"))
    check_same(f"{out} holds other graphs", plan, {name: begun.get(name) for name in plan})
    return prepared


def _check_arguments(
    source: Molecules | GraphDataset,
    out: Path,
    stored: Sequence[Encoding],
    executor: Executor | None,
) -> None:
    """Raises a ValueError for what cannot be prepared, before anything is written."""
    if not isinstance(source, Molecules | GraphDataset):
        raise ValueError(f"source is of type {type(source).__name__}; expected a GraphDataset.")
    if out.exists() and not out.is_dir():
        raise ValueError(f"{out} is a file; expected a folder to write to.")
    if not all(isinstance(each, Encoding) for each in stored):
        # The text of another transform of PyG does not have its arguments, by which a folder is
        # recognised.
        raise ValueError(f"stored is {stored!r}; expected a list of encodings of this package.")
    check_together(stored)
    if executor is not None and not hasattr(executor, "map"):
        raise ValueError(
            f"executor is {executor!r}; expected one of concurrent.futures, such as "
            "process_pool(2), or None."
        )


def _write(
    source: Molecules | GraphDataset,
    out: Path,
    plan: dict[str, Any],
    stored: Sequence[Encoding],
    size: int,
    executor: Executor | None,
    progress: bool,
) -> None:
    """Makes the missing parts, of ``size`` graphs each, and joins all of them."""
    # Parts that were begun with another plan have other names.
    key = hashlib.sha256(json.dumps([plan, size]).encode()).hexdigest()[:16]
    rows = [slice(start, start + size) for start in range(0, len(source.split), size)]
    paths = [out / "parts" / f"{number:05}-{key}.npz" for number in range(len(rows))]
    missing = [i for i, path in enumerate(paths) if not path.is_file()]
    tasks = []  # a list, as Dask takes no iterator
    for i in missing:
        part: Part = (
            source.graphs[rows[i]] if isinstance(source, GraphDataset) else source.part(rows[i])
        )
        tasks.append((paths[i], part, source.split[rows[i]], source.target, stored))
    run = map if executor is None else executor.map
    bar = tqdm(
        total=len(paths),
        initial=len(paths) - len(missing),
        unit="part",
        leave=False,
        disable=not progress or None,
    )
    with bar:
        for _ in run(make_part, tasks):
            bar.update()
    join_parts(out, paths, plan)


def make_part(
    task: tuple[Path, Part, Tensor | np.ndarray, Target, Sequence[Encoding]],
) -> None:
    """Writes one part: its graphs, which are made if need be, and their stored encodings.

    Args:
        task: The file, the graphs or what makes them, their split, what their targets belong to,
            and the encodings that are stored.
    """
    path, part, split, target, stored = task
    graphs = part() if callable(part) else part
    write_part(path, RaggedGraphs.from_data(encode(graphs, *stored), target, split))


def process_pool(workers: int) -> ProcessPoolExecutor:
    """An executor for ``workers`` cores of this machine, one thread each."""
    workers = whole_number("workers", workers, 1)
    # A forked process would have the locks of this one's threads, but not the threads.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(
        workers, mp_context=context, initializer=torch.set_num_threads, initargs=(1,)
    )
