"""Checks of chapter 10: GAT's logit, a gate inside the softmax, numbers for pairs, who is ahead.

Shapes: N nodes, d width, H heads, d_e width of a pair, L layers.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.exercises.checker import Mistake, compare, random

# One-way edges, a loop at 2, and none that arrives at 3.
EDGES = torch.zeros(4, 4, dtype=torch.bool)
EDGES[[0, 1, 1, 2, 3, 3, 0], [1, 0, 2, 2, 0, 1, 2]] = True


@compare(
    "LeakyReLU of the receiver's number plus the sender's, on incoming edges.",
    cases=[
        (torch.tensor([1.5, -2, 0.25, 0.75]), torch.tensor([-0.5, 1, -3, 0.5]), EDGES),
        (*random((3,), (3,)), EDGES[1:, 1:]),
    ],
    gradients=False,  # of -inf
    mistakes={
        "the edges are reversed: i attends to j if there is an edge from j to i.": {
            "attended": lambda A: A
        },
        "receiver and sender are swapped: rows receive.": lambda receiver, sender, A: (
            check_gat_logits.reference(sender, receiver, A)
        ),
        "the non-linearity is missing: LeakyReLU.": {"slope": 1.0},
        "the slope is 0.01, PyTorch's default; GAT's is 0.2.": {"slope": 0.01},
        "pairs without an edge have a large negative logit; use -inf.": {"off": -1e9},
        "pairs without an edge have the logit 0, which a softmax gives weight.": {"off": 0.0},
        "a node attends to itself only if it has a loop.": {
            "attended": lambda A: A.T | torch.eye(4, dtype=torch.bool)
        },
    },
)
def check_gat_logits(receiver, sender, A, slope=0.2, off=-math.inf, attended=lambda A: A.T):
    """``gat_logits(receiver, sender, A)``: ``[N]`` twice and ``[N, N]`` bool to ``[N, N]``."""
    return F.leaky_relu(receiver[:, None] + sender, slope).masked_fill(~attended(A), off)


def _up_to_a_constant(gate_as_bias: Callable, s: Tensor, g: Tensor) -> object:
    """Logits less the mean of each row, as a softmax sees them, and as they are if that differs."""
    got = gate_as_bias(s, g)
    if not isinstance(got, Tensor) or got.shape != s.shape:
        return got
    if (got == -math.inf).any():
        raise Mistake(
            "a logit is -inf: in single precision σ(-200) is 0, but its logarithm is -200. "
            "F.logsigmoid computes it directly."
        )
    return _centred(got)


def _centred(logits: Tensor) -> Tensor:
    return logits.double() - logits.double().mean(dim=-1, keepdim=True)


@compare(
    "the logarithm of the gate is a bias, and a constant message is unchanged.",
    cases=[
        (
            torch.tensor([[0.5, -1, 2], [1, 0, -0.5], [-2, 1.5, 0.25]]),
            torch.tensor([[1.0, -2, 0.5], [0, 3, -1], [2, 0.5, -200]]),
        ),
        random((5, 5), (5, 5)),
    ],
    run=_up_to_a_constant,
    mistakes={
        "these are the weights, not the logits.": lambda s, g: F.normalize(
            s.exp() * g.sigmoid(), p=1, dim=-1
        ),
        "the gate itself is added; add its logarithm.": lambda s, g: s + g.sigmoid(),
        "g is added as it is: that is the factor exp(g), not σ(g).": lambda s, g: s + g,
        "the logits are multiplied; the gate multiplies exp(s).": lambda s, g: s * g.sigmoid(),
        "this is the bias alone; s is missing.": lambda s, g: F.logsigmoid(g),
        "this is s; the gate is missing.": lambda s, g: s,
    },
)
def check_gate_as_bias(s, g):
    """``gate_as_bias(s, g)``: ``[N, N]`` twice to ``[N, N]``, up to a constant of each row."""
    return _centred(s + F.logsigmoid(g))


@compare(
    "per head and shared by layers, per channel and shared by layers, and per layer.",
    cases=[(7, 24, 4, 10, 3), (9, 30, 5, 8, 2)],
    parts=["Graphormer", "CSA", "EGT"],
    mistakes={
        "layers share logits and values; count them once.": lambda N, d, H, d_e, L: (
            L * N**2 * H, 2 * L * N**2 * d, None
        ),
        "a graph has N² pairs.": lambda N, d, H, d_e, L: (N * H, 2 * N * d, L * N * (d_e + 2 * H)),
        "Graphormer has a logit per head; CSA has numbers per channel.": (
            lambda N, d, H, d_e, L: (N**2 * d, 2 * N**2 * H, None)
        ),
        "the values, or the gates, are missing.": lambda N, d, H, d_e, L: (
            None, N**2 * d, L * N**2 * (d_e + H)
        ),
        "each layer has its own pairs; L is missing.": lambda N, d, H, d_e, L: (
            None, None, N**2 * (d_e + 2 * H)
        ),
    },
)  # fmt: skip
def check_pair_numbers(N, d, H, d_e, L):
    """``pair_numbers(N, d, H, d_e, L)`` to the counts of Graphormer, CSA and EGT."""
    return N**2 * H, 2 * N**2 * d, L * N**2 * (d_e + 2 * H)


ERRORS = {
    "A": [0.42, 0.30, 0.36],
    "B": [0.43, 0.50, 0.60],
    "C": [0.44, 0.42, 0.45],  # ties with A's worst
    "D": [0.70, 0.80],  # fewer seeds
    "E": [0.20],
    "F": [0.25, 0.90, 0.90],
    "G": [0.46, 0.55, 0.62],  # above B seed by seed
}


def _sorted(pairs: object) -> list[tuple[str, str]]:
    if not isinstance(pairs, set | list | tuple):
        raise Mistake(f"expected a set of pairs of names, got a {type(pairs).__name__}.")
    return sorted({tuple(pair) for pair in pairs})


@compare(
    "the worst seed of one is compared with the best of the other.",
    cases=[(ERRORS,), ({"X": [0.31, 0.3], "Y": [0.2, 0.25], "Z": [0.6]},)],
    view=_sorted,
    mistakes={
        "the pairs are reversed: the lower error is ahead.": {
            "ahead": lambda a, b: min(a) > max(b)
        },
        "only means were compared; models whose seeds overlap are not ranked.": {
            "ahead": lambda a, b: sum(a) / len(a) < sum(b) / len(b)
        },
        "only the best seeds were compared.": {"ahead": lambda a, b: min(a) < min(b)},
        "only the worst seeds were compared.": {"ahead": lambda a, b: max(a) < max(b)},
        "A's worst equals C's best, which is not ahead.": {"ahead": lambda a, b: max(a) <= min(b)},
    },
)
def check_ahead_of(errors, ahead=lambda a, b: max(a) < min(b)):
    """``ahead_of(errors)`` to a set of pairs of names."""
    return {(a, b) for a in errors for b in errors if a != b and ahead(errors[a], errors[b])}
