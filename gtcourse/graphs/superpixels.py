"""Images as graphs: the 1,797 handwritten digits inside scikit-learn, pixel by pixel.

A node is a pixel with ink, in reading order (row by row from the top left). Its features are its
intensity and its place. A directed edge leads from each pixel to each of the 8 nearest, with their
distance as its feature. Of equally distant pixels, those first in reading order are taken.

The benchmarks MNIST and CIFAR10 are made of larger images, whose pixels are first grouped into
*superpixels*, about 70 and 118 of them (Dwivedi et al., 2023); there an edge's feature is a
similarity, and the neighbours are the most similar. ``load_dataset("mnist")`` and
``load_dataset("cifar10")`` download those.

The digits are sorted by sha256 of their pixels: the first 1,297 are for training, the next 200 for
validation, the last 300 for testing. Thirteen people wrote them, and which of them wrote a digit is
not known, so the same hands are in all splits.
"""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from torch_geometric.data import Data

from gtcourse.graphs.files import require
from gtcourse.graphs.ragged import RaggedGraphs


def build_digits() -> RaggedGraphs:
    """All digits; ``y`` ``[1]`` is 0 to 9, the rest is :func:`pixel_graph`'s."""
    digits = require("sklearn.datasets", "scikit-learn").load_digits()
    images = digits.images.astype(np.uint8)  # 0 to 16
    order = sorted(range(len(images)), key=lambda i: hashlib.sha256(images[i].tobytes()).digest())
    graphs = [pixel_graph(images[i] / 16) for i in order]
    for graph, i in zip(graphs, order, strict=True):
        graph.y = torch.tensor([int(digits.target[i])])
    split = np.repeat(np.arange(3), (1_297, 200, 300))
    return RaggedGraphs.from_data(graphs, "graph", split)


def pixel_graph(image: np.ndarray, k: int = 8) -> Data:
    """The pixels above 0 of one grey image, each with edges to the k nearest others.

    Args:
        image: ``[height, width]`` intensities, 0 to 1.

    Returns:
        ``x`` ``[n, 3]``: intensity, column from the left and row from the top; ``edge_index``
        ``[2, n k]``, row by row; ``edge_attr`` ``[n k, 1]``: the distance. Columns, rows and
        distances are divided by the larger side less one, so that columns and rows are 0 to 1.
    """
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
    """``[2, n k]``: an edge from each node to its k nearest others, or all if there are fewer.

    Args:
        distance: ``[n, n]``, or its square; of equally near nodes the first are taken.
    """
    n = len(distance)
    k = min(k, n - 1)
    others = np.where(np.eye(n, dtype=bool), np.inf, distance)
    chosen = np.sort(np.argsort(others, axis=1, kind="stable")[:, :k], axis=1)
    return np.stack([np.repeat(np.arange(n), k), chosen.ravel()])
