"""A trained model of the course with one thing changed: how far its predictions move."""

from collections.abc import Callable, Iterable
from functools import cache, partial
from statistics import mean

import torch
from torch import Tensor, nn

from experiments.chapter07 import first_training
from experiments.runs import record_run
from gtcourse import collate, load_dataset
from gtcourse.encodings import encode
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.ragged import GraphDataset
from gtcourse.training.leaderboard import LEADERBOARD, trained

SEEDS = (0, 1, 2)
BATCH_SIZE = 100
TRAIN_MOLECULES, EPOCHS = 2000, 8
"""Of the short trainings."""

Change = Callable[[nn.Module], None]


@cache
def molecules() -> list:
    """The test molecules of every chapter."""
    return [*load_dataset("molecules").test]


@cache
def batches(transforms: tuple) -> list[GraphBatch]:
    graphs = encode(molecules(), *transforms)
    starts = range(0, len(graphs), BATCH_SIZE)
    return [collate(graphs[start : start + BATCH_SIZE]) for start in starts]


@torch.no_grad()
def predictions(model: nn.Module, given: Iterable[GraphBatch]) -> Tensor:
    return torch.cat([model(batch) for batch in given])


def changed(name: str, change: Change) -> dict[str, float]:
    """Test error before and after a change of the trained weights or of what is done with them.

    Nothing is trained again. Means over the three recorded seeds; ``moved`` is the mean distance
    between a molecule's two predictions.
    """
    given = batches(LEADERBOARD[name].transforms)
    y = torch.cat([batch.y for batch in given])
    before, after, moved = [], [], []
    for seed in SEEDS:
        model = trained(name, seed)
        first = predictions(model, given)
        change(model)
        second = predictions(model, given)
        before.append((first - y).abs().mean().item())
        after.append((second - y).abs().mean().item())
        moved.append((second - first).abs().mean().item())
    return {"before": mean(before), "after": mean(after), "moved": mean(moved)}


def short_training(name: str, build: Callable[[], nn.Module], data: GraphDataset) -> list[float]:
    """Test errors of three seeds after a few minutes' worth of chapter 07's recipe."""
    errors = []
    for seed in SEEDS:
        run = record_run(
            name, build, data, config={}, seed=seed, epochs=EPOCHS, command="", batch_size=64
        )
        errors.append(run.result["test_mae"])
        print(f"{name}, seed {seed}: {errors[-1]:.3f}, {run.seconds} s", flush=True)
    return errors


@cache
def few_molecules(transforms: tuple) -> GraphDataset:
    return encode(first_training(load_dataset("molecules"), TRAIN_MOLECULES), *transforms)


def scale_queries(model: nn.Module, factor: float) -> None:
    """Multiplies the dot products of all layers that have a module named ``query``."""
    for module in model.modules():
        if isinstance(getattr(module, "query", None), nn.Linear):
            for parameter in module.query.parameters():
                parameter.data *= factor


def count(build: Callable[[], nn.Module]) -> int:
    """Parameters, without allocating them."""
    with torch.device("meta"):
        return sum(p.numel() for p in build().parameters())


def over_heads(name: str) -> partial:
    """The change to logits divided by the root of the whole width, not of a head's."""
    heads = trained(name).config.num_heads
    return partial(scale_queries, factor=heads**-0.5)
