"""Checks of chapter 10. Shapes: N nodes, d width, H heads, d_e width of a pair, L layers."""

import math

import torch
import torch.nn.functional as F

from gtcourse.exercises.checker import compare, mistake, random

A = random((4, 4))[0] > 0


# -inf has no gradient.
@compare((*random((4,), (4,)), A), (*random((3,), (3,)), A[1:, 1:]), gradients=False)
@mistake("the non-linearity is missing: LeakyReLU.", slope=1.0)
@mistake("the slope is 0.01, PyTorch's default; GAT's is 0.2.", slope=0.01)
@mistake("pairs without an edge have a large negative logit; use -inf.", off=-1e9)
def check_gat_logits(receiver, sender, A, slope=0.2, off=-math.inf):
    """LeakyReLU of the receiver's number plus the sender's, on incoming edges."""
    return F.leaky_relu(receiver[:, None] + sender, slope).masked_fill(~A.T, off)


@compare(
    (random((3, 3))[0], torch.tensor([[1.0, -2, 0.5], [0, 3, -1], [2, 0.5, -200]])),
    random((5, 5), (5, 5)),
    view=lambda z, *_: z.double() - z.double().mean(dim=-1, keepdim=True),  # as in a softmax
)
@mistake("σ(-200) is 0 in single precision; use F.logsigmoid.", lambda s, g: s + g.sigmoid().log())
@mistake("these are weights, not logits.", lambda s, g: F.normalize(s.exp() * g.sigmoid(), 1, -1))
@mistake("the gate itself is added; add its logarithm.", lambda s, g: s + g.sigmoid())
@mistake("g is added as it is: that is the factor exp(g), not σ(g).", lambda s, g: s + g)
@mistake("the gate multiplies exp(s), not s.", lambda s, g: s * g.sigmoid())
def check_gate_as_bias(s, g):
    """The logarithm of the gate is a bias, and a constant message is unchanged."""
    return s + F.logsigmoid(g)


@compare((7, 24, 4, 11, 3), (9, 30, 5, 8, 2), parts=["Graphormer", "CSA", "EGT"])
@mistake("layers share logits and values; count them once.", shared=3)
@mistake("the values, or the gates, are missing.", kinds=1)
@mistake("each layer has its own pairs; L is missing.", given=lambda *sizes: (*sizes[:4], 1))
def check_pair_numbers(N, d, H, d_e, L, shared=1, kinds=2):
    """Per head and shared by layers, per channel and shared by layers, and per layer."""
    return shared * N**2 * H, shared * kinds * N**2 * d, L * N**2 * (d_e + kinds * H)


# C ties with A's worst, D has fewer seeds, and G is above B seed by seed.
ERRORS = {
    "A": [0.42, 0.30, 0.36], "B": [0.43, 0.50, 0.60], "C": [0.44, 0.42, 0.45], "D": [0.70, 0.80],
    "E": [0.20], "F": [0.25, 0.90, 0.90], "G": [0.46, 0.55, 0.62],
}  # fmt: skip


@compare(
    [ERRORS],
    [{"X": [0.31, 0.3], "Y": [0.2, 0.25], "Z": [0.6]}],
    view=lambda pairs, *_: sorted({*map(tuple, pairs)}),
)
@mistake("the pairs are reversed: the lower is ahead.", ahead=lambda a, b: min(a) > max(b))
@mistake("only means were compared.", ahead=lambda a, b: sum(a) / len(a) < sum(b) / len(b))
@mistake("only the best seeds were compared.", ahead=lambda a, b: min(a) < min(b))
@mistake("A's worst equals C's best: not ahead.", ahead=lambda a, b: max(a) <= min(b))
def check_ahead_of(errors, ahead=lambda a, b: max(a) < min(b)):
    """The worst seed of one is compared with the best of the other."""
    return {(a, b) for a in errors for b in errors if a != b and ahead(errors[a], errors[b])}
