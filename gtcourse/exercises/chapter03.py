"""Checks of chapter 03: attention as message passing.

Shapes: N nodes, E edges, F features, K width of a head.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gtcourse.exercises.verdict import Mistake, checker, expect

EDGES = ((0, 1), (2, 1), (1, 2), (2, 3))
"""Directed, with a node that hears nobody (0) and one that nobody hears (3)."""


@checker("along an edge the target hears the source, and every node hears itself.")
def check_mask(mask_of: Callable[[Tensor, int], Tensor]) -> None:
    """``mask_of(edge_index, num_nodes)``: ``[2, E]`` to the mask ``[N, N]``."""
    edge_index = torch.tensor(EDGES).T
    right = torch.tensor(
        [[1.0, 0, 0, 0, 0], [1, 1, 1, 0, 0], [0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]
    )
    without_loops = right - torch.eye(5)
    got = mask_of(edge_index, 5)
    expect(
        _numbers(got),
        right,
        {
            "rows and columns are exchanged: row i has to say whom i hears, so an edge from j to i "
            "is entry (i, j).": right.T,
            "the self-loops are missing, and an edge from j to i is entry (i, j).": (
                without_loops.T
            ),
            "the self-loops are missing: node i hears itself as well.": without_loops,
            "every edge is there in both directions; this graph is directed.": (
                (right + right.T) > 0
            ).float(),
            "the last node has no edge and is missing; the mask needs num_nodes rows.": (
                right[:4, :4]
            ),
        },
    )
    if got.dtype != torch.bool:
        raise Mistake(f"the entries are right; expected the dtype bool, got {got.dtype}.")


@checker("each node's incoming edges share one, and large logits do no harm.")
def check_edge_softmax(edge_softmax: Callable[[Tensor, Tensor, int], Tensor]) -> None:
    """``edge_softmax(logits, edge_index, num_nodes)``: ``[E]`` to attention ``[E]``."""
    edge_index = torch.tensor(EDGES).T
    target = edge_index[1].tolist()
    logits = torch.tensor([1.0, 2.0, 3.0, 4.0]).log()
    right = torch.tensor([1 / 3, 2 / 3, 1.0, 1.0])
    expect(
        edge_softmax(logits.clone(), edge_index, 4),
        right,
        {
            "the softmax runs over all edges together; group them by the node where they end.": (
                torch.tensor([0.1, 0.2, 0.3, 0.4])
            ),
            "the edges are grouped by the node where they begin; the softmax runs over those that "
            "arrive.": torch.tensor([1.0, 1 / 3, 1.0, 2 / 3]),
            "these are exp of the logits; divide by their sum over the edges into each node.": (
                torch.tensor([1.0, 2.0, 3.0, 4.0])
            ),
            "the logits themselves are divided by their sum; take exp first.": _share(
                logits, target
            ),
        },
    )
    large = edge_softmax(1000 + logits, edge_index, 4)
    if not isinstance(large, Tensor) or not large.isfinite().all():
        raise Mistake(
            "right for small logits, and not finite for logits near 1000: exp overflows. Subtract "
            "each node's largest logit first."
        )
    if not torch.allclose(large, right, atol=1e-3):
        raise Mistake("right for small logits, wrong for logits near 1000.")
    uneven = edge_softmax(torch.tensor([0.0, 0.0, 1000.0, 0.0]), edge_index, 4)
    if not torch.allclose(uneven, torch.tensor([0.5, 0.5, 1.0, 1.0]), atol=1e-3):
        raise Mistake(
            "one node's large logit spoils another node's softmax: subtract the largest logit of "
            "the same node, not of the whole graph."
        )


@checker("the query is inside the non-linearity, so each query can rank the keys anew.")
def check_gatv2_logits(logits_of: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    """``gatv2_logits(h, W1, W2, a)``: ``[N, F]``, twice ``[F, K]``, ``[K]`` to ``[N, N]``."""
    generator = torch.Generator().manual_seed(3)
    h, W1, W2 = (torch.randn(n, m, generator=generator) for n, m in ((4, 3), (3, 5), (3, 5)))
    a = torch.randn(5, generator=generator)
    ask, tell = h @ W1, h @ W2
    right = torch.empty(4, 4)
    for i in range(4):
        for j in range(4):
            right[i, j] = sum(a[c] * _leaky(ask[i, c] + tell[j, c]) for c in range(5))
    gat = _leaky((ask @ a)[:, None] + (tell @ a)[None])
    expect(
        logits_of(h, W1, W2, a),
        right,
        {
            "this is GAT: the non-linearity comes after the product with a. Apply it before.": gat,
            "rows and columns are exchanged: W1 belongs to the asking node i, the row.": right.T,
            "the non-linearity is missing.": (ask @ a)[:, None] + (tell @ a)[None],
            "this is ReLU; LeakyReLU keeps a fifth of what is negative.": (
                (ask[:, None] + tell[None]).relu() @ a
            ),
            "the slope is 0.01, PyTorch's default; GAT's is 0.2.": (
                _leaky(ask[:, None] + tell[None], 0.01) @ a
            ),
            "the non-linearity is applied to each node before the sum; apply it to the sum.": (
                (_leaky(ask)[:, None] + _leaky(tell)[None]) @ a
            ),
            "this is the dot product; GATv2's score is additive.": ask @ tell.T,
        },
    )


@checker("the news travels one hop a layer, so the longest shortest path decides.")
def check_layers_needed(layers_needed: Callable[[Tensor], int]) -> None:
    """``layers_needed(adjacency)``: ``[N, N]`` bool to the number of layers, or -1."""
    path, ring = _path(5), _directed_ring(4)
    broken = _path(4)
    broken[1, 2] = broken[2, 1] = False
    one_way = torch.zeros(3, 3, dtype=torch.bool)
    one_way[0, 1] = one_way[1, 2] = True
    star = torch.zeros(5, 5, dtype=torch.bool)
    star[0, 1:] = star[1:, 0] = True
    complete = ~torch.eye(4, dtype=torch.bool)

    got = _count(layers_needed(path))
    if got != 4:
        named = {
            5: "that is the number of nodes; a path of five nodes has four edges.",
            3: "that is one too few: after three layers the ends have not heard of each other.",
            2: "two layers let the middle hear everybody; every node has to hear every other.",
            1: "that is one layer, which reaches the neighbours only.",
            8: "that is the number of entries in the adjacency matrix.",
        }
        raise Mistake(
            f"on a path of five nodes expected 4, got {got}. {named.get(got, '')}".strip()
        )
    cases = (
        (complete, 1, "the complete graph", "Everybody hears everybody after one layer."),
        (star, 2, "a star", "Two leaves are two hops apart: self-loops do not delay the news."),
        (ring, 3, "a directed ring of four", "Edges go one way: it takes three hops to the node "
         "behind."),
        (broken, -1, "a graph of two pieces", "No layer carries news across."),
        (one_way, -1, "a directed path", "Node 0 never hears of node 2: reachability has to hold "
         "both ways."),
    )  # fmt: skip
    for adjacency, right, name, why in cases:
        got = _count(layers_needed(adjacency.clone()))
        if got != right:
            raise Mistake(f"right on a path; on {name} expected {right}, got {got}. {why}")


@checker("two layers now join any two nodes, for 2N more edges.")
def check_virtual_node(with_virtual_node: Callable[[Tensor], Tensor]) -> None:
    """``with_virtual_node(adjacency)``: ``[N, N]`` bool to ``[N + 1, N + 1]``."""
    adjacency = torch.zeros(4, 4, dtype=torch.bool)
    adjacency[tuple(torch.tensor(EDGES).T)] = True
    given = adjacency.clone()
    right = torch.zeros(5, 5)
    right[:4, :4] = adjacency.float()
    right[4, :4] = right[:4, 4] = 1
    one_way, other_way, looped, first = right.clone(), right.clone(), right.clone(), right.clone()
    one_way[4] = 0
    other_way[:, 4] = 0
    looped[4, 4] = 1
    first = first.roll((1, 1), dims=(0, 1))
    both = right.clone()
    both[:4, :4] = (adjacency | adjacency.T).float()
    alone = right.clone()
    alone[4] = alone[:, 4] = 0
    got = with_virtual_node(adjacency)
    expect(
        _numbers(got),
        right,
        {
            "the virtual node hears all and speaks to nobody: fill its row as well.": one_way,
            "the virtual node speaks to all and hears nobody: fill its column as well.": other_way,
            "the virtual node has an edge to itself; leave entry (N, N) False.": looped,
            "the new node comes first; it should be the last.": first,
            "the old edges were made to go both ways; keep them as they are.": both,
            "the new node has no edges yet; join it to all others.": alone,
            "the shape is the old one; add a row and a column.": adjacency.float(),
        },
    )
    if not torch.equal(adjacency, given):
        raise Mistake("the result is right, and the graph that was handed in has been changed.")


def _numbers(answer: object) -> object:
    return answer.float() if isinstance(answer, Tensor) else answer


def _count(answer: object) -> int:
    if isinstance(answer, Tensor) and answer.numel() == 1:
        answer = answer.item()
    if isinstance(answer, bool) or not isinstance(answer, int | float) or answer != int(answer):
        raise Mistake(f"expected a whole number, got {answer!r}.")
    return int(answer)


def _share(values: Tensor, groups: list[int]) -> Tensor:
    totals = [sum(v for v, g in zip(values, groups, strict=True) if g == own) for own in groups]
    return torch.stack([v / t for v, t in zip(values, totals, strict=True)])


def _leaky(x: Tensor, slope: float = 0.2) -> Tensor:
    return torch.where(x > 0, x, slope * x)


def _path(n: int) -> Tensor:
    i = torch.arange(n)
    return (i[:, None] - i[None]).abs() == 1


def _directed_ring(n: int) -> Tensor:
    return torch.eye(n, dtype=torch.bool).roll(1, dims=1)
