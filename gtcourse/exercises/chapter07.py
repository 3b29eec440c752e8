"""Checks of chapter 07: pairs at first, Eqs. 4 and 5, virtual nodes, distances, a head that counts.

Shapes: N nodes, n virtual nodes, d_e width of a pair, T edge types, ν farthest distance asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from gtcourse.exercises.verdict import Mistake, checker, expect


@checker("structure with loops, features without, and the masking vector elsewhere.")
def check_first_pairs(first_pairs: Callable[..., Tensor]) -> None:
    """``first_pairs(A, bond, theta, x, mu)`` to ``[N, N, d_e]``."""
    # An edge of type 0 from 0 to 1 and back, one of type 1 from 1 to 2 alone, and a node alone.
    types = {(0, 1): 0, (1, 0): 0, (1, 2): 1}
    A, bond = torch.zeros(4, 4, dtype=torch.bool), torch.zeros(4, 4, dtype=torch.int64)
    for (i, j), kind in types.items():
        A[i, j], bond[i, j] = True, kind
    theta, x, mu = [[0.0, 100.0], [50.0, 7.0]], [[1.0, 2.0], [3.0, 5.0]], [11.0, 13.0]

    def pairs(of: Callable[[int, int], list[list[float]]]) -> Tensor:
        """The sum of the vectors that ``of`` lists for each pair."""
        return torch.tensor(
            [[[sum(column) for column in zip(*of(i, j), strict=True)] for j in range(4)]
             for i in range(4)]
        )  # fmt: skip

    def structure(i: int, j: int, loops: bool = True) -> list[float]:
        return theta[1 if (i, j) in types or (loops and i == j) else 0]

    def features(i: int, j: int) -> list[float]:
        return x[types[i, j]] if (i, j) in types else mu

    nothing = [0.0, 0.0]
    right = pairs(lambda i, j: [structure(i, j), features(i, j)])
    got = first_pairs(A.clone(), bond.clone(), *(torch.tensor(part) for part in (theta, x, mu)))
    expect(
        got,
        right,
        {
            "a node with itself has theta_0; the structure has loops, so it has theta_1.": pairs(
                lambda i, j: [structure(i, j, loops=False), features(i, j)]
            ),
            "where there is no edge you took the embedding of type 0; the masking vector stands "
            "there.": pairs(lambda i, j: [structure(i, j), x[types.get((i, j), 0)]]),
            "where there is no edge nothing was added; the masking vector stands there.": pairs(
                lambda i, j: [structure(i, j), x[types[i, j]] if (i, j) in types else nothing]
            ),
            "a node with itself has no masking vector; no edge leads from it to itself.": pairs(
                lambda i, j: [structure(i, j), nothing if i == j else features(i, j)]
            ),
            "a node with itself has the embedding of type 0; no edge leads from it to itself, so "
            "the masking vector stands there.": pairs(
                lambda i, j: [structure(i, j), x[0] if i == j else features(i, j)]
            ),
            "edges have the masking vector as well as their own; it stands where there is no "
            "edge.": pairs(
                lambda i, j: [structure(i, j), features(i, j), mu if (i, j) in types else nothing]
            ),
            "edges of type 0 were taken for no edge; whether there is one is a matter of A.": pairs(
                lambda i, j: [structure(i, j), x[1] if types.get((i, j)) else mu]
            ),
            "the structure is missing: theta_0 or theta_1 is added to every pair.": pairs(
                lambda i, j: [features(i, j)]
            ),
            "the features are missing.": pairs(lambda i, j: [structure(i, j)]),
            "theta_0 and theta_1 are exchanged.": pairs(
                lambda i, j: [theta[0] if structure(i, j) is theta[1] else theta[1], features(i, j)]
            ),
            "rows and columns are exchanged: [i, j] is the edge from i to j.": right.transpose(
                0, 1
            ),
        },
    )


@checker("the dot product alone is clipped, and the gate opens after the softmax.")
def check_gated_attention(gated_attention: Callable[..., Tensor]) -> None:
    """``gated_attention(dots, b, g, real)``: ``[N, N]`` three times and ``[N]`` to ``[N, N]``."""
    dots = torch.tensor([[9.0, 0, -8, 2], [1, -7, 0, 3], [0, 1, 2, 9], [4, 0, 6, 1]])
    b = torch.tensor([[0.5, 7, 1, 2], [0, 3, -1, 0], [2, 0, 6, -2], [1, 1, 0, 4]])
    g = torch.tensor([[1.0, -1, 0, 2], [0, 2, -2, 1], [-1, 0.5, 3, 0], [1, 0, -3, 2]])
    real = torch.tensor([True, True, True, False])

    def weights(logits: Tensor, gates: Tensor, seen: int = 3) -> Tensor:
        """Of the first three rows; the fourth is padding's, and its own affair."""
        share = torch.zeros(3, 4)
        share[:, :seen] = logits[:3, :seen].softmax(dim=1)
        return share * gates[:3]

    s, gates, open_gates = dots.clamp(-5, 5) + b, g.sigmoid(), torch.ones(4, 4)
    right = weights(s, gates)
    down_the_columns = torch.cat([s[:3, :3].softmax(dim=0), torch.zeros(3, 1)], dim=1)
    got = gated_attention(dots.clone(), b.clone(), g.clone(), real.clone())
    if not isinstance(got, Tensor) or list(got.shape) != [4, 4]:
        shape = f"the shape {list(got.shape)}" if isinstance(got, Tensor) else type(got).__name__
        raise Mistake(f"expected a tensor of shape [4, 4], got {shape}.")
    if got[:3].isnan().any():
        raise Mistake("a row is not a number; mask the columns of padding, not the rows alone.")
    expect(
        got[:3],
        right,
        {
            "nodes attend to padding; its columns are left out of the softmax.": weights(
                s, gates, seen=4
            ),
            "padding was set to zero after the softmax, where it had taken its share already.": (
                weights(s, gates, seen=4) * real
            ),
            "nothing is clipped; the dot product is cut off at -5 and 5.": weights(dots + b, gates),
            "the bias was clipped too; only the dot product is, before the bias is added.": weights(
                (dots + b).clamp(-5, 5), gates
            ),
            "the dot product is cut off above but not below.": weights(
                dots.clamp(max=5) + b, gates
            ),
            "the bias is missing.": weights(dots.clamp(-5, 5), gates),
            "the gate is missing (EGT-U).": weights(s, open_gates),
            "g itself is multiplied with the weights; the gate is its sigmoid.": weights(s, g),
            "the gate was applied to the logits; it comes after the softmax.": weights(
                s * gates, open_gates
            ),
            "the gate was added to the logits as a second bias; it is a factor after the "
            "softmax.": weights(s + g, open_gates),
            "the rows were made to sum to one again after the gate; what the gate takes is gone.": (
                right / right.sum(dim=1, keepdim=True)
            ),
            "the softmax ran over the wrong axis: row i sums over j.": (
                down_the_columns * gates[:3]
            ),
        },
    )


@checker("one vector for all pairs of a virtual node, and the mean between two.")
def check_with_virtual_pairs(with_virtual_pairs: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``with_virtual_pairs(e, virtual)``: ``[N, N, d_e]``, ``[n, d_e]`` to ``[n + N]`` twice."""
    e = torch.tensor([[[1.0, 9.0], [2.0, 8.0]], [[3.0, 7.0], [4.0, 6.0]]])
    own = [[10.0, -2.0], [20.0, 6.0], [60.0, 0.0]]

    def whole(
        between: Callable[[float, float], float] = lambda x, y: (x + y) / 2,
        row: float = 1.0,
        column: float = 1.0,
    ) -> Tensor:
        def vector(i: int, j: int) -> list[float]:
            if i < 3 and j < 3:
                return [between(x, y) for x, y in zip(own[i], own[j], strict=True)]
            if i < 3:
                return [row * x for x in own[i]]
            if j < 3:
                return [column * x for x in own[j]]
            return e[i - 3, j - 3].tolist()

        return torch.tensor([[vector(i, j) for j in range(5)] for i in range(5)])

    right = whole()
    alone = right.clone()
    for i in range(3):
        alone[i, i] = 0.0
    expect(
        with_virtual_pairs(e.clone(), torch.tensor(own)),
        right,
        {
            "the virtual nodes came last; they are the first tokens.": right.roll(
                (-3, -3), dims=(0, 1)
            ),
            "between two virtual nodes you have the sum of their vectors; take half of it.": whole(
                lambda x, y: x + y
            ),
            "between two virtual nodes there is nothing; it is the mean of their vectors.": whole(
                lambda x, y: 0.0
            ),
            "between two virtual nodes you have the vector of the first; it is the mean of "
            "both.": whole(lambda x, y: x),
            "between two virtual nodes you have the vector of the second; it is the mean of "
            "both.": whole(lambda x, y: y),
            "between two virtual nodes you have their product; it is their mean.": whole(
                lambda x, y: x * y
            ),
            "a virtual node with itself has nothing; the mean of a vector with itself is that "
            "vector.": alone,
            "the columns are missing: the pairs of nodes with virtual nodes.": whole(column=0.0),
            "the rows are missing: the pairs of virtual nodes with nodes.": whole(row=0.0),
        },
    )


@checker("every pair within reach counts once, itself included, and nothing else.")
def check_distance_objective(
    distance_objective: Callable[[Tensor, Tensor, int], Tensor],
) -> None:
    """``distance_objective(logits, distance, nu)``: ``[N, N, ν + 1]``, ``[N, N]`` to a number."""
    # A path of four nodes and a fifth alone; distance 3 is beyond ν = 2.
    far = [[0, 1, 2, 3, -1], [1, 0, 1, 2, -1], [2, 1, 0, 1, -1], [3, 2, 1, 0, -1], [-1] * 4 + [0]]
    logits = [[[((3 * i + 5 * j + 7 * c) % 11) / 3 for c in range(3)] for j in range(5)]
              for i in range(5)]  # fmt: skip
    try:
        got = distance_objective(torch.tensor(logits), torch.tensor(far), 2)
    except IndexError:
        raise Mistake("a distance is used as a class that is none: -1, or beyond nu.") from None
    got = got if isinstance(got, Tensor) else torch.tensor(float(got))

    def total(asked: Callable[[int, int], int | None], mean: bool = False) -> Tensor:
        """The sum over pairs of minus the log-probability of the class that ``asked`` names."""
        terms = []
        for i in range(5):
            for j in range(5):
                c = asked(i, j)
                if c is not None:
                    x = logits[i][j]
                    terms.append(math.log(sum(math.exp(v) for v in x)) - x[c])
        return torch.tensor(sum(terms) / (len(terms) if mean else 1))

    def within(i: int, j: int) -> int | None:
        return far[i][j] if 0 <= far[i][j] <= 2 else None

    if got.dim() == 0 and got.isnan():
        raise Mistake("the result is not a number.")
    expect(
        got,
        total(within),
        {
            "this is the mean over pairs; the authors take the sum.": total(within, mean=True),
            "pairs without a path were counted; they are left out.": total(
                lambda i, j: 2 if far[i][j] == -1 else within(i, j)
            ),
            "pairs without a path were counted as distance 0; they are left out.": total(
                lambda i, j: 0 if far[i][j] == -1 else within(i, j)
            ),
            "pairs farther apart than nu were counted as nu; they are left out.": total(
                lambda i, j: 2 if far[i][j] > 2 else within(i, j)
            ),
            "pairs farther apart than nu, or without a path, were counted as nu; both are left "
            "out.": total(lambda i, j: 2 if within(i, j) is None else far[i][j]),
            "pairs at the distance nu were left out; they still count.": total(
                lambda i, j: within(i, j) if far[i][j] < 2 else None
            ),
            "the pairs of a node with itself were left out; distance 0 is a class too.": total(
                lambda i, j: within(i, j) if i != j else None
            ),
            "each pair was counted once for both directions; (i, j) and (j, i) are two pairs.": (
                total(lambda i, j: within(i, j) if i <= j else None)
            ),
            "this is divided by the number of nodes; take the sum.": total(within) / 5,
        },
        atol=1e-3,
    )


@checker("all attend alike, the gates pick the neighbours, and their number is kept.")
def check_counting_head(counting_head: Callable[[Tensor], tuple[Tensor, Tensor]]) -> None:
    """``counting_head(A)``: ``[N, N]`` bool to b and g, each ``[N, N]``."""
    # A star with a tail, and a node alone: degrees 3, 1, 1, 2, 1, 0.
    edges = [(0, 1), (0, 2), (0, 3), (3, 4)]
    A = torch.zeros(6, 6, dtype=torch.bool)
    for i, j in edges:
        A[i, j] = A[j, i] = True
    for size in (6, 4):  # without the tail's end and the node alone, N is another
        _check_counts(counting_head(A[:size, :size].clone()), A[:size, :size])


def _check_counts(answer: object, A: Tensor) -> None:
    N = len(A)
    if not isinstance(answer, tuple | list) or len(answer) != 2:
        raise Mistake("expected two things, b and g.")
    b, g = (torch.as_tensor(part).detach().float() for part in answer)
    for name, part in (("b", b), ("g", g)):
        if list(part.shape) != [N, N]:
            raise Mistake(f"expected {name} of shape {[N, N]}, got {list(part.shape)}.")
        if not part.isfinite().all():
            raise Mistake(f"{name} has an entry that is not finite.")
    share, neighbours = b.softmax(dim=1), A.float()
    weights, right, others = share * g.sigmoid(), neighbours / N, 1 - neighbours
    mean = neighbours / neighbours.sum(dim=1, keepdim=True).clamp(min=1)
    mistakes = {
        "this is the mean over the neighbours: the softmax already picks them, and forgets how "
        "many there are. Leave b alone and let the gates pick.": mean,
    }
    if (share - 1 / N).abs().max() < 1e-3:
        mistakes |= {
            "a node hears itself too; its own gate is to be shut.": right + torch.eye(N) / N,
            "the gates do nothing: this is the mean over all nodes.": torch.ones(N, N) / N,
            "the gates are exchanged: they are open where there is no edge.": others / N,
            "the gates are zeros and ones before the sigmoid, which makes 0.5 and 0.73 of them; "
            "they need numbers far from zero.": (neighbours * 0.73106 + others * 0.5) / N,
            "the gates are 0 where they are to be shut, and the sigmoid of 0 is one half.": (
                (neighbours + others * 0.5) / N
            ),
            "the gates are half open at the neighbours: the sigmoid of 0 is one half.": right / 2,
            "all gates are half open: g is zero.": torch.full((N, N), 0.5 / N),
        }
    elif not any(torch.allclose(weights, known, atol=1e-4) for known in (right, mean)):
        raise Mistake(
            "the softmax does not give all nodes alike, so the numbers are not 1/N each; with "
            "equal b in a row it does."
        )
    expect(weights, right, mistakes, atol=1e-4)
