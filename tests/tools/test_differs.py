"""The pages of differences: what an entry says of the package agrees with the rest of the entry."""

from statistics import mean, stdev

import pytest

from gtcourse.course.records import recorded
from tools.differs import (
    PAPERS,
    change,
    contradictions,
    faults,
    in_words,
    largest_changes,
    measured_models,
    read,
    record,
)

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


def test_a_test_without_a_sentence_for_the_equation_is_a_fault():
    test = "test_every_encoding_equals_the_loop_over_nodes_and_pairs"
    row = {
        "id": "x",
        "test": f"tests/properties/test_encodings.py::{test}",
        "effect": "{share}",
    } | CODE
    unsaid = "egt.toml, x: tools/tested.toml does not say what it tests"
    assert unsaid in faults("egt", [row | {"equation": "Eq. 1"}])
    assert unsaid not in faults("egt", [row | {"equation": "Eq. 8"}])


def test_four_and_eight_heads_have_one_number_of_parameters():
    heads = record("csa")["measured"]["heads"]
    assert heads["four"] == heads["eight"]


TOO_CLOSE = {
    ("csa", "lengths"): [("true", "stored")],
    ("csa", "rings"): [("additive", "categorical")],
    ("csa", "additive"): [("dot", "added")],
    ("egt", "objective"): [("mean", "without")],
    ("egt", "signs"): [("pairs", "nodes")],
    ("graphormer", "scale"): [("root_of_head", "root_of_width")],
    ("grpe", "key-context"): [("column", "row")],
    ("grpe", "far"): [("text", "code")],
}
FARTHER_APART = {
    ("csa", "ablation"): [("with", "without")],
    ("egt", "signs"): [("none", "pairs"), ("none", "nodes"), ("plain", "none")],
    ("egt", "objective"): [("sum", "without"), ("sum", "mean")],
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


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        (0.52, 0.61, "rises from 0.520 to 0.610"),
        (0.6986, 0.6917, "falls from 0.699 to 0.692"),
        (0.69859, 0.69922, "stays at 0.699"),
    ],
)
def test_a_changed_error_is_told_as_a_reader_sees_it(before, after, words):
    assert change(before, after) == words
    assert in_words({"before": before, "after": after}, {})["change"] == words


def test_an_effect_has_words_of_its_own_for_single_numbers():
    cases = {"share": {"0": "None differ.", "1": "All of {graphs} differ.", "else": "{share:.0%}."}}
    told = [in_words({"share": x, "graphs": 500}, cases)["share"] for x in (0.0, 1.0, 0.397)]
    assert told == ["None differ.", "All of 500 differ.", "40%."]


def test_the_errors_of_the_seeds_can_be_listed():
    words = in_words({"errors": [0.82394, 1.07709, 0.75206]}, {})
    assert words["errors_seeds"] == "0.824, 1.077 and 0.752"
    assert words["errors"].startswith("0.884")


def test_the_small_models_of_the_index_are_those_that_the_entries_change():
    recorded_before = {
        name: {
            measured["before"]
            for measured in record(name)["measured"].values()
            if "before" in measured
        }
        for name in ("graphormer", "egt", "grpe", "csa")
    }
    recorded_before["transformer"] = {record("lecture")["measured"]["scale"]["before"]}
    for model in measured_models():
        (before,) = recorded_before.pop(model["name"].lower())
        # EGT reads singular vectors, which were computed anew.
        assert mean(model["test_mae"]) == pytest.approx(before, abs=1e-3)
    assert recorded_before == {}


def test_the_index_names_those_of_the_largest_changes_that_were_also_trained():
    trained = {f"differs-{name}-{id}" for name, id in TOO_CLOSE | FARTHER_APART}
    of_largest = [line.split("](")[1].split(")")[0] for line in largest_changes(5).splitlines()]
    text = read("index")["text"]
    start, end = (text.index(each) for each in ("If you train a model", "Whether you load weights"))
    told = text[start:end]
    assert {label for label in of_largest if label in trained} == {
        label for label in of_largest if label in told
    }
    assert told.count("(differs-") == 2
    assert set(of_largest) & trained == set(of_largest) & {
        f"differs-{name}-{id}" for name, id in TOO_CLOSE
    }
