"""Chapter 07: ``python -m experiments.attention_before_training``, a few seconds.

The attention with which the recorded runs of EGT on molecules started. Since these runs, EGT draws
its parameters in another order, so that a seed no longer gives the same ones. This measures the
package at the commit of the runs.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from experiments.runs import store_measurement
from gtcourse.course.records import RECORDS, recorded
from tools.paths import ROOT

RUN = "egt/molecules"

AT_COMMIT = """
import json

import torch

from gtcourse import DenseLoader
from gtcourse.models import EGT
from tools.record_chapter07 import RUNS, by_hop, load

run = RUNS["egt/molecules"]
test = DenseLoader(load("molecules").test, 4 * run.batch_size)
rows = []
for seed in range(3):
    torch.manual_seed(seed)  # as tools/runs.py of this commit does before it builds the model
    rows.append({"seed": seed, **by_hop(EGT(run.config), test)})
print(json.dumps(rows))
"""


def measure(commit: str) -> list[dict]:
    """What the script prints, run with the files of a commit."""
    with TemporaryDirectory() as folder:
        archive = Path(folder) / "archive.tar"
        subprocess.run(["git", "archive", "-o", archive, commit], cwd=ROOT, check=True)
        subprocess.run(["tar", "-xf", archive, "-C", folder], check=True)
        done = subprocess.run(
            [sys.executable, "-c", AT_COMMIT],
            cwd=folder,
            env=os.environ | {"PYTHONPATH": folder},
            stdout=subprocess.PIPE,
            check=True,
        )
    return json.loads(done.stdout)


if __name__ == "__main__":
    (commit,) = {run.commit for run in recorded(RUN)}
    rows = measure(commit)
    for row in rows:
        print(row["seed"], [layer[1] for layer in row["attention_by_hop"]], flush=True)
    content = {"name": "attention-before-training", "run": RUN, "package": commit, "rows": rows}
    store_measurement(
        RECORDS / "attention-before-training.json",
        content,
        "python -m experiments.attention_before_training",
    )
