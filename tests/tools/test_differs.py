"""The pages of differences: what an entry says of the package agrees with the rest of the entry."""

from statistics import mean, stdev

import pytest

from gtcourse.course.records import recorded
from tools.differs import PAPERS, contradictions, read, record

CODE = {"follows": "code", "here": ""}
OPTION = {"follows": "option", "here": '`flip_signs="pairs"` flips pairs.'}


@pytest.mark.parametrize("name", PAPERS)
def test_no_entry_contradicts_what_its_package_follows(name):
    assert [fault for row in read(name)["row"] for fault in contradictions(row)] == []


@pytest.mark.parametrize(
    "row", [CODE, OPTION, CODE | {"silent": "paper"}, OPTION | {"silent": "code"}]
)
def test_an_entry_that_agrees_has_no_fault(row):
    assert contradictions(row) == []


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        (CODE | {"follows": "nobody"}, "expected one of paper"),
        (CODE | {"silent": "code"}, "the code says nothing"),
        (CODE | {"silent": "paper", "follows": "both"}, "the paper says nothing"),
        (CODE | {"here": "`scaled=False` leaves it out."}, "here names the option scaled"),
        (OPTION | {"here": "It flips pairs."}, "expected an option"),
        (OPTION | {"here": "`no_such_option=1`"}, "the package has no option no_such_option"),
    ],
)
def test_an_entry_that_contradicts_itself_is_a_fault(row, fault):
    assert any(fault in found for found in contradictions(row))


def test_four_and_eight_heads_have_one_number_of_parameters():
    heads = record("csa")["measured"]["heads"]
    assert heads["four"] == heads["eight"]


TOO_CLOSE = {
    ("csa", "lengths"): [("true", "stored")],
    ("csa", "rings"): [("additive", "categorical")],
    ("csa", "additive"): [("dot", "added")],
    ("egt", "signs"): [("pairs", "nodes")],
    ("graphormer", "scale"): [("root_of_head", "root_of_width")],
    ("grpe", "key-context"): [("column", "row")],
    ("grpe", "far"): [("text", "code")],
}
FARTHER_APART = {
    ("csa", "ablation"): [("with", "without")],
    ("egt", "signs"): [("none", "pairs"), ("none", "nodes"), ("plain", "none")],
    ("egt", "objective"): [("sum", "without")],
    ("signnet", "flips"): [("flips", "signnet")],
}


def close(name: str, id: str, first: str, second: str) -> bool:
    """The rule of the index: the means differ by no more than the larger of the two ±."""
    row = next(row for row in read(name)["row"] if row["id"] == id)
    errors = dict(record(name)["measured"].get(id, {}))
    for place, run in row.get("runs", {}).items():
        errors[place] = [each.result["test_mae"] for each in recorded(run)]
    gap = abs(mean(errors[first]) - mean(errors[second]))
    return gap <= max(stdev(errors[first]), stdev(errors[second]))


def test_results_are_called_too_close_if_and_only_if_the_rule_of_the_index_says_so():
    entries = [(name, row) for name in PAPERS for row in read(name)["row"]]
    called = {(name, row["id"]) for name, row in entries if "too close" in row["effect"]}
    assert called == set(TOO_CLOSE)
    assert all(close(*entry, *pair) for entry, pairs in TOO_CLOSE.items() for pair in pairs)
    assert not any(close(*entry, *pair) for entry, pairs in FARTHER_APART.items() for pair in pairs)
