"""Which sections of a chapter are its core, and how its card lists them."""

from bs4 import BeautifulSoup

from book._ext import core


def test_the_page_for_teachers_names_the_core():
    plans = "Read sections 6.1 to 6.3 and section 6.7; chapter 07 needs sections 6.5 and 6.6."
    expected = {"6.1", "6.2", "6.3", "6.5", "6.6", "6.7"}
    assert core.core_sections(plans) == expected


def test_three_or_more_sections_in_a_row_are_a_range():
    assert core.consecutive(["6.1", "6.2", "6.3", "6.5", "6.7", "6.8"]) == [
        ("6.1", "6.3"),
        ("6.5", "6.5"),
        ("6.7", "6.7"),
        ("6.8", "6.8"),
    ]


def test_the_dot_of_a_core_section_stands_in_the_line_of_the_last_word():
    entry = BeautifulSoup(
        '<a class="nav-link"> 3.2 One node <em>at a time</em></a>', "html.parser"
    ).a
    core.bind_dot(entry)
    together = entry.select_one(".together")
    assert together.text == "time"
    assert together.select_one("span.core")
    assert entry.text.strip() == "3.2 One node at a time"
