"""Student copies: ``python -m tools.student`` writes each chapter without outputs and solutions."""

import re
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from book._ext.citations import in_parentheses, in_text
from tools.exercises import FOLDED, RESULT, chapters
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
RESULT_THERE = "*Our result is folded under this experiment in [the chapter]({chapter}).*"
CITATION = re.compile(r"\{cite:(?P<kind>[pt])\}`(?P<keys>[^`]+)`")
TERM = re.compile(r"\{term\}`([^`<]+?)(?: <[^`>]+>)?`")
NOTEBOOK = re.compile(r"\]\((\w+\.ipynb)")  # beside the chapter, and not beside its copy


def student_copy(text: Path) -> NotebookNode:
    """The notebook that a chapter's text describes, with a word in front and no solutions."""
    notebook = jupytext.read(text)
    chapter = CHAPTER.format(slug=slug(), name=text.stem)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            source = FOLDED.sub(FOLDED_THERE.format(chapter=chapter), cell.source)
            cell.source = plain(RESULT.sub(RESULT_THERE.format(chapter=chapter), source))
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
    return in_text(role["keys"]) if role["kind"] == "t" else in_parentheses(role["keys"])


def main() -> None:
    for text in chapters():
        write_notebook(student_copy(text), STUDENT / f"{text.stem}.ipynb")
    print(f"{len(chapters())} student copies: {STUDENT}")


if __name__ == "__main__":
    main()
