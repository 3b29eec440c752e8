"""Student copies: the chapters' cells, without outputs and without solutions."""

import re
from os.path import exists, normpath

import jupytext
import pytest

from tools import student
from tools.exercises import chapters, exercises
from tools.paths import slug

TEXTS = {path.stem: path for path in chapters()}
ROLE = re.compile(r"\{[a-z]+(?::[a-z]+)?\}`")
SUMMARY = re.compile("<summary>(.*?)</summary>")
LINK = re.compile(r"\[[^\]`]+\]\(((?!https?:)[\w./-]+\.(?:md|ipynb))")


@pytest.mark.parametrize("stem", TEXTS)
def test_a_student_copy_has_the_chapters_code_but_no_solutions_roles_or_broken_links(stem):
    copy = student.student_copy(TEXTS[stem])
    chapter = jupytext.read(TEXTS[stem])
    code, original = (
        [cell.source for cell in notebook.cells if cell.cell_type == "code"]
        for notebook in (copy, chapter)
    )
    assert code == original
    assert not any(cell.get("outputs") for cell in copy.cells)
    text = "\n\n".join(cell.source for cell in copy.cells if cell.cell_type == "markdown")
    where = f"https://colab.research.google.com/github/{slug()}/blob/main/notebooks/{stem}.ipynb"
    folded = f"The solution is folded under this exercise in [the chapter]({where})"
    written = TEXTS[stem].read_text(encoding="utf-8")
    assert text.count(folded) == len(exercises(written))
    results = written.count("<summary>Our result</summary>")
    assert text.count("*Our result is folded under this experiment in") == results
    kept = {*SUMMARY.findall(written)} - {"Solution", "Our result"}
    assert {*SUMMARY.findall(text)} == kept
    assert ROLE.findall(text) == []
    assert all(exists(normpath(student.STUDENT / link)) for link in LINK.findall(text))


def test_markup_that_only_the_book_can_show_becomes_plain_text():
    written = "{cite:t}`lim2023signnet`, {term}`superpixels <superpixel>`, [data](data.ipynb)"
    shown = "Lim et al. (2023a), superpixels, [data](../notebooks/data.ipynb)"
    assert student.plain(written) == shown
    both = student.plain("{cite:p}`li2018deeper,oono2020expressive`, `x[a](b)`")
    assert both == "(Li et al., 2018; Oono and Suzuki, 2020), `x[a](b)`"
    # One author "and others" in the bibliography.
    assert student.plain("{cite:p}`rdkit`").startswith("(Landrum et al., 20")
