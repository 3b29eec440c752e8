"""CYCLES and CSL: two tests of structure alone, generated here from their recipes.

**CYCLES** asks whether a graph has a cycle of length 6. The lecture's table was made with data
whose generator was never published; these graphs are our own, with its sizes (37 to 65 nodes in
several pieces, all nodes alike), splits and balance, and whoever only counts is at chance. They
come as twins (:mod:`gtcourse.graphs.cycles`), one with a cycle of length 6 and none of 7 to 11, the
other with cycles of length 12 and more alone. Twins agree in the numbers of nodes, of edges and of
components, in all degrees and in the sizes of all components, so that a classifier that looks only
at those gets exactly one of the two right. Graphs 2t and 2t + 1 of each split are twins, in random
order: the first N graphs are balanced for every even N.

**CSL** (circular skip links) asks which of ten rings with chords a graph is: 41 nodes in a ring,
each joined to the nodes R steps away as well. Every node has four neighbours, so that message
passing on nodes that look alike tells none of the ten from another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gtcourse.graphs.ragged import GraphDataset, RaggedGraphs, load_cached

NUM_NODES = range(37, 66)
MOST_PLAYERS = NUM_NODES[-1] // 3
MOST_PAIRS = 2 * MOST_PLAYERS // 5
"""P and E: p is a third of the nodes, e from p/4 to 2p/5."""

TRIES = (1, 1, 2, 4, 8)
"""Random negatives tried for each positive, round after round."""


@dataclass
class Games:
    """G games; where one has fewer than E pairs, the rest of its rows are (0, 0).

    Attributes:
        num_nodes: ``[G]``; a third of them, rounded down, are players; one or two left over by
            that are alone.
        num_pairs: ``[G]``, e.
        side_a, side_b: ``[G, E, 2]``, the pairs of players that each side joins.
    """

    num_nodes: np.ndarray
    num_pairs: np.ndarray
    side_a: np.ndarray
    side_b: np.ndarray

    @property
    def num_players(self) -> np.ndarray:
        return self.num_nodes // 3

    @property
    def is_pair(self) -> np.ndarray:
        """``[G, E]``"""
        return np.arange(MOST_PAIRS) < self.num_pairs[:, None]

    def __len__(self) -> int:
        return len(self.num_nodes)

    def __getitem__(self, index: np.ndarray | slice) -> Games:
        return Games(*(values[index] for values in vars(self).values()))

    def renamed(self, name: np.ndarray) -> Games:
        """Player i of side B is ``name[g, i]`` instead."""
        game = np.arange(len(self))[:, None, None]
        return replace(self, side_b=name[game, self.side_b] * self.is_pair[..., None])

    def joined_twice(self) -> np.ndarray:
        """Pairs that both sides join, ``[G]``."""
        a, b = (np.sort(side, axis=2) for side in (self.side_a, self.side_b))
        same = (a[:, :, None] == b[:, None]).all(axis=3).any(axis=2)
        return (same & self.is_pair).sum(axis=1)

    def meetings(self) -> np.ndarray:
        """Players in one tree on both sides with another one who was counted before, ``[G]``."""
        return _coincidences(_pieces(self.side_a), _pieces(self.side_b))

    def component_sizes(self) -> np.ndarray:
        """Players in each component, ascending, ``[G, P]``.

        Players that a game does not have count as alone: as many of them in either twin.
        """
        piece = _pieces(self.side_b, _pieces(self.side_a))
        flat = np.arange(len(self))[:, None] * MOST_PLAYERS + piece
        return np.sort(np.bincount(flat.ravel(), minlength=piece.size).reshape(piece.shape), axis=1)

    def edges(self) -> np.ndarray:
        """``[M, 3]``: graph and two nodes; player i has nodes 3i (A), 3i + 1 and 3i + 2 (B)."""
        graph, player = np.nonzero(np.arange(MOST_PLAYERS) < self.num_players[:, None])
        rows = [(graph, 3 * player, 3 * player + 1), (graph, 3 * player + 1, 3 * player + 2)]
        graph, place = np.nonzero(self.is_pair)
        for side, offset in ((self.side_a, 0), (self.side_b, 2)):
            rows.append((graph, *(3 * side[graph, place] + offset).T))
        return np.concatenate([np.stack(columns, axis=1) for columns in rows])


def twins(count: int, rng: np.random.Generator) -> tuple[Games, Games]:
    """``count`` positives, and for each the negative that is its twin.

    The negative is drawn from all renamings of side B that keep, for each player, the number of
    pairs on side A (so that twins agree in every node's degree and even in how the degrees at the
    two ends of a path i_A - m_i - i_B go together), and of these one is used that has no meeting
    and components of the positive's sizes. Numbers of nodes, of edges and of components agree as
    well, and with them the number of independent cycles: the negative has as many, but long ones.
    """
    found: list[tuple[Games, Games]] = []
    while sum(len(positive) for positive, _ in found) < count:
        found.append(_matched(_positives(2_000, rng), rng))
    positive, negative = (_concatenated(side)[:count] for side in zip(*found, strict=True))
    return positive, negative


def permutations(key: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """``[G, n]``: in each row a random order of the columns that maps equal integer keys to equal.

    Where all of a row's keys are different, it is the identity.
    """
    one, other = (np.argsort(key + rng.random(key.shape) / 2, axis=1) for _ in range(2))
    name = np.empty_like(one)
    np.put_along_axis(name, one, other, axis=1)
    return name


def _positives(count: int, rng: np.random.Generator) -> Games:
    """Of ``count`` random games made to have a pair in common, those with no other meeting."""
    num_nodes = rng.integers(NUM_NODES.start, NUM_NODES.stop, count)
    players = num_nodes // 3
    num_pairs = rng.integers(-(-players // 4), 2 * players // 5 + 1)
    forests = [_forests(players, num_pairs, rng) for _ in range(2)]
    games = Games(num_nodes, num_pairs, *forests)
    name = permutations(_absent(games), rng)
    game, (one, other) = np.arange(count), (rng.integers(0, num_pairs) for _ in range(2))
    for end in range(2):  # side B's chosen pair takes the names of side A's
        player, wanted = games.side_b[game, other, end], games.side_a[game, one, end]
        holder = (name == wanted[:, None]).argmax(axis=1)
        name[game, holder] = name[game, player]
        name[game, player] = wanted
    games = games.renamed(name)
    return games[(games.meetings() == 1) & (games.joined_twice() == 1)]


def _matched(positive: Games, rng: np.random.Generator) -> tuple[Games, Games]:
    """Those positives for which a twin was found, and their twins."""
    side_b, sizes = positive.side_b.copy(), positive.component_sizes()
    trees_a, trees_b = _pieces(positive.side_a), _pieces(positive.side_b)
    key = np.where(_absent(positive) > 0, _absent(positive), _degrees(positive))
    waiting = np.arange(len(positive))
    for tries in TRIES:
        which = np.repeat(waiting, tries)
        name = permutations(key[which], rng)
        trees = np.empty_like(name)
        np.put_along_axis(trees, name, trees_b[which], axis=1)
        apart = _coincidences(trees_a[which], trees) == 0
        which, name = which[apart], name[apart]
        trial = positive[which].renamed(name)
        fits = (trial.component_sizes() == sizes[which]).all(axis=1)
        solved, first = np.unique(which[fits], return_index=True)
        side_b[solved] = trial.side_b[fits][first]
        waiting = np.setdiff1d(waiting, solved)
    solved = np.setdiff1d(np.arange(len(positive)), waiting)
    return positive[solved], replace(positive, side_b=side_b)[solved]


def _forests(players: np.ndarray, num_pairs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """``[G, E, 2]``: random pairs one after another; one that would close a cycle is drawn anew."""
    pairs = np.zeros((len(players), MOST_PAIRS, 2), dtype=np.int64)
    piece = _pieces(pairs)
    for place in range(MOST_PAIRS):
        drawing = np.flatnonzero(num_pairs > place)
        while len(drawing):
            pair = rng.integers(0, players[drawing, None], (len(drawing), 2))
            good = piece[drawing, pair[:, 0]] != piece[drawing, pair[:, 1]]
            pairs[drawing[good], place] = pair[good]
            piece[drawing[good]] = _joined(piece[drawing[good]], pair[good])
            drawing = drawing[~good]
    return pairs


def _pieces(pairs: np.ndarray, piece: np.ndarray | None = None) -> np.ndarray:
    """``[G, P]``: players with the same number are connected by the pairs ``[G, E, 2]``.

    Args:
        piece: what is connected already.
    """
    if piece is None:
        piece = np.tile(np.arange(MOST_PLAYERS, dtype=np.int16), (len(pairs), 1))
    for place in range(pairs.shape[1]):
        piece = _joined(piece, pairs[:, place])
    return piece


def _joined(piece: np.ndarray, pair: np.ndarray) -> np.ndarray:
    """In each row, the pieces of the two players of ``pair`` become one."""
    kept, lost = (np.take_along_axis(piece, pair[:, [end]], axis=1) for end in range(2))
    return np.where(piece == lost, kept, piece)


def _coincidences(piece: np.ndarray, other: np.ndarray) -> np.ndarray:
    both = np.sort(piece * MOST_PLAYERS + other, axis=1)
    return (both[:, 1:] == both[:, :-1]).sum(axis=1)


def _degrees(games: Games) -> np.ndarray:
    """Pairs of each player on side A, ``[G, P]``."""
    game, place = np.nonzero(games.is_pair)
    degree = np.zeros((len(games), MOST_PLAYERS), dtype=np.int64)
    for end in range(2):
        np.add.at(degree, (game, games.side_a[game, place, end]), 1)
    return degree


def _absent(games: Games) -> np.ndarray:
    """0 for each player, and different large numbers where a game has none: ``[G, P]``."""
    column = np.arange(MOST_PLAYERS)
    return np.where(column < games.num_players[:, None], 0, MOST_PAIRS + 1 + column)


def _concatenated(parts: list[Games]) -> Games:
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return Games(*(np.concatenate(column) for column in columns))


CYCLES_SPLIT = (9_000, 1_000, 10_000)
CYCLES_CHECKSUM = "4cc30caeacba5b0f4e9c2d249d2918f667072a193419d88ae7f33778a38f8ef3"
"""sha256 of the graph file with which the course's numbers were made."""

CSL_NODES = 41
CSL_SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
CSL_COPIES = 15
CSL_FOLDS = 5


def load_cycles(root: Path) -> GraphDataset:
    """CYCLES, generated on the first call (seconds) and kept under ``root``."""
    source = "generated by gtcourse: 20,000 graphs of 37 to 65 nodes, our own law"
    return load_cached(root, "cycles", build_cycles, source, CYCLES_CHECKSUM)


def load_csl(root: Path) -> GraphDataset:
    """CSL, split as :func:`csl_split` splits it for fold 0, kept under ``root``."""
    return load_cached(
        root, "csl", build_csl, "generated by gtcourse: 10 graphs, 15 numberings of each"
    )


def build_cycles(split_sizes: Sequence[int] = CYCLES_SPLIT, seed: int = 0) -> RaggedGraphs:
    """Twins for each split: half of all graphs have a cycle of length 6.

    Args:
        split_sizes: training, validation and test graphs, each an even number.
        seed: of everything random.

    Raises:
        ValueError: a split's size is odd or negative.
    """
    if any(size < 0 or size % 2 for size in split_sizes):
        raise ValueError(f"split_sizes is {tuple(split_sizes)}; expected even numbers.")
    rng = np.random.default_rng(seed)
    positive, negative = twins(sum(split_sizes) // 2, rng)
    first = rng.integers(0, 2, len(positive))
    label = np.stack([first, 1 - first], axis=1).ravel()
    twin = np.repeat(np.arange(len(positive)), 2)
    games = positive[twin]
    games.side_b[label == 0] = negative.side_b[twin[label == 0]]
    return _ragged(games.num_nodes, games.edges(), label, split_sizes, rng)


def build_csl(seed: int = 0) -> RaggedGraphs:
    """15 random numberings of each of the ten graphs, class after class."""
    label = np.repeat(np.arange(len(CSL_SKIPS)), CSL_COPIES)
    node = np.arange(CSL_NODES)
    edges = [
        np.stack([np.full(CSL_NODES, graph), node, (node + step) % CSL_NODES], axis=1)
        for graph, kind in enumerate(label)
        for step in (1, CSL_SKIPS[kind])
    ]
    num_nodes = np.full(len(label), CSL_NODES)
    rng = np.random.default_rng(seed)
    ragged = _ragged(num_nodes, np.concatenate(edges), label, (len(label), 0, 0), rng)
    ragged.graph["split"] = csl_split(0)
    return ragged


def csl_split(fold: int) -> np.ndarray:
    """The split ``[150]`` of one of five folds: 9, 3 and 3 graphs of each class.

    Use it as ``dataclasses.replace(dataset, split=csl_split(3))``. Each graph is tested in one
    fold, and validates in the fold before that.

    Raises:
        ValueError: fold is not 0 to 4.
    """
    if fold not in range(CSL_FOLDS):
        raise ValueError(f"fold is {fold}; expected 0 to {CSL_FOLDS - 1}.")
    part = np.arange(CSL_COPIES) * CSL_FOLDS // CSL_COPIES
    split = np.select([part == fold, part == (fold + 1) % CSL_FOLDS], [2, 1], default=0)
    return np.tile(split, len(CSL_SKIPS))


def _ragged(
    num_nodes: np.ndarray,
    edges: np.ndarray,
    label: np.ndarray,
    split_sizes: Sequence[int],
    rng: np.random.Generator,
) -> RaggedGraphs:
    """Numbers each graph's nodes at random; both directions of every edge, row by row."""
    column = np.arange(num_nodes.max())
    number = permutations(np.where(column < num_nodes[:, None], 0, 1 + column), rng)
    graph, one, other = edges.T
    one, other = number[graph, one], number[graph, other]
    graph, one, other = np.tile(graph, 2), np.append(one, other), np.append(other, one)
    order = np.lexsort((other, one, graph))
    return RaggedGraphs(
        num_nodes=num_nodes,
        num_edges=np.bincount(graph, minlength=len(num_nodes)),
        edge_index=np.stack([one, other])[:, order],
        node={"x": np.ones((num_nodes.sum(), 1), dtype=np.float32)},
        edge={},
        graph={"y": label, "split": np.repeat(np.arange(3), split_sizes)},
    )
