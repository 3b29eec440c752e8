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
LINK = re.compile(r"\[[^\]`]+\]\(((?!https?:)[\w./-]+\.(?:md|ipynb))")


@pytest.fixture(scope="module")
def copies():
    return {stem: student.student_copy(path) for stem, path in TEXTS.items()}


def markdown(notebook) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


@pytest.mark.parametrize("stem", TEXTS)
def test_its_code_cells_are_the_chapters_stubs_included(stem, copies):
    def code(notebook):
        return [cell.source for cell in notebook.cells if cell.cell_type == "code"]

    assert code(copies[stem]) == code(jupytext.read(TEXTS[stem]))
    assert not any(cell.get("outputs") for cell in copies[stem].cells)


@pytest.mark.parametrize("stem", TEXTS)
def test_no_solution_is_left_in_it_and_each_exercise_says_where_one_is(stem, copies):
    text = markdown(copies[stem])
    found = exercises(TEXTS[stem].read_text(encoding="utf-8"))
    assert "<details>" not in text
    for exercise in found:
        (code,) = re.findall(r"```python\n(.*?)```", exercise.solution, re.S)
        body = [
            line.strip() for line in code.splitlines() if not line.startswith(("def ", "from "))
        ]
        assert not [line for line in body if len(line) > 20 and line in text]
    where = f"https://colab.research.google.com/github/{slug()}/blob/main/notebooks/{stem}.ipynb"
    assert text.count(
        f"The solution is folded under this exercise in [the chapter]({where})"
    ) == len(found)


@pytest.mark.parametrize("stem", TEXTS)
def test_it_has_no_role_that_only_the_book_shows_and_no_link_to_nowhere(stem, copies):
    text = markdown(copies[stem])
    assert ROLE.findall(text) == []
    assert [
        link for link in LINK.findall(text) if not exists(normpath(student.STUDENT / link))
    ] == []


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("{cite:t}`lim2023signnet`", "Lim et al. (2023)"),
        ("{cite:p}`robinson2023lecture`", "(Robinson and Leskovec, 2023)"),
        ("{cite:p}`li2018deeper,oono2020expressive`", "(Li et al., 2018; Oono and Suzuki, 2020)"),
        ("{term}`superpixels <superpixel>`", "superpixels"),
        ("{term}`RWSE`", "RWSE"),
        ("[data](data.ipynb)", "[data](../notebooks/data.ipynb)"),
        ("`x[a](b)`", "`x[a](b)`"),
    ],
)
def test_what_only_the_book_can_show_is_said_in_words(written, shown):
    assert student.plain(written) == shown
