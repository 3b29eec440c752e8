"""Checks of chapter 09. Shapes: N nodes, d width, H heads, K = d / H, T types of edges."""

import math

import torch
import torch.nn.functional as F

from gtcourse.course.exercises.checker import (
    Mistake,
    adjacency,
    compare,
    mistake,
    random,
    require,
    without_autograd,
)
from gtcourse.course.exercises.drawing import Draw


def _whole_numbers(rows_of, *arguments):
    rows = rows_of(*arguments)
    fractions = isinstance(rows, torch.Tensor) and rows.is_floating_point()
    require(not fractions, "rows of a table are integers; yours are floating-point numbers.")
    return rows


PATH = adjacency(5, (0, 1), (1, 2), (3, 4)).double()  # paths of three nodes and of two


# In a short time little heat reaches the far end: 2e-11 of it.
FAR_END = adjacency(8, *((n, n + 1) for n in range(7))).double()
# Two components whose nodes alternate: what eigenvectors give between them is not exactly 0.
ALTERNATING = adjacency(8, (0, 2), (2, 4), (4, 6), (6, 0), (1, 3), (3, 5), (5, 7)).double()


def _heated(draw: Draw):
    """Times at which no entry but 0 is small: its logarithm has to be right in any precision."""
    A = draw.adjacency(draw.number(1, 4), directed=False).double()
    return A, draw.one_of(1.0, 0.5, 2.0, 1.75)


def _minus_infinity_between_components(heat_bias, A, t):
    """Raises if the only fault is a finite bias between components, where rounding leaves any."""
    b = heat_bias(A, t)
    right = check_heat_bias.reference(A, t)
    if isinstance(b, torch.Tensor) and b.shape == right.shape:
        apart = right == -math.inf
        finite = apart & b.isfinite()
        if finite.any() and torch.allclose(b[~apart], right[~apart].to(b), atol=1e-4):
            place = finite.nonzero()[0].tolist()
            raise Mistake(
                "no heat flows between components, so b is -inf there; your entry "
                f"{place} is {b[tuple(place)]:.4g}."
            )
    return b


# The logarithm of 0 has no gradient.
@compare(
    (PATH, 0.4),
    (PATH[1:, 1:], 1.3),
    (FAR_END, 0.1),
    (ALTERNATING, 0.7),
    (torch.zeros(1, 1), 2.0),
    run=_minus_infinity_between_components,
    drawn=_heated,
)
@mistake("this is the kernel itself; the bias is its logarithm.", then=torch.exp)
@mistake(
    "this is -t L, because `exp` acts on each entry: use the exponential of the matrix.",
    kernel=torch.exp,
)
@mistake(
    "a small kernel is not 0: b is -inf only between components.",
    kernel=lambda M: F.threshold(torch.matrix_exp(M), 1e-6, 0.0),
)
@mistake("the heat grows: the sign of t L is wrong.", sign=1)
@mistake("this is exp(t A); use the Laplacian D - A.", degrees=0)
@mistake("t is missing.", given=lambda A, t: (A, 1.0))
@mistake("use the natural logarithm.", then=lambda b: b / math.log(2))
@mistake(
    "b is -inf between components only; heat also flows between nodes that are not joined.",
    lambda A, t: check_heat_bias.reference(A, t).masked_fill(
        (A == 0) & ~torch.eye(len(A), dtype=torch.bool), -math.inf
    ),
)
@mistake(
    "t belongs inside the exponential: exp(-t L) is not t times exp(-L).",
    lambda A, t: t * check_heat_bias.reference(A, 1.0),
)
@mistake(
    "this uses the normalised Laplacian; use D - A.",
    lambda A, t: _normalised(A, t, of_no_edge=1.0),
)
@mistake(
    "this uses the Laplacian D - A, divided by the roots of both nodes' degrees; use D - A itself.",
    lambda A, t: _normalised(A, t, of_no_edge=0.0),
)
@mistake(
    "a small number was added before the logarithm; between components b is -inf.",
    then=lambda b: (b.exp() + 1e-3).log(),
)
@mistake(
    "this uses I - tL, the first two terms of the series; use the matrix exponential.",
    kernel=lambda M: (torch.eye(len(M)) + M).clamp(min=0),
)
@mistake(
    "the Laplacian is D - A, without division by the degrees.",
    given=lambda A, t: (A / A.sum(dim=1, keepdim=True), t),
)
def check_heat_bias(A, t, degrees=1, sign=-1, kernel=torch.matrix_exp):
    """The bias is the logarithm of the kernel, and no heat flows between components."""
    return kernel(sign * t * (degrees * A.sum(dim=1).diag() - A)).log()


def _normalised(A, t, of_no_edge):
    """The bias for D^(-1/2) (D - A) D^(-1/2); the diagonal entry of a node without edges varies."""
    degrees = A.sum(dim=1)
    root = degrees.clamp(min=1).sqrt()
    diagonal = torch.where(degrees > 0, 1.0, of_no_edge).diag()
    return torch.matrix_exp(-t * (diagonal - A / (root[:, None] * root))).log()


# Two rings that share the nodes 2 and 3, one apart, and a node in none.
RINGS = [[0, 1, 2, 3], [2, 3, 4, 5, 6], [7, 8, 9]]


def _rings(draw: Draw):
    """Rings of three to eight nodes, which may share some, and nodes in no ring."""
    N = draw.number(3, 9)
    nodes = [draw.in_some_order(range(N)) for _ in range(draw.number(0, 3))]
    return [order[: draw.number(3, min(N, 8))] for order in nodes], N


@compare(
    (RINGS, 11),
    ([[*range(8)]], 8),
    ([[*range(40)]], 40),
    ([], 2),
    ([[5, 1, 3, 0], [6, 2, 7]], 9),
    drawn=_rings,
)
@mistake("a node is bound to itself; the diagonal should be False.", itself=True)
@mistake(
    "only consecutive nodes are bound; bind all nodes of a ring.",
    others=lambda ring, n: [ring[n - 1], ring[(n + 1) % len(ring)]],
)
@mistake(
    "only consecutive nodes are bound, and the first and last are not; bind all nodes of a ring.",
    others=lambda ring, n: [*ring[max(n - 1, 0) : n], *ring[n + 1 : n + 2]],
)
@mistake(
    "nodes of different rings are bound; they need a ring in common.",
    given=lambda rings, N: ([sorted({node for ring in rings for node in ring})], N),
)
@mistake(
    "only the pairs of the last ring are left; collect those of all rings.",
    given=lambda rings, N: (rings[-1:], N),
)
@mistake(
    "only the first ring is read; collect the pairs of all rings.",
    given=lambda rings, N: (rings[:1], N),
)
@mistake(
    "two nodes that share two rings are not bound in your result, but they should be.", once=True
)
@mistake("True and False are swapped.", then=torch.logical_not)
@mistake(
    "nodes in no ring have no row; the shape of the result is [N, N].",
    given=lambda rings, N: (rings, 1 + max(max(ring) for ring in rings)),
)
@mistake("a ring of more than six nodes is left out; all rings count.", largest=6)
@mistake("each pair is bound one way only; the relation is symmetric.", then=torch.triu)
@mistake(
    "of each ring, a node is bound only to those after it; the relation is symmetric.",
    others=lambda ring, n: ring[n + 1 :],
)
@mistake(
    "a node on several rings is bound to itself: 1 is subtracted from their number. Set the whole "
    "diagonal to False.",
    lambda rings, N: _number_of_rings(rings, N) - torch.eye(N) > 0,
)
@mistake(
    "a node on several rings, or on none, is bound to itself: set the whole diagonal to False.",
    lambda rings, N: (_number_of_rings(rings, N) - torch.eye(N)).bool(),
)
@mistake(
    "a node on no ring is bound to itself: set the whole diagonal to False.",
    lambda rings, N: (_number_of_rings(rings, N) > 0) ^ torch.eye(N, dtype=torch.bool),
)
@mistake(
    "each node keeps only its last ring; a node can lie on several.",
    lambda rings, N: check_ring_bound.reference(
        [
            [i for i in ring if not any(i in later for later in rings[n + 1 :])]
            for n, ring in enumerate(rings)
        ],
        N,
    ),
)
@mistake("rings that share nodes were merged; bind only nodes of the same ring.", merged=True)
def check_ring_bound(
    rings, N, itself=False, others=lambda ring, n: ring, largest=None, merged=False, once=False
):
    """All nodes of a ring are bound to one another, and none to itself."""
    bound = torch.zeros(N, N, dtype=torch.bool)
    if once:
        for ring in rings:
            bound[torch.tensor(ring)[:, None], torch.tensor(ring)] ^= True
        return bound.fill_diagonal_(False)
    if merged:
        bound = check_ring_bound.reference(rings, N) | torch.eye(N, dtype=torch.bool)
        for _ in range(N):
            bound = bound.float() @ bound.float() > 0
        return bound.fill_diagonal_(False)
    for ring in [ring for ring in rings if len(ring) <= (largest or N)]:
        for n, i in enumerate(ring):
            bound[i, others(ring, n)] = True
    return bound if itself else bound.fill_diagonal_(False)


def _number_of_rings(rings, N):
    """How many rings contain both nodes, ``[N, N]``."""
    on = torch.zeros(len(rings), N)
    for row, ring in zip(on, rings, strict=True):
        row[ring] = 1
    return on.T @ on


def _filters(d, N, seed):
    return random((d, N, N), seed=seed)[0].softmax(dim=-1)


def _with_zeros(d, N, seed):
    """Every channel ignores some node, and every head has nodes that no channel ignores."""
    logits = random((d, N, N), seed=seed)[0]
    for channel in range(d):
        logits[channel, :, channel % (N - 1)] = -math.inf
    return logits.softmax(dim=-1)


# One head of 128 channels. A product of their weights is 0 even in double precision.
MANY_CHANNELS = ((8 * random((128, 4, 4), seed=6)[0]).softmax(dim=-1), 1)


def _channels(draw: Draw):
    """Each node attends to itself in all channels."""
    H = draw.number(1, 3)
    K = draw.number(1, 12)
    N = draw.number(1, 3)
    shares = draw.numbers(H * K, N, N, of=(0.0, 1.0, 3.0, 0.125, 1 / 1024)) + torch.eye(N)
    return shares / shares.sum(dim=-1, keepdim=True), H


@compare(
    (_filters(6, 4, seed=1), 2),
    (_with_zeros(4, 6, seed=2), 2),
    (_filters(12, 5, seed=3), 3),
    (_with_zeros(6, 8, seed=5), 1),  # the sixth root of a small number is not small
    MANY_CHANNELS,
    (_filters(8, 3, seed=4), 4),
    drawn=_channels,
)
@mistake(
    "this is the arithmetic mean of the weights; E is in the exponent, so average logarithms.",
    lambda a, H: a.unflatten(0, (H, -1)).mean(dim=1),
)
@mistake(
    "the rows do not sum to one: divide each by its sum, or use a softmax.",
    normalised=lambda logits, dim: logits.exp(),
)
@mistake(
    "these are the logarithms of the weights, up to a constant in each row.",
    normalised=lambda logits, dim: logits,
)
@mistake(
    "this is the normalised product over a head's channels; E is averaged, so take the K-th root.",
    over=torch.sum,
)
@mistake(
    "the product of many weights rounds to 0, and 0/0 is NaN: average their logarithms.",
    lambda a, H: F.normalize(_geometric_means(a, H), p=1, dim=-1, eps=0.0),
)
@mistake("this is a softmax of the weights; take their logarithm first.", read=lambda a: a)
@mistake("the softmax runs over the queries i; it should run over j, the last axis.", dim=-2)
@mistake(
    "the channels of the heads alternate; the first K channels belong to the first head.",
    given=lambda a, H: (a.unflatten(0, (-1, H)).transpose(0, 1).flatten(0, 1), H),
)
@mistake(
    "only the first channel of each head was used; average all K of them.",
    lambda a, H: a[:: len(a) // H],
)
@mistake(
    "this averages over all channels; each head averages its own K.",
    lambda a, H: check_filters_without_colour.reference(a, 1).expand(H, -1, -1),
)
@mistake(
    "each row of weights occurs K times; return one for each head.",
    lambda a, H: check_filters_without_colour.reference(a, H).repeat_interleave(len(a) // H, 0),
)
@mistake(
    "a small number was added before the logarithm; a weight of 0 in one channel stays 0.",
    read=lambda a: (a + 1e-3).log(),
)
@mistake(
    "zeros are left out of the mean; a weight of 0 in one channel makes the geometric mean 0.",
    read=lambda a: torch.where(a > 0, a, 1.0).log(),
)
@mistake(
    "1e-12 was added before the logarithm; a weight of 0 in one channel stays 0.",
    read=lambda a: (a + 1e-12).log(),
)
def check_filters_without_colour(
    a, H, read=torch.log, over=torch.mean, normalised=torch.softmax, dim=-1
):
    """Averaging E takes the geometric mean of the weights: where one of them is 0, it is 0."""
    logits = over(read(a).unflatten(0, (H, -1)), dim=1)
    return normalised(logits, dim=dim)


def _geometric_means(a, H):
    return a.unflatten(0, (H, -1)).prod(dim=1) ** (H / len(a))


def _round_borders(height, width):
    """Distances, rounded down, in an image whose opposite borders are joined."""
    pixels = torch.arange(height * width)
    down = _apart(pixels // width)
    across = _apart(pixels % width)
    down = torch.minimum(down, height - down)
    across = torch.minimum(across, width - across)
    return torch.hypot(down.double(), across.double()).floor().long()


def _apart(numbers):
    return (numbers[:, None] - numbers).abs()


def _image(draw: Draw):
    return draw.number(1, 9), draw.number(1, 9), draw.number(0, 12)


@compare(
    (3, 4, 3),
    (5, 4, 9),
    (1, 6, 2),
    (1, 1, 1),
    (51, 11, 60),  # the root of 51² - 1 occurs, which is only 0.01 below 51
    (6, 5, 4),
    run=_whole_numbers,
    drawn=_image,
)
@mistake("this is the distance along rows and columns; use the Euclidean one.", of=torch.add)
@mistake("this is the larger of the two differences; use their Euclidean norm.", of=torch.maximum)
@mistake("the distance is rounded to the nearest whole number; round down.", rounded=torch.round)
@mistake(
    "an image has borders: distances do not wrap around them.",
    lambda h, w, M: _round_borders(h, w).clamp(max=M),
)
@mistake(
    "a number is added before rounding, and a distance just below a whole number becomes this "
    "number: the roots of perfect squares are exact without it.",
    rounded=lambda x: (x + 0.01).floor(),
)
@mistake("the distance is rounded up; round down.", rounded=torch.ceil)
@mistake("this is the squared distance; take its root.", of=lambda a, b: a * a + b * b)
@mistake(
    "the squared distance is limited to M; limit the distance, after the root.",
    lambda h, w, M: torch.minimum(
        check_pixel_rows.reference(h, w, 10**6),
        check_pixel_rows.reference(
            h, w, 10**6, of=lambda a, b: (a * a + b * b).clamp(max=M).sqrt()
        ),
    ),
)
@mistake(
    "distances beyond M have rows of their own here; they should all share row M.",
    given=lambda h, w, M: (h, w, 10**6),
)
@mistake(
    "this is the difference of the pixels' numbers; take the distance in the image.",
    lambda h, w, M: _apart(torch.arange(h * w)).clamp(max=M),
)
@mistake("distances of M or more read row M - 1; the last row of the table is row M.", last=1)
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
    # In one direction only, for some pairs.
    ablated = torch.tensor([[(i + 2 * j + i * j) % 3 == 0 for j in range(N)] for i in range(N)])
    return s.softmax(dim=-1), m, 2.0 * ~ablated, g


def _ablated(draw: Draw):
    K, N = draw.size(3), draw.size(3)
    keep = draw.numbers(N, N, of=(2.0, 0.0))
    return draw.row_weights(K, N, N), draw.numbers(K, N, N), keep, draw.numbers(K, N)


def _by_hand(backward, *arguments):
    without_autograd(backward)
    return backward(*arguments)


@compare(
    _way_back(3, 4),
    _way_back(2, 5),
    run=_by_hand,
    parts=["the gradient of E", "the gradient of s"],
    drawn=_ablated,
)
@mistake(
    "an ablated pair's gradient is not 0: it takes weight from the others.",
    of_a=lambda keep, m, z: (keep * m - z) * (keep > 0),
)
@mistake(
    "the factor belongs to the message alone, not to z.", of_a=lambda keep, m, z: keep * (m - z)
)
@mistake(
    "z is missing: if j gains weight, the other nodes lose it.", of_a=lambda keep, m, z: keep * m
)
@mistake(
    "the factors are missing: the message is keep * m.",
    given=lambda a, m, keep, g: (a, m, torch.ones_like(keep), g),
)
@mistake("the factors are missing in z, the output of the layer.", of_z=lambda a, m, keep: a * m)
@mistake("z is the sum over j, the last axis.", over=1)
@mistake("the weight is missing: dz/dE is a (keep * m - z).", weight=torch.ones_like)
@mistake(
    "g_i belongs to the query i: add an axis at the end of g, not in the middle.",
    of_g=lambda g: g[:, None],
)
@mistake("this is a mean over channels; sum their gradients.", of_s=torch.mean)
@mistake(
    "this is the sum over the queries; sum over the channels.", of_s=lambda E, dim: E.sum(dim=1)
)
def check_backward(
    a,
    m,
    keep,
    g,
    of_a=lambda keep, m, z: keep * m - z,
    of_s=torch.sum,
    over=-1,
    of_z=lambda a, m, keep: a * keep * m,
    weight=lambda a: a,
    of_g=lambda g: g[..., None],
):
    """An ablated pair sends no message but still takes weight from the others."""
    z = of_z(a, m, keep).sum(dim=over, keepdim=True)
    of_E = weight(a) * of_g(g) * of_a(keep, m, z)
    return of_E, of_s(of_E, dim=0)
