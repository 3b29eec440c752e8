"""Checks of chapter 04. Shapes: N nodes, E edges, k eigenvectors, r singular values, m anchors."""

import torch
import torch.nn.functional as F

from gtcourse.course.exercises.checker import adjacency, compare, mistake

# Made symmetric, no eigenvalue of D - A comes twice, nor one of A + I.
TREE = adjacency(7, (0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (5, 6), directed=True)


@compare([TREE | TREE.roll(3, 1).T], [TREE[1:, 1:]])
@mistake("the row of a node without outgoing edges is NaN (0/0); it must be zeros.", least=0)
@mistake("these are the edges themselves; divide each row by its sum.", torch.Tensor.float)
@mistake("the columns sum to one: divide each row by its own sum.", axis=0)
@mistake("column j is divided by the sum of row j: use keepdim=True.", keepdim=False)
def check_walk_matrix(A, axis=1, least=1, keepdim=True):
    """Each row sums to one, and a dead end has a row of zeros."""
    return A.float() / A.sum(dim=axis, keepdim=keepdim).clamp(min=least)


@compare(
    (torch.tensor([3.0, 1, -1, 0, 2, 2, -2]), (TREE | TREE.T).nonzero().T),
    (torch.tensor([0.5, -1.5, 2.25, 4]), torch.tensor([(0, 1), (1, 0), (3, 1), (1, 3)]).T),
)
@mistake("every edge is counted twice: edge_index contains both of its directions.", count=1)
@mistake("divide by the sum of the squares of u.", over=lambda u: 1)
@mistake("you divide by the length of u; divide by its square.", over=torch.norm)
@mistake("these are the differences themselves; square them.", power=1)
def check_rayleigh_quotient(u, edge_index, count=0.5, power=2, over=lambda u: (u**2).sum()):
    """Each edge counts once, and the sum is divided by the squared length of u."""
    i, j = edge_index
    return float(count * ((u[i] - u[j]).abs() ** power).sum() / over(u))


ONE_WAY = torch.tensor(  # the directed path 0 -> 1 -> 2 -> 3, and node 4 alone
    [[0, 1, 2, 3, -1], [-1, 0, 1, 2, -1], [-1, -1, 0, 1, -1], [-1, -1, -1, 0, -1], [-1] * 4 + [0]]
)
MEMBERS = torch.tensor([[0, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 1]], dtype=torch.bool)


@compare((ONE_WAY, MEMBERS), (ONE_WAY[:4, :4].mT, MEMBERS[1:, :4]))
@mistake("-1 was taken as the minimum; ignore members that cannot be reached.", least=-1)
@mistake("this is the farthest reachable member; take the nearest.", nearest=max)
@mistake("an unreachable set has a large number; it must have -1.", never=5)
def check_anchor_distances(distance, members, nearest=min, never=-1, least=0):
    """The nearest member counts, and unreachable ones do not."""
    steps = [[row[chosen & (row >= least)].tolist() for chosen in members] for row in distance]
    return torch.tensor([[nearest(reached, default=never) for reached in row] for row in steps])


def _squares(columns, *_):
    """``[N, k]`` to ``[k, N, N]``: each column's outer product with itself, free of its sign."""
    return torch.einsum("im,jm->mij", columns.double(), columns.double())


@compare((TREE | TREE.T, 4), (adjacency(3, (0, 1), (1, 2)), 5), view=_squares)
@mistake("the constant vector is missing: keep the first.", columns=lambda V, k: V[:, 1 : k + 1])
@mistake("these have the largest eigenvalues; take the smallest k.", columns=lambda V, k: V[:, -k:])
@mistake("these are rows; eigh puts a vector in each column.", columns=lambda V, k: V.T[:, :k])
@mistake("a graph of 3 nodes with k = 5 needs 2 columns of zeros at the end.", pad=(0, 0))
def check_laplacian_rows(A, k, columns=lambda V, k: V[:, :k], pad=(0, 1)):
    """The smallest eigenvalues come first, and small graphs are padded at the end."""
    vectors = torch.linalg.eigh(A.sum(dim=1).diag() - A.double()).eigenvectors
    return F.pad(columns(vectors, k), [n * max(0, k - len(A)) for n in pad])


def _couples(halves, *_):
    """``[N, 2r]`` to ``[r, 2N, 2N]``: free of the sign that u_m and v_m share."""
    return _squares(torch.cat(halves.double().chunk(2, dim=1), dim=0))


@compare((TREE, 3), (TREE[:5, :5] | torch.eye(5, dtype=torch.bool).roll(2, 0), 2), view=_couples)
@mistake("the self-loops are missing: decompose A + I.", loops=0)
@mistake("the singular values are missing: multiply both halves by their roots.", power=0)
@mistake("both halves are multiplied by the singular values; use their roots.", power=1)
@mistake("the signs of u_m and v_m must change together.", sign=-1)
def check_svd_rows(A, r, loops=1, power=0.5, sign=1):
    """The dot product of i's first half and j's second half gives back the edge."""
    U, S, Vt = torch.linalg.svd(A.double() + loops * torch.eye(len(A)))
    halves = (U * S**power, sign * Vt.T * S**power)
    return torch.cat([half[:, :r] for half in halves], dim=1)
