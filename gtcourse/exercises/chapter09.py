"""Checks of chapter 09: what a pair is, heat, rings, filters, and their gradients.

Shapes: N nodes, d width, H heads, K = d / H channels of a head, T types of edges.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from gtcourse.exercises.verdict import Mistake, checker, expect


@checker("edges by type, then pairs without an edge, then a node with itself.")
def check_pair_rows(pair_rows: Callable[[Tensor, Tensor, int], Tensor]) -> None:
    """``pair_rows(adjacency, bond, T)``: ``[N, N]`` twice and a number to ``[N, N]``."""
    # One way from 3 to 0, a loop at 2, nothing at 4.
    n, T = 5, 3
    kinds = {(0, 1): 2, (1, 0): 2, (1, 2): 0, (2, 1): 0, (2, 2): 1, (3, 0): 1}
    adjacency = torch.tensor([[(i, j) in kinds for j in range(n)] for i in range(n)])
    bond = torch.tensor([[kinds.get((i, j), 0) for j in range(n)] for i in range(n)])

    def rows(
        no_edge: int = T,
        itself: int = T + 1,
        loops: bool = True,
        edge: Callable[[int], int] = lambda kind: kind,
        turned: bool = False,
        zeros: bool = True,
    ) -> Tensor:
        def row(i: int, j: int) -> int:
            i, j = (j, i) if turned else (i, j)
            kind = kinds.get((i, j))
            if kind is None or (i == j and not loops) or (kind == 0 and not zeros):
                return itself if i == j else no_edge
            return edge(kind)

        return torch.tensor([[row(i, j) for j in range(n)] for i in range(n)])

    expect(
        pair_rows(adjacency, bond.clone(), T),
        rows(),
        {
            "a loop among the edges keeps its type; write the diagonal before the edges.": rows(
                loops=False
            ),
            "a node with itself has a row of its own, T + 1.": rows(itself=T),
            "the rows of no edge and of a node itself are exchanged.": rows(T + 1, T),
            "edges of type 0 were not seen: a 0 in bond is a type where adjacency is True.": rows(
                zeros=False
            ),
            "pairs without an edge have the row of type 0; theirs is T.": rows(no_edge=0),
            "pairs without an edge, and nodes themselves, have the row of type 0.": rows(0, 0),
            "types begin at 1; type 0 is row 0.": rows(T + 1, T + 2, edge=lambda kind: kind + 1),
            "the pair is (j, i): row i, column j is the edge from i to j.": rows(turned=True),
        },
    )


@checker("the logarithm of the kernel, and nothing flows between parts.")
def check_heat_bias(heat_bias: Callable[[Tensor, float], Tensor]) -> None:
    """``heat_bias(A, t)``: ``[N, N]`` to ``[N, N]``."""
    # A path of three nodes, and two that are joined to each other alone.
    n, t, edges = 5, 0.4, [(0, 1), (1, 2), (3, 4)]
    joined = {*edges, *((j, i) for i, j in edges)}
    A = [[float((i, j) in joined) for j in range(n)] for i in range(n)]
    degrees = [sum(row) for row in A]

    def table(entry: Callable[[int, int], float]) -> Tensor:
        return torch.tensor([[entry(i, j) for j in range(n)] for i in range(n)]).double()

    def log(x: Tensor) -> Tensor:
        return torch.where(x > 1e-12, x.clamp(min=1e-300).log(), -math.inf)

    laplacian = table(lambda i, j: (i == j) * degrees[i] - A[i][j])
    heat = _exponential(-t * laplacian)
    by_walk = table(lambda i, j: (i == j) - A[i][j] / degrees[i])
    symmetric = table(lambda i, j: (i == j) - A[i][j] / math.sqrt(degrees[i] * degrees[j]))
    adjacency = table(lambda i, j: A[i][j])
    got = heat_bias(torch.tensor(A).double(), t)
    if isinstance(got, Tensor) and got.isnan().any():
        for matrix, message in (
            (-laplacian, "heat grows: the sign of t L is the wrong one."),
            (adjacency, "this is exp(-t A); the kernel has the Laplacian D - A."),
        ):
            wrong = log(_exponential(-t * matrix))
            if got.shape == wrong.shape and torch.allclose(_finite(got), _finite(wrong)):
                raise Mistake(f"{message} It has negative entries, which have no logarithm.")
        raise Mistake("an entry is NaN, a logarithm of a negative number: is it the kernel's?")
    mistakes = {
        "this is the kernel itself; the bias is its logarithm.": heat,
        "this is -t L: the exponential is that of a matrix, torch.matrix_exp, not of each entry, "
        "which the logarithm undoes.": -t * laplacian,
        "this is exp(t A); the kernel has the Laplacian D - A.": log(_exponential(t * adjacency)),
        "this is the Laplacian of the random walk, I - P; the kernel has D - A.": log(
            _exponential(-t * by_walk)
        ),
        "this is the normalised Laplacian; the kernel has D - A.": log(
            _exponential(-t * symmetric)
        ),
        "t is missing.": log(_exponential(-laplacian)),
    }
    expect(_finite(got), _finite(log(heat)), {m: _finite(x) for m, x in mistakes.items()})


@checker("all nodes of a ring are bound to one another, and none to itself.")
def check_ring_bound(ring_bound: Callable[[list[list[int]], int], Tensor]) -> None:
    """``ring_bound(rings, N)`` to ``[N, N]`` bool."""
    # Two rings that share the nodes 2 and 3, one apart, and a node in none.
    n, rings = 11, [[0, 1, 2, 3], [2, 3, 4, 5, 6], [7, 8, 9]]
    ringed, fused = {*range(10)}, [{*range(7)}, {7, 8, 9}]

    def table(bound: Callable[[int, int], bool]) -> Tensor:
        return torch.tensor([[float(bound(i, j)) for j in range(n)] for i in range(n)])

    def apart(bound: Callable[[int, int], bool]) -> Tensor:
        return table(lambda i, j: i != j and bound(i, j))

    def together(i: int, j: int, rings: Sequence = rings) -> bool:
        return any(i in ring and j in ring for ring in rings)

    def follow(i: int, j: int, start: int = 0) -> bool:
        steps = ({ring[p - 1], ring[p]} for ring in rings for p in range(start, len(ring)))
        return {i, j} in steps

    def before(i: int, j: int) -> bool:
        return any({i, j} <= {*ring} and ring.index(i) < ring.index(j) for ring in rings)

    got = ring_bound([list(ring) for ring in rings], n)
    if isinstance(got, Tensor):
        got = got.detach().float()
        if got.max() > 1:
            raise Mistake("an entry is larger than 1: pairs on two rings were counted twice.")
    expect(
        got,
        apart(together),
        {
            "a node is bound to itself; the diagonal is to be False.": table(together),
            "only nodes that follow each other are bound; all nodes of a ring are.": apart(follow),
            "only nodes that follow each other are bound, and the ring does not close; all nodes "
            "of a ring are bound.": apart(lambda i, j: follow(i, j, 1)),
            "each pair is bound in one direction only; the relation is symmetric.": table(before),
            "rings that share nodes were taken as one; the relation is not transitive.": apart(
                lambda i, j: together(i, j, fused)
            ),
            "all nodes that are on any ring are bound to one another.": apart(
                lambda i, j: {i, j} <= ringed
            ),
            "only the last ring counts: the others were overwritten.": apart(
                lambda i, j: together(i, j, rings[-1:])
            ),
            "only the first ring counts.": apart(lambda i, j: together(i, j, rings[:1])),
        },
    )


@checker("a head's dot product for its K channels, a softmax for each channel.")
def check_attention_filters(
    attention_filters: Callable[[Tensor, Tensor, Tensor, int], Tensor],
) -> None:
    """``attention_filters(q, k, E, H)``: ``[N, d]`` twice, ``[d, N, N]`` to ``[d, N, N]``."""
    N, d, H = 4, 6, 2
    K = d // H
    q, k = _numbers(N, d, 1), _numbers(N, d, 5)
    E = [_numbers(N, N, 2 + 3 * c) for c in range(d)]

    def filters(
        head: Callable[[int], Sequence[int]] = lambda c: range(c // K * K, c // K * K + K),
        scale: float = K**-0.5,
        pair: Callable[[int, int], tuple[int, int]] = lambda i, j: (i, j),
        bias: Callable[[int, int, int], float] = lambda c, i, j: E[c][i][j],
        over: str = "senders",
    ) -> Tensor:
        def logit(c: int, i: int, j: int) -> float:
            a, b = pair(i, j)
            return scale * sum(q[a][x] * k[b][x] for x in head(c)) + bias(c, i, j)

        e = [[[math.exp(logit(c, i, j)) for j in range(N)] for i in range(N)] for c in range(d)]

        def total(c: int, i: int, j: int) -> float:
            if over == "senders":
                return sum(e[c][i])
            if over == "receivers":
                return sum(e[c][m][j] for m in range(N))
            return sum(e[x][i][j] for x in range(d)) if over == "channels" else 1.0

        return torch.tensor(
            [[[e[c][i][j] / total(c, i, j) for j in range(N)] for i in range(N)] for c in range(d)]
        )

    expect(
        attention_filters(torch.tensor(q), torch.tensor(k), torch.tensor(E), H),
        filters(),
        {
            "the softmax runs over the nodes that listen; it runs over j, the last axis.": filters(
                over="receivers"
            ),
            "the softmax runs over the channels; each channel has its own, over j.": filters(
                over="channels"
            ),
            "nothing is normalised: each row of each channel sums to one.": filters(over="nothing"),
            "the dot product is not divided by sqrt(K).": filters(scale=1.0),
            "the dot product is divided by sqrt(d); a head's width is K = d / H.": filters(
                scale=d**-0.5
            ),
            "the dot products of the heads take turns; each is that of K channels in a row "
            "(repeat_interleave).": filters(lambda c: range(c % H * K, c % H * K + K)),
            "channel c is in head c % H here; it is in head c // K.": filters(
                lambda c: range(c % H, d, H)
            ),
            "all channels have the dot product of the whole width; each head has its own.": filters(
                lambda c: range(d)
            ),
            "each channel has a dot product of its own, as if H were d.": filters(
                lambda c: (c,), scale=1.0
            ),
            "the dot product is k_i · q_j; the query is that of i.": filters(
                pair=lambda i, j: (j, i)
            ),
            "E is missing.": filters(bias=lambda c, i, j: 0.0),
            "all channels have the first one's E.": filters(bias=lambda c, i, j: E[0][i][j]),
            "all channels of a head have its first channel's E: this is monochrome.": filters(
                bias=lambda c, i, j: E[c // K * K][i][j]
            ),
        },
    )


@checker("a silenced pair gathers nothing, and still takes weight from the others.")
def check_backward(
    backward: Callable[[Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]],
) -> None:
    """``backward(a, m, keep, g)`` to the gradients of E and s.

    Shapes:
        ``[K, N, N]`` twice, ``[N, N]``, ``[K, N]`` to ``[K, N, N]`` and ``[N, N]``
    """
    K, N = 3, 4
    m = torch.tensor([_numbers(N, N, 4 + c) for c in range(K)])
    g = torch.tensor(_numbers(K, N, 3))
    keep = torch.tensor([[2.0 * ((i + 2 * j) % 3 > 0) for j in range(N)] for i in range(N)])
    a = torch.tensor(
        [[[1.0 + (3 * i + 5 * j + c) % 7 for j in range(N)] for i in range(N)] for c in range(K)]
    )
    a = a / a.sum(dim=-1, keepdim=True)
    got = backward(a.clone(), m.clone(), keep.clone(), g.clone())
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Mistake("expected two tensors: the gradients of E and of s.")

    kept = keep * m
    z, z_of_all = ((a * message).sum(dim=-1, keepdim=True) for message in (kept, m))  # [K, N, 1]
    of_j = g[:, None, :]  # [K, 1, N]
    g = g[..., None]
    right = a * g * (kept - z)
    of_E = {
        "keep is missing: this is the way back without an ablation.": a * g * (m - z_of_all),
        "a silenced pair has no gradient here, but its weight is taken from the others: keep "
        "stands at m alone, not at z.": a * g * keep * (m - z),
        "keep stands before (m - z), and z is without it; it belongs to m, in z as well.": (
            a * g * keep * (m - z_of_all)
        ),
        "z is without keep: it is what was gathered, with the silenced pairs left out.": (
            a * g * (kept - z_of_all)
        ),
        "m is without keep: a silenced pair's message is 0.": a * g * (m - z),
        "z is missing: weight that j gains is lost by the others.": a * g * kept,
        "this is the gradient of the messages.": a * g * keep,
        "g is missing: this is the gradient of the sum of z.": a * (kept - z),
        "a is missing: a weight near 0 hardly moves.": g * (kept - z),
        "this is the gradient of a, as if it were no softmax.": g * kept,
        "the sign is turned: it is the message minus z.": -right,
        "g and z are those of j; they belong to i, who listens.": a * of_j * (kept - z.mT),
        "g is that of j; it belongs to i, who listens.": a * of_j * (kept - z),
        "z is that of j; it belongs to i, who listens.": a * g * (kept - z.mT),
    }
    of_s = {
        "it is that of E again; s is shared by the channels, so sum over them.": right,
        "this is a mean over channels; their gradients add up.": right.mean(dim=0),
        "the sum runs over the nodes that listen, not over the channels.": right.sum(dim=1),
        "the sum runs over j, not over the channels.": right.sum(dim=2),
        "this is the first channel's alone.": right[0],
    }
    for name, part, expected, mistakes in (
        ("E", got[0], right, of_E),
        ("s", got[1], right.sum(dim=0), of_s),
    ):
        try:
            expect(part, expected, mistakes)
        except Mistake as mistake:
            raise Mistake(f"the gradient of {name}: {mistake}") from None


def _finite(table: object) -> object:
    """-inf (and NaN) as a large negative number, which can be compared."""
    if not isinstance(table, Tensor):
        return table
    return table.double().nan_to_num(nan=-math.inf).clamp(min=-1e3)


def _exponential(matrix: Tensor) -> Tensor:
    """The exponential's series, which entries around 1 end soon."""
    term = total = torch.eye(len(matrix), dtype=matrix.dtype)
    for n in range(1, 60):
        term = term @ matrix / n
        total = total + term
    return total


def _numbers(rows: int, columns: int, shift: int = 0) -> list[list[float]]:
    """Round numbers that repeat in no row or column."""
    return [[((7 * i + 11 * c + shift * (i + 1)) % 19 - 9) / 6 for c in range(columns)]
            for i in range(rows)]  # fmt: skip
