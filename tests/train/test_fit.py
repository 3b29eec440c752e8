import csv
import math
import shutil
from dataclasses import replace

import pytest
import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

from gtcourse.graphs import DenseLoader
from gtcourse.train.loop import evaluate, fit, train_step
from gtcourse.train.tasks import graph_regression
from tests.train.small_run import EPOCHS, graphs, run, small_model, without_time


@pytest.fixture
def reference(tmp_path):
    return run(tmp_path / "reference")


@pytest.mark.parametrize("stop", [3, EPOCHS])
def test_a_run_continued_from_any_epoch_is_the_same_run(tmp_path, reference, stop):
    run(tmp_path / "parts", epochs=stop)
    history, weights = run(tmp_path / "parts")
    assert weights == reference[1]
    assert without_time(history) == without_time(reference[0])
    with open(tmp_path / "parts" / "curve.csv") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["epoch"]) for row in rows] == list(range(EPOCHS))
    assert not [*(tmp_path / "parts").glob(".*")]  # temporary files


def test_the_global_random_state_is_left_alone_and_modes_are_restored():
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


def test_validation_is_in_float32_whatever_the_precision_of_training():
    model, val = small_model(dropout=0.0), DenseLoader(graphs(20, seed=9), 20)
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
def test_a_run_continued_in_the_middle_of_an_epoch_is_the_same_run(
    tmp_path, monkeypatch, reference, every, stop
):
    """Of 6 epochs of 5 batches, stopped after so many; with dropout and shuffled graphs."""
    folder = tmp_path / "parts"
    run_until(stop, monkeypatch, folder, every)
    whole, rest = divmod(stop, 5)
    reached, made = rest - rest % every, []
    monkeypatch.setattr(
        "gtcourse.train.loop.train_step", lambda *a: made.append(1) or train_step(*a)
    )
    history, weights = run(folder, checkpoint_every=every)
    assert len(made) == 30 - 5 * whole - reached
    assert weights == reference[1]
    assert without_time(history) == without_time(reference[0])


def test_the_model_ends_with_its_best_weights_by_validation():
    task, val = graph_regression(), DenseLoader(graphs(20, seed=1000), 8)
    model = small_model()
    history = fit(
        model, task, DenseLoader(graphs(40, seed=0), 8), val, epochs=8, lr=0.05, progress=False
    )
    best = min(history.column("val_mae"))
    assert history.best["val_mae"] == best
    assert history.epochs[-1]["val_mae"] > best  # otherwise this test shows nothing
    assert evaluate(model, task, val)["mae"] == pytest.approx(best, rel=1e-6)


def test_mae_is_the_mean_over_graphs_and_not_of_batch_means():
    model, data = small_model().eval(), graphs(7, seed=0)
    data[-1].y = torch.tensor([100.0])  # alone in the last batch of three
    errors = []
    for graph in data:
        (batch,) = DenseLoader([graph], 1)
        errors.append((model(batch) - graph.y).abs().item())
    mae = evaluate(model, graph_regression(), DenseLoader(data, 3))["mae"]
    assert mae == pytest.approx(sum(errors) / 7, rel=1e-5)


def test_a_step_follows_the_gradient_of_its_own_batch_alone_with_the_seeds_dropout():
    model, by_hand = small_model(), small_model()
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
    fit(model, graph_regression(), loader, epochs=1, optimizer=optimizer, grad_clip=1e-3,
        progress=False)  # fmt: skip
    moved = [p.detach() - b for p, b in zip(model.parameters(), before, strict=True)]
    step = math.sqrt(sum(change.square().sum().item() for change in moved))
    assert step == pytest.approx(1e-3, rel=1e-2)


class Tiny(torch.nn.Module):
    """Small enough to compile in a test: an embedding, a mean, a number."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embedding, self.head = torch.nn.Embedding(28, 4), torch.nn.Linear(4, 1)

    def forward(self, batch):
        h = self.embedding(batch.x[..., 0]) * batch.mask[..., None]
        return self.head(h.mean(1))[:, 0]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("g++"), reason="torch.compile needs a C++ compiler")
def test_compiling_trains_the_callers_model_and_its_checkpoint_fits_it(tmp_path):
    eager, compiled = Tiny(), Tiny()
    for model, options in ((eager, {}), (compiled, {"compile": True, "out": tmp_path})):
        loader = DenseLoader(graphs(16, seed=0), 8, shuffle=True)
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
def test_a_checkpoint_of_another_run_raises(tmp_path, changes, name):
    run(tmp_path, epochs=1)
    with pytest.raises(ValueError, match=f"belongs to another run, different in {name};"):
        run(tmp_path, epochs=2, **changes)


@pytest.mark.parametrize("every", [None, 3])
def test_a_loss_that_is_no_number_any_more_ends_the_run_and_is_not_kept(tmp_path, every):
    train = DenseLoader(graphs(8, seed=0), 2)
    with pytest.raises(RuntimeError, match=r"the training loss is (inf|nan) in epoch 0; expected"):
        fit(small_model(), graph_regression(), train, epochs=3, lr=1e30, out=tmp_path,
            checkpoint_every=every, progress=False)  # fmt: skip
    assert not [*tmp_path.iterdir()]


def test_the_rate_follows_the_validation_metric_until_it_is_below_the_limit():
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    schedule = ReduceLROnPlateau(optimizer, factor=0.5, patience=1, threshold=0.1)
    train, val = (DenseLoader(graphs(8, seed=seed), 4) for seed in (0, 20))
    history = fit(
        model, graph_regression(), train, val, epochs=50, optimizer=optimizer, schedule=schedule,
        stop_below_lr=2e-7, progress=False,
    )  # fmt: skip
    assert schedule.best == history.column("val_mae")[0]
    assert [history.column("lr")[i] for i in (0, -1)] == [1e-6, 2.5e-7]
    assert optimizer.param_groups[0]["lr"] == 1.25e-7
