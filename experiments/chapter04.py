"""The recorded runs of chapter 04: ``python -m experiments.chapter04``, about an hour on one core.

The lecture's CYCLES table: four models, four training sizes. The published schedule (up to 1,000
epochs, until the learning rate has fallen below 1e-6) is cut to the same number of steps for every
size; a record's config says so under "changed".
"""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch
from torch.optim import Adam, Optimizer
from torch.optim.lr_scheduler import OneCycleLR

from gtcourse import DenseLoader, GraphBatch, device, load_dataset
from gtcourse.encodings import encode
from gtcourse.graphs.ragged import GraphDataset
from gtcourse.recipes import Recipe, get_recipe
from gtcourse.training.fit import count_parameters, evaluate, fit
from gtcourse.training.records import Record, write_record

MODELS = ("gin", "gin-pe", "gatedgcn", "gatedgcn-pe")
SIZES = (200, 500, 1000, 5000)
PEAK_LR = {"gin": 5e-4}
OTHER_PEAK_LR = 3e-3
"""Chosen on validation graphs in short runs: GIN's five sums over all nodes want a smaller rate."""

STEPS = {"gatedgcn": 400}
"""Where the number is not that of all: without PE, GatedGCN cannot learn, and need not try long."""

ROUND = 200
"""Training steps between two looks at the validation graphs: a row of the curve."""


class Rounds:
    """A loader's batches, pass after pass, cut into rounds of ``steps``: an epoch for ``fit``.

    200 graphs are 8 batches: a look at 1,000 validation graphs after each pass would take longer
    than the pass.
    """

    def __init__(self, loader: DenseLoader, steps: int):
        self.loader, self.steps = loader, steps
        self.batches = self._endless()

    def set_epoch(self, epoch: int) -> None:
        """The passes go on where they are; nothing begins again."""

    def __len__(self) -> int:
        return self.steps

    def __iter__(self) -> Iterator[GraphBatch]:
        return (next(self.batches) for _ in range(self.steps))

    def _endless(self) -> Iterator[GraphBatch]:
        while True:
            yield from self.loader


def one_cycle(optimizer: Optimizer, steps: int) -> OneCycleLR:
    return OneCycleLR(optimizer, optimizer.defaults["lr"], total_steps=steps)


@dataclass
class Prepared:
    """CYCLES with eigenvectors, computed once for all runs; models without PE do not read them."""

    data: GraphDataset
    val: DenseLoader
    test: DenseLoader


def prepare() -> Prepared:
    data = encode(load_dataset("cycles"), *get_recipe("gin-pe/cycles").transforms)
    return Prepared(
        data, *(DenseLoader(data[part], 250, device=device()) for part in ("val", "test"))
    )


def record(name: str, size: int, seed: int, steps: int, cycles: Prepared, out: Path) -> Record:
    recipe = _scaled(name, size, steps)
    loader = DenseLoader(
        cycles.data.train[:size],
        recipe.batch_size,
        shuffle=True,
        seed=seed,
        buckets=1,
        device=device(),
    )

    torch.manual_seed(seed)
    model = recipe.build_model()
    optimizer = recipe.optimizer(model.parameters())
    schedule = recipe.schedule(optimizer, steps)
    history = fit(
        model, recipe.task, Rounds(loader, ROUND), cycles.val, epochs=steps // ROUND,
        optimizer=optimizer, schedule=schedule, seed=seed, progress=False,
    )  # fmt: skip
    run = Record(
        name=f"{name}/cycles-{size}",
        config=recipe.config() | {"steps": steps, "steps_of_a_curve_row": ROUND},
        data=cycles.data.provenance | {"training_graphs_used": size},
        seed=seed,
        seconds=round(history.seconds, 1),
        parameters=count_parameters(model),
        curve=[_rounded(row) for row in history.epochs],
        result={
            "test_accuracy": round(evaluate(model, recipe.task, cycles.test)["accuracy"], 6),
            "val_accuracy": round(history.best["val_accuracy"], 6),
            "train_accuracy": round(evaluate(model, recipe.task, loader)["accuracy"], 6),
            "best_round": history.best["epoch"],
        },
        command=f"python -m experiments.chapter04 {name} --sizes {size} --seeds {seed} "
        f"--steps {steps}",
    )
    write_record(run, out / run.filename)
    return run


def _scaled(name: str, size: int, steps: int) -> Recipe:
    recipe = get_recipe(f"{name}/cycles")
    return recipe.at(
        epochs=-(-steps * recipe.batch_size // size),
        optimizer=partial(Adam, lr=PEAK_LR.get(name, OTHER_PEAK_LR)),
        schedule=one_cycle,
        stop_below_lr=None,
    )


def _rounded(row: dict[str, float]) -> dict[str, float]:
    return {
        name: value if name == "epoch" else float(f"{value:.4g}") for name, value in row.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=f"of {', '.join(MODELS)}; all by default")
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1])
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--out", type=Path, default=Path("gtcourse/recorded"))
    args = parser.parse_args()
    if args.steps < ROUND or args.steps % ROUND:
        parser.error(f"--steps is {args.steps}; expected a multiple of {ROUND}")
    cycles = prepare()
    for seed in args.seeds:
        for size in args.sizes:
            for name in args.names or MODELS:
                steps = min(args.steps, STEPS.get(name, args.steps))
                run = record(name, size, seed, steps, cycles, args.out)
                print(f"{run.name}, seed {seed}: {run.result}, {run.seconds} s", flush=True)


if __name__ == "__main__":
    main()
