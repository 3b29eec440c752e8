"""The queue of long runs on the real ZINC, which ``make results`` continues.

``make results MINUTES=90 DATA=PATH SEED=1`` gives it a time, other data and a seed, by default 0.
It works through ``RUNS`` from the top, one process for each core (one in all on a GPU). A run is
one ``gtcourse train`` below ``runs/results``: it continues from its last checkpoint and can be
stopped at any moment. Its record is copied to ``book/results``. If a run fails, the others
continue.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import torch

from gtcourse.graphs.io import replacing
from gtcourse.messages import sentence

FOLDER = Path("runs/results")
RESULTS = Path("book/results")
RUNS = {
    "csa-rings/zinc": (8, "--epochs 100"),
    "csa/zinc": (8, "--epochs 100"),
    "grpe-small/zinc": (8, "--epochs 90 --batch-size 32 --learning-rate 1e-3"),
    "graphormer-slim/zinc": (8, "--epochs 90 --batch-size 32 --learning-rate 5e-4"),
    "egt-500k-spe-do/zinc": (8, None),
    "egt-100k-spe-do/zinc": (1, None),
    "signnet/zinc": (8, "--epochs 60 --batch-size 32 --learning-rate 1e-3 --cosine"),
    "gatedgcn-pe/zinc": (1, ""),
    "gin-100k/zinc": (1, ""),
    "gat-100k/zinc": (1, ""),
    "gatedgcn-100k/zinc": (1, ""),
    "gatedgcn/zinc": (1, ""),
    "gin/zinc": (1, ""),
}
"""In order of value: a recipe, its buckets (message passing has no padding to save) and its budget
on a CPU, `None` to leave it out there; on a GPU it is the paper's."""


def command(recipe: str, data: str, on_gpu: bool, seed: int = 0) -> list[str]:
    buckets, budget = RUNS[recipe]
    options = f"--seed {seed} --buckets {buckets} --out {FOLDER} --auto-resume"
    words = f"{options} {'' if on_gpu else budget}".split()
    return [sys.executable, "-m", "gtcourse", "train", recipe, "--data", data, *words]


def work(recipe: str, command: list[str], deadline: float, seed: int = 0) -> str:
    """Continues a run until the deadline; what became of it, in a line."""
    name = f"{recipe.replace('/', '-')}-seed{seed}"
    record = FOLDER / name / f"{name}.json"
    log = FOLDER / f"{name}.log"
    try:
        if not record.exists():
            if time.monotonic() >= deadline:
                return "not begun"
            with log.open("a") as output:
                process = subprocess.Popen(command, stdout=output, stderr=output)
                try:
                    process.wait(deadline - time.monotonic())
                except subprocess.TimeoutExpired:
                    process.send_signal(signal.SIGINT)
                    process.wait()
                    return "stopped; it continues from its last checkpoint"
            if process.returncode or not record.exists():
                lines = log.read_text(errors="replace").strip().splitlines() or ["no output"]
                return f"failed: {lines[-1][-200:]}"
        with replacing(RESULTS / record.name) as copy:
            shutil.copyfile(record, copy)
    except OSError as error:  # such as a full disk; the other runs go on
        return f"failed: {sentence(error)}"
    return "done"


def main() -> int:
    parser = argparse.ArgumentParser(description="Work through the queue of long runs.")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--data", default="real", help="real (downloaded), or an .npz graph file")
    parser.add_argument("--jobs", type=int, default=None, help="runs at once")
    parser.add_argument("--seed", type=int, default=0, help="the seed of all runs")
    args = parser.parse_args()
    if not args.minutes > 0:
        parser.error(f"--minutes is {args.minutes:g}; expected a number above 0")
    if args.jobs is not None and args.jobs < 1:
        parser.error(f"--jobs is {args.jobs}; expected 1 or more")
    if not 0 <= args.seed < 2**32:
        parser.error(f"--seed is {args.seed}; expected a number from 0 to {2**32 - 1}")
    if args.data != "real" and not Path(args.data).exists():
        parser.error(f"{args.data} does not exist; expected 'real' or an .npz graph file")
    on_gpu = torch.cuda.is_available()
    deadline = time.monotonic() + 60 * args.minutes
    FOLDER.mkdir(parents=True, exist_ok=True)
    os.environ |= {"OMP_NUM_THREADS": "1", "TQDM_DISABLE": "1"}  # a log ends with what went wrong
    failed = 0
    with ThreadPoolExecutor(args.jobs or (1 if on_gpu else os.cpu_count())) as pool:
        begun = {
            recipe: pool.submit(
                work, recipe, command(recipe, args.data, on_gpu, args.seed), deadline, args.seed
            )
            for recipe, (_, budget) in RUNS.items()
            if on_gpu or budget is not None
        }
        for recipe, result in begun.items():
            line = result.result()
            failed += line.startswith("failed")
            print(f"{recipe}: {line}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
