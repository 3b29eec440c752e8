"""Trains csa-rings with the complete protocol and bounded logits, and records how far it has come.

    python -m experiments.csa_bounded --folder FOLDER --data zinc12k.npz   # starts, or resumes
    python -m experiments.csa_bounded --folder CONTROL --data zinc12k.npz --clip inf
    python -m experiments.csa_bounded --folder FOLDER --control CONTROL --out RECORD.json

The last command stores the curves so far. The control has the same seed and no bound. A few of its
epochs show whether it begins as the run that diverged did.

The bound is that of the first author's earlier code (see :mod:`experiments.csa_divergence`). Two
thousand epochs take about a day of one core. The record states the commit that the run began with.
Until our run is complete, ``experiments/csa-rings-bounded.safetensors`` holds its weights, in case
its folder is lost.
"""

import argparse
import csv
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

from experiments.csa_divergence import CLIP, NAME
from experiments.runs import store_measurement
from gtcourse.models import CGT
from gtcourse.recipes import get_recipe
from gtcourse.recipes.recipe import Recipe, with_form
from gtcourse.runs import run

COMMAND = "python -m experiments.csa_bounded"
RUN = "run.json"
"""What a run's folder says of the run."""


def with_bound(clip: float) -> Recipe:
    recipe = with_form(get_recipe(NAME), "fused")
    config = recipe.build_model.args[0]
    return recipe.at(build_model=partial(CGT, replace(config, clip=clip)))


def rows_of_curve(folder: Path) -> list[dict[str, str]]:
    with (folder / "curve.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def curve_so_far(folder: Path) -> list[dict[str, float]]:
    """Training and validation error of each epoch that the run has finished."""
    return [
        {
            "epoch": int(row["epoch"]),
            "train_loss": round(float(row["train_loss"]), 4),
            "val_mae": round(float(row["val_mae"]), 4),
        }
        for row in rows_of_curve(folder)
    ]


def seconds_of_epochs(folder: Path) -> list[float]:
    return [float(row["seconds"]) for row in rows_of_curve(folder)]


def on_gpu(captured: list[dict], seconds: list[float]) -> list[dict]:
    """Which GPU computed which epochs, and how long an epoch took there; a CPU computed the rest.

    Args:
        captured: Parts of the run that :mod:`experiments.csa_step` computed.
        seconds: Of each epoch of the whole run, with its validation.
    """
    return [
        part | {"median seconds": round(median(seconds[part["first epoch"] : part["end"]]), 4)}
        for part in captured
    ]


def curves(folder: Path, control: Path) -> dict[str, object]:
    """What the record says of the two runs.

    The control is on a CPU. The run may have parts on a GPU (:mod:`experiments.csa_complete`).

    Raises:
        ValueError: They differ in more than the bound.
    """
    bounded = json.loads((folder / RUN).read_text(encoding="utf-8"))
    captured = bounded.pop("captured", [])  # what a GPU computed
    free = json.loads((control / RUN).read_text(encoding="utf-8"))
    expected = json.dumps(bounded).replace(f"clip={CLIP}", "clip=inf")
    if bounded == free or json.loads(expected) != free:
        raise ValueError(
            f"{folder} and {control} are not the same run with clip={CLIP} and clip=inf; expected "
            "folders of runs with equal seed, data, commit and settings."
        )
    curve = curve_so_far(folder)
    return {
        "recipe": NAME,
        "model": bounded["config"]["build_model"],
        "seed": bounded["seed"],
        "buckets": bounded["config"]["buckets"],
        "planned epochs": bounded["config"]["epochs"],
        "begun with commit": bounded["commit"],
        "epochs on a GPU": on_gpu(captured, seconds_of_epochs(folder)),
        "curve": curve,
        "curve without the bound": curve_so_far(control),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="of the run")
    parser.add_argument("--data", help="an .npz graph file; to train")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clip", type=float, default=CLIP, help="the bound; inf for none")
    parser.add_argument("--control", type=Path, help="folder of a run with --clip inf")
    parser.add_argument("--out", type=Path, help="store the curves here, and do not train")
    arguments = parser.parse_args()
    if (arguments.out is None) == (arguments.data is None):
        parser.error("give either --data, to train, or --out, to store the curves")
    if (arguments.out is None) != (arguments.control is None):
        parser.error("--out and --control belong together")
    if arguments.out is not None:
        content = curves(arguments.folder, arguments.control)
        store_measurement(arguments.out, content, COMMAND)
        return
    recipe = with_bound(arguments.clip)
    run.train(
        recipe,
        run.data_for(recipe, arguments.data),
        command=COMMAND,
        seed=arguments.seed,
        out=arguments.folder,
        resume=None,
        buckets=1,
    )


if __name__ == "__main__":
    main()
