"""The benchmark of shards goes the way of PCQM4Mv2; how fast is not a matter of tests."""

from contextlib import contextmanager

import pytest

from benchmarks import shards
from benchmarks.shards import (
    IN_PROCESSES,
    RECIPES,
    STORED,
    in_processes,
    loader,
    loading,
    molecules,
    preparing,
)
from gtcourse import load_dataset
from gtcourse.shards import prepare
from gtcourse.training.fit import count_parameters


@pytest.fixture(scope="module")
def sharded(tmp_path_factory):
    source = molecules(load_dataset("molecules"), 160)
    folder = tmp_path_factory.mktemp("shards") / "made"
    return prepare(source, folder, stored=STORED, rows_per_shard=40, progress=False)


def test_the_molecules_have_the_graphs_that_ogb_makes(sharded):
    batch = next(iter(loader(sharded, RECIPES["csa-small/pcqm4mv2"](), 8)))
    assert batch.x.shape[-1] == 9
    assert batch.edge_attr.shape[-1] == 3
    assert {"ring", "random_walks"} == {*batch.encodings}
    assert sharded.split_sizes["train"] == 160


@pytest.mark.parametrize("name", IN_PROCESSES)
def test_what_is_small_is_a_published_recipe_with_a_smaller_model(name):
    recipe = RECIPES[name]()
    assert recipe.name.endswith(("/pcqm4m", "/pcqm4mv2"))
    assert count_parameters(recipe.build_model()) < 500_000


def test_a_loader_is_measured_beside_the_step_that_it_feeds(sharded, monkeypatch):
    monkeypatch.setattr(shards, "BATCH", 8)
    monkeypatch.setitem(shards.STEPS, "csa, 4 layers", 2)
    row = loading(sharded, "csa, 4 layers", rounds=2)
    assert row["computed_for_each_batch"] == ["AddRandomWalks(steps=16, pairs=True)"]
    assert [part["method"] for part in row["compared"]] == ["training step", "loader"]
    assert row["batches"] == 2
    assert row["times_as_fast"] > 0


def test_every_round_prepares_afresh(monkeypatch):
    @contextmanager
    def only_here():
        yield {"1 process": None}

    monkeypatch.setattr(shards, "executors", only_here)
    folders = []
    original = shards.prepare
    monkeypatch.setattr(
        shards, "prepare", lambda s, out, **given: folders.append(out) or original(s, out, **given)
    )
    (row,) = preparing(molecules(load_dataset("molecules"), 12), rounds=2)
    assert len({*folders}) == len(folders) == 3  # one to warm up
    assert row["molecules_per_second"] > 0


@pytest.mark.slow
def test_two_processes_train_from_shards(sharded, monkeypatch):
    monkeypatch.setattr(shards, "PROCESSES", (2,))
    (row,) = in_processes(sharded, "csa, 4 layers", steps=2)
    assert row["processes"] == 2
    assert row["batch"] == 2 * 64
    assert row["graphs_per_second"] > 0
