"""The pages of differences say what their rows and the record say, and rows have tests."""

from dataclasses import replace

import pytest

from experiments.differs.__main__ import measures, rounded
from tools import differs


@pytest.mark.parametrize("name", differs.PAPERS)
def test_a_papers_rows_have_a_test_a_number_and_a_name_of_their_own(name):
    paper = differs.read(name)
    assert differs.faults(paper) == []
    assert 4 <= len(paper.rows) <= 12


def test_the_pages_are_those_of_the_rows():
    for path, text in differs.pages().items():
        assert path.read_text(encoding="utf-8") == text


def test_every_measure_is_of_a_row_and_was_recorded():
    for paper, found in measures().items():
        assert set(found) <= {row.id for row in differs.read(paper).rows}
        assert set(found) == set(differs.record()["papers"][paper]["measured"])


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"test": "tests/models/test_egt.py::test_that_is_not_there"}, "there is no test"),
        ({"test": "tests/models/test_nothing.py::test_a"}, "there is no test"),
        ({"effect": "It matters."}, "no number of a run"),
        ({"follows": "nobody"}, "follows is 'nobody'; expected paper"),
    ],
)
def test_a_row_without_what_it_needs_is_refused(change, fault):
    paper = differs.read("egt")
    rows = (replace(paper.rows[0], **change), *paper.rows[1:])
    assert any(fault in found for found in differs.faults(replace(paper, rows=rows)))


def test_only_what_pytest_runs_is_a_test(tmp_path):
    path = tmp_path / "test_some.py"
    path.write_text(
        "def test_runs():\n    def test_inside(): ...\n\n"
        "def helper(): ...\n\n"
        "@pytest.mark.skip\ndef test_never(): ...\n\n"
        "def test_gives_up():\n    pytest.skip('no')\n"
    )
    assert differs.tests(path) == {"test_runs"}


def test_a_number_that_nobody_measured_is_refused():
    row = replace(differs.read("egt").rows[0], effect="{nobody:.3f}")
    with pytest.raises(KeyError, match="nobody"):
        differs.effect("egt", row)


def test_two_rows_of_one_name_are_refused():
    paper = differs.read("csa")
    twice = replace(paper, rows=(*paper.rows, paper.rows[0]))
    assert any("stands there twice" in fault for fault in differs.faults(twice))


def test_a_number_is_stored_with_six_figures_and_a_count_as_it_is():
    found = rounded({"error": 0.12345678, "seeds": [1.00000049, 2.0], "pairs": 12345678})
    assert found == {"error": 0.123457, "seeds": [1.0, 2.0], "pairs": 12345678}
