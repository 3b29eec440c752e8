"""TSP: points, neighbours and tours, each beside a slower way to get them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components

from gtcourse.graphs import benchmarks as module
from gtcourse.graphs.benchmarks import tsp


@pytest.fixture(scope="module")
def dataset():
    return tsp((60, 20, 20))


def shortest_tour(points) -> np.ndarray:
    return module.shortest_tour(module.distances(points))


def distances(points) -> np.ndarray:
    return np.linalg.norm(points[:, None].astype(float) - points, axis=2)


def length(tour, points) -> float:
    return distances(points)[tour, np.roll(tour, -1)].sum()


def shortest_of_all(points) -> float:
    """Every order in which the other points can follow point 0."""
    others = itertools.permutations(range(1, len(points)))
    return min(length(np.array([0, *order]), points) for order in others)


def proven_shortest(points) -> float:
    """Integer programming: two edges at each point, and no tour through a part of them.

    Which parts are forbidden is found one after another, until the solution is in one piece.
    """
    n = len(points)
    one, other = np.triu_indices(n, 1)
    degree = csr_matrix((np.ones(2 * len(one)), (np.append(one, other), [*range(len(one))] * 2)))
    constraints = [LinearConstraint(degree, 2, 2)]
    while True:
        solution = milp(
            distances(points)[one, other],
            constraints=constraints,
            bounds=Bounds(0, 1),
            integrality=np.ones(len(one)),
            options={"mip_rel_gap": 0},
        )
        used = solution.x > 0.5
        count, piece = connected_components(
            csr_matrix((np.ones(used.sum()), (one[used], other[used])), shape=(n, n)), False
        )
        if count == 1:
            return solution.fun
        for part in range(count):
            within = (piece[one] == part) & (piece[other] == part)
            most = (piece == part).sum() - 1
            constraints.append(LinearConstraint(csr_matrix(within[None].astype(float)), 0, most))


def walk_of(graph) -> list[int]:
    """The nodes in the order in which the edges labelled 1 lead through them."""
    onward = {node: [] for node in range(graph.num_nodes)}
    for source, destination in graph.edge_index.T[graph.y == 1].tolist():
        onward[source].append(destination)
        onward[destination].append(source)
    walk = [0, min(onward[0])]
    while walk[-1] != 0:
        (following,) = set(onward[walk[-1]]) - {walk[-2]}
        walk.append(following)
    return walk[:-1]


@pytest.mark.parametrize("n", [12, 20, 21, 24, 30])
def test_a_tour_is_the_one_that_integer_programming_proves_shortest(n):
    for seed in range(3):
        points = np.random.default_rng(seed).random((n, 2))
        tour = shortest_tour(points)
        assert sorted(tour) == list(range(n))
        assert length(tour, points) == pytest.approx(proven_shortest(points), rel=1e-9)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=7))
def test_points_in_one_place_and_on_one_line_have_a_tour(places):
    points = np.array(places) / 4
    tour = shortest_tour(points)
    assert tour[0] == 0
    assert sorted(tour) == list(range(len(points)))
    assert tour[1] < tour[-1]
    assert length(tour, points) == pytest.approx(shortest_of_all(points), abs=1e-4)


def test_the_edges_labelled_1_are_one_walk_through_all_points_in_both_directions(dataset):
    for graph in dataset:
        assert graph.y.dtype == torch.int64
        assert sorted(walk_of(graph)) == list(range(graph.num_nodes))
        pairs = zip(graph.edge_index.T.tolist(), graph.y.tolist(), strict=True)
        labels = {tuple(pair): label for pair, label in pairs}
        assert all(labels.get((j, i), label) == label for (i, j), label in labels.items())
