"""The pieces of the PDF: pages joined into one, with links and pictures that still lead there."""

import pytest
from bs4 import BeautifulSoup

from tools import pdf

PAGE = """<html><body><article class="bd-article"><section id="top"><h1>One
<a class="headerlink" href="#top">#</a></h1>
<a href="#top">up</a><a href="two.html#b">two</a><a href="two.html">two</a>
<a href="../book/api/x.html#f">code</a><a href="https://x.org/#y">out</a>
<img src="../_images/a.png" alt="a"><svg><g id="g"></g><use href="#g"></use></svg>
<details class="above-input"><pre>plot()</pre></details>
<details><summary>Solution</summary>42</details>
<div class="picture" data-script="../_static/pictures/ink.data.js"><noscript>
<img src="../_static/stills/ink.webp" alt="a path"><p class="invitation">With scripts
enabled, …</p><p>The picture shows a path.</p></noscript></div>
<script>run()</script></section></article><footer>foot</footer></body></html>"""


@pytest.fixture
def joined():
    names = ["notebooks/one", "notebooks/two"]
    return BeautifulSoup(pdf.article(PAGE, names[0], names), "html.parser")


def test_links_and_pictures_point_into_the_pdf_or_to_the_book(joined):
    assert [link["href"] for link in joined.select("a")] == [
        "#notebooks-one--top",
        "#notebooks-two--b",
        "#notebooks-two--",
        "book/api/x.html#f",
        "https://x.org/#y",
    ]
    assert joined.select_one("section")["id"] == "notebooks-one--top"
    assert joined.select_one("article")["id"] == "notebooks-one--"
    assert joined.select_one("img")["src"] == "_images/a.png"
    assert joined.select_one("svg g")["id"] == "g"


def test_the_still_picture_of_an_interactive_one_is_shown(joined):
    still = joined.select_one(".picture > img")
    assert still["src"] == "_static/stills/ink.webp"
    assert not joined.select("noscript")
    assert still.find_next_sibling("p").text == "The picture shows a path."
    assert "With scripts" not in joined.text


def test_solutions_are_shown_and_interactive_parts_removed(joined):
    (solution,) = joined.select("details")
    assert solution.has_attr("open")
    assert "42" in solution.text
    for gone in ("plot()", "run()", "foot", "#"):
        assert gone not in joined.text
