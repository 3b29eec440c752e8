"""The formulas behind chapter 12's calculator: ``python -m experiments.chapter12``, a minute.

Counted on tensors without numbers, so that every machine gets the same ones.
"""

import json

import torch

from gtcourse import collate, load_dataset
from gtcourse.encodings import encode
from gtcourse.training.formulas import RECORD, StepFormula, as_json, step_formula
from gtcourse.training.leaderboard import LEADERBOARD
from gtcourse.training.records import installed_versions
from gtcourse.training.tasks import graph_regression
from tools.paths import PACKAGE

DENSE = ("transformer", "graphormer", "egt", "grpe", "csa")
"""The models that work on padded tensors; the others' costs go with the edges."""

NAMES = [name for name, entry in LEADERBOARD.items() if entry.model in DENSE]


def formula(name: str) -> StepFormula:
    """Of a model of the leaderboard, on graphs like the embedded molecules."""
    entry = LEADERBOARD[name]
    batch = collate(encode(load_dataset("molecules").test[:2], *entry.transforms))
    torch.manual_seed(0)
    return step_formula(entry.build_model(), graph_regression(), batch)


def main() -> None:
    content = {
        "command": "python -m experiments.chapter12",
        "versions": {"torch": installed_versions()["torch"]},
        "formulas": {name: as_json(formula(name)) for name in NAMES},
    }
    (PACKAGE / "recorded" / RECORD).write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
