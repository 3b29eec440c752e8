"""Checks of chapter 07. Shapes: N nodes, n virtual nodes, d_e width of a pair, ν farthest class."""

import math

import torch
import torch.nn.functional as F

from gtcourse.course.exercises.chapter06 import FAR
from gtcourse.course.exercises.checker import adjacency, compare, mistake, random, require, tensors

BONDED = adjacency(4, (0, 1), (1, 0), (1, 2), directed=True)  # of types 0, 0 and 1
BOND = adjacency(4, (1, 2), directed=True).long()


@compare(
    (BONDED, BOND, *random((2, 5), (3, 5), (5,))),
    (BONDED[:3, :3], 2 * BOND[:3, :3], *random((2, 6), (4, 6), (6,), seed=2)),
)
@mistake("a node paired with itself has theta_1: the structure has self-loops.", loops=0)
@mistake(
    "pairs without an edge have the masking vector, not type 0's.", joined=lambda A, bond: bond >= 0
)
@mistake("type 0 is a type of edge, too; A says where edges are.", joined=lambda A, bond: bond > 0)
def check_first_pairs(A, bond, theta, x, mu, loops=1, joined=lambda A, bond: A):
    """Structure with self-loops, features without, and the masking vector elsewhere."""
    structure = theta[torch.maximum(A.long(), loops * torch.eye(len(A)).long())]
    return structure + torch.where(joined(A, bond)[..., None], x[bond], mu)


@compare(
    (*(6 * x for x in random((4, 4), (4, 4), (4, 4))), torch.arange(4) < 3),
    (*(6 * x for x in random((6, 6), (6, 6), (6, 6))), torch.arange(6) < 4),
    view=lambda a, dots, b, g, real: a[: real.sum()],  # a padded query may hold anything
)
@mistake("nodes attend to padding; mask its columns in the softmax.", fill=0)
@mistake("nothing is clipped; clip the dot product to [-5, 5].", clip=99)
@mistake(
    "add the bias after the clip; it is not clipped.",
    given=lambda d, b, g, r: ((d + b).clamp(-5, 5), 0, g, r),
)
@mistake("the softmax runs over the queries; it should run over the last axis.", dim=0)
@mistake("weights need not sum to one after the gate.", then=lambda a: F.normalize(a, 1, 1))
def check_gated_attention(dots, b, g, real, clip=5, fill=-math.inf, dim=1):
    """Only the dot product is clipped, and the gate comes after the softmax."""
    return (dots.clamp(-clip, clip) + b + torch.where(real, 0.0, fill)).softmax(dim) * g.sigmoid()


@compare(random((2, 2, 5), (3, 5)), random((4, 4, 3), (2, 3), seed=2))
@mistake(
    "virtual nodes come first, before the others.", then=lambda e: e.roll((-3, -3), dims=(0, 1))
)
@mistake("for two virtual nodes you return the sum; take half of it.", between=1.0)
@mistake("the columns are missing: the pairs of nodes with virtual nodes.", column=0.0)
@mistake("the rows are missing: the pairs of virtual nodes with nodes.", row=0.0)
def check_with_virtual_pairs(e, virtual, between=0.5, row=1.0, column=1.0):
    """One vector for all pairs of a virtual node, and the mean for pairs of two."""
    n = len(virtual)
    wider = F.pad(e, (0, 0, n, 0, n, 0))
    wider[:n, :n] = between * (virtual[:, None] + virtual)
    wider[:n, n:], wider[n:, :n] = row * virtual[:, None], column * virtual
    return wider


@compare((*random((5, 5, 3)), FAR, 2), (*random((4, 4, 2)), FAR[1:, 1:].triu(), 1), atol=1e-3)
@mistake("this is the mean over pairs; return the sum.", reduction="mean")
@mistake(
    "pairs without a path were counted; leave them out.", classes=lambda d: torch.where(d < 0, 2, d)
)
@mistake("pairs farther apart than nu were counted as nu.", classes=lambda d: d.clamp(max=2))
@mistake(
    "distance 0 is a class, too: a node with itself counts.",
    classes=lambda d: torch.where(d == 0, -1, d),
)
def check_distance_objective(logits, distance, nu, classes=lambda d: d, reduction="sum"):
    """Every pair within distance nu counts once, a node with itself included."""
    c = classes(distance).flatten()
    within = (c >= 0) & (c <= nu)
    return float(F.cross_entropy(logits.flatten(0, 1)[within], c[within], reduction=reduction))


def _weights(counting_head, A):
    b, g = (x.float() for x in tensors(counting_head(A), A.shape, A.shape))
    require(b.isfinite().all() and g.isfinite().all(), "use finite numbers only.")
    return b.softmax(dim=1) * g.sigmoid()


STAR = adjacency(6, (0, 1), (0, 2), (0, 3), (3, 4))  # with a tail, and a node alone


@compare([STAR], [STAR[:4, :4]], run=_weights)
@mistake("the softmax loses the number: leave b at 0 and let the gates choose.", pick=30)
@mistake("a node also counts itself; close its own gate.", loops=True)
@mistake("the gates are inverted: they are open where there is no edge.", edge=-40, base=20)
@mistake("the gates are neither closed nor open: g is 0 and 1.", edge=1, base=0)
def check_counting_head(A, edge=60, base=-30, pick=0, loops=False):
    """Attention is uniform, the gates pick the neighbours, and the sum counts them."""
    return pick * A.float(), base + edge * (A | torch.eye(len(A)).bool() & loops).float()
