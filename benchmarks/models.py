"""What each model's step costs, beside peers of the same size: ``python -m benchmarks.models``.

The nine models of the leaderboard at 100,000 parameters, and a stack of four layers each of
``nn.TransformerEncoder``, of PyG's ``GPSConv`` and of its ``TransformerConv`` with about as many.
All on the same 64 molecules, batched beforehand, encodings computed beforehand:

1. the forward pass in evaluation mode, without gradients (``nn.TransformerEncoder`` takes its fused
   path there);
2. a training step: forward, backward and Adam;
3. the most memory that the training step holds at a time, above weights and Adam's averages.

They take turns, so that whatever else the machine does meets all of them, each in a process of its
own, as in training. It runs on a GPU where there is one.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch

from benchmarks.costs import apart, milliseconds, peak_mb_of, rows, without_name
from benchmarks.report import command_line, provenance, store
from benchmarks.subjects import BATCH, Step, Subject, molecules, of_the_course, peers
from gtcourse import load_dataset

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
THREADS = 1
ROUNDS = 15


def compared(steps: dict[str, Step], rounds: int) -> list[dict]:
    """Times in turn; on a CPU each step in a process of its own."""
    with apart(steps) if DEVICE == "cpu" else nullcontext(steps) as waiting:
        return rows(milliseconds(waiting, rounds))


def compare(subjects: list[Subject], rounds: int) -> list[dict]:
    """A row for each; ratios are to the first of them, round by round."""
    forward = compared({s.name: s.forward() for s in subjects}, rounds)
    step = compared({s.name: s.training_step() for s in subjects}, rounds)
    return [
        {
            "model": subject.name,
            "peer": subject.peer,
            "parameters": subject.parameters,
            "reads": subject.reads,
            "forward": without_name(forward[i]),
            "step": without_name(step[i]),
            "graphs_per_second": round(1000 * batch_size(subject) / step[i]["ms"]),
            "peak_mb": peak_mb_of(subject.training_step(), DEVICE),
        }
        for i, subject in enumerate(subjects)
    ]


def batch_size(subject: Subject) -> int:
    return subject.graphs.num_graphs


def measure(rounds: int, graphs: int = BATCH) -> dict:
    torch.set_num_threads(THREADS)
    data = load_dataset("molecules")
    chosen = molecules(data, graphs)
    subjects = peers(chosen, DEVICE) + of_the_course(chosen, DEVICE)
    sizes = subjects[0].graphs.sizes
    return {
        "name": "models-benchmark",
        "data": data.provenance,
        "rows": compare(subjects, rounds),
        "graphs": graphs,
        "padded_to": int(sizes.max()),
        "mean_nodes": round(float(sizes.float().mean()), 1),
        "precision": "float32",
        "rounds": rounds,
        "threads": THREADS,
    } | provenance("models")


def show(content: dict) -> None:
    print(f"{content['graphs']} molecules of at most {content['padded_to']} atoms")
    for row in content["rows"]:
        print(
            f"{row['model']:24}{row['parameters']:9,}{row['forward']['ms']:8.1f} ms forward"
            f"{row['step']['ms']:8.1f} ms a step × {row['step']['ratio']:.2f}"
            f"{row['peak_mb']:8.1f} MB"
        )


def main() -> None:
    args = command_line(__doc__, ROUNDS).parse_args()
    content = measure(args.rounds)
    show(content)
    store(content, args.out)


if __name__ == "__main__":
    main()
