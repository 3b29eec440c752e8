r"""Checks of chapter 08, and its puzzles, whose answers depend on the relation of two nodes.

**Edge labels** asks for the label of the one labelled edge of a tree. All nodes have the same
features, so attention over the nodes' values cannot see the label: it has to enter the value.

**Dials** asks for the sign of one of R speakers, at distances 1 to R from an asker at one end of a
path. With ``who="listener"``, the asker's dial is the distance of the speaker that counts. With
``who="speaker"``, the speaker that counts is the one whose own dial equals its distance. The logit
has to be large exactly where dial and distance agree. No sum f(dial) + g(distance) does that.

Shapes: H heads, N nodes, K width of a head, T relations, E edge types.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from gtcourse.course.exercises.checker import (
    checker,
    compare,
    in_one_go,
    mistake,
    random,
    require,
    tensors,
    without_loops,
)
from gtcourse.course.exercises.drawing import Draw
from gtcourse.course.tasks import absent, both_directions, permutations
from gtcourse.graphs.batch import MISSING_LABEL
from gtcourse.graphs.dataset import GraphDataset, RaggedGraphs

D, BOND = (4 * random((2, 9, 9))[0]).abs().long()
D = torch.where(D == 0, -1, D).fill_diagonal_(0)
D[0, 1] = D[1, 0] = 1
BOND = torch.where(D == 1, BOND % 3, 0)
BOND[0, 1], BOND[1, 0] = 1, 2  # one type there, another one back
PLACES = torch.arange(9)
LINE = (PLACES[:, None] - PLACES).abs()  # the distances along a path of nine nodes
FAR_APART = (torch.arange(140)[:, None] - torch.arange(140)).abs()  # 128 is negative in 8 bits


def _typed(draw: Draw):
    """Types of edges, which may differ between the two directions."""
    N = draw.size(5)
    distance = draw.distances(N)
    if draw.one_of(False, True):  # a path
        distance = (torch.arange(N)[:, None] - torch.arange(N)).abs()
    E = draw.size(4)
    bond = draw.numbers(*distance.shape, of=range(E)) * (distance == 1)
    return distance, bond, E, draw.size(5)


@compare(
    (D, BOND, 3, 3),
    (D, BOND, 4, 2),
    (D[2:, 2:], BOND[2:, 2:], 3, 5),
    (D, BOND, 3, 1),
    (FAR_APART, (FAR_APART == 1).long(), 2, 150),
    (LINE, (LINE == 1).long(), 3, 7),  # distances above 5 that are not far
    drawn=_typed,
)
@mistake(
    "your code counts distance L as far, as the authors' code does; far means more than L.",
    far=lambda d, L: (d >= L) & (d > 1),
)
@mistake("no distance is far; all distances beyond L share one relation.", far=lambda d, L: d > 99)
@mistake(
    "your far pairs have the relation of distance L; they have a relation of their own.", beyond=-1
)
@mistake("a node with itself has relation 0, not 1.", own=1)
@mistake("far and unreachable are swapped: unreachable is the last relation.", apart=0, beyond=1)
@mistake(
    "unreachable pairs have the relation of far pairs; they have their own, the last one.", apart=0
)
@mistake("unreachable pairs have the last relation, not 0.", apart=None)
@mistake("the relations of your edges begin at 0; they are 1 to E.", first=0)
@mistake("distance 2 has the relation E + 1; yours is one too large.", second=1)
@mistake("each type of edge has its own relation; your edges all have relation 1.", types=0)
@mistake(
    "there is no row for [VNode] here: a node with itself has relation 0.", then=lambda ids: ids + 1
)
@mistake(
    "edges of type 0 are overlooked: an edge is where the distance is 1, whatever its type.",
    edge=lambda d, bond: bond > 0,
)
@mistake(
    "`bond` is 0 where there is no edge, but 0 is also a type: an edge is where the distance is 1.",
    edge=lambda d, bond: bond >= 0,
)
@mistake(
    "distances and far pairs are numbered one too high; distance 2 has the relation E + 1.",
    second=1,
    beyond=1,
)
@mistake("there is no row for [VNode] here: unreachable is the relation E + L + 1.", apart=2)
@mistake(
    "the number of edge types is `E`; a graph need not contain all of them.",
    given=lambda distance, bond, E, L: (distance, bond, int(bond.max()) + 1, L),
)
def check_relation_ids(
    distance,
    bond,
    E,
    L,
    far=lambda d, L: d > L,
    apart=1,
    beyond=0,
    first=1,
    second=0,
    types=1,
    edge=lambda d, bond: d == 1,
    own=0,
):
    """Relations come in the order: itself, edges by type, distances, far, unreachable."""
    ids = torch.where(far(distance, L), E + L + beyond, E + distance - 1 + second)
    ids = torch.where(edge(distance, bond), first + types * bond, ids)
    ids = torch.where(distance == -1, 0 if apart is None else E + L + apart, ids)
    return torch.where(distance == 0, own, ids)


class _NoVectorPerPair(TorchDispatchMode):
    """Raises at a tensor with as many numbers as one vector for each pair."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for x in result if isinstance(result, tuple | list) else (result,):
            small = not isinstance(x, torch.Tensor) or x.numel() < self.too_many
            require(
                small, "you compute a vector for every pair; gather or scatter numbers instead."
            )
        return result


def _all_at_once(answer):
    without_loops(answer)
    for what, (H, T, N) in {
        "heads": (20, 3, 4),
        "relations": (2, 30, 4),
        "nodes": (2, 3, 40),
    }.items():
        index = (torch.arange(N)[:, None] + torch.arange(N)) % T
        many = *random((H, N, 5), (H, T, 5)), index
        few = many[0][:2, :4], many[1][:2, :3], index[:4, :4] % 3
        in_one_go(answer, few, many, what=what)


def _without_pairs(answer, x, R, relation):
    with _NoVectorPerPair() as mode:
        mode.too_many = relation.numel() * R.shape[-1]
        return answer(x, R, relation)


def _relations(T: int):
    """One of T relations for each pair of 11 nodes; (i, j) and (j, i) can have different ones."""
    number_of = [[(i * i + 3 * j + (i * j) % 5) % T for j in range(11)] for i in range(11)]
    return torch.tensor(number_of)


OTHER = (*random((3, 6, 8)), _relations(6)[:9, 1:10])


def _keys(draw: Draw):
    """Sizes for which neither an argument nor the result holds a vector for every pair."""
    H = draw.size(2)
    N = H + draw.number(1, 3)
    K = H + draw.number(1, 3)
    T = draw.number(1, K - 1)
    return draw.numbers(H, N, K), draw.numbers(H, T, K), draw.numbers(N, N, of=range(T))


@compare(
    (*random((2, 11, 13), (2, 4, 13)), _relations(4)),
    (*random((3, 9, 8), seed=2), *OTHER),
    once=_all_at_once,
    run=_without_pairs,
    drawn=_keys,
)
@mistake(
    "this uses k_i, as the authors' code does; Eq. 7 uses k_j, the key of the node attended to.",
    key_of_i=True,
)
@mistake(
    "the result is divided by sqrt(K); leave that to Eq. 8.", scale=lambda k: k.shape[-1] ** -0.5
)
def check_key_context(k, R_query, relation, scale=lambda k: 1.0, key_of_i=False):
    """You compute T products for each key, and each pair picks the one of its relation."""
    products = scale(k) * R_query @ k.mT  # [H, T, N]
    index = relation.expand(len(k), -1, -1)
    return products.mT.gather(2, index) if key_of_i else products.gather(1, index)


def _weights(draw: Draw):
    k, R, relation = _keys(draw)
    return draw.row_weights(len(k), len(relation), len(relation)), R, relation


def _averaged(sums, dim, index, a):
    return sums.scatter_reduce(dim, index, a, "mean", include_self=False)


@compare(
    (random((2, 11, 11))[0].softmax(dim=-1), *random((2, 4, 13)), _relations(4)),
    (*random((3, 9, 9), seed=2), *OTHER),
    run=_without_pairs,
    drawn=_weights,
)
@mistake(
    "only one weight of each relation is left; scatter_add_ adds up all of them.",
    add=torch.Tensor.scatter,
)
@mistake("the sum runs over i; in each row, sum over j.", given=lambda a, R, r: (a.mT, R, r.T))
@mistake(
    "this counts the nodes of each relation; add up their attention.",
    given=lambda a, R, r: (torch.full_like(a, 1 / a.shape[-1]), R, r),
)
@mistake("this is the mean of the attention of each relation; take its sum.", add=_averaged)
@mistake(
    "only the first head is summed: the index needs a copy of `relation` for each head (expand).",
    add=lambda sums, dim, index, a: sums.scatter_add(dim, index[:1], a),
)
def check_value_term(a, R_value, relation, add=torch.Tensor.scatter_add):
    """Weights are summed by relation, so only T vectors are needed."""
    sums = a.new_zeros(*a.shape[:2], R_value.shape[1])
    return add(sums, 2, relation.expand(len(a), -1, -1), a) @ R_value


def _numbers_of_relations(draw: Draw):
    return draw.size(8), draw.size(8)


@compare((3, 5), (1, 2), (2, 1), drawn=_numbers_of_relations)
@mistake("a node also counts itself; the row of relation 0 should be 0.", first=lambda E: 0)
@mistake("there is no row for [VNode] here: T is 1 + E + (L - 1) + 2.", more=1)
@mistake("only edges of type 0 are counted; relations 1 to E are edges.", end=lambda E: 2)
@mistake("edges of the last type are not counted; relations 1 to E are edges.", end=lambda E: E)
@mistake(
    "relation E + 1 is distance 2; the relations 1 to E are edges.",
    first=lambda E: E + 1,
    end=lambda E: E + 2,
)
@mistake(
    "an edge counts as many times as the number of its relation; count each edge once.",
    then=lambda R: R.cumsum(0) * R,
)
@mistake(
    "every pair is counted; only the relations 1 to E are edges.",
    first=lambda E: 0,
    end=lambda E: 999,
)
@mistake(
    "all pairs but those of a node with itself are counted; only the relations 1 to E are edges.",
    end=lambda E: 999,
)
@mistake("a row is missing: T is 1 + E + (L - 1) + 2.", more=-1)
@mistake(
    "rows 0 to E - 1 are 1; the relations of edges are 1 to E.",
    first=lambda E: 0,
    end=lambda E: E,
)
def check_counting_table(E, L, first=lambda E: 1, end=lambda E: 1 + E, more=0):
    """Every edge counts 1, everything else 0."""
    R = torch.zeros(E + L + 2 + more, 1)
    R[first(E) : end(E)] = 1
    return R


@checker
def check_dial_table(dial_table):
    """Dial and distance meet in a dot product, so the table is diagonal."""
    [R] = tensors(dial_table(), (11, 8))  # rows are relations
    require(R.isfinite().all(), "all entries of the table have to be finite.")
    weight = (R[:9].T / 8**0.5).softmax(dim=1)  # row n - 1: the query with dial n
    right = weight.diagonal(1).min()
    largest = weight.argmax(dim=1)
    dial = torch.arange(1, 9)
    require(
        (weight.std(dim=1) > 1e-6).any(),
        "all distances have the same logit, so all weights are equal.",
    )
    require((weight.std(dim=0) > 1e-6).any(), "the dial makes no difference, as with a bias.")
    least = (weight.argmin(dim=1) == dial).all()
    require(not least, "the right distance gets the least attention: the sign is wrong.")
    for n, farthest in enumerate(largest.tolist(), start=1):
        require(n == farthest, f"the query with dial {n} attends to distance {farthest}.")
    share = f"the right distance gets only {math.floor(1e4 * right) / 100:g}% of the attention"
    require(right >= 0.99, f"{share}: use larger numbers.")


MOST_NODES = 12  #: the largest size of a tree; the smallest is 2


def edge_labels(split_sizes: Sequence[int], num_labels: int = 4, seed: int = 0) -> GraphDataset:
    """Random trees of 2 to 12 nodes with one labelled edge; ``y`` ``[1]`` is its label minus 1.

    ``x`` ``[n, 1]`` is 0. ``edge_attr`` ``[E, 1]`` is the label, 1 to ``num_labels``, in both
    directions of the one edge, and 0 on all others. In each split all labels are equally frequent.
    """
    parts = [_trees(size, np.random.default_rng((seed, i))) for i, size in enumerate(split_sizes)]
    of_splits = [np.concatenate(each) for each in zip(*parts, strict=True)]
    num_nodes, chosen, pairs = of_splits
    label = np.concatenate([1 + np.arange(size) % num_labels for size in split_sizes])
    graph, place = np.nonzero(np.arange(MOST_NODES - 1) < num_nodes[:, None] - 1)
    edge_index, edge = both_directions(graph, *pairs[graph, place].T)
    columns = {
        "x": np.zeros((num_nodes.sum(), 1), dtype=np.int64),
        "edge_attr": np.where(place == chosen[graph], label[graph], 0)[edge, None],
        "y": label - 1,
        "split": np.repeat(np.arange(3), split_sizes),
    }
    ragged = RaggedGraphs(num_nodes, 2 * (num_nodes - 1), edge_index, columns)
    recipe = f"trees with one labelled edge, {num_labels} labels, seed {seed}"
    return ragged.to_dataset("edge_labels", f"generated by gtcourse: {recipe}")


def dials(
    split_sizes: Sequence[int],
    steps: int,
    who: Literal["listener", "speaker"] = "listener",
    seed: int = 0,
) -> GraphDataset:
    """Paths of R + 1 nodes with an asker at one end; its ``y`` is 0 (minus) or 1 (plus).

    All other nodes have the target ``MISSING_LABEL``; edges have no features. ``x`` ``[R + 1, 1]``
    has the categories

    - "listener", R + 2 of them: 0 and 1 a speaker's minus and plus, 1 + r an asker with dial r;
    - "speaker", 2R + 1 of them: 0 the asker, 1 + 2 (r - 1) + s a speaker with dial r and sign s.

    All dials from 1 to R are equally likely, also among the speakers at one distance. R is
    ``steps``, 2 or more. ``who`` says whether the asker ("listener") or each speaker has a dial.
    """
    streams = [np.random.default_rng((seed, i)) for i in range(3)]
    parts = [_paths(*each, steps, who) for each in zip(split_sizes, streams, strict=True)]
    of_splits = [np.concatenate(each) for each in zip(*parts, strict=True)]
    x, y, number = of_splits
    graph, place = np.divmod(np.arange(len(x) * steps), steps)
    edge_index, _ = both_directions(graph, number[graph, place], number[graph, place + 1])
    order = np.argsort(number, axis=1)  # the distance of each node, from its place on the path
    columns = {
        "x": np.take_along_axis(x, order, axis=1).reshape(-1, 1),
        "y": np.take_along_axis(y, order, axis=1).ravel(),
        "split": np.repeat(np.arange(3), split_sizes),
    }
    sizes = np.full(len(x), steps + 1), np.full(len(x), 2 * steps)
    ragged = RaggedGraphs(*sizes, edge_index, columns, target="node")
    recipe = f"{who}'s dials, {steps} steps, seed {seed}"
    return ragged.to_dataset("dials", f"generated by gtcourse: {recipe}")


def _trees(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes ``[G]``, which edge is labelled ``[G]`` and the edges ``[G, 11, 2]``.

    Each node is joined to a random one of those before it; then all get new numbers.
    """
    num_nodes = rng.integers(2, MOST_NODES + 1, count)
    chosen = rng.integers(0, num_nodes - 1)
    child = np.arange(1, MOST_NODES)
    parent = rng.integers(0, child, (count, MOST_NODES - 1))
    number = permutations(absent(num_nodes, MOST_NODES), rng)
    pairs = np.stack([parent, np.broadcast_to(child, parent.shape)], axis=2)
    return num_nodes, chosen, number[np.arange(count)[:, None, None], pairs]


def _paths(
    count: int, rng: np.random.Generator, steps: int, who: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Categories, targets and node numbers, ``[G, R + 1]`` each: one column for each distance."""
    sign = rng.integers(0, 2, (count, steps))
    right = rng.integers(0, steps, count)[:, None]  # counted from 0, as columns of `sign` are
    if who == "listener":
        asker = 2 + right
        speakers = sign
    else:
        dial = (np.arange(steps) + rng.integers(1, steps, sign.shape)) % steps  # not its own
        np.put_along_axis(dial, right, right, axis=1)
        asker = np.zeros_like(right)
        speakers = 1 + 2 * dial + sign
    number = rng.permuted(np.tile(np.arange(steps + 1), (count, 1)), axis=1)
    answer = np.take_along_axis(sign, right, axis=1)
    y = np.hstack([answer, np.full_like(sign, MISSING_LABEL)])
    return np.hstack([asker, speakers]), y, number
