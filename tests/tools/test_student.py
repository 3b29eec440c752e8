"""Student copies: the chapters' cells, nothing stored, nothing given away, nothing out of date."""

import re

import jupytext
import nbformat
import pytest

from tools import student
from tools.exercises import chapters, exercises
from tools.paths import ROOT, slug

TEXTS = {path.stem: path for path in chapters()}
ROLE = re.compile(r"\{[a-z]+(?::[a-z]+)?\}`")
LINK = re.compile(r"\[[^\]`]+\]\(((?!https?:)[\w./-]+\.(?:md|ipynb))")


@pytest.fixture(scope="module")
def copies():
    return {stem: student.student_copy(path) for stem, path in TEXTS.items()}


def markdown(notebook) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def test_the_stored_copies_are_those_of_todays_texts():
    assert student.stale() == []


@pytest.mark.parametrize("stem", TEXTS)
def test_a_stored_copy_is_a_valid_notebook_without_outputs(stem):
    notebook = nbformat.read(student.copy_of(TEXTS[stem]), as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


@pytest.mark.parametrize("stem", TEXTS)
def test_its_code_cells_are_the_chapters_stubs_included(stem, copies):
    def code(notebook):
        return [cell.source for cell in notebook.cells if cell.cell_type == "code"]

    assert code(copies[stem]) == code(jupytext.read(TEXTS[stem]))


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
def test_its_first_cell_says_what_it_is_and_links_to_the_chapter(stem, copies):
    first, title = copies[stem].cells[:2]
    assert first.source.startswith("> A student copy of [")
    assert f"/notebooks/{stem}.ipynb)" in first.source
    assert title.source.splitlines()[0].removeprefix("# ") in first.source


@pytest.mark.parametrize("stem", TEXTS)
def test_it_has_no_role_that_only_the_book_shows_and_no_link_to_nowhere(stem, copies):
    text = markdown(copies[stem])
    assert ROLE.findall(text) == []
    assert [link for link in LINK.findall(text) if not (student.STUDENT / link).exists()] == []


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


def test_a_copy_that_is_missing_changed_or_of_no_chapter_is_seen(tmp_path):
    student.write(tmp_path)
    assert student.stale(tmp_path) == []
    first, second, *_ = sorted(tmp_path.iterdir())
    first.unlink()
    second.write_text(second.read_text().replace("student copy", "copy", 1))
    (tmp_path / "13_more.ipynb").write_text("{}")
    assert [line.split(":")[0] for line in student.stale(tmp_path)] == [
        first.name, second.name, "13_more.ipynb",
    ]  # fmt: skip


def test_every_chapter_links_to_its_student_copy():
    for stem, path in TEXTS.items():
        (row,) = re.findall(r"^\| Run it \|.*$", path.read_text(encoding="utf-8"), re.M)
        assert f"/{slug()}/blob/main/student/{stem}.ipynb)" in row
        assert (ROOT / "student" / f"{stem}.ipynb").exists()
