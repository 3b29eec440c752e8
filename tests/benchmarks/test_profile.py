"""The profile of a step adds up, whatever it is of."""

import pytest

from benchmarks.costs import traced
from benchmarks.profile import (
    OPTIMISER,
    OTHER,
    PYTHON,
    kept,
    kind_of,
    own_times,
    profiled,
    shares,
)
from benchmarks.subjects import ENTRIES, molecules, of_the_course, subject
from gtcourse import load_dataset


@pytest.fixture(scope="module")
def graphs():
    return molecules(load_dataset("molecules"), 6)


@pytest.fixture(scope="module")
def traces(graphs):
    return {each.name: traced(each.training_step()) for each in of_the_course(graphs)}


def span(name: str, start: float, length: float, kind: str = "cpu_op") -> dict:
    return {"name": name, "ts": start, "dur": length, "cat": kind}


def test_an_operator_counts_without_those_that_it_calls():
    trace = [
        span("aten::mm", 2.0, 3.0),
        span("forward", 0.0, 10.0, "user_annotation"),
        span("aten::linear", 1.0, 5.0),
        span("aten::add", 7.0, 1.0),
        span("aten::mul", 20.0, 1.0),  # in no phase
        span("optimiser", 30.0, 4.0, "user_annotation"),
        span("aten::add_", 31.0, 2.0),
    ]
    found = {(phase, name): time for phase, name, time in own_times(trace)}
    assert found == {
        ("forward", "forward"): 4.0,
        ("forward", "aten::linear"): 2.0,
        ("forward", "aten::mm"): 3.0,
        ("forward", "aten::add"): 1.0,
        ("optimiser", "optimiser"): 2.0,
        ("optimiser", "aten::add_"): 2.0,
    }
    kinds, phases, milliseconds = shares(trace)
    assert milliseconds == pytest.approx(0.014)
    assert phases == pytest.approx({"forward": 1000 / 14, "backward": 0, "optimiser": 400 / 14})
    assert kinds["matrix products"] == pytest.approx(500 / 14)
    assert kinds[PYTHON] == pytest.approx(400 / 14)
    assert kinds[OPTIMISER] == pytest.approx(400 / 14)
    assert sum(kinds.values()) == pytest.approx(100)


def test_every_operator_of_every_model_has_a_kind(traces):
    """So that nothing hides in "other"."""
    unknown = {
        name
        for trace in traces.values()
        for phase, name, _ in own_times(trace)
        if phase != OPTIMISER and kind_of(name) == OTHER
    }
    assert unknown == set()


def test_what_is_kept_belongs_to_nodes_without_a_graph_and_to_pairs_in_egt(graphs):
    of_nodes = kept(subject(ENTRIES["transformer"], graphs))
    assert of_nodes["nodes"] > 0.95 * sum(of_nodes.values())
    of_pairs = kept(subject(ENTRIES["egt"], graphs))
    assert of_pairs["pairs"] > 0.5 * sum(of_pairs.values())
    along_edges = kept(subject(ENTRIES["gatedgcn"], graphs))
    assert along_edges["edges"] > along_edges["pairs"]


def test_a_step_is_profiled_as_a_row_of_the_record(graphs):
    row = profiled(subject(ENTRIES["gin"], graphs), rounds=2)
    assert sum(row["kinds"].values()) == pytest.approx(100, abs=0.1)
    assert row["operators"] > 500
    assert row["peak_mb"] > sum(row["kept_mb"].values()) > 0
