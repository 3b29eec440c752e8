"""Digits as graphs: which pixels, which neighbours, and nothing that a library decides."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from gtcourse.graphs import check_graphs, load_dataset
from gtcourse.graphs.benchmarks import pixel_graph


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
def test_neighbours_are_those_of_the_loop_over_pixels(image, k):
    if not image.any():
        return
    graph = pixel_graph(image / 3, k)
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


def test_a_digits_graph_is_its_image(digits):
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
