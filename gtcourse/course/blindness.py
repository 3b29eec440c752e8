"""What a representation cannot tell apart, computed exactly and without training.

A trained model can fail for two reasons: its layers give two graphs the same vectors (it cannot
see), or they do not but training did not find the difference (it did not learn). Colour refinement
separates the two. Nodes start with a colour; in each round a node's new colour stands for its old
one together with the multiset of (label of the pair, colour of the other node) over all nodes that
it sees. A :class:`View` says which nodes those are and what labels the pairs. Two graphs with the
same multiset of colours get the same prediction from every model with that view, whatever its
weights; graphs with different ones are told apart by almost all weights.

Nothing is rounded. A colour is the number of its signature in one dictionary for all graphs, and
random-walk probabilities and powers of the Laplacian are computed modulo prime numbers.

Shapes: G graphs, n nodes of one graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from torch import Tensor, nn
from torch_geometric.data import Data

Integers = NDArray[np.int64]

UNSEEN = -1
"""The label of a pair (i, j) if node i receives nothing from node j."""

PRIMES = (14_999_981, 14_999_977, 14_999_969)
"""For n ≤ 40 nodes, a product of two matrices modulo one of them is exact in float64."""

WALKED = 40  # powers of the Laplacian, which has at most n ≤ 40 different eigenvalues


@dataclass(frozen=True)
class LabelledGraph:
    """A graph as integers.

    Attributes:
        atoms: ``[n]``, the category of each node.
        bonds: ``[n, n]``, 0 where there is no edge and 1 or more for the categories of edges.
    """

    atoms: Integers
    bonds: Integers

    @property
    def adjacency(self) -> Integers:
        return (self.bonds > 0).astype(np.int64)


def labelled(graph: Data) -> LabelledGraph:
    """A PyG graph whose ``x`` and ``edge_attr`` are single columns of categories, or missing."""
    n = graph.num_nodes
    atoms = np.zeros(n, dtype=np.int64) if graph.x is None else graph.x[:, 0].numpy()
    source, destination = graph.edge_index.numpy()
    bonds = np.zeros((n, n), dtype=np.int64)
    bonds[source, destination] = 1
    if graph.edge_attr is not None:
        bonds[source, destination] += graph.edge_attr[:, 0].numpy()
    return LabelledGraph(atoms.astype(np.int64), bonds)


def unlabelled(adjacency: NDArray) -> LabelledGraph:
    """A graph whose nodes are all alike, and whose edges are."""
    return LabelledGraph(np.zeros(len(adjacency), dtype=np.int64), adjacency.astype(np.int64))


# Views


@dataclass(frozen=True)
class View:
    """What the layers of a model read.

    Attributes:
        nodes: the names in ``PARTS`` of what a node starts with.
        sees: the nodes from which a node receives something.
        pairs: the names in ``PARTS`` of what labels a pair.
        counts: a sum over the nodes seen has their numbers; a mean has only their shares. The
            readout over a graph's nodes counts, or not, in the same way.
        rounds: the number of layers; None for as many as change anything.
        graph: the name in ``PARTS`` of what the readout knows of the whole graph, or "".
    """

    nodes: tuple[str, ...] = ("atom",)
    sees: Literal["nothing", "neighbours", "neighbours and itself", "all"] = "all"
    pairs: tuple[str, ...] = ()
    counts: bool = True
    rounds: int | None = None
    graph: str = ""

    def colours(self, graphs: Sequence[LabelledGraph]) -> list[Integers]:
        """The nodes' colours after the last round, ``[n]`` for each graph."""
        start = _combined([_part(name, graphs) for name in self.nodes])
        if self.sees == "nothing":
            return start
        labels = _combined([_part(name, graphs) for name in self.pairs])
        if not labels:
            labels = [np.zeros_like(graph.bonds) for graph in graphs]
        seen = [_seen(graph, self.sees) for graph in graphs]
        labels = [np.where(s, label, UNSEEN) for s, label in zip(seen, labels, strict=True)]
        return refine(start, labels, rounds=self.rounds, counts=self.counts)

    def classes(self, graphs: Sequence[LabelledGraph]) -> Integers:
        """A number for each graph, ``[G]``: equal numbers cannot be told apart."""
        known = _part(self.graph, graphs) if self.graph else None
        return graph_classes(self.colours(graphs), counts=self.counts, known=known)


def refine(
    start: Sequence[Integers],
    labels: Sequence[Integers],
    *,
    rounds: int | None = None,
    counts: bool = True,
) -> list[Integers]:
    """Colour refinement of many graphs at once.

    Args:
        start: the nodes' first colours, ``[n]`` for each graph.
        labels: of all pairs, ``[n, n]`` for each graph: 0 and above, or ``UNSEEN``.
        rounds: at most so many; None until no colour class splits.
        counts: whether a node sees how often a pair of label and colour occurs, or in what share.

    Returns:
        The nodes' colours, numbered from 0 across all graphs.
    """
    colours = _numbered([list(map(int, colour)) for colour in start])
    num_colours = 1 + max(int(colour.max()) for colour in colours)
    done = 0
    while rounds is None or done < rounds:
        signatures = []
        for colour, label in zip(colours, labels, strict=True):
            seen = np.where(label == UNSEEN, UNSEEN, label * num_colours + colour)  # [n, n]
            rows = (row[row != UNSEEN] for row in np.sort(seen, axis=1))
            signatures.append(
                [(int(own), _multiset(row, counts)) for own, row in zip(colour, rows, strict=True)]
            )
        colours = _numbered(signatures)
        before = num_colours
        num_colours = 1 + max(int(colour.max()) for colour in colours)
        done += 1
        if num_colours == before:
            break
    return colours


def graph_classes(
    colours: Sequence[Integers], *, counts: bool = True, known: Sequence | None = None
) -> Integers:
    """One number for each multiset of nodes' colours, ``[G]``.

    Args:
        counts: whether the readout is a sum, or a mean.
        known: what the readout knows of each graph besides its nodes.
    """
    signatures = []
    for index, colour in enumerate(colours):
        beside = None if known is None else known[index].tobytes()
        signatures.append((_multiset(np.sort(colour), counts), beside))
    return _numbered([signatures])[0]


def _multiset(values: Integers, counts: bool) -> bytes:
    """Sorted values as bytes; without counts, each value with its share in lowest terms."""
    if counts or len(values) == 0:
        return values.tobytes()
    value, count = np.unique(values, return_counts=True)
    return value.tobytes() + (count // np.gcd.reduce(count)).tobytes()


def _numbered(signatures: Sequence[list]) -> list[Integers]:
    """Numbers from 0 for equal signatures, in the lists' shapes."""
    numbers: dict = {}
    return [
        np.array([numbers.setdefault(each, len(numbers)) for each in of_graph], dtype=np.int64)
        for of_graph in signatures
    ]


def _seen(graph: LabelledGraph, sees: str) -> NDArray[np.bool_]:
    """``[n, n]``: True where node i receives something from node j."""
    if sees == "all":
        return np.ones_like(graph.bonds, dtype=bool)
    neighbours = graph.bonds.T > 0  # an edge from j to i carries something to i
    if sees == "neighbours":
        return neighbours
    return neighbours | np.eye(len(neighbours), dtype=bool)


# What nodes, pairs and graphs are labelled with


def _combined(parts: list[list[NDArray]]) -> list[Integers]:
    """One number for each combination of the parts' values; the parts have one shape."""
    if not parts:
        return []
    shapes = [array.shape for array in parts[0]]
    combined = np.zeros(sum(array.size for array in parts[0]), dtype=np.int64)
    for part in parts:
        flat = np.concatenate([array.ravel() for array in part])
        values, number = np.unique(flat, return_inverse=True)
        _, combined = np.unique(combined * len(values) + number, return_inverse=True)
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    pieces = np.split(combined.astype(np.int64), ends)
    return [piece.reshape(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def _part(name: str, graphs: Sequence[LabelledGraph]) -> list[NDArray]:
    if name not in PARTS:
        raise ValueError(f"there is no part {name!r}; expected one of {', '.join(PARTS)}.")
    return PARTS[name](graphs)


def _for_each(function: Callable[[LabelledGraph], NDArray]) -> Callable:
    return lambda graphs: [function(graph) for graph in graphs]


def _distance(graph: LabelledGraph) -> Integers:
    """Shortest-path distances, with n where there is no path."""
    n = len(graph.atoms)
    found = shortest_path(csr_array(graph.adjacency), unweighted=True)
    return np.where(np.isfinite(found), found, n + 1000).astype(np.int64)


def _ring(graph: LabelledGraph, largest: int = 18) -> Integers:
    """1 where two nodes are on one chordless ring of at most ``largest`` nodes."""
    on_ring = np.zeros_like(graph.bonds)
    network = nx.from_numpy_array(graph.adjacency)
    for ring in nx.chordless_cycles(network, length_bound=largest):
        on_ring[np.ix_(ring, ring)] = 1
    np.fill_diagonal(on_ring, 0)
    return on_ring


def _grp(distance: Integers, bonds: Integers) -> Integers:
    """GRPE's relation: the bond of neighbours, else the distance up to 5, else "far"."""
    return np.where(distance == 1, 100 + bonds, np.minimum(distance, 6))


def exact_walks(graphs: Sequence[LabelledGraph], steps: int) -> list[NDArray[np.uint64]]:
    """Fingerprints of the random-walk probabilities of 1 to ``steps`` steps, ``[n, n]`` each.

    The probabilities :math:`(D^{-1} A)^k` are rational, so modulo a prime they are exact. Three
    primes are used, and the powers of one prime are added with random weights: two different
    sequences get one fingerprint with probability below 1e-20.
    """
    return [_fingerprint(_walk_powers(graph, steps)) for graph in graphs]


def exact_laplacian(graphs: Sequence[LabelledGraph]) -> list[NDArray[np.uint64]]:
    """Fingerprints of the powers of L = D − A, ``[n, n]`` each.

    Powers 0 to 40 determine, and are determined by, the eigenvalues and the projectors on the
    eigenspaces, so they are all that is independent of the choice of eigenvectors.
    """
    return [_fingerprint(_laplacian_powers(graph)) for graph in graphs]


def exact_spectrum(graphs: Sequence[LabelledGraph]) -> list[NDArray[np.uint64]]:
    """Fingerprints of the eigenvalues of L with their multiplicities: the traces of its powers."""
    return [
        _fingerprint(
            np.array([[np.trace(power) % p] for power in powers])
            for p, powers in zip(PRIMES, _laplacian_powers(graph), strict=True)
        )
        for graph in graphs
    ]


def _walk_powers(graph: LabelledGraph, steps: int) -> Iterator[NDArray]:
    """For each prime, ``[steps, n, n]``."""
    adjacency = graph.adjacency.astype(np.float64)
    degree = adjacency.sum(axis=1).astype(int)
    for prime in PRIMES:
        inverse = np.array([pow(int(d), -1, prime) if d else 0 for d in degree], dtype=np.float64)
        step = inverse[:, None] * adjacency
        power = step
        powers = [power]
        for _ in range(steps - 1):
            power = np.mod(power @ step, prime)
            powers.append(power)
        yield np.stack(powers)


def _laplacian_powers(graph: LabelledGraph) -> Iterator[NDArray]:
    """For each prime, ``[41, n, n]``."""
    adjacency = graph.adjacency.astype(np.float64)
    laplacian = np.diag(adjacency.sum(axis=1)) - adjacency
    for prime in PRIMES:
        step = np.mod(laplacian, prime)
        power = np.eye(len(adjacency))
        powers = [power]
        for _ in range(WALKED):
            power = np.mod(power @ step, prime)
            powers.append(power)
        yield np.stack(powers)


def _fingerprint(of_primes: Iterator[NDArray]) -> NDArray[np.uint64]:
    """Sums over the first axis with random odd weights, modulo 2^64."""
    total = np.uint64(0)
    for prime, powers in zip(PRIMES, of_primes, strict=True):
        weights = np.random.default_rng(prime).integers(1, 2**62, len(powers), dtype=np.uint64)
        weights = 2 * weights + 1
        total = total + np.tensordot(weights, powers.astype(np.uint64), axes=1)
    return total


PARTS: dict[str, Callable[[Sequence[LabelledGraph]], list[NDArray]]] = {
    # of nodes
    "atom": _for_each(lambda graph: graph.atoms),
    "degree": _for_each(lambda graph: graph.adjacency.sum(axis=1)),
    "return walks, 8": lambda graphs: [np.diag(walk) for walk in exact_walks(graphs, 8)],
    "return walks, 20": lambda graphs: [np.diag(walk) for walk in exact_walks(graphs, 20)],
    "eigenspaces": lambda graphs: [np.diag(power) for power in exact_laplacian(graphs)],
    # of pairs
    "edge": _for_each(lambda graph: graph.adjacency),
    "bond": _for_each(lambda graph: graph.bonds),
    "itself": _for_each(lambda graph: np.eye(len(graph.atoms), dtype=np.int64)),
    "distance": _for_each(_distance),
    "relation": _for_each(lambda graph: _grp(_distance(graph), graph.bonds)),
    "walks, 8": lambda graphs: exact_walks(graphs, 8),
    "walks, 20": lambda graphs: exact_walks(graphs, 20),
    "projectors": exact_laplacian,
    "ring": _for_each(_ring),
    # of graphs
    "spectrum": exact_spectrum,
    "edges": _for_each(lambda graph: graph.adjacency.sum(keepdims=True)),
}
"""What nodes, pairs and graphs can be labelled with."""

WALKS_8, WALKS_20 = ("atom", "return walks, 8"), ("atom", "return walks, 20")
VIEWS = {
    "bag, shares": View(sees="nothing", counts=False),
    "bag, counts": View(sees="nothing"),
    "bag and number of edges": View(sees="nothing", graph="edges"),
    "masked attention": View(sees="neighbours and itself", counts=False),
    "1-WL": View(sees="neighbours"),
    "1-WL with bonds": View(sees="neighbours", pairs=("bond",)),
    "Laplacian eigenvalues": View(sees="nothing", graph="spectrum"),
    "bag of return walks, 8 steps": View(WALKS_8, sees="nothing"),
    "bag of return walks, 20 steps": View(WALKS_20, sees="nothing"),
    "bag of eigenspaces": View(("atom", "eigenspaces"), sees="nothing"),
    "projectors": View(("atom", "eigenspaces"), pairs=("projectors",)),
    "distances": View(pairs=("distance",)),
    "EGT": View(pairs=("bond", "itself"), counts=False),
    "GRPE": View(pairs=("relation",)),
    "rings and bonds": View(pairs=("bond", "ring", "itself")),
    "CSA": View(WALKS_20, pairs=("bond", "walks, 20", "itself")),
    "CSA with rings": View(WALKS_20, pairs=("bond", "walks, 20", "ring", "itself")),
}
"""The representations of the chapters, by name."""


# What blindness costs


def error_floor(classes: Integers, y: NDArray) -> float:
    """The least mean absolute error of any function of the class: its median in each class.

    A graph without a twin costs nothing, so this is too low for graphs that are not in the sample.
    """
    order = np.argsort(classes, kind="stable")
    ends = np.flatnonzero(np.diff(classes[order])) + 1
    parts = np.split(y[order], ends)
    return sum(float(np.abs(part - np.median(part)).sum()) for part in parts) / len(y)


def collisions(classes: Integers) -> int:
    """The number of pairs of graphs in one class."""
    count = np.bincount(classes)
    return int((count * (count - 1) // 2).sum())


# All small graphs


@cache
def connected_graphs(largest: int) -> tuple[LabelledGraph, ...]:
    """All connected graphs of 1 to ``largest`` (at most 8) nodes, up to isomorphism, by size.

    Each graph of n + 1 nodes comes from one of n nodes by joining a new node to a set of others.
    Isomorphic copies are dropped by 2-FWL, which is complete up to 8 nodes: the known numbers of
    graphs, 1, 1, 2, 6, 21, 112, 853 and 11,117, confirm it.
    """
    if not 1 <= largest <= 8:
        raise ValueError(f"largest is {largest}; expected 1 to 8 nodes.")
    stack = np.zeros((1, 1, 1), dtype=np.uint8)
    graphs = [unlabelled(stack[0])]
    while stack.shape[-1] < largest:
        stack = _extended(stack)
        graphs += [unlabelled(adjacency) for adjacency in stack]
    return tuple(graphs)


def _extended(stack: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The connected graphs of one more node, ``[G', n + 1, n + 1]`` from ``[G, n, n]``."""
    num_graphs, n, _ = stack.shape
    subsets = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1  # [2^n - 1, n]
    joined = np.zeros((num_graphs, len(subsets), n + 1, n + 1), dtype=np.uint8)
    joined[:, :, :n, :n] = stack[:, None]
    joined[:, :, n, :n] = subsets
    joined[:, :, :n, n] = subsets
    joined = joined.reshape(-1, n + 1, n + 1)
    parts = np.array_split(joined, max(1, len(joined) // 20_000))  # a few hundred MB at most
    prints = np.concatenate([_two_fwl(part) for part in parts])
    _, first = np.unique(prints, return_index=True)
    return joined[np.sort(first)]


def _two_fwl(stack: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Hashes of 2-dimensional Weisfeiler-Leman colours (the folklore form), ``[G]``."""
    n = stack.shape[-1]
    colour = _mixed(stack + 2 * np.eye(n, dtype=np.uint8), 7)  # [G, n, n]
    for _ in range(3):
        through = _mixed(colour, 9) @ _mixed(colour, 10)  # over all nodes k: (i, k) and (k, j)
        colour = _mixed(_mixed(colour, 8) + through, 11)
    return _mixed(colour, 12).sum(axis=(1, 2), dtype=np.uint64)


def _mixed(values: NDArray, salt: int) -> NDArray[np.uint64]:
    """A one-to-one map of 64-bit numbers that looks random (splitmix64)."""
    x = np.asarray(values).astype(np.uint64)
    with np.errstate(over="ignore"):
        x = x * np.uint64(2 * salt + 1) + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def smallest_pair(
    classes: Integers, graphs: Sequence[LabelledGraph]
) -> tuple[LabelledGraph, LabelledGraph] | None:
    """The first two graphs of one class; None if all are told apart. ``graphs`` go by size."""
    first: dict[int, int] = {}
    for index, found in enumerate(classes.tolist()):
        if found in first:
            return graphs[first[found]], graphs[index]
        first[found] = index
    return None


def as_data(graph: LabelledGraph) -> Data:
    """The graph for PyG: one column of categories for the nodes and one for the edges."""
    source, destination = graph.bonds.nonzero()
    return Data(
        x=torch.from_numpy(graph.atoms)[:, None],
        edge_index=torch.from_numpy(np.stack([source, destination])),
        edge_attr=torch.from_numpy(graph.bonds[source, destination])[:, None],
    )


def agrees(
    predict: Callable[[nn.Module], Tensor], model: nn.Module, classes: Integers, *, seeds: int = 4
) -> bool:
    """Whether a model with random weights tells apart the very graphs that its view does.

    Args:
        predict: applies the model to all graphs, in float64, ``[G]``.
        model: in evaluation mode; its weights are overwritten with random ones.
        classes: of the view, ``[G]``.
        seeds: predictions count as equal only if they are for each of these weights.
    """
    model = model.double().eval()
    outputs = []
    for seed in range(seeds):
        generator = torch.Generator().manual_seed(seed)
        for parameter in model.parameters():
            parameter.data = 0.3 * torch.randn(
                parameter.shape, generator=generator, dtype=torch.float64
            )
        with torch.no_grad():
            output = predict(model).double().numpy()
        outputs.append(_steps(output / np.abs(output).max()))
    found = _numbered([[*zip(*(output.tolist() for output in outputs), strict=True)]])[0]
    both = _numbered([[*zip(found.tolist(), classes.tolist(), strict=True)]])[0]
    return len(np.unique(both)) == len(np.unique(found)) == len(np.unique(classes))


def _steps(values: NDArray, tolerance: float = 1e-9) -> Integers:
    """Numbers from 0 for groups of values whose neighbours differ by ``tolerance`` at most."""
    order = np.argsort(values)
    group = np.concatenate([[0], np.cumsum(np.diff(values[order]) > tolerance)])
    numbers = np.empty(len(values), dtype=np.int64)
    numbers[order] = group
    return numbers
