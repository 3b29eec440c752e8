"""A pass over the training graphs: broken off after any batch, it is the same pass."""

from dataclasses import replace

import pytest
import torch

from gtcourse.graphs import DenseLoader
from gtcourse.training.epoch import Part, train_epoch
from gtcourse.training.processes import launch
from tests.graphs.random_graphs import graph_of

BATCHES, GRAPHS = 4, 7  # of two graphs, and one of one


@pytest.fixture
def loader():
    return DenseLoader([graph_of(1, [], seed=i) for i in range(GRAPHS)], 2, shuffle=True)


def epoch(loader, part=None, every=None, loss=lambda batch: batch.y.abs().mean()):
    """The end of the epoch, and what was to be saved on the way."""
    saved = []
    part = part or Part(3, lr=0.1, of=len(loader))
    fabric = launch("cpu", 1, "32-true")
    return train_epoch(fabric, loader, loss, part, every, saved.append), saved


def test_a_loss_is_a_sum_over_graphs(loader):
    done, saved = epoch(loader)
    assert (done.batches, done.of, done.graphs) == (BATCHES, BATCHES, GRAPHS)
    targets = torch.cat([batch.y for batch in loader])
    assert done.loss == pytest.approx(float(targets.abs().sum()))
    assert not saved


@pytest.mark.parametrize(("every", "places"), [(1, [1, 2, 3]), (2, [2]), (3, [3]), (4, [])])
def test_it_is_saved_after_so_many_batches_and_not_at_its_end(loader, every, places):
    assert [part.batches for part in epoch(loader, every=every)[1]] == places


def test_from_wherever_it_was_saved_it_comes_to_the_same_end(loader):
    whole, saved = epoch(loader, every=1)
    for part in saved:
        rest, later = epoch(loader, part, every=1)
        assert replace(rest, seconds=whole.seconds) == whole
        assert rest.seconds >= part.seconds
        assert [part.batches for part in later] == [*range(part.batches + 1, BATCHES)]


def test_it_does_not_go_on_with_other_batches(loader):
    _, (part, *_) = epoch(loader, every=1)
    other = DenseLoader([graph_of(1, [])] * GRAPHS, 1)
    sentence = "stopped after 1 of 4 batches of epoch 3, and the loader has 7; expected the data"
    with pytest.raises(ValueError, match=sentence):
        epoch(other, part)


def test_a_loss_that_is_no_number_is_not_saved(loader):
    saved, part = [], Part(3, lr=0.1, of=len(loader))
    fabric, nan = launch("cpu", 1, "32-true"), torch.tensor(torch.nan)
    with pytest.raises(RuntimeError, match="the training loss is nan in epoch 3; expected a"):
        train_epoch(fabric, loader, lambda batch: nan, part, 1, saved.append)
    assert not saved
