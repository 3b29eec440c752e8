"""Images as graphs: the 1,797 handwritten digits inside scikit-learn, pixel by pixel.

A node is a pixel with some ink on it, in reading order (row by row from the top left). Its features
are its intensity and where it is. A directed edge leads from each pixel to each of the 8 nearest,
and its feature is their distance. Distances on a grid are equal very often: of equally distant
pixels, those first in reading order are taken, which no library decides.

The benchmarks MNIST and CIFAR10 are made of larger images, whose pixels are first grouped to
*superpixels*, about 70 and 118 of them (Dwivedi et al., 2023); there an edge's feature is a
similarity, high for near superpixels, and the neighbours are the most similar.
``load_dataset("mnist")`` and ``load_dataset("cifar10")`` download those. Images of 8 × 8 pixels
need no grouping: a digit has 16 to 42 pixels with ink.

The digits are sorted by sha256 of their pixels: the first 1,297 are for training, the next 200 for
validation, the last 300 for testing. Thirteen people wrote them (they are the test set of a larger
collection), and which of them wrote a digit is not known: the splits share their hands.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from gtcourse.graphs.ragged import GraphDataset, RaggedGraphs, load_cached

DIGITS_SPLIT = (1_297, 200, 300)
DIGITS_CHECKSUM = "89b1ed03b029bdc8f32053929b83a92a58c9633003cec759ecc129379f0fb4d9"
"""sha256 of the graph file with which the course's numbers were made."""

NEIGHBOURS = 8
FULL = 16
"""scikit-learn's intensities are whole numbers from 0 to this."""

MISSING = (
    "the digits lie inside scikit-learn, which is not installed; install it with "
    "`pip install scikit-learn`, or read a graph file with load_dataset('digits', source='….npz')."
)


def load_digits(root: Path) -> GraphDataset:
    """The digits as graphs, built on the first call (a second) and kept under ``root``.

    ``x`` ``[n, 3]`` is intensity, column and row, ``edge_attr`` ``[E, 1]`` the distance, all
    scaled as in :func:`pixel_graph`; ``y`` ``[1]`` is the digit, 0 to 9.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    source = "embedded: 1,797 handwritten digits of scikit-learn"
    return load_cached(root, "digits", build_digits, source, DIGITS_CHECKSUM)


def build_digits() -> RaggedGraphs:
    """All digits, in the order of their hashes.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    try:
        from sklearn import datasets
    except ImportError:
        raise ImportError(MISSING) from None
    digits = datasets.load_digits()
    images = digits.images.astype(np.uint8)
    order = sorted(range(len(images)), key=lambda i: hashlib.sha256(images[i].tobytes()).digest())
    graphs = [pixel_graph(images[i] / FULL) for i in order]
    for graph, i in zip(graphs, order, strict=True):
        graph.y = torch.tensor([int(digits.target[i])])
    return RaggedGraphs.from_data(graphs, np.repeat(np.arange(3), DIGITS_SPLIT), target="graph")


def pixel_graph(image: np.ndarray, k: int = NEIGHBOURS) -> Data:
    """The pixels above 0 of one grey image, each with edges to the nearest others.

    Args:
        image: ``[height, width]`` intensities, 0 to 1.
        k: neighbours of each pixel; all others where there are no more than that.

    Returns:
        ``x`` ``[n, 3]``: intensity, column from the left and row from the top; ``edge_index``
        ``[2, n k]``, row by row; ``edge_attr`` ``[n k, 1]``: the distance. Columns, rows and
        distances are divided by the larger side less one, so that columns and rows are 0 to 1.

    Raises:
        ValueError: the image has no two sides, no pixel above 0, or k is below 1.
    """
    if image.ndim != 2 or not (image > 0).any():
        raise ValueError(
            f"image has shape {list(image.shape)} and {int((image > 0).sum())} pixels above 0; "
            "expected [height, width] and at least one."
        )
    row, column = np.nonzero(image > 0)
    squared = (row[:, None] - row) ** 2 + (column[:, None] - column) ** 2
    edges = nearest(squared, k)
    side = max(*image.shape, 2) - 1
    x = np.stack([image[row, column], column / side, row / side], axis=1)
    return Data(
        x=torch.from_numpy(x.astype(np.float32)),
        edge_index=torch.from_numpy(edges),
        edge_attr=torch.from_numpy(np.sqrt(squared[*edges]) / side).float()[:, None],
    )


def nearest(distance: np.ndarray, k: int) -> np.ndarray:
    """An edge from each node to each of the k nearest others; of equally near ones to the first.

    Args:
        distance: ``[n, n]``, or anything that grows with it, such as its square.
        k: neighbours of each node; all others where there are no more than that.

    Returns:
        ``[2, n k]``, row by row of the adjacency matrix.

    Raises:
        ValueError: k is below 1.
    """
    if k < 1:
        raise ValueError(f"k is {k}; expected 1 or more neighbours of each node.")
    n = len(distance)
    k = min(k, n - 1)
    others = np.where(np.eye(n, dtype=bool), np.inf, distance)
    chosen = np.sort(np.argsort(others, axis=1, kind="stable")[:, :k], axis=1)
    return np.stack([np.repeat(np.arange(n), k), chosen.ravel()])
