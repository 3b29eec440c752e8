"""A run from data to record: its budget, its folder, killed and continued."""

import json
import math

import pytest
import torch

from gtcourse.encodings import AddRings, AddShortestPaths
from gtcourse.graphs import GraphDataset
from gtcourse.prepare import prepare
from gtcourse.recipes import get_recipe
from gtcourse.training.records import read_record, read_weights
from gtcourse.training.run import (
    at_budget,
    claim,
    data_for,
    for_compiler,
    loaders,
    train,
)
from tests.graphs.test_prepare import assert_same
from tests.training.tiny_data import tiny, tiny_zinc_file

RECIPE = get_recipe("gin-100k/zinc").at(epochs=3, batch_size=4)
CSA = get_recipe("csa-rings/zinc").at(batch_size=4)


def run(out=None, data=None, **options):
    data = tiny("zinc", 6) if data is None else data
    return train(RECIPE, data, command="none", out=out, progress=False, **options)


def test_a_run_leaves_its_record_curve_weights_and_logs(tmp_path):
    record = run(tmp_path, tensorboard=True)
    found = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")}
    expected = {".lock", "run.json", "last.ckpt", "curve.csv", "weights", "tensorboard"}
    assert found == expected | {"gin-100k-zinc-seed0.json"}
    read = read_record(tmp_path / "gin-100k-zinc-seed0.json")
    assert read == record
    assert read.result["steps"] == 3 * 2
    assert read.config["changed"] == {"epochs": 3, "batch_size": 4}
    assert read.config["buckets"] == 1
    assert set(read.result) == {"test_mae", "val_mae", "best_epoch", "steps"}
    model = RECIPE.build_model()
    model.load_state_dict(read_weights(read, tmp_path))
    assert read.config["devices"] == 1


def test_a_run_that_is_over_is_not_run_again(monkeypatch, tmp_path):
    """Also where its checkpoint is lost."""
    record = run(tmp_path)
    (tmp_path / "last.ckpt").unlink()
    monkeypatch.setattr("gtcourse.training.run.loaders", None)
    for resume in (True, None):
        assert run(tmp_path, resume=resume) == record
    with pytest.raises(ValueError, match="holds another run, which differs in buckets;"):
        run(tmp_path, resume=None, buckets=2)
    with pytest.raises(ValueError, match=r"holds a run; expected --resume"):
        run(tmp_path)


def test_a_run_that_is_continued_at_another_commit_names_both(monkeypatch, tmp_path):
    run(tmp_path)
    (tmp_path / "gin-100k-zinc-seed0.json").unlink()
    monkeypatch.setattr("gtcourse.training.run.current_commit", lambda: "another")
    begun = json.loads((tmp_path / "run.json").read_text())["commit"]
    assert run(tmp_path, resume=True).commit == f"{begun}, then another"


def test_graphs_that_do_not_fill_a_batch_of_one_shape_raise():
    with pytest.raises(ValueError, match="3 training graphs do not fill a batch of 4; expected"):
        run(data=tiny("zinc", 3), compile=True)


def test_a_validation_metric_that_is_never_a_number_leaves_weights_and_a_record(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(
        "gtcourse.training.fit.evaluate", lambda model, task, loader: {"mae": math.nan}
    )
    with pytest.warns(UserWarning, match="the validation mae is NaN in every epoch; the model has"):
        record = run(tmp_path)
    assert {*record.result} == {"test_mae", "best_epoch", "steps"}
    assert record.result["best_epoch"] == 2
    assert read_weights(read_record(tmp_path / record.filename), tmp_path)


def test_the_same_seed_gives_the_same_run_and_another_seed_another():
    assert run().curve[-1]["train_loss"] == run().curve[-1]["train_loss"]
    assert run().curve[-1]["train_loss"] != run(seed=1).curve[-1]["train_loss"]


@pytest.mark.parametrize(
    ("budget", "options", "changed", "sizes"),
    [
        ("smoke", {}, {"epochs": 2, "graphs": 256}, (12, 12, 12)),
        ("paper", {}, {}, (12, 12, 12)),
        (
            "short",
            {"batch_size": 5, "graphs": 8, "learning_rate": 0.01},
            {"epochs": 10, "batch_size": 5, "optimizer": "Adam(lr=0.01)", "graphs": 8},
            (8, 2, 2),
        ),
        (
            "paper",
            {"epochs": 5, "cosine": True},
            {"epochs": 5, "schedule": "warmup_then_cosine(warmup=0)", "stop_below_lr": None},
            (12, 12, 12),
        ),
    ],
)
def test_a_budget_is_remembered_with_the_graphs_it_leaves(budget, options, changed, sizes):
    recipe = get_recipe("gin-100k/zinc")
    recipe, data = at_budget(recipe, tiny("zinc", 12), budget, **options)
    assert recipe.changed == changed
    assert tuple(data.split_sizes.values()) == sizes


def test_a_folder_holds_one_run(tmp_path):
    what = {"config": {"epochs": 3, "lr": 0.1}, "data": {"name": "zinc"}, "seed": 0}
    with pytest.raises(ValueError, match="holds no run to resume"):
        run(tmp_path, resume=True)
    claim(tmp_path, what | {"seed": 7}, resume=False)  # and stopped before it had done anything
    claim(tmp_path, what, resume=False)
    claim(tmp_path, what, resume=None)
    torch.save({}, tmp_path / "last.ckpt")
    claim(tmp_path, what, resume=None)
    with pytest.raises(ValueError, match=r"holds a run; expected --resume to continue it"):
        claim(tmp_path, what, resume=False)
    claim(tmp_path, what, resume=True)
    other = what | {"config": {"epochs": 4, "lr": 0.1}, "seed": 1}
    with pytest.raises(ValueError, match="another run, which differs in epochs, seed;"):
        claim(tmp_path, other, resume=True)


def test_a_compiler_gets_csas_attention_as_the_equations_read():
    csa = for_compiler(CSA)
    assert csa.build_model.args[0].form == "direct"
    assert csa.build_model().state_dict().keys() == CSA.build_model().state_dict().keys()
    assert for_compiler(RECIPE) is RECIPE


# What it is trained on: the data that a name or a path means, and its loaders.

RINGS = AddRings(18)


def prepared(folder, stored=(RINGS,), data: GraphDataset | None = None):
    data = tiny("zinc", 12) if data is None else data
    return prepare(data, folder / "graphs", stored=stored, rows_per_part=5, progress=False)


def loaded(recipe, data, buckets=1, few_shapes=False):
    return loaders(recipe, data, seed=0, buckets=buckets, few_shapes=few_shapes)


def test_data_that_nothing_embedded_stands_in_for_is_refused():
    with pytest.raises(ValueError, match="nothing embedded stands in for 'pcqm4mv2'; expected"):
        data_for(get_recipe("csa-small/pcqm4mv2"), "embedded")


def test_a_path_is_a_graph_file_or_a_prepared_folder(tmp_path):
    folder = prepared(tmp_path)
    found = data_for(CSA, str(tmp_path / "graphs"))
    assert (found.stored, found.split_sizes) == (folder.stored, folder.split_sizes)
    assert len(data_for(CSA, str(tiny_zinc_file(tmp_path)))) == 18


def test_a_cut_keeps_the_first_graphs_and_one_of_each_split(tmp_path):
    data = tiny("zinc", 6)
    cut = data.first(2)
    assert cut.split_sizes == {"train": 2, "val": 1, "test": 1}
    assert cut.train == data.train[:2]
    assert prepared(tmp_path, data=data).first(2).split_sizes == cut.split_sizes


@pytest.mark.parametrize("stored", [(RINGS,), (RINGS, *CSA.transforms[:1])], ids=len)
@pytest.mark.parametrize("few_shapes", [False, True])
def test_batches_of_a_folder_are_those_of_its_graphs(tmp_path, stored, few_shapes):
    """What is stored is read, the rest of the recipe's encodings computed."""
    assert len(CSA.transforms) > 1
    memory = loaded(CSA, tiny("zinc", 12), few_shapes=few_shapes)
    folder = prepared(tmp_path, {repr(t): t for t in stored}.values())
    mapped = loaded(CSA, folder, few_shapes=few_shapes)
    for loader, other in zip(memory, mapped, strict=True):
        for batch, expected in zip(other, loader, strict=True):
            assert_same(batch, expected)


def test_a_folder_without_what_has_to_be_stored_is_refused(tmp_path):
    bare = prepared(tmp_path, stored=(AddRings(3), AddShortestPaths()))
    sentence = (
        r"holds AddRings\(max_size=3\), AddShortestPaths\(max_distance=None\); csa-rings/zinc "
        r"reads AddRings\(max_size=18\) as well, which has to be stored: expected a folder that"
    )
    with pytest.raises(ValueError, match=sentence):
        loaded(CSA, bare)


def test_a_split_without_graphs_is_refused(tmp_path):
    data = tiny("zinc", 6)
    data = GraphDataset("small", "made for a test", data.graphs, data.split.clamp(max=1))
    with pytest.raises(ValueError, match="the split has no graphs; expected at least"):
        loaded(CSA, prepared(tmp_path, data=data))
