"""The pages of differences say what their rows and the record say, and rows have tests."""

from dataclasses import replace

import pytest

from tools import differs


@pytest.mark.parametrize("name", differs.PAPERS)
def test_a_papers_rows_have_a_test_a_number_and_a_name_of_their_own(name):
    paper = differs.read(name)
    assert differs.faults(paper) == []
    assert 4 <= len(paper.rows) <= 12


def test_the_pages_are_those_of_the_rows():
    for path, text in differs.pages().items():
        assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"test": "tests/models/test_egt.py::test_that_is_not_there"}, "there is no test"),
        ({"test": "tests/models/test_nothing.py::test_a"}, "there is no test"),
        ({"effect": "It matters."}, "no number of a run"),
        ({"follows": "nobody"}, "follows is 'nobody'; expected paper"),
    ],
)
def test_an_incomplete_row_is_a_fault(change, fault):
    paper = differs.read("egt")
    rows = (replace(paper.rows[0], **change), *paper.rows[1:])
    assert any(fault in found for found in differs.faults(replace(paper, rows=rows)))
