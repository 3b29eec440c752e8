"""Where time goes in each model's training step: ``python -m speed.profile``.

The nine models of the leaderboard at 100,000 parameters, one CPU thread, 64 molecules: what each
operator takes without those that it calls, from PyTorch's profiler, by kind of operator and by
phase. The profiler itself costs some microseconds an operator, which the Python between them seems
to take.
"""

import re

from torch.autograd.profiler_util import FunctionEvent
from torch.profiler import profile

from gtcourse import load_dataset
from speed.measure import Step, peak_of, run, summary, traced
from speed.subjects import BATCH, ENTRIES, PHASES, subject

WARM_UP = 2
OPTIMISER = "optimiser"
PYTHON = "Python and autograd"
OTHER = "other operators"
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


def shares(profiler: profile) -> tuple[dict[str, float], dict[str, float], float]:
    """Percent of the step's time by kind and by phase, and the step's milliseconds."""
    kinds = dict.fromkeys((*KINDS, OPTIMISER, PYTHON, OTHER), 0.0)
    phases = dict.fromkeys(PHASES, 0.0)
    for event in profiler.events():
        if (phase := outermost(event).name) in PHASES:
            kind = OPTIMISER if phase == OPTIMISER else kind_of(event.name)
            kinds[kind] += event.self_cpu_time_total
            phases[phase] += event.self_cpu_time_total
    total = sum(phases.values())
    percent = [{n: round(100 * t / total, 2) for n, t in of.items()} for of in (kinds, phases)]
    return *percent, total / 1000


def outermost(event: FunctionEvent) -> FunctionEvent:
    return event if event.cpu_parent is None else outermost(event.cpu_parent)


def profiled(step: Step, rounds: int) -> dict:
    """Shares are those of the fastest round: the machine's other work was in its way the least."""
    for _ in range(WARM_UP):
        step()
    measured = []
    for _ in range(rounds):
        profiler = traced(step)
        measured.append(shares(profiler))
    kinds, phases, _ = min(measured, key=lambda of_round: of_round[2])
    return {
        "kinds": kinds,
        "phases": phases,
        **summary([time for *_, time in measured]),
        "peak_mb": round(peak_of(profiler) / 2**20, 2),
    }


def measure(rounds: int, graphs: int) -> dict:
    molecules = load_dataset("molecules").train[:graphs]
    subjects = [subject(name, molecules) for name in ENTRIES]
    rows = [
        {"model": one.name, "parameters": one.parameters} | profiled(one.training_step(), rounds)
        for one in subjects
    ]
    return {"rows": rows}


if __name__ == "__main__":
    run("profile", measure, rounds=7, graphs=BATCH)
