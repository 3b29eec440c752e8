"""Shortest paths by search (on the CPU) and by products of matrices (on a GPU) are the same."""

import numpy as np
import pytest
import torch
from scipy.sparse.csgraph import shortest_path

from gtcourse.encodings import AddShortestPaths
from gtcourse.encodings.paths import (
    by_length,
    distances_by_products,
    distances_by_search,
    edges_by_index,
    lexicographic_order,
    path_edges,
    path_tree,
    tree_by_scatter,
)
from gtcourse.graphs.batch import has_lowered_distances
from tests.graphs.small import of_edges


def random_graphs(seed: int, num_graphs: int, n: int, density: float) -> torch.Tensor:
    generator = torch.manual_seed(seed)
    return torch.rand(num_graphs, n, n, generator=generator) < density


CASES = [(3, 1, 0.0), (4, 2, 0.5), (3, 12, 0.15), (2, 30, 0.08), (1, 70, 0.03), (1, 40, 0.9)]


@pytest.mark.parametrize(("num_graphs", "n", "density"), CASES)
def test_breadth_first_search_and_matrix_products_give_equal_distances(num_graphs, n, density):
    adjacency = random_graphs(0, num_graphs, n, density)
    by_search = distances_by_search(adjacency)
    assert torch.equal(by_search, distances_by_products(adjacency))
    for graph, distance in zip(adjacency.numpy(), by_search, strict=True):
        expected = shortest_path(graph.astype(float), unweighted=True)
        assert distance.tolist() == np.where(np.isinf(expected), -1, expected).tolist()


@pytest.mark.parametrize(("num_graphs", "n", "density"), CASES)
def test_lowered_distances_are_detected(num_graphs, n, density):
    adjacency = random_graphs(3, num_graphs, n, density)
    distance = distances_by_search(adjacency)
    diameter = distance.amax(dim=(1, 2))
    for largest in range(1, int(diameter.max()) + 2):
        lowered = has_lowered_distances(distance.clamp(max=largest), adjacency)
        assert torch.equal(lowered, diameter > largest)


@pytest.mark.parametrize("kinds", [1, 2, 97])
@pytest.mark.parametrize(("num_graphs", "n", "density"), CASES)
def test_cpu_and_gpu_algorithms_choose_the_same_paths(num_graphs, n, density, kinds):
    adjacency = random_graphs(1, num_graphs, n, density)
    edge_attr = torch.randint(kinds, (num_graphs, n, n, 2)).short()
    distance = distances_by_search(adjacency)
    tree = path_tree(adjacency, edge_attr, distance)
    assert torch.equal(tree, tree_by_scatter(adjacency, edge_attr, distance))
    paths = path_edges(tree, edge_attr, distance, 5)
    assert torch.equal(paths, edges_by_index(tree, edge_attr, distance, 5))


def test_path_keys_are_renumbered_when_64_bits_are_full():
    """Squares in a row: two ways through each, so that every pair has many shortest paths."""
    squares = 60
    n = 3 * squares + 1
    adjacency = torch.zeros(1, n, n, dtype=torch.bool)
    for corner in range(0, 3 * squares, 3):
        adjacency[0, corner, [corner + 1, corner + 2]] = True
        adjacency[0, [corner + 1, corner + 2], corner + 3] = True
    edge_attr = torch.randint(13, (1, n, n, 1), generator=torch.manual_seed(2))
    distance = distances_by_search(adjacency)
    assert distance.max() == 2 * squares  # times 4 bits a step
    tree = path_tree(adjacency, edge_attr, distance)
    for start in range(0, n, 3):  # before a corner is the better of two ways that end there
        for corner in range(start + 3, n, 3):
            ways = [
                (int(edge_attr[0, corner - 3, middle]), int(edge_attr[0, middle, corner]), middle)
                for middle in (corner - 2, corner - 1)
            ]
            assert tree[0, start, corner] == min(ways)[2]


@pytest.mark.parametrize("dtype", [torch.int16, torch.int64, torch.float32, torch.bfloat16])
def test_path_edges_keep_dtype_and_values(dtype):
    adjacency = torch.zeros(1, 3, 3, dtype=torch.bool)
    adjacency[0, 0, 1] = adjacency[0, 1, 2] = True
    edge_attr = torch.arange(18).view(1, 3, 3, 2).to(dtype)
    distance = distances_by_search(adjacency)
    paths = path_edges(path_tree(adjacency, edge_attr, distance), edge_attr, distance, 2)
    assert paths.dtype == dtype
    assert paths[0, 0, 2].tolist() == [[2, 3], [10, 11]]
    assert paths[0, 0, 1].tolist() == [[2, 3], [0, 0]]
    assert paths[0, 2].eq(0).all()


@pytest.mark.parametrize("scale", [1, 1000, 2**40, 0.5])
def test_rows_are_ranked_in_lexicographic_order(scale):
    rows = scale * np.random.default_rng(0).integers(-3, 3, (50, 3))
    order = lexicographic_order(rows)
    assert order.min() >= 0
    assert order.max() < 2**20
    for row, number in zip(rows.tolist(), order, strict=True):
        for other, another in zip(rows.tolist(), order, strict=True):
            assert (row < other) == (number < another)


def test_ranking_no_rows_gives_no_ranks():
    assert lexicographic_order(np.zeros((0, 2), dtype=np.int64)).shape == (0,)


def test_pairs_are_grouped_by_their_positive_lengths():
    places = by_length(np.array([2, -1, 0, 1, 2, 4], dtype=np.int8))
    assert [each.tolist() for each in places] == [[3], [0, 4], [], [5]]


def test_distances_in_a_long_ring_are_exact():
    n = 1000
    graph = of_edges(n, [(i, (i + 1) % n) for i in range(n)])
    node = torch.arange(n)
    around = (node - node[:, None]).abs()
    assert torch.equal(AddShortestPaths()(graph).distance, torch.minimum(around, n - around))
