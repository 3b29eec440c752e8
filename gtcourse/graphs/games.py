"""The two-party games of which CYCLES is made, thousands at a time.

Each of p players i has a node on side A, one on side B and a messenger between them, the path
i_A - m_i - i_B. Each side joins e pairs of its own nodes to a forest. A cycle changes sides s = 0,
2, 4, … times and uses k ≥ s joined pairs: it has k + 2s edges. s = 0 is impossible in a forest.
s = 2 takes two players who *meet*: they are in one tree on side A and in one tree on side B.

- A positive has exactly one meeting, of two players who are joined on both sides. That is a cycle
  of length 2 + 4 = 6, i_A - m_i - i_B - j_B - m_j - j_A, and all others have s ≥ 4: 12 or more.
- A negative has no meeting, so that all its cycles have length 12 or more.

Twins are a positive and a negative with the same two forests. They differ in which player is which
on side B, and that is chosen such that they cannot be told apart by counting: see :func:`twins`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

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
