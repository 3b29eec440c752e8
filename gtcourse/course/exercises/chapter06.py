"""Checks of chapter 06. Shapes: N nodes, H heads, d width, D largest distance, L longest path."""

import math

import numpy as np
import torch

from gtcourse.course.exercises.checker import (
    Mistake,
    adjacency,
    checker,
    compare,
    integers,
    mistake,
    random,
    require,
    tensors,
)

FAR = torch.tensor(  # a path of four nodes and a fifth alone; distance 3 is beyond D = 2
    [[0, 1, 2, 3, -1], [1, 0, 1, 2, -1], [2, 1, 0, 1, -1], [3, 2, 1, 0, -1], [-1] * 4 + [0]]
)


@compare((*random((4, 2)), FAR), (*random((5, 3)), FAR[:4, 1:].repeat(1, 2)[:, :4]))
@mistake(
    "index -1 is the last row; pairs without a path belong in row 0.", rows=lambda d: d.clamp(max=3)
)
@mistake("distance k was looked up in row k; use row k + 1.", rows=lambda d: d.clamp(0, 3))
@mistake("pairs without a path have a row of their own, row 0.", rows=lambda d: (d + 1).clamp(1, 3))
@mistake("distances beyond D share the last row.", rows=lambda d: (d + 1) % 4)
def check_spatial_bias(scalars, distance, rows=lambda d: d + 1):
    """Unreachable pairs have their own scalar, and all far ones share one."""
    return scalars[rows(distance).clamp(max=len(scalars) - 1)].permute(2, 0, 1)


PATH = (random((6, 6, 3))[0] > 0).long()  # types of L = 3 edges
DISTANCE = (3 * random((6, 6))[0]).abs().long() - 1


@compare((*random((3, 2)), PATH, DISTANCE), (*random((2, 4)), PATH[1:, 1:, :2], DISTANCE[1:, 1:]))
@mistake("a mean over no edges is 0/0; it has to be 0 here.", edges=lambda d: d.clamp(max=3))
@mistake("the sum is divided by L, not by the path's edges.", edges=lambda d: 3)
@mistake(
    "a longer path is divided by its distance; divide by the L edges that are read.",
    edges=lambda d: d.clamp(min=1),
)
@mistake("one position too many is read: n is on the path if n < distance.", longer=1)
@mistake("this is the sum along the path; take the mean.", edges=lambda d: 1)
def check_edge_bias(table, path, distance, longer=0, edges=None):
    """The mean is over the edges that are read, and it is 0 without a path."""
    on_path = torch.arange(len(table)) < distance[..., None] + longer
    terms = table[torch.arange(len(table)), path] * on_path
    return terms.sum(dim=-1) / (edges(distance) if edges else distance.clamp(1, len(table)))


def head(h, distance, W_Q, W_K, W_V, scalars):
    """One head of Graphormer with the bias of Eq. 6: the right one of exercise 2."""
    return _logits(h, distance, W_Q, W_K, scalars).softmax(dim=1) @ (h @ W_V)


def _logits(h, distance, W_Q, W_K, scalars):
    return _products(h, W_Q, W_K) / W_Q.shape[1] ** 0.5 + _bias(distance, scalars)


def _products(h, W_Q, W_K):
    return (h @ W_Q) @ (h @ W_K).T


def _bias(distance, scalars):
    return scalars[(distance + 1).clamp(max=len(scalars) - 1)]


def _over_queries(h, distance, W_Q, W_K, W_V, scalars):
    return _logits(h, distance, W_Q, W_K, scalars).softmax(dim=0) @ (h @ W_V)


def _unscaled(h, distance, W_Q, W_K, W_V, scalars):
    logits = _products(h, W_Q, W_K) + _bias(distance, scalars)
    return logits.softmax(dim=1) @ (h @ W_V)


def _scaled_twice(h, distance, W_Q, W_K, W_V, scalars):
    logits = (_products(h, W_Q, W_K) + _bias(distance, scalars)) / W_Q.shape[1] ** 0.5
    return logits.softmax(dim=1) @ (h @ W_V)


def _reversed(h, distance, W_Q, W_K, W_V, scalars):
    return head(h, distance.T, W_Q, W_K, W_V, scalars)


def _no_path_is_far(h, distance, W_Q, W_K, W_V, scalars):
    farthest = len(scalars) - 2
    return head(h, distance.where(distance >= 0, farthest), W_Q, W_K, W_V, scalars)


def _far_is_no_path(h, distance, W_Q, W_K, W_V, scalars):
    farthest = len(scalars) - 2
    return head(h, distance.where(distance <= farthest, -1), W_Q, W_K, W_V, scalars)


def _without_its_own(h, distance, W_Q, W_K, W_V, scalars):
    logits = _products(h, W_Q, W_K) / W_Q.shape[1] ** 0.5
    others = 1 - torch.eye(len(h), dtype=h.dtype)
    return (logits + others * _bias(distance, scalars)).softmax(dim=1) @ (h @ W_V)


def _keys_as_values(h, distance, W_Q, W_K, W_V, scalars):
    return head(h, distance, W_Q, W_K, W_K, scalars)


BROKEN_HEADS = {
    "takes the softmax over the queries": _over_queries,
    "does not divide the products by √d": _unscaled,
    "divides the bias by √d as well": _scaled_twice,
    "reads the distance from j to i": _reversed,
    "treats a pair without a path like one that is far apart": _no_path_is_far,
    "treats a distance beyond D like a missing path": _far_is_no_path,
    "adds no bias to a node's pair with itself": _without_its_own,
    "takes the keys for the values": _keys_as_values,
}


def _accepts(is_right, head):
    try:
        verdict = is_right(head)
    except AssertionError:
        return False
    answers = isinstance(verdict, bool | np.bool_) or (
        isinstance(verdict, torch.Tensor) and verdict.numel() == 1
    )
    require(answers, f"expected True or False, got a {type(verdict).__name__}.")
    return bool(verdict)


@checker
def check_is_right(is_right):
    """Your test accepts the right head and rejects all eight wrong ones."""
    require(_accepts(is_right, head), "your test rejects the right head.")
    passed = [fault for fault, broken in BROKEN_HEADS.items() if _accepts(is_right, broken)]
    if passed:
        several = f"{len(passed)} of the 8 wrong heads pass your test, among them one"
        count = several if len(passed) > 1 else "one of the 8 wrong heads passes your test, one"
        raise Mistake(f"{count} that {passed[0]}.")


TWICE = math.log(2)


def _one_head(mean_head, d):
    """The attention of five nodes and, smaller by ten, what they gather."""
    scalars, *weights = (x.float() for x in tensors(mean_head(d), (4,), *[(d, d)] * 3))
    q, k, v = (3 * random((5, d))[0] @ W for W in weights)
    a = (q @ k.T / d**0.5 + scalars[(FAR + 1).clamp(max=3)]).softmax(dim=1)
    return a, a @ v / 10


@compare([3], [4], run=_one_head, parts=["weights", "output"], atol=1e-3)
@mistake(
    "a node also attends to nodes that it cannot reach; their scalar has to be -inf.", no_path=0
)
@mistake("a node also attends to nodes at distance 2 or more; their scalar has to be -inf.", far=0)
@mistake("for twice the weight, add log 2 to the logit, not 2.", itself=2.0)
@mistake("a node's features change its weights: W_Q or W_K has to be zero.", features=1.0)
@mistake("a node does not attend to itself; it should count twice.", itself=-99)
@mistake("a node counts as much as a neighbour; it should count twice.", itself=0)
def check_mean_head(d, no_path=-math.inf, itself=TWICE, far=-math.inf, features=0.0):
    """Each node counts twice, its neighbours once, whatever their features are."""
    eye = torch.eye(d)
    return torch.tensor([no_path, itself, 0, far]), features * eye, eye, eye


def _stars(stars):
    """Each word is a star, the middle's colour before its leaves': all colours, and the matrix."""
    colours, edges = [], []
    for star in stars.split():
        edges += [(len(colours), len(colours) + n) for n in range(1, len(star))]
        colours += map(int, star)
    return colours, adjacency(len(colours), *edges)


def _partition(refine, colours, A):
    """The colours by the first node that has them: any numbers will do."""
    got = integers(refine(colours, A))
    return [got.index(colour) for colour in got]


def _two_stars(one, other):
    """Two stars with a middle of colour 50, and leaves of any colours."""
    colours = [50, *one, 50, *other]
    middle = 1 + len(one)
    edges = [(0, leaf) for leaf in range(1, middle)]
    edges += [(middle, leaf) for leaf in range(middle + 1, len(colours))]
    return colours, adjacency(len(colours), *edges)


@compare(
    _stars("013 031 022 0113 513 02"),
    _two_stars([0, 4, 5], [1, 2, 6]),  # one number of leaves, one sum, one sum of squares
    _two_stars([1, 3, 9], [1, 5, 9]),  # one least and one largest colour
    _two_stars([1, 123], [11, 23]),  # written one after the other, both are 1123
    _two_stars([2, 6], [3, 4]),  # one product
    ([7], torch.zeros(1, 1, dtype=torch.bool)),
    _stars("0131 431 0311 013"),
    run=_partition,
)
@mistake(
    "nodes of different colours became equal: a node's own colour counts too.",
    signature=lambda own, near: near,
)
@mistake(
    "it matters how often a colour occurs among the neighbours.",
    signature=lambda own, near: (own, {*near}),
)
@mistake("the order of the neighbours does not matter: 1, 3 and 3, 1 are the same.", order=list)
@mistake(
    "neighbours 1 and 3 have the same mean as 2 and 2; keep all their colours.",
    signature=lambda own, near: (own, sum(near) / len(near)),
)
@mistake(
    "neighbours 1 and 3 have the same sum as 2 and 2; keep all their colours.",
    signature=lambda own, near: (own, sum(near)),
)
def check_refine(colours, A, signature=lambda own, near: (own, near), order=sorted):
    """Colours are equal exactly where the old ones and the neighbours' are."""
    near = [order(colours[j] for j in row.nonzero().flatten().tolist()) for row in A]
    signatures = [signature(*node) for node in zip(colours, near, strict=True)]
    return [signatures.index(one) for one in signatures]
