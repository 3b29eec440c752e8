"""What a step costs, on steps whose costs are known; and the models that are measured."""

import pytest
import torch
from torch_geometric.data import Batch

from benchmarks.measure import in_turn, peak_mb
from benchmarks.models import compare
from benchmarks.subjects import ENTRIES, PEERS, l1_loss, subject
from gtcourse import collate, load_dataset
from gtcourse.training.tasks import graph_regression


def three_megabytes_but_two_at_a_time():
    first = torch.zeros(2**18)  # 1 MB
    second = first + 1
    del first
    third = second + 1
    return second, third


def test_the_peak_is_what_is_held_at_a_time():
    assert peak_mb(three_megabytes_but_two_at_a_time) == 2.0


def test_steps_take_turns_and_two_rounds_are_not_counted():
    order = []
    steps = {name: lambda name=name: order.append(name) for name in "ab"}
    assert [*in_turn(steps, 3)] == ["a", "b"]
    assert order == [*"ab"] * 5


@pytest.fixture(scope="module")
def graphs():
    return load_dataset("molecules").train[:6]


@pytest.fixture(scope="module")
def subjects(graphs):
    return [subject(name, graphs) for name in (*PEERS, *ENTRIES)]


def test_models_are_about_as_large_and_read_the_same_graphs(subjects):
    for one in subjects:
        assert 95_000 < one.parameters < 115_000
        torch.testing.assert_close(one.graphs.y.flatten(), subjects[0].graphs.y.flatten())


def test_a_step_moves_the_weights_and_leaves_no_gradient(subjects):
    for one in subjects:
        before = [parameter.detach().clone() for parameter in one.model.parameters()]
        one.training_step()()
        pairs = zip(before, one.model.parameters(), strict=True)
        moved = [not torch.equal(old, new) for old, new in pairs]
        assert sum(moved) > 0.8 * len(moved), one.name  # an atom that is in no molecule stays
        assert all(parameter.grad is None for parameter in one.model.parameters())


def test_a_peer_reads_neither_padding_nor_the_order_of_graphs(graphs):
    for name in PEERS:
        model = subject(name, graphs).model.eval()
        batch = collate if name == "nn.TransformerEncoder" else Batch.from_data_list
        alone = torch.cat([model(batch([graph])) for graph in graphs])
        together = model(batch(graphs[::-1])).flip(0)
        torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


def test_the_loss_of_peers_is_the_courses(graphs):
    batch, prediction = collate(graphs), torch.randn(len(graphs))
    expected = graph_regression().loss(prediction, batch)
    torch.testing.assert_close(l1_loss(prediction, batch), expected)
    torch.testing.assert_close(l1_loss(prediction, Batch.from_data_list(graphs)), expected)


def test_a_comparison_has_a_row_for_each(graphs):
    few = [subject(name, graphs) for name in ("nn.TransformerEncoder", "gin")]
    first, second = compare(few, rounds=2)
    assert (first["model"], second["model"]) == ("nn.TransformerEncoder", "gin")
    assert all(row["peak_mb"] > 0 for row in (first, second))
