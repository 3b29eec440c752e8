"""A training step asks the device for nothing that the host would have to wait for.

There is no GPU in the tests. Here the models are told that they may not wait, and every operation
whose result's size or value the host needs to know is refused as it is called.
"""

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gtcourse.encodings import encode
from gtcourse.graphs import DenseLoader
from gtcourse.models import waiting
from gtcourse.training.processes import launch
from gtcourse.training.recipes import get_recipe
from gtcourse.training.step import train_step
from tests.graphs.random_graphs import graph_of

WAITS = (
    torch.ops.aten._local_scalar_dense,
    torch.ops.aten.nonzero,
    torch.ops.aten.masked_select,
    torch.ops.aten.unique_consecutive,
    torch.ops.aten._unique2,
    torch.ops.aten.repeat_interleave,
    torch.ops.aten.bincount,
)
BY_INDEX = (torch.ops.aten.index, torch.ops.aten.index_put, torch.ops.aten.index_put_)


class NeverWaits(TorchDispatchMode):
    """Refuses what a GPU would have to finish first."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        by_mask = func.overloadpacket in BY_INDEX and any(
            index is not None and index.dtype == torch.bool for index in args[1]
        )
        if by_mask or func.overloadpacket in WAITS:
            raise AssertionError(f"{func} would be waited for")
        return func(*args, **(kwargs or {}))


def molecules():
    """Small graphs like ZINC's: a chain, a ring, a node alone."""
    sizes = (5, 6, 1, 3)
    made = [
        graph_of(n, [(i, (i + 1) % n) for i in range(n if n == 6 else n - 1)], seed=n)
        for n in sizes
    ]
    for graph in made:
        both = [graph.edge_index, graph.edge_index.flip(0)]
        graph.edge_index = torch.cat(both, dim=1)
        graph.edge_attr = torch.cat([graph.edge_attr] * 2)
        del graph.distance, graph.laplacian_eigenvectors
    return made


@pytest.mark.parametrize(
    "name",
    ["graphormer-slim/zinc", "egt-500k-spe-do/zinc", "grpe-small/zinc", "csa-rings/zinc"],
)
def test_a_step_of_a_graph_transformer_waits_for_nothing(monkeypatch, name):
    monkeypatch.setattr(waiting, "may_wait", lambda tensor: False)
    recipe = get_recipe(name)
    loader = DenseLoader(encode(molecules(), *recipe.transforms), 4, few_shapes=True)
    fabric = launch("cpu", 1, "32-true")
    model = recipe.build_model()
    optimizer = recipe.optimizer(model.parameters(), fused=True)  # as a recipe's is on a GPU
    schedule = recipe.schedule(optimizer, 10)
    model, optimizer = fabric.setup(model, optimizer)
    (batch,) = loader  # cut to size by numbers that never leave the host
    with NeverWaits():
        loss = train_step(
            fabric, model, recipe.task, batch, optimizer, schedule, recipe.grad_clip, recipe.flag
        )
    assert loss.isfinite()


QUESTIONS = [
    lambda x: bool(x.any()),
    lambda x: x[x > 0],
    lambda x: x.index_put_((x > 0,), x),
    torch.nonzero,
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_are_noticed(question):
    with pytest.raises(AssertionError, match="would be waited for"), NeverWaits():
        question(torch.ones(3))


@pytest.mark.parametrize(
    "name",
    ["graphormer-slim/zinc", "egt-500k-spe-do/zinc", "grpe-small/zinc", "csa-rings/zinc"],
)
def test_without_waiting_the_predictions_and_gradients_are_the_same(monkeypatch, name):
    recipe = get_recipe(name)
    (batch,) = DenseLoader(encode(molecules(), *recipe.transforms), 4)
    torch.manual_seed(0)
    model = recipe.build_model().double().eval()

    def results():
        model.zero_grad()
        predictions = model(batch, **recipe.task.asks)
        recipe.task.loss(predictions, batch).backward()
        return recipe.task.loss(predictions, batch).detach(), [
            p.grad.clone() for p in model.parameters() if p.grad is not None
        ]

    waited = results()
    monkeypatch.setattr(waiting, "may_wait", lambda tensor: False)
    torch.testing.assert_close(results(), waited, rtol=1e-10, atol=1e-12)
