"""The recorded runs of chapter 08: each name is a model and data that fit together."""

from dataclasses import replace

import pytest

from gtcourse import collate, load_dataset
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.graphs.puzzles import dials, edge_labels
from gtcourse.models import GRPE
from tools.record_chapter08 import LABELS, RUNS, SETTINGS, STEPS, groups


@pytest.fixture(scope="module")
def batches():
    data = {
        "molecules": load_dataset("molecules").train[:4],
        "digits": load_dataset("digits").train[:4],
        "listener": dials((4, 1, 1), STEPS, "listener").train,
        "speaker": dials((4, 1, 1), STEPS, "speaker").train,
        "edge_labels": edge_labels((4, 1, 1), LABELS).train,
    }
    return {name: collate(encode(graphs, AddShortestPaths())) for name, graphs in data.items()}


@pytest.mark.parametrize("name", RUNS)
def test_a_runs_model_task_and_data_fit_together(name, batches):
    run = RUNS[name]
    assert name.endswith(f"/{run.data}")
    model, batch = GRPE(replace(run.config, num_layers=1)), batches[run.data]
    SETTINGS[run.data]["task"]().loss(model(batch), batch).backward()
    for part, p in model.named_parameters():
        assert bool(p.grad.isfinite().all()), part


def test_no_two_runs_on_the_same_data_are_the_same_model():
    assert len({*RUNS.values()}) == len(RUNS) == 27


def test_the_scalars_alone_have_another_rate_where_a_run_says_so():
    model = GRPE(RUNS["grpe-bias-value/molecules"].config)
    others, scalars = groups(model, 10.0)
    assert {*scalars["params"]} == {*model.tables["bias"].parameters()}
    assert {*others["params"], *scalars["params"]} == {*model.parameters()}
    assert scalars["lr"] == 10 * others["lr"]
    assert len(groups(model, 1.0)) == 1
