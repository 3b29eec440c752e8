"""What the search knows of the pages, from one build to the next."""

import json
import re
import zlib
from base64 import b64decode
from types import SimpleNamespace

from book._ext import sections


def test_a_page_that_is_gone_is_not_found():
    env = SimpleNamespace(sections_of_pages={"gone": ["a section"], "here": ["another"]})
    sections.forget(None, env, "gone")
    sections.forget(None, env, "never read")
    assert env.sections_of_pages == {"here": ["another"]}


def test_what_several_processes_have_read_is_collected():
    env = SimpleNamespace(sections_of_pages={"first": ["a section"]})
    other = SimpleNamespace(sections_of_pages={"first": [], "second": ["another"]})
    sections.merge(None, env, {"second", "without sections"}, other)
    assert env.sections_of_pages == {"first": ["a section"], "second": ["another"]}


def test_packed_sections_have_the_file_and_title_of_a_page_once():
    given = [
        {"page": "One", "title": "One", "url": "a/one.html", "text": "t"},
        {"page": "One", "title": "1.1 More", "url": "a/one.html#more", "text": "u", "code": True},
        {"page": "Two", "title": "x", "url": "b.html#x", "text": "", "introduced": None},
    ]
    assert sections.by_page(given) == [
        ["a/one", "One", [["", "One", "t"], ["more", "1.1 More", "u", {"code": True}]]],
        ["b", "Two", [["x", "x", ""]]],
    ]


def test_the_script_of_the_search_inflates_to_the_sections(tmp_path):
    found = {"page": "One", "title": "1.1 More", "url": "one.html#more", "text": "π and more"}
    env = SimpleNamespace(sections_of_pages={"one": [found]})
    app = SimpleNamespace(
        builder=SimpleNamespace(format="html"), env=env, outdir=tmp_path, doctreedir=tmp_path
    )
    (tmp_path / "_static").mkdir()
    (tmp_path / "one.captions.json").write_text("[]", encoding="utf-8")
    sections.write(app, None)
    script = (tmp_path / "_static/sections.js").read_text(encoding="utf-8")
    deflated = b64decode(re.search(r'atob\("([^"]+)"\)', script)[1])
    assert json.loads(zlib.decompress(deflated)) == [
        [["one", "One", [["more", "1.1 More", "π and more"]]]],
        [],
        [],
    ]


def test_a_short_displayed_formula_is_found_as_text():
    assert sections.displayed(r"z_i = \sum_j a_{ij} v_j .") == " zᵢ = Σⱼ aᵢⱼ vⱼ "
    assert sections.displayed(r"\begin{pmatrix} a & b \end{pmatrix}") == " … "
    assert sections.displayed(r"\operatorname{softmax}(\frac{QK^\top}{\sqrt{d_k}})") == " … "
    assert sections.displayed(r"\max(0, x)") == " max(0, x) "
