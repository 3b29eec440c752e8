"""Checks of chapter 11. Shapes: N nodes, L layers, H heads, K channels of a head."""

import math

import torch

from gtcourse.course.exercises.checker import compare, mistake, random, without_autograd

ATTENTION = torch.tensor([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4, [0.6, 0.1, 0.1, 0.2]])


# The gradient is infinite at a weight of 0.
@compare([ATTENTION], [random((7, 7))[0].softmax(dim=-1)])
@mistake("0 log 0 is NaN, but should be 0: use torch.special.xlogy.", product=lambda a: a * a.log())
@mistake("this is the entropy in nats; divide by log N.", over=1)
@mistake("the size of the graph is hard-coded; divide by log N.", over=math.log(4))
@mistake("a small number was added inside the logarithm.", product=lambda a: a * (a + 1e-3).log())
@mistake("the sum runs over the queries; it should run over j, the last axis.", dim=0)
def check_entropy_share(a, product=lambda a: torch.special.xlogy(a, a), over=None, dim=-1):
    """It is 0 for a row with one node and 1 for a uniform row, for any size."""
    return -product(a).sum(dim=dim) / (over or math.log(len(a)))


@compare([random((3, 2, 4, 4))[0].softmax(dim=-1)], [random((2, 5, 6, 6))[0].softmax(dim=-1)])
@mistake(
    "the first layer is on the left of the product; later layers belong there.",
    given=lambda a: (a.flip(0),),
)
@mistake("the residual is missing: half of each factor is the identity.", residual=0.0)
@mistake("only the first head was used; take their mean.", given=lambda a: (a[:, :1],))
def check_rollout(attention, residual=0.5):
    """Half the mean over heads, half the identity, and later layers on the left."""
    product = eye = torch.eye(attention.shape[-1], dtype=attention.dtype)
    for layer in attention:
        product = ((1 - residual) * layer.mean(dim=0) + residual * eye) @ product
    return product


@compare(random((4,), (4, 2)), random((6,), (6, 3), seed=2))
@mistake("this is z without the node; return the difference.", original=0)
@mistake(
    "without the node, the other weights sum to one again.", lambda s, v: s.softmax(0)[:, None] * v
)
@mistake("the logit was set to 0, which still gets weight; set it to -inf.", gone=0)
def check_leave_out(s, v, gone=-math.inf, original=1):
    """The other weights grow when a node is removed, and the difference is its effect."""
    others = s.expand(len(s), -1).masked_fill(torch.eye(len(s), dtype=torch.bool), gone)
    return original * s.softmax(0) @ v + (1 - 2 * original) * others.softmax(-1) @ v


def _by_hand(answer, *arguments):
    without_autograd(answer)
    return answer(*arguments)


@compare(
    (ATTENTION, *random((4, 2), (4, 2))),
    (random((5, 5))[0].softmax(dim=-1), *random((5, 4), (5, 4), seed=3)),
    run=_by_hand,
)
@mistake("this is the derivative for a weight, not for a logit.", lambda a, v, g: g @ v.T)
@mistake("this is the weight times its derivative; z_i is missing.", lambda a, v, g: a * (g @ v.T))
@mistake("this uses z_j; it should be z_i.", lambda a, v, g: a * (g @ v.T - g @ (a @ v).T))
def check_logit_gradient(a, v, g):
    """A logit moves the prediction by its value minus the mean."""
    return a * (g @ v.T - (g * (a @ v)).sum(dim=-1, keepdim=True))
