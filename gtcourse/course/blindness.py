"""Which graphs a representation cannot tell apart, computed exactly and without training.

A trained model can fail for two reasons. Either its layers give two graphs the same vectors, so
that it cannot see a difference, or training did not find the difference. Colour refinement
separates the two reasons. Nodes start with a colour. In each round, a node's new colour stands for
its old colour together with the multiset of (label of the pair, colour of the other node) over all
nodes that it receives messages from. A :class:`View` says which nodes those are and what labels the
pairs. Two graphs with the same multiset of colours get the same prediction from every model with
that view, for any weights. Graphs with different multisets get different predictions for almost all
weights.

Nothing is rounded. A colour is the index of its signature in one dictionary for all graphs, and
random-walk probabilities and powers of the Laplacian are computed modulo prime numbers.

Shapes: G graphs, n nodes of one graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from math import gcd
from statistics import fmean
from typing import Literal

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from torch import Tensor, nn
from torch_geometric.data import Data

from gtcourse.course.records import measurement, recorded
from gtcourse.graphs.arguments import whole_number
from gtcourse.graphs.molecules import molecule_graph

Integers = NDArray[np.int64]

UNSEEN = -1
"""The label of a pair (i, j) if node i receives nothing from node j."""

PRIMES = (14_999_981, 14_999_977, 14_999_969)
"""For n ≤ 40 nodes, a product of two matrices modulo one of them is exact in float64."""

HIGHEST_POWER = 40
"""The Laplacian has at most n ≤ 40 different eigenvalues, so higher powers add nothing."""


@dataclass(frozen=True, eq=False)
class LabelledGraph:
    """A graph with integers as labels of nodes and edges.

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
    """A graph without categories of nodes and edges."""
    return LabelledGraph(np.zeros(len(adjacency), dtype=np.int64), adjacency.astype(np.int64))


# Views


@dataclass(frozen=True)
class View:
    """What the layers of a model read.

    Attributes:
        nodes: the names in ``PARTS`` of what a node starts with.
        sees: the nodes from which a node receives messages.
        pairs: the names in ``PARTS`` of what labels a pair.
        counts: True if a node sums over the nodes that it sees, so that it can count them; a mean
            depends only on their shares. The same holds for the readout over a graph's nodes.
        rounds: the number of layers; None for as many as still split a colour class.
        graph: the name in ``PARTS`` of what the readout reads of the whole graph, or "".
    """

    nodes: tuple[str, ...] = ("atom",)
    sees: Literal["nothing", "neighbours", "neighbours and itself", "all"] = "all"
    pairs: tuple[str, ...] = ()
    counts: bool = True
    rounds: int | None = None
    graph: str = ""

    def colours(self, graphs: Sequence[LabelledGraph]) -> list[Integers]:
        """The nodes' colours after the last round, ``[n]`` for each graph."""
        return _last(self._refinement(graphs), self.rounds)

    def classes(self, graphs: Sequence[LabelledGraph]) -> Integers:
        """A number for each graph, ``[G]``: graphs with equal numbers cannot be told apart."""
        return self._readout(self.colours(graphs), graphs)

    def classes_by_round(self, graphs: Sequence[LabelledGraph], rounds: int) -> list[Integers]:
        """:meth:`classes` after 0, 1, …, ``rounds`` rounds, and finally the stable classes."""
        found = [self._readout(colours, graphs) for colours in self._refinement(graphs)]
        stable = found[-1]
        found += [stable] * (rounds + 1 - len(found))
        return [*found[: rounds + 1], stable]

    def _refinement(self, graphs: Sequence[LabelledGraph]) -> Iterator[list[Integers]]:
        start = _combined([_part(name, graphs) for name in self.nodes])
        if self.pairs:
            labels = _combined([_part(name, graphs) for name in self.pairs])
        else:
            labels = [np.zeros_like(graph.bonds) for graph in graphs]
        for graph, label in zip(graphs, labels, strict=True):
            label[~_seen(graph, self.sees)] = UNSEEN
        return refinement(start, labels, counts=self.counts)

    def _readout(self, colours: list[Integers], graphs: Sequence[LabelledGraph]) -> Integers:
        known = _part(self.graph, graphs) if self.graph else None
        return graph_classes(colours, counts=self.counts, known=known)


def refine(
    start: Sequence[Integers],
    labels: Sequence[Integers],
    *,
    rounds: int | None = None,
    counts: bool = True,
) -> list[Integers]:
    """The colours of :func:`refinement` after ``rounds`` rounds; if None, the stable colours."""
    return _last(refinement(start, labels, counts=counts), rounds)


def refinement(
    start: Sequence[Integers], labels: Sequence[Integers], *, counts: bool = True
) -> Iterator[list[Integers]]:
    """Colour refinement of many graphs at once.

    Args:
        start: the nodes' first colours, ``[n]`` for each graph.
        labels: of all pairs, ``[n, n]`` for each graph: 0 and above, or ``UNSEEN``.
        counts: whether a node counts how often a pair of label and colour occurs; if not, it reads
            only the share of each pair.

    Yields:
        The nodes' colours, numbered from 0 across all graphs, after 0, 1, 2, … rounds; the last
        are those after the first round in which no colour class splits.
    """
    colours = _numbered([colour.tolist() for colour in start])
    num_colours = 1 + max(int(colour.max()) for colour in colours)
    before = 0
    yield colours
    while num_colours > before:
        signatures = []
        for colour, label in zip(colours, labels, strict=True):
            # In row i and column j one number for the label of the pair and the colour of j.
            seen = np.where(label == UNSEEN, UNSEEN, label * num_colours + colour)  # [n, n]
            seen.sort(axis=1)  # -1 comes first
            num_unseen = (seen == UNSEEN).sum(axis=1)  # [n]
            of_graph = []
            for own, row, start_of_seen in zip(colour.tolist(), seen, num_unseen, strict=True):
                of_graph.append((own, _multiset(row[start_of_seen:], counts)))
            signatures.append(of_graph)
        colours = _numbered(signatures)
        before = num_colours
        num_colours = 1 + max(int(colour.max()) for colour in colours)
        yield colours


def _last(rounds: Iterator[list[Integers]], largest: int | None) -> list[Integers]:
    """The colours after round ``largest``, or the last ones."""
    stop = None if largest is None else largest + 1
    *_, colours = islice(rounds, stop)
    return colours


def graph_classes(
    colours: Sequence[Integers], *, counts: bool = True, known: Sequence | None = None
) -> Integers:
    """One number for each multiset of nodes' colours, ``[G]``.

    Args:
        counts: whether the readout is a sum (True) or a mean.
        known: an array for each graph that the readout reads in addition to the nodes.
    """
    signatures = []
    for index, colour in enumerate(colours):
        beside = None if known is None else known[index].tobytes()
        signatures.append((_multiset(np.sort(colour), counts), beside))
    return _numbered([signatures])[0]


def _multiset(values: Integers, counts: bool) -> bytes:
    """Sorted values as bytes; without counts, divided by the largest factor of all their counts.

    So without counts (1, 1, 2, 2) and (1, 2) are the same: one half each.
    """
    if counts or len(values) == 0:
        return values.tobytes()
    factor = gcd(*Counter(values.tolist()).values())
    return values[::factor].tobytes()  # equal values are neighbours


def _numbered(signatures: Sequence[list]) -> list[Integers]:
    """A number for each signature, in the lists' shapes: from 0 on, in the order of appearance."""
    numbers: dict = {}
    numbered = []
    for of_graph in signatures:
        # A signature that is not in the dictionary gets the next number.
        found = [numbers.setdefault(signature, len(numbers)) for signature in of_graph]
        numbered.append(np.array(found, dtype=np.int64))
    return numbered


def _seen(graph: LabelledGraph, sees: str) -> NDArray[np.bool_]:
    """``[n, n]``: True where node i receives something from node j."""
    if sees == "nothing":
        return np.zeros_like(graph.bonds, dtype=bool)
    if sees == "all":
        return np.ones_like(graph.bonds, dtype=bool)
    neighbours = graph.bonds.T > 0  # an edge from j to i carries something to i
    if sees == "neighbours":
        return neighbours
    return neighbours | np.eye(len(neighbours), dtype=bool)


# What nodes, pairs and graphs are labelled with


def _combined(parts: list[list[NDArray]]) -> list[Integers]:
    """One number for each combination of the parts' values; the parts have one shape.

    Args:
        parts: for each part an array a graph, such as ``[n]`` or ``[n, n]``.
    """
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
    """One of ``PARTS`` of all graphs, computed once for the same graphs."""
    if name not in PARTS:
        raise ValueError(f"there is no part {name!r}; expected one of {', '.join(PARTS)}.")
    return _remembered(name, tuple(graphs))


@lru_cache(maxsize=8)
def _remembered(name: str, graphs: tuple[LabelledGraph, ...]) -> list[NDArray]:
    """Views share parts, and walks and rings take longer than refinement."""
    return PARTS[name](graphs)


def _for_each(function: Callable[[LabelledGraph], NDArray]) -> Callable:
    return lambda graphs: [function(graph) for graph in graphs]


def _distance(graph: LabelledGraph) -> Integers:
    """Shortest-path distances, ``[n, n]``, with n + 1000 where there is no path."""
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


def _relation(graph: LabelledGraph) -> Integers:
    """GRPE's relations, ``[n, n]``.

    The relation of neighbours is their bond, from 101 on. That of other pairs is their distance,
    where distances above 5 and missing paths are one relation, 6.
    """
    distance = _distance(graph)
    return np.where(distance == 1, 100 + graph.bonds, np.minimum(distance, 6))


def exact_walks(graphs: Sequence[LabelledGraph], steps: int) -> list[NDArray[np.uint64]]:
    """Fingerprints of the random-walk probabilities of 1 to ``steps`` steps, ``[n, n]`` each.

    The probabilities :math:`(D^{-1} A)^k` are rational, so modulo a prime they are exact. Three
    primes are used, and the powers of one prime are added with random weights: two different
    sequences get one fingerprint with probability below 1e-20.
    """

    return _powers(graphs, _walk_step, range(1, steps + 1), lambda power: power)


def exact_laplacian(graphs: Sequence[LabelledGraph]) -> list[NDArray[np.uint64]]:
    """Fingerprints of the powers of L = D − A, ``[n, n]`` each.

    Powers 0 to 40 determine the eigenvalues and the projectors onto the eigenspaces, and the
    reverse is true as well. So they contain everything that does not depend on the choice of
    eigenvectors.
    """
    return _powers(graphs, _laplacian, range(HIGHEST_POWER + 1), lambda power: power)


def exact_spectrum(graphs: Sequence[LabelledGraph]) -> list[NDArray[np.uint64]]:
    """Fingerprints of the eigenvalues of L with their multiplicities: the traces of its powers."""
    return _powers(graphs, _laplacian, range(HIGHEST_POWER + 1), _trace)


def _walk_step(adjacency: NDArray, prime: int) -> NDArray:
    """:math:`D^{-1} A` modulo a prime, ``[S, n, n]``; rows of zeros for nodes without edges."""
    degree = adjacency.sum(axis=2).astype(int)  # [S, n]
    inverse_of = [0, *(pow(d, -1, prime) for d in range(1, degree.max() + 1))]
    return np.array(inverse_of)[degree][:, :, None] * adjacency


def _laplacian(adjacency: NDArray, prime: int) -> NDArray:
    """D − A modulo a prime, ``[S, n, n]``."""
    degree = adjacency.sum(axis=2, keepdims=True)  # [S, n, 1]
    return np.mod(degree * np.eye(adjacency.shape[-1]) - adjacency, prime)


def _trace(power: NDArray) -> NDArray:
    """``[S, n, n]`` to ``[S, 1, 1]``."""
    return np.trace(power, axis1=1, axis2=2)[:, None, None]


def _powers(
    graphs: Sequence[LabelledGraph],
    step: Callable[[NDArray, int], NDArray],
    exponents: range,
    read: Callable[[NDArray], NDArray],
) -> list[NDArray[np.uint64]]:
    """Fingerprints of what is read of the powers of a matrix, for each graph.

    They are sums over the powers and the three primes with random odd weights, modulo 2^64.

    Args:
        graphs: G graphs of up to 40 nodes, of which S with one number of nodes are taken at a time.
        step: makes the matrix modulo a prime, ``[S, n, n]``, from the adjacency of S graphs.
        exponents: the powers that count, from 0 or 1.
        read: what is taken of a power, such as its trace.
    """
    found: list[NDArray] = [np.empty(0)] * len(graphs)
    for indices in _of_one_size(graphs):
        adjacency = np.stack([graphs[index].adjacency for index in indices]).astype(np.float64)
        total = np.uint64(0)
        for prime in PRIMES:
            matrix = step(adjacency, prime)
            rng = np.random.default_rng(prime)
            weights = 2 * rng.integers(1, 2**62, HIGHEST_POWER + 1, dtype=np.uint64) + np.uint64(1)
            power = np.broadcast_to(np.eye(adjacency.shape[-1]), adjacency.shape)
            for exponent in range(exponents.stop):
                if exponent in exponents:
                    values = np.mod(read(power), prime).astype(np.uint64)
                    total = total + weights[exponent] * values
                power = np.mod(power @ matrix, prime)
        for index, fingerprint in zip(indices, total, strict=True):
            found[index] = fingerprint
    return found


def _walks_between(graphs: Sequence[LabelledGraph], steps: int) -> list[NDArray[np.uint64]]:
    """Returns :func:`exact_walks` with zeros in place of the return probabilities.

    For each graph it is ``[n, n]``.
    """
    off_diagonal = []
    for walk in exact_walks(graphs, steps):
        between = walk.copy()
        np.fill_diagonal(between, 0)
        off_diagonal.append(between)
    return off_diagonal


def _of_one_size(graphs: Sequence[LabelledGraph], largest: int = 500) -> Iterator[list[int]]:
    """Positions of graphs with equal numbers of nodes, at most ``largest`` at a time."""
    by_size: dict[int, list[int]] = {}
    for index, graph in enumerate(graphs):
        by_size.setdefault(len(graph.atoms), []).append(index)
    for indices in by_size.values():
        for start in range(0, len(indices), largest):
            yield indices[start : start + largest]


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
    "relation": _for_each(_relation),
    "walks, 8": lambda graphs: exact_walks(graphs, 8),
    "walks, 20": lambda graphs: exact_walks(graphs, 20),
    "walks between, 20": lambda graphs: _walks_between(graphs, 20),
    "projectors": exact_laplacian,
    "ring": _for_each(_ring),
    # of graphs
    "spectrum": exact_spectrum,
    "edges": _for_each(lambda graph: graph.adjacency.sum(keepdims=True)),
}
"""The labels of nodes, of pairs and of graphs, by name."""

WALKS_8 = ("atom", "return walks, 8")
WALKS_20 = ("atom", "return walks, 20")
VIEWS = {
    "bag, shares": View(sees="nothing", counts=False),
    "bag, counts": View(sees="nothing"),
    "bag and number of edges": View(sees="nothing", graph="edges"),
    "masked attention": View(sees="neighbours and itself", counts=False),
    "GAT": View(sees="neighbours", counts=False),
    "1-WL": View(sees="neighbours"),
    "1-WL with bonds": View(sees="neighbours", pairs=("bond",)),
    "Laplacian eigenvalues": View(sees="nothing", graph="spectrum"),
    "bag of return walks, 8 steps": View(WALKS_8, sees="nothing"),
    "bag of return walks, 20 steps": View(WALKS_20, sees="nothing"),
    "1-WL with return walks, 20 steps": View(WALKS_20, sees="neighbours"),
    "bag of eigenspaces": View(("atom", "eigenspaces"), sees="nothing"),
    "projectors": View(("atom", "eigenspaces"), pairs=("projectors",)),
    "distances": View(pairs=("distance",)),
    "EGT": View(pairs=("bond", "itself"), counts=False),
    "GRPE": View(pairs=("relation",)),
    "rings and bonds": View(pairs=("bond", "ring", "itself")),
    "walks and bonds": View(pairs=("bond", "walks between, 20", "itself")),
    "CSA": View(WALKS_20, pairs=("bond", "walks, 20", "itself")),
    "CSA with rings": View(WALKS_20, pairs=("bond", "walks, 20", "ring", "itself")),
}
"""The representations of the chapters, by name."""


# What blindness costs


def error_floor(classes: Integers, y: NDArray) -> float:
    """The smallest mean absolute error of any function of the class.

    That function predicts the median of each class. A graph that is alone in its class has no
    error, so the floor is too low for graphs outside the sample.
    """
    order = np.argsort(classes, kind="stable")
    ends = np.flatnonzero(np.diff(classes[order])) + 1
    parts = np.split(y[order], ends)
    return sum(float(np.abs(part - np.median(part)).sum()) for part in parts) / len(y)


def collisions(classes: Integers) -> int:
    """The number of pairs of graphs in one class."""
    count = np.bincount(classes)
    return int((count * (count - 1) // 2).sum())


def best_accuracy(classes: Integers, labels: NDArray) -> float:
    """The largest accuracy of any function of the class, which predicts the most common label.

    Like :func:`error_floor`, it is too optimistic for graphs, or nodes, outside the sample.
    """
    _, label = np.unique(labels, return_inverse=True)
    both, count = np.unique(np.stack([classes, label]), axis=1, return_counts=True)
    most = np.zeros(int(classes.max()) + 1, dtype=np.int64)
    np.maximum.at(most, both[0], count)
    return int(most.sum()) / len(classes)


# All small graphs


@cache
def connected_graphs(largest: int) -> tuple[LabelledGraph, ...]:
    """All connected graphs of 1 to ``largest`` (at most 8) nodes, up to isomorphism, by size.

    Each graph of n + 1 nodes comes from one of n nodes by joining a new node to a set of others.
    2-FWL identifies isomorphic copies. It separates all graphs of up to 8 nodes, as the known
    numbers of graphs confirm: 1, 1, 2, 6, 21, 112, 853 and 11,117.
    """
    if whole_number("largest", largest, 1) > 8:
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
    hashes = np.concatenate([_two_fwl(part) for part in parts])
    _, first = np.unique(hashes, return_index=True)
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
    """The first two graphs of one class, or None; ``graphs`` have to be sorted by size."""
    first: dict[int, int] = {}
    for index, found in enumerate(classes.tolist()):
        if found in first:
            return graphs[first[found]], graphs[index]
        first[found] = index
    return None


def fooled_by(
    layer: Callable[[Tensor], Tensor], largest: int = 6, tolerance: float = 1e-9
) -> tuple[LabelledGraph, LabelledGraph] | None:
    """The smallest two connected graphs for which a layer with a readout gives the same result.

    Args:
        layer: takes an adjacency matrix, ``[n, n]`` in float64, and returns a tensor for the graph,
            whose shape does not depend on n.
        largest: the number of nodes up to which graphs are tried, at most 8.
        tolerance: numbers that differ by no more than this, relative to the largest, are equal.

    Returns:
        The pair whose second graph comes first by size; None if there is no such pair.
    """
    graphs = connected_graphs(largest)
    with torch.no_grad():
        results = [layer(torch.from_numpy(g.bonds).double()).flatten() for g in graphs]
    if len({result.shape for result in results}) > 1:
        raise ValueError(
            "the shape of the layer's result depends on the graph; expected a readout."
        )
    values = torch.stack(results).double().numpy()  # [G, numbers]
    if not np.isfinite(values).all():
        graph = graphs[int(np.argmin(np.isfinite(values).all(axis=1)))]
        size = len(graph.atoms)
        raise ValueError(
            f"the layer returns NaN or infinity for a graph of {size} nodes; expected finite "
            "numbers."
        )
    scale = max(np.abs(values).max(), 1.0)
    columns = [_steps(column / scale, tolerance) for column in values.T]
    classes = _numbered([[*zip(*(column.tolist() for column in columns), strict=True)]])[0]
    return smallest_pair(classes, graphs)


def from_graph6(text: str) -> LabelledGraph:
    """An unlabelled graph from the graph6 notation of the records."""
    try:
        graph = nx.from_graph6_bytes(text.encode())
    except (AttributeError, IndexError, ValueError, nx.NetworkXError):
        raise ValueError(f"{text!r} is no graph in graph6; expected one such as 'Bw'.") from None
    return unlabelled(nx.to_numpy_array(graph))


def from_smiles(smiles: str) -> LabelledGraph:
    """A molecule with the atom and bond types of the embedded molecules."""
    atoms, bonds = molecule_graph(smiles)
    matrix = np.zeros((len(atoms), len(atoms)), dtype=np.int64)
    for i, j, kind in bonds:
        matrix[i, j] = matrix[j, i] = 1 + kind
    return LabelledGraph(np.array(atoms, dtype=np.int64), matrix)


def as_data(graph: LabelledGraph) -> Data:
    """The graph for PyG: one column of categories for the nodes and one for the edges."""
    source, destination = graph.bonds.nonzero()
    return Data(
        x=torch.from_numpy(graph.atoms)[:, None],
        edge_index=torch.from_numpy(np.stack([source, destination])),
        edge_attr=torch.from_numpy(graph.bonds[source, destination])[:, None],
    )


@dataclass(frozen=True)
class Rung:
    """A model of the book, and the best error of any model with its view.

    Errors are mean absolute errors of penalised logP on the embedded molecules.

    Attributes:
        chapter: the chapter that introduces the model.
        model: its name.
        view: the name in the record of what it reads, or of a part of it that already gives a
            ``floor`` of 0.
        floor: the smallest error of any function of the view, on all 12,000 molecules.
        train: the loss in the last epoch of the recorded runs, averaged over seeds.
        test: the test error of the recorded runs, averaged over seeds.
    """

    chapter: int
    model: str
    view: str
    floor: float
    train: float
    test: float


MODELS = (
    (1, "bag", "bag, shares", "transformer"),
    (3, "GAT", "GAT, 4 layers", "gat"),
    (3, "GIN", "1-WL, 4 layers", "gin"),
    (4, "GatedGCN", "1-WL with bonds, 3 layers", "gatedgcn"),
    (5, "SignNet", "1-WL with bonds, 3 layers", "signnet"),
    (6, "Graphormer", "GRPE", "graphormer"),
    (7, "EGT", "EGT", "egt"),
    (8, "GRPE", "GRPE", "grpe"),
    (9, "CSA", "CSA with rings", "csa"),
)
"""Chapter, name, view and recorded run of each model with 100,000 parameters."""


def ladder(chapter: int) -> list[Rung]:
    """The models of the chapters up to this one, from the records, in the book's order."""
    views = measurement("blindness")["molecules"]["views"]
    rungs = []
    for introduced, model, view, run in MODELS:
        if introduced > chapter:
            break
        runs = recorded(f"{run}-100k/molecules")
        train = [each.curve[-1]["train_loss"] for each in runs]
        test = [each.result["test_mae"] for each in runs]
        rungs.append(Rung(introduced, model, view, views[view]["floor"], fmean(train), fmean(test)))
    return rungs


def agrees(
    predict: Callable[[nn.Module], Tensor], model: nn.Module, classes: Integers, *, seeds: int = 4
) -> bool:
    """Whether a model with random weights separates exactly the graphs that its view separates.

    Args:
        predict: applies the model to all graphs, in float64, ``[G]``.
        model: in evaluation mode; its weights are overwritten with random ones.
        classes: the classes of the view, ``[G]``.
        seeds: predictions count as equal only if they are equal for the weights of every seed.
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


def num_different(values: Tensor, tolerance: float = 1e-9) -> int:
    """The number of different values, up to ``tolerance`` relative to the largest."""
    found = values.detach().double().flatten().numpy()
    return 1 + int(_steps(found / np.abs(found).max(), tolerance).max())


def _steps(values: NDArray, tolerance: float = 1e-9) -> Integers:
    """Numbers from 0 for groups of values whose neighbours differ by ``tolerance`` at most."""
    order = np.argsort(values)
    group = np.concatenate([[0], np.cumsum(np.diff(values[order]) > tolerance)])
    numbers = np.empty(len(values), dtype=np.int64)
    numbers[order] = group
    return numbers
