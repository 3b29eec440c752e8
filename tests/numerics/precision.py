"""Attentions and whole models in float32, float16 and bfloat16, beside float64."""

from copy import deepcopy

import torch

from tests.numerics.attentions import ATTENTIONS, KERNELS
from tests.numerics.cases import Graphs
from tests.numerics.roundings import UNIT_ROUNDOFF, Measured, measured
from tests.numerics.whole import WHOLE, batch_of, doubled

SIZES = {
    "40 nodes, d = 16": {"sizes": (40, 25), "d": 16, "heads": 4, "d_edge": 8},
    "120 nodes, d = 32": {"sizes": (120,), "d": 32, "heads": 4, "d_edge": 8},
    "40 nodes, d = 768": {"sizes": (40,), "d": 768, "heads": 32, "d_edge": 64},
}
"""The last is the width of Graphormer's, EGT's and GRPE's base models."""
DTYPES = {str(dtype).removeprefix("torch."): dtype for dtype in UNIT_ROUNDOFF}


def attention(name: str, size: str) -> dict[str, list[Measured]]:
    """Of each dtype the outputs' errors and bounds; weights and inputs are of the dtype as well."""
    torch.manual_seed(0)
    graphs = Graphs(**SIZES[size])
    case = ATTENTIONS[name].build(graphs)
    kernel = KERNELS.get(name)
    tried = case if kernel is None else kernel(Graphs(**SIZES[size]))
    leaves = [t.requires_grad_() for t in (*case.inputs, *case.parameters())]
    longest = max(graphs.N, graphs.d)
    found = {}
    for said, dtype in DTYPES.items():
        with torch.no_grad():
            got = deepcopy(tried).to(dtype)(*(t.to(dtype) for t in case.inputs))
        found[said] = measured(lambda: case(*case.inputs), leaves, got, dtype, longest)
    return found


def model(name: str, nodes: int, wide: bool) -> dict[str, Measured]:
    """The same of a prediction; halves as ``fit`` has them, under autocast with float32 weights."""
    torch.manual_seed(0)
    whole = WHOLE[name][wide]
    usual = whole.build_model().eval()
    batch = batch_of(whole, nodes)
    exact, exact_batch = deepcopy(usual).double(), doubled(batch)
    widest = max(max(p.shape) for p in usual.parameters() if p.dim())
    found = {}
    for said, dtype in DTYPES.items():
        half = dtype != torch.float32
        with torch.no_grad(), torch.autocast("cpu", dtype if half else None, enabled=half):
            got = usual(batch)
        (found[said],) = measured(
            lambda: (exact(exact_batch),), [*exact.parameters()], (got,), dtype, max(nodes, widest)
        )
    return found
