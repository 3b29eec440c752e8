"""Repeats the steps in which CSA's complete run diverges, and varies what follows.

    python -m experiments.csa_divergence --folder FOLDER --data zinc12k.npz --out FILE.json

FOLDER holds the checkpoint of csa-rings/zinc, seed 0, after epoch 116, on one CPU thread. Epochs
117 and 118 are trained again, with the same random numbers. From some steps of epoch 118 the run
then goes on several times through the same batches, with other draws of the ablated pairs, with a
lower learning rate, without ablation, without one of the steps, in the direct form, or in that
form with bounded logits; the rate is that of the step where it begins. The gradients of these
steps are compared with those of the readable form in float64.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from experiments.runs import store_measurement
from gtcourse import load_dataset
from gtcourse.graphs.batch import GraphBatch
from gtcourse.models import CGT
from gtcourse.recipes import get_recipe
from gtcourse.recipes.recipe import Recipe, with_form
from gtcourse.runs.run import loaders
from gtcourse.train.checkpoint import FILENAME, read_tensors

NAME = "csa-rings/zinc"
BEGIN = (205, 210, 215, 220)
"""Steps of the epoch from which the run goes on again."""

END = 243
"""The step before which each trial ends; its last steps tell whether it diverges."""

LAST = 8
"""Steps whose mean training loss is a trial's result."""

LEFT_OUT = 6
"""The first steps from the last of :data:`BEGIN`, each of which is left out once."""

CLIP = 5.0
"""Bound of the logits in the first author's earlier code (``clip`` of :class:`CGTConfig`)."""

DRAWS = 4
"""Times that a trial is done, each with other draws of the ablated pairs."""


Row = tuple[int, float, float]
"""The number of a step, its training loss, and the norm of its gradient before clipping."""


@dataclass
class Moment:
    """Everything that a step of training depends on."""

    batch: GraphBatch
    model: dict[str, Tensor]
    optimizer: dict[str, object]
    random: Tensor


def begin(recipe: Recipe, moment: Moment) -> tuple[CGT, Optimizer]:
    """The model and the optimizer as they were before a step."""
    model = recipe.build_model()
    model.load_state_dict(moment.model)
    optimizer = recipe.optimizer(model.parameters())
    optimizer.load_state_dict(deepcopy(moment.optimizer))
    return model.train(), optimizer


def step(
    recipe: Recipe, model: CGT, optimizer: Optimizer, batch: GraphBatch
) -> tuple[float, float]:
    """One step: the training loss, and the norm of the gradient before it is clipped."""
    optimizer.zero_grad()
    loss = recipe.task.loss(model(batch), batch)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), recipe.grad_clip)
    optimizer.step()
    return loss.item(), norm.item()


def original(
    recipe: Recipe, folder: Path, data: str
) -> tuple[dict[int, Moment], list[GraphBatch], list[Row]]:
    """Trains epochs 117 and 118 again, as the run did.

    Returns:
        What each step of :data:`BEGIN` begins with, the batches from the first of them to
        :data:`END`, and the number, loss and norm of the gradient of these steps.
    """
    saved = read_tensors(folder / FILENAME)
    train, _, _ = loaders(
        recipe, load_dataset(recipe.dataset, data), seed=0, buckets=1, static_shapes=False
    )
    model = recipe.build_model().train()
    model.load_state_dict(saved["model"])
    optimizer = recipe.optimizer(model.parameters())
    schedule = recipe.schedule(optimizer, recipe.epochs * len(train))
    # After the schedule is made, which sets the optimizer's rate to that of its first step.
    optimizer.load_state_dict(saved["optimizer"])
    schedule.load_state_dict(saved["schedule"])
    torch.set_rng_state(saved["random"]["cpu"][0])
    first = len(saved["history"]["epochs"])
    moments: dict[int, Moment] = {}
    batches: list[GraphBatch] = []
    rows: list[Row] = []
    for epoch in (first, first + 1):
        train.set_epoch(epoch)
        for number, batch in enumerate(train):
            if epoch == first + 1 and number in BEGIN:
                moments[number] = Moment(
                    batch,
                    deepcopy(model.state_dict()),
                    deepcopy(optimizer.state_dict()),
                    torch.get_rng_state(),
                )
            loss, norm = step(recipe, model, optimizer, batch)
            schedule.step()
            if epoch == first + 1 and BEGIN[0] <= number < END:
                batches.append(batch)
                rows.append((number, loss, norm))
    return moments, batches, rows


def trial(
    recipe: Recipe,
    moment: Moment,
    batches: list[GraphBatch],
    *,
    draw: int | None = None,
    rate: float = 1.0,
    without: int | None = None,
) -> dict[str, float]:
    """Trains on some batches, and returns the mean loss of the last and the largest norm.

    Args:
        recipe: whose model, task and clipping it is.
        moment: where to begin.
        batches: one for each step.
        draw: of the ablated pairs; without it, those of the original run follow.
        rate: factor of the learning rate.
        without: the number of a batch whose step is left out.
    """
    model, optimizer = begin(recipe, moment)
    for group in optimizer.param_groups:
        group["lr"] *= rate
    if draw is None:
        torch.set_rng_state(moment.random)
    else:
        torch.manual_seed(1000 + draw)
    losses = []
    norms = []
    for number, batch in enumerate(batches):
        if number == without:
            with torch.no_grad():  # draws what the step would have drawn
                losses.append(recipe.task.loss(model(batch), batch).item())
            continue
        loss, norm = step(recipe, model, optimizer, batch)
        losses.append(loss)
        norms.append(norm)
    return {"loss": round(mean(losses[-LAST:]), 4), "largest norm": round(max(norms), 1)}


def largest_score(recipe: Recipe, moment: Moment) -> float:
    """The largest absolute score, Q_i · K_j, of any layer, head and pair of the step's batch."""
    model, _ = begin(with_form(recipe, "direct"), moment)
    largest = []

    def hook(attention: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        h = inputs[0]  # [B, N, d]
        query, key, _ = attention.project(h, h, h)  # [B, H, N, K]
        scores = query * query.shape[-1] ** -0.5 @ key.mT  # [B, H, N, N]
        real = moment.batch.pair_mask[:, None].expand_as(scores)
        largest.append(scores[real].abs().max().item())

    for layer in model.layers:
        layer.attention.register_forward_pre_hook(hook)
    torch.set_rng_state(moment.random)
    with torch.no_grad():
        model(moment.batch)
    return max(largest)


def difference_in_float64(recipe: Recipe, moment: Moment) -> float:
    """How far the step's gradient is from that of the readable form in float64, relatively."""
    gradients = []
    for form, dtype in (("fused", torch.float32), ("direct", torch.float64)):
        model, _ = begin(with_form(recipe, form), moment)
        model.to(dtype)
        batch = in_precision(moment.batch, dtype)
        torch.set_rng_state(moment.random)
        recipe.task.loss(model(batch), batch).backward()
        gradients.append(torch.cat([p.grad.flatten().double() for p in model.parameters()]))
    found, expected = gradients
    return float((found - expected).norm() / expected.norm())


def in_precision(batch: GraphBatch, dtype: torch.dtype) -> GraphBatch:
    """The batch with its floating-point encodings and targets in another precision."""
    encodings = {
        name: values.to(dtype) if values.is_floating_point() else values
        for name, values in batch.encodings.items()
    }
    assert batch.y is not None
    return replace(batch, encodings=encodings, y=batch.y.to(dtype))


def trials(
    recipe: Recipe, moments: dict[int, Moment], batches: list[GraphBatch]
) -> Iterator[dict[str, object]]:
    """Every trial, with its conditions and its result."""
    last = BEGIN[-1]
    rest = batches[last - BEGIN[0] :]
    for number in BEGIN:
        for draw in range(DRAWS):
            found = trial(recipe, moments[number], batches[number - BEGIN[0] :], draw=draw)
            yield {"from step": number, "draw": draw, **found}
    for without in range(LEFT_OUT):
        found = trial(recipe, moments[last], rest, without=without)
        yield {"from step": last, "without step": last + without, **found}
    for rate in (0.5, 0.1):
        for draw in range(DRAWS):
            found = trial(recipe, moments[last], rest, draw=draw, rate=rate)
            yield {"from step": last, "draw": draw, "factor of the rate": rate, **found}
    config = recipe.build_model().config
    whole_config = replace(config, edge_ablation=0.0)
    whole = recipe.at(build_model=lambda: CGT(whole_config))
    found = trial(whole, moments[last], rest, draw=0)
    yield {"from step": last, "edge ablation": 0.0, **found}
    # A clip needs the direct form, which is therefore tried without one as well.
    literal = with_form(recipe, "direct")
    found = trial(literal, moments[last], rest)
    yield {"from step": last, "form": "direct", **found}
    for draw in range(DRAWS):
        found = trial(literal, moments[last], rest, draw=draw)
        yield {"from step": last, "draw": draw, "form": "direct", **found}
    clipped_config = replace(config, form="direct", clip=CLIP)
    clipped = recipe.at(build_model=lambda: CGT(clipped_config))
    for number in BEGIN:
        found = trial(clipped, moments[number], batches[number - BEGIN[0] :])
        yield {"from step": number, "clip": CLIP, **found}
    for draw in range(DRAWS):
        found = trial(clipped, moments[last], rest, draw=draw)
        yield {"from step": last, "draw": draw, "clip": CLIP, **found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help=f"with the run's {FILENAME}")
    parser.add_argument("--data", required=True, help="an .npz graph file")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    recipe = with_form(get_recipe(NAME), "fused")
    moments, batches, rows = original(recipe, arguments.folder, arguments.data)
    record: dict[str, object] = {
        "recipe": NAME,
        "steps": rows,
        "difference in float64": {
            number: difference_in_float64(recipe, moment) for number, moment in moments.items()
        },
        "largest score": {
            number: round(largest_score(recipe, moment), 1) for number, moment in moments.items()
        },
        "trials": list(trials(recipe, moments, batches)),
    }
    store_measurement(arguments.out, record, "python -m experiments.csa_divergence")


if __name__ == "__main__":
    main()
