"""The book's own sources, and README's links, are complete."""

import re

from tools.paths import ROOT


def test_every_notebook_and_every_page_is_in_the_contents():
    listed = re.findall(r"\b(?:root|file): (\S+)", (ROOT / "_toc.yml").read_text())
    paths = [*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "book").rglob("*.md")]
    pages = [p.relative_to(ROOT).with_suffix("").as_posix() for p in paths]
    assert {*listed} == {page for page in pages if not page.startswith("book/chapters/")}


def test_every_module_of_the_package_is_in_the_reference():
    text = "".join(p.read_text() for p in (ROOT / "book" / "api").glob("*.md"))
    listed = set(re.findall(r"automodule:: ([\w.]+)", text))
    paths = [p.relative_to(ROOT).with_suffix("") for p in (ROOT / "gtcourse").rglob("*.py")]
    modules = {".".join(p.parts) for p in paths if not p.stem.startswith("__")}
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
