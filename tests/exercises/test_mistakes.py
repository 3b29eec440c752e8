"""Every checker is tried with three mistakes or more, and calls each by a name of its own."""

import re
from importlib import import_module

import pytest

from tests.exercises.test_texts import TEXTS, checkers_of

FEWEST = 3
UNNAMED = re.compile(r"your code raised|expected the shape|expected a tensor|the numbers are not")
"""What is said to anything that is wrong; no student's mistake in particular."""

CHAPTERS = {stem: import_module(f"tests.exercises.test_chapter{stem[:2]}") for stem in TEXTS}


def named(module, name: str) -> set[str]:
    """The different mistakes that a checker has named among the wrong answers of its tests."""
    said = (module.CHECKERS[name](answer).message for of, answer, _ in module.WRONG if of == name)
    return {message for message in said if not UNNAMED.search(message)}


@pytest.mark.parametrize("stem", CHAPTERS)
def test_every_checker_is_tried_with_wrong_answers(stem):
    module = CHAPTERS[stem]
    assert set(module.CHECKERS) == {name for name, *_ in module.WRONG}
    assert len(module.CHECKERS) == len(checkers_of(stem))


@pytest.mark.parametrize("stem", CHAPTERS)
def test_every_checker_names_three_mistakes_or_more(stem):
    module = CHAPTERS[stem]
    counts = {name: len(named(module, name)) for name in module.CHECKERS}
    assert {name: count for name, count in counts.items() if count < FEWEST} == {}
