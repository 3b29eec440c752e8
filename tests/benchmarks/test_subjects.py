"""All models are measured on the same molecules, and a peer computes what it is said to."""

import pytest
import torch
from torch_geometric.data import Batch

from benchmarks.models import batch_size, compare
from benchmarks.peers import PEERS, l1_loss
from benchmarks.subjects import ENTRIES, READS, molecules, of_the_course, peers, subject
from gtcourse import collate, load_dataset
from gtcourse.training.tasks import graph_regression


@pytest.fixture(scope="module")
def graphs():
    return molecules(load_dataset("molecules"), 6)


@pytest.fixture(scope="module")
def subjects(graphs):
    return peers(graphs) + of_the_course(graphs)


def test_all_are_about_as_large_and_see_the_same_graphs(subjects):
    assert len(subjects) == len(PEERS) + len(READS) == 12
    assert {*READS} == {*ENTRIES}
    for each in subjects:
        assert 95_000 < each.parameters < 115_000
        assert batch_size(each) == 6
        torch.testing.assert_close(each.graphs.y.flatten(), subjects[0].graphs.y)


def test_a_step_moves_every_weight_that_is_read_and_leaves_no_gradient(subjects):
    for each in subjects:
        before = [parameter.detach().clone() for parameter in each.model.parameters()]
        each.training_step()()
        moved = [
            not torch.equal(old, new)
            for old, new in zip(before, each.model.parameters(), strict=True)
        ]
        assert sum(moved) > 0.8 * len(moved), each.name  # an atom that is in no molecule stays
        assert all(parameter.grad is None for parameter in each.model.parameters())


def test_a_peers_padding_changes_nothing_and_neither_does_the_order_of_its_graphs(graphs):
    torch.manual_seed(0)
    for peer in PEERS.values():
        model = peer.build().eval()
        batch = collate if peer.padded else Batch.from_data_list
        alone = torch.cat([model(batch([graph])) for graph in graphs])
        together = model(batch(graphs[::-1])).flip(0)
        torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_the_peers_loss_is_the_courses(graphs):
    batch = collate(graphs)
    prediction = torch.randn(len(graphs))
    expected = graph_regression().loss(prediction, batch)
    torch.testing.assert_close(l1_loss(prediction, batch), expected)
    torch.testing.assert_close(l1_loss(prediction, Batch.from_data_list(graphs)), expected)


def test_a_small_comparison_has_a_row_for_each_with_ratios_to_the_first(graphs):
    few = [peers(graphs)[0], subject(ENTRIES["gin"], graphs)]
    first, second = compare(few, rounds=2)
    assert (first["model"], second["model"]) == ("nn.TransformerEncoder", "gin")
    assert first["step"]["ratio"] == first["forward"]["ratio"] == 1
    for row in (first, second):
        assert {*row["step"]} == {"ms", "quartiles", "ratio"}
        assert row["peak_mb"] > 0
