import csv
import math
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.optim.lr_scheduler import OneCycleLR, ReduceLROnPlateau

from gtcourse.encodings import AddLaplacianEigenvectors, encode
from gtcourse.graphs import MISSING_LABEL, DenseLoader
from gtcourse.graphs.io import write_tensors
from gtcourse.models import BagTransformer, BagTransformerConfig
from gtcourse.train.checkpoint import read_tensors
from gtcourse.train.loop import evaluate, fit, train_step
from gtcourse.train.tasks import graph_multiclass, graph_regression
from tests.train.small_run import EPOCHS, graphs, run, small_model, without_time


@pytest.fixture
def reference(tmp_path):
    return run(tmp_path / "reference")


@pytest.mark.parametrize("stop", [3, EPOCHS])
def test_a_run_resumed_after_any_epoch_equals_an_uninterrupted_one(tmp_path, reference, stop):
    run(tmp_path / "parts", epochs=stop)
    history, weights = run(tmp_path / "parts")
    assert weights == reference[1]
    assert without_time(history) == without_time(reference[0])
    with open(tmp_path / "parts" / "curve.csv") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == list(range(EPOCHS))
    assert not [*(tmp_path / "parts").glob(".*")]  # temporary files


def test_fit_restores_the_random_state_and_evaluation_restores_modes():
    model = small_model()
    model.eval()
    frozen = next(module for module in model.modules() if isinstance(module, torch.nn.Dropout))
    loader = DenseLoader(graphs(8, seed=0), 4)
    torch.manual_seed(7)
    expected = torch.rand(4)
    torch.manual_seed(7)
    fit(model, graph_regression(), loader, loader, epochs=1, progress=False)
    assert torch.rand(4).equal(expected)
    model.train()
    frozen.eval()
    evaluate(model, graph_regression(), loader)
    assert model.training
    assert not frozen.training


def test_validation_uses_float32_for_any_training_precision():
    model = small_model(dropout=0.0)
    val = DenseLoader(graphs(20, seed=9), 20)
    loader = DenseLoader(graphs(8, seed=0), 4)
    options = {"epochs": 1, "progress": False, "precision": "bf16-mixed"}
    history = fit(model, graph_regression(), loader, val, **options)
    expected = evaluate(model, graph_regression(), val)["mae"]
    assert history.epochs[0]["val_mae"] == pytest.approx(expected, rel=1e-6)


def run_until(stop: int, monkeypatch, folder, every: int | None) -> None:
    """A run that is interrupted after so many steps."""
    steps = iter(range(stop))

    def until(*arguments):
        if next(steps, None) is None:
            raise KeyboardInterrupt
        return train_step(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr("gtcourse.train.loop.train_step", until)
        with pytest.raises(KeyboardInterrupt):
            run(folder, checkpoint_every=every)


@pytest.mark.parametrize(("every", "stop"), [(1, 7), (2, 14), (3, 22)])
def test_a_run_resumed_within_an_epoch_equals_an_uninterrupted_one(
    tmp_path, monkeypatch, reference, every, stop
):
    """Of 6 epochs of 5 batches, stopped after so many; with dropout and shuffled graphs."""
    folder = tmp_path / "parts"
    run_until(stop, monkeypatch, folder, every)
    whole, rest = divmod(stop, 5)
    reached = rest - rest % every
    made = []
    monkeypatch.setattr(
        "gtcourse.train.loop.train_step", lambda *a: made.append(1) or train_step(*a)
    )
    history, weights = run(folder, checkpoint_every=every)
    assert len(made) == 30 - 5 * whole - reached
    assert weights == reference[1]
    assert without_time(history) == without_time(reference[0])


def test_fit_loads_the_weights_with_the_best_validation_score():
    task = graph_regression()
    val = DenseLoader(graphs(20, seed=1000), 8)
    model = small_model()
    history = fit(
        model, task, DenseLoader(graphs(40, seed=0), 8), val, epochs=8, lr=0.05, progress=False
    )
    best = min(history.column("val_mae"))
    assert history.best["val_mae"] == best
    assert history.epochs[-1]["val_mae"] > best  # otherwise this test shows nothing
    assert evaluate(model, task, val)["mae"] == pytest.approx(best, rel=1e-6)


def test_mae_is_the_mean_over_graphs_not_over_batches():
    model = small_model().eval()
    data = graphs(7, seed=0)
    data[-1].y = torch.tensor([100.0])  # alone in the last batch of three
    errors = []
    for graph in data:
        (batch,) = DenseLoader([graph], 1)
        errors.append((model(batch) - graph.y).abs().item())
    mae = evaluate(model, graph_regression(), DenseLoader(data, 3))["mae"]
    assert mae == pytest.approx(sum(errors) / 7, rel=1e-5)


def test_fit_equals_a_loop_over_batches():
    model = small_model()
    by_hand = small_model()
    loader = DenseLoader(graphs(12, seed=0), 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    fit(model, graph_regression(), loader, epochs=1, optimizer=optimizer, seed=5, progress=False)
    torch.manual_seed(5)
    for batch in loader:
        loss = (by_hand(batch) - batch.y).abs().mean()
        parameters = [*by_hand.parameters()]
        for p, gradient in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
            p.data -= 0.1 * gradient
    for p, expected in zip(model.parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(p, expected)


def test_gradients_are_clipped():
    model = small_model()
    before = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    loader = DenseLoader(graphs(8, seed=0), 8)
    fit(
        model,
        graph_regression(),
        loader,
        epochs=1,
        optimizer=optimizer,
        grad_clip=1e-3,
        progress=False,
    )
    moved = [p.detach() - b for p, b in zip(model.parameters(), before, strict=True)]
    step = math.sqrt(sum(change.square().sum().item() for change in moved))
    assert step == pytest.approx(1e-3, rel=1e-2)


class Tiny(torch.nn.Module):
    """Small enough to compile in a test: an embedding, a mean, a number."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = torch.nn.Embedding(28, 4)
        self.head = torch.nn.Linear(4, 1)

    def forward(self, batch):
        h = self.embedding(batch.x[..., 0]) * batch.mask[..., None]
        return self.head(h.mean(1))[:, 0]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs a C++ compiler")
def test_a_compiled_model_trains_like_the_eager_one_and_shares_checkpoints(tmp_path):
    eager = Tiny()
    compiled = Tiny()
    of_one_size = [graph for graph in graphs(100, seed=0) if graph.num_nodes == 5][:16]
    assert len(of_one_size) == 16  # each other size would be compiled again
    for model, options in ((eager, {}), (compiled, {"compile": True, "out": tmp_path})):
        loader = DenseLoader(of_one_size, 8, shuffle=True)
        fit(model, graph_regression(), loader, epochs=2, progress=False, **options)
    for ours, theirs in zip(eager.parameters(), compiled.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)
    state = torch.load(tmp_path / "last.ckpt", weights_only=True)
    assert state["model"].keys() == eager.state_dict().keys()


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"seed": 6}, "seed"),
        ({"task": replace(graph_regression(), name="other")}, "task"),
        ({"dropout": 0.2}, "dropout"),  # the weights have the same shapes
        ({"schedule": None}, "schedule"),
        ({"momentum": 0.9}, "optimizer"),
        ({"grad_clip": 1.0}, "grad_clip"),
        ({"loader_seed": 1}, "order of the graphs"),
    ],
)
def test_resuming_from_the_checkpoint_of_another_run_raises(tmp_path, changes, name):
    run(tmp_path, epochs=1)
    with pytest.raises(ValueError, match=f"belongs to another run, different in {name};"):
        run(tmp_path, epochs=2, **changes)


def test_fields_of_another_models_checkpoint_are_not_completed(tmp_path):
    """The other model has no field ``num_targets``, whose default this one uses."""
    run(tmp_path, epochs=1)
    state = read_tensors(tmp_path / "last.ckpt")
    assert state["run"].pop("num_targets") == "1"
    state["run"]["num_classes"] = "10"
    write_tensors(tmp_path / "last.ckpt", state)
    with pytest.raises(ValueError, match="run, different in num_classes, num_targets; expected"):
        run(tmp_path, epochs=2)


@pytest.mark.parametrize("every", [None, 3])
def test_a_loss_that_is_not_finite_ends_the_run_and_leaves_no_checkpoint(tmp_path, every):
    train = DenseLoader(graphs(8, seed=0), 2)
    with pytest.raises(RuntimeError, match=r"the training loss is (inf|nan) in epoch 0; expected"):
        fit(
            small_model(),
            graph_regression(),
            train,
            epochs=3,
            lr=1e30,
            out=tmp_path,
            checkpoint_every=every,
            progress=False,
        )
    assert not [*tmp_path.iterdir()]


def test_predictions_that_are_not_finite_end_the_run_after_its_last_step(tmp_path):
    """The loss of the only step is finite, and the weights after it are too large."""
    train, val = (DenseLoader(graphs(8, seed=seed), 8) for seed in (0, 20))
    model = small_model()
    with pytest.raises(RuntimeError, match=r"a prediction of .* is not a finite number; expected"):
        fit(model, graph_regression(), train, val, epochs=1, lr=1e30, out=tmp_path, progress=False)
    assert not [*tmp_path.iterdir()]


class Outputs(torch.nn.Module):
    """The same two outputs for every graph."""

    def __init__(self, *outputs: float):
        super().__init__()
        self.outputs = torch.nn.Parameter(torch.tensor(outputs))

    def forward(self, batch):
        return self.outputs.expand(batch.num_graphs, -1)


@pytest.mark.parametrize("excluded", [-torch.inf, torch.inf, torch.nan])
def test_an_output_of_minus_infinity_excludes_a_class(excluded):
    some = graphs(8, seed=0)
    for graph in some:
        graph.y = torch.tensor([0])
    loader = DenseLoader(some, 8)
    task = graph_multiclass(2)
    if excluded == -torch.inf:
        assert evaluate(Outputs(0.0, excluded), task, loader) == {"accuracy": 1.0}
    else:
        with pytest.raises(RuntimeError, match="a prediction of Outputs is not a finite number"):
            evaluate(Outputs(0.0, excluded), task, loader)
    with pytest.raises(RuntimeError, match="a prediction of Outputs is not a finite number"):
        evaluate(Outputs(excluded, excluded), task, loader)


@pytest.mark.parametrize(
    ("end", "trained"),
    [({"stop_below_lr": 1e-4}, 1), ({"on_epoch_end": lambda model, row: row["epoch"] == 1}, 2)],
)
def test_a_schedule_may_end_with_a_training_that_ends_early(end, trained):
    """The schedule has two steps, and of five epochs of one step, no more than two are trained."""
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    schedule = OneCycleLR(optimizer, max_lr=1e-3, total_steps=2)
    options = {"optimizer": optimizer, "schedule": schedule, "progress": False} | end
    train = DenseLoader(graphs(8, seed=0), 8)
    assert len(fit(model, graph_regression(), train, epochs=5, **options).epochs) == trained


def test_a_run_is_not_resumed_with_weights_of_another_type(tmp_path):
    train = DenseLoader(graphs(8, seed=0), 4)
    options = {"out": tmp_path, "progress": False}
    fit(small_model(), graph_regression(), train, epochs=1, **options)
    with pytest.raises(ValueError, match="different in type of the weights; expected the same"):
        fit(small_model().double(), graph_regression(), train, epochs=2, **options)
    state = read_tensors(tmp_path / "last.ckpt")
    assert state["run"].pop("type of the weights") == "['torch.float32']"  # as an earlier release
    write_tensors(tmp_path / "last.ckpt", state)
    assert fit(small_model(), graph_regression(), train, epochs=2, **options).steps == 4


def test_the_plateau_schedule_lowers_the_rate_until_the_run_stops():
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    schedule = ReduceLROnPlateau(optimizer, factor=0.5, patience=1, threshold=0.1)
    train, val = (DenseLoader(graphs(8, seed=seed), 4) for seed in (0, 20))
    history = fit(
        model,
        graph_regression(),
        train,
        val,
        epochs=50,
        optimizer=optimizer,
        schedule=schedule,
        stop_below_lr=2e-7,
        progress=False,
    )
    assert schedule.best == history.column("val_mae")[0]
    assert [history.column("lr")[i] for i in (0, -1)] == [1e-6, 2.5e-7]
    assert optimizer.param_groups[0]["lr"] == 1.25e-7


# Gradient accumulation.


def one_epoch(batch_size: int, data: list, model=None, **options) -> dict[str, torch.Tensor]:
    """Gradients and weights after an epoch in float64, without anything random."""
    model = small_model(dropout=0.0).double() if model is None else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = DenseLoader(data, batch_size)
    task = options.pop("task", graph_regression())
    fit(model, task, loader, epochs=1, optimizer=optimizer, progress=False, **options)
    found = {f"gradient of {name}": p.grad for name, p in model.named_parameters()}
    return found | {name: p.detach() for name, p in model.named_parameters()}


def with_missing_targets() -> list:
    """Eight graphs; their batches of two have 1, 2, 0 and 2 known targets."""
    data = graphs(8, seed=0)
    for i in (1, 4, 5):
        data[i].y = torch.tensor([math.nan])
    return data


@pytest.mark.parametrize("grad_clip", [None, 1e-2])
def test_accumulated_batches_have_the_gradient_of_one_large_batch(grad_clip):
    data = with_missing_targets()
    large = one_epoch(8, data, grad_clip=grad_clip)
    accumulated = one_epoch(2, data, accumulate=4, grad_clip=grad_clip)
    assert any(gradient.abs().max() > 1e-4 for gradient in large.values())
    torch.testing.assert_close(accumulated, large, rtol=1e-10, atol=1e-12)
    apart = one_epoch(2, data, grad_clip=grad_clip)  # four steps
    assert any(not torch.allclose(apart[name], large[name], rtol=1e-6) for name in large)


def test_the_last_step_of_an_epoch_accumulates_the_remaining_batches():
    """Five batches of two, two to a step: the last step is that of the last batch alone."""
    data = graphs(10, seed=0)
    steps = []
    model = small_model(dropout=0.0).double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: steps.append(step) or 1.0)
    history = fit(
        model,
        graph_regression(),
        DenseLoader(data, 2),
        epochs=1,
        optimizer=optimizer,
        schedule=schedule,
        accumulate=2,
        progress=False,
    )
    assert history.steps == 3
    assert steps == [0, 1, 2, 3]
    by_hand = small_model(dropout=0.0).double()
    for part in (data[:4], data[4:8], data[8:]):
        one_epoch(4, part, by_hand)
    for p, expected in zip(model.parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(p, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("stop", [2, 4])
def test_a_run_with_accumulation_can_be_resumed_within_an_epoch(tmp_path, monkeypatch, stop):
    """Epochs of five batches, in steps of two, two and one."""
    whole = run(tmp_path / "whole", epochs=2, accumulate=2)
    steps = iter(range(stop))

    def until(*arguments):
        if next(steps, None) is None:
            raise KeyboardInterrupt
        return train_step(*arguments)

    options = {"epochs": 2, "accumulate": 2, "checkpoint_every": 1}
    with monkeypatch.context() as patch:
        patch.setattr("gtcourse.train.loop.train_step", until)
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path / "parts", **options)
    history, weights = run(tmp_path / "parts", **options)
    assert weights == whole[1]
    assert without_time(history) == without_time(whole[0])


# The hook.


def test_the_epoch_hook_reads_each_row_and_does_not_change_training(tmp_path, reference):
    rows = []

    def hook(model, row):
        torch.rand(3)
        evaluate(model, graph_regression(), DenseLoader(graphs(4, seed=0), 4))
        rows.append(dict(row))
        row.clear()  # its own copy

    history, weights = run(tmp_path / "hooked", on_epoch_end=hook)
    assert rows == history.epochs
    assert weights == reference[1]


def test_the_epoch_hook_can_end_training_after_the_epochs_checkpoint(tmp_path):
    history, _ = run(tmp_path, on_epoch_end=lambda model, row: row["epoch"] == 1)
    assert history.column("epoch") == [0, 1]
    longer, _ = run(tmp_path, epochs=3)
    assert longer.epochs[:2] == history.epochs


# What would be done silently, or not at all.


def other_data() -> list:
    data = graphs(40, seed=0)
    data[7].y = data[7].y + 1
    return data


def test_resuming_with_different_graphs_raises(tmp_path):
    def begin(*data: list) -> None:
        loaders = [DenseLoader(each, 8) for each in data]
        fit(small_model(), graph_regression(), *loaders, epochs=1, out=tmp_path, progress=False)

    same = graphs(40, seed=0)
    begin(same, same)
    begin(same, same)
    for data in ((other_data(), same), (same, other_data())):
        with pytest.raises(ValueError, match="belongs to another run, different in data;"):
            begin(*data)


def test_a_checkpoint_of_an_earlier_release_can_be_resumed(tmp_path, reference):
    run(tmp_path, epochs=3)
    path = tmp_path / "last.ckpt"
    state = torch.load(path, weights_only=True)
    for name in ("data", "accumulate", "precision", "encodings"):
        del state["run"][name]
    torch.save(state, path)
    assert run(tmp_path)[1] == reference[1]


def test_resuming_with_different_encodings_precision_or_fewer_epochs_raises(tmp_path):
    def begin(normalization: str, **options) -> None:
        encoding = AddLaplacianEigenvectors(2, normalization=normalization)
        loader = DenseLoader(encode(graphs(8, seed=0), encoding), 8)
        options = {"epochs": 2, "out": tmp_path, "progress": False} | options
        fit(small_model(), graph_regression(), loader, **options)

    begin("combinatorial")
    begin("combinatorial")
    with pytest.raises(ValueError, match="belongs to another run, different in encodings;"):
        begin("symmetric")
    with pytest.raises(ValueError, match="belongs to another run, different in precision;"):
        begin("combinatorial", precision="bf16-mixed")
    with pytest.raises(ValueError, match=r"epochs is 1, and the run in .* has 2 epochs already;"):
        begin("combinatorial", epochs=1)


@pytest.mark.parametrize("ends", [True, np.bool_(True), torch.tensor(True)], ids=repr)
def test_the_epoch_hook_accepts_booleans_of_python_numpy_and_pytorch(ends):
    loader = DenseLoader(graphs(8, seed=0), 8)
    options = {"epochs": 3, "progress": False, "on_epoch_end": lambda model, row: ends}
    assert len(fit(small_model(), graph_regression(), loader, **options).epochs) == 1


def test_a_plateau_schedule_in_the_wrong_direction_raises():
    model = small_model()
    optimizer = torch.optim.Adam(model.parameters())
    loader = DenseLoader(graphs(8, seed=0), 8)
    given = {"optimizer": optimizer, "schedule": ReduceLROnPlateau(optimizer, "max"), "epochs": 1}
    with pytest.raises(
        ValueError, match="schedule has the mode 'max', but the best mae is the minimum; expe"
    ):
        fit(model, graph_regression(), loader, loader, **given)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"epochs": 0}, "epochs is 0; expected a number above 0."),
        ({"epochs": 1.5}, "epochs is 1.5; expected a whole number above 0."),
        ({"lr": -1.0}, "lr is -1.0; expected a number that is 0 or more."),
        ({"lr": math.nan}, "lr is nan; expected a number that is 0 or more."),
        ({"grad_clip": 0.0}, "grad_clip is 0.0; expected a number above 0."),
        ({"accumulate": 0}, "accumulate is 0; expected a number above 0."),
        ({"devices": 0}, "devices is 0; expected a number above 0."),
        ({"seed": -1}, "seed is -1; expected a number that is 0 or more."),
        ({"precision": "bf16"}, "precision is 'bf16'; expected one of '32-true', 'bf16-mixed'."),
        ({"compile": "yes"}, "compile is 'yes'; expected True or False."),
        ({"checkpoint_every": 3}, "checkpoint_every has no effect without out; expected a folder."),
        ({"tensorboard": True}, "tensorboard has no effect without out; expected a folder."),
    ],
    ids=str,
)
def test_a_setting_that_is_not_allowed_or_has_no_effect_raises(options, says):
    model = small_model()
    before = [p.clone() for p in model.parameters()]
    loader = DenseLoader(graphs(4, seed=0), 4)
    with pytest.raises(ValueError, match=f"^{re.escape(says)}$"):
        fit(model, graph_regression(), loader, **{"epochs": 1, "progress": False} | options)
    assert all(torch.equal(p, b) for p, b in zip(model.parameters(), before, strict=True))


def test_an_optimizer_of_another_model_or_a_schedule_of_another_optimizer_raises():
    model = small_model()
    other = small_model()
    own, foreign = (torch.optim.SGD(each.parameters(), lr=0.1) for each in (model, other))
    schedule = torch.optim.lr_scheduler.LinearLR(foreign)
    loader = DenseLoader(graphs(4, seed=0), 4)
    for options, says in (
        ({"optimizer": own, "lr": 0.1}, "lr is 0.1, which has no effect because the optimizer"),
        (
            {"optimizer": foreign},
            "optimizer has none of the model's parameters; expected model.par",
        ),
        ({"optimizer": own, "schedule": schedule}, "schedule belongs to another optimizer; expect"),
        (
            {"schedule": schedule},
            "schedule belongs to another optimizer; expected a schedule of op",
        ),
    ):
        with pytest.raises(ValueError, match=says):
            fit(model, graph_regression(), loader, epochs=1, progress=False, **options)


def test_graphs_without_targets_raise_in_training_and_evaluation():
    model = small_model()
    data = graphs(4, seed=0)
    labelled = DenseLoader(data, 4)
    for graph in data:
        del graph.y
    unlabelled = DenseLoader(data, 4)
    with pytest.raises(ValueError, match="the graphs have no targets y; expected one for each"):
        evaluate(model, graph_regression(), unlabelled)
    for loaders in ((unlabelled, labelled), (labelled, unlabelled)):
        with pytest.raises(ValueError, match="the graphs have no targets y; expected one for each"):
            fit(model, graph_regression(), *loaders, epochs=1, progress=False)


def test_the_metric_is_nan_if_all_targets_are_missing():
    """The accuracy of no target would be 0."""
    data = graphs(4, seed=0)
    model = small_classifier()
    for graph, label in zip(data, (0, 2, 1, 0), strict=True):
        graph.y = torch.tensor([label])
    assert 0 <= evaluate(model, graph_multiclass(3), DenseLoader(data, 4))["accuracy"] <= 1
    for graph in data:
        graph.y = torch.tensor([MISSING_LABEL])
    assert math.isnan(evaluate(model, graph_multiclass(3), DenseLoader(data, 4))["accuracy"])
    data[2].y = torch.tensor([3])
    with pytest.raises(ValueError, match="a target is 3; expected classes, 0 to 2"):
        evaluate(model, graph_multiclass(3), DenseLoader(data, 4))


def small_classifier() -> BagTransformer:
    config = BagTransformerConfig(d_model=16, num_heads=2, d_hidden=16, num_targets=3)
    return BagTransformer(config)


def test_fit_learns_where_gradients_are_off():
    model = small_model()
    before = [values.clone() for values in model.parameters()]
    loader = DenseLoader(graphs(8, seed=0), 4)
    with torch.no_grad():
        fit(model, graph_regression(), loader, epochs=1, progress=False)
        assert not torch.is_grad_enabled()
    assert any(not old.equal(new) for old, new in zip(before, model.parameters(), strict=True))


def test_errors_of_float64_targets_are_computed_in_float64():
    """In float32, 2**24 + 1 is 2**24."""

    class Constant(torch.nn.Module):
        def forward(self, batch):
            return torch.full((batch.num_graphs,), 2.0**24 + 1, dtype=torch.float64)

    some = graphs(4, seed=0)
    for graph in some:
        graph.y = torch.tensor([2.0**24 + 4], dtype=torch.float64)
    assert evaluate(Constant(), graph_regression(), DenseLoader(some, 2)) == {"mae": 3.0}


def test_masks_of_nodes_are_no_fault_where_the_target_belongs_to_the_graph():
    """The graph around a node of one of PyG's data sets keeps the masks of the whole graph."""
    around = graphs(3, seed=0)
    for graph in around:
        graph.train_mask = torch.ones(graph.num_nodes, dtype=torch.bool)
    score = evaluate(small_model(), graph_regression(), DenseLoader(around, 3))
    assert torch.isfinite(torch.tensor([*score.values()])).all()
