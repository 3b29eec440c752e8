import re
import shutil

import pytest

from tools import check_book

POLICY = """<meta http-equiv="Content-Security-Policy" content="default-src 'self' data:">"""
GOOD = (
    "<html><head>"
    + POLICY
    + """<link rel="stylesheet" href="a.css"><link rel="canonical" href="https://x.org/">
</head><body><article><h1 id="top">T</h1><a href="#top">up</a> <a href="https://x.org">out</a>
<img src="p.png" alt="A graph of four nodes">
<span class="math notranslate nohighlight">\\(a_{ij}\\)</span>
<div class="math notranslate nohighlight">\\[\\begin{split}\\frac{a}{b} \\\\ c\\end{split}\\]</div>
<code>\\frac</code>HERE</article></body></html>"""
)


@pytest.fixture
def book(tmp_path):
    def build(addition: str = ""):
        (tmp_path / "index.html").write_text(GOOD.replace("HERE", addition))
        return check_book.check(tmp_path)[0]

    return build


def test_a_good_page_has_no_faults(book):
    assert book() == []


@pytest.mark.parametrize(
    ("addition", "word"),
    [
        ('<a href="gone.html">x</a>', "gone.html"),
        ('<a href="index.html#gone">x</a>', "no such place"),
        ('<a href="#gone">x</a>', "no such place"),
        ('<img src="p.png">', "no alt text"),
        ('<img src="p.png" alt="">', "no alt text"),
        ('<img src="p.png" alt="_images/abc.svg">', "no alt text"),
        ('<div class="cell_output docutils"><svg><path d=""/></svg></div>', "no title"),
        ("<p>so $$x$$ is</p>", "raw TeX"),
        ("<p>so \\frac{a}{b} is</p>", "raw TeX"),
        ('<span class="math">\\(\\softmx x\\)</span>', "Undefined control sequence"),
        ('<span class="math">\\(\\frac{a\\)</span>', "Missing close brace"),
    ],
)
def test_a_broken_page_is_seen(book, addition, word):
    faults = book(addition)
    assert len(faults) == 1
    assert word in faults[0]


@pytest.mark.parametrize(
    ("policy", "word"),
    [
        ("", "no Content-Security-Policy"),
        (POLICY.replace("data:", "https:"), "https:"),
        (POLICY.replace("data:", "*"), r"\*"),
        (POLICY.replace("data:", "cdn.net"), r"cdn\.net"),
        (POLICY.replace("default-src", "img-src"), "expected default-src"),
    ],
)
def test_a_page_that_lets_the_browser_ask_others_is_seen(tmp_path, policy, word):
    (tmp_path / "index.html").write_text(GOOD.replace(POLICY, policy).replace("HERE", ""))
    (fault,) = check_book.check(tmp_path)[0]
    assert re.search(word, fault)


def test_a_described_drawing_is_fine(book):
    drawing = (
        '<div class="cell_output"><svg role="img" aria-label="A path"><path d=""/></svg></div>'
    )
    assert book(drawing) == []
    assert book(drawing.replace('aria-label="A path">', "><title>A path</title>")) == []


def test_without_nodejs_the_check_says_that_formulas_were_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    (tmp_path / "index.html").write_text(GOOD)
    assert "not read" in check_book.check(tmp_path)[1]
