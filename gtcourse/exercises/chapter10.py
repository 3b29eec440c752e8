"""Checks of chapter 10. Shapes: N nodes, d width, H heads, d_e width of a pair, L layers."""

import math

import torch
import torch.nn.functional as F

from gtcourse.exercises.checker import adjacency, compare, mistake, random, require

EDGES = adjacency(4, (0, 1), (1, 0), (1, 2), (2, 2), (3, 0), (3, 1), (0, 2), directed=True)
"""A loop at 2, and none that arrives at 3."""


# -inf has no gradient.
@compare((*random((4,), (4,)), EDGES), (*random((3,), (3,)), EDGES[1:, 1:]), gradients=False)
@mistake("i attends to j if an edge leads from j to i.", given=lambda r, s, A: (r, s, A.T))
@mistake("receiver and sender are swapped: rows receive.", given=lambda r, s, A: (s, r, A))
@mistake("the non-linearity is missing: LeakyReLU.", slope=1.0)
@mistake("the slope is 0.01, PyTorch's default; GAT's is 0.2.", slope=0.01)
@mistake("pairs without an edge have a large negative logit; use -inf.", off=-1e9)
@mistake("pairs without an edge have the logit 0, which a softmax gives weight.", off=0.0)
def check_gat_logits(receiver, sender, A, slope=0.2, off=-math.inf):
    """LeakyReLU of the receiver's number plus the sender's, on incoming edges."""
    return F.leaky_relu(receiver[:, None] + sender, slope).masked_fill(~A.T, off)


def _centred(got, *_):
    """Logits less the mean of each row, as a softmax sees them."""
    hint = "a logit is -inf: in single precision σ(-200) is 0. F.logsigmoid computes its logarithm."
    require((got != -math.inf).all(), hint)
    return got.double() - got.double().mean(dim=-1, keepdim=True)


@compare(
    (random((3, 3))[0], torch.tensor([[1.0, -2, 0.5], [0, 3, -1], [2, 0.5, -200]])),
    random((5, 5), (5, 5)),
    view=_centred,
)
@mistake("these are weights, not logits.", lambda s, g: F.normalize(s.exp() * g.sigmoid(), 1, -1))
@mistake("the gate itself is added; add its logarithm.", lambda s, g: s + g.sigmoid())
@mistake("g is added as it is: that is the factor exp(g), not σ(g).", lambda s, g: s + g)
@mistake("the gate multiplies exp(s), not s.", lambda s, g: s * g.sigmoid())
@mistake("this is the bias alone; s is missing.", lambda s, g: F.logsigmoid(g))
@mistake("this is s; the gate is missing.", lambda s, g: s)
def check_gate_as_bias(s, g):
    """The logarithm of the gate is a bias, and a constant message is unchanged."""
    return s + F.logsigmoid(g)


@compare((7, 24, 4, 11, 3), (9, 30, 5, 8, 2), parts=["Graphormer", "CSA", "EGT"])
@mistake("layers share logits and values; count them once.", shared=3)
@mistake("a graph has N² pairs.", power=1)
@mistake("Graphormer has a logit per head.", given=lambda N, d, H, *rest: (N, d, d, *rest))
@mistake("the values, or the gates, are missing.", kinds=1)
@mistake("each layer has its own pairs; L is missing.", given=lambda *sizes: (*sizes[:4], 1))
def check_pair_numbers(N, d, H, d_e, L, shared=1, power=2, kinds=2):
    """Per head and shared by layers, per channel and shared by layers, and per layer."""
    pairs = N**power
    return shared * pairs * H, shared * kinds * pairs * d, L * pairs * (d_e + kinds * H)


# C ties with A's worst, D has fewer seeds, and G is above B seed by seed.
ERRORS = {
    "A": [0.42, 0.30, 0.36], "B": [0.43, 0.50, 0.60], "C": [0.44, 0.42, 0.45], "D": [0.70, 0.80],
    "E": [0.20], "F": [0.25, 0.90, 0.90], "G": [0.46, 0.55, 0.62],
}  # fmt: skip


def _sorted(pairs, *_):
    is_set = isinstance(pairs, set | list | tuple)
    require(is_set, f"expected a set of pairs of names, got a {type(pairs).__name__}.")
    return sorted({tuple(pair) for pair in pairs})


@compare([ERRORS], [{"X": [0.31, 0.3], "Y": [0.2, 0.25], "Z": [0.6]}], view=_sorted)
@mistake("the pairs are reversed: the lower is ahead.", ahead=lambda a, b: min(a) > max(b))
@mistake("only means were compared.", ahead=lambda a, b: sum(a) / len(a) < sum(b) / len(b))
@mistake("only the best seeds were compared.", ahead=lambda a, b: min(a) < min(b))
@mistake("only the worst seeds were compared.", ahead=lambda a, b: max(a) < max(b))
@mistake("A's worst equals C's best: not ahead.", ahead=lambda a, b: max(a) <= min(b))
def check_ahead_of(errors, ahead=lambda a, b: max(a) < min(b)):
    """The worst seed of one is compared with the best of the other."""
    return {(a, b) for a in errors for b in errors if a != b and ahead(errors[a], errors[b])}
