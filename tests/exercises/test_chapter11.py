"""The checkers of chapter 11: each mistake is named."""

import math

import pytest
import torch

from gtcourse.exercises import chapter11
from tests.exercises.solutions import checkers

CHECKERS = checkers(chapter11)


def nats(a, dim=-1):
    return -torch.special.xlogy(a, a).sum(dim=dim)


def share(a):
    return nats(a) / math.log(len(a))


ENTROPY = [
    (lambda a: -(a * a.log()).sum(dim=-1) / math.log(len(a)), "NaN"),
    (nats, "in nats"),
    (lambda a: nats(a) / math.log(2), "in bits"),
    (lambda a: nats(a) / len(a), "divided by N"),
    (lambda a: nats(a) / (a > 0).sum(-1).clamp(min=2).log(), "the nodes that are heard"),
    (lambda a: -share(a), "the sign"),
    (lambda a: nats(a, dim=0) / math.log(len(a)), "over the nodes that listen"),
    (lambda a: share(a).mean(), "this is their mean"),
    (lambda a: share(a)[:-1], "expected the shape"),
    (lambda a: 2 * share(a), "the numbers are not"),
    (lambda a: 0.5, "expected a tensor"),
]


def rollout(attention, order=1, half=0.5, itself=0.5, merge=lambda heads: heads.mean(dim=0)):
    product = torch.eye(attention.shape[-1])
    for heads in list(attention)[::order]:
        product = (half * merge(heads) + itself * torch.eye(len(product))) @ product
    return product


ROLLOUT = [
    (lambda a: rollout(a, order=-1), "the first layer stands on the left"),
    (lambda a: rollout(a, half=1.0, itself=0.0), "the residual connection is missing"),
    (lambda a: rollout(a, half=1.0, itself=1.0), "nothing is halved"),
    (
        lambda a: torch.stack([rollout(a[:, h : h + 1]) for h in range(a.shape[1])]).mean(0),
        "on its own",
    ),
    (lambda a: rollout(a, merge=lambda heads: heads.sum(dim=0)), "the heads are added"),
    (lambda a: rollout(a, merge=lambda heads: heads.amax(dim=0)), "the largest of the heads"),
    (lambda a: rollout(a[-1:]), "the last layer alone"),
    (lambda a: torch.stack([rollout(a[n : n + 1]) for n in range(len(a))]).mean(0), "averaged"),
    (lambda a: rollout(a).T, "columns receive"),
    (lambda a: rollout(a)[0], "expected the shape"),
    (lambda a: rollout(a) ** 2, "the numbers are not"),
    (lambda a: 1, "expected a tensor"),
]


def without(s, v, gone=-torch.inf):
    logits = s.expand(len(s), -1).masked_fill(torch.eye(len(s)).bool(), gone)
    return logits.softmax(dim=-1) @ v


def heard(s, v):
    return s.softmax(dim=0) @ v


LEAVE = [
    (lambda s, v: without(s, v) - heard(s, v), "the sign"),
    (without, "this is z without the node"),
    (lambda s, v: s.softmax(dim=0)[:, None] * v, "the value was set to zero"),
    (lambda s, v: heard(s, v) - without(s, v, gone=0.0), "set to 0"),
    (lambda s, v: s.softmax(dim=0)[:, None] * (v - heard(s, v)), "no small step"),
    (lambda s, v: heard(s, v), "expected the shape"),
    (lambda s, v: 2 * (heard(s, v) - without(s, v)), "the numbers are not"),
    (lambda s, v: "z", "expected a tensor"),
]


def by_logit(a, v, g):
    return a * (g @ v.T - (g * (a @ v)).sum(dim=-1, keepdim=True))


GRADIENT = [
    (lambda a, v, g: g @ v.T, "by the weight"),
    (lambda a, v, g: a * (g @ v.T), "z_i, is missing"),
    (lambda a, v, g: by_logit(a, v, g) / a, "the factor a_ij"),
    (lambda a, v, g: a * (g @ v.T - g @ (a @ v).T), "z_j stands"),
    (
        lambda a, v, g: a * ((g * v).sum(-1, keepdim=True) - (g * (a @ v)).sum(-1, keepdim=True)),
        "the value is that of i",
    ),
    (lambda a, v, g: a * ((g * v).sum(-1) - (a @ v) @ g.T), "the gradient is that of j"),
    (lambda a, v, g: by_logit(a, v, g).T, "rows and columns"),
    (lambda a, v, g: -by_logit(a, v, g), "the sign"),
    (lambda a, v, g: by_logit(a, v, g)[0], "expected the shape"),
    (lambda a, v, g: 3 * by_logit(a, v, g), "the numbers are not"),
    (lambda a, v, g: 1.0, "expected a tensor"),
]

WRONG = [
    (name, *case)
    for name, cases in (
        ("entropy_share", ENTROPY),
        ("rollout", ROLLOUT),
        ("leave_out", LEAVE),
        ("logit_gradient", GRADIENT),
    )
    for case in cases
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_named(name, answer, message):
    verdict = CHECKERS[name](answer)
    assert verdict.passed is False
    assert message in verdict.message


def test_a_node_may_be_left_out_by_dividing():
    def by_dividing(s, v):
        a = s.softmax(dim=0)[:, None]
        return a / (1 - a) * (v - (a * v).sum(dim=0))

    assert chapter11.check_leave_out(by_dividing).passed


def test_the_derivative_may_be_that_of_autograd():
    def by_autograd(a, v, g):
        s = a.log().requires_grad_()
        return torch.autograd.grad(s.softmax(dim=-1) @ v, s, g)[0]

    assert chapter11.check_logit_gradient(by_autograd).passed


def test_rollout_may_be_one_product_and_entropy_a_distribution():
    def chained(attention):
        steps = (attention.mean(dim=1) + torch.eye(attention.shape[-1])) / 2
        return torch.linalg.multi_dot(list(steps.flip(0)))

    assert chapter11.check_rollout(chained).passed
    of = torch.distributions.Categorical
    assert chapter11.check_entropy_share(lambda a: of(probs=a).entropy() / math.log(len(a))).passed
