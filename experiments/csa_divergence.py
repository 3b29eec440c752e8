"""Goes on from a checkpoint of CSA's diverging run, again and again, each time with one change.

    python -m experiments.csa_divergence --folder FOLDER --data zinc12k.npz --out FILE.json

Each trial trains for some epochs from the same weights and the same state of the optimizer. What
differs is what its name says: the draws of the ablated pairs, the order of the graphs, the learning
rate, or whether the molecules with the lowest targets take part.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Generator, Iterator
from pathlib import Path

import torch
from torch import Tensor

from experiments.captured import PaddedData, Run, take_turns
from gtcourse import load_dataset
from gtcourse.recipes import get_recipe
from gtcourse.runs.record import device_name, installed_versions, write_json
from gtcourse.train.checkpoint import FILENAME
from gtcourse.train.loop import device

LOW = -9.0
"""Targets below this are the tail of the distribution: molecules with a large ring."""


class Trial(Run):
    """A run whose batches or rate may be changed.

    Attributes:
        factor: of the learning rate.
        left_out: graphs that others, drawn at random, take the place of.
    """

    factor = 1.0
    left_out: Tensor | None = None

    def rate_after(self, steps: int) -> float:
        return self.factor * super().rate_after(steps)

    def batches(self, epoch: int) -> list[Tensor]:
        batches = super().batches(epoch)
        if self.left_out is None:
            return batches
        generator = torch.Generator().manual_seed(epoch)
        kept = torch.arange(self.loader.num_graphs)
        kept = kept[~torch.isin(kept, self.left_out)]
        for batch in batches:
            is_out = torch.isin(batch, self.left_out)
            others = torch.randint(len(kept), (int(is_out.sum()),), generator=generator)
            batch[is_out] = kept[others]
        return batches


def trials(run_with: dict[str, object]) -> Iterator[tuple[str, Trial]]:
    """The trials by name, ready to go on."""
    for draw in range(4):
        run = Trial(**run_with)
        run.generator.manual_seed(draw)
        yield f"other draws of ablated pairs, {draw}", run
    for order in range(1, 5):
        run = Trial(**run_with)
        run.generator.manual_seed(order)
        run.loader.seed = 1000 + order
        yield f"another order of the graphs, {order}", run
    for draw in range(2):
        run = Trial(**run_with)
        run.generator.manual_seed(draw)
        run.factor = 0.5
        yield f"half the learning rate, {draw}", run
    for draw in range(4):
        run = Trial(**run_with)
        run.generator.manual_seed(draw)
        run.left_out = (run.train.y.flatten() < LOW).nonzero()[:, 0].cpu()
        yield f"without the {len(run.left_out)} targets below {LOW:g}, {draw}", run


def curve(run: Trial, epochs: int) -> Generator[None, None, list[dict[str, float]]]:
    """The rows of so many more epochs, or of those before the loss became NaN."""
    first = len(run.history["epochs"])
    for _ in range(epochs):
        try:
            yield from run.steps_of_epoch()
        except RuntimeError:
            break
    return run.history["epochs"][first:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--recipe", default="csa-rings/zinc")
    parser.add_argument("--folder", type=Path, required=True, help=f"with the run's {FILENAME}")
    parser.add_argument("--data", required=True, help="an .npz graph file")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    recipe = get_recipe(arguments.recipe)
    data = PaddedData(recipe, load_dataset(recipe.dataset, arguments.data), device(), True)
    run_with = {"recipe": recipe, "folder": arguments.folder, "data": data, "seed": 0}
    start = time.perf_counter()
    ready = dict(trials(run_with | {"compile": True}))
    print(f"ready after {time.perf_counter() - start:.0f} s", flush=True)
    found = take_turns({name: curve(run, arguments.epochs) for name, run in ready.items()})
    seconds = time.perf_counter() - start
    record = {
        "recipe": recipe.name,
        "epochs": arguments.epochs,
        "device": device_name(),
        "versions": installed_versions(),
        "seconds": round(seconds, 1),
        "curves": found,
    }
    write_json(arguments.out, record)
    for name, rows in found.items():
        print(name, [round(row["train_loss"], 3) for row in rows])


if __name__ == "__main__":
    main()
