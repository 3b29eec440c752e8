"""Trains csa-rings with the complete protocol and bounded logits, and stores what came out.

    python -m experiments.csa_bounded --folder FOLDER --data zinc12k.npz   # starts, or resumes
    python -m experiments.csa_bounded --folder CONTROL --data zinc12k.npz --clip inf
    python -m experiments.csa_bounded --folder FOLDER --control CONTROL --out RECORD.json
    python -m experiments.csa_bounded --folder FOLDER --store

The control, which the second command trains, has the same seed and no bound. The third command
stores the curves of both. The last command stores the record and the weights of a finished run as a
run of the recipe csa-rings-bounded/zinc, which is csa-rings/zinc with the bound. (The run began
before the package had this recipe.)

The bound is that of the first author's earlier code (see :mod:`experiments.csa_divergence`). Two
thousand epochs take about a day of one core. The record states the commit that the run began with.
"""

import argparse
import csv
import json
from collections import defaultdict
from dataclasses import replace
from functools import partial
from itertools import groupby
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


def train(folder: Path, data: str, seed: int, clip: float) -> None:
    """Starts the run in the folder, or resumes it."""
    recipe = with_bound(clip)
    run.train(
        recipe,
        run.data_for(recipe, data),
        command=COMMAND,
        seed=seed,
        out=folder,
        resume=None,
        buckets=1,
    )


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

    The record of the run calls it csa-rings/zinc with another model. Its settings are those of
    csa-rings-bounded/zinc in the form "fused", and the stored record says so.

    Raises:
        ValueError: The run has not finished, or its settings are not those of the recipe.
    """
    begun = json.loads((folder / RUN).read_text(encoding="utf-8"))
    seed = begun["seed"]
    path = folder / record_filename(NAME, seed)
    if not path.is_file():
        raise ValueError(f"{path} is missing; expected the record of a run that has finished.")
    record = read_record(path)
    weights = read_weights(record, folder)
    expected = with_form(get_recipe(BOUNDED), "fused").config()
    described = {key: expected.pop(key) for key in ("name", "notes", "source", "changed")}
    if wrong := [key for key, value in expected.items() if record.config[key] != value]:
        raise ValueError(
            f"{path} differs from the recipe {BOUNDED} in {', '.join(wrong)}; expected a run with "
            "its settings."
        )
    record.config = record.config | described
    record.name = BOUNDED
    record.command = f"{COMMAND} --folder FOLDER --data zinc12k.npz"
    if seed != 0:
        record.command += f" --seed {seed}"
    record.seconds = round(sum(seconds_of_epochs(folder)), 1)
    record.device = devices(begun.get("captured", []), len(record.curve), record.device)
    write_weights(record, weights, WEIGHTS / Path(record.weights_filename).name)
    write_record(record, ROOT / "book" / "results" / record.filename)
    records.store([record], RECORDS / "recipes.jsonl")


def devices(captured: list[dict], epochs: int, cpu: str) -> str:
    """Which machine computed which epochs, as :func:`tools.pages.spans` reads it.

    Args:
        captured: Parts of the run that :mod:`experiments.csa_step` computed.
        epochs: Of the whole run.
        cpu: What computed the other epochs.
    """
    if not captured:
        return cpu
    machine_of = [cpu] * epochs
    for part in captured:
        for epoch in range(part["first epoch"], part["end"]):
            machine_of[epoch] = part["device"]
    pieces = defaultdict(list)
    for machine, of_machine in groupby(range(epochs), key=machine_of.__getitem__):
        numbers = [*of_machine]
        pieces[machine].append(f"{numbers[0]} to {numbers[-1]}")
    of_cpu = pieces.pop(cpu, [])
    texts = [
        f"{gpu} for epochs {' and '.join(of_gpu)} (python -m experiments.csa_complete)"
        for gpu, of_gpu in pieces.items()
    ]
    if of_cpu:
        texts.append(f"{cpu} for epochs {' and '.join(of_cpu)}")
    return ", ".join(texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, required=True, help="of the run")
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--data", help="train on this .npz graph file")
    action.add_argument("--out", type=Path, help="store the curves of the run and the control here")
    action.add_argument("--store", action="store_true", help="store the run, which has finished")
    parser.add_argument("--seed", type=int, help="with --data; 0 by default")
    parser.add_argument(
        "--clip", type=float, help=f"with --data: the bound, or inf; {CLIP:g} by default"
    )
    parser.add_argument("--control", type=Path, help="with --out: folder of a run with --clip inf")
    arguments = parser.parse_args()
    if arguments.data is None and (arguments.seed, arguments.clip) != (None, None):
        parser.error("--seed and --clip belong to --data")
    if (arguments.out is None) != (arguments.control is None):
        parser.error("--out and --control belong together")
    if arguments.store:
        store(arguments.folder)
    elif arguments.out is not None:
        content = curves(arguments.folder, arguments.control)
        store_measurement(arguments.out, content, COMMAND)
    else:
        clip = CLIP if arguments.clip is None else arguments.clip
        train(arguments.folder, arguments.data, arguments.seed or 0, clip)


if __name__ == "__main__":
    main()
