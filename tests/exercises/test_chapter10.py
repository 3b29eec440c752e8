"""The checkers of chapter 10: each mistake is named."""

import pytest
import torch
import torch.nn.functional as F

from gtcourse.exercises import chapter10
from tests.exercises.solutions import checkers

CHECKERS = checkers(chapter10)
INF = float("inf")


def gat(r, s, A, *, slope=0.2, heard=None, off=-INF):
    """A right answer, but for what is given."""
    logits = F.leaky_relu(r[:, None] + s, slope)
    return logits.masked_fill(~(A.T if heard is None else heard), off)


GAT = [
    (lambda r, s, A: gat(r, s, A, heard=A), "the edges are turned"),
    (lambda r, s, A: gat(s, r, A), "receiver and sender are exchanged: rows"),
    (lambda r, s, A: gat(r, s, A).T, "this is the transpose"),
    (lambda r, s, A: gat(r, s, A, slope=1.0), "the bend is missing"),
    (lambda r, s, A: gat(r, s, A, slope=0.0), "this is ReLU"),
    (lambda r, s, A: gat(r, s, A, slope=0.01), "PyTorch's default"),
    (
        lambda r, s, A: gat(F.leaky_relu(r, 0.2), F.leaky_relu(s, 0.2), A, slope=1.0),
        "each number is bent on its own",
    ),
    (lambda r, s, A: gat(r, s, A, off=0.0), "which a softmax gives weight"),
    (lambda r, s, A: gat(r, s, A, heard=A | True), "all pairs have a logit"),
    (
        lambda r, s, A: gat(r, s, A, heard=A.T | torch.eye(4, dtype=torch.bool)),
        "does not hear itself here",
    ),
    (
        lambda r, s, A: gat(r, s, A, heard=A.T & ~torch.eye(4, dtype=torch.bool)),
        "the loop at node 2",
    ),
    (lambda r, s, A: gat(r, s, A).softmax(dim=-1), "the numbers are not"),
    (lambda r, s, A: r + s, "expected the shape"),
    (lambda r, s, A: 1.0, "expected a tensor"),
]

GATE = [
    (lambda s, g: s + g.sigmoid().log(), "in single precision"),
    (lambda s, g: (s.exp() * g.sigmoid()).softmax(dim=-1) * torch.nan, "an entry is NaN"),
    (
        lambda s, g: s.exp() * g.sigmoid() / (s.exp() * g.sigmoid()).sum(-1, keepdim=True),
        "these are the weights, not the logits",
    ),
    (lambda s, g: s.exp() * g.sigmoid(), "before the division"),
    (lambda s, g: s + g.sigmoid(), "the gate itself is added"),
    (lambda s, g: s + g, "g is added as it is"),
    (lambda s, g: s * g.sigmoid(), "the logits are multiplied"),
    (lambda s, g: F.logsigmoid(g), "s is missing"),
    (lambda s, g: s, "the gate is missing"),
    (lambda s, g: s - F.logsigmoid(g), "its logarithm is subtracted"),
    (lambda s, g: 2 * s, "the numbers are not"),
    (lambda s, g: s[0], "expected the shape"),
    (lambda s, g: 0.0, "expected a tensor"),
]


def counts(*, graphormer=None, csa=None, egt=None):
    """A right answer, but for the counts that are given."""

    def answer(N, d, H, d_e, L):
        right = N**2 * H, 2 * N**2 * d, L * N**2 * (d_e + 2 * H)
        given = graphormer, csa, egt
        return tuple(
            r if f is None else f(N, d, H, d_e, L) for r, f in zip(right, given, strict=True)
        )

    return answer


COUNTS = [
    (counts(graphormer=lambda N, d, H, d_e, L: L * N**2 * H), "Graphormer: layers share"),
    (
        counts(graphormer=lambda N, d, H, d_e, L: N**2),
        "Graphormer: there is a logit for each",
    ),
    (counts(graphormer=lambda N, d, H, d_e, L: N**2 * d), "not for each channel"),
    (counts(graphormer=lambda N, d, H, d_e, L: N * H), "Graphormer: a graph has N²"),
    (counts(graphormer=lambda N, d, H, d_e, L: N * (N - 1) // 2 * H), "unordered"),
    (counts(graphormer=lambda N, d, H, d_e, L: N * (N - 1) * H), "a node with itself"),
    (counts(csa=lambda N, d, H, d_e, L: N**2 * d), "CSA: the values are missing"),
    (counts(csa=lambda N, d, H, d_e, L: 2 * L * N**2 * d), "CSA: layers share"),
    (counts(csa=lambda N, d, H, d_e, L: N**2 * (H + d)), "CSA: logits are a number"),
    (counts(csa=lambda N, d, H, d_e, L: 2 * N**2 * H), "CSA: there is a number"),
    (counts(csa=lambda N, d, H, d_e, L: 2 * N * d), "CSA: a graph has N²"),
    (counts(egt=lambda N, d, H, d_e, L: N**2 * (d_e + 2 * H)), "L is missing"),
    (counts(egt=lambda N, d, H, d_e, L: L * N**2 * (d_e + H)), "the gates are missing"),
    (counts(egt=lambda N, d, H, d_e, L: L * N**2 * d_e), "logits and gates are missing"),
    (counts(egt=lambda N, d, H, d_e, L: L * N**2 * 2 * H), "the pairs' vectors are missing"),
    (counts(egt=lambda N, d, H, d_e, L: N**2 * (d_e + L * 2 * H)), "change from layer to layer"),
    (counts(egt=lambda N, d, H, d_e, L: L * N**2 * (d + 2 * H)), "the width d_e, not d"),
    (counts(egt=lambda N, d, H, d_e, L: L * N * (d_e + 2 * H)), "EGT: a graph has N²"),
    (counts(egt=lambda N, d, H, d_e, L: 5), "the count is 2646, got 5"),
    (lambda *sizes: counts()(*sizes)[0], "expected three counts"),
]


def pairs(errors, ahead):
    return {(a, b) for a in errors for b in errors if a != b and ahead(errors[a], errors[b])}


def by(ahead):
    return lambda errors: pairs(errors, ahead)


def mean(values):
    return sum(values) / len(values)


AHEAD = [
    (by(lambda a, b: min(a) > max(b)), "the pairs are turned"),
    (lambda errors: {("A", "A")}, "ahead of itself"),
    (by(lambda a, b: mean(a) < mean(b)), "means alone"),
    (by(lambda a, b: min(a) < min(b)), "best seeds alone"),
    (by(lambda a, b: max(a) < max(b)), "worst seeds alone"),
    (by(lambda a, b: min(a) < max(b)), "one seed below one"),
    (by(lambda a, b: all(x < y for x, y in zip(a, b, strict=False))), "one by one"),
    (by(lambda a, b: max(a) <= min(b)), "equal is not ahead"),
    (lambda errors: set(), "missing: [('A', 'B')"),
    (lambda errors: {"A": "B"}, "expected a set"),
]

WRONG = [
    (name, *case)
    for name, cases in (
        ("gat_logits", GAT),
        ("gate_as_bias", GATE),
        ("pair_numbers", COUNTS),
        ("ahead_of", AHEAD),
    )
    for case in cases
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_named(name, answer, message):
    verdict = CHECKERS[name](answer)
    assert verdict.passed is False
    assert message in verdict.message


def test_a_logit_is_known_up_to_a_constant_of_its_row():
    def shifted(s, g):
        return (s + F.logsigmoid(g)).log_softmax(dim=-1)

    assert chapter10.check_gate_as_bias(shifted).passed


def test_the_gate_may_be_a_logarithm_in_double_precision():
    assert chapter10.check_gate_as_bias(lambda s, g: s + g.double().sigmoid().log()).passed


def test_the_bend_may_be_a_maximum():
    def by_maximum(r, s, A):
        x = r[:, None] + s[None]
        return torch.maximum(x, 0.2 * x) + A.T.float().log()

    assert chapter10.check_gat_logits(by_maximum).passed


def test_pairs_may_come_as_a_list():
    def listed(errors):
        return [[a, b] for a, b in pairs(errors, lambda one, other: max(one) < min(other))]

    assert chapter10.check_ahead_of(listed).passed
