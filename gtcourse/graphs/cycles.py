"""CYCLES and CSL: two tests of structure alone, generated here from their recipes.

**CYCLES** asks whether a graph has a cycle of length 6. The lecture's table was made with data
whose generator was never published; these graphs are our own, with its sizes (37 to 65 nodes in
several components, all nodes alike), splits and balance. Graphs 2t and 2t + 1 of each split are
twins in random order: one has a cycle of length 6 and none of 7 to 11, the other only cycles of
length 12 and more. Twins agree in the numbers of nodes, edges and components, in all degrees and in
the sizes of all components, so a classifier that only counts gets exactly one of the two right.

A graph consists of P paths of three nodes, called players: player i has the nodes 3i (side A),
3i + 1 and 3i + 2 (side B). Each side joins E pairs of players to a forest. A pair that is joined on
both sides closes a cycle of length 6, two players in one tree on both sides a longer one.

**CSL** (circular skip links) asks which of ten rings with chords a graph is: 41 nodes in a ring,
each joined to the nodes R steps away as well. Every node has four neighbours, so that message
passing on nodes that look alike cannot tell one of the ten from another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gtcourse.graphs.ragged import RaggedGraphs

MOST_PLAYERS, MOST_PAIRS = 21, 8
TRIES = (1, 1, 2, 4, 8)
"""Random negatives tried for each positive, round after round."""

CSL_NODES, CSL_COPIES = 41, 15
CSL_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)


def build_cycles(
    split_sizes: Sequence[int] = (9_000, 1_000, 10_000), seed: int = 0
) -> RaggedGraphs:
    """Twins for each split, whose sizes are even: half of all graphs have a cycle of length 6."""
    if any(size % 2 for size in split_sizes):
        raise ValueError(f"split_sizes is {tuple(split_sizes)}; expected even numbers.")
    rng, count, found = np.random.default_rng(seed), sum(split_sizes) // 2, []
    while sum(len(batch[0]) for batch in found) < count:
        found.append(_twins(2_000, rng))
    columns = [np.concatenate(parts)[:count] for parts in zip(*found, strict=True)]
    first = rng.integers(0, 2, count)
    label = np.stack([first, 1 - first], axis=1).ravel()
    num_nodes, num_pairs, side_a, positive, negative = (np.repeat(each, 2, 0) for each in columns)
    side_b = np.where(label[:, None, None] == 1, positive, negative)

    graph, player = np.nonzero(np.arange(MOST_PLAYERS) < num_nodes[:, None] // 3)
    edges = [(graph, 3 * player, 3 * player + 1), (graph, 3 * player + 1, 3 * player + 2)]
    graph, place = np.nonzero(np.arange(MOST_PAIRS) < num_pairs[:, None])
    edges += [(graph, *(3 * side_a[graph, place]).T), (graph, *(3 * side_b[graph, place] + 2).T)]
    split = np.repeat(np.arange(3), split_sizes)
    return _ragged(num_nodes, np.concatenate(edges, axis=1), label, split, rng)


def build_csl(seed: int = 0) -> RaggedGraphs:
    """15 random numberings of each of the ten graphs, class after class, split 9, 3 and 3."""
    label = np.repeat(np.arange(len(CSL_SKIPS)), CSL_COPIES)
    graph, node = (i.ravel() for i in np.indices((len(label), CSL_NODES)))
    chord = node + np.array(CSL_SKIPS)[label[graph]]
    edges = [(graph, node, (node + 1) % CSL_NODES), (graph, node, chord % CSL_NODES)]
    num_nodes, rng = np.full(len(label), CSL_NODES), np.random.default_rng(seed)
    split = np.tile(np.repeat([2, 1, 0], (3, 3, 9)), len(CSL_SKIPS))  # the first of five folds
    return _ragged(num_nodes, np.concatenate(edges, axis=1), label, split, rng)


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
    source, target = np.append(one, other), np.append(other, one)
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
    negative, waiting = side_b.copy(), np.arange(len(side_b))
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
    graph, (one, other) = np.arange(count), (rng.integers(0, num_pairs) for _ in range(2))
    for end in range(2):  # one pair of side B takes the names of one of side A
        player, wanted = side_b[graph, other, end], side_a[graph, one, end]
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
        tree, drawing = _trees(pairs[:, :place]), np.flatnonzero(num_pairs > place)
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


def _ragged(
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
    return RaggedGraphs(
        num_nodes=num_nodes,
        num_edges=2 * np.bincount(graph, minlength=len(num_nodes)),
        edge_index=edge_index,
        columns={
            "x": np.ones((num_nodes.sum(), 1), dtype=np.float32),
            "y": label,
            "split": split,
        },
    )
