"""The recorded runs of chapter 07: each name is a model, a task and data that fit together."""

from dataclasses import replace

import pytest
import torch

from gtcourse import collate, load_dataset
from gtcourse.encodings import AddShortestPaths, AddSVD, encode
from gtcourse.graphs.communities import cluster, pattern
from gtcourse.graphs.tours import tsp
from gtcourse.models import EGT
from tools.record_chapter07 import RANK, RUNS, by_hop, first_training


@pytest.fixture(scope="module")
def batches():
    data = {
        "molecules": load_dataset("molecules").train[:4],
        "digits": load_dataset("digits").train[:4],
        "pattern": pattern((2, 1, 1)).train,
        "cluster": cluster((2, 1, 1)).train,
        "tsp": tsp((4, 1, 1), range(6, 9)).train,
    }
    transforms = AddSVD(RANK), AddShortestPaths()
    return {name: collate(encode(graphs, *transforms)) for name, graphs in data.items()}


@pytest.mark.parametrize("name", RUNS)
def test_a_runs_model_task_and_data_fit_together(name, batches):
    run = RUNS[name]
    assert name.endswith(f"/{run.data}")
    model, task, batch = EGT(replace(run.config, num_layers=2)), run.task(), batches[run.data]
    task.loss(model(batch, **task.asks), batch).backward()
    assert all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)


def test_the_first_training_graphs_are_kept_and_all_others():
    data = load_dataset("digits")
    few = first_training(data, 5)
    assert few.split_sizes == {"train": 5, "val": 200, "test": 300}
    assert all(torch.equal(a.x, b.x) for a, b in zip(few.train, data.train[:5], strict=True))
    assert torch.equal(few.test[-1].x, data.test[-1].x)


def test_shares_by_hop_are_shares_of_each_layer(batches):
    run = RUNS["egt/tsp"]
    shares = torch.tensor(by_hop(EGT(run.config), [batches["tsp"]])["attention_by_hop"])
    assert shares.shape == (4, 10)
    torch.testing.assert_close(shares.sum(1), torch.ones(4), rtol=0, atol=1e-3)
    assert bool((shares[:, 2:] == 0).all())  # of 8 points all are neighbours
