"""Chapter 04: ``python -m experiments.chapter04``, about an hour on one core.

The lecture's CYCLES table: four models, four training sizes. The published schedule (up to 1,000
epochs, until the learning rate has fallen below 1e-6) is cut to the same number of steps for every
size; a record's config lists this under "changed".
"""

import argparse
from collections.abc import Iterator
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path

import torch
from torch import nn
from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import OneCycleLR

from experiments.runs import records_of, store
from gtcourse import DenseLoader, GraphBatch, device, load_dataset
from gtcourse.encodings import encode
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.recipes import get_recipe
from gtcourse.runs.record import Record
from gtcourse.train.loop import count_parameters, evaluate, fit

MODELS = ("gin", "gin-pe", "gatedgcn", "gatedgcn-pe")
SIZES = (200, 500, 1000, 5000)
PEAK_LR = dict.fromkeys(MODELS, 3e-3) | {"gin": 5e-4}
"""Chosen on validation graphs in short runs: GIN's five sums over all nodes want a smaller rate."""

MAX_STEPS = {"gatedgcn": 400}  # without PE it cannot learn, and need not try long
ROUND = 200
"""Training steps between two looks at the validation graphs: a row of the curve."""


class Rounds:
    """A loader's batches, pass after pass, cut into rounds of ``ROUND``: an epoch for ``fit``.

    200 graphs are 8 batches: validation after each pass would take longer than the pass.
    """

    def __init__(self, loader: DenseLoader):
        self.targets = loader.targets
        self.batches = chain.from_iterable(repeat(loader))

    def set_epoch(self, *_: int) -> None:
        """The passes go on where they are."""

    def __len__(self) -> int:
        return ROUND

    def __iter__(self) -> Iterator[GraphBatch]:
        return islice(self.batches, ROUND)


def one_cycle(optimizer: Optimizer, steps: int) -> OneCycleLR:
    return OneCycleLR(optimizer, optimizer.defaults["lr"], total_steps=steps)


def train(
    name: str, size: int, seed: int, steps: int, data: GraphDataset
) -> tuple[Record, nn.Module]:
    """The record of a run on the first ``size`` graphs, and the trained model."""
    recipe = get_recipe(f"{name}/cycles")
    recipe = recipe.at(
        epochs=-(-steps * recipe.batch_size // size),
        optimizer=partial(Adam, lr=PEAK_LR[name]),
        schedule=one_cycle,
        stop_below_lr=None,
    )
    training = DenseLoader(
        data.train[:size], recipe.batch_size, shuffle=True, seed=seed, buckets=1, device=device()
    )
    val, test = (DenseLoader(data[part], 250, device=device()) for part in ("val", "test"))
    torch.manual_seed(seed)
    model = recipe.build_model()
    optimizer = recipe.optimizer(model.parameters())
    history = fit(
        model,
        recipe.task,
        Rounds(training),
        val,
        epochs=steps // ROUND,
        optimizer=optimizer,
        schedule=recipe.schedule(optimizer, steps),
        seed=seed,
        progress=False,
    )
    accuracy = {
        "test_accuracy": evaluate(model, recipe.task, test)["accuracy"],
        "val_accuracy": history.best["val_accuracy"],
        "train_accuracy": evaluate(model, recipe.task, training)["accuracy"],
    }
    record = Record(
        name=f"{name}/cycles-{size}",
        config=recipe.config() | {"steps": steps, "steps_of_a_curve_row": ROUND},
        data=data.provenance | {"training_graphs_used": size},
        seed=seed,
        seconds=round(history.seconds, 1),
        parameters=count_parameters(model),
        curve=[
            {key: value if key == "epoch" else float(f"{value:.4g}") for key, value in row.items()}
            for row in history.epochs
        ],
        result={key: round(value, 6) for key, value in accuracy.items()}
        | {"best_round": history.best["epoch"]},
        command=f"python -m experiments.chapter04 {name} --sizes {size} --seeds {seed} "
        f"--steps {steps}",
    )
    return record, model


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MODELS)}; all by default")
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1])
    parser.add_argument("--steps", type=int, default=4000, help=f"a multiple of {ROUND}")
    parser.add_argument("--out", type=Path, default=records_of("chapter04"))
    args = parser.parse_args()
    # With eigenvectors, computed once for all; models without PE do not read them.
    cycles = encode(load_dataset("cycles"), *get_recipe("gin-pe/cycles").transforms)
    for seed in args.seeds:
        for size in args.sizes:
            for name in args.names or MODELS:
                steps = min(args.steps, MAX_STEPS.get(name, args.steps))
                record, _ = train(name, size, seed, steps, cycles)
                store(record, args.out)
