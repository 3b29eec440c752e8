"""The processor time of a training step of each small model: ``python -m speed.steps``.

The models and the 64 molecules are those of ``speed.models``, without the peers. The processor time
leaves out what a step waits for, so it can be measured on a machine that also runs other programs.
They still slow it down, because they share its memory, so compare the models only roughly.
"""

from gtcourse import load_dataset
from speed.measure import in_turn, run
from speed.subjects import BATCH, ENTRIES, subject


def measure(rounds: int, graphs: int) -> dict:
    molecules = load_dataset("molecules").train[:graphs]
    steps = {name: subject(name, molecules, "cpu").training_step() for name in ENTRIES}
    times = in_turn(steps, rounds)
    return {"step": times}


if __name__ == "__main__":
    run("steps", measure, rounds=15, graphs=BATCH)
