"""Checks of chapter 10: GAT's logit, a gate inside the softmax, numbers for pairs, who is ahead.

Shapes: N nodes, d width, H heads, d_e width of a pair, L layers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from gtcourse.exercises.verdict import Mistake, checker, expect


@checker("a number of the receiver and one of the sender, bent, on the edges that lead here.")
def check_gat_logits(gat_logits: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """``gat_logits(receiver, sender, A)``: ``[N]`` twice and ``[N, N]`` bool to ``[N, N]``."""
    # One-way edges, a loop at 2, and node 3 hears nobody.
    n = 4
    edges = {(0, 1), (1, 0), (1, 2), (2, 2), (3, 0), (3, 1), (0, 2)}
    receiver, sender = [1.5, -2.0, 0.25, 0.75], [-0.5, 1.0, -3.0, 0.5]
    A = torch.tensor([[(i, j) in edges for j in range(n)] for i in range(n)])

    def logits(
        number: Callable[[int, int], float] = lambda i, j: receiver[i] + sender[j],
        slope: float = 0.2,
        heard: Callable[[int, int], bool] = lambda i, j: (j, i) in edges,
        off: float = -math.inf,
    ) -> Tensor:
        def entry(i: int, j: int) -> float:
            s = number(i, j)
            return (s if s > 0 else slope * s) if heard(i, j) else off

        return torch.tensor([[entry(i, j) for j in range(n)] for i in range(n)])

    def turned(i: int, j: int) -> float:
        return receiver[j] + sender[i]

    def each(i: int, j: int) -> float:
        return sum(x if x > 0 else 0.2 * x for x in (receiver[i], sender[j]))

    mistakes = {
        "the edges are turned: node i hears j where an edge leads from j to i.": logits(
            heard=lambda i, j: (i, j) in edges
        ),
        "receiver and sender are exchanged: rows receive.": logits(turned),
        "receiver and sender are exchanged, and the edges are turned: this is the transpose.": (
            logits(turned, heard=lambda i, j: (i, j) in edges)
        ),
        "the bend is missing: LeakyReLU.": logits(slope=1.0),
        "negative numbers became 0: this is ReLU.": logits(slope=0.0),
        "the slope is 0.01, PyTorch's default; GAT's is 0.2.": logits(slope=0.01),
        "each number is bent on its own; the bend is around their sum.": logits(each, slope=1.0),
        "pairs without an edge have the logit 0, which a softmax gives weight.": logits(off=0.0),
        "all pairs have a logit; node i hears its neighbours.": logits(heard=lambda i, j: True),
        "a node does not hear itself here, unless it has a loop.": logits(
            heard=lambda i, j: i == j or (j, i) in edges
        ),
        "the loop at node 2 is an edge like any other.": logits(
            heard=lambda i, j: i != j and (j, i) in edges
        ),
    }
    got = gat_logits(torch.tensor(receiver), torch.tensor(sender), A.clone())
    expect(_finite(got), _finite(logits()), {m: _finite(x) for m, x in mistakes.items()})


@checker("the logarithm of the gate is a bias, and a constant message stays what it is.")
def check_gate_as_bias(gate_as_bias: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``gate_as_bias(s, g)``: ``[N, N]`` twice to ``[N, N]``, up to a constant of each row."""
    s = [[0.5, -1.0, 2.0], [1.0, 0.0, -0.5], [-2.0, 1.5, 0.25]]
    g = [[1.0, -2.0, 0.5], [0.0, 3.0, -1.0], [2.0, 0.5, -200.0]]
    got = gate_as_bias(torch.tensor(s), torch.tensor(g))
    if isinstance(got, Tensor) and got.shape == (3, 3) and got[2, 2] == -math.inf:
        raise Mistake(
            "the last logit is -inf: in single precision σ(-200) is 0, but its logarithm is -200. "
            "F.logsigmoid takes both steps at once."
        )
    if isinstance(got, Tensor) and got.isnan().any():
        raise Mistake("an entry is NaN; the logarithm belongs to the gate, which is not negative.")

    def sigmoid(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    def table(entry: Callable[[float, float], float]) -> Tensor:
        return torch.tensor(
            [[entry(*both) for both in zip(*rows, strict=True)] for rows in zip(s, g, strict=True)]
        )

    weights = table(lambda s, g: math.exp(s) * sigmoid(g))
    mistakes = {
        "these are the weights, not the logits.": weights / weights.sum(dim=-1, keepdim=True),
        "these are the weights before the division, not the logits.": weights,
        "the gate itself is added; add its logarithm.": table(lambda s, g: s + sigmoid(g)),
        "g is added as it is: that is the factor exp(g), not σ(g).": table(lambda s, g: s + g),
        "the logits are multiplied; the gate multiplies exp(s).": table(
            lambda s, g: s * sigmoid(g)
        ),
        "this is the bias alone; s is missing.": table(lambda s, g: -math.log1p(math.exp(-g))),
        "this is s; the gate is missing.": table(lambda s, g: s),
        "the gate is taken away: its logarithm is subtracted.": table(
            lambda s, g: s + math.log1p(math.exp(-g))
        ),
    }
    right = table(lambda s, g: s - math.log1p(math.exp(-g)))
    try:
        expect(_centred(got), _centred(right), {})
    except Mistake:
        expect(got, right, mistakes)
        raise


@checker("head by head for all layers, channel by channel for all layers, and layer by layer.")
def check_pair_numbers(
    pair_numbers: Callable[[int, int, int, int, int], tuple[int, int, int]],
) -> None:
    """``pair_numbers(N, d, H, d_e, L)`` to the counts of Graphormer, CSA and EGT."""
    N, d, H, d_e, L = 7, 24, 4, 10, 3
    got = pair_numbers(N, d, H, d_e, L)
    if not isinstance(got, tuple | list) or len(got) != 3:
        raise Mistake("expected three counts: of Graphormer, CSA and EGT.")
    pairs = N * N
    known = {
        "Graphormer": (
            pairs * H,
            {
                "layers share the logits; they are held once.": L * pairs * H,
                "there is a logit for each head.": pairs,
                "there is a logit for each head, not for each channel.": pairs * d,
                "a graph has N² pairs.": N * H,
                "each unordered pair is counted once; (i, j) and (j, i) have a logit each.": (
                    N * (N - 1) // 2 * H
                ),
                "a node with itself is a pair, too.": N * (N - 1) * H,
            },
        ),
        "CSA": (
            2 * pairs * d,
            {
                "the values are missing: they are as many as the logits.": pairs * d,
                "layers share logits and values; they are held once.": 2 * L * pairs * d,
                "logits are a number for each channel, not for each head.": pairs * (H + d),
                "there is a number for each channel, not for each head.": 2 * pairs * H,
                "a graph has N² pairs.": 2 * N * d,
            },
        ),
        "EGT": (
            L * pairs * (d_e + 2 * H),
            {
                "each layer has pairs of its own; L is missing.": pairs * (d_e + 2 * H),
                "the gates are missing.": L * pairs * (d_e + H),
                "logits and gates are missing.": L * pairs * d_e,
                "the pairs' vectors are missing.": L * pairs * 2 * H,
                "the vectors change from layer to layer as well.": pairs * (d_e + L * 2 * H),
                "a pair's vector has the width d_e, not d.": L * pairs * (d + 2 * H),
                "a graph has N² pairs.": L * N * (d_e + 2 * H),
            },
        ),
    }
    for (name, (right, mistakes)), count in zip(known.items(), got, strict=True):
        if count == right:
            continue
        for message, wrong in mistakes.items():
            if count == wrong:
                raise Mistake(f"{name}: {message}")
        raise Mistake(f"{name}: for N = {N}, d = {d}, H = {H}, d_e = {d_e}, L = {L} the count is "
                      f"{right}, got {count}.")  # fmt: skip


@checker("the worst seed of one against the best of the other, and silence where they overlap.")
def check_ahead_of(
    ahead_of: Callable[[Mapping[str, Sequence[float]]], set[tuple[str, str]]],
) -> None:
    """``ahead_of(errors)`` to a set of pairs of names."""
    errors = {
        "A": [0.42, 0.30, 0.36],
        "B": [0.43, 0.50, 0.60],
        "C": [0.44, 0.42, 0.45],  # ties with A's worst
        "D": [0.70, 0.80],  # fewer seeds
        "E": [0.20],
        "F": [0.25, 0.90, 0.90],
        "G": [0.46, 0.55, 0.62],  # above B seed by seed
    }
    got = ahead_of({name: list(values) for name, values in errors.items()})
    if isinstance(got, list | tuple):
        got = {tuple(pair) for pair in got}
    if not isinstance(got, set):
        raise Mistake(f"expected a set of pairs of names, got a {type(got).__name__}.")

    def pairs(ahead: Callable[[Sequence[float], Sequence[float]], bool]) -> set[tuple[str, str]]:
        return {
            (one, other)
            for one in errors
            for other in errors
            if one != other and ahead(errors[one], errors[other])
        }

    def average(values: Sequence[float]) -> float:
        return sum(values) / len(values)

    right = pairs(lambda one, other: max(one) < min(other))
    if {(other, one) for one, other in got} == right:
        raise Mistake("the pairs are turned: the lower error is ahead.")
    if any(one == other for one, other in got):
        raise Mistake("no model is ahead of itself.")
    for message, ahead in (
        ("means alone were compared; two models whose seeds overlap are not told apart.",
         lambda one, other: average(one) < average(other)),
        ("best seeds alone were compared.", lambda one, other: min(one) < min(other)),
        ("worst seeds alone were compared.", lambda one, other: max(one) < max(other)),
        ("one seed below one of the other's is not enough; each has to be below each.",
         lambda one, other: min(one) < max(other)),
        ("seeds were compared one by one; they are no pairs, the data is the same.",
         lambda one, other: all(a < b for a, b in zip(one, other, strict=False))),
        ("A's worst seed equals C's best; equal is not ahead.",
         lambda one, other: max(one) <= min(other)),
    ):  # fmt: skip
        if got == pairs(ahead):
            raise Mistake(message)
    if got != right:
        missing, extra = sorted(right - got), sorted(got - right)
        raise Mistake(f"missing: {missing or 'none'}; too many: {extra or 'none'}.")


def _centred(table: object) -> object:
    """Less the mean of each row: logits as a softmax knows them."""
    if not isinstance(table, Tensor) or table.dim() == 0:
        return table
    return table.double() - table.double().mean(dim=-1, keepdim=True)


def _finite(table: object) -> object:
    """-inf as a large negative number, which can be compared."""
    if not isinstance(table, Tensor):
        return table
    return table.double().nan_to_num(nan=1e4, neginf=-1e3)
