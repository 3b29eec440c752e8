"""Checks of chapter 03. Shapes: N nodes, E edges, F features, d_k width of a head."""

import torch
import torch.nn.functional as F

from gtcourse.course.exercises.checker import adjacency, compare, mistake, random
from gtcourse.course.exercises.drawing import THOUSANDS, Draw

EDGES = torch.tensor([(0, 1), (2, 1), (1, 2), (2, 3)]).T  # none to node 0, none from node 3
LOOPS = torch.tensor([(3, 3), (0, 2), (5, 1), (4, 2), (2, 6), (6, 6)]).T
CIRCLE = torch.stack([torch.arange(12), torch.arange(12).roll(1)]).repeat(1, 2)  # each edge twice
FAN_IN = torch.tensor([(0, 3), (1, 3), (2, 3), (4, 3), (3, 1)]).T  # four edges end at node 3


def _edges(draw: Draw):
    """An edge may come twice, and may lead from a node to itself; there may be none."""
    N = draw.size(4)
    return draw.numbers(2, draw.number(0, 6), of=range(N)), N


@compare((EDGES, 5), (LOOPS, 8), drawn=_edges)
@mistake("rows and columns are swapped: an edge from j to i belongs in entry (i, j).", then=torch.t)
@mistake("the self-loops are missing: node i attends to itself as well.", loops=False)
@mistake("edges are entered in both directions; this graph is directed.", then=lambda m: m | m.T)
@mistake(
    "a node without edges is missing: the mask has num_nodes rows.",
    given=lambda e, n: (e, int(e.max()) + 1),
)
@mistake(
    "only nodes with edges have a self-loop; give one to every node.",
    lambda e, n: torch.zeros(n, n, dtype=torch.bool).index_put(
        (torch.cat([e[1], e.flatten()]), torch.cat([e[0], e.flatten()])), torch.tensor(True)
    ),
)
@mistake(
    "every target attends to every source: index with both at once, mask[target, source].",
    lambda e, n: torch.eye(n, dtype=torch.bool).index_put(
        (e[1][:, None], e[0][None]), torch.tensor(True)
    ),
)
@mistake(
    "there are only self-loops. (mask[target][:, source] = True changes a copy of the mask.)",
    lambda e, n: torch.eye(n, dtype=torch.bool),
)
@mistake("the mask is inverted: True marks where a node may attend.", then=torch.logical_not)
@mistake(
    "this is an additive mask of 0 and -inf; return True and False instead.",
    then=lambda seen: torch.where(seen, 0.0, -torch.inf),
)
def check_mask(edge_index, num_nodes, loops=True):
    """Along an edge the target attends to the source, and every node to itself."""
    mask = torch.eye(num_nodes, dtype=torch.bool) & loops
    mask[edge_index[1], edge_index[0]] = True
    return mask


def _logits_of_edges(draw: Draw):
    edge_index, N = _edges(draw)
    return draw.numbers(edge_index.shape[1], of=THOUSANDS), edge_index, N


@compare(
    (torch.tensor([1.0, 2, 3, 4]).log(), EDGES, 4),
    (1000 + torch.tensor([1.0, 2, 3, 4]).log(), EDGES, 4),
    (torch.tensor([0.0, 0, 1000, 0]), EDGES, 4),
    (torch.tensor([1000.0, 0, -1000, 1000]), EDGES, 4),  # one node has a large and a small one
    (*random((24,)), CIRCLE, 12),
    (*random((5,)), FAN_IN, 5),
    (*random((6,)), LOOPS, 9),
    atol=3e-4,
    drawn=_logits_of_edges,
)
@mistake(
    "the softmax, or the maximum in it, runs over all edges; it should run over those of "
    "one target.",
    lambda s, e, n: s.softmax(0),
)
@mistake("exp overflows: subtract a node's maximum first.", largest=torch.zeros_like)
@mistake(
    "replacing NaN is too late: subtract a node's maximum before exp.",
    largest=torch.zeros_like,
    then=torch.Tensor.nan_to_num,
)
@mistake(
    "exp overflows: subtract a node's maximum, and no smaller number.",
    lambda s, e, n: _shifted(s, e, lambda own: own.mean()),
)
@mistake(
    "the maximum starts too high, so that a node with very negative logits gets 0/0: start at "
    "-inf.",
    lambda s, e, n: _shifted(s, e, lambda own: own.max().clamp(min=0)),
)
@mistake(
    "clamping changes the logits: subtract a node's maximum instead.",
    given=lambda s, e, n: (s.clamp(-50, 50), e, n),
)
@mistake(
    "this is a sigmoid of each logit; divide by the sum over the node's edges.",
    lambda s, e, n: s.sigmoid(),
)
@mistake(
    "`totals[target] += weights` adds only one of several edges that end at a node; use index_add.",
    lambda s, e, n: _shifted(s, e, torch.max, lambda own: own[-1]),
)
@mistake(
    "the weights are divided by the mean over the edges of a target; divide them by the sum.",
    lambda s, e, n: _shifted(s, e, torch.max, torch.mean),
)
@mistake(
    "edges from a node to itself are left out; they are edges like the others.",
    lambda s, e, n: check_edge_softmax.reference(s.where(e[0] != e[1], -1e9), e, n).where(
        e[0] != e[1], 0.0
    ),
)
@mistake(
    "two edges with the same ends share one entry of your table; each needs a weight of its own.",
    lambda s, e, n: (
        s.new_full((n, n), -torch.inf).index_put((e[1], e[0]), s).softmax(dim=1)[e[1], e[0]]
    ),
)
@mistake(
    "the edges of one target need not be next to each other in the list.",
    lambda s, e, n: torch.cat(
        [
            run.softmax(dim=0)
            for run in s.split(e[1].unique_consecutive(return_counts=True)[1].tolist())
        ]
    ),
)
@mistake(
    "the weights are in the order of the targets; return them in the order of the edges.",
    lambda s, e, n: torch.cat([s[e[1] == node].softmax(dim=0) for node in range(n)]),
)
@mistake("edges are grouped by their source; group them by their target.", end=0)
@mistake("subtract each node's own maximum.", largest=torch.max)
def check_edge_softmax(logits, edge_index, num_nodes, end=1, largest=None):
    """The weights of each node's incoming edges sum to one, even for large logits."""
    if not len(logits):
        return logits.clone()
    edges = [edge_index[end] == node for node in edge_index[end]]  # of the same node
    shift = largest(logits) if largest else torch.stack([logits[same].max() for same in edges])
    weights = (logits - shift).exp()
    return weights / torch.stack([weights[same].sum() for same in edges])


def _shifted(logits, edge_index, number, total=torch.sum):
    """Weights from exponentials after a number of each node has been subtracted."""
    groups = [edge_index[1] == node for node in edge_index[1]]
    weights = (logits - torch.stack([number(logits[same]) for same in groups])).exp()
    return weights / torch.stack([total(weights[same]) for same in groups])


def _of_pairs(draw: Draw):
    N, width, d_k = (draw.size(3) for _ in range(3))
    W1, W2 = (draw.numbers(width, d_k) for _ in range(2))
    return draw.numbers(N, width), W1, W2, draw.numbers(d_k)


@compare(
    random((4, 3), (3, 5), (3, 5), (5,), seed=3),
    random((6, 4), (4, 2), (4, 2), (2,)),
    drawn=_of_pairs,
)
@mistake("this is GAT; in GATv2 the non-linearity comes before the product with a.", early=False)
@mistake("W1 is used for both nodes of a pair.", given=lambda h, W1, W2, a: (h, W1, W1, a))
@mistake("the non-linearity is missing.", slope=1.0)
@mistake("the slope is 0.01, PyTorch's default; GAT's is 0.2.", slope=0.01)
@mistake("this is a ReLU; LeakyReLU multiplies negative numbers by 0.2.", slope=0.0)
@mistake(
    "the non-linearity acts on each node alone; add the two vectors first.",
    lambda h, W1, W2, a: (F.leaky_relu(h @ W1, 0.2) @ a)[:, None] + F.leaky_relu(h @ W2, 0.2) @ a,
)
@mistake(
    "the logits are divided by sqrt(d_k); GATv2 has no such factor.",
    lambda h, W1, W2, a: F.leaky_relu((h @ W1)[:, None] + h @ W2, 0.2) @ a / len(a) ** 0.5,
)
def check_gatv2_logits(h, W1, W2, a, slope=0.2, early=True):
    """The query is inside the non-linearity, so each query can rank the keys differently."""
    pairs = (h @ W1)[:, None] + (h @ W2)[None]
    return F.leaky_relu(pairs, slope) @ a if early else F.leaky_relu(pairs @ a, slope)


def _graph(draw: Draw):
    return [draw.adjacency(draw.size(5))]


def _with_loops(draw: Draw):
    return [draw.adjacency(draw.size(4), loops=True)]


def _of_graph(got, right, A):
    """The graph and the two numbers."""
    kind = "graph" if (A == A.T).all() else "directed graph"
    edges = A.nonzero().tolist() if A.sum() < 20 else "of a path"
    size = f"{len(A)} node{'' if len(A) == 1 else 's'}"
    return f"for a {kind} of {size} with the edges {edges} the answer is {right}, not {got}."


@compare(
    [adjacency(5, (0, 1), (1, 2), (2, 3), (3, 4))],
    [~torch.eye(4, dtype=torch.bool)],
    [adjacency(4, (0, 1), (1, 2), (2, 3), (3, 0), directed=True)],
    [adjacency(4, (0, 1), (2, 3))],
    [adjacency(3, (0, 1), (1, 2), directed=True)],
    [adjacency(3, (2, 1), (1, 0), directed=True)],
    [adjacency(4, (0, 1), (0, 2), (0, 3))],  # node 0 is the centre
    [adjacency(10, *((n, n + 1) for n in range(9)))],
    [torch.zeros(1, 1, dtype=torch.bool)],
    [adjacency(120, *((n, n + 1) for n in range(119)))],
    explain=_of_graph,
    drawn=_graph,
)
@mistake("if some node is never reached, the answer is -1.", never=0)
@mistake("the count is one too high: before the first layer it is 0.", start=1)
@mistake("a single node has all information before any layer: the answer is 0.", least=1)
@mistake("a path of N nodes needs N - 1 layers; your loop ends one layer too early.", fewer=1)
@mistake(
    "a path of N nodes needs N - 1 layers, and a single node none; your loop ends one layer too "
    "early.",
    fewer=1,
    rounds=0,
)
@mistake(
    "this is the number of layers until one node has information from all; wait for all nodes.",
    enough=lambda reached: reached.all(dim=1).any(),
)
@mistake(
    "you follow the information of node 0 only; follow that of every node.",
    enough=lambda reached: reached[:, 0].all(),
)
@mistake("that is right on a path; in a complete graph one layer is enough.", lambda A: len(A) - 1)
@mistake("without self-loops a node forgets what it has received.", loops=False)
@mistake(
    "edges are directed: information does not travel against their direction.",
    given=lambda A: (A | A.T,),
)
def check_layers_needed(
    adjacency, loops=True, never=-1, start=0, least=0, fewer=0, rounds=1, enough=torch.Tensor.all
):
    """Information travels one hop per layer, so the longest shortest path sets the number."""
    reached = torch.eye(len(adjacency), dtype=torch.bool)
    mask = adjacency.T | (reached & loops)
    for layers in range(max(len(mask) - fewer, rounds)):
        if enough(reached):
            return max(start + layers, least)
        reached = mask.float() @ reached.float() > 0
    return never


@compare(
    [adjacency(4, *EDGES.T.tolist(), directed=True)],
    [adjacency(12, (0, 1), (5, 9), (10, 10), directed=True)],
    [adjacency(6, (0, 1), (5, 1), (2, 2), directed=True)],
    view=lambda A, *_: A.float(),  # or as 0 and 1
    drawn=_with_loops,
)
@mistake("no edge leaves the virtual node: fill its row as well.", row=False)
@mistake("no edge arrives at the virtual node: fill its column as well.", column=False)
@mistake("the virtual node has an edge to itself; leave entry (N, N) False.", corner=True)
@mistake(
    "the old nodes got self-loops; keep the old edges as they are.",
    given=lambda A: (A | torch.eye(len(A), dtype=torch.bool),),
)
@mistake(
    "self-loops were removed; keep the old edges as they are.",
    given=lambda A: (A & ~torch.eye(len(A), dtype=torch.bool),),
)
@mistake(
    "nodes without edges are not joined to the virtual node; join it to all nodes.",
    lambda A: _joined_to(A.any(dim=0) | A.any(dim=1), A),
)
@mistake("the new node has no edges.", row=False, column=False)
@mistake("the old edges are missing.", given=lambda A: (torch.zeros_like(A),))
@mistake("the new node is first; it should be last.", then=lambda A: A.roll((1, 1), dims=(0, 1)))
def check_virtual_node(adjacency, row=True, column=True, corner=False):
    """Any two nodes now exchange information within two layers, for only 2N more edges."""
    wider = F.pad(adjacency, (0, 1, 0, 1))
    wider[-1, :-1] = row
    wider[:-1, -1] = column
    wider[-1, -1] = corner
    return wider


def _joined_to(nodes, A):
    wider = F.pad(A, (0, 1, 0, 1))
    wider[-1, :-1] = nodes
    wider[:-1, -1] = nodes
    return wider
