"""The recorded runs of chapter 09: each a model of its own that fits the data, and measured."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from gtcourse import DenseLoader, collate, load_dataset
from gtcourse.analysis import KINDS
from gtcourse.encodings import AddRandomWalks, AddRings, AddShortestPaths, encode
from gtcourse.models import CGT
from gtcourse.training.tasks import graph_regression
from tools.record_chapter09 import CHANNELS, RING_SIZE, RINGS, RUNS, STEPS, scores


@pytest.fixture(scope="module")
def molecules():
    transforms = AddRandomWalks(STEPS), AddRings(RING_SIZE), AddShortestPaths()
    return encode(load_dataset("molecules").test[:6], *transforms)


@pytest.mark.parametrize("name", RUNS)
def test_a_runs_model_and_the_molecules_fit_together(name, molecules):
    model, batch = CGT(replace(RUNS[name], num_layers=1)), collate(molecules)
    graph_regression().loss(model(batch), batch).backward()
    for part, p in model.named_parameters():
        assert bool(p.grad.isfinite().all()), part


def test_no_two_runs_are_the_same_model():
    assert len({*RUNS.values()}) == len(RUNS) == 14


class Zero(nn.Module):
    """Predicts 0, so that an error is the target's size."""

    config = RINGS

    def forward(self, batch):
        return torch.zeros(batch.num_graphs)


def test_the_errors_are_those_of_molecules_with_and_without_large_rings(molecules):
    for molecule, y in zip(molecules, (1.0, -2.0, 30.0, 4.0, 5.0, -7.0), strict=True):
        molecule.y = torch.tensor([y])
    large = torch.tensor([True, False, True, False, True, False])
    result = scores(Zero(), DenseLoader(molecules, 4), large)
    assert result == {
        "test_mae_large_rings": pytest.approx(12.0),
        "test_median_large_rings": 5.0,
        "test_mae_other": pytest.approx(13 / 3),
        "test_median_other": 4.0,
    }


def test_of_the_model_of_few_channels_it_is_kept_what_each_looks_at(molecules):
    torch.manual_seed(0)
    model, large = CGT(replace(CHANNELS, num_layers=2)), torch.arange(6) < 3
    result = scores(model, DenseLoader(molecules, 4), large)
    shares = torch.tensor(result["attention_by_kind"])
    assert shares.shape == (2, 16, len(KINDS))
    torch.testing.assert_close(shares.sum(-1), torch.ones(2, 16), rtol=0, atol=1e-4)
    assert abs(sum(result["even_by_kind"]) - 1) < 1e-4
