"""Checks of chapter 03. Shapes: N nodes, E edges, F features, d_k width of a head."""

import torch
import torch.nn.functional as F

from gtcourse.course.exercises.checker import adjacency, compare, mistake, random

EDGES = torch.tensor([(0, 1), (2, 1), (1, 2), (2, 3)]).T  # none to node 0, none from node 3
LOOPS = torch.tensor([(3, 3), (0, 2), (5, 1), (4, 2), (2, 6), (6, 6)]).T


@compare((EDGES, 5), (LOOPS, 8))
@mistake("rows and columns are swapped: an edge from j to i belongs in entry (i, j).", then=torch.t)
@mistake("the self-loops are missing: node i attends to itself as well.", loops=False)
@mistake("edges are entered in both directions; this graph is directed.", then=lambda m: m | m.T)
@mistake("a node without edges is missing: the mask has num_nodes rows.", given=lambda e, n: (e, 4))
def check_mask(edge_index, num_nodes, loops=True):
    """Along an edge the target attends to the source, and every node to itself."""
    mask = torch.eye(num_nodes, dtype=torch.bool) & loops
    mask[edge_index[1], edge_index[0]] = True
    return mask


@compare(
    (torch.tensor([1.0, 2, 3, 4]).log(), EDGES, 4),
    (1000 + torch.tensor([1.0, 2, 3, 4]).log(), EDGES, 4),
    (torch.tensor([0.0, 0, 1000, 0]), EDGES, 4),
    (torch.tensor([1000.0, 0, -1000, 1000]), EDGES, 4),  # one node has a large and a small one
    (*random((6,)), LOOPS, 9),
    atol=1e-3,
)
@mistake(
    "the softmax, or the maximum in it, runs over all edges; take those of one target.",
    lambda s, e, n: s.softmax(0),
)
@mistake("exp overflows: subtract a node's maximum first.", largest=torch.zeros_like)
@mistake("edges are grouped by source, not by target.", end=0)
@mistake("subtract each node's own maximum.", largest=torch.max)
def check_edge_softmax(logits, edge_index, num_nodes, end=1, largest=None):
    """The weights of each node's incoming edges sum to one, even for large logits."""
    edges = [edge_index[end] == node for node in edge_index[end]]  # of the same node
    shift = largest(logits) if largest else torch.stack([logits[same].max() for same in edges])
    weights = (logits - shift).exp()
    return weights / torch.stack([weights[same].sum() for same in edges])


@compare(random((4, 3), (3, 5), (3, 5), (5,), seed=3), random((6, 4), (4, 2), (4, 2), (2,)))
@mistake("this is GAT: the non-linearity comes before the product with a.", early=False)
@mistake("W1 is used for both nodes of a pair.", given=lambda h, W1, W2, a: (h, W1, W1, a))
@mistake("the non-linearity is missing.", slope=1.0)
@mistake("the slope is 0.01, PyTorch's default; GAT's is 0.2.", slope=0.01)
def check_gatv2_logits(h, W1, W2, a, slope=0.2, early=True):
    """The query is inside the non-linearity, so each query can rank the keys differently."""
    pairs = (h @ W1)[:, None] + (h @ W2)[None]
    return F.leaky_relu(pairs, slope) @ a if early else F.leaky_relu(pairs @ a, slope)


@compare(
    [adjacency(5, (0, 1), (1, 2), (2, 3), (3, 4))],
    [~torch.eye(4, dtype=torch.bool)],
    [adjacency(4, (0, 1), (1, 2), (2, 3), (3, 0), directed=True)],
    [adjacency(4, (0, 1), (2, 3))],
    [adjacency(3, (0, 1), (1, 2), directed=True)],
    [adjacency(10, *((n, n + 1) for n in range(9)))],
    [torch.zeros(1, 1, dtype=torch.bool)],
)
@mistake("if some node is never reached, the answer is -1.", never=1)
@mistake("that is right on a path; in a complete graph one layer is enough.", lambda A: len(A) - 1)
@mistake("without self-loops a node forgets what it has received.", loops=False)
@mistake("edges are directed: information does not travel back.", given=lambda A: (A | A.T,))
def check_layers_needed(adjacency, loops=True, never=-1):
    """Information travels one hop per layer, so the longest of all shortest paths decides."""
    reached = torch.eye(len(adjacency), dtype=torch.bool)
    mask = adjacency.T | (reached & loops)
    for layers in range(len(mask) + 1):
        if reached.all():
            return layers
        reached = mask.float() @ reached.float() > 0
    return never


@compare(
    [adjacency(4, *EDGES.T.tolist(), directed=True)],
    [adjacency(6, (0, 1), (5, 1), (2, 2), directed=True)],
    view=lambda A, *_: A.float(),  # or as 0 and 1
)
@mistake("no edge leaves the virtual node: fill its row as well.", row=False)
@mistake("no edge arrives at the virtual node: fill its column as well.", column=False)
@mistake("the virtual node has an edge to itself; leave entry (N, N) False.", corner=True)
@mistake("the new node is first; it should be last.", then=lambda A: A.roll((1, 1), dims=(0, 1)))
def check_virtual_node(adjacency, row=True, column=True, corner=False):
    """Any two nodes now exchange information within two layers, for only 2N more edges."""
    wider = F.pad(adjacency, (0, 1, 0, 1))
    wider[-1, :-1], wider[:-1, -1], wider[-1, -1] = row, column, corner
    return wider
