"""The book's own sources, and README's links, are complete."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())


def files(node) -> set[str]:
    if isinstance(node, list):
        return set().union(*map(files, node)) if node else set()
    if isinstance(node, dict):
        own = {node["file"]} if "file" in node else set()
        return own.union(*(files(v) for v in node.values() if isinstance(v, list | dict)))
    return set()


def test_every_notebook_and_every_page_is_in_the_contents():
    pages = {f"notebooks/{p.stem}" for p in (ROOT / "notebooks").glob("*.ipynb")}
    pages |= {
        p.relative_to(ROOT).with_suffix("").as_posix()
        for p in (ROOT / "book").rglob("*.md")
        if "chapters" not in p.parts
    }
    assert pages == files(TOC["parts"]) | {TOC["root"]}


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


def test_every_notebook_has_a_text_source():
    texts = {p.stem for p in (ROOT / "book" / "chapters").glob("*.md")}
    assert {p.stem for p in (ROOT / "notebooks").glob("*.ipynb")} == texts


def test_every_local_file_that_readme_links_to_exists():
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert [x for x in links if "://" not in x and not (ROOT / x).exists()] == []
