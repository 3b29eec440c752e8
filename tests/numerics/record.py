"""Gradients, errors of each precision and determinism, measured and stored for the book.

python -m tests.numerics.record --out gtcourse/recorded/reliability-numerics.json
"""

import time
from dataclasses import asdict

import torch
from torch.autograd import gradcheck, gradgradcheck

from benchmarks.report import command_line, provenance_of, store
from tests.numerics import precision
from tests.numerics.attentions import ATTENTIONS
from tests.numerics.cases import Graphs, differentiable
from tests.numerics.processes import CLOSE, differing, distance, processes
from tests.numerics.roundings import Measured
from tests.numerics.whole import WHOLE

THREADS = (1, 2, 4)
NODES = (40, 120)


def gradients() -> dict:
    """How many attentions have their first and second derivatives right, or the second refused."""
    first, second, refused = [], [], []
    for name, attention in ATTENTIONS.items():
        torch.manual_seed(0)
        gradcheck(*differentiable(attention.build(Graphs())))  # raises where they differ
        first.append(name)
        torch.manual_seed(0)
        case = attention.build(Graphs(sizes=(3,)))
        if case.once is None:
            gradgradcheck(*differentiable(case), fast_mode=True)
        (refused if case.once else second).append(name)
    return {"first": first, "second": second, "refused": refused}


def attentions() -> dict[str, dict[str, dict]]:
    """Of each attention and dtype the output that comes nearest to its bound, of all sizes."""
    found: dict[str, dict[str, dict]] = {}
    for name in ATTENTIONS:
        for size in precision.SIZES:
            for dtype, outputs in precision.attention(name, size).items():
                worst = max(outputs, key=lambda output: output.share)
                _keep(found.setdefault(name, {}), dtype, worst, size)
    return found


def models() -> dict[str, dict[str, dict]]:
    """The same of whole models, small ones and one wide layer."""
    found: dict[str, dict[str, dict]] = {}
    for name in WHOLE:
        for wide in (False, True):
            for nodes in NODES:
                size = f"{nodes} nodes, {'one layer of the paper' if wide else 'small'}"
                for dtype, output in precision.model(name, nodes, wide).items():
                    _keep(found.setdefault(name, {}), dtype, output, size)
    return found


def _keep(of_dtype: dict[str, dict], dtype: str, output: Measured, size: str) -> None:
    if dtype not in of_dtype or output.share > of_dtype[dtype]["share"]:
        of_dtype[dtype] = asdict(output) | {"size": size}


def determinism() -> dict:
    """Bits of processes with 1, 2 and 4 threads, and of one thread with other hashes."""
    one, hashed, *more = processes((1, "0"), (1, "12345"), *((n, "0") for n in THREADS[1:]))
    every = [one, hashed, *more]
    steps = {name: [p["models"][name]["bits"] for p in every] for name in WHOLE}
    return {
        "threads": THREADS,
        "encodings": [*one["encodings"]],
        "data": [*one["data"]],
        "close": CLOSE,
        "differ in another process": differing([one, hashed], *one),
        "differ with other threads": differing(every, "encodings", "data"),
        "differ in a second step": [n for n, bits in steps.items() if any(a != b for a, b in bits)],
        "gradients with other threads": {
            name: max(distance(one["models"][name], p["models"][name]) for p in more)
            for name in WHOLE
        },
    }


def main() -> None:
    arguments = command_line(__doc__).parse_args()
    torch.set_num_threads(1)
    started = time.perf_counter()
    content = {
        "gradients": gradients(),
        "attentions": attentions(),
        "models": models(),
        "determinism": determinism(),
    }
    content["seconds"] = round(time.perf_counter() - started)
    store(content | provenance_of("python -m tests.numerics.record"), arguments.out)


if __name__ == "__main__":
    main()
