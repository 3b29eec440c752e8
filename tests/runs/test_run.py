"""A run from data to record: its budget, its folder, killed and continued."""

import json
import math
import shutil

import numpy as np
import pytest
import torch

from gtcourse.encodings import AddRings, AddShortestPaths
from gtcourse.encodings.prepare import prepare
from gtcourse.graphs import MISSING_LABEL
from gtcourse.graphs.io import write_arrays, write_tensors
from gtcourse.graphs.molecules import fingerprints
from gtcourse.predict import fine_tuned, load
from gtcourse.recipes import get_recipe
from gtcourse.recipes.adapt import own_recipe
from gtcourse.recipes.recipe import with_form
from gtcourse.runs.record import read_record, read_weights
from gtcourse.runs.run import (
    FINGERPRINTS,
    at_budget,
    data_for,
    loaders,
    read_fingerprints,
    run_name,
    train,
)
from gtcourse.train.checkpoint import read_tensors
from tests.graphs.small import assert_same
from tests.train.tiny_data import tiny, tiny_zinc_file

RECIPE = get_recipe("gin-100k/zinc").at(epochs=3, batch_size=4)
CSA = get_recipe("csa-rings/zinc").at(batch_size=4)


def run(out=None, data=None, **options):
    data = tiny("zinc", 6) if data is None else data
    return train(RECIPE, data, command="none", out=out, progress=False, **options)


def test_a_run_stores_its_record_curve_weights_and_logs(tmp_path):
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


def test_compiling_with_fewer_graphs_than_a_batch_raises():
    with pytest.raises(ValueError, match="3 training graphs do not fill a batch of 4; expected"):
        run(data=tiny("zinc", 3), compile=True)


def test_a_run_whose_validation_metric_is_always_nan_has_weights_and_a_record(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(
        "gtcourse.train.loop.evaluate", lambda model, task, loader: {"mae": math.nan}
    )
    record = run(tmp_path)
    assert {*record.result} == {"best_epoch", "steps"}
    assert record.result["best_epoch"] == 2
    assert read_weights(read_record(tmp_path / record.filename), tmp_path)


def test_infinite_scores_are_left_out_of_the_record(monkeypatch, tmp_path):
    infinite = {"mae": math.inf}
    monkeypatch.setattr("gtcourse.train.loop.evaluate", lambda model, task, loader: infinite)
    record = run(tmp_path)
    assert {*record.result} == {"best_epoch", "steps"}
    assert read_record(tmp_path / record.filename).curve[0]["val_mae"] is None


@pytest.mark.parametrize(
    ("budget", "options", "changed", "sizes"),
    [
        ("smoke", {}, {"epochs": 2, "graphs": 12}, (12, 12, 12)),  # of the 256 that it asks for
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
def test_a_budget_and_its_number_of_graphs_are_recorded(budget, options, changed, sizes):
    recipe = get_recipe("gin-100k/zinc")
    full = tiny("zinc", 12)
    recipe, data = at_budget(recipe, full, budget, **options)
    assert recipe.changed == changed
    assert tuple(data.split_sizes.values()) == sizes
    assert data.train == full.train[: sizes[0]]


def test_a_folder_holds_one_run_that_resumes_only_on_request(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="holds no run to resume"):
        run(tmp_path, resume=True)
    monkeypatch.setattr("gtcourse.runs.record.current_commit", lambda: "first")
    for where, seed in (
        ("train.loop.evaluate", 1),
        ("runs.run._result", 0),
    ):  # the first leaves no checkpoint
        with monkeypatch.context() as patch:
            patch.setattr(f"gtcourse.{where}", raise_interrupt)
            with pytest.raises(KeyboardInterrupt):
                run(tmp_path, seed=seed)
    with pytest.raises(ValueError, match="holds a run; expected --resume to continue it"):
        run(tmp_path)
    with pytest.raises(ValueError, match="another run, different in buckets, seed;"):
        run(tmp_path, resume=None, buckets=2, seed=1)
    monkeypatch.setattr("gtcourse.runs.record.current_commit", lambda: "second")
    record = run(tmp_path, resume=True)
    assert record.commit == "first, then second"
    monkeypatch.setattr("gtcourse.runs.run.loaders", None)
    for resume in (True, None):
        assert run(tmp_path, resume=resume) == record
    with pytest.raises(ValueError, match="holds a run; expected --resume"):
        run(tmp_path)


def test_a_run_is_resumed_although_the_notes_of_its_recipe_were_rewritten(monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        patch.setattr("gtcourse.runs.run._result", raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path)
    path = tmp_path / "run.json"
    begun = json.loads(path.read_text())
    begun["config"]["notes"] = "the weights are the best in validation; as an earlier release said"
    path.write_text(json.dumps(begun))
    assert run(tmp_path, resume=True).config["notes"] != begun["config"]["notes"]


def test_a_run_that_an_earlier_release_began_under_old_names_is_resumed(monkeypatch, tmp_path):
    recipe = get_recipe("grpe-small/zinc").at(epochs=1, batch_size=4)
    with monkeypatch.context() as patch:
        patch.setattr("gtcourse.runs.run._result", raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            train(recipe, tiny("zinc", 6), command="", out=tmp_path)
    path = tmp_path / "run.json"
    todays = path.read_text()
    old = todays.replace("'query_context', 'key_context'", "'query', 'key'")
    assert old != todays
    assert "num_node_types=(28,)" in old
    old = old.replace("num_node_types=(28,)", "num_node_types=28")
    without_form = old.replace(", form='direct'", "").replace(", bias=False", "")
    assert "form=" not in without_form
    assert "bias=" not in without_form
    path.write_text(without_form)
    (checkpoint,) = tmp_path.rglob("last.ckpt")
    state = read_tensors(checkpoint)
    assert state["run"]["terms"] == "('query_context', 'key_context', 'value')"
    state["run"]["terms"] = "('query', 'key', 'value')"
    assert state["run"].pop("form") == "'direct'"
    assert state["run"]["num_node_types"] == "(28,)"
    state["run"]["num_node_types"] = "28"
    write_tensors(checkpoint, state)
    fused = with_form(recipe, "fused")
    with pytest.raises(ValueError, match="holds another run, different in build_model"):
        train(fused, tiny("zinc", 6), command="", out=tmp_path, resume=True)
    training, val, _ = loaders(fused, tiny("zinc", 6), seed=0, buckets=1, static_shapes=False)
    with pytest.raises(ValueError, match="belongs to another run, different in form;"):
        fused.fit(fused.build_model(), training, val, seed=0, out=tmp_path)
    assert train(recipe, tiny("zinc", 6), command="", out=tmp_path, resume=True).result


@pytest.mark.parametrize("change", ["y", "x", "split"])
def test_resuming_with_different_data_of_the_same_name_raises(tmp_path, change):
    run(tmp_path)
    data = tiny("zinc", 6)
    if change == "split":
        data.split[[0, 6]] = data.split[[6, 0]]
    else:
        graph = data.graphs[2]
        graph[change] = graph[change].flip(0) if change == "x" else graph.y + 1
    assert data.provenance["sizes"] == tiny("zinc", 6).provenance["sizes"]
    with pytest.raises(ValueError, match="another run, different in data;"):
        run(tmp_path, data=data, resume=None)


def test_a_run_without_a_recorded_data_digest_can_be_resumed(tmp_path):
    record = run(tmp_path)
    begun = json.loads((tmp_path / "run.json").read_text())
    del begun["data"]["sha256"]
    (tmp_path / "run.json").write_text(json.dumps(begun))
    assert run(tmp_path, resume=True) == record


def test_a_split_with_one_class_warns_before_training(tmp_path):
    data = tiny("zinc", 6)
    for i, graph in enumerate(data):
        graph.y = torch.tensor([float(i % 2 if data.split[i] == 0 else 0)])
    recipe = own_recipe("csa/zinc", "binary", ["y"], "zinc").at(epochs=1, batch_size=4)
    with pytest.warns(UserWarning, match="are all 0: there is no auroc of one class") as warned:
        record = train(recipe, data, command="none", out=tmp_path, progress=False)
    assert len(warned) == 2
    assert "test_auroc" not in record.result


def test_a_test_split_without_known_targets_warns_and_has_no_score(tmp_path):
    """The accuracy of no target would be 0."""
    data = tiny("cycles", 6)
    for graph in data.test:
        graph.y = torch.full_like(graph.y, MISSING_LABEL)
    recipe = get_recipe("gin-pe/cycles").at(epochs=1, batch_size=4)
    sentence = "no target of the split 'test' of cycles is known: there is no accuracy of it"
    with pytest.warns(UserWarning, match=sentence):
        record = train(recipe, data, command="none", out=tmp_path, progress=False)
    assert "test_accuracy" not in record.result
    assert "val_accuracy" in record.result


def test_accumulation_is_part_of_a_runs_identity_and_record(tmp_path):
    record = run(tmp_path, accumulate=2)
    assert record.config["accumulate"] == 2
    assert record.result["steps"] == 3 * 1
    with pytest.raises(ValueError, match="another run, different in accumulate;"):
        run(tmp_path, resume=None)
    assert "accumulate" not in run().config


def test_the_starting_weights_are_part_of_a_runs_identity(tmp_path):
    """Another run in the folder that it started from makes another run of it."""
    data = tiny("zinc", 6)
    own = own_recipe("csa/zinc", "regression", ["y"], "zinc").at(epochs=1, batch_size=4)
    start = tmp_path / "start"
    for seed in (0, 1):
        shutil.rmtree(start, ignore_errors=True)
        train(own, data, command="none", seed=seed, out=start, progress=False)
        recipe = fine_tuned(own, start)
        if seed == 0:
            train(recipe, data, command="none", out=tmp_path / "run", progress=False)
    with pytest.raises(ValueError, match="holds another run, different in changed;"):
        train(recipe, data, command="none", out=tmp_path / "run", resume=None, progress=False)


@pytest.mark.parametrize("targets", [["y"], ["y", "z"]])
def test_a_fine_tuned_gin_has_new_heads_and_trained_layers(tmp_path, targets):
    """GIN has a head for each layer, none of which it keeps."""
    own = own_recipe("gin-100k/zinc", "regression", ["y"], "zinc").at(epochs=1, batch_size=4)
    train(own, tiny("zinc", 6), command="none", out=tmp_path / "start", progress=False)
    trained = load(tmp_path / "start").model.cpu().state_dict()
    other = own_recipe("gin-100k/zinc", "regression", targets, "zinc")
    weights = fine_tuned(other, tmp_path / "start").build_model().state_dict()
    heads = {name for name in weights if name.startswith("heads.")}
    assert len(heads) == 2 * 5  # weight and bias, of the input and of four layers
    assert all(weights[name].shape[0] == len(targets) for name in heads)
    for name, weight in weights.items():
        assert weight.equal(trained[name]) == (name not in heads), name


def test_fingerprints_of_earlier_releases_are_read(tmp_path):
    bits = fingerprints(["CCO", "c1ccccc1"])
    np.savez_compressed(tmp_path / "fingerprints.npz", morgan=bits)
    assert np.array_equal(read_fingerprints(tmp_path), bits)
    write_arrays(tmp_path / FINGERPRINTS, {"morgan": bits[:1]})
    assert np.array_equal(read_fingerprints(tmp_path), bits[:1])


def test_loading_a_model_leaves_the_global_random_state_alone():
    state = torch.get_rng_state()
    load("csa-100k/molecules")
    assert torch.get_rng_state().equal(state)


def test_the_global_random_state_is_left_alone(tmp_path):
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    run(str(tmp_path))
    assert torch.rand(2).equal(expected)


def raise_interrupt(*_):
    raise KeyboardInterrupt


# What it is trained on: the data that a name or a path means, and its loaders.

RINGS = AddRings(18)


def prepared(folder, stored=(RINGS,)):
    return prepare(tiny("zinc", 12), folder / "graphs", stored=stored, progress=False)


def loaded(recipe, data, static_shapes=False):
    return loaders(recipe, data, seed=0, buckets=1, static_shapes=static_shapes)


def test_data_are_read_from_a_graph_file_or_a_prepared_folder(tmp_path):
    folder = prepared(tmp_path)
    found = data_for(CSA, str(tmp_path / "graphs"))
    assert (found.stored, found.split_sizes) == (folder.stored, folder.split_sizes)
    assert len(data_for(CSA, str(tiny_zinc_file(tmp_path)))) == 18


@pytest.mark.parametrize("stored", [(RINGS,), (RINGS, *CSA.transforms[:1])], ids=len)
@pytest.mark.parametrize("static_shapes", [False, True])
def test_batches_of_a_prepared_folder_equal_those_of_its_graphs(tmp_path, stored, static_shapes):
    """What is stored is read, the rest of the recipe's encodings computed."""
    assert len(CSA.transforms) > 1
    memory = loaded(CSA, tiny("zinc", 12), static_shapes=static_shapes)
    folder = prepared(tmp_path, {repr(t): t for t in stored}.values())
    mapped = loaded(CSA, folder, static_shapes=static_shapes)
    for loader, other in zip(memory, mapped, strict=True):
        for batch, expected in zip(other, loader, strict=True):
            assert_same(batch, expected)


def test_a_folder_that_lacks_a_stored_encoding_raises(tmp_path):
    bare = prepared(tmp_path, stored=(AddRings(3), AddShortestPaths()))
    sentence = (
        r"holds AddRings\(max_size=3\), AddShortestPaths\(max_distance=None\); csa-rings/zinc "
        r"also reads AddRings\(max_size=18\), which has to be stored; expected a folder prepared"
    )
    with pytest.raises(ValueError, match=sentence):
        loaded(CSA, bare)


def test_a_run_on_own_data_does_not_have_the_name_of_a_published_run():
    """A file zinc.csv has the name of a data set."""
    own = own_recipe("csa/zinc", "regression", ["y"], "zinc")
    assert run_name(own, tiny("zinc", 6)) == "csa/zinc-on-zinc"
    assert run_name(get_recipe("csa/zinc"), tiny("zinc", 6)) == "csa/zinc"


def test_numbers_of_numpy_give_the_run_of_pythons_numbers(tmp_path):
    """A record is JSON, in which NumPy's numbers cannot be stored."""
    data = tiny("zinc", 6)
    records = []
    for whole, real in ((int, float), (np.int64, np.float32)):
        recipe, _ = at_budget(
            "csa/zinc", data, epochs=whole(1), batch_size=whole(4), learning_rate=real(1 / 8)
        )
        options = {"seed": whole(3), "accumulate": whole(2), "buckets": whole(1)}
        out = tmp_path / whole.__name__
        records.append(train(recipe, data, command="none", out=out, progress=False, **options))
    of_python, of_numpy = records
    assert of_numpy.config == of_python.config
    assert of_numpy.result == of_python.result
