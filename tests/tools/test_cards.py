"""The pictures on the chapters' cards, and the extension that puts them there."""

import io

import pytest
from sphinx.application import Sphinx

from tools.paths import NOTEBOOKS, ROOT

PAGE = "# 01 A chapter\n\nIts promise.\n\n| | |\n|---|---|\n| You build | this |\n\nMore.\n"
FIRST = """# Book

::::{grid} 2
:::{grid-item-card} 01 A chapter
:link: notebooks/01_chapter
:link-type: doc
What it is about.
:::
:::{grid-item-card} Elsewhere
Not a chapter.
:::
::::

```{toctree}
notebooks/01_chapter
```
"""


@pytest.fixture
def build(tmp_path):
    """Builds a book of one chapter, whose picture is given; returns its pages and the warnings."""

    def run(picture):
        source = tmp_path / "source"
        (source / "notebooks").mkdir(parents=True)
        (source / "conf.py").write_text('extensions = ["myst_parser", "sphinx_design", "cards"]\n'
                                        'myst_enable_extensions = ["colon_fence"]\n')  # fmt: skip
        (source / "index.md").write_text(FIRST)
        (source / "notebooks" / "01_chapter.md").write_text(PAGE)
        if picture is not None:
            file = source / "book" / "_static" / "cards" / "01.svg"
            file.parent.mkdir(parents=True)
            file.write_text(picture)
        out, said = tmp_path / "out", io.StringIO()
        Sphinx(str(source), str(source), str(out), str(out), "html", status=None, warning=said,
               confoverrides={}).build()  # fmt: skip
        pages = [(out / name).read_text() for name in ("index.html", "notebooks/01_chapter.html")]
        return *pages, said.getvalue()

    return run


@pytest.fixture(autouse=True)
def extension(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "book" / "_ext")


SVG = '<svg xmlns="http://www.w3.org/2000/svg"><title>Three &lt; four.</title></svg>'


def test_every_chapter_of_the_book_has_a_picture():
    pictures = {path.stem for path in (ROOT / "book" / "_static" / "cards").glob("*.svg")}
    chapters = {path.stem[:2] for path in NOTEBOOKS.glob("*.ipynb") if path.stem[:2].isdigit()}
    assert chapters <= pictures


def test_a_chapter_and_its_card_get_the_picture_with_its_words(build):
    first, chapter, warnings = build(SVG)
    assert warnings == ""
    for page in (first, chapter):
        assert page.count('alt="Three &lt; four."') == 1
        assert page.count("chapter-picture") == 1
    promise, picture, table = (chapter.index(x) for x in ("Its promise", "<img", "<table"))
    assert promise < picture < table
    card, title = first.index("<img"), first.index("Elsewhere")
    assert first.index("sd-card") < card < title
