"""Student copies: each chapter as a notebook without outputs and without solutions, for Colab.

python -m tools.student check    every copy is what its chapter's text makes today
python -m tools.student write    make them so
"""

import re
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import jupytext
import nbformat
from nbformat import NotebookNode
from pybtex.database import Entry, parse_file

from tools.exercises import FOLDED, chapters
from tools.notebooks import write_notebook
from tools.paths import ROOT, slug

STUDENT = ROOT / "student"
CHAPTER = "https://colab.research.google.com/github/{slug}/blob/main/notebooks/{name}.ipynb"
OPENING = (
    "> A student copy of [{title}]({chapter}): its text and its cells, without outputs and without "
    "solutions. Run it from the top; in an exercise write your answer in place of `...`, and the "
    "same cell says what is wrong with it."
)
FOLDED_THERE = "*The solution is folded under this exercise in [the chapter]({chapter}).*"
CITATION = re.compile(r"\{cite:(?P<kind>[pt])\}`(?P<keys>[^`]+)`")
TERM = re.compile(r"\{term\}`([^`<]+?)(?: <[^`>]+>)?`")
NOTEBOOK = re.compile(r"\]\((\w+\.ipynb)")  # beside the chapter, and not beside its copy
REFERENCES = ROOT / "book" / "references.bib"


def student_copy(text: Path) -> NotebookNode:
    """The notebook that a chapter's text describes, with a word in front and no solutions."""
    notebook = jupytext.read(text)
    chapter = CHAPTER.format(slug=slug(), name=text.stem)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = plain(FOLDED.sub(FOLDED_THERE.format(chapter=chapter), cell.source))
    title = notebook.cells[0].source.splitlines()[0].removeprefix("# ")
    opening = OPENING.format(title=title, chapter=chapter)
    notebook.cells.insert(0, nbformat.v4.new_markdown_cell(opening))
    return notebook


def plain(markdown: str) -> str:
    """The text with what only the book can show in words that any notebook shows."""
    markdown = CITATION.sub(_citation, TERM.sub(r"\1", markdown))
    return NOTEBOOK.sub(r"](../notebooks/\1", markdown)


def _citation(role: re.Match) -> str:
    """Author and year, as the book shows them: "Lim et al. (2023)", or "(Lim et al., 2023)"."""
    entries = [_bibliography()[key] for key in role["keys"].split(",")]
    cited = [(_authors(entry), entry.fields["year"]) for entry in entries]
    if role["kind"] == "t":
        return ", ".join(f"{authors} ({year})" for authors, year in cited)
    return f"({'; '.join(f'{authors}, {year}' for authors, year in cited)})"


def _authors(entry: Entry) -> str:
    first, *others = [" ".join(person.last_names) for person in entry.persons["author"]]
    if not others:
        return first
    return f"{first} and {others[0]}" if len(others) == 1 else f"{first} et al."


@cache
def _bibliography() -> dict[str, Entry]:
    return parse_file(str(REFERENCES)).entries


def copy_of(text: Path, folder: Path = STUDENT) -> Path:
    return folder / f"{text.stem}.ipynb"


def write(folder: Path = STUDENT) -> None:
    for text in chapters():
        write_notebook(student_copy(text), copy_of(text, folder))


def stale(folder: Path = STUDENT) -> list[str]:
    """One sentence for each copy that is missing, is another, or belongs to no chapter."""
    with TemporaryDirectory() as fresh:
        write(Path(fresh))
        today = {path.name: path.read_bytes() for path in Path(fresh).iterdir()}
    stored = {path.name: path.read_bytes() for path in folder.glob("*.ipynb")}
    return [
        f"{name}: the student copy is not what the chapters' texts make today; make sync mends it"
        for name in sorted({*today, *stored})
        if today.get(name) != stored.get(name)
    ]


def main() -> int:
    if sys.argv[1:] == ["write"]:
        write()
    found = stale()
    print("\n".join([*found, f"Student copies: {len(found)} of {len(chapters())} disagree"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
