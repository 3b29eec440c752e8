"""What a step costs, on a step whose cost is known; and the models that are measured."""

import torch

from speed.measure import peak_mb
from speed.models import compare
from speed.subjects import ENTRIES, PEERS, subject


def three_megabytes_but_two_at_a_time():
    first = torch.zeros(2**18)  # 1 MB
    second = first + 1
    del first
    third = second + 1
    return second, third


def test_peak_memory_counts_only_what_is_allocated_at_the_same_time():
    assert peak_mb(three_megabytes_but_two_at_a_time) == 2.0


def test_models_of_similar_size_are_compared_on_the_same_graphs(molecules):
    subjects = [subject(name, molecules.train[:6]) for name in (*PEERS, *ENTRIES)]
    before = [[p.detach().clone() for p in one.model.parameters()] for one in subjects]
    rows = compare(subjects, rounds=2)
    assert [row["model"] for row in rows] == [*PEERS, *ENTRIES]
    for one, old, row in zip(subjects, before, rows, strict=True):
        assert 95_000 < row["parameters"] < 115_000
        assert row["peak_mb"] > 0
        torch.testing.assert_close(one.graphs.y.flatten(), subjects[0].graphs.y.flatten())
        pairs = zip(old, one.model.parameters(), strict=True)
        moved = [not torch.equal(old, new) for old, new in pairs]
        assert sum(moved) > 0.8 * len(moved), one.name  # an atom that is in no molecule stays
