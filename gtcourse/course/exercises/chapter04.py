"""Checks of chapter 04. Shapes: N nodes, E edges, k eigenvectors, r singular values, m anchors."""

import torch
import torch.nn.functional as F

from gtcourse.course.exercises.checker import HALF, adjacency, compare, mistake
from gtcourse.course.exercises.drawing import Draw

TREE = adjacency(7, (0, 1), (1, 2), (2, 3), (1, 4), (4, 5), (5, 6), directed=True)


def _graph(draw: Draw):
    return [draw.adjacency(draw.size(4), loops=True)]


OUT_OF_ONE = adjacency(5, (1, 0), (1, 2), (1, 3), (1, 4), (4, 1), (0, 3), directed=True)


WITH_LOOPS = adjacency(3, (0, 0), (0, 1), (2, 2), directed=True)
MANY = adjacency(257, *((0, n) for n in range(1, 257)), directed=True)  # 256 is 0 in 8 bits


@compare(
    [TREE | TREE.roll(3, 1).T],
    [OUT_OF_ONE],
    [WITH_LOOPS],
    [MANY],
    [TREE[1:, 1:]],
    atol=1e-5,
    drawn=_graph,
)
@mistake("the row of a node without outgoing edges is NaN (0/0); it must be zeros.", least=0)
@mistake("these are the edges themselves; divide each row by its sum.", torch.Tensor.float)
@mistake("the columns sum to one: divide each row by its own sum.", axis=0)
@mistake("column j is divided by the sum of row j: use keepdim=True.", keepdim=False)
@mistake(
    "a row is divided by its node's incoming edges; divide it by the outgoing ones.",
    lambda A: A.float() / A.sum(dim=0)[:, None].clamp(min=1),
)
@mistake(
    "this is the symmetric form, which divides by the roots of both nodes' degrees; "
    "divide each row by its own degree.",
    lambda A: A.float() * torch.outer(*2 * [A.sum(dim=1).clamp(min=1).rsqrt()]),
)
@mistake(
    "you added self-loops; the walk moves along an edge of the graph in every step.",
    given=lambda A: (A | torch.eye(len(A), dtype=torch.bool),),
)
@mistake(
    "you added 1 on the diagonal; the walk moves along an edge of the graph in every step.",
    lambda A: (A + torch.eye(len(A))) / (A.sum(dim=1, keepdim=True) + 1),
)
@mistake(
    "self-loops were removed; an edge may lead from a node to itself.",
    given=lambda A: (A & ~torch.eye(len(A), dtype=torch.bool),),
)
@mistake(
    "this is a division of whole numbers, in which 1/2 is 0.",
    lambda A: (A.long() // A.sum(dim=1, keepdim=True).clamp(min=1)).float(),
)
@mistake(
    "this is A D^-1, which divides column j by the degree of node j; D^-1 comes first.",
    lambda A: A.float() * A.sum(dim=1).float().reciprocal().nan_to_num(posinf=0.0),
)
@mistake(
    "a node without outgoing edges gets a row of zeros; your walk stays at this node.",
    given=lambda A: (A | torch.diag(~A.any(dim=1)),),
)
@mistake(
    "a node without outgoing edges gets a row of zeros; your walk jumps to any node.",
    given=lambda A: (A | ~A.any(dim=1, keepdim=True),),
)
@mistake(
    "this is a softmax, which gives weight to pairs without an edge; divide by the sum.",
    lambda A: A.float().softmax(dim=1),
)
@mistake(
    "the walk stays where it is in half of its steps; let it move in every step.",
    then=lambda P: (P + torch.eye(len(P))) / 2,
)
@mistake("this is the matrix of two steps; return that of one step.", then=lambda P: P @ P)
@mistake(
    "divide each row by its own sum, not by the largest one.",
    lambda A: A.float() / A.sum(dim=1).max(),
)
def check_walk_matrix(A, axis=1, least=1, keepdim=True):
    """Each row sums to one, and a dead end has a row of zeros."""
    return A.float() / A.sum(dim=axis, keepdim=keepdim).clamp(min=least)


def _vector(draw: Draw):
    """With the edges in any order, and not the zero vector."""
    N = draw.size(5)
    edges = draw.adjacency(N, directed=False).nonzero().tolist()
    edge_index = torch.tensor(draw.in_some_order(edges), dtype=torch.long).view(-1, 2).T
    u = draw.numbers(N)
    return u if u.any() else u + 1, edge_index


@compare(
    (torch.tensor([3.0, 1, -1, 0, 2, 2, -2]), (TREE | TREE.T).nonzero().T),
    (torch.tensor([1.0, 3, -2]), torch.tensor([(1, 0), (0, 1)]).T),  # node 2 has no edge
    (torch.tensor([1.0, 3, -2]) / 1024, torch.tensor([(0, 1), (1, 0)]).T),  # any length
    (torch.tensor([0.5, -1.5, 2.25, 4]), torch.tensor([(0, 1), (1, 0), (3, 1), (1, 3)]).T),
    drawn=_vector,
)
@mistake("every edge is counted twice: edge_index contains both of its directions.", count=1)
@mistake("divide by the sum of the squares of u.", over=lambda u: 1)
@mistake("you divide by the length of u; divide by its square.", over=torch.norm)
@mistake("these are the differences themselves; square them.", power=1)
@mistake(
    "this is the mean over the edges; take the sum.",
    lambda u, e: float((u[e[0]] - u[e[1]]).square().mean() / u.square().sum()),
)
@mistake(
    "these are means over the edges and over the nodes; take sums.",
    lambda u, e: float((u[e[0]] - u[e[1]]).square().mean() / u.square().mean()),
)
@mistake(
    "nodes without edges are left out of the sum of the squares of u; add all.",
    lambda u, e: float((u[e[0]] - u[e[1]]).square().sum() / 2 / u[e.unique()].square().sum()),
)
@mistake(
    "square the entries of u before you add them.",
    over=lambda u: u.sum() ** 2,
)
@mistake(
    "the first half of the columns need not contain each edge exactly once.",
    lambda u, e: float((u[e[0]] - u[e[1]]).square()[: e.shape[1] // 2].sum() / (u @ u)),
)
@mistake(
    "the two directions of an edge need not be in neighbouring columns.",
    lambda u, e: float((u[e[0]] - u[e[1]]).square()[::2].sum() / (u @ u)),
)
@mistake(
    "this is the sum of the products u_i u_j; take the squared differences.",
    lambda u, e: float((u[e[0]] * u[e[1]]).sum() / (u @ u)),
)
@mistake(
    "the mean of u is subtracted before its squares are added; leave u as it is.",
    over=lambda u: (u - u.mean()).square().sum(),
)
@mistake(
    "the sum is divided by the number of nodes; divide it by the sum of the squares of u.", over=len
)
@mistake(
    "square each difference before you add them.",
    lambda u, e: float((u[e[0]] - u[e[1]]).sum() ** 2 / (u @ u)),
)
@mistake(
    "return one number: add up the terms of all edges.",
    lambda u, e: (u[e[0]] - u[e[1]]).square() / 2 / (u @ u),
)
@mistake(
    "the squares of u are weighted by the degrees; add them without weights.",
    lambda u, e: float((u[e[0]] - u[e[1]]).square().sum() / 2 / u[e[0]].square().sum()),
)
@mistake(
    "take the differences of the two ends, not their sums.",
    lambda u, e: float((u[e[0]] + u[e[1]]).square().sum() / 2 / (u @ u)),
)
@mistake(
    "this is the largest squared difference; take the sum over the edges.",
    lambda u, e: float((u[e[0]] - u[e[1]]).square().max() / (u @ u)),
)
def check_rayleigh_quotient(u, edge_index, count=0.5, power=2, over=lambda u: (u**2).sum()):
    """Each edge counts once, and the sum is divided by the squared length of u."""
    i, j = edge_index
    return float(count * ((u[i] - u[j]).abs() ** power).sum() / over(u))


ONE_WAY = torch.tensor(  # the directed path 0 -> 1 -> 2 -> 3, and node 4 alone
    [[0, 1, 2, 3, -1], [-1, 0, 1, 2, -1], [-1, -1, 0, 1, -1], [-1, -1, -1, 0, -1], [-1] * 4 + [0]]
)
MEMBERS = torch.tensor([[0, 0, 1, 0, 0], [0, 1, 0, 1, 0], [1, 0, 0, 0, 1]], dtype=torch.bool)


EMPTY_TOO = torch.cat([MEMBERS[1:, :4], torch.zeros(1, 4, dtype=torch.bool)])


LINE = (torch.arange(6)[:, None] - torch.arange(6)).abs()  # distances on a path of six nodes
LARGE = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 0, 1, 1, 0, 1]], dtype=torch.bool)


FAR_APART = (torch.arange(1100)[:, None] - torch.arange(1100)).abs()
END = (torch.arange(1100) == 1099)[None]


def _sets(draw: Draw):
    N = draw.size(4)
    return draw.distances(N), draw.flags(draw.size(3), N)


@compare(
    (LINE, LARGE),
    (ONE_WAY, MEMBERS),
    (FAR_APART, END),
    (ONE_WAY[:4, :4].mT, EMPTY_TOO),
    drawn=_sets,
)
@mistake("-1 was taken for the smallest distance; ignore members that cannot be reached.", least=-1)
@mistake(
    "-1 was taken for the smallest distance: replace it by a large number before the minimum, and "
    "the minimum over an empty set by -1.",
    lambda distance, members: torch.where(members, distance[:, None], len(distance)).amin(dim=2),
)
@mistake(
    "the largest distance stands for a missing path in your code; choose a number that is larger "
    "than any distance.",
    lambda distance, members: _up_to(int(distance.max()), distance, members),
)
@mistake("this is the farthest reachable member; take the nearest.", nearest=max)
@mistake("an unreachable set gets 0; it must get -1.", never=0)
@mistake("a member reaches itself in 0 steps; do not leave it out.", least=1)
@mistake(
    "only the first member of a set is read; take the nearest of all.",
    nearest=lambda reached, default: reached[0] if reached else default,
)
@mistake(
    "this is the mean over the members; take the nearest.",
    nearest=lambda reached, default: round(sum(reached) / len(reached)) if reached else -1,
)
@mistake(
    "this is the sum over the members; take the nearest.",
    lambda distance, members: distance @ members.T.long(),
)
def check_anchor_distances(distance, members, nearest=min, never=-1, least=0):
    """The nearest member counts, and unreachable ones do not."""
    steps = [[row[chosen & (row >= least)].tolist() for chosen in members] for row in distance]
    return torch.tensor([[nearest(reached, default=never) for reached in row] for row in steps])


def _up_to(far, distance, members):
    known = distance.masked_fill(distance < 0, far)
    nearest = torch.where(members, known[:, None], far).amin(dim=2)
    return nearest.masked_fill(nearest == far, -1)


def _of_eigenvectors(columns, A, k):
    """What is the same for all right results: ``L U - U Λ`` and ``U^T U``, ``[N + k, k]``."""
    U = columns.double()
    L = A.sum(dim=1).diag() - A.double()
    values = F.pad(torch.linalg.eigvalsh(L), (0, k))[: U.shape[1]]
    return torch.cat([L @ U - U * values, U.T @ U])


def _edges_of(A):
    edges = A.nonzero().tolist()
    return f" with the edges {edges}" if len(edges) < 20 else ""


def _column(got, right, A, k):
    """The first wrong column, and what it is."""
    L = A.sum(dim=1).diag() - A.double()
    values = torch.linalg.eigvalsh(L)
    one, other = (_of_eigenvectors(each, A, k) for each in (got, right))
    wrong = ~torch.isclose(one, other, atol=1e-4)
    wrong = torch.cat([wrong[: len(A)], wrong[len(A) :].triu()])  # of two columns, the second
    m = int(wrong.any(dim=0).nonzero()[0])
    graph = f"a graph of {len(A)} node{'' if len(A) == 1 else 's'}{_edges_of(A)}"
    start = f"for {graph} and k = {k}, column {m} is wrong, whatever its sign"
    u = got[:, m].double()
    if got.dtype in HALF:
        return f"expected single or double precision, got {got.dtype}, which has three digits."
    if m >= len(A):
        return f"{start}: it should be all zeros."
    if not u.any():
        return f"{start}: it is all zeros."
    value = u @ L @ u / (u @ u)
    if not torch.allclose(L @ u, value * u, atol=1e-3):
        return f"{start}: it is not an eigenvector of D - A."
    if not torch.isclose(value, values[m], atol=1e-3):
        return (
            f"{start}: it belongs to the eigenvalue {abs(value):.3f}, not to {abs(values[m]):.3f}."
        )
    if not torch.isclose(u.norm(), u.new_tensor(1.0), atol=1e-3):
        return f"{start}: its length is {u.norm():.3g}, not 1."
    if (got[:, :m].double().T @ u).abs().sum() > 1e-4:
        return f"{start}: it is not orthogonal to the columns before it."
    return f"{start}: it has only three right digits."


def _undirected(draw: Draw):
    """Eigenvalues may repeat, so that many results are right."""
    return draw.adjacency(draw.size(5), directed=False), draw.size(6)


@compare(
    (TREE | TREE.T, 4),
    (adjacency(5, (0, 1), (2, 3), (3, 4)), 4),  # two components
    (adjacency(3, (0, 1), (1, 2)), 5),
    view=_of_eigenvectors,
    explain=_column,
    drawn=_undirected,
)
@mistake(
    "the constant vector is missing: keep the first eigenvector.",
    columns=lambda V, k: V[:, 1 : k + 1],
)
@mistake(
    "the first eigenvector, the constant one, is missing: keep it, and pad after it.",
    columns=lambda V, k: F.pad(V, (0, 1))[:, 1 : k + 1],
)
@mistake(
    "these belong to the k largest eigenvalues; take those of the k smallest.",
    columns=lambda V, k: V[:, -k:],
)
@mistake(
    "these are rows of the matrix; eigh returns the eigenvectors as its columns.",
    columns=lambda V, k: V.T[:, :k],
)
@mistake("a graph of 3 nodes with k = 5 needs 2 columns of zeros at the end.", pad=(0, 0))
@mistake("the columns of zeros come last.", pad=(1, 0))
@mistake(
    "the eigenvalues are in descending order; they should ascend.",
    columns=lambda V, k: V[:, :k].flip(1),
)
@mistake(
    "you may flip the sign of a whole column, but not that of single entries; yours are "
    "absolute values.",
    columns=lambda V, k: V[:, :k].abs(),
)
@mistake(
    "these are eigenvectors of the normalised Laplacian; use D - A.",
    lambda A, k: _rows_of(A.sum(1).clamp(min=1).rsqrt().double(), A, k),
)
@mistake(
    "these are eigenvectors of A; use D - A.",
    lambda A, k: F.pad(torch.linalg.eigh(A.double())[1][:, :k], (0, max(0, k - len(A)))),
)
def check_laplacian_rows(A, k, columns=lambda V, k: V[:, :k], pad=(0, 1)):
    """The smallest eigenvalues come first, and small graphs are padded at the end."""
    vectors = torch.linalg.eigh(A.sum(dim=1).diag() - A.double()).eigenvectors
    return F.pad(columns(vectors, k), [n * max(0, k - len(A)) for n in pad])


def _rows_of(root, A, k):
    """Eigenvectors of I - A scaled by the roots of both degrees."""
    normalised = torch.eye(len(A)) - root[:, None] * A * root
    return F.pad(torch.linalg.eigh(normalised)[1][:, :k], (0, max(0, k - len(A))))


def _of_halves(halves, A, r):
    """What is the same for all right results: M V - U Σ, M^T U - V Σ, U^T U and V^T V."""
    U, V = halves.double().chunk(2, dim=1)
    M = A.double() + torch.eye(len(A))
    values = torch.linalg.svdvals(M)[:r]
    return torch.cat([M @ V - U * values, M.T @ U - V * values, U.T @ U, V.T @ V])


def _products(got, right, A, r):
    """What the halves give back, for the first column that is wrong."""
    one, other = (_of_halves(each, A, r) for each in (got, right))
    N = len(A)
    wrong = (~torch.isclose(one, other, atol=1e-4)).split([N, N, r, r])
    wrong = torch.cat([*wrong[:2], wrong[2].triu(), wrong[3].triu()])
    m = int(wrong.any(dim=0).nonzero()[0])
    if got.dtype in HALF:
        return f"expected single or double precision, got {got.dtype}, which has three digits."
    M = A.double() + torch.eye(N)
    U, V = (half[:, m].double() for half in got.chunk(2, dim=1))
    square = torch.linalg.svdvals(M)[m] ** 2
    start = f"for a graph of {N} node{'' if N == 1 else 's'}{_edges_of(A)} and r = {r}"
    if not torch.allclose(M @ M.T @ U, square * U, atol=1e-3):
        return f"{start}, column {m} of the first half is wrong, whatever its sign."
    if not torch.allclose(M.T @ M @ V, square * V, atol=1e-3):
        return f"{start}, column {m} of the second half is wrong, whatever its sign."
    lengths = [float(half @ half) for half in (U, V)]
    if max(abs(length - square.sqrt()) for length in lengths) > 1e-6 + 1e-3 * square.sqrt():
        return (
            f"{start}, column {m} of the halves has the squared lengths {lengths[0]:.3g} and "
            f"{lengths[1]:.3g}; both should be the singular value {square.sqrt():.3g}."
        )
    if torch.allclose(M @ V, -square.sqrt() * U, atol=1e-3):
        return f"{start}, the signs of column {m} in the two halves do not match."
    return f"{start}, column {m} of the two halves does not belong together."


def _directed(draw: Draw):
    """Singular values may be 0, and may repeat."""
    N = draw.size(4)
    return draw.adjacency(N), draw.number(1, N)


SECOND = TREE[:5, :5] | torch.eye(5, dtype=torch.bool).roll(2, 0)


# A graph of 20 nodes for which the smallest singular value of A + I is 0.0006.
STEEP = adjacency(20, *((i, i + n) for n in (1, 3) for i in range(20 - n)), directed=True)


@compare((TREE, 3), (STEEP, 20), (SECOND, 2), view=_of_halves, explain=_products, drawn=_directed)
@mistake("the self-loops are missing: decompose A + I.", loops=0)
@mistake("the singular values are missing: multiply both halves by their roots.", power=0)
@mistake("both halves are multiplied by the singular values; use their roots.", power=1)
@mistake("the signs of u_m and v_m must change together.", sign=-1)
@mistake("svd returns V^T: the right singular vectors are its rows.", right=lambda Vt: Vt)
@mistake("these are the smallest singular values; keep the r largest.", kept=lambda x, r: x[:, -r:])
@mistake(
    "both halves come from U; the second comes from V.",
    then=lambda rows: rows.chunk(2, dim=1)[0].repeat(1, 2),
)
@mistake(
    "the halves are swapped: that of U comes first.",
    then=lambda rows: torch.cat(rows.chunk(2, dim=1)[::-1], dim=1),
)
@mistake(
    "the halves alternate column by column; all columns of the first half come first.",
    then=lambda rows: rows.unflatten(1, (2, -1)).mT.flatten(1),
)
@mistake(
    "only the first half is multiplied by the singular values; multiply each half by their roots.",
    lambda A, r: _one_sided(A, r),
)
def check_svd_rows(
    A, r, loops=1, power=0.5, sign=1, right=lambda Vt: Vt.T, kept=lambda x, r: x[:, :r]
):
    """The first half of row i and the second half of row j approximate the edge from i to j."""
    U, S, Vt = torch.linalg.svd(A.double() + loops * torch.eye(len(A)))
    halves = (U * S**power, sign * right(Vt) * S**power)
    return torch.cat([kept(half, r) for half in halves], dim=1)


def _one_sided(A, r):
    U, S, Vt = torch.linalg.svd(A.double() + torch.eye(len(A)))
    return torch.cat([U[:, :r] * S[:r], Vt.T[:, :r]], dim=1)
