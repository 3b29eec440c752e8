"""Checks of chapter 11: entropy, rollout, a node left out, and the derivative by a logit.

Shapes: N nodes, L layers, H heads, K channels of a head.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gtcourse.exercises.checker import compare, random

ATTENTION = torch.tensor(
    [[1.0, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0.2] * 5, [0.6, 0.1, 0.1, 0.2, 0],
     [0.3, 0.3, 0.2, 0.1, 0.1]]
)  # fmt: skip


@compare(
    "it is 0 for a row with one node and 1 for a uniform row, for any size.",
    cases=[(ATTENTION,), (random((7, 7))[0].softmax(dim=-1),)],
    gradients=False,  # infinite at a weight of 0
    mistakes={
        "an entry is NaN: 0 log 0 is 0 (torch.special.xlogy).": {"product": lambda a: a * a.log()},
        "this is the entropy in nats; divide by log N.": {"over": 1},
        "this is the entropy in bits; use nats and divide by log N.": {"over": math.log(2)},
        "the size of the graph is hard-coded; divide by log N.": {"over": math.log(5)},
        "a number was added inside the logarithm; use torch.special.xlogy.": {
            "product": lambda a: a * (a + 1e-3).log()
        },
        "it is divided by N; uniform attention has the entropy log N.": {"over": 5},
        "the sign is wrong: the logarithm of a weight is negative.": {"over": -math.log(5)},
        "the sum runs over the queries; it should run over j, the last axis.": {"dim": 0},
    },
)
def check_entropy_share(a, product=lambda a: torch.special.xlogy(a, a), over=None, dim=-1):
    """``entropy_share(a)``: ``[N, N]`` to ``[N]``."""
    return -product(a).sum(dim=dim) / (over or math.log(len(a)))


@compare(
    "half the mean over heads, half the identity, and later layers on the left.",
    cases=[
        (random((3, 2, 4, 4))[0].softmax(dim=-1),),
        (random((2, 5, 6, 6))[0].softmax(dim=-1),),
    ],
    mistakes={
        "the first layer is on the left; later layers belong on the left.": lambda attention: (
            check_rollout.reference(attention.flip(0))
        ),
        "the residual connection is missing: half of each factor is the identity.": {
            "half": 1.0,
            "itself": 0.0,
        },
        "each head was rolled out separately; average the heads before the product.": (
            lambda attention: sum(map(check_rollout.reference, attention.split(1, dim=1))) / 2
        ),
        "only the first head was used; take the mean of all heads.": lambda attention: (
            check_rollout.reference(attention[:, :1])
        ),
        "the maximum over heads was taken; use their mean.": {"heads": torch.amax},
        "this is only the last layer.": lambda attention: check_rollout.reference(attention[-1:]),
    },
)
def check_rollout(attention, half=0.5, itself=0.5, heads=torch.mean):
    """``rollout(attention)``: ``[L, H, N, N]`` to ``[N, N]``."""
    product = eye = torch.eye(attention.shape[-1], dtype=attention.dtype)
    for layer in attention:
        product = (half * heads(layer, dim=0) + itself * eye) @ product
    return product


def _without(s: Tensor, v: Tensor, gone: float = -math.inf) -> Tensor:
    return s.expand(len(s), -1).masked_fill(torch.eye(len(s)).bool(), gone).softmax(-1) @ v


@compare(
    "the other weights grow when a node is removed, and the difference is its effect.",
    cases=[random((4,), (4, 2)), random((6,), (6, 3), seed=2)],
    mistakes={
        "the sign is wrong: z minus z without the node.": lambda s, v: (
            _without(s, v) - s.softmax(0) @ v
        ),
        "this is z without the node; return the difference.": _without,
        "the value was set to zero; without a node, the other weights sum to one again.": (
            lambda s, v: s.softmax(0)[:, None] * v
        ),
        "the logit was set to 0, which still gets weight; set it to -inf.": {"gone": 0},
        "this is the derivative with respect to the logit, a (v - z); remove the node instead.": (
            lambda s, v: s.softmax(0)[:, None] * (v - s.softmax(0) @ v)
        ),
    },
)
def check_leave_out(s, v, gone=-math.inf):
    """``leave_out(s, v)``: ``[N]`` and ``[N, K]`` to ``[N, K]``."""
    return s.softmax(0) @ v - _without(s, v, gone)


@compare(
    "a logit moves the prediction by its value minus the mean.",
    cases=[
        (ATTENTION[2:, 2:].softmax(-1), *random((3, 2), (3, 2))),
        (random((5, 5), seed=2)[0].softmax(-1), *random((5, 4), (5, 4), seed=3)),
    ],
    gradients=False,  # the answer is itself a gradient, which autograd may compute
    mistakes={
        "this is the derivative with respect to the weight; take that of the logit.": (
            lambda a, v, g: g @ v.T
        ),
        "this is the weight times its derivative; z_i is missing.": (lambda a, v, g: a * (g @ v.T)),
        "the factor a_ij is missing.": lambda a, v, g: check_logit_gradient.reference(a, v, g) / a,
        "this uses z_j; it should be z_i.": lambda a, v, g: a * (g @ v.T - g @ (a @ v).T),
        "the sign is wrong.": lambda a, v, g: check_logit_gradient.reference(a, v, -g),
    },
)
def check_logit_gradient(a, v, g):
    """``logit_gradient(a, v, g)``: ``[N, N]`` and ``[N, K]`` twice to ``[N, N]``."""
    return a * (g @ v.T - (g * (a @ v)).sum(dim=-1, keepdim=True))
