"""FLAG, where the ascent is known: a loss that is a polyhedron in the perturbation.

Each graph's prediction is linear in its nodes, and its loss the distance from the target: as long
as that keeps its side, the gradient by δ is the same everywhere.
"""

import math
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from gtcourse.graphs import DenseLoader, collate
from gtcourse.models import Graphormer, GraphormerConfig
from gtcourse.train.flag import Flag
from gtcourse.train.loop import fit
from gtcourse.train.tasks import graph_regression
from tests.graphs.small import graph_of
from tests.train.small_run import digest, graphs, without_time

WIDTH = 3
TASK = graph_regression()
SIDES = torch.tensor([1.0, -1.0, 1.0])
"""Whether a graph's prediction lies above or below its target."""


class Linear(nn.Module):
    """w · (the sum of a graph's node vectors), padding included: FLAG must not perturb it."""

    def __init__(self, dtype=torch.float64):
        super().__init__()
        torch.manual_seed(7)
        self.config = SimpleNamespace(d_model=WIDTH)
        self.embedding = nn.Embedding(28, WIDTH, dtype=dtype)
        self.w = nn.Parameter(torch.tensor([0.5, -2.0, 1.0], dtype=dtype))
        self.seen = []

    def forward(self, batch, *, perturbation=0.0):
        if torch.is_tensor(perturbation):
            self.seen.append(perturbation.detach().clone())
        return ((self.embedding(batch.x[..., 0]) + perturbation) @ self.w).sum(1)


def batch_far_from(model):
    """Targets 10 away from the predictions, so that small perturbations keep the side."""
    batch = collate([graph_of(n, [], seed=n) for n in (2, 4, 1)])
    return replace(batch, y=model(batch).detach() - 10 * SIDES)


def ascended(delta, uphill, flag):
    """One ascent step, node by node."""
    delta = delta.numpy().copy()
    for b, n in np.ndindex(delta.shape[:2]):
        for k in range(delta.shape[2]):
            delta[b, n, k] += flag.step_size * uphill[b, n, k]
        norm = math.sqrt(sum(v**2 for v in delta[b, n]))
        if flag.bound > 0 and norm > flag.bound:
            delta[b, n] *= flag.bound / norm
    return torch.from_numpy(delta)


def uphill(model, batch):
    return SIDES[:, None, None] * batch.mask[..., None] * model.w.detach().sign()


@pytest.mark.parametrize(
    "flag", [Flag(4, 0.01), Flag(4, 0.01, 0.012), Flag(3, 0.01, 1e-4), Flag(6, 10.0, 0.003)]
)
def test_flag_equals_the_loop_over_real_nodes(flag):
    model = Linear()
    batch = batch_far_from(model)
    flag.backward(model, TASK, batch)
    assert len(model.seen) == flag.steps
    for delta in model.seen:
        assert (delta[~batch.mask] == 0).all()
        assert (delta[batch.mask] != 0).all()
        assert not flag.bound or delta.norm(dim=-1).max() <= flag.bound * (1 + 1e-12)
    for before, after in pairwise(model.seen):
        expected = ascended(before, uphill(model, batch), flag)
        torch.testing.assert_close(after, expected, rtol=1e-12, atol=1e-15)


def test_flags_gradient_is_the_mean_over_its_passes():
    model = Linear()
    flag = Flag(4, 0.01, 0.02)
    batch = batch_far_from(model)
    loss = flag.backward(model, TASK, batch)
    parameters = [*model.parameters()]
    got = [p.grad for p in parameters]
    losses = [TASK.loss(model(batch, perturbation=delta), batch) for delta in [*model.seen]]
    mean = sum(losses) / 4
    assert loss.item() == pytest.approx(mean.item(), rel=1e-12)
    for gradient, expected in zip(got, torch.autograd.grad(mean, parameters), strict=True):
        torch.testing.assert_close(gradient, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_fit_with_flag_raises_the_loss_and_takes_one_step_for_all_passes(precision):
    model = Linear(dtype=torch.float32)
    flag = Flag(3, 0.125)
    data = [graph_of(n, [], seed=n) for n in (2, 4, 1)]
    predictions = model(collate(data)).detach()
    for graph, y in zip(data, predictions - 64 * SIDES, strict=True):
        graph.y = y[None]
    loader = DenseLoader(data, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    steps = []
    optimizer.register_step_post_hook(lambda *_: steps.append(1))
    fit(
        model,
        TASK,
        loader,
        epochs=2,
        optimizer=optimizer,
        flag=flag,
        precision=precision,
        progress=False,
    )
    assert (len(steps), len(model.seen)) == (2, 6)
    (batch,) = loader
    # In bf16, Fabric hands the model the perturbation rounded to 8 bits: here by less than 0.001.
    for before, after in (model.seen[:2], model.seen[1:3], model.seen[3:5]):
        step = after.float() - before.float()
        torch.testing.assert_close(step, 0.125 * uphill(model, batch), rtol=0, atol=2e-3)


def run(folder, epochs, flag=Flag(3, 1e-2, 1e-2)):  # noqa: B008
    torch.manual_seed(0)
    config = GraphormerConfig(
        d_model=16, num_heads=2, num_layers=2, dropout=0.3, centrality=False, edges=None
    )
    model = Graphormer(config)
    train = DenseLoader(graphs(20, seed=0), 8, shuffle=True)
    history = fit(
        model, TASK, train, epochs=epochs, lr=1e-2, seed=5, out=folder, flag=flag, progress=False
    )
    return without_time(history), digest(model)


def test_a_run_with_flag_resumes_bit_for_bit(tmp_path):
    whole = run(tmp_path / "whole", 3)
    run(tmp_path / "parts", 1)
    assert run(tmp_path / "parts", 3) == whole
    assert run(None, 3, flag=None) != whole
