"""The book's texts: complete, and each chapter and each hour with all its parts."""

import re
from dataclasses import replace

import pytest

from gtcourse.course.records import RECORDS, read_records
from gtcourse.recipes import RECIPES
from gtcourse.runs.record import read_results
from tools.exercises import chapters, exercises
from tools.paths import ROOT, TEXTS
from tools.tables import RESULTS

CHAPTERS = {path.stem: path.read_text(encoding="utf-8") for path in sorted(TEXTS.glob("[0-9]*.md"))}
CARD = ["You build", "You need", "Takes", "Sources", "Run it"]
CODE = re.compile(r"^(```+).*?^\1 *$", re.M | re.S)
HEADING = re.compile(r"^##? (\d\d|\d{1,2}\.\d{1,2}) (.+)$", re.M)
SENTENCE_END = re.compile(r"(?<=[.?])(?: \{cite:\w\}`[^`]*`)?\s+(?=[A-Z$])")


def test_every_notebook_and_page_is_in_the_table_of_contents():
    listed = re.findall(r"\b(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text())
    paths = [*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "book").rglob("*.md")]
    pages = [p.relative_to(ROOT).with_suffix("").as_posix() for p in paths]
    assert {*listed} == {page for page in pages if not page.startswith("book/chapters/")}


def test_every_module_is_in_the_api_reference():
    text = "".join(p.read_text() for p in (ROOT / "book" / "api").glob("*.md"))
    listed = set(re.findall(r"automodule:: ([\w.]+)", text))
    paths = [p.relative_to(ROOT).with_suffix("") for p in (ROOT / "gtcourse").rglob("*.py")]
    modules = {".".join(p.parts) for p in paths if not p.stem.startswith("_")}
    packages = {".".join(p.parent.parts) for p in paths if p.stem == "__init__"}
    assert modules <= listed <= modules | packages


def test_every_chapter_has_a_picture_with_a_description():
    pictures = {p.stem: p.read_text() for p in (ROOT / "book/_static/cards").glob("*.svg")}
    chapters = {p.stem[:2] for p in (ROOT / "notebooks").glob("[0-9]*.ipynb")}
    assert chapters <= {*pictures}
    assert all("<title>" in text for text in pictures.values())


def test_every_local_file_that_readme_links_to_exists():
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert [x for x in links if "://" not in x and not (ROOT / x).exists()] == []


def check(text: str) -> None:
    words = CODE.sub("", text)
    opening = words.split("\n# ", 1)[1].split("\n## ")[0].split("\n\n", 1)[1]
    promise, card = opening.split("\n\n| | |\n")
    assert re.search(r"\b[Yy]ou\b", promise), "no promise before the card"
    assert len(SENTENCE_END.split(promise.strip())) > 1, "no reason to care beside the promise"
    assert re.findall(r"^\| ([A-Z][\w ]+) \|", card, re.M) == CARD, "wrong rows in the card"
    (chapter, _), *sections = HEADING.findall(words)
    expected = [f"{int(chapter)}.{n}" for n in range(1, len(sections) + 1)]
    assert [number for number, _ in sections] == expected, "wrong section numbers"
    assert sections[-1][1] == "Summary", "the last section is no summary"
    summary, further = words.rsplit(" Summary\n\n", 1)[1].split("\n\n")[:2]
    assert f"\n{summary}".count("\n- ") == 5, "not five points in the summary"
    assert further.startswith("**Further reading.** "), "no advice on further reading"


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_has_all_required_parts(name):
    check(CHAPTERS[name])


def test_every_glossary_term_is_used():
    """A term without an entry is a warning of Sphinx."""
    page = ROOT / "book" / "glossary.md"
    others = (path for path in page.parent.rglob("*.md") if path != page)
    texts = "\n".join(path.read_text(encoding="utf-8") for path in others)
    words = re.sub(r"\s+", " ", texts).lower()
    glossary = page.read_text(encoding="utf-8")
    for entry in re.findall(r"^(\S.*)\n  \S", glossary, re.M):
        names = [name.strip(" )").lower() for name in re.split(r", |\(", entry)]
        assert any(name in words for name in names), entry


@pytest.mark.parametrize("name", CHAPTERS)
def test_a_chapter_names_no_figure_or_table_by_a_number_that_its_notebook_lacks(name):
    """The book numbers captions. GitHub and Colab show the same text without the numbers."""
    assert re.findall(r"\b(?:Figure|Table)s? \d+\.\d+", CHAPTERS[name]) == []


FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$", re.S)


def test_a_borrowed_letter_occurs_in_each_section_that_its_row_names():
    notation = (ROOT / "book" / "notation.md").read_text(encoding="utf-8")
    borrowed = notation.split("## Borrowed letters")[1].split("\n## ")[0]
    section = re.compile(r"^## (\d+\.\d+) (.+?)(?=^## |\Z)", re.M | re.S)
    formulas = {
        number: " ".join(map("".join, FORMULA.findall(body)))
        for text in CHAPTERS.values()
        for number, body in section.findall(text)
    }
    rows = re.findall(r"^\| (\$.+?) \| .+ \| (.*sections? \d.*) \|$", borrowed, re.M)
    named = [
        (letter, number)
        for letters, sections in rows
        for number in re.findall(r"\d+\.\d+", sections)
        for letter in re.findall(r"\$(.+?)\$", letters)
    ]
    assert named
    assert [pair for pair in named if not occurs(pair[0], formulas[pair[1]])] == []


def occurs(letter: str, formulas: str) -> bool:
    """Does a formula hold the letter, and not merely a longer name that contains it?"""
    return bool(re.search(rf"(?<![A-Za-z\\]){re.escape(letter)}(?![A-Za-z])", formulas))


def test_every_zinc_recipe_and_record_has_a_row_in_the_results():
    pages = [RESULTS / name for name in ("index.md", "runs.md", "published.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    for name, recipe in RECIPES.items():
        if recipe.dataset in ("zinc", "zinc-full"):
            printed = f"{recipe.paper_result['test_mae'][0]:g}"
            run = f"| `{name.split('/')[0]}` | {printed}"
            assert run in text or f"| `{name}` | test MAE | {printed}" in text
    records = read_results([RESULTS])
    assert records
    for record in records:
        assert f"`{record.commit[:7]}`" in text
        assert "+changes" not in record.commit
    shown = {(record.name, record.seed): replace(record, weights="") for record in records}
    for record in read_records(RECORDS / "recipes.jsonl"):  # the chapters read what the page shows
        own = replace(record, weights="")
        assert shown.get((record.name, record.seed), own) == own


# The teacher's page: its hours are hours of what is there.

TEACH = (ROOT / "book" / "teach.md").read_text(encoding="utf-8")
EXERCISES = {path.stem[:2]: path.read_text(encoding="utf-8") for path in chapters()}
HOURS = {
    number: re.findall(r"^\| (\d+) \| (.+) \|$", body, re.M)
    for number, body in re.findall(r"^### (\d\d) .+\n((?:(?!^##).*\n)*)", TEACH, re.M)
}


def test_every_chapter_has_a_row_and_a_lesson_plan_on_the_teaching_page():
    assert [*HOURS] == [*EXERCISES]
    assert len(re.findall(r"^\| \[\d\d ", TEACH, re.M)) == len(EXERCISES)
    for text in EXERCISES.values():
        (title,) = re.findall(
            r"^# (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M
        )
        assert f"### {title}\n" in TEACH


@pytest.mark.parametrize("number", HOURS)
def test_a_lesson_plan_adds_up_to_sixty_minutes_and_names_prerequisites(number):
    assert sum(int(minutes) for minutes, _ in HOURS[number]) == 60
    assert re.search(rf"^### {number} .+\n\nPrerequisites: .+\.$", TEACH, re.M)


@pytest.mark.parametrize("number", HOURS)
def test_exercise_minutes_in_a_lesson_plan_equal_those_in_the_chapter(number):
    written = {str(exercise.number): exercise.minutes for exercise in exercises(EXERCISES[number])}
    named = [(minutes, re.match(r"exercise (\d): ", what)) for minutes, what in HOURS[number]]
    planned = [(match[1], minutes) for minutes, match in named if match]
    assert planned
    assert all(written[exercise] == minutes for exercise, minutes in planned)
