"""A chapter is written twice: a text source (MyST) and a notebook with outputs.

One is edited, the other follows. Outputs live in the notebook alone; a cell keeps its stored
output only while its code stays what it was.
"""

import hashlib
import re
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from tools.freshness import code_text
from tools.paths import NOTEBOOKS, TEXTS

KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
KEPT = ("tags", "mystnb")  # a cell's metadata that both sides carry


def text_of(notebook: Path) -> Path:
    return TEXTS / f"{notebook.stem}.md"


def notebook_of(text: Path) -> Path:
    return NOTEBOOKS / f"{text.stem}.ipynb"


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
    a, b = cells_of(jupytext.read(text)), cells_of(jupytext.read(notebook))
    found = [
        f"{notebook.name}: cell {i} differs from {text.name}"
        for i, (x, y) in enumerate(zip(a, b, strict=False), start=1)
        if x != y
    ]
    if len(a) != len(b):
        found.append(f"{notebook.name} has {len(b)} cells, {text.name} has {len(a)}")
    return found


def sync(text: Path, notebook: Path, *, source: str | None = None) -> str | None:
    """Make the pair agree. The newer side wins, unless `source` is "text" or "notebook"."""
    if source is None and not differences(text, notebook):
        return None
    if source is None:
        newer = not notebook.exists() or (
            text.exists() and text.stat().st_mtime >= notebook.stat().st_mtime
        )
        source = "text" if newer else "notebook"
    if source == "text":
        write_notebook(follow_text(text, notebook), notebook)
        return f"{text.name} -> {notebook.name}"
    write_text(nbformat.read(notebook, as_version=4), text)
    return f"{notebook.name} -> {text.name}"


def follow_text(text: Path, notebook: Path) -> NotebookNode:
    """The notebook that the text describes, with the outputs of every cell that did not change."""
    new = jupytext.read(text)
    stored: dict[str, list[NotebookNode]] = {}
    stamp = None
    if notebook.exists():
        old = nbformat.read(notebook, as_version=4)
        stamp = old.metadata.get("gtcourse")
        for cell in old.cells:
            if cell.cell_type == "code":
                stored.setdefault(code_text(cell.source), []).append(cell)
    for cell in new.cells:
        before = stored.get(code_text(cell.source)) if cell.cell_type == "code" else None
        if before:
            cell.outputs, cell.execution_count = before[0].outputs, before[0].execution_count
            del before[0]
    if stamp:
        new.metadata["gtcourse"] = stamp
    return new


def write_notebook(nb: NotebookNode, path: Path) -> None:
    """Write the notebook so that the same content gives the same bytes."""
    stamp = nb.metadata.get("gtcourse")
    nb.metadata = NotebookNode(kernelspec=dict(KERNEL), language_info={"name": "python"})
    if stamp:
        nb.metadata["gtcourse"] = stamp
    nb.nbformat, nb.nbformat_minor = 4, 5
    seen: dict[str, int] = {}
    for cell in nb.cells:
        cell.metadata = NotebookNode(kept(cell))
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
    plain.cells = [NotebookNode({**cell, "metadata": kept(cell)}) for cell in nb.cells]
    text = jupytext.writes(plain, fmt="md:myst")
    text = re.sub(r"^ *jupytext_version:.*\n", "", text, flags=re.M)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def cells_of(nb: NotebookNode) -> list[tuple]:
    return [(c.cell_type, c.source.strip(), kept(c)) for c in nb.cells]


def kept(cell: NotebookNode) -> dict:
    return {key: cell.metadata[key] for key in KEPT if cell.metadata.get(key)}
