"""Time and memory of a step, on steps whose costs are known."""

import torch

from benchmarks.costs import apart, milliseconds, peak_mb, peak_mb_of, rows, traced


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
