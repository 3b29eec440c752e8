"""How much malformed input was tried: ``python -m tests.bad_input.record --out FILE``."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch
from hypothesis import HealthCheck, given, settings

from benchmarks.report import provenance_of, store
from tests.bad_input.case import Case, contents, fault_of_form
from tests.bad_input.catalogue import BOUNDARIES, CASES
from tests.bad_input.fuzz import KINDS, Kind, accidents, after, outcome
from tests.bad_input.payloads import PAIRS, tried

SHOWN = 3
"""Sentences of each boundary, spread over its cases."""


def refused(case: Case) -> str:
    """The sentence that a malformed input gets.

    Raises:
        AssertionError: there is none, or something was left behind.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        enter = case.make(folder)
        before = contents(folder)
        try:
            enter()
        except case.error as error:
            sentence = str(error.args[0])
        else:
            raise AssertionError(f"{case} was not refused")
        assert contents(folder) == before, f"{case} left something behind"
        assert case.says.replace("{folder}", name) in sentence, f"{case}: {sentence}"
        sentence = sentence.replace(f"{folder}/", "").replace(str(folder), "FOLDER")
        assert fault_of_form(sentence) is None, sentence
        return sentence


def boundaries() -> list[dict]:
    """Each boundary with its number of cases and a few of its sentences."""
    rows = []
    for boundary in BOUNDARIES:
        said = [
            {"what": case.what, "sentence": refused(case)}
            for case in CASES
            if case.boundary == boundary
        ]
        step = max(1, len(said) // SHOWN)
        rows.append(
            {
                "boundary": boundary,
                "cases": len(said),
                "sentences": said[step // 2 :: step][:SHOWN],
            }
        )
    return rows


def fuzzed(kind: Kind, examples: int) -> dict:
    """What became of so many damaged files of a kind; an example that fails ends the program."""
    outcomes, slowest = Counter(), 0.0

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(accidents(kind))
    def hold(happened):
        nonlocal slowest
        content = after(kind, happened)
        start = time.perf_counter()
        outcomes[outcome(kind, content, folder)] += 1
        slowest = max(slowest, time.perf_counter() - start)

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        hold()
    return {
        "kind": kind.name,
        "examples": sum(outcomes.values()),
        "refused": outcomes["refused"],
        "unchanged": outcomes["unchanged"],
        "slowest_seconds": round(slowest, 3),
        "failures": [],
    }


def bombs() -> list[dict]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.bad_input.bombs", folder]
        return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)


def payloads() -> dict:
    executed = 0
    for kind, carrier in PAIRS:
        with tempfile.TemporaryDirectory() as folder:
            executed += tried(kind, carrier, Path(folder))[0]
    return {"tried": len(PAIRS), "executed": executed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=2000, help="damaged files of each kind")
    parser.add_argument("--out", type=Path, help="write the result to this JSON file")
    options = parser.parse_args()
    torch.set_num_threads(1)
    start = time.perf_counter()
    content = provenance_of(f"python -m tests.bad_input.record --examples {options.examples}") | {
        "cases": len(CASES),
        "boundaries": boundaries(),
        "fuzzed": [fuzzed(kind, options.examples) for kind in KINDS],
        "bombs": bombs(),
        "payloads": payloads(),
    }
    content["seconds"] = round(time.perf_counter() - start)
    for row in content["fuzzed"]:
        print(f"{row['kind']}: {row['examples']} examples, {row['refused']} refused")
    print(f"{content['cases']} malformed inputs; {content['payloads']}; {content['seconds']} s")
    store(content, options.out)


if __name__ == "__main__":
    main()
