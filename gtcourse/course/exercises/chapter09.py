"""Checks of chapter 09. Shapes: N nodes, d width, H heads, K = d / H, T types of edges."""

import math

import torch

from gtcourse.course.exercises.checker import (
    adjacency,
    compare,
    mistake,
    random,
    require,
    without_autograd,
)

A = random((5, 5))[0] > 0
BOND = A * (9 * random((5, 5), seed=2)[0]).abs().long() % 3


def _whole_numbers(pair_rows, adjacency, bond, T):
    rows = pair_rows(adjacency, bond, T)
    fractions = isinstance(rows, torch.Tensor) and rows.is_floating_point()
    require(not fractions, "rows of a table are integers; yours are floating-point numbers.")
    return rows


@compare(
    (A, BOND, 3), (A[:1, :1], BOND[:1, :1], 2), (A[:4, :4], BOND[:4, :4], 5), run=_whole_numbers
)
@mistake("a loop keeps its type: write the diagonal first.", then=lambda t: t.fill_diagonal_(4))
@mistake("the rows for no edge and for a node with itself are swapped.", no_edge=1, itself=0)
@mistake("type 0 is a type of edge, too.", given=lambda A, bond, T: (A & (bond > 0), bond, T))
@mistake("pairs without an edge have the row of type 0; use row T.", no_edge=-3)
def check_pair_rows(adjacency, bond, T, no_edge=0, itself=1):
    """Edges by type, then pairs without an edge, then a node with itself."""
    others = torch.full_like(bond, T + no_edge).fill_diagonal_(T + itself)
    return torch.where(adjacency, bond, others)


PATH = adjacency(5, (0, 1), (1, 2), (3, 4)).double()  # three nodes, and two joined alone


def _with_large_negatives(table, *_):
    """-inf, and the logarithm of a rounding error below 0, as a number that can be compared."""
    return table.double().nan_to_num(nan=-math.inf).clamp(min=-1e3)


# The logarithm of 0 has no gradient.
@compare((PATH, 0.4), (PATH[1:, 1:], 1.3), view=_with_large_negatives)
@mistake("this is the kernel itself; the bias is its logarithm.", then=torch.exp)
@mistake("this is -t L: take its exponential as a matrix.", kernel=torch.exp)
@mistake("the heat grows: the sign of t L is wrong.", sign=1)
@mistake("this is exp(t A); use the Laplacian D - A.", degrees=0)
def check_heat_bias(A, t, degrees=1, sign=-1, kernel=torch.matrix_exp):
    """The bias is the logarithm of the kernel, and no heat flows between components."""
    return kernel(sign * t * (degrees * A.sum(dim=1).diag() - A)).log()


# Two rings that share the nodes 2 and 3, one apart, and a node in none.
RINGS = [[0, 1, 2, 3], [2, 3, 4, 5, 6], [7, 8, 9]]


@compare((RINGS, 11), ([[*range(8)]], 8), ([], 2), ([[5, 1, 3, 0], [6, 2, 7]], 9))
@mistake("a node is bound to itself; the diagonal should be False.", itself=True)
@mistake("only consecutive nodes are bound; bind all.", others=lambda ring, n: [ring[n - 1]])
@mistake("a ring of more than six nodes is left out; all rings count.", largest=6)
@mistake(
    "only nodes that share every ring are bound; one common ring is enough.",
    given=lambda rings, N: (rings[:1], N),
)
@mistake("each pair is bound one way only; the relation is symmetric.", then=torch.triu)
@mistake("rings that share nodes were merged.", given=lambda rings, N: ([[*range(7)], rings[2]], N))
def check_ring_bound(rings, N, itself=False, others=lambda ring, n: ring, largest=None):
    """All nodes of a ring are bound to one another, and none to itself."""
    bound = torch.zeros(N, N, dtype=torch.bool)
    for ring in [ring for ring in rings if len(ring) <= (largest or N)]:
        for n, i in enumerate(ring):
            bound[i, others(ring, n)] = True
    return bound if itself else bound.fill_diagonal_(False)


@compare((*random((4, 6), (4, 6), (6, 4, 4)), 2), (*random((5, 12), (5, 12), (12, 5, 5)), 3))
@mistake("the softmax runs over the queries i; it should run over j, the last axis.", dim=1)
@mistake("the dot product is not divided by sqrt(K).", scale=1)
@mistake("the dot product is divided by sqrt(d); a head's width is K = d / H.", scale=6**-0.5)
@mistake("heads alternate; use repeat_interleave.", repeat=lambda dots, K, _: dots.repeat(K, 1, 1))
def check_attention_filters(q, k, E, H, scale=None, dim=-1, repeat=torch.repeat_interleave):
    """Each head's dot product serves its K channels, and each channel has its own softmax."""
    K = len(E) // H
    q, k = (x.unflatten(1, (H, K)).transpose(0, 1) for x in (q, k))
    return (repeat(q @ k.mT * (scale or K**-0.5), K, 0) + E).softmax(dim)


@compare((3, 4, 3), (5, 4, 9), (1, 6, 2), run=_whole_numbers)
@mistake("this is the distance along rows and columns; use the Euclidean one.", of=torch.add)
@mistake("this is the larger of the two differences; use their Euclidean norm.", of=torch.maximum)
@mistake("the distance is rounded to the nearest whole number; round down.", rounded=torch.round)
@mistake("the last row is M: the table has M + 1 rows.", last=1)
@mistake("pixels are numbered column by column; number them row by row.", by_rows=False)
def check_pixel_rows(height, width, M, of=torch.hypot, rounded=torch.floor, last=0, by_rows=True):
    """Pixels are numbered row by row, and M stands for all distances of M or more."""
    pixels = torch.arange(height * width)
    length = width if by_rows else height
    row, column = (place.double() for place in (pixels // length, pixels % length))
    down, across = ((place[:, None] - place).abs() for place in (row, column))
    return rounded(of(down, across)).clamp(max=M - last).long()


def _way_back(K, N):
    s, m, g = random((K, N, N), (K, N, N), (K, N))
    ablated = torch.tensor([[(i + 2 * j) % 3 == 0 for j in range(N)] for i in range(N)])
    return s.softmax(dim=-1), m, 2.0 * ~ablated, g


def _by_hand(backward, *arguments):
    without_autograd(backward)
    return backward(*arguments)


@compare(
    _way_back(3, 4),
    _way_back(2, 5),
    run=_by_hand,
    parts=["the gradient of E", "the gradient of s"],
)
@mistake("an ablated pair's gradient is not 0.", of_a=lambda keep, m, z: keep * (m - z))
@mistake("z is missing: the others lose the weight that j gains.", of_a=lambda keep, m, z: keep * m)
@mistake("this is a mean over channels; sum their gradients.", of_s=torch.mean)
@mistake("sum over the channels, not the queries.", of_s=lambda E, dim: E.sum(dim=1))
def check_backward(a, m, keep, g, of_a=lambda keep, m, z: keep * m - z, of_s=torch.sum):
    """An ablated pair sends no message but still takes weight from the others."""
    z = (a * keep * m).sum(dim=-1, keepdim=True)
    of_E = a * g[..., None] * of_a(keep, m, z)
    return of_E, of_s(of_E, dim=0)
