"""The numbers of the pages of differences: ``python -m experiments.differs``, half an hour.

Trained models of the course with one thing changed, counts on the embedded molecules, and a few
short trainings. Named papers are measured again and replace what the record has of them.
"""

import argparse
import json
from datetime import UTC, datetime
from importlib import import_module

import torch

from experiments.differs.common import EPOCHS, SEEDS, TRAIN_MOLECULES
from gtcourse import load_dataset
from gtcourse.training.records import current_commit, device_name, installed_versions
from tools.differs import PAPERS, RECORD


def measures() -> dict[str, dict]:
    return {paper: import_module(f"experiments.differs.{paper}").MEASURES for paper in PAPERS}


def record(paper: str) -> dict:
    """What was measured for a paper's rows, and where."""
    begin, found = datetime.now(UTC), {}
    for name, how in measures()[paper].items():
        found[name] = rounded(how())
        print(f"{paper}, {name}: {found[name]}", flush=True)
    return {
        "measured": found,
        "seconds": round((datetime.now(UTC) - begin).total_seconds()),
        "command": f"python -m experiments.differs {paper}",
        "commit": current_commit(),
        "device": device_name(),
        "versions": installed_versions(),
        "date": begin.strftime("%Y-%m-%d"),
    }


def rounded(values: dict) -> dict:
    """Six figures: what is behind them depends on the machine."""
    return {
        name: [float(f"{v:.6g}") for v in value]
        if isinstance(value, list)
        else float(f"{value:.6g}")
        if isinstance(value, float)
        else value
        for name, value in values.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("papers", nargs="*", default=[*PAPERS], help=f"of {', '.join(PAPERS)}")
    args = parser.parse_args()
    torch.set_num_threads(1)
    records = json.loads(RECORD.read_text())["papers"] if RECORD.exists() else {}
    for paper in args.papers:
        records[paper] = record(paper)
        content = {
            "name": "differs-measured",
            "data": load_dataset("molecules").provenance,
            "seeds": [*SEEDS],
            "config": {
                "weights": "the 100k models of chapter 10, as recorded",
                "short trainings": f"{TRAIN_MOLECULES} molecules, {EPOCHS} epochs, batches of 64",
            },
            "papers": {name: records[name] for name in PAPERS if name in records},
        }
        RECORD.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
