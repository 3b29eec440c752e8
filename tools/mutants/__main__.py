"""Breaks each model in ten small ways or more, and shows that the tests notice every one.

python -m tools.mutants [--only NAME …] [--jobs 2] [--out FILE]
"""

import argparse
import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

from benchmarks.report import provenance_of, store
from tools.mutants.lists import Model, read_models
from tools.mutants.trial import Trial, fail_anyway, try_mutant
from tools.paths import ROOT

RECORD = ROOT / "gtcourse" / "recorded" / "reliability-mutants.json"


def main() -> None:
    arguments = command_line()
    models = chosen(read_models(), arguments.only)
    start, last = time.monotonic(), caught_last_time()
    trials = []
    with ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = [
            pool.submit(try_mutant, model, mutant, last.get(mutant.id, ""), arguments.named)
            for model in models
            for mutant in model.mutants
        ]
        for job in jobs:
            trials.append(job.result())
            print(line(trials[-1]), flush=True)
    wrong = fail_anyway({trial.test for trial in trials if trial.test})
    for test in wrong:
        print(f"fails without a mutant, too: {test}")
    seconds = round(time.monotonic() - start)
    print(tally(trials, seconds))
    alright = not wrong and all(trial.verdict == "caught" for trial in trials)
    if alright:  # what is stored is what the tests of today do
        store(record(models, trials, seconds), arguments.out)
    sys.exit(not alright)


def command_line() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--only", nargs="*", metavar="NAME", help="lists, or single mutants")
    parser.add_argument("--named", action="store_true", help="run only the tests that are named")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument(
        "--out", type=Path, help="write the result to this JSON file if all is well"
    )
    arguments = parser.parse_args()
    if arguments.only and arguments.out:
        parser.error("a record is of all mutants; expected --only or --out, not both.")
    return arguments


def chosen(models: list[Model], only: list[str] | None) -> list[Model]:
    """All models, or those lists and mutants that are named.

    Raises:
        SystemExit: a name is none.
    """
    if not only:
        return models
    known = {model.file for model in models} | {m.id for model in models for m in model.mutants}
    unknown = sorted({*only} - known)
    if unknown:
        sys.exit(f"there is no list and no mutant {', '.join(unknown)}; expected names of some.")
    kept = []
    for model in models:
        mutants = [m for m in model.mutants if model.file in only or m.id in only]
        if mutants:
            kept.append(Model(model.file, model.name, model.builds, tuple(mutants)))
    return kept


def caught_last_time() -> dict[str, str]:
    """Mutant to the test that caught it, from the stored record: asked first, it saves minutes."""
    if not RECORD.exists():
        return {}
    return {row["id"]: row["test"] for row in json.loads(RECORD.read_text())["mutants"]}


def line(trial: Trial) -> str:
    about = trial.test if trial.verdict == "caught" else f"{trial.phrase}. {trial.why}"
    return f"{trial.verdict:8} {trial.seconds:5.0f} s  {trial.id:40} {about}"


def tally(trials: list[Trial], seconds: float) -> str:
    caught = sum(trial.verdict == "caught" for trial in trials)
    return f"{caught} of {len(trials)} mutants caught in {seconds / 60:.0f} minutes."


def record(models: list[Model], trials: list[Trial], seconds: float) -> dict:
    return provenance_of("python -m tools.mutants") | {
        "seed": 0,  # hypothesis derives its examples from the tests
        "seconds": seconds,
        "models": {model.name: len(model.mutants) for model in models},
        "mutants": [asdict(trial) for trial in trials],
    }


if __name__ == "__main__":
    main()
