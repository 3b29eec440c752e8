"""How long does a step of CSA take if freed memory goes back to the system, and if it is kept?
``python -m experiments.step_alone``

By default, glibc's malloc gives large blocks of freed memory back to the system. The next step has
to fetch them again, which the system counts as page faults. The step runs alone, then in turn with
the eleven other models of ``speed.models``, and then alone again: once as malloc does by default,
and once with a malloc that gives nothing back, as in all benchmarks of ``speed``. A step is
measured in processor time, which does not include waiting for other programs.
"""

import json
import os
import sys
import time
from resource import RUSAGE_SELF, getrusage
from statistics import median

import torch

from experiments.runs import in_process, store_measurement
from gtcourse import load_dataset
from gtcourse.course.records import RECORDS
from speed.measure import CLOCK, Step, processor, summary
from speed.subjects import BATCH, ENTRIES, PEERS, subject

MODEL = "csa"
WARM_UP = 2
ROUNDS = 12
KEEP = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(2**40)}
"""Variables with which glibc's malloc gives no memory back to the system."""

Sample = tuple[float, float, int]


def sample(step: Step) -> Sample:
    """Milliseconds of processor time, those of them in the system, and page faults."""
    before = getrusage(RUSAGE_SELF)
    begin = time.process_time()
    step()
    end = time.process_time()
    after = getrusage(RUSAGE_SELF)
    system = 1000 * (after.ru_stime - before.ru_stime)
    return 1000 * (end - begin), system, after.ru_minflt - before.ru_minflt


def medians(samples: list[Sample]) -> dict[str, object]:
    """The medians of what was sampled, with the quartiles of the time, without the warm-up."""
    milliseconds, system, faults = zip(*samples[WARM_UP:], strict=True)
    return {
        **summary(milliseconds, "processor_ms"),
        "system_ms": round(median(system), 1),
        "page_faults": round(median(faults)),
    }


def measure() -> dict[str, object]:
    """The step alone, in turn with the others, and alone once more."""
    torch.set_num_threads(1)
    molecules = load_dataset("molecules").train[:BATCH]
    steps = {name: subject(name, molecules).training_step() for name in (*PEERS, *ENTRIES)}
    rounds = range(WARM_UP + ROUNDS)
    alone = [sample(steps[MODEL]) for _ in rounds]
    in_turn = [{name: sample(step) for name, step in steps.items()}[MODEL] for _ in rounds]
    again = [sample(steps[MODEL]) for _ in rounds]
    found = {"alone": alone, "in turn": in_turn, "alone again": again}
    return {name: medians(samples) for name, samples in found.items()}


def main() -> None:
    command = ["-m", "experiments.step_alone", "here"]
    rows = {}
    for memory, variables in (("default", {}), ("never given back", KEEP)):
        rows[memory] = in_process(command, environment=os.environ | variables)
    content = {
        "name": "step-alone",
        "model": MODEL,
        "graphs": BATCH,
        "rounds": ROUNDS,
        "rows": rows,
    }
    path = RECORDS / "step-alone.json"
    content |= {"clock": CLOCK, "processor": processor()}
    store_measurement(path, content, "python -m experiments.step_alone")
    print(json.dumps(content, indent=1))


if __name__ == "__main__":
    if sys.argv[1:] == ["here"]:
        print(json.dumps(measure()))
    else:
        main()
