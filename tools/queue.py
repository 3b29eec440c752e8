"""The queue of long runs on the real ZINC: ``make results``, perhaps with ``MINUTES=90 DATA=PATH``.

Works through ``RUNS`` from the top, one process for each core (one in all on a GPU). A run is one
``gtcourse train`` below ``runs/results``: it continues from its last checkpoint and can be stopped
at any moment. The record of a finished run is copied to ``book/results``. A run that fails leaves
one line, and the rest of the queue continues.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import torch

FOLDER = Path("runs/results")
RESULTS = Path("book/results")


@dataclass(frozen=True)
class Run:
    """A recipe and its budget on a CPU; without ``epochs``, and on a GPU, it is the paper's."""

    recipe: str
    epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    cosine: bool = False
    buckets: int = 1
    seed: int = 0

    @property
    def name(self) -> str:
        return f"{self.recipe.replace('/', '-')}-seed{self.seed}"

    def command(self, data: str, on_gpu: bool) -> list[str]:
        command = [sys.executable, "-m", "gtcourse", "train", self.recipe, "--data", data]
        command += ["--seed", str(self.seed), "--buckets", str(self.buckets)]
        command += ["--out", str(FOLDER), "--auto-resume"]
        for name in () if on_gpu else ("epochs", "batch_size", "learning_rate"):
            if getattr(self, name) is not None:
                command += [f"--{name.replace('_', '-')}", str(getattr(self, name))]
        if self.cosine and not on_gpu:
            command.append("--cosine")
        return command


RUNS = (
    Run("csa-rings/zinc", epochs=100, buckets=8),
    Run("csa/zinc", epochs=100, buckets=8),
    Run("grpe-small/zinc", epochs=90, batch_size=32, learning_rate=1e-3, buckets=8),
    Run("graphormer-slim/zinc", epochs=90, batch_size=32, learning_rate=5e-4, buckets=8),
    Run("egt-100k-spe-do/zinc", epochs=90, batch_size=32, learning_rate=1e-3, buckets=8),
    Run("signnet/zinc", epochs=60, batch_size=32, learning_rate=1e-3, cosine=True, buckets=8),
    Run("gin-100k/zinc"),
    Run("gat-100k/zinc"),
    Run("gatedgcn-100k/zinc"),
    Run("gatedgcn-pe/zinc"),
    Run("gatedgcn/zinc"),
    Run("gin/zinc"),
)
"""In order of value. Buckets save padding, of which message passing has none."""


def work(run: Run, data: str, deadline: float, on_gpu: bool) -> str:
    """Goes on with a run until the deadline; what became of it, in a line."""
    record = FOLDER / run.name / f"{run.name}.json"
    if not record.exists():
        if time.monotonic() >= deadline:
            return "not begun"
        log = FOLDER / f"{run.name}.log"
        with log.open("a") as output:
            process = subprocess.Popen(run.command(data, on_gpu), stdout=output, stderr=output)
            try:
                process.wait(None if deadline == float("inf") else deadline - time.monotonic())
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
                process.wait()
                return "stopped; it continues from its last checkpoint"
        if process.returncode or not record.exists():
            lines = log.read_text(errors="replace").strip().splitlines() or ["no output"]
            return f"failed: {lines[-1][-200:]}"
    new = RESULTS / f".{record.name}"
    shutil.copyfile(record, new)
    new.replace(RESULTS / record.name)
    return "done"


def main() -> int:
    parser = argparse.ArgumentParser(description="Work through the queue of long runs.")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--data", default="real", help="real (downloaded), or an .npz graph file")
    parser.add_argument("--jobs", type=int, default=None, help="runs at once")
    args = parser.parse_args()
    if args.data != "real" and not Path(args.data).exists():
        print(f"{args.data} does not exist; expected 'real' or the path of an .npz graph file.")
        return 1
    on_gpu = torch.cuda.is_available()
    jobs = args.jobs or (1 if on_gpu else os.cpu_count() or 1)
    deadline = time.monotonic() + 60 * args.minutes
    FOLDER.mkdir(parents=True, exist_ok=True)
    os.environ["OMP_NUM_THREADS"] = "1"
    failed = 0
    with ThreadPoolExecutor(jobs) as pool:
        begun = [(run, pool.submit(work, run, args.data, deadline, on_gpu)) for run in RUNS]
        for run, result in begun:
            line = result.result()
            failed += line.startswith("failed")
            print(f"{run.name}: {line}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
