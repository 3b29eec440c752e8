"""A pass over the training graphs that stops after any batch and goes on is the same pass."""

from dataclasses import replace

import pytest
import torch

from gtcourse.graphs import DenseLoader
from gtcourse.training.fit import Progress, train_epoch
from gtcourse.training.processes import launch
from tests.graphs.random_graphs import graph_of

BATCHES, GRAPHS = 4, 7  # of two graphs, and one of one


@pytest.fixture
def loader():
    return DenseLoader([graph_of(1, [], seed=i) for i in range(GRAPHS)], 2, shuffle=True)


def epoch(loader, current=None, every=None):
    """The end of the epoch, and what was saved on the way."""
    saved = []
    current = current or Progress(3, lr=0.1, of=len(loader))
    fabric = launch("cpu", 1, "32-true")
    train_epoch(
        fabric, loader, lambda batch: batch.y.abs().mean(), current, every,
        lambda state: saved.append(replace(state)),
    )  # fmt: skip
    return current, saved


def test_a_loss_is_a_sum_over_graphs(loader):
    done, saved = epoch(loader)
    assert (done.batches, done.of, done.graphs) == (BATCHES, BATCHES, GRAPHS)
    targets = torch.cat([batch.y for batch in loader])
    assert done.loss == pytest.approx(float(targets.abs().sum()))
    assert not saved


def test_from_wherever_it_was_saved_it_comes_to_the_same_end(loader):
    complete, saved = epoch(loader, every=1)
    assert [state.batches for state in saved] == [1, 2, 3]
    for state in saved:
        rest, later = epoch(loader, replace(state), every=2)
        assert replace(rest, seconds=complete.seconds) == complete
        assert rest.seconds >= state.seconds
        assert [s.batches for s in later] == [b for b in (2,) if b > state.batches]


def test_it_does_not_go_on_with_other_batches(loader):
    _, (state, *_) = epoch(loader, every=1)
    other = DenseLoader([graph_of(1, [])] * GRAPHS, 1)
    sentence = "stopped after 1 of 4 batches of epoch 3, and the loader has 7; expected the data"
    with pytest.raises(ValueError, match=sentence):
        epoch(other, state)
