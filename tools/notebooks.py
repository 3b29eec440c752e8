"""Chapters: bring pairs into agreement, execute, check.

python -m tools.notebooks sync  [NAME ...] [--from text|notebook]
python -m tools.notebooks execute [NAME ...]     NAME: the beginning of a file name, such as 01
python -m tools.notebooks check [NAME ...]
"""

import argparse
import re
import sys

import nbformat
from nbformat import NotebookNode

from tools import execute, freshness, pairs, run_times
from tools.paths import NOTEBOOKS

LARGEST = 4_000_000  # bytes of a notebook with its outputs
PROGRESS_BAR = re.compile(r"\d+%\|.*\||\bit/s\]|\bs/it\]|\r")
LOCAL_PATH = re.compile(r"/(?:home|root|tmp|Users|usr/lib)/\w|site-packages|[A-Z]:\\\\Users")


def output_faults(nb: NotebookNode) -> list[str]:
    """What must not be stored: errors, stderr, progress bars, local paths, cells out of order."""
    faults, count = [], 0
    for i, cell in enumerate(nb.cells, start=1):
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        count += 1
        if cell.execution_count != count:
            faults.append(f"cell {i} has execution count {cell.execution_count}, not {count}")
        for output in cell.outputs:
            faults += [f"cell {i} stores {fault}" for fault in faults_of(output, cell)]
    size = len(nbformat.writes(nb))
    if size > LARGEST:
        faults.append(f"it is {size / 1e6:.1f} MB large; {LARGEST / 1e6:.0f} MB is the limit")
    return faults


def faults_of(output: NotebookNode, cell: NotebookNode) -> list[str]:
    if output.output_type == "error":
        wanted = "raises-exception" in cell.metadata.get("tags", [])
        return [] if wanted else [f"an error, {output.ename}: {output.evalue[:80]}"]
    if output.output_type == "stream":
        text, faults = output.text, []
        if output.name == "stderr":
            faults.append(f"stderr: {text.strip()[:80]!r}")
    else:
        text, faults = str(output.data.get("text/plain", "")), []
        faults += [
            f"a {mime} output, which no page can show without other scripts"
            for mime in output.data
            if "widget" in mime or "plotly" in mime
        ]
    if PROGRESS_BAR.search(text):
        faults.append("a progress bar")
    if LOCAL_PATH.search(text):
        faults.append(f"a path of the machine it ran on: {LOCAL_PATH.search(text).group()}…")
    return faults


def check(names: list[str]) -> list[str]:
    found = []
    for text, notebook in pairs.pairs(names):
        found += pairs.differences(text, notebook)
        if notebook.exists():
            nb = nbformat.read(notebook, as_version=4)
            reasons = freshness.stale(nb)
            found += [f"{notebook.name}: stored outputs are stale, {why}" for why in reasons]
            if not reasons:  # a stale notebook has to be executed anyway
                found += [f"{notebook.name}: {fault}" for fault in output_faults(nb)]
    return found


def run(names: list[str]) -> None:
    for text, notebook in pairs.pairs(names):
        pairs.sync(text, notebook)
        nb = nbformat.read(notebook, as_version=4)
        measured = execute.execute(nb, NOTEBOOKS)
        pairs.write_notebook(nb, notebook)
        execute.store_run(notebook.stem, measured)
        run_times.write()
        print(
            f"{notebook.name}: {measured['seconds']} s on {measured['device']}, "
            f"{measured['peak_memory_mb']:.0f} MB at most",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["sync", "execute", "check"])
    parser.add_argument("names", nargs="*", help="beginnings of file names; none means all")
    parser.add_argument("--from", dest="source", choices=["text", "notebook"])
    args = parser.parse_args()

    if args.command == "execute":
        run(args.names)
    elif args.command == "sync":
        for text, notebook in pairs.pairs(args.names):
            print(pairs.sync(text, notebook, source=args.source) or f"{text.stem}: agrees")
    else:
        found = check(args.names)
        print("\n".join(found))
        print(f"{len(pairs.pairs(args.names))} chapters checked, {len(found)} faults")
        return bool(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
