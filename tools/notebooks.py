"""Chapters: a text source (MyST) and a notebook with outputs, which follow each other.

python -m tools.notebooks sync    [NAME ...] [--from text|notebook]
python -m tools.notebooks execute [NAME ...]     NAME: the beginning of a file name, such as 01
python -m tools.notebooks check   [NAME ...]

Outputs are stored in the notebook alone. A cell keeps its output only while its code is unchanged,
so a cell without an execution count shows that the chapter has to be executed again.
"""

import argparse
import hashlib
import json
import os
import re
import sys
import time
from copy import deepcopy
from itertools import zip_longest
from pathlib import Path

import jupytext
import nbformat
import torch
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat import NotebookNode

from tools.paths import NOTEBOOKS, RUN_TIMES, TEXTS

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
COLAB = {"accelerator": "GPU", "colab": {"gpuType": "T4"}}  # the machine that Colab offers
METADATA = ("tags", "mystnb")  # what text and notebook both store of a cell's metadata
LARGEST = 4_000_000  # bytes of a notebook with its outputs
SHOWS = re.compile(r"^(print|plots\.(show|table|molecules|diagram))\(", re.MULTILINE)
FIGURES = re.compile(r"^plots\.(show|table|molecules|diagram)\(", re.MULTILINE)
FORBIDDEN = {
    "a progress bar": re.compile(r"\d+%\|.*\||\bit/s\]|\bs/it\]|\r"),
    "a path of the machine it ran on": re.compile(
        r"/(?:home|root|tmp|Users|usr/lib)/\w|site-packages|[A-Z]:\\\\Users"
    ),
}

# One thread; no bars, no dates, no hash order in the outputs; the budget a reader gets by default.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TQDM_DISABLE": "1",
    "PYTHONHASHSEED": "0",
    "PYTHONWARNINGS": "error:::__main__,ignore:IProgress not found",  # of a cell's own code
    "SOURCE_DATE_EPOCH": "0",
    "MATPLOTLIBRC": str(Path(__file__).with_name("matplotlibrc")),
}
UNSET = ("GTCOURSE_BUDGET", "MPLBACKEND")

# Runs last, in the notebook's own kernel, and is taken out again.
USED = """
import resource

own = resource.getrusage(resource.RUSAGE_SELF)
children = resource.getrusage(resource.RUSAGE_CHILDREN)
processor_time = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
print(processor_time, own.ru_maxrss)
"""
MAXRSS_UNIT = 1 if sys.platform == "darwin" else 1024


def pairs(names: list[str] | None = None) -> list[tuple[Path, Path]]:
    """(text, notebook) of every chapter, or of those whose file name starts with one of `names`."""
    stems = {p.stem for p in TEXTS.glob("*.md")} | {p.stem for p in NOTEBOOKS.glob("*.ipynb")}
    chosen = sorted(s for s in stems if not names or s.startswith(tuple(names)))
    if names and not chosen:
        raise SystemExit(f"No chapter starts with {', '.join(names)}; there are {sorted(stems)}.")
    return [(TEXTS / f"{stem}.md", NOTEBOOKS / f"{stem}.ipynb") for stem in chosen]


def differences(text: Path, notebook: Path) -> list[str]:
    """One sentence for each way in which the pair disagrees; empty when it agrees."""
    for here, there in ((text, notebook), (notebook, text)):
        if not here.exists():
            return [f"{there.name}: its pair {here.name} does not exist"]
    a, b = (
        [(cell.cell_type, cell.source.strip(), shared_metadata(cell)) for cell in nb.cells]
        for nb in map(jupytext.read, (text, notebook))
    )
    return [
        f"{notebook.name}: cell {i} differs from {text.name}"
        for i, (x, y) in enumerate(zip_longest(a, b), start=1)
        if x != y
    ]


def sync(text: Path, notebook: Path, *, source: str | None = None) -> str | None:
    """Make the pair agree. The newer side wins, unless `source` is "text" or "notebook"."""
    if source is None and not differences(text, notebook):
        return None
    modified = [path.stat().st_mtime if path.exists() else 0 for path in (text, notebook)]
    if (source or ("text" if modified[0] >= modified[1] else "notebook")) == "text":
        write_notebook(follow_text(text, notebook), notebook)
        return f"{text.name} -> {notebook.name}"
    write_text(nbformat.read(notebook, as_version=4), text)
    return f"{notebook.name} -> {text.name}"


def follow_text(text: Path, notebook: Path) -> NotebookNode:
    """The notebook that the text describes, with the outputs of every cell that did not change."""
    new = jupytext.read(text)
    stored: dict[str, list[NotebookNode]] = {}
    if notebook.exists():
        for cell in nbformat.read(notebook, as_version=4).cells:
            if cell.cell_type == "code":
                stored.setdefault(cell.source, []).append(cell)
    for cell in new.cells:
        if cell.cell_type == "code" and stored.get(cell.source):
            before = stored[cell.source].pop(0)
            cell.outputs = before.outputs
            cell.execution_count = before.execution_count
    return new


def write_notebook(nb: NotebookNode, path: Path) -> None:
    """Write the notebook so that the same content gives the same bytes."""
    nb.metadata = NotebookNode(
        kernelspec=dict(KERNEL), language_info={"name": "python"}, **deepcopy(COLAB)
    )
    nb.nbformat = 4
    nb.nbformat_minor = 5
    seen: dict[str, int] = {}
    for cell in nb.cells:
        cell.metadata = NotebookNode(shared_metadata(cell))
        digest = hashlib.sha256(f"{cell.cell_type}\0{cell.source}".encode()).hexdigest()[:8]
        seen[digest] = seen.get(digest, 0) + 1
        cell.id = digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nb, path)


def write_text(nb: NotebookNode, path: Path) -> None:
    plain = NotebookNode(nb)
    plain.metadata = NotebookNode(
        kernelspec=dict(KERNEL), language_info={"name": "python", "pygments_lexer": "ipython3"}
    )
    plain.cells = [NotebookNode({**cell, "metadata": shared_metadata(cell)}) for cell in nb.cells]
    text = jupytext.writes(plain, fmt="md:myst")
    text = re.sub(r"^ *jupytext_version:.*\n", "", text, flags=re.M)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def shared_metadata(cell: NotebookNode) -> dict:
    return {key: cell.metadata[key] for key in METADATA if cell.metadata.get(key)}


def execute(nb: NotebookNode, folder: Path, *, on_gpu: bool = False) -> dict[str, int]:
    """Run every cell in a fresh kernel, in place; returns seconds and the peak memory in MB.

    Without a GPU the seconds are processor time, which other work on the machine hardly changes.
    """
    os.environ.update(ENVIRONMENT)
    for name in UNSET:
        os.environ.pop(name, None)
    nb.cells.append(nbformat.v4.new_code_cell(USED))
    client = NotebookClient(
        nb,
        timeout=900,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,  # how print() was cut up depends on timing
        resources={"metadata": {"path": str(folder)}},
    )
    begin = time.perf_counter()
    client.execute()
    elapsed = time.perf_counter() - begin
    processor_time, peak = nb.cells.pop().outputs[0].text.split()
    seconds = elapsed if on_gpu else float(processor_time)
    megabytes = int(peak) * MAXRSS_UNIT / 2**20
    return {"seconds": round(seconds), "peak_memory_mb": int(round(megabytes, -1))}


def run(names: list[str]) -> None:
    """Execute chapters, store their outputs, and note what the runs took."""
    on_gpu = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if on_gpu else "cpu"
    for text, notebook in pairs(names):
        sync(text, notebook)
        nb = nbformat.read(notebook, as_version=4)
        try:
            measured = execute(nb, NOTEBOOKS, on_gpu=on_gpu)
        except CellExecutionError as error:
            raise SystemExit(f"{notebook.name}: {error}") from None
        write_notebook(nb, notebook)
        # Kept apart from the notebook, whose bytes must not depend on the clock.
        times = json.loads(RUN_TIMES.read_text()) if RUN_TIMES.exists() else {}
        times.setdefault(notebook.stem, {})[device] = measured
        RUN_TIMES.write_text(json.dumps(dict(sorted(times.items())), indent=2) + "\n")
        print(f"{notebook.name}: {measured['seconds']} s, {measured['peak_memory_mb']} MB at most")


def output_faults(nb: NotebookNode) -> list[str]:
    """What must not be stored: errors, stderr, progress bars, local paths, cells out of order."""
    code = [(i, cell) for i, cell in enumerate(nb.cells, start=1) if cell.cell_type == "code"]
    faults = []
    for count, (i, cell) in enumerate(((i, c) for i, c in code if c.source.strip()), start=1):
        if cell.execution_count is None:
            faults.append(f"cell {i} has changed since the chapter was executed")
        elif cell.execution_count != count:
            faults.append(f"cell {i} has execution count {cell.execution_count}, not {count}")
        elif SHOWS.search(cell.source) and not cell.outputs:
            faults.append(f"cell {i} prints or shows something, but has no output")
        elif len(FIGURES.findall(cell.source)) > len(displayed(cell)):
            faults.append(
                f"cell {i} makes a figure or table that is not its last line, so it is lost"
            )
        wanted = "raises-exception" in cell.metadata.get("tags", [])
        for output in cell.outputs:
            if not (wanted and output.output_type == "error"):
                faults += [f"cell {i} stores {fault}" for fault in faults_of(output)]
    size = len(nbformat.writes(nb))
    if size > LARGEST:
        faults.append(f"it is {size / 1e6:.1f} MB large; {LARGEST / 1e6:.0f} MB is the limit")
    return faults


def displayed(cell: NotebookNode) -> list[NotebookNode]:
    """The outputs of a cell that are more than printed text."""
    return [o for o in cell.outputs if o.output_type in ("display_data", "execute_result")]


def faults_of(output: NotebookNode) -> list[str]:
    if output.output_type == "error":
        return [f"an error, {output.ename}: {output.evalue[:80]}"]
    data = output.get("data", {})
    text = output.get("text", "") or str(data.get("text/plain", ""))
    faults = [f"stderr: {text.strip()[:80]!r}"] if output.get("name") == "stderr" else []
    faults += [
        f"a {mime} output, which no page can show without other scripts"
        for mime in data
        if "widget" in mime or "plotly" in mime
    ]
    return faults + [what for what, pattern in FORBIDDEN.items() if pattern.search(text)]


def check(names: list[str]) -> list[str]:
    found = []
    for text, notebook in pairs(names):
        found += differences(text, notebook)
        if notebook.exists():
            nb = nbformat.read(notebook, as_version=4)
            found += [f"{notebook.name}: {fault}" for fault in output_faults(nb)]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["sync", "execute", "check"])
    parser.add_argument("names", nargs="*", help="beginnings of file names; none means all")
    parser.add_argument("--from", dest="source", choices=["text", "notebook"])
    args = parser.parse_args()

    if args.command == "execute":
        run(args.names)
    elif args.command == "sync":
        for text, notebook in pairs(args.names):
            print(sync(text, notebook, source=args.source) or f"{text.stem}: agrees")
    else:
        found = check(args.names)
        print("\n".join(found))
        print(f"{len(pairs(args.names))} chapters checked, {len(found)} faults")
        return bool(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
