"""One step of a recipe: model, task and optimiser fit together."""

import torch
from torch import nn

from gtcourse.graphs.batch import GraphBatch
from gtcourse.training.recipe import Recipe


def assert_a_step_is_taken_and_judged(recipe: Recipe, model: nn.Module, batch: GraphBatch) -> None:
    """The loss and all gradients are finite, and so is the score that decides."""
    optimizer = recipe.optimizer(model.parameters())
    loss = recipe.task.loss(model(batch, **recipe.task.asks), batch)
    loss.backward()
    assert loss.isfinite()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    optimizer.step()
    model.eval()
    metrics = recipe.task.metrics()
    with torch.no_grad():
        recipe.task.update(metrics, model(batch), batch)
    assert metrics.compute()[recipe.task.monitor].isfinite()
