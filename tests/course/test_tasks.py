"""PATTERN, CLUSTER, TSP and digits beside slower ways to get them, or read off the graphs."""

import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components
from torch_geometric.utils import to_networkx

from gtcourse import load_dataset
from gtcourse.course import tasks
from gtcourse.graphs import check_graphs


def same_pattern(one, other) -> bool:
    """Whether the graphs between the nodes labelled 1 are one, types included."""
    hidden = [
        to_networkx(graph, node_attrs=["x"]).subgraph(graph.y.nonzero()[:, 0].tolist())
        for graph in (one, other)
    ]
    match = nx.algorithms.isomorphism.categorical_node_match("x", None)
    return nx.is_isomorphic(*hidden, node_match=match)


def test_one_node_of_each_community_is_labelled():
    places = []
    for graph in tasks.cluster((800, 100, 100)):
        x = graph.x[:, 0]
        y = graph.y
        assert torch.bincount(x, minlength=7)[1:].tolist() == [1] * 6
        assert torch.equal(y[x > 0], x[x > 0] - 1)
        told = (x > 0).nonzero()[y[x > 0] == 0].item()
        others = (y == 0).nonzero()[:, 0]
        places.append((others == told).nonzero().item() / (len(others) - 1))
    assert abs(np.mean(places) - 0.5) < 4 * np.std(places) / len(places) ** 0.5


def test_graphs_of_the_same_pattern_contain_the_same_subgraph():
    dataset = tasks.pattern((12, 4, 4), num_patterns=4)
    for name, count in (("train", 12), ("val", 4), ("test", 4)):
        for index in range(count):
            assert same_pattern(dataset[name][index], dataset.train[index % 4])
    assert not any(same_pattern(dataset[0], dataset[index]) for index in (1, 2, 3))


@settings(max_examples=15, deadline=None)
@given(
    st.tuples(st.integers(1, 5), st.integers(0, 3), st.integers(0, 3)),
    st.integers(1, 7),
    st.integers(0, 2**32),
)
def test_edges_are_symmetric_unique_and_without_self_loops(split_sizes, patterns, seed):
    for dataset in (
        tasks.pattern(split_sizes, patterns, seed),
        tasks.cluster(split_sizes, seed),
    ):
        check_graphs(dataset.graphs)
        assert tuple(dataset.split_sizes.values()) == split_sizes
        for graph in dataset:
            assert 30 <= graph.num_nodes <= 204
            assert len(graph.y) == graph.num_nodes
            pairs = [*map(tuple, graph.edge_index.T.tolist())]
            assert pairs == sorted({(j, i) for i, j in pairs if i != j})


# TSP.


def shortest_tour(points) -> np.ndarray:
    return tasks.shortest_tour(tasks.distances(points))


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


@pytest.mark.parametrize("n", [12, 20, 21, 24, 30])
def test_tours_are_as_short_as_integer_programming_proves(n):
    for seed in range(3):
        points = np.random.default_rng(seed).random((n, 2))
        tour = shortest_tour(points)
        assert sorted(tour) == list(range(n))
        assert length(tour, points) == pytest.approx(proven_shortest(points), rel=1e-9)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=7))
def test_coincident_and_collinear_points_have_a_shortest_tour(places):
    points = np.array(places) / 4
    tour = shortest_tour(points)
    assert tour[0] == 0
    assert sorted(tour) == list(range(len(points)))
    assert tour[1] < tour[-1]
    assert length(tour, points) == pytest.approx(shortest_of_all(points), abs=1e-4)


def test_edges_labelled_1_form_one_tour_in_both_directions():
    for graph in tasks.tsp((60, 20, 20)):
        assert graph.y.dtype == torch.int64
        tour = nx.Graph(graph.edge_index.T[graph.y == 1].tolist())
        assert nx.is_connected(tour)
        assert [degree for _, degree in tour.degree] == [2] * graph.num_nodes
        pairs = zip(graph.edge_index.T.tolist(), graph.y.tolist(), strict=True)
        labels = {tuple(pair): label for pair, label in pairs}
        assert all(labels.get((j, i), label) == label for (i, j), label in labels.items())


# Digits.


@pytest.fixture(scope="module")
def digits():
    return load_dataset("digits")


def edges_of_the_loop(image: np.ndarray, k: int) -> list[list]:
    """Source, destination and squared distance; pixels in reading order."""
    pixels = [
        (row, column)
        for row in range(image.shape[0])
        for column in range(image.shape[1])
        if image[row, column] > 0
    ]
    edges = []
    for i, (row, column) in enumerate(pixels):
        others = [
            ((row - there) ** 2 + (column - across) ** 2, j)
            for j, (there, across) in enumerate(pixels)
            if j != i
        ]
        edges += sorted([i, j, squared] for squared, j in sorted(others)[:k])
    return edges


@settings(max_examples=60)
@given(
    arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 6)), elements=st.integers(0, 3)),
    st.integers(1, 9),
)
def test_neighbours_equal_the_loop_over_pixels(image, k):
    if not image.any():
        return
    graph = tasks.pixel_graph(image / 3, k)
    expected = edges_of_the_loop(image, k)
    assert graph.edge_index.T.tolist() == [edge[:2] for edge in expected]
    side = max(*image.shape, 2) - 1
    assert (graph.edge_attr[:, 0] * side).tolist() == pytest.approx(
        [squared**0.5 for *_, squared in expected]
    )
    assert ((graph.x >= 0) & (graph.x <= 1)).all()
    assert torch.equal(graph.x[:, 0], torch.from_numpy(image[image > 0] / 3).float())
    graph.y = torch.zeros(1, dtype=torch.int64)
    check_graphs([graph])


def test_a_digits_graph_contains_its_image(digits):
    from sklearn.datasets import load_digits

    images, classes = load_digits(return_X_y=True)
    drawn = {}
    for graph in digits:
        image = np.zeros((8, 8))
        intensity, column, row = graph.x.T.double().numpy()
        image[(row * 7).round().astype(int), (column * 7).round().astype(int)] = intensity * 16
        drawn[tuple(image.ravel())] = graph.y.item()
    assert drawn == dict(zip(map(tuple, images), classes.tolist(), strict=True))


def test_digits_have_the_published_number_of_images_and_pixels(digits):
    """1,797 images; 32.7 of 64 pixels have ink, 16 to 42."""
    assert digits.split_sizes == {"train": 1_297, "val": 200, "test": 300}
    nodes = np.array([graph.num_nodes for graph in digits])
    assert (nodes.min(), nodes.max(), round(nodes.mean(), 1)) == (16, 42, 32.7)
    assert all(graph.num_edges == 8 * graph.num_nodes for graph in digits)


def test_a_label_of_agreement_is_the_number_of_neighbours_with_a_positive_product():
    dataset = tasks.agreement((6, 2, 2))
    assert [len(dataset[part]) for part in ("train", "val", "test")] == [6, 2, 2]
    for graph in dataset:
        assert graph.x.shape == (12, 8)
        neighbours = {node: set() for node in range(12)}
        for i, j in graph.edge_index.T.tolist():
            neighbours[i].add(j)
        for i in range(12):
            assert i not in neighbours[i]
            assert all(i in neighbours[j] for j in neighbours[i])
            products = [float(graph.x[i] @ graph.x[j]) for j in neighbours[i]]
            assert graph.y[i] == min(4, sum(product > 0 for product in products))


def test_agreement_is_drawn_afresh_with_another_seed():
    one, same, other = (tasks.agreement((2, 1, 1), seed) for seed in (0, 0, 1))
    assert torch.equal(one[0].x, same[0].x)
    assert torch.equal(one[0].edge_index, same[0].edge_index)
    assert not torch.equal(one[0].x, other[0].x)
