"""The numbers in the sentences of the results pages are those of the records."""

import re
from functools import cache
from unittest.mock import patch

import pytest

from tools import result_prose
from tools.result_prose import PROSE, expression, filled, unfilled
from tools.result_tables import RESULTS


@pytest.fixture(scope="module", params=PROSE, ids=lambda path: path.name)
def page(request):
    """A page and its text; the numbers of each sentence are read from the records once."""
    read_once = {pattern: cache(values) for pattern, values in PROSE[request.param].items()}
    with patch.dict(PROSE, {request.param: read_once}):
        yield request.param, request.param.read_text(encoding="utf-8")


def test_every_number_with_decimals_is_filled_from_a_record(page):
    name, text = page
    assert filled(name, text) == text


def test_a_wrong_number_in_a_sentence_is_replaced(page):
    name, text = page
    for pattern in PROSE[name]:
        found = re.search(expression(pattern), text)
        wrong = text
        for place in range(len(found.groups()), 0, -1):  # the last first: others keep their place
            wrong = f"{wrong[: found.start(place)]}7.777{wrong[found.end(place) :]}"
        assert wrong.count("7.777") == len(found.groups()) > 0
        assert filled(name, wrong) == text


def test_a_number_that_no_pattern_fills_raises(page):
    name, text = page
    with pytest.raises(ValueError, match=f"{name.name} has numbers .* does not fill: 0.1234$"):
        filled(name, f"{text}\nThe error is 0.1234 in all runs.\n")


def test_a_sentence_that_is_missing_raises(page):
    name, text = page
    pattern = [*PROSE[name]][-1]
    with pytest.raises(ValueError, match=f"{name.name} has 0 places for .*; expected one"):
        filled(name, re.sub(expression(pattern), "a few", text))


@pytest.mark.parametrize(
    "text",
    [
        "| 0.123 |".join(("<!-- a: written by make tables -->\n", "\n<!-- end of a -->")),
        "```bash\ngtcourse train --learning-rate 0.123\n```",
        "the package `torch` 7, `torch==2.13`",
        "[a section](page.md#1.2-title) and Section 3.9",
    ],
)
def test_tables_code_and_addresses_are_no_sentences(text):
    assert unfilled(RESULTS / "index.md", text) == []


def test_ranges_that_no_table_shows_are_rounded_outwards():
    assert result_prose.around([0.1666, 0.1919], 3) == {"low": 0.166, "high": 0.192}
    assert result_prose.around([0.5, 0.5], 1) == {"low": 0.5, "high": 0.5}
    assert result_prose.around([0.07, 0.07], 2) == {"low": 0.07, "high": 0.07}
