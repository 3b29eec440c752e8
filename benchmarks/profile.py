"""Where time and memory go in each model's training step: ``python -m benchmarks.profile``.

The nine models of the leaderboard at 100,000 parameters, one CPU thread, 64 molecules:

1. time, from PyTorch's profiler: what each operator takes without those that it calls, by kind of
   operator and by phase. The profiler itself costs some microseconds an operator, which the Python
   between them seems to take;
2. memory: the most that is held at a time, and what the forward pass keeps for the backward pass,
   by what it belongs to: pairs of nodes, edges or nodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from statistics import median, quantiles

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks

from benchmarks.costs import alone, peak_mb, traced
from benchmarks.peers import l1_loss
from benchmarks.report import command_line, provenance, store
from benchmarks.subjects import BATCH, PHASES, Subject, molecules, of_the_course
from gtcourse import GraphBatch, load_dataset

THREADS = 1
ROUNDS, WARM_UP = 7, 2
OPTIMISER, PYTHON, OTHER = "optimiser", "Python and autograd", "other operators"
KINDS = {
    "matrix products": "mm addmm bmm baddbmm matmul linear einsum dot mv",
    "softmax and fused attention": "softmax _softmax _safe_softmax _softmax_backward_data "
    "scaled_dot_product_attention _scaled_dot_product_.*",
    "norms": "(layer|batch)_norm native_(layer|batch)_norm.* _batch_norm_impl_index",
    "gathering and scattering": "index.* _index_put_impl gather.* scatter.* _?embedding.* "
    "nonzero.* sort argsort masked_select take_along_dim bincount",
    "element by element, and sums": "add sub rsub mul div neg abs sgn sign exp log sqrt rsqrt "
    "square pow reciprocal clamp.* maximum minimum where masked_fill relu threshold_backward elu.* "
    "leaky_relu.* gelu.* silu.* sigmoid.* tanh.* softplus.* dropout native_dropout.* addcmul "
    "addcdiv lerp sum mean var amax amin max min argmax any all cumsum cumprod logsumexp "
    "logical_.* bitwise_.* __and_ __or_ eq ne lt le gt ge is.* floor_divide remainder l1_loss.*",
    "copies and layout": "copy clone contiguous to _to_copy cat stack fill zero zeros.* ones.* "
    "new_.* empty.* full.* arange eye scalar_tensor tensor lift_fresh resize.* view.* "
    "_?unsafe_view reshape _reshape_alias flatten unflatten t transpose permute mT expand.* "
    "as_strided.* alias slice.* select.* narrow split.* chunk unbind squeeze unsqueeze diag.* "
    "detach item _local_scalar_dense repeat.* roll tile pad constant_pad_nd broadcast.* random "
    "rand.* bernoulli result_type promote_types resolve_.* movedim tril triu set unfold",
}
"""Kind to operators, as patterns; a trailing "_" (in place) is not written."""

PATTERNS = {kind: re.compile("|".join(names.split())) for kind, names in KINDS.items()}


def kind_of(operator: str) -> str:
    """Of an operator's own time; what no operator is, is Python or autograd."""
    if not operator.startswith("aten::"):
        return PYTHON
    name = operator.removeprefix("aten::").removesuffix("_")
    return next((kind for kind, names in PATTERNS.items() if names.fullmatch(name)), OTHER)


def own_times(trace: list[dict]) -> Iterator[tuple[str, str, float]]:
    """(phase, operator, μs that it takes without those that it calls) of everything in a phase."""
    spans = [event for event in trace if event.get("cat") in ("cpu_op", "user_annotation")]
    spans.sort(key=lambda event: (event["ts"], -event["dur"]))
    open_spans: list[list] = []  # [name, end, own time], each inside of the one before
    for span in [*spans, {"name": "", "ts": float("inf"), "dur": 0.0}]:
        while open_spans and span["ts"] >= open_spans[-1][1]:
            name, _, own = open_spans.pop()
            phase = open_spans[0][0] if open_spans else name
            if phase in PHASES:
                yield phase, name, own
        if open_spans:
            open_spans[-1][2] -= span["dur"]
        open_spans.append([span["name"], span["ts"] + span["dur"], span["dur"]])


def shares(trace: list[dict]) -> tuple[dict[str, float], dict[str, float], float]:
    """Percent of the step's time by kind and by phase, and the step's milliseconds."""
    kinds = dict.fromkeys((*KINDS, OPTIMISER, PYTHON, OTHER), 0.0)
    phases = dict.fromkeys(PHASES, 0.0)
    for phase, operator, time in own_times(trace):
        kinds[OPTIMISER if phase == OPTIMISER else kind_of(operator)] += time
        phases[phase] += time
    total = sum(phases.values())
    return percent(kinds, total), percent(phases, total), total / 1000


def percent(times: dict[str, float], total: float) -> dict[str, float]:
    return {name: 100 * time / total for name, time in times.items()}


def operators(trace: list[dict]) -> int:
    """How many calls of operators there are, those of one by another included."""
    return sum(e.get("cat") == "cpu_op" and e["name"].startswith("aten::") for e in trace)


def kept(subject: Subject) -> dict[str, float]:
    """MB that the forward pass keeps for the backward pass, by what they belong to.

    A tensor that is kept twice counts once; weights and the batch itself stand there anyway.
    """
    given = [*subject.model.parameters(), *subject.model.buffers(), *tensors(subject.graphs)]
    seen = {tensor.untyped_storage().data_ptr() for tensor in given}
    found: dict[str, float] = dict.fromkeys(("pairs", "edges", "nodes", "others"), 0.0)
    held = []  # or a storage's address would be given to the next one

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in seen:
            seen.add(storage.data_ptr())
            held.append(storage)
            found[belongs_to(tensor, subject.graphs)] += storage.nbytes() / 2**20
        return tensor

    with saved_tensors_hooks(keep, lambda tensor: tensor):
        l1_loss(subject.model.train()(subject.graphs), subject.graphs)
    return found


def tensors(batch: GraphBatch) -> list[Tensor]:
    values = [*vars(batch).values(), *batch.encodings.values()]
    return [value for value in values if isinstance(value, Tensor)]


def belongs_to(tensor: Tensor, batch: GraphBatch) -> str:
    """By the tensor's axes, which may be flattened: two of nodes, one of edges, or one of nodes."""
    B, N = batch.mask.shape
    real, edges = int(batch.sizes.sum()), int(batch.adjacency.sum())
    pairs = int(batch.sizes.square().sum())
    axes = {*tensor.shape}
    on_nodes = sum(axis in (N, N + 1) for axis in tensor.shape)  # one more: a virtual node
    if on_nodes >= 2 or axes & {pairs, N**2, (N + 1) ** 2, B * N**2}:
        return "pairs"
    if any(axis and axis % edges == 0 for axis in axes):
        return "edges"
    if on_nodes or axes & {B * N, B * (N + 1)} or any(axis and axis % real == 0 for axis in axes):
        return "nodes"
    # The edges along all shortest paths are a list that is longer than that of all pairs.
    return "pairs" if max(axes, default=0) > pairs else "others"


def profiled(subject: Subject, rounds: int) -> dict:
    """Shares are those of the fastest round: the machine's other work was in its way the least."""
    step = subject.training_step()
    for _ in range(WARM_UP):
        step()
    traces = [traced(step) for _ in range(rounds)]
    measured = sorted((shares(trace) for trace in traces), key=lambda of_round: of_round[2])
    times = [time for *_, time in measured]
    kinds, phases, _ = measured[0]
    return {
        "model": subject.name,
        "parameters": subject.parameters,
        "kinds": rounded(kinds),
        "phases": rounded(phases),
        "ms": round(median(times), 1),
        "quartiles": [round(q, 1) for q in quantiles(times)[::2]],
        "operators": operators(traces[-1]),
        "peak_mb": peak_mb(traces[-1]),
        "kept_mb": rounded(kept(subject)),
    }


def rounded(values: dict[str, float]) -> dict[str, float]:
    return {name: round(value, 2) for name, value in values.items()}


def measure(rounds: int, graphs: int = BATCH) -> dict:
    torch.set_num_threads(THREADS)
    data = load_dataset("molecules")
    subjects = of_the_course(molecules(data, graphs))
    sizes = subjects[0].graphs.sizes
    return {
        "name": "profile-benchmark",
        "data": data.provenance,
        "rows": [alone(profiled, subject, rounds) for subject in subjects],
        "graphs": graphs,
        "padded_to": int(sizes.max()),
        "precision": "float32",
        "rounds": rounds,
        "threads": THREADS,
    } | provenance("profile")


def show(content: dict) -> None:
    for row in content["rows"]:
        print(f"{row['model']}: {row['ms']} ms, {row['operators']} operators, {row['peak_mb']} MB")
        parts = (f"{name} {share:.0f} %" for name, share in row["kinds"].items())
        print(f"  {', '.join(parts)}\n  {row['phases']}\n  kept, MB: {row['kept_mb']}")


def main() -> None:
    args = command_line(__doc__, ROUNDS).parse_args()
    content = measure(args.rounds)
    show(content)
    store(content, args.out)


if __name__ == "__main__":
    main()
