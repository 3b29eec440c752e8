"""Trains csa-rings with the complete protocol and bounded logits, and stores what came out.

    python -m experiments.csa_bounded --folder FOLDER --data zinc12k.npz   # starts, or resumes
    python -m experiments.csa_bounded --folder CONTROL --data zinc12k.npz --clip inf
    python -m experiments.csa_bounded --folder FOLDER --control CONTROL --out RECORD.json
    python -m experiments.csa_bounded --folder FOLDER --store

The third command stores the curves. The control has the same seed and no bound. The last command
stores a run that has finished, with its test error and weights, as one of the recipe
csa-rings-bounded/zinc, which is csa-rings/zinc with the bound. The run began before the package had
this recipe.

The bound is that of the first author's earlier code (see :mod:`experiments.csa_divergence`). Two
thousand epochs take about a day of one core. The record states the commit that the run began with.
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
from gtcourse.course import records
from gtcourse.course.records import RECORDS
from gtcourse.models import CGT
from gtcourse.names import WEIGHTS
from gtcourse.recipes import get_recipe
from gtcourse.recipes.recipe import Recipe, with_form
from gtcourse.runs import run
from gtcourse.runs.record import (
    read_record,
    read_weights,
    record_filename,
    write_record,
    write_weights,
)
from tools.paths import ROOT

COMMAND = "python -m experiments.csa_bounded"
BOUNDED = "csa-rings-bounded/zinc"
"""The recipe of the run."""
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


def store(folder: Path) -> None:
    """Stores the record and the weights of a run that has finished, under the recipe's name.

    The record's settings are those of the recipe, so nothing in it counts as changed. The device
    says which epochs a GPU computed.

    Raises:
        ValueError: The run has not finished, or its settings are not those of the recipe.
    """
    begun = json.loads((folder / RUN).read_text(encoding="utf-8"))
    path = folder / record_filename(NAME, begun["seed"])
    if not path.is_file():
        raise ValueError(f"{path} is missing; expected the record of a run that has finished.")
    record = read_record(path)
    weights = read_weights(record, folder)
    expected = with_form(get_recipe(BOUNDED), "fused").config()
    keys = ("build_model", "batch_size", "epochs", "grad_clip", "optimizer", "schedule", "task")
    if wrong := [key for key in keys if record.config[key] != expected[key]]:
        raise ValueError(
            f"{path} differs from the recipe {BOUNDED} in {', '.join(wrong)}; expected a run with "
            "its settings."
        )
    described = {key: expected[key] for key in ("name", "notes", "source", "changed")}
    record.config = record.config | described
    record.name = BOUNDED
    record.command = f"{COMMAND} --folder FOLDER --data zinc12k.npz"
    record.seconds = round(sum(seconds_of_epochs(folder)), 1)
    record.device = devices(begun.get("captured", []), len(record.curve), record.device)
    write_weights(record, weights, WEIGHTS / Path(record.weights_filename).name)
    write_record(record, ROOT / "book" / "results" / record.filename)
    records.store([record], RECORDS / "recipes.jsonl")


def devices(captured: list[dict], epochs: int, cpu: str) -> str:
    """Which machine computed which epochs, as :func:`tools.pages.spans` reads it."""
    if not captured:
        return cpu
    first = captured[0]["first epoch"]
    end = captured[-1]["end"]
    of_gpu = f"{captured[0]['device']} for epochs {first} to {end - 1}"
    of_cpu = f"{cpu} for epochs 0 to {first - 1} and {end} to {epochs - 1}"
    return f"{of_gpu} (python -m experiments.csa_complete), {of_cpu}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="of the run")
    parser.add_argument("--data", help="an .npz graph file; to train")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--clip", type=float, default=CLIP, help="the bound; inf for none")
    parser.add_argument("--control", type=Path, help="folder of a run with --clip inf")
    parser.add_argument("--out", type=Path, help="store the curves here, and do not train")
    parser.add_argument("--store", action="store_true", help="store the run, which has finished")
    arguments = parser.parse_args()
    if arguments.store:
        store(arguments.folder)
        return
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
