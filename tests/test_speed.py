"""What a step costs, on a step whose cost is known; and the models that are measured."""

import pytest
import torch

from gtcourse import collate
from gtcourse.encodings import encode
from gtcourse.recipes import get_recipe
from speed.fused import ATTENTION, NODES, PAIRS, batches_of, in_both_forms, of_one_size, read_by
from speed.measure import peak_mb
from speed.models import compare
from speed.subjects import ENTRIES, PEERS, subject
from tests.graphs.small import graph_of


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


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ([2, 8, 5, 5], ATTENTION),
        ([2, 5, 5, 16], ATTENTION),  # biases and gates of 8 heads
        ([2, 8, 6, 6], ATTENTION),  # with a virtual node
        ([50, 8], ATTENTION),
        ([2, 5, 5, 48], PAIRS),
        ([50, 96], PAIRS),
        ([10, 48], NODES),
        ([48, 48], NODES),
    ],
)
def test_operators_on_attention_pairs_and_nodes_are_told_apart(shape, expected):
    batch = collate([graph_of(5, []), graph_of(3, [])])
    assert read_by([[48], shape], batch, heads=8) == expected


def test_both_forms_take_steps_on_the_same_batches(molecules):
    recipe = get_recipe("egt-100k-spe-do/zinc").at(batch_size=3)
    graphs = encode(molecules.train[:12], *recipe.transforms)
    found = in_both_forms(recipe, batches_of(graphs, recipe), rounds=2)
    assert found["default"]["ms"] > 0
    assert found["fused"]["ms"] > 0
    low, high = found["quartiles"]
    assert low <= found["times_as_fast"] <= high
    assert 0 < found["real_pairs"] < 1


def test_molecules_of_one_size_have_no_padding(molecules):
    chosen = of_one_size(molecules.train[:50], 20)
    assert len(chosen) == 20
    assert bool(collate(chosen).mask.all())
