"""Work that is interrupted in the tests, each in a process forked from one that imported all."""

import gc
import hashlib
import multiprocessing
import os
import resource
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pooch
import torch

from gtcourse import cli, load_dataset
from gtcourse.course import tasks
from gtcourse.graphs import molecules, published, write_graphs
from gtcourse.graphs.molecules import parse, penalized_logp
from gtcourse.graphs.published import PUBLICATIONS
from gtcourse.runs.record import read_record
from tests.graphs import served
from tests.graphs.served import write_some
from tests.train.tiny_data import tiny

torch.set_num_threads(1)
RUN = "gin-100k-zinc-seed0"
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.faults.jobs"])
PREPARED: dict[str, Callable[[Path], object]] = {
    "train": lambda place: write_graphs(place / "zinc.npz", tiny("zinc", 48)),
    "prepare": lambda place: write_some(place / "layout", count=96),
    "download": lambda place: served.write_zinc(place / "published"),
}
"""What has to be there before a job begins, by the job's name."""


def train(folder: Path) -> None:
    data = folder.parent / "zinc.npz"
    sys.argv = ["gtcourse", "train", "gin-100k/zinc", "--data", str(data), "--out", str(folder)]
    sys.argv += ["--epochs", "6", "--batch-size", "8", "--checkpoint-every", "2", "--auto-resume"]
    cli.main()


class Forked(multiprocessing.get_context("fork").Process):
    """Stands in for ``Popen`` where ``gtcourse`` starts itself."""

    def __init__(self, command: list[str]):
        assert command[:3] == [sys.executable, "-m", "gtcourse"]
        super().__init__(target=command_line, args=(command[3:],))
        self.start()

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self) -> int | None:
        self.join()
        return self.exitcode


def command_line(words: list[str], folder: Path | None = None) -> None:
    """``gtcourse WORDS``, perhaps in a folder; the processes of its seeds are forked as well."""
    if folder is not None:
        os.chdir(folder)
    cli.subprocess = SimpleNamespace(Popen=Forked)
    sys.argv = ["gtcourse", *words]
    cli.main()


def prepare(folder: Path) -> None:
    sys.argv = ["gtcourse", "prepare", "pcqm4mv2", "--root", str(folder.parent / "layout")]
    sys.argv += ["--out", str(folder), "--rows", "4"]
    cli.main()


def cache(folder: Path) -> None:
    molecules.SPLIT_SIZES = (80, 8, 8)
    small = partial(tasks.build_pattern, (60, 10, 10))
    published.GENERATED["pattern"] = replace(published.GENERATED["pattern"], build=small)
    for name in ("pattern", "molecules"):
        load_dataset(name, root=folder)


def download(folder: Path) -> None:
    """From a server whose answers arrive in small pieces."""

    def fetch(downloader, url: str, path: str, *_) -> None:
        answer = answers[url]
        with open(path, "wb", buffering=0) as file:
            for start in range(0, len(answer), len(answer) // 8 + 1):
                time.sleep(0.005)
                file.write(answer[start : start + len(answer) // 8 + 1])

    pooch.HTTPDownloader.__call__ = fetch
    PUBLICATIONS["zinc"] = served.tiny("zinc")
    answers = served.content(PUBLICATIONS["zinc"], folder.parent / "published")
    load_dataset("zinc", root=folder)


def trained(folder: Path) -> object:
    """What has to be the same of a run: everything but the seconds."""
    record = vars(read_record(folder / RUN / f"{RUN}.json"))
    curve = [{k: v for k, v in row.items() if k != "seconds"} for row in record["curve"]]
    kept = {key: record[key] for key in ("name", "config", "data", "result", "weights")}
    return kept | {"curve": curve, "files": sorted(files(folder / RUN / "weights"))}


def files(folder: Path) -> dict[str, str]:
    """sha256 by name of every file that is not hidden."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not any(p.startswith(".") for p in path.relative_to(folder).parts)
    }


def rubbish(folder: Path) -> list[str]:
    """Hidden files that are no locks."""
    return [
        str(path.relative_to(folder))
        for path in sorted(folder.rglob(".*"))
        if not path.name.endswith(".lock")
    ]


class Child:
    """A process that calls ``job(folder)``; its output goes to a file.

    When it has ended: its exit status ``code`` (a signal's number below zero), ``output``, seconds.
    """

    def __init__(self, job: Callable[[Path], object], folder: Path, file_limit: int | None = None):
        self.log = folder.with_name(f"{folder.name}-{time.monotonic_ns()}.out")
        self.process = CONTEXT.Process(target=_run, args=(job, folder, self.log, file_limit))
        self.begun = time.perf_counter()
        self.process.start()

    def signal_after(self, seconds: float, number: int = signal.SIGKILL) -> None:
        time.sleep(max(0.0, self.begun + seconds - time.perf_counter()))
        if self.process.is_alive():
            os.kill(self.process.pid, number)

    def end(self) -> "Child":
        self.process.join()
        self.code = self.process.exitcode
        self.seconds = time.perf_counter() - self.begun
        self.output = self.log.read_text().strip() if self.log.exists() else ""
        return self


def done(job: Callable[[Path], object], folder: Path, **options) -> Child:
    return Child(job, folder, **options).end()


def _run(job, folder: Path, output: Path, file_limit: int | None) -> None:
    gc.freeze()  # or each collection visits all that was imported
    os.environ["COLUMNS"] = "1000"  # a message stays in one line
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with open(output, "w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    if file_limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_limit, file_limit))
    code = 0
    try:
        job(folder)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 0
    except BaseException as error:
        print(error, file=sys.stderr)
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


# What the commands import late is read before the first job begins; it takes longer than a job.
penalized_logp(parse("CCO"))
for late in (
    "gtcourse.encodings.prepare",
    "gtcourse.predict",
    "gtcourse.runs.overview",
    "lightning_fabric",
    "torchmetrics",
    "tensorboardX",
    "ogb.utils",
    "pydantic",
):
    with suppress(ImportError):  # typer, for one, needs pydantic only where it is installed
        import_module(late)
