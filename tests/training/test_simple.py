from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from gtcourse.training.simple import line_to_beat, morgan_counts, simple_errors


def test_morgan_counts_are_those_of_the_training_environments():
    ethanol, propane, methane = (
        Data(x=torch.zeros(1, 1), smiles=smiles) for smiles in ("CCO", "CCC", "C")
    )
    train, test = morgan_counts([ethanol, propane], [propane, methane])
    assert train.shape[1] == test.shape[1]
    assert train[0].sum() == 6  # each of three atoms, alone and with its neighbours
    assert (train[1] != test[0]).nnz == 0
    assert test[1].sum() == 0  # methane's carbon has four hydrogens, which neither of them has


@pytest.mark.slow
def test_the_recorded_errors_are_reproduced(molecules):
    data = molecules
    train, rest = (data.split == 0).nonzero().flatten(), (data.split > 0).nonzero().flatten()
    chosen = torch.cat([train[:1000], rest])
    part = replace(data, graphs=[data[int(i)] for i in chosen], split=data.split[chosen])
    assert simple_errors(part) == pytest.approx(line_to_beat(train=1000), rel=1e-3)
