"""Checks of chapter 06. Shapes: N nodes, H heads, d width, D largest distance, L longest path."""

import math
from collections import Counter
from itertools import combinations_with_replacement

import networkx as nx
import numpy as np
import torch

from gtcourse.course.exercises.checker import (
    Missing,
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
from gtcourse.course.exercises.drawing import Draw

FAR = torch.tensor(  # a path of four nodes and a fifth alone; distance 3 is beyond D = 2
    [[0, 1, 2, 3, -1], [1, 0, 1, 2, -1], [2, 1, 0, 1, -1], [3, 2, 1, 0, -1], [-1] * 4 + [0]]
)


LONG = (torch.arange(12)[:, None] - torch.arange(12)).abs()  # a path of twelve nodes
LONGEST = (torch.arange(140)[:, None] - torch.arange(140)).abs()  # 128 is negative in 8 bits


def _table_and_graph(draw: Draw):
    distance = draw.distances(draw.size(5))
    if draw.one_of(False, False, True):
        distance = LONG
    return draw.numbers(1 + draw.size(5), draw.size(2)), distance


# The first has D = 8, the third D = 3, the fourth no distance beyond D, and the last only D = 0.
@compare(
    (*random((10, 2)), LONG),
    (*random((4, 2)), FAR),
    (*random((5, 3)), FAR[:4, 1:].repeat(1, 2)[:, :4]),
    (*random((7, 2)), FAR),
    (*random((150, 1)), LONGEST),
    (*random((2, 1)), FAR),
    drawn=_table_and_graph,
)
@mistake("distance n was looked up in row n; use row n + 1.", rows=lambda d, last: d.clamp(min=0))
@mistake(
    "index -1 reads the last row; pairs without a path read row 0.",
    rows=lambda d, last: torch.where(d < 0, last, d + 1),
)
@mistake(
    "distance n was looked up in row n, and pairs without a path in the last row; use row n + 1.",
    rows=lambda d, last: torch.where(d < 0, last, d.clamp(max=last - 1)),
)
@mistake(
    "distance n was looked up in row n, and pairs without a path in the last row, by index -1; "
    "use row n + 1.",
    rows=lambda d, last: torch.where(d < 0, last, d),
)
@mistake(
    "the bias of pairs without a path is 0; it is in row 0 of `scalars`.",
    lambda scalars, d: torch.where(d < 0, 0.0, check_spatial_bias.reference(scalars, d)),
)
@mistake(
    "pairs without a path are masked; their bias is in row 0 of `scalars`.",
    lambda scalars, d: torch.where(d < 0, -math.inf, check_spatial_bias.reference(scalars, d)),
)
@mistake(
    "pairs without a path have a row of their own, row 0.",
    rows=lambda d, last: (d + 1).clamp(min=1),
)
@mistake(
    "distance 0 reads row 0, which is for pairs without a path; it has row 1.",
    rows=lambda d, last: torch.where(d <= 0, 0, d + 1),
)
@mistake(
    "distances beyond D read row 0, which is for pairs without a path; they share the last row.",
    rows=lambda d, last: torch.where(d + 1 > last, 0, d + 1),
)
@mistake(
    "a pair without a path is treated as one at distance 1; it reads row 0.",
    rows=lambda d, last: d.abs() + 1,
)
@mistake(
    "distances beyond D wrap around; they share the last row.",
    rows=lambda d, last: (d + 1) % (last + 1),
)
@mistake(
    "distances beyond D read the row of distance D - 1; the last row has the index D + 1.",
    rows=lambda d, last: (d + 1).clamp(max=last - 1),
)
@mistake(
    "read the number of rows from `scalars`; do not hard-code it.",
    rows=lambda d, _: (d + 1).clamp(max=3),
)
@mistake(
    "a reshape cannot move the heads to the front; permute the axes.",
    then=lambda bias: bias.permute(1, 2, 0).reshape(bias.shape),
)
def check_spatial_bias(scalars, distance, rows=lambda d, last: d + 1):
    """Unreachable pairs have their own scalar, and all pairs beyond D share one."""
    last = len(scalars) - 1
    return scalars[rows(distance, last).clamp(max=last)].permute(2, 0, 1)


LINE = (torch.arange(40)[:, None] - torch.arange(40)).abs()  # a path of forty nodes
PATH = (random((6, 6, 3))[0] > 0).long()  # types of L = 3 edges
DISTANCE = (3 * random((6, 6))[0]).abs().long() - 1


def _paths(draw: Draw):
    """Padded with zeros, and some edges have type 0 as well."""
    distance = draw.distances(draw.size(4))
    L, T = draw.size(4), draw.size(3)
    path = draw.numbers(*distance.shape, L, of=range(T))
    return draw.numbers(L, T), path * (torch.arange(L) < distance[..., None]), distance


@compare(
    (random((3, 2))[0].flip(0), PATH, DISTANCE),
    (*random((3, 2)), (torch.arange(3) < LINE[..., None]).long(), LINE),  # up to 39 edges
    (*random((2, 4)), PATH[1:, 1:, :2], DISTANCE[1:, 1:]),
    drawn=_paths,
)
@mistake(
    "the mean over no edges is 0/0, which is NaN; return 0 there.",
    edges=lambda d, L: d.clamp(max=L),
)
@mistake(
    "the sum is divided by L; divide it by the number of edges that are read.", edges=lambda d, L: L
)
@mistake(
    "the sum along a path longer than L is divided by its distance; divide it by the L edges "
    "that are read.",
    edges=lambda d, L: d.clamp(min=1),
)
@mistake("one place too many is read: n is on the path if n < distance.", longer=1)
@mistake(
    "one place too many is read: only the places 0 to distance - 1 lie on the path.",
    lambda table, path, distance: torch.where(
        distance > 0, check_edge_bias.reference(table, path, distance, longer=1), 0.0
    ),
)
@mistake("this is the sum along the path; take the mean.", edges=lambda d, L: 1)
@mistake(
    "each place on the path has its own row of `table`.",
    given=lambda table, *rest: (table[:1].expand_as(table), *rest),
)
@mistake(
    "padding is included: only the first `distance` places of `path` lie on the path.", longer=99
)
@mistake(
    "this is the mean over all L places; padding does not lie on the path.",
    longer=99,
    edges=lambda d, L: L,
)
@mistake(
    "edges of type 0 are taken for padding; compare the place with the distance instead.",
    lambda table, path, distance: (
        (table[torch.arange(len(table)), path] * (path > 0)).sum(-1)
        / (path > 0).sum(-1).clamp(min=1)
    ),
)
@mistake(
    "edges of type 0 add nothing in your code; compare the place with the distance instead.",
    lambda table, path, distance: (
        (table[torch.arange(len(table)), path] * (path > 0)).sum(-1) / distance.clamp(1, len(table))
    ),
)
@mistake(
    "paths longer than L are left out; take the mean over their first L edges.",
    given=lambda table, path, d: (table, path, d.where(d <= len(table), 0)),
)
@mistake(
    "where there is no path, c is 0; your code reads the padding there.",
    given=lambda table, path, d: (table, path, d.where(d >= 0, len(table))),
)
@mistake(
    "only the first edge is read; take the mean along the path.",
    lambda table, path, distance: torch.where(distance > 0, table[0, path[..., 0]], 0.0),
)
def check_edge_bias(
    table, path, distance, longer=0, edges=lambda distance, L: distance.clamp(1, L)
):
    """The mean is taken over the edges that are read, and it is 0 without a path."""
    on_path = torch.arange(len(table)) < distance[..., None] + longer
    terms = table[torch.arange(len(table)), path] * on_path
    return terms.sum(dim=-1) / edges(distance, len(table))


def head(h, distance, W_Q, W_K, W_V, scalars):
    """A head of Graphormer with the bias of Eq. 6: the right head of exercise 2."""
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


def _features_as_values(h, distance, W_Q, W_K, W_V, scalars):
    return _logits(h, distance, W_Q, W_K, scalars).softmax(dim=1) @ h


def _queries_as_keys(h, distance, W_Q, W_K, W_V, scalars):
    return head(h, distance, W_K, W_Q, W_V, scalars)


def _rounded_up(h, distance, W_Q, W_K, W_V, scalars):
    """The right head with the next larger numbers, as if it had rounded in another way."""
    z = head(h, distance, W_Q, W_K, W_V, scalars)
    return torch.nextafter(z, torch.full_like(z, math.inf))


BROKEN_HEADS = {
    "takes the softmax over the queries": _over_queries,
    "does not divide the products by √d": _unscaled,
    "divides the bias by √d as well": _scaled_twice,
    "reads the distance from j to i": _reversed,
    "treats a pair without a path like one that is far apart": _no_path_is_far,
    "treats a distance beyond D like a missing path": _far_is_no_path,
    "adds no bias to a node's pair with itself": _without_its_own,
    "uses the keys as values": _keys_as_values,
    "uses the features as values, without W_V": _features_as_values,
    "swaps W_Q and W_K": _queries_as_keys,
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
    """Your test accepts the right head and rejects all ten wrong ones."""
    require(_accepts(is_right, head), "your test rejects the right head.")
    passed = [fault for fault, broken in BROKEN_HEADS.items() if _accepts(is_right, broken)]
    again = "your test accepts the right head at first, and rejects it after it has seen others."
    require(_accepts(is_right, head), again)
    exact = "your test rejects the right head if its last digits are rounded differently"
    require(_accepts(is_right, _rounded_up), f"{exact}: compare with a tolerance.")
    if passed:
        several = f"{len(passed)} of the 10 wrong heads pass your test, among them one"
        count = several if len(passed) > 1 else "one of the 10 wrong heads passes your test, one"
        raise Mistake(f"{count} that {passed[0]}.")


TWICE = math.log(2)


def _mean_weights(distance):
    """What the exercise asks for: 2 for the node itself, 1 for a neighbour, divided by the sum."""
    counts = 2.0 * (distance == 0) + (distance == 1)
    return counts / counts.sum(dim=1, keepdim=True)


MANY_NODES = torch.full((99, 99), -1).fill_diagonal_(0)  # a path of 60 nodes, and 39 nodes alone
MANY_NODES[:60, :60] = (torch.arange(60)[:, None] - torch.arange(60)).abs()


FEATURES_MATTER = "the features change the weights: W_Q or W_K has to be zero."


def _one_head(mean_head, d):
    """The attention of five nodes, and a tenth of their outputs."""
    returned = tensors(mean_head(d), (4,), (d, d), (d, d), (d, d))
    scalars, W_Q, W_K, W_V = [each.float() for each in returned]
    x = 3 * random((5, d))[0]
    q = x @ W_Q
    k = x @ W_K
    v = x @ W_V
    bias = scalars[(FAR + 1).clamp(max=3)]
    a = (q @ k.T / d**0.5 + bias).softmax(dim=1)
    if torch.allclose(bias.softmax(dim=1), _mean_weights(FAR), atol=1e-3):
        finite = W_Q.isfinite().all() and W_K.isfinite().all()
        require(finite, "W_Q and W_K have to be finite: 0 times infinity is NaN.")
        largest = (W_Q @ W_K.T).abs().max()
        require(largest <= 1e-5 * W_Q.norm() * W_K.norm(), FEATURES_MATTER)
    if torch.allclose(a, _mean_weights(FAR), atol=1e-3):
        of_many = scalars[(MANY_NODES + 1).clamp(max=3)].softmax(dim=1)
        stray = of_many.masked_fill((MANY_NODES == 0) | (MANY_NODES == 1), 0.0).sum(dim=1).max()
        start = "in a graph of 99 nodes, of which 60 form a path and 39 are alone"
        share = f"a node gives others than itself and its neighbours {stray:.2%} of the weight"
        small = torch.allclose(of_many, _mean_weights(MANY_NODES), atol=1e-3)
        require(small, f"{start}, {share}: use smaller scalars for them, or -inf.")
    return a, a @ v / 10


def _any_width(draw: Draw):
    return [draw.number(1, 8)]


@compare([3], [4], run=_one_head, parts=["weights", "output"], atol=1e-3, drawn=_any_width)
@mistake(
    "a node also attends to nodes that it cannot reach; their scalar has to be -inf.", no_path=0
)
@mistake("a node also attends to nodes at distance 2 or more; their scalar has to be -inf.", far=0)
@mistake(
    "a node attends to all nodes: the scalars of no path and of distance 2 or more have to be "
    "-inf.",
    no_path=0.0,
    far=0.0,
)
@mistake(
    "the first two scalars are swapped: that of no path comes before that of distance 0.",
    then=lambda answer: (answer[0][[1, 0, 2, 3]], *answer[1:]),
)
@mistake("for twice the weight, add log 2 to the logit, not 2.", itself=2.0)
@mistake(
    "these are weights; a softmax takes exponentials, so return their logarithms.",
    no_path=0.0,
    itself=2.0,
    near=1.0,
    far=0.0,
)
@mistake(
    "a neighbour counts twice, and the node itself once; it should be the other way round.",
    itself=0.0,
    near=TWICE,
)
@mistake(
    "the scalars are in the wrong order; expected no path, distance 0, distance 1, 2 or more.",
    then=lambda answer: (answer[0].roll(-1), *answer[1:]),
)
@mistake("use the natural logarithm of 2: the softmax takes powers of e.", itself=math.log10(2))
@mistake(
    "exp(-5) is not small enough: other nodes still get some weight; use -inf.",
    no_path=-5.0,
    far=-5.0,
)
@mistake("W_V is zero, so the head returns nothing; it has to pass the features on.", value=0.0)
@mistake("W_V mixes the features; it has to pass them on unchanged.", ones=1.0)
@mistake(
    "a node that is alone attends to nothing, and its softmax is 0/0: it should attend to itself.",
    itself=-math.inf,
)
@mistake(FEATURES_MATTER, features=1.0)
@mistake("a node does not attend to itself; it should count twice.", itself=-99)
@mistake("a node counts only as much as a neighbour; it should count twice.", itself=0)
@mistake(
    "the node's own scalar is larger by 1, so it counts e times as much as a neighbour; for twice "
    "as much it should be larger by log 2.",
    itself=1.0,
)
def check_mean_head(
    d, no_path=-math.inf, itself=TWICE, near=0.0, far=-math.inf, features=0.0, value=1.0, ones=0.0
):
    """Each node counts twice, its neighbours once, whatever their features are."""
    eye = torch.eye(d)
    scalars = torch.tensor([no_path, itself, near, far])
    return scalars, features * eye, eye, (value * eye).clamp(min=ones)


def _stars(stars):
    """Colours and adjacency matrix of stars, one a word: the middle's colour, then the leaves'."""
    colours = []
    edges = []
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
    return _pairs_of_stars((one, other))


def _pairs_of_stars(*pairs):
    """Two stars for each pair of bags of leaves, with a middle of a colour that others lack."""
    colours = []
    edges = []
    for number, pair in enumerate(pairs):
        for leaves in pair:
            middle = len(colours)
            colours += [50 + number, *leaves]
            edges += [(middle, leaf) for leaf in range(middle + 1, len(colours))]
    return colours, adjacency(len(colours), *edges)


ALIKE = (
    ([0, 4], [1, 1]),  # one sum of square roots
    ([0, 4, 4], [1, 1, 6]),  # one sum, and one product if each colour is increased by 2
    ([0, 3, 5], [1, 1, 6]),  # the same for an increase by 3
    ([0, 7, 7], [1, 1, 12]),  # one sum, and one product of 2c + 1
    ([0, 9, 11], [1, 3, 14]),  # one product and one sum of squares, of c + 1
    ([1, 10, 12], [2, 4, 15]),  # one product and one sum of squares
    ([1, 6, 7, 22], [2, 2, 11, 21]),  # one sum as well
    ([0, 5, 6, 21], [1, 1, 10, 20]),  # one sum, one sum of squares, and one product of c + 1
    ([0, 1, 5, 8, 9], [0, 2, 5, 7, 9]),  # one sum, and one least, middle and largest colour
    ([0, 3, 5, 6], [0, 0, 7, 7]),  # one sum, and one exclusive or
    ([1, 1, 2, 3, 3], [1, 2, 2, 2, 3]),  # one set and one sum
    ([0] * 10, [1]),  # one sum if a colour counts as 10 of the next
    ([0, 5, 6, 16, 17, 22], [1, 2, 10, 12, 20, 21]),  # one sum of each power up to the fifth
    ([0, 0, 5, 6, 16, 17, 22, 99], [0, 1, 2, 10, 12, 20, 21, 99]),  # and one least and largest
)
"""Bags of colours that cannot be told apart by a few numbers that readers compute from them."""


def _explained(got, right, colours, A):
    """Names two nodes that got equal colours and should not have, or the reverse."""
    near = [sorted(colours[j] for j in row.nonzero().flatten().tolist()) for row in A]
    count = len(colours)
    require(len(got) == count, f"expected {count} colours, one for each node, got {len(got)}.")
    pairs = ((i, j) for j in range(count) for i in range(j))
    i, j = next((i, j) for i, j in pairs if (got[i] == got[j]) != (right[i] == right[j]))
    are = "equal" if got[i] == got[j] else "different"
    should = "differ" if got[i] == got[j] else "be equal"
    around = [f"neighbours of colours {each}" if each else "no neighbours" for each in near]
    one, other = (f"colour {colours[n]} and {around[n]}" for n in (i, j))
    return f"two nodes get {are} colours, which should {should}: one had {one}, the other {other}."


COLOURS = (0, 1, 2, -1, -2, 11, 10, 3, 111, 1000)


def _coloured(draw: Draw):
    """A graph, or stars that differ in a few leaves; of few colours, which are easily confused."""
    palette = draw.several(draw.number(2, 4), COLOURS)
    if draw.one_of(True, False):
        N = draw.number(1, 7)
        return draw.several(N, palette), draw.adjacency(N, directed=False)
    colours = []
    edges = []
    leaves = draw.several(draw.size(6), palette)
    for _ in range(draw.number(2, 4)):
        edges += [(len(colours), len(colours) + n) for n in range(1, len(leaves) + 1)]
        colours += [draw.one_of(0, 0, 0, *palette), *leaves]
        changed = draw.number(0, 2)
        leaves = [*leaves[: len(leaves) - changed], *draw.several(changed, palette)]
    return colours, adjacency(len(colours), *edges)


def _all_multisets():
    """A node of colour 2 for each multiset of up to four of six colours, and their neighbours."""
    sizes = range(5)
    multisets = [each for n in sizes for each in combinations_with_replacement(range(6), n)]
    edges = []
    for node, multiset in enumerate(multisets):
        used = Counter()
        for colour in multiset:
            edges.append((node, len(multisets) + 4 * colour + used[colour]))
            used[colour] += 1
    colours = [2] * len(multisets) + [n // 4 for n in range(24)]  # four of each colour
    return colours, adjacency(len(colours), *edges)


@compare(
    _stars("013 031 022 0113 513 02"),
    _all_multisets(),
    _two_stars([0, 4, 5], [1, 2, 6]),  # one number of leaves, one sum, one sum of squares
    _two_stars([0, 4, 7, 11], [1, 2, 9, 10]),  # one sum of cubes as well
    _two_stars([1, 5, 8, 12], [2, 3, 10, 11]),
    _two_stars([1, 3, 9], [1, 5, 9]),  # one least and one largest colour
    _two_stars([0, 2, 2, 4], [0, 1, 3, 4]),  # one sum as well
    _two_stars([1, 6, 6], [2, 2, 9]),  # one sum and one product
    _two_stars([0, 5, 5], [1, 1, 8]),  # the same if each colour is increased by 1
    _two_stars([1, 123], [11, 23]),  # written one after the other, both are 1123
    _two_stars([2, 6], [3, 4]),  # one product
    ([7], torch.zeros(1, 1, dtype=torch.bool)),
    ([1, 11], adjacency(2, (0, 1))),  # written one after the other, both are 111
    ([0, 0, -1, -2], adjacency(4, (0, 2), (1, 3))),  # in Python, -1 and -2 have one hash
    _two_stars([-1, 2], [0, 1]),  # a negative colour
    _two_stars([-1, 2], [1, 2]),  # the same but for a sign
    _two_stars([0] * 12, [1]),  # one sum if a colour counts as 12 of the next
    ([10, 1, 1, 0], adjacency(4, (0, 1), (2, 3))),  # 10 and 1, or 1 and 0, written together
    _pairs_of_stars(*ALIKE),
    # Many leaves: the two stars differ only in the first, or only in the last.
    _pairs_of_stars(([0] + [5] * 40, [1] + [5] * 40), ([5] * 40 + [8], [5] * 40 + [9])),
    ([0, -1, 0, 5], adjacency(4, (0, 1), (2, 3))),  # index -1 of a list is its last, 5
    _stars("0131 431 0311 013"),
    run=_partition,
    explain=_explained,
    drawn=_coloured,
)
@mistake(
    "these are the old colours, possibly renumbered; use the neighbours' colours as well.",
    signature=lambda own, near: own,
)
@mistake(
    "only the number of neighbours was counted; keep all their colours.",
    signature=lambda own, near: (own, len(near)),
)
@mistake(
    "nodes of different colours became equal: a node's own colour counts too.",
    signature=lambda own, near: near,
)
@mistake(
    "each colour among the neighbours counts once; it matters how often it occurs.",
    signature=lambda own, near: (own, {*near}),
)
@mistake(
    "your colours depend on the order of the neighbours; 1, 3 and 3, 1 are the same.", order=list
)
@mistake(
    "neighbours 1 and 3 have the same mean as 2 and 2; keep all their colours.",
    signature=lambda own, near: (own, sum(near) / len(near)),
)
@mistake(
    "neighbours 1 and 3 have the same sum as 2 and 2; keep all their colours.",
    signature=lambda own, near: (own, sum(near)),
)
@mistake(
    "in Python, -1 and -2 have the same hash: number the signatures instead.",
    signature=lambda own, near: hash((own, tuple(near))),
)
def check_refine(colours, A, signature=lambda own, near: (own, near), order=sorted):
    """New colours are equal exactly when the old ones and those of the neighbours are."""
    near = [order(colours[j] for j in row.nonzero().flatten().tolist()) for row in A]
    signatures = [signature(*node) for node in zip(colours, near, strict=True)]
    return [signatures.index(one) for one in signatures]


WALK_STEPS = 3
FEWEST = (8, 5)
"""The sizes of the smallest pairs that solve :func:`check_two_pairs`; walks have 3 steps."""


@checker
def check_two_pairs(equal_walks, equal_distances):
    """Return probabilities and distances each separate a pair that the other does not."""
    if equal_distances is ...:
        raise Missing
    for pair, same, other, most in (
        (equal_walks, "return probabilities", "distances", FEWEST[0]),
        (equal_distances, "distances", "return probabilities", FEWEST[1]),
    ):
        name = f"the pair with equal {same}"
        two = isinstance(pair, tuple | list) and len(pair) == 2
        require(two, f"{name} has to consist of two lists of edges.")
        first, second = (_connected(edges, name, most) for edges in pair)
        require(not nx.is_isomorphic(first, second), f"{name} is one graph, numbered in two ways.")
        bags = {"return probabilities": _returns, "distances": _distances}
        left, right = (bags[same](graph) for graph in (first, second))
        require(
            left == right, f"{name}: a node has the {same} {_only(left, right)} in one graph only."
        )
        left, right = (bags[other](graph) for graph in (first, second))
        require(left != right, f"{name} also has equal {other}, which should differ.")


EDGE_FORMS = tuple | list | torch.Tensor | np.ndarray


def _connected(edges, name, most):
    graph = nx.Graph()
    for edge in edges:
        pair = integers(edge) if isinstance(edge, EDGE_FORMS) else []
        require(len(pair) == 2, f"{name}: {edge!r} is not an edge; expected two node numbers.")
        require(pair[0] != pair[1], f"{name}: {edge!r} joins a node to itself.")
        graph.add_edge(*pair)
    require(len(graph), f"{name}: one of the graphs has no edges.")
    require(nx.is_connected(graph), f"{name}: one of the graphs is not connected.")
    fits = len(graph) <= most
    require(fits, f"{name}: a graph has {len(graph)} nodes; expected at most {most}.")
    return graph


def _returns(graph):
    """The multiset of the nodes' return probabilities after 1 to ``WALK_STEPS`` steps."""
    A = torch.from_numpy(nx.to_numpy_array(graph))
    step = A / A.sum(dim=1, keepdim=True)
    powers = [torch.linalg.matrix_power(step, n).diagonal() for n in range(1, WALK_STEPS + 1)]
    return sorted(tuple(round(x, 6) for x in row) for row in torch.stack(powers, dim=1).tolist())


def _distances(graph):
    """The multiset of the nodes' sorted distances to all nodes."""
    rows = nx.all_pairs_shortest_path_length(graph)
    return sorted(tuple(sorted(steps.values())) for _, steps in rows)


def _only(left, right):
    """An element that occurs more often in one multiset than in the other."""
    more = Counter(left)
    more.subtract(right)
    return next((list(each) for each, count in more.items() if count), None)
