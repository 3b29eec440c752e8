"""Checks of chapter 03: attention as message passing.

Shapes: N nodes, E edges, F features, K width of a head.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.exercises.checker import compare, random

EDGES = torch.tensor([(0, 1), (2, 1), (1, 2), (2, 3)]).T
"""Directed; no edge arrives at node 0, and none leaves node 3."""


@compare(
    "along an edge the target attends to the source, and every node to itself.",
    cases=[(EDGES, 5), (torch.tensor([(3, 3), (0, 2), (5, 1), (4, 2), (2, 6), (6, 6)]).T, 8)],
    dtype=torch.bool,
    mistakes={
        "rows and columns are swapped: an edge from j to i is entry (i, j).": {"turned": True},
        "the self-loops are missing: node i attends to itself as well.": {"loops": False},
        "every edge is entered in both directions; this graph is directed.": {"both": True},
        "a node without edges is missing; the mask needs num_nodes rows.": lambda e, n: (
            check_mask.reference(e, n - 1)
        ),
    },
)
def check_mask(edge_index, num_nodes, turned=False, loops=True, both=False):
    """``mask_of(edge_index, num_nodes)``: ``[2, E]`` to the mask ``[N, N]``."""
    mask = torch.eye(num_nodes, dtype=torch.bool) & loops
    source, target = edge_index
    mask[target, source] = True
    return mask | mask.T if both else mask.T if turned else mask


def _grouped(logits: Tensor, index: Tensor, n: int) -> Tensor:
    weights = logits.exp()
    return weights / logits.new_zeros(n).index_add(0, index, weights)[index]


@compare(
    "the weights of each node's incoming edges sum to one, even for large logits.",
    cases=[
        (torch.tensor([1.0, 2, 3, 4]).log(), EDGES, 4),
        (1000 + torch.tensor([1.0, 2, 3, 4]).log(), EDGES, 4),
        (torch.tensor([0.0, 0, 1000, 0]), EDGES, 4),
        (*random((6,)), torch.tensor([(3, 3), (0, 2), (5, 1), (4, 2), (2, 6), (6, 2)]).T, 9),
    ],
    atol=1e-3,
    mistakes={
        "the softmax runs over all edges, not those into a node.": (lambda s, e, n: s.softmax(0)),
        "right for small logits, and NaN for logits near 1000: exp overflows. Subtract each node's "
        "largest logit first.": lambda s, e, n: _grouped(s, e[1], n),
        "the edges are grouped by source; group them by target.": (
            lambda s, e, n: _grouped(s, e[0], n)
        ),
        "these are exp of the logits; divide by the sum over each node's incoming edges.": (
            lambda s, e, n: s.exp()
        ),
        "one node's large logit affects another's softmax: subtract each node's own maximum.": (
            lambda s, e, n: _grouped(s - s.max(), e[1], n)
        ),
    },
)
def check_edge_softmax(logits, edge_index, num_nodes):
    """``edge_softmax(logits, edge_index, num_nodes)``: ``[E]`` to attention ``[E]``."""
    attention = torch.zeros_like(logits)
    for node in range(num_nodes):
        arriving = edge_index[1] == node
        attention[arriving] = logits[arriving].softmax(dim=0)
    return attention


@compare(
    "the query is inside the non-linearity, so each query can rank the keys differently.",
    cases=[
        random((4, 3), (3, 5), (3, 5), (5,), seed=3),
        random((6, 4), (4, 2), (4, 2), (2,), seed=4),
    ],
    mistakes={
        "this is GAT: the non-linearity comes after the product with a. Apply it before.": (
            lambda h, W1, W2, a: F.leaky_relu((h @ W1 @ a)[:, None] + h @ W2 @ a, 0.2)
        ),
        "rows and columns are swapped: W1 is for the query i, the row.": (
            lambda h, W1, W2, a: check_gatv2_logits.reference(h, W2, W1, a)
        ),
        "W1 is used for both nodes of a pair; use W2 for the key.": lambda h, W1, W2, a: (
            check_gatv2_logits.reference(h, W1, W1, a)
        ),
        "the non-linearity is missing.": {"slope": 1.0},
        "this is ReLU; LeakyReLU keeps a fifth of negative values.": {"slope": 0.0},
        "the slope is 0.01, PyTorch's default; GAT's is 0.2.": {"slope": 0.01},
    },
)
def check_gatv2_logits(h, W1, W2, a, slope=0.2):
    """``gatv2_logits(h, W1, W2, a)``: ``[N, F]``, twice ``[F, K]``, ``[K]`` to ``[N, N]``."""
    return F.leaky_relu((h @ W1)[:, None] + (h @ W2)[None], slope) @ a


def _adjacency(n: int, edges: list[tuple[int, int]], directed: bool = False) -> Tensor:
    A = torch.zeros(n, n, dtype=torch.bool)
    A[tuple(torch.tensor(edges).T)] = True
    return A if directed else A | A.T


@compare(
    "information travels one hop per layer, so the longest shortest path decides.",
    cases=[
        (_adjacency(5, [(0, 1), (1, 2), (2, 3), (3, 4)]),),
        (~torch.eye(4, dtype=torch.bool),),
        (_adjacency(5, [(0, 1), (0, 2), (0, 3), (0, 4)]),),
        (_adjacency(4, [(0, 1), (1, 2), (2, 3), (3, 0)], directed=True),),
        (_adjacency(4, [(0, 1), (2, 3)]),),
        (_adjacency(3, [(0, 1), (1, 2)], directed=True),),
    ],
    mistakes={
        "that is the number of nodes; a path of five nodes has four edges.": len,
        "if some node is never reached, the answer is -1.": {"never": 1},
        "that is one layer, which reaches the neighbours only.": lambda A: 1,
        "that is right on a path; in a complete graph one layer is enough.": lambda A: len(A) - 1,
        "without self-loops a node forgets what it has received.": {"loops": False},
        "edges are directed: information does not travel back.": {"both": True},
    },
)
def check_layers_needed(adjacency, loops=True, both=False, never=-1):
    """``layers_needed(adjacency)``: ``[N, N]`` bool to the number of layers, or -1."""
    eye = torch.eye(len(adjacency), dtype=torch.bool)
    mask, reached = adjacency.T | (adjacency & both) | (eye & loops), eye
    for layers in range(len(mask) + 1):
        if reached.all():
            return layers
        reached = mask.float() @ reached.float() > 0
    return never


@compare(
    "two layers now join any two nodes, for 2N more edges.",
    cases=[
        (_adjacency(4, EDGES.T.tolist(), directed=True),),
        (_adjacency(6, [(0, 1), (5, 1), (2, 2)], directed=True),),
    ],
    mistakes={
        "no edge leaves the virtual node: fill its row as well.": {"row": False},
        "no edge arrives at the virtual node: fill its column as well.": {"column": False},
        "the virtual node has an edge to itself; leave entry (N, N) False.": {"corner": True},
        "the new node is first; it should be last.": lambda A: check_virtual_node.reference(A).roll(
            (1, 1), dims=(0, 1)
        ),
        "the shape has not changed; add a row and a column.": lambda A: A,
    },
)
def check_virtual_node(adjacency, row=True, column=True, corner=False):
    """``with_virtual_node(adjacency)``: ``[N, N]`` bool to ``[N + 1, N + 1]``."""
    wider = F.pad(adjacency, (0, 1, 0, 1))
    wider[-1, :-1], wider[:-1, -1], wider[-1, -1] = row, column, corner
    return wider
