"""Time and memory of a step, on steps whose costs are known."""

import multiprocessing
import os

import pytest
import torch

from benchmarks.costs import alone, apart, milliseconds, peak_mb, peak_mb_of, rows, traced
from benchmarks.report import command_line, provenance


def three_megabytes_but_two_at_a_time():
    first = torch.zeros(2**18)  # 1 MB
    second = first + 1
    del first
    third = second + 1
    return second, third


def test_the_peak_is_what_is_held_at_a_time():
    assert peak_mb(traced(three_megabytes_but_two_at_a_time)) == 2.0
    assert peak_mb_of(three_megabytes_but_two_at_a_time, "cpu") == 2.0


def test_the_steps_take_turns_and_two_rounds_are_not_counted():
    order = []
    steps = {name: lambda name=name: order.append(name) for name in "ab"}
    times = milliseconds(steps, 3)
    assert order == [*"ab"] * 5
    assert [*times] == ["a", "b"]
    assert all(len(values) == 3 for values in times.values())


def test_a_ratio_is_one_of_the_same_round():
    first, second = rows({"a": [1.0, 10.0, 2.0], "b": [3.0, 20.0, 4.0]})
    assert first == {"method": "a", "ms": 2.0, "quartiles": [1.0, 10.0], "ratio": 1.0}
    assert (second["ms"], second["ratio"]) == (4.0, 2.0)


def test_steps_apart_wait_for_their_turn():
    seen = torch.zeros(2).share_memory_()
    with apart({"a": lambda: seen[0].add_(1), "b": lambda: seen[1].add_(1)}) as waiting:
        waiting["a"]()
        assert seen.tolist() == [1, 0]
        waiting["b"]()
        assert seen.tolist() == [1, 1]


def test_steps_apart_end_also_when_something_fails():
    before = {*multiprocessing.active_children()}
    with pytest.raises(KeyError), apart({"a": lambda: None}) as waiting:
        waiting["b"]()
    assert {*multiprocessing.active_children()} == before


def test_a_step_apart_that_fails_is_not_waited_for():
    def fail() -> None:
        os._exit(1)

    with (
        pytest.raises(RuntimeError, match="the process of 'a' has ended"),
        apart({"a": fail, "b": lambda: None}) as waiting,
    ):
        waiting["a"]()


def test_what_runs_alone_runs_elsewhere():
    found = alone(dict, [("here", 1)])
    assert found == {"here": 1}
    assert alone(_process, os.getpid()) == {"same": False}


def _process(parent: int) -> dict:
    return {"same": os.getpid() == parent}


def test_a_single_round_has_no_spread_and_is_refused(capsys):
    with pytest.raises(SystemExit):
        command_line("A benchmark.", 3).parse_args(["--rounds", "1"])
    assert "1 rounds have no spread; expected 2 or more" in capsys.readouterr().err
    assert command_line("A benchmark.", 3).parse_args(["--rounds", "2"]).rounds == 2


def test_a_benchmark_says_where_it_ran():
    said = provenance("costs")
    assert said["command"] == "python -m benchmarks.costs"
    assert said["processor"]
    assert said["cores"] >= 1
