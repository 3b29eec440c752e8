"""How long it takes until anything happens: ``python -m benchmarks.startup``.

Wall time of fresh processes that import the package, or parts of it, beside those that import what
it is built on, and beside a Python that does nothing; and of ``gtcourse --help``. They take turns.
The files have been read before, so that they lie in the system's memory.

``--book`` also builds the book from its stored outputs, from scratch, as ``make book-checks`` does.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.costs import Step, milliseconds, rows
from benchmarks.report import command_line, provenance, store

ROOT = Path(__file__).parent.parent
IMPORTS = {
    "torch": "import torch",
    "torch_geometric": "import torch_geometric",
    "gtcourse": "import gtcourse",
    "gtcourse.models": "import gtcourse.models",
    "gtcourse.training.run": "import gtcourse.training.run",
    "nothing": "pass",
    "gtcourse --help": "from gtcourse.cli import app; app(['--help'])",
}
ROUNDS = 3


def process(code: str) -> Step:
    """Starts a Python, lets it run the code and waits for its end."""

    def run() -> None:
        subprocess.run(
            [sys.executable, "-c", code], check=True, cwd=ROOT, stdout=subprocess.DEVNULL
        )

    return run


def imports(rounds: int, names: list[str]) -> list[dict]:
    """Ratios are to ``import torch``."""
    return rows(milliseconds({name: process(IMPORTS[name]) for name in names}, rounds, warm_up=1))


def book() -> dict:
    """Builds all pages once, into a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(Path(sys.executable).with_name("jupyter-book")), "build", "."]
        command += ["--all", "-W", "--keep-going", "--path-output", folder]
        start = time.perf_counter()
        subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - start
        files = len([*(Path(folder) / "_build" / "html").rglob("*.html")])
    return {"seconds": round(seconds, 1), "html_files": files, "builds": 1}


def measure(rounds: int, names: list[str], *, with_book: bool) -> dict:
    return {
        "name": "startup-benchmark",
        "data": {},
        "rows": imports(rounds, names),
        "book": book() if with_book else {},
        "rounds": rounds,
        "threads": 1,
    } | provenance("startup")


def show(content: dict) -> None:
    for row in content["rows"]:
        print(f"{row['method']:20}{row['ms']:8.0f} ms × {row['ratio']:.2f}")
    if content["book"]:
        print(f"book: {content['book']['seconds']} s, {content['book']['html_files']} files")


def main() -> None:
    parser = command_line(__doc__, ROUNDS)
    parser.add_argument("--book", action="store_true", help="build the book, too")
    args = parser.parse_args()
    content = measure(args.rounds, [*IMPORTS], with_book=args.book)
    show(content)
    store(content, args.out)


if __name__ == "__main__":
    main()
