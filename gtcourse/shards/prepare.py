"""From a data set to a folder of shards: over cores or machines, to be broken off at any time.

A shard is made by one call of :func:`make_shard`, which depends on its own piece of the data alone.
So it does not matter which process or machine makes it, in what order, or after how many attempts.
"""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from threading import Thread

import numpy as np
import torch
from tqdm import tqdm

from gtcourse.encodings.structure import AddRings
from gtcourse.encodings.transform import Encoding
from gtcourse.graphs.arguments import at_least
from gtcourse.graphs.files import file_sha256, locked, remove_halves
from gtcourse.graphs.ragged import SPLITS, GraphDataset, check_ragged
from gtcourse.shards.dataset import (
    MANIFEST,
    ShardedGraphs,
    fault_by_size,
    open_shards,
    read_manifest,
    shard_names,
    write_manifest,
)
from gtcourse.shards.format import Shard, pyarrow, write_shard
from gtcourse.shards.pcqm4mv2 import MoleculePiece, Molecules
from gtcourse.shards.sources import GraphPiece, ListedGraphs, distinct, encoded

Piece = MoleculePiece | GraphPiece
LOCK = ".shards.lock"
"""In the folder; empty, and held by the call that writes there."""


def prepare(
    source: Molecules | GraphDataset,
    out: str | Path,
    *,
    stored: Sequence[Encoding] = (AddRings(18),),
    rows_per_shard: int = 8192,
    executor: Executor | None = None,
    progress: bool = True,
) -> ShardedGraphs:
    """Writes a data set as shards, or finishes what an earlier call began.

    What a call finished the next one keeps, each shard compared with its sha256. A damaged or
    missing one is named in a warning and made anew. The same data give the same bytes, whoever
    makes them; stored floats (AddSVD) can differ in the last bit between kinds of machines.

    Args:
        source: :func:`gtcourse.shards.pcqm4mv2`, or any data set; its split is kept.
        out: the folder, which all workers have to see. One call at a time writes into it; another
            one waits for its end.
        stored: encodings that are slow to compute. The rest is the device's work, from the batch
            (:func:`gtcourse.encodings.on_device.encode_batch`).
        rows_per_shard: graphs in a shard.
        executor: where the shards are made: :func:`process_pool` for the cores of this machine,
            ``dask.distributed.Client(…).get_executor()`` for several machines, or any other of
            ``concurrent.futures``; by default here, one after the other.
        progress: show a bar while it runs.

    Raises:
        ValueError: two of ``stored`` set the same, or another argument cannot be meant; the folder
            holds shards of another plan; or a graph cannot be made or is malformed. The sentence
            names it; all other shards are finished and kept.
        OSError: the folder cannot be written; what is finished is kept.
    """
    _refuse_what_cannot_be_meant(stored, rows_per_shard)
    source = ListedGraphs(source) if isinstance(source, GraphDataset) else source
    out = Path(out).expanduser().absolute()  # a worker may run in another folder
    plan = _plan(source, stored, rows_per_shard)
    if not _is_whole(out, plan):  # a folder that is may be read-only
        with locked(out / LOCK):
            _complete(source, out, plan, tuple(stored), executor, progress)
    return open_shards(out)


def _complete(source, out: Path, plan: dict, stored: tuple, executor, progress: bool) -> None:
    """Makes the shards that are not there, or not whole."""
    finished, faults = _finished(out, plan)
    for fault in faults:
        warnings.warn(f"{fault}; it is made anew.", stacklevel=3)
    remove_halves(out)
    write_manifest(out, plan, finished)

    rows = _rows(source.split, plan)
    todo = {name: rows[name] for name in rows if name not in finished}
    tasks = ((out / name, source.piece(todo[name]), stored) for name in todo)
    refused = {}
    bar = {"total": len(rows), "initial": len(finished), "unit": "shard", "leave": False}
    with tqdm(**bar, **({} if progress else {"disable": True})) as bar:
        for path, future in _done(tasks, executor):
            try:
                finished[path.name] = future.result()
            except ValueError as error:  # a fault of the data: the others can be made meanwhile
                refused[path.name] = error
            else:
                write_manifest(out, plan, finished)
            bar.update()
    if refused:
        name = next(name for name in todo if name in refused)
        raise ValueError(
            f"{name} cannot be made: {refused[name]} Of {len(rows)} shards {len(finished)} are "
            f"finished in {out}, and the next call keeps them."
        ) from refused[name]


def make_shard(path: Path, piece: Piece, stored: tuple[Encoding, ...]) -> Shard:
    """A worker's task: the graphs of a piece, their stored encodings, one file.

    Raises:
        ValueError: a graph cannot be made, or is malformed.
    """
    ragged = piece.graphs()
    check_ragged(ragged)
    return write_shard(path, encoded(distinct(ragged), stored))


def process_pool(workers: int) -> ProcessPoolExecutor:
    """An executor for ``workers`` cores of this machine, one thread each; close it with ``with``.

    Raises:
        ValueError: ``workers`` is below 1.
    """
    at_least(1, workers=workers)
    # A process forked off this one would have its threads' locks, but not its threads.
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
    """Without it, the workers of a process that is killed would wait for tasks for ever."""
    multiprocessing.parent_process().join()
    os._exit(1)


def _refuse_what_cannot_be_meant(stored: Sequence[Encoding], rows_per_shard: int) -> None:
    pyarrow()
    at_least(1, rows_per_shard=rows_per_shard)
    for transform in stored:
        if not isinstance(transform, Encoding):
            raise ValueError(
                f"stored holds {transform!r}; expected the course's encodings, such as "
                "AddRings(18)."
            )
    by_name = {}
    for transform in stored:
        for name in _sets(transform):
            if name in by_name:
                raise ValueError(
                    f"stored holds {by_name[name]!r} and {transform!r}, which both set {name!r}; "
                    "expected one of them."
                )
            by_name[name] = transform


def _sets(transform: Encoding) -> list[str]:
    """The names of what it sets, seen at a graph of one node."""
    nothing = torch.zeros(1, 1, 1, 1)
    return [*transform.compute(nothing[..., 0].bool(), nothing)]


def _plan(source: Molecules | ListedGraphs, stored: Sequence[Encoding], rows: int) -> dict:
    counts = np.bincount(source.split, minlength=len(SPLITS)).tolist()
    return {
        "name": source.name,
        "source": source.source,
        "checksum": source.checksum,
        "content": source.content,
        "split_sizes": dict(zip(SPLITS, counts, strict=True)),
        "target": source.target,
        "node_vocabulary": _listed(source.node_vocabulary),
        "edge_vocabulary": _listed(source.edge_vocabulary),
        "stored": [repr(transform) for transform in stored],
        "rows_per_shard": rows,
    }


def _is_whole(out: Path, plan: dict) -> bool:
    finished, _ = _finished(out, plan)
    return len(finished) == sum(map(len, shard_names(plan).values()))


def _finished(out: Path, plan: dict) -> tuple[dict[str, Shard], list[str]]:
    """The shards of an earlier call that are whole, and a sentence on each of the others.

    Raises:
        ValueError: the folder holds shards of another plan.
    """
    if not (out / MANIFEST).exists():
        return {}, []
    begun, shards = read_manifest(out)
    differs = [name for name in plan if plan[name] != begun.get(name)]
    if differs:
        name = differs[0]
        raise ValueError(
            f"{out} holds shards of another plan, which differs in {', '.join(differs)} ({name} "
            f"is {begun.get(name)!r} there and {plan[name]!r} here); expected the plan that began "
            "there, or another folder."
        )
    whole, faults = {}, []
    for shard in shards.values():
        path = out / shard.name
        fault = fault_by_size(path, shard)
        if fault is None and file_sha256(path) != shard.sha256:
            fault = "is damaged: its sha256 is not the recorded one"
        if fault is None:
            whole[shard.name] = shard
        else:
            faults.append(f"the shard {path} {fault}")
    return whole, faults


def _rows(split: np.ndarray, plan: dict) -> dict[str, np.ndarray]:
    """Which graphs go into each file: those of a split, in their order."""
    rows = {}
    for number, names in enumerate(shard_names(plan).values()):
        members, size = np.flatnonzero(split == number), plan["rows_per_shard"]
        rows |= {name: members[i * size : (i + 1) * size] for i, name in enumerate(names)}
    return rows


def _done(tasks: Iterator[tuple], executor: Executor | None) -> Iterator[tuple[Path, Future]]:
    """The tasks' futures as they are done; those still waiting are cancelled at an error."""
    if executor is None:
        for task in tasks:
            yield task[0], _here(task)
        return
    paths = {executor.submit(make_shard, *task): task[0] for task in tasks}
    try:
        for future in as_completed(paths):
            yield paths[future], future
    finally:
        for future in paths:
            future.cancel()


def _here(task: tuple) -> Future:
    future = Future()
    try:
        future.set_result(make_shard(*task))
    except ValueError as error:
        future.set_exception(error)
    return future


def _listed(names: tuple[str, ...] | None) -> list[str] | None:
    return None if names is None else list(names)
