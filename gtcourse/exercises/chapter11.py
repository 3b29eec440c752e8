"""Checks of chapter 11: entropy, rollout, a node left out, and the derivative by a logit.

Shapes: N nodes, L layers, H heads, K channels of a head.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from gtcourse.exercises.verdict import Mistake, checker, expect


@checker("0 for a row with one node, 1 for an even row, whatever the size of the graph.")
def check_entropy_share(entropy_share: Callable[[Tensor], Tensor]) -> None:
    """``entropy_share(a)``: ``[N, N]`` to ``[N]``."""
    a = [
        [1.0, 0, 0, 0, 0],
        [0.5, 0.5, 0, 0, 0],
        [0.2, 0.2, 0.2, 0.2, 0.2],
        [0.6, 0.1, 0.1, 0.2, 0],
        [0.3, 0.3, 0.2, 0.1, 0.1],
    ]
    n = len(a)

    def nats(row: list[float]) -> float:
        return sum(-p * math.log(p) for p in row if p > 0)

    def table(of: Callable[[list[float]], float]) -> Tensor:
        return torch.tensor([of(row) for row in a])

    columns = [[row[j] for row in a] for j in range(n)]
    largest = math.log(n)
    got = entropy_share(torch.tensor(a))
    if isinstance(got, Tensor) and got.isnan().any():
        raise Mistake("an entry is NaN: 0 log 0 counts as 0 (torch.special.xlogy knows it).")
    expect(
        got,
        table(lambda row: nats(row) / largest),
        {
            "this is the entropy in nats; the share is of log N.": table(nats),
            "this is the entropy in bits; the share is of log N.": table(
                lambda row: nats(row) / math.log(2)
            ),
            "it is divided by N; even attention has the entropy log N.": table(
                lambda row: nats(row) / n
            ),
            "it is divided by the logarithm of the nodes that are heard; even attention is over "
            "all N.": table(
                lambda row: nats(row) / math.log(max(2, sum(p > 0 for p in row)))  # one: 0
            ),
            "the sign is the wrong one: the logarithm of a weight is negative.": table(
                lambda row: -nats(row) / largest
            ),
            "the sum runs over the nodes that listen; it runs over j, the last axis.": torch.tensor(
                [nats(column) / largest for column in columns]
            ),
            "each node has an entropy; this is their mean.": table(
                lambda row: nats(row) / largest
            ).mean(),
        },
    )


@checker("the mean over the heads, half of it, and the later layer on the left.")
def check_rollout(rollout: Callable[[Tensor], Tensor]) -> None:
    """``rollout(attention)``: ``[L, H, N, N]`` to ``[N, N]``."""
    L, H, n = 3, 2, 3
    a = [[[[1.0 + (2 * i + 3 * j + 5 * h + 7 * layer) % 4 for j in range(n)] for i in range(n)]
          for h in range(H)] for layer in range(L)]  # fmt: skip
    a = [[[[x / sum(row) for x in row] for row in head] for head in layer] for layer in a]

    def mean(layer: list) -> list:
        return [[sum(head[i][j] for head in layer) / H for j in range(n)] for i in range(n)]

    def step(a: list, half: float = 0.5, itself: float = 0.5) -> list:
        return [[half * a[i][j] + itself * (i == j) for j in range(n)] for i in range(n)]

    def product(steps: list) -> list:
        """The first of the list on the right."""
        result = [[float(i == j) for j in range(n)] for i in range(n)]
        for s in steps:
            result = [[sum(s[i][m] * result[m][j] for m in range(n)) for j in range(n)]
                      for i in range(n)]  # fmt: skip
        return result

    def one_head(h: int) -> Tensor:
        return torch.tensor(product([step(layer[h]) for layer in a]))

    means = [mean(layer) for layer in a]
    largest = [[[max(head[i][j] for head in layer) for j in range(n)] for i in range(n)]
               for layer in a]  # fmt: skip
    right = torch.tensor(product([step(m) for m in means]))
    expect(
        rollout(torch.tensor(a)),
        right,
        {
            "the first layer stands on the left; what comes later is on the left, because it "
            "reads what the earlier ones made.": torch.tensor(
                product([step(m) for m in reversed(means)])
            ),
            "the residual connection is missing: half of each factor is the identity.": (
                torch.tensor(product(means))
            ),
            "the identity is added, and nothing is halved: rows do not sum to one.": torch.tensor(
                product([step(m, 1.0, 1.0) for m in means])
            ),
            "each head was rolled out on its own; the heads' mean comes before the product.": sum(
                one_head(h) for h in range(H)
            )
            / H,
            "the heads are added; it is their mean.": torch.tensor(
                product([step([[H * x for x in row] for row in m]) for m in means])
            ),
            "the largest of the heads' weights was taken; it is their mean.": torch.tensor(
                product([step(m) for m in largest])
            ),
            "this is the last layer alone.": torch.tensor(step(means[-1])),
            "the layers are averaged; they are multiplied.": sum(
                torch.tensor(step(m)) for m in means
            )
            / L,
            "columns receive here; row i is the output of node i.": right.T,
        },
    )


@checker("the others' weights grow when a node goes, and the difference says what it did.")
def check_leave_out(leave_out: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``leave_out(s, v)``: ``[N]`` and ``[N, K]`` to ``[N, K]``."""
    s = [0.4, -0.3, 1.1, 0.0]
    v = [[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0], [2.0, 2.0]]
    n, K = len(s), len(v[0])

    def heard(nodes: list[int], logits: list[float] = s, values: list = v) -> list[float]:
        total = sum(math.exp(logits[j]) for j in nodes)
        return [sum(math.exp(logits[j]) * values[j][c] for j in nodes) / total for c in range(K)]

    def others(j: int) -> list[int]:
        return [m for m in range(n) if m != j]

    everyone = list(range(n))
    z, weight = heard(everyone), [math.exp(x) / sum(map(math.exp, s)) for x in s]

    def table(entry: Callable[[int, int], float]) -> Tensor:
        return torch.tensor([[entry(j, c) for c in range(K)] for j in range(n)])

    def logit_zero(j: int) -> list[float]:
        return heard(everyone, logits=[0.0 if m == j else x for m, x in enumerate(s)])

    expect(
        leave_out(torch.tensor(s), torch.tensor(v)),
        table(lambda j, c: z[c] - heard(others(j))[c]),
        {
            "the sign is the wrong one: z less what it is without the node.": table(
                lambda j, c: heard(others(j))[c] - z[c]
            ),
            "this is z without the node; what it adds is the difference.": table(
                lambda j, c: heard(others(j))[c]
            ),
            "the value was set to zero, and the node kept its weight; when it goes, the others' "
            "weights sum to one again.": table(lambda j, c: weight[j] * v[j][c]),
            "the logit was set to 0, which is a logit like any other; it goes with -inf.": table(
                lambda j, c: z[c] - logit_zero(j)[c]
            ),
            "this is the derivative by the logit, a (v - z); leaving out is no small step.": table(
                lambda j, c: weight[j] * (v[j][c] - z[c])
            ),
        },
    )


@checker("a weight moves the prediction by what its value has over the mean.")
def check_logit_gradient(logit_gradient: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """``logit_gradient(a, v, g)``: ``[N, N]`` and ``[N, K]`` twice to ``[N, N]``."""
    n, K = 4, 3
    raw = [[1.0 + (3 * i + 2 * j) % 5 for j in range(n)] for i in range(n)]
    a = [[x / sum(row) for x in row] for row in raw]
    v = [[((5 * j + 3 * c) % 7 - 3) / 2 for c in range(K)] for j in range(n)]
    g = [[((2 * i + 5 * c) % 7 - 3) / 3 for c in range(K)] for i in range(n)]
    z = [[sum(a[i][j] * v[j][c] for j in range(n)) for c in range(K)] for i in range(n)]

    def dot(x: list[float], y: list[float]) -> float:
        return sum(p * q for p, q in zip(x, y, strict=True))

    def table(entry: Callable[[int, int], float]) -> Tensor:
        return torch.tensor([[entry(i, j) for j in range(n)] for i in range(n)])

    def by_weight(i: int, j: int) -> float:
        return dot(g[i], v[j])

    def right(i: int, j: int) -> float:
        return a[i][j] * (by_weight(i, j) - dot(g[i], z[i]))

    expect(
        logit_gradient(torch.tensor(a), torch.tensor(v), torch.tensor(g)),
        table(right),
        {
            "this is the derivative by the weight; a logit moves all weights of its row.": table(
                by_weight
            ),
            "this is the weight times its derivative; what the row already has, z_i, is "
            "missing.": table(lambda i, j: a[i][j] * by_weight(i, j)),
            "the factor a_ij is missing.": table(lambda i, j: by_weight(i, j) - dot(g[i], z[i])),
            "z_j stands where z_i is meant: the mean is that of the node that listens.": table(
                lambda i, j: a[i][j] * (by_weight(i, j) - dot(g[i], z[j]))
            ),
            "the value is that of i; it is that of j, which is heard.": table(
                lambda i, j: a[i][j] * (dot(g[i], v[i]) - dot(g[i], z[i]))
            ),
            "the gradient is that of j; it is that of i, which listens.": table(
                lambda i, j: a[i][j] * (dot(g[j], v[j]) - dot(g[j], z[i]))
            ),
            "rows and columns are exchanged.": table(lambda i, j: right(j, i)),
            "the sign is the wrong one.": table(lambda i, j: -right(i, j)),
        },
    )
