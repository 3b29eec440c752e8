import re
import shutil

import pytest

from tools import check_book, math_check

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
    def build(addition: str = "", css: str = "b { color: red }"):
        (tmp_path / "index.html").write_text(GOOD.replace("HERE", addition))
        (tmp_path / "a.css").write_text(css)
        return check_book.check(tmp_path)[0]

    return build


def test_a_good_page_has_no_faults(book):
    assert book() == []


@pytest.mark.parametrize(
    ("addition", "word"),
    [
        ('<script src="https://cdn.net/x.js"></script>', "cdn.net"),
        ('<script src="//cdn.net/x.js"></script>', "cdn.net"),
        ('<link rel="stylesheet" href="https://fonts.net/f.css">', "fonts.net"),
        ('<img alt="x" src="https://img.net/x.png">', "img.net"),
        ('<iframe src="https://video.net/x"></iframe>', "video.net"),
        ("<style>@import 'https://fonts.net/f.css';</style>", "fonts.net"),
        ('<p style="background: url(https://img.net/x.png)">x</p>', "img.net"),
        ('<script>load("https://cdn.net/lib/x.js")</script>', "cdn.net"),
        ('<script>fetch("https://api.net/count")</script>', "api.net"),
        ('<script>new WebSocket("wss://api.net/count")</script>', "api.net"),
        ('<script type="module">import x from "https://cdn.net/x"</script>', "cdn.net"),
        ("<button onclick=\"navigator.sendBeacon('//api.net/x')\">x</button>", "api.net"),
        ('<img alt="x" src="a.png" srcset="a.png 1x,https://img.net/x.png 2x">', "img.net"),
        ('<link rel="preload" as="image" imagesrcset="//img.net/x.png 2x">', "img.net"),
        ('<link rel="alternate stylesheet" href="https://fonts.net/f.css">', "fonts.net"),
        ('<link rel="preconnect" href="https://fonts.net">', "fonts.net"),
        ('<video><track src="https://video.net/x.vtt"></video>', "video.net"),
        ('<base href="https://cdn.net/">', "cdn.net"),
        ('<meta http-equiv="refresh" content="0; url=https://other.net/">', "other.net"),
        ("<iframe srcdoc=\"<img alt='x' src='https://img.net/x.png'>\"></iframe>", "img.net"),
        (r'<img alt="x" src="\\img.net/x.png">', "img.net"),
        ("<style>b { background: image-set('https://img.net/x.png' 1x) }</style>", "img.net"),
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


def test_a_style_sheet_that_loads_from_another_host_is_seen(book):
    (fault,) = book(css="@font-face { src: url('https://fonts.net/f.woff') }")
    assert "fonts.net" in fault


@pytest.mark.parametrize(
    ("tex", "word"),
    [
        (r"\softmx x", "Undefined"),
        (r"\frac{a", "Missing close"),
        (r"a}", "Extra close"),
        (r"\left( a", r"\left"),
        (r"\begin{cases} a", r"\begin{cases}"),
        (r"\begin{cases} a \end{array}", r"\end{array}"),
    ],
)
def test_without_nodejs_names_and_nesting_are_still_checked(monkeypatch, tex, word):
    monkeypatch.setattr(shutil, "which", lambda _: None)
    (fault,), judge = math_check.refused([{"page": "p", "tex": tex, "display": False}])
    assert word in fault
    assert "not installed" in judge
