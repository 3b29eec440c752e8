"""Generated benchmarks after Dwivedi et al. (2023): PATTERN, CLUSTER, TSP, digits, CYCLES, CSL.

**PATTERN and CLUSTER** are stochastic block models: the nodes are in communities of 5 to 34, two
nodes of one community are joined with probability p and two of different communities with
probability q < p, all independently. There are no self-loops, every edge goes both ways, and the
nodes are numbered at random. The published files were drawn without a seed. These are other graphs
of the same distribution; ``load_dataset("pattern", source="download")`` gets the published ones.

PATTERN (p = 0.5, q = 0.35) hides a small graph P among five communities. P is a random graph of
5 to 34 nodes whose pairs are joined with probability 0.5, and its nodes have fixed types; each node
of P is joined to each other node with probability 0.5. Node types are 0, 1 or 2, uniformly. The
label of a node is 1 in P. The entire data set has a hundred such P, which its splits share.

CLUSTER (p = 0.55, q = 0.25) has six communities. The label of a node is its community, 0 to 5.
One random node of community r has type r + 1, which identifies it; all others have type 0.

**TSP**: the nodes are n points, uniform in the unit square. A directed edge leads from each point
to each of its k nearest, and its feature is their Euclidean distance. Its label is 1 if it is on
the shortest tour, the closed walk through all points once. The published set has 50 to 500 points a
graph, k = 25, and tours by Concorde, whose licence is not free. These tours are by fast_tsp (MIT),
exact up to 20 points and a local search beyond, without a seed and stopped by the clock: a tour
counts only when several searches agree on it. As far as we have seen, the labels of graphs of up to
50 points depend only on the seed (the checksum of the file shows it). With hundreds of points, a
few labels differ between runs.

**Digits** stand in for MNIST and CIFAR10, whose pixels are first grouped into about 70 and 118
*superpixels*; there an edge's feature is a similarity, and the neighbours are the most similar. The
1,797 handwritten digits inside scikit-learn are small enough to take pixel by pixel: a node is a
pixel with ink, in reading order. They are sorted by sha256 of their pixels: the first 1,297 are for
training, the next 200 for validation, the last 300 for testing. The same hands are in all splits.

**CYCLES** asks whether a graph has a cycle of length 6. The generator of the lecture's data was
never published; these graphs are our own, with its sizes (37 to 65 nodes in several components, all
nodes alike), splits and balance. Graphs 2t and 2t + 1 of each split are twins in random order: one
has a cycle of length 6 and none of 7 to 11, the other only cycles of length 12 and more. Twins
agree in the numbers of nodes, edges and components, in all degrees and in the sizes of all
components, so a classifier that only counts gets exactly one of the two right.

A graph consists of P paths of three nodes, called players: player i has the nodes 3i (side A),
3i + 1 and 3i + 2 (side B). Each side joins E pairs of players to a forest. A pair that is joined on
both sides closes a cycle of length 6, two players in one tree on both sides a longer one.

**CSL** (circular skip links) asks which of ten rings with chords a graph is: 41 nodes in a ring,
each joined to the nodes R steps away as well. Every node has four neighbours, so that message
passing on nodes that look alike cannot tell one of the ten from another.

**Agreement** is our own: 12 nodes with 8 random numbers each, and random edges. A node's label is
the number of its neighbours that agree with it, where two nodes agree if the dot product of their
numbers is positive. What counts is therefore a property of pairs, and a step function of a product.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch_geometric.data import Data
from tqdm import tqdm

from gtcourse.graphs.arguments import Target, whole_number
from gtcourse.graphs.dataset import GraphDataset, RaggedGraphs
from gtcourse.graphs.io import require
from gtcourse.graphs.published import GENERATED, Generated
from gtcourse.graphs.published import load_dataset as load_dataset  # knows this module's sets

COMMUNITY = range(5, 35)  #: the sizes of a community, and of the graph P of PATTERN
NODES = range(20, 51)  #: of a TSP
EXACT = 20  #: up to this many points fast_tsp tries all tours, by dynamic programming

AGREEING = 3
EFFORTS = (1, 1, 1, 2, 4, 8, 16)
"""At most seven searches, until the shortest tour was found three times; each may take its effort
times n / 5000 seconds."""

MOST_PLAYERS = 21
MOST_PAIRS = 8
TRIES = (1, 1, 2, 4, 8)  #: random negatives tried for each positive, round after round

CSL_NODES = 41
CSL_COPIES = 15
CSL_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)

AGREEMENT_NODES = 12
AGREEMENT_FEATURES = 8
AGREEMENT_MOST = 4

# A graph of n nodes: adjacency ``[n, n]`` bool, node types ``[n]``, labels ``[n]``.
Labelled = tuple[np.ndarray, np.ndarray, np.ndarray]


def pattern(split_sizes: Sequence[int], num_patterns: int = 100, seed: int = 0) -> GraphDataset:
    """A PATTERN of any size, from :func:`build_pattern`."""
    recipe = f"the published recipe of PATTERN, {num_patterns} patterns, seed {seed}"
    graphs = build_pattern(split_sizes, num_patterns, seed)
    return graphs.to_dataset("pattern", f"generated by gtcourse: {recipe}")


def cluster(split_sizes: Sequence[int], seed: int = 0) -> GraphDataset:
    """A CLUSTER of any size, from :func:`build_cluster`."""
    source = f"generated by gtcourse: the published recipe of CLUSTER, seed {seed}"
    return build_cluster(split_sizes, seed).to_dataset("cluster", source)


def tsp(
    split_sizes: Sequence[int], num_nodes: Sequence[int] = NODES, k: int = 25, seed: int = 0
) -> GraphDataset:
    """A TSP of any size, from :func:`build_tsp`."""
    recipe = f"{min(num_nodes)} to {max(num_nodes)} points, k = {k}, tours by fast_tsp, seed {seed}"
    graphs = build_tsp(split_sizes, num_nodes, k, seed)
    return graphs.to_dataset("tsp", f"generated by gtcourse: {recipe}")


def agreement(split_sizes: Sequence[int], seed: int = 0) -> GraphDataset:
    """Random graphs of 12 nodes, labelled by how many neighbours agree with a node.

    ``x`` ``[12, 8]`` are numbers drawn uniformly between -1 and 1. Any two nodes are joined with
    probability 0.4. ``y`` ``[12]`` is the number of neighbours with a positive dot product, where 4
    stands for four or more.

    Raises:
        ValueError: ``split_sizes`` is not the numbers of graphs of three splits.
    """
    check_split_sizes(split_sizes)
    rng = np.random.default_rng(seed)
    graphs = _ragged((_agreement_graph(rng) for _ in range(sum(split_sizes))), "node", split_sizes)
    source = f"generated by gtcourse: neighbours that agree, seed {seed}"
    return graphs.to_dataset("agreement", source)


def build_pattern(
    split_sizes: Sequence[int] = (10_000, 2_000, 2_000), num_patterns: int = 100, seed: int = 0
) -> RaggedGraphs:
    """Graphs of 30 to 204 nodes with a hidden pattern; ``y`` ``[n]`` is 1 in it and 0 elsewhere.

    Graph i of each split contains pattern i modulo ``num_patterns``, so all splits share the
    patterns. At the published size it has 80 million edges, which take 1.3 GB of memory.
    """
    check_split_sizes(split_sizes)
    num_patterns = whole_number("num_patterns", num_patterns, 1)
    rng = np.random.default_rng(seed)
    patterns = [_random_pattern(rng) for _ in range(num_patterns)]
    numbers = (i % num_patterns for size in split_sizes for i in range(size))
    return _ragged((_pattern_graph(patterns[i], rng) for i in numbers), "node", split_sizes)


def build_cluster(
    split_sizes: Sequence[int] = (10_000, 1_000, 1_000), seed: int = 0
) -> RaggedGraphs:
    """Graphs of 30 to 204 nodes in six communities; ``y`` ``[n]`` is the community, 0 to 5."""
    check_split_sizes(split_sizes)
    rng = np.random.default_rng(seed)
    return _ragged((_cluster_graph(rng) for _ in range(sum(split_sizes))), "node", split_sizes)


def build_tsp(
    split_sizes: Sequence[int] = (1_000, 200, 200),
    num_nodes: Sequence[int] = NODES,
    k: int = 25,
    seed: int = 0,
) -> RaggedGraphs:
    """Random points, their nearest neighbours and their tours; ``y`` ``[E]`` is 1 on the tour.

    ``x`` ``[n, 2]`` are the coordinates, ``edge_attr`` ``[E, 1]`` the distances; E is n k, or
    n (n - 1) if n ≤ k. ``num_nodes`` lists the numbers of points to choose from, each at least 3.
    """
    check_split_sizes(split_sizes)
    rng = np.random.default_rng(seed)
    sizes = rng.choice(np.array(num_nodes), sum(split_sizes))
    points = [rng.random((n, 2), dtype=np.float32) for n in sizes]
    graphs = (_tour_graph(each, k) for each in tqdm(points, desc="tours", leave=False))
    return _ragged(graphs, "edge", split_sizes)


def build_digits() -> RaggedGraphs:
    """All digits; ``y`` ``[1]`` is 0 to 9, and :func:`pixel_graph` computes the rest."""
    digits = require("sklearn.datasets", "scikit-learn").load_digits()
    images = digits.images.astype(np.uint8)  # 0 to 16
    order = sorted(range(len(images)), key=lambda i: hashlib.sha256(images[i].tobytes()).digest())
    graphs = [pixel_graph(images[i] / 16) for i in order]
    for graph, i in zip(graphs, order, strict=True):
        graph.y = torch.tensor([int(digits.target[i])])
    return _ragged(graphs, "graph", (1_297, 200, 300))


def check_split_sizes(sizes: object) -> None:
    """Raises a ValueError unless these are the numbers of graphs of three splits, and not all 0."""
    is_list = isinstance(sizes, Sequence | np.ndarray) and not isinstance(sizes, str)
    if not is_list or len(sizes) != 3:
        raise ValueError(
            f"split_sizes is {sizes!r}; expected three numbers of graphs: train, val, test."
        )
    if not sum(whole_number("a size of split_sizes", size, 0) for size in sizes):
        raise ValueError(f"split_sizes is {sizes!r}; expected one graph or more.")


def _ragged(graphs: Iterable[Data], target: Target, split_sizes: Sequence[int]) -> RaggedGraphs:
    return RaggedGraphs.from_data([*graphs], target, np.repeat(np.arange(3), split_sizes))


def block_model(community: np.ndarray, p: float, q: float, rng: np.random.Generator) -> np.ndarray:
    """A random adjacency matrix ``[n, n]``, symmetric, without self-loops.

    Two nodes are joined with probability p if their ``community`` ``[n]`` is the same, otherwise q.
    """
    same = community[:, None] == community
    drawn = rng.random(same.shape, dtype=np.float32) < np.where(same, np.float32(p), np.float32(q))
    return _symmetric(drawn)


def erdos_renyi(n: int, p: float, rng: np.random.Generator) -> np.ndarray:
    """A random adjacency matrix ``[n, n]``, whose nodes are all joined with probability p."""
    return _symmetric(rng.random((n, n), dtype=np.float32) < np.float32(p))


def _symmetric(drawn: np.ndarray) -> np.ndarray:
    """The entries above the diagonal, in both directions."""
    above = np.triu(drawn, 1)
    return above | above.T


def _random_pattern(rng: np.random.Generator) -> Labelled:
    n = int(rng.integers(COMMUNITY.start, COMMUNITY.stop))
    adjacency = erdos_renyi(n, 0.5, rng)
    return adjacency, rng.integers(0, 3, n), np.ones(n, dtype=np.int64)


def _pattern_graph(hidden: Labelled, rng: np.random.Generator) -> Data:
    inside, types, labels = hidden
    community = np.repeat(np.arange(5), rng.integers(COMMUNITY.start, COMMUNITY.stop, 5))
    outside = block_model(community, 0.5, 0.35, rng)
    joined = rng.random((len(community), len(types)), dtype=np.float32) < 0.5
    adjacency = np.block([[outside, joined], [joined.T, inside]])
    x = np.append(rng.integers(0, 3, len(community)), types)
    return _shuffled(adjacency, x, np.append(np.zeros_like(community), labels), rng)


def _cluster_graph(rng: np.random.Generator) -> Data:
    sizes = rng.integers(COMMUNITY.start, COMMUNITY.stop, 6)
    community = np.repeat(np.arange(6), sizes)
    x = np.zeros_like(community)
    x[sizes.cumsum() - sizes + rng.integers(0, sizes)] = np.arange(6) + 1
    return _shuffled(block_model(community, 0.55, 0.25, rng), x, community, rng)


def _agreement_graph(rng: np.random.Generator) -> Data:
    n = AGREEMENT_NODES
    x = rng.uniform(-1, 1, (n, AGREEMENT_FEATURES)).astype(np.float32)
    adjacency = erdos_renyi(n, 0.4, rng)
    agreeing = (adjacency & (x @ x.T > 0)).sum(axis=1)
    edge_index = torch.from_numpy(np.stack(np.nonzero(adjacency)))
    y = torch.from_numpy(np.minimum(agreeing, AGREEMENT_MOST))
    return Data(x=torch.from_numpy(x), edge_index=edge_index, y=y)


def _shuffled(
    adjacency: np.ndarray, x: np.ndarray, y: np.ndarray, rng: np.random.Generator
) -> Data:
    order = rng.permutation(len(x))
    # Edges in bytes: PATTERN has 80 million of them.
    edge_index = np.stack(np.nonzero(adjacency[order][:, order])).astype(np.uint8)
    x = torch.from_numpy(x[order])[:, None]
    y = torch.from_numpy(y[order])
    return Data(x=x, edge_index=torch.from_numpy(edge_index), y=y)


def _tour_graph(points: np.ndarray, k: int) -> Data:
    distance = distances(points)
    tour = shortest_tour(distance)
    on_tour = np.zeros(distance.shape, dtype=np.int64)
    on_tour[tour, np.roll(tour, -1)] = on_tour[np.roll(tour, -1), tour] = 1
    edges = nearest(distance, k)
    lengths, labels = (torch.from_numpy(each[*edges]) for each in (distance, on_tour))
    x = torch.from_numpy(points)
    edge_index = torch.from_numpy(edges)
    return Data(x=x, edge_index=edge_index, edge_attr=lengths.float()[:, None], y=labels)


def distances(points: np.ndarray) -> np.ndarray:
    """``[n, n]`` float64."""
    difference = points[:, None].astype(np.float64) - points
    return np.sqrt((difference**2).sum(axis=-1))


def nearest(distance: np.ndarray, k: int) -> np.ndarray:
    """``[2, n k]``: an edge from each node to its k nearest others, or all if there are fewer.

    ``distance`` ``[n, n]`` may be squared; ties go to the first nodes.
    """
    n = len(distance)
    k = min(k, n - 1)
    others = np.where(np.eye(n, dtype=bool), np.inf, distance)
    chosen = np.sort(np.argsort(others, axis=1, kind="stable")[:, :k], axis=1)
    return np.stack([np.repeat(np.arange(n), k), chosen.ravel()])


def shortest_tour(distance: np.ndarray) -> np.ndarray:
    """The shortest tour, with as many digits of each distance as the solver's integers can hold.

    The solver sees the lengths of edges up to ``reach``; longer ones count as ``reach``. A shortest
    tour for these lengths that has no longer edge is also the shortest tour.
    """
    reach = 3.5 / np.sqrt(len(distance))
    while True:
        whole = np.rint(np.minimum(distance / reach, 1) * 65_535).astype(np.uint16)
        tour = _agreed_tour(whole, distance)
        if distance[tour, np.roll(tour, -1)].max() < reach:
            return tour
        reach *= 2


def _agreed_tour(whole: np.ndarray, distance: np.ndarray) -> np.ndarray:
    """The shortest tour of several searches, as soon as enough of them have found it."""
    if len(whole) <= EXACT:
        return _canonical(require("fast_tsp", "fast-tsp").solve_tsp_exact(whole))
    best = np.empty(0)
    shortest = np.inf
    found = 0
    for effort in EFFORTS:
        tour = _canonical(_search(whole, effort * len(whole) / 5_000))
        length = distance[tour, np.roll(tour, -1)].sum()
        if np.array_equal(tour, best):
            found += 1
        elif length < shortest:
            best = tour
            shortest = length
            found = 1
        if found == AGREEING:
            break
    return best


def _search(whole: np.ndarray, seconds: float) -> list[int]:
    """One search; repeated if a busy machine let the clock run without working on it."""
    find_tour = require("fast_tsp", "fast-tsp").find_tour
    for _ in range(5):
        start = time.process_time()
        tour = find_tour(whole, seconds, max_threads=1, candidates="nearest")
        if time.process_time() - start > seconds / 3:
            break
    return tour


def _canonical(walk: list[int]) -> np.ndarray:
    """The same closed walk from node 0, towards the smaller of its two neighbours."""
    tour = np.roll(walk, -walk.index(0))
    return tour if tour[1] < tour[-1] else np.roll(tour[::-1], 1)


def pixel_graph(image: np.ndarray, k: int = 8) -> Data:
    """The pixels above 0 of one grey image, each with edges to the k nearest others.

    Intensities ``[height, width]`` are 0 to 1. ``x`` ``[n, 3]`` has intensity, column from the left
    and row from the top, ``edge_attr`` ``[n k, 1]`` the distance. Columns, rows and distances are
    divided by the larger side less one, so that columns and rows are 0 to 1.
    """
    if not isinstance(image, np.ndarray) or image.ndim != 2:
        given = np.shape(image) if isinstance(image, np.ndarray) else type(image).__name__
        raise ValueError(f"image is {given}; expected a NumPy array [height, width].")
    row, column = np.nonzero(image > 0)
    squared = (row[:, None] - row) ** 2 + (column[:, None] - column) ** 2
    edges = nearest(squared, k)
    side = max(*image.shape, 2) - 1
    x = np.stack([image[row, column], column / side, row / side], axis=1).astype(np.float32)
    edge_attr = torch.from_numpy(np.sqrt(squared[*edges]) / side).float()[:, None]
    return Data(x=torch.from_numpy(x), edge_index=torch.from_numpy(edges), edge_attr=edge_attr)


def build_cycles(
    split_sizes: Sequence[int] = (9_000, 1_000, 10_000), seed: int = 0
) -> RaggedGraphs:
    """Twins for each split, whose sizes are even: half of all graphs have a cycle of length 6."""
    check_split_sizes(split_sizes)
    if any(size % 2 for size in split_sizes):
        raise ValueError(f"split_sizes is {tuple(split_sizes)}; expected even numbers.")
    rng = np.random.default_rng(seed)
    count = sum(split_sizes) // 2
    found = []
    while sum(len(batch[0]) for batch in found) < count:
        found.append(_twins(2_000, rng))
    columns = [np.concatenate(parts)[:count] for parts in zip(*found, strict=True)]
    first = rng.integers(0, 2, count)
    label = np.stack([first, 1 - first], axis=1).ravel()
    of_both_twins = [np.repeat(each, 2, axis=0) for each in columns]
    num_nodes, num_pairs, side_a, positive, negative = of_both_twins
    side_b = np.where(label[:, None, None] == 1, positive, negative)

    graph, player = np.nonzero(np.arange(MOST_PLAYERS) < num_nodes[:, None] // 3)
    edges = [(graph, 3 * player, 3 * player + 1), (graph, 3 * player + 1, 3 * player + 2)]
    graph, place = np.nonzero(np.arange(MOST_PAIRS) < num_pairs[:, None])
    edges += [(graph, *(3 * side_a[graph, place]).T), (graph, *(3 * side_b[graph, place] + 2).T)]
    split = np.repeat(np.arange(3), split_sizes)
    return _numbered(num_nodes, np.concatenate(edges, axis=1), label, split, rng)


def build_csl(seed: int = 0) -> RaggedGraphs:
    """15 random numberings of each of the ten graphs, class after class, split 9, 3 and 3."""
    label = np.repeat(np.arange(len(CSL_SKIPS)), CSL_COPIES)
    graph, node = (i.ravel() for i in np.indices((len(label), CSL_NODES)))
    chord = node + np.array(CSL_SKIPS)[label[graph]]
    edges = [(graph, node, (node + 1) % CSL_NODES), (graph, node, chord % CSL_NODES)]
    num_nodes = np.full(len(label), CSL_NODES)
    rng = np.random.default_rng(seed)
    split = np.tile(np.repeat([2, 1, 0], (3, 3, 9)), len(CSL_SKIPS))  # the first of five folds
    return _numbered(num_nodes, np.concatenate(edges, axis=1), label, split, rng)


def permutations(key: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """``[G, n]``: in each row a random order of the columns that maps equal integer keys to equal.

    Columns with a key of their own keep their place.
    """
    one, other = (np.argsort(key + rng.random(key.shape) / 2, axis=1) for _ in range(2))
    name = np.empty_like(one)
    np.put_along_axis(name, one, other, axis=1)
    return name


def absent(sizes: np.ndarray, most: int) -> np.ndarray:
    """Keys ``[G, most]``: 0 in the first columns of each row, unique in those beyond its size."""
    column = np.arange(most)
    return np.where(column < sizes[:, None], 0, 1 + MOST_PAIRS + column)


def both_directions(
    graph: np.ndarray, one: np.ndarray, other: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Both directions ``[2, 2M]`` of M edges, row by row, and which edge each is, ``[2M]``."""
    source = np.append(one, other)
    target = np.append(other, one)
    order = np.lexsort((target, source, np.tile(graph, 2)))
    return np.stack([source, target])[:, order], order % len(graph)


def _twins(count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Numbers of nodes and pairs ``[G]``, side A, side B of the positive and of the negative.

    A side is ``[G, E, 2]``; if a graph has fewer than E pairs, the last rows join a player with
    itself. The negative is drawn from all renamings of side B that keep, for each player, the
    number of pairs on side A, so that twins agree in all degrees. The first one is used that has no
    cycle of length 6 to 11 and components of the positive's sizes.
    """
    num_nodes, num_pairs, side_a, side_b = _positives(count, rng)
    degree = (side_a[..., None] == np.arange(MOST_PLAYERS)).sum(axis=(1, 2))
    degree[:, 0] -= 2 * (MOST_PAIRS - num_pairs)  # of the empty rows
    key = degree + absent(num_nodes // 3, MOST_PLAYERS)
    sizes = _component_sizes(side_a, side_b)
    negative = side_b.copy()
    waiting = np.arange(len(side_b))
    for tries in TRIES:
        which = np.repeat(waiting, tries)
        trial = _renamed(side_b[which], permutations(key[which], rng))
        fits = (_component_sizes(side_a[which], trial) == sizes[which]).all(axis=1)
        fits &= _meetings(side_a[which], trial) == 0
        solved, first = np.unique(which[fits], return_index=True)
        negative[solved] = trial[fits][first]
        waiting = np.setdiff1d(waiting, solved)
    columns = (num_nodes, num_pairs, side_a, side_b, negative)
    return [np.delete(column, waiting, axis=0) for column in columns]


def _positives(count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Of ``count`` random graphs with one pair joined on both sides, those with no other cycle."""
    num_nodes = rng.integers(37, 66, count)
    players = num_nodes // 3
    num_pairs = rng.integers(-(-players // 4), 2 * players // 5 + 1)
    side_a, side_b = (_forests(players, num_pairs, rng) for _ in range(2))
    name = permutations(absent(players, MOST_PLAYERS), rng)
    graph = np.arange(count)
    one, other = (rng.integers(0, num_pairs) for _ in range(2))
    for end in range(2):  # one pair of side B takes the names of one of side A
        player = side_b[graph, other, end]
        wanted = side_a[graph, one, end]
        holder = (name == wanted[:, None]).argmax(axis=1)
        name[graph, holder] = name[graph, player]
        name[graph, player] = wanted
    side_b = _renamed(side_b, name)
    valid = _meetings(side_a, side_b) == 1
    return [column[valid] for column in (num_nodes, num_pairs, side_a, side_b)]


def _forests(players: np.ndarray, num_pairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """``[G, E, 2]``: random pairs one after another; one that would close a cycle is redrawn."""
    pairs = np.zeros((len(players), MOST_PAIRS, 2), dtype=np.int64)
    for place in range(MOST_PAIRS):
        tree = _trees(pairs[:, :place])
        drawing = np.flatnonzero(num_pairs > place)
        while len(drawing):
            pair = rng.integers(0, players[drawing, None], (len(drawing), 2))
            pairs[drawing, place] = pair
            drawing = drawing[tree[drawing, pair[:, 0]] == tree[drawing, pair[:, 1]]]
    return pairs


def _trees(*sides: np.ndarray) -> np.ndarray:
    """``[G, P]``: players with the same number are connected by the pairs ``[G, E, 2]``."""
    tree = np.tile(np.arange(MOST_PLAYERS), (len(sides[0]), 1))
    for pair in np.concatenate(sides, axis=1).swapaxes(0, 1):
        one, other = np.take_along_axis(tree, pair, axis=1)[:, :, None].swapaxes(0, 1)
        tree = np.where(tree == other, one, tree)
    return tree


def _meetings(side_a: np.ndarray, side_b: np.ndarray) -> np.ndarray:
    """Players in one tree on both sides with another who was counted before, ``[G]``."""
    both = np.sort(_trees(side_a) * MOST_PLAYERS + _trees(side_b), axis=1)
    return (both[:, 1:] == both[:, :-1]).sum(axis=1)


def _component_sizes(side_a: np.ndarray, side_b: np.ndarray) -> np.ndarray:
    """The size of each player's component, ascending, ``[G, P]``."""
    tree = _trees(side_a, side_b)
    return np.sort((tree[:, :, None] == tree[:, None]).sum(axis=2), axis=1)


def _renamed(side: np.ndarray, name: np.ndarray) -> np.ndarray:
    return name[np.arange(len(side))[:, None, None], side]


def _numbered(
    num_nodes: np.ndarray,
    edges: np.ndarray,
    label: np.ndarray,
    split: np.ndarray,
    rng: np.random.Generator,
) -> RaggedGraphs:
    """Numbers each graph's nodes at random; ``edges`` ``[3, M]`` are graph and two nodes."""
    number = permutations(absent(num_nodes, num_nodes.max()), rng)
    graph, one, other = edges
    edge_index, _ = both_directions(graph, number[graph, one], number[graph, other])
    num_edges = 2 * np.bincount(graph, minlength=len(num_nodes))
    x = np.ones((num_nodes.sum(), 1), dtype=np.float32)
    columns = {"x": x, "y": label, "split": split}
    return RaggedGraphs(num_nodes, num_edges, edge_index, columns)


OURS = "generated by gtcourse"
GENERATED |= {
    "cycles": Generated(
        build_cycles,
        f"{OURS}: 20,000 graphs of 37 to 65 nodes, our own law",
        "4cc30caeacba5b0f4e9c2d249d2918f667072a193419d88ae7f33778a38f8ef3",
    ),
    "csl": Generated(build_csl, f"{OURS}: 10 graphs, 15 numberings of each"),
    "pattern": Generated(
        build_pattern,
        f"{OURS}: 14,000 graphs by the published recipe of PATTERN",
        "581c28e2031a8779f1f1caf8080919d998f398831e5db7f29a1d94a331fe794e",
    ),
    "cluster": Generated(
        build_cluster,
        f"{OURS}: 12,000 graphs by the published recipe of CLUSTER",
        "0e5577f618052c051f17b0352c786d6a2df588a7e17ae08af14b1f1c64d232fb",
    ),
    "tsp": Generated(
        build_tsp,
        f"{OURS}: 1,400 graphs of 20 to 50 points, tours by fast_tsp "
        "(the benchmark: 12,000 of 50 to 500, by Concorde)",
        "c20cbe9b57a6be4c0a17c85390c159a1779387c4d35c2d897c58147a3c976493",
    ),
    "digits": Generated(
        build_digits,
        "embedded: 1,797 handwritten digits of scikit-learn",
        "89b1ed03b029bdc8f32053929b83a92a58c9633003cec759ecc129379f0fb4d9",
    ),
}
