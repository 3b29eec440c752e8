"""The pages of differences agree with their rows and the record, and each row has a test."""

import pytest

from tools import differs
from tools.pages import stale


@pytest.mark.parametrize("name", differs.PAPERS)
def test_a_papers_rows_have_a_test_and_a_number(name):
    rows = differs.read(name)["row"]
    assert differs.faults(name, rows) == []
    assert 4 <= len(rows) <= 12


def test_the_pages_are_those_of_the_rows():
    assert stale(differs.pages()) == []


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"test": "tests/models/test_egt.py::test_that_is_not_there"}, "there is no test"),
        ({"test": "tests/models/test_nothing.py::test_a"}, "there is no test"),
        ({"effect": "It matters."}, "no number of a run"),
        ({"follows": "nobody"}, "follows is not one of paper, code"),
    ],
)
def test_an_incomplete_row_is_a_fault(change, fault):
    row = differs.read("egt")["row"][0]
    (found,) = differs.faults("egt", [row | change])
    assert fault in found
