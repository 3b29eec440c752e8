"""What the search knows of the pages, from one build to the next."""

import json
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
    assert json.loads(sections.packed(given)) == [
        ["a/one", "One", [["", "One", "t"], ["more", "1.1 More", "u", {"code": True}]]],
        ["b", "Two", [["x", "x", ""]]],
    ]


def test_a_short_displayed_formula_is_found_as_text():
    assert sections.displayed(r"z_i = \sum_j a_{ij} v_j .") == " zᵢ = Σⱼ aᵢⱼ vⱼ "
    assert sections.displayed(r"\begin{pmatrix} a & b \end{pmatrix}") == " … "
    assert sections.displayed(r"\operatorname{softmax}(\frac{QK^\top}{\sqrt{d_k}})") == " … "
    assert sections.displayed(r"\max(0, x)") == " max(0, x) "
