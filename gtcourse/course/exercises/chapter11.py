"""Checks of chapter 11. Shapes: N nodes, L layers, H heads, K channels of a head."""

import math

import torch

from gtcourse.course.exercises.checker import compare, mistake, random, without_autograd
from gtcourse.course.exercises.drawing import Draw

ATTENTION = torch.tensor([[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.25] * 4, [0.6, 0.1, 0.1, 0.2]])


def _map(draw: Draw):
    N = 1 + draw.size(5)
    return [draw.row_weights(N, N)]


# The gradient is infinite at a weight of 0.
SMALL = torch.arange(1.0, 10)[:, None].expand(9, 9) / 8192  # from 0.0001 to 0.001
MANY_SMALL = SMALL + (1 - SMALL.sum(dim=1)).diag()


@compare(
    [ATTENTION],
    [MANY_SMALL],
    [random((7, 7))[0].softmax(dim=-1)],
    [torch.eye(2)],
    drawn=_map,
)
@mistake("0 log 0 is NaN, but should be 0: use torch.special.xlogy.", product=lambda a: a * a.log())
@mistake("this is the entropy in nats; divide by log N.", over=lambda a: 1)
@mistake("this is the entropy in bits; divide by log N.", over=lambda a: math.log(2))
@mistake("you hard-coded the size of the graph; divide by log N.", over=lambda a: math.log(4))
@mistake(
    "NaN was replaced after the sum, which also discards the terms that are not zero.",
    lambda a: (-(a * a.log()).sum(dim=-1) / math.log(len(a))).nan_to_num(),
)
@mistake(
    "this is one minus the sum of the squared weights; return the entropy.",
    lambda a: 1 - a.square().sum(dim=-1),
)
@mistake("this is one minus the largest weight; return the entropy.", lambda a: 1 - a.amax(dim=-1))
@mistake("divide by log N, not by N.", over=len)
@mistake("this is the mean over j; take the sum.", over=lambda a: len(a) * math.log(len(a)))
@mistake(
    "this divides by the logarithm of the number of weights above 0; divide by log N.",
    lambda a: -torch.special.xlogy(a, a).sum(-1) / (a > 0).sum(-1).clamp(min=2).to(a).log(),
)
@mistake(
    "this is the exponential of the entropy, divided by N; leave exp out and divide by log N.",
    lambda a: (-torch.special.xlogy(a, a).sum(dim=-1)).exp() / len(a),
)
@mistake(
    "0.001 was added inside the logarithm, which changes the entropy: use torch.special.xlogy.",
    product=lambda a: a * (a + 1e-3).log(),
)
@mistake(
    "0.01 was added inside the logarithm, which changes the entropy: use torch.special.xlogy.",
    product=lambda a: a * (a + 1e-2).log(),
)
@mistake("the sum runs over the queries; it should run over j, the last axis.", dim=0)
def check_entropy_share(a, product=lambda a: torch.special.xlogy(a, a), over=None, dim=-1):
    """The result is 0 for attention to one node and 1 for even attention, for any size."""
    return -product(a).sum(dim=dim) / (over(a) if over else math.log(len(a)))


def _maps(draw: Draw):
    L, H, N = (draw.size(4) for _ in range(3))
    return [draw.row_weights(L, H, N, N)]


@compare(
    [random((4, 2, 5, 5))[0].softmax(dim=-1)],
    [random((2, 5, 6, 6))[0].softmax(dim=-1)],
    [random((3, 2, 1, 1))[0].softmax(dim=-1)],
    drawn=_maps,
)
@mistake(
    "the first layer is on the left of the product; later layers belong there.",
    given=lambda a: (a.flip(0),),
)
@mistake("the residual is missing: half of each factor is the identity.", residual=0.0)
@mistake("only the first head was used; take the mean of all heads.", given=lambda a: (a[:, :1],))
@mistake(
    "this is the maximum over the heads; take their mean.",
    given=lambda a: (a.amax(dim=1, keepdim=True),),
)
@mistake(
    "this is the sum over the heads; take their mean.",
    given=lambda a: (a.sum(dim=1, keepdim=True),),
)
@mistake(
    "the layers are added; multiply them.",
    lambda a: sum(check_rollout.reference(a[n : n + 1]) for n in range(len(a))),
)
@mistake(
    "the heads are multiplied as if they were layers; take their mean.",
    given=lambda a: (a.flatten(0, 1)[:, None],),
)
@mistake("the first layer is left out.", given=lambda a: (a[1:],))
@mistake(
    "the first layer is taken without the identity; half of each factor is the identity.",
    lambda a: check_rollout.reference(a[1:]) @ a[0].mean(dim=0),
)
@mistake("only the last layer is used; multiply all of them.", given=lambda a: (a[-1:],))
@mistake("a + I is not halved: the rows of (a + I) / 2 sum to one.", lost=1.0)
@mistake("the matrices are multiplied entry by entry; use @.", times=torch.mul)
@mistake(
    "the layers are multiplied entry by entry; use @.",
    lambda a: torch.stack([check_rollout.reference(layer[None]) for layer in a]).prod(dim=0),
)
@mistake(
    "the first layer is used twice: start with the identity, or with the first layer and continue "
    "with the second.",
    lambda a: check_rollout.reference(torch.cat([a[:1], a])),
)
@mistake(
    "this is the mean over the layers; multiply them.",
    given=lambda a: (a.mean(dim=0, keepdim=True),),
)
@mistake(
    "this is the mean of the rollouts of the heads; take the mean over heads in each layer.",
    lambda a: torch.stack([check_rollout.reference(a[:, [h]]) for h in range(a.shape[1])]).mean(0),
)
@mistake(
    "the identity is added once, at the end; add it in every layer.",
    lambda a: (check_rollout.reference(a, residual=0.0) + torch.eye(a.shape[-1]).to(a)) / 2,
)
def check_rollout(attention, residual=0.5, lost=0.0, times=torch.matmul):
    """Each factor is (mean over heads + identity) / 2, with later layers on the left."""
    product = eye = torch.eye(attention.shape[-1], dtype=attention.dtype)
    for layer in attention:
        factor = (1 - residual) * layer.mean(dim=0) + residual * eye
        product = times((1 + lost) * factor, product)
    return product


LEVELS = (0.0, 1.0, 2.0, -1.0, 0.5, 300.0, -300.0, 299.0, -301.0, 900.0, -900.0, -0.0)


def _one_query(draw: Draw):
    """Logits that may be equal, and in the hundreds."""
    N, K = draw.number(2, 5), draw.size(3)
    return draw.numbers(N, of=LEVELS), draw.numbers(N, K)


@compare(
    random((4,), (4, 2)),
    random((6,), (6, 3), seed=2),
    (torch.tensor([140.0, 3, 20, -70, 19]), *random((5, 3))),  # one weight is 1
    (random((3,))[0] - 200, *random((3, 2))),  # no fixed number is small enough
    [x.double() for x in (torch.tensor([-997.0, -998, -996.5]), *random((3, 2)))],
    random((2,), (2, 1)),
    drawn=_one_query,
)
@mistake(
    "this is the derivative with respect to each logit; take the node out and compute z again.",
    lambda s, v: s.softmax(0)[:, None] * (v - s.softmax(0) @ v),
)
@mistake(
    "exp of a logit in the hundreds is infinite, and inf/inf is NaN: use softmax.",
    lambda s, v: _by_subtraction(s.exp(), v),
)
@mistake(
    "if node j has nearly all the weight, 1 - a_j, or the sum over the others, is rounded to 0: "
    "take the softmax over the others again.",
    lambda s, v: _by_subtraction((s - s.max()).exp(), v),
)
@mistake(
    "nodes that were removed before are still missing: remove only node j.",
    lambda s, v: s.softmax(0) @ v - _one_after_another(s).softmax(dim=-1).nan_to_num() @ v,
)
@mistake("this is z without the node; return the difference.", original=0)
@mistake(
    "the other weights did not change; without node j they sum to one again.",
    lambda s, v: s.softmax(0)[:, None] * v,
)
@mistake("the logit was set to 0, which still gets weight; set it to -inf.", gone=0)
@mistake(
    "this is the output without node j minus z; it should be z minus that output.", then=torch.neg
)
@mistake("all other nodes get the same weight; the softmax has to run over the last axis.", dim=0)
@mistake(
    "all nodes but j were removed; remove only node j.",
    lambda s, v: s.softmax(0) @ v - v,
)
@mistake("the exponentials are not divided by their sum.", lambda s, v: s.exp()[:, None] * v)
@mistake("a logit of about -5 still gets weight; set it to -inf.", gone=-5.0)
@mistake(
    "a logit of about -1000 still gets weight where the others are nearly as low; set it to -inf.",
    gone=-1000.0,
)
@mistake(
    "a finite logit still gets weight where the other logits are as low; set it to -inf.",
    gone=-100.0,
)
def check_leave_out(s, v, gone=-math.inf, original=1, dim=-1):
    """The other weights grow when a node is removed, and the difference is its effect."""
    others = s.expand(len(s), -1).masked_fill(torch.eye(len(s), dtype=torch.bool), gone)
    return original * s.softmax(0) @ v + (1 - 2 * original) * others.softmax(dim) @ v


def _by_subtraction(weights, v):
    """z minus z without each node, whose share is subtracted from both sums of the softmax."""
    weights = weights[:, None]
    total = weights.sum()
    z = (weights * v).sum(dim=0)
    return z / total - (z - weights * v) / (total - weights)


def _one_after_another(s):
    """In row j, the logits of the nodes up to j are -inf."""
    gone = torch.ones(len(s), len(s), dtype=torch.bool).tril()
    return s.expand(len(s), -1).masked_fill(gone, -math.inf)


def _of_one_head(draw: Draw):
    N, K = draw.size(4), draw.size(3)
    return draw.row_weights(N, N), draw.numbers(N, K), draw.numbers(N, K)


def _by_hand(answer, *arguments):
    without_autograd(answer)
    return answer(*arguments)


@compare(
    (ATTENTION, *random((4, 2), (4, 2))),
    (random((60, 60))[0].softmax(dim=-1), *random((60, 2), (60, 2), seed=4)),
    (random((5, 5))[0].softmax(dim=-1), *random((5, 4), (5, 4), seed=3)),
    run=_by_hand,
    drawn=_of_one_head,
)
@mistake(
    "this is the derivative with respect to a weight; take that with respect to its logit.",
    lambda a, v, g: g @ v.T,
)
@mistake("this is the weight times its derivative; z_i is missing.", lambda a, v, g: a * (g @ v.T))
@mistake(
    "this uses v_i; it should be z_i.",
    lambda a, v, g: a * (g @ v.T - (g * v).sum(dim=-1, keepdim=True)),
)
@mistake(
    "g · z is summed over all nodes; each row has its own g_i · z_i.",
    lambda a, v, g: a * (g @ v.T - (g * (a @ v)).sum()),
)
@mistake("this uses z_j; it should be z_i.", lambda a, v, g: a * (g @ v.T - g @ (a @ v).T))
@mistake(
    "the weight is missing: the derivative of z_i is a_ij (v_j - z_i).",
    lambda a, v, g: g @ v.T - (g * (a @ v)).sum(dim=-1, keepdim=True),
)
@mistake(
    "logit s_ij moves all weights of row i; a (1 - a) is the derivative of its own weight alone.",
    lambda a, v, g: a * (1 - a) * (g @ v.T),
)
@mistake(
    "the gradient of row i comes from g_i, not from g_j.",
    lambda a, v, g: a * (v @ g.T - (g * (a @ v)).sum(dim=-1, keepdim=True)),
)
@mistake(
    "z_i is the weighted mean of the values, not their plain mean.",
    lambda a, v, g: a * (g @ (v - v.mean(dim=0)).T),
)
@mistake(
    "g_i · z_i belongs to row i: use keepdim=True.",
    lambda a, v, g: a * (g @ v.T - (g * (a @ v)).sum(dim=-1)),
)
@mistake(
    "the channels were summed before the product; multiply first, then sum.",
    lambda a, v, g: a * g.sum(1, True) * (v.sum(dim=1) - (a @ v).sum(1, True)),
)
def check_logit_gradient(a, v, g):
    """The derivative with respect to logit s_ij is a_ij (v_j - z_i) · g_i."""
    return a * (g @ v.T - (g * (a @ v)).sum(dim=-1, keepdim=True))
