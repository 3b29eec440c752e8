"""The recorded runs of chapter 10: ``python -m tools.record_chapter10``, about two CPU hours.

Every model of the course at 100,000 and at 500,000 parameters, on the same molecules, with the same
optimiser, schedule and number of steps. The trained weights are kept; chapter 11 looks at them.
"""

import argparse
from functools import cache, partial

from torch import nn

from gtcourse import load_dataset
from gtcourse.encodings import encode
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.training.leaderboard import LEADERBOARD, Entry
from gtcourse.training.recipe import as_text
from gtcourse.training.records import Record
from tools.record_chapter07 import first_training
from tools.runs import command_line, record_all, record_run

TRAIN_MOLECULES = 4000
EPOCHS, BATCH_SIZE = 10, 64
PEAK_LR = 1e-3


@cache
def load(transforms: tuple) -> GraphDataset:
    return encode(first_training(load_dataset("molecules"), TRAIN_MOLECULES), *transforms)


def one_group(model: nn.Module) -> list[dict]:
    """All parameters, at a peak rate that the deepest of the models bears."""
    return [{"params": [*model.parameters()], "lr": PEAK_LR}]


def keeps_weights(entry: Entry, seed: int) -> bool:
    """All of the small models and one of each large one: what a clone can carry."""
    return entry.size == "100k" or seed == 0


def record(name: str, seed: int, args: argparse.Namespace) -> Record:
    entry = LEADERBOARD[name]
    return record_run(
        f"{name}/molecules",
        entry.build_model,
        load(entry.transforms),
        config={"model": as_text(entry.build_model), "transforms": as_text(entry.transforms)},
        seed=seed,
        epochs=args.epochs,
        batch_size=BATCH_SIZE,
        command=f"python -m tools.record_chapter10 {name} --seeds {seed} --epochs {args.epochs}",
        groups=one_group,
        weights=args.out if keeps_weights(entry, seed) else None,
    )


def main() -> None:
    args = command_line(__doc__.splitlines()[0], LEADERBOARD, EPOCHS).parse_args()
    record_all(args, partial(record, args=args))


if __name__ == "__main__":
    main()
