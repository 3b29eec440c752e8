"""Encodings of a padded batch, computed where it lies: what need not be stored with the graphs.

Degrees, distances, paths and walks follow from sums and products of adjacency matrices, which are
made for a whole batch at once. What takes a search (rings) or a decomposition (eigenvectors, SVD)
is stored.
Shapes: B graphs, N nodes (padded), L longest path kept, F edge features, p steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor

from gtcourse.encodings.distances import (
    AddPathEdges,
    AddPathTree,
    AddShortestPaths,
    path_edges,
    path_tree,
)
from gtcourse.encodings.structure import AddDegrees
from gtcourse.encodings.transform import Encoding
from gtcourse.encodings.walks import AddRandomWalks
from gtcourse.graphs.batch import UNREACHABLE, GraphBatch

Distances = Callable[[], Tensor]
"""Computes the distances of a batch, the first time that they are asked for."""


def encode_batch(batch: GraphBatch, *transforms: Encoding) -> GraphBatch:
    """The same batch with what the transforms compute: as if each graph had been encoded before.

    Raises:
        ValueError: one of the transforms cannot be computed for a padded batch.
    """
    distance = cache(partial(_distance, batch))  # of which several make use
    for transform in transforms:
        if not computed_on_device(transform):
            raise ValueError(
                f"{transform!r} is not computed for a whole batch; expected it to be stored with "
                "the graphs: encode(graphs, transform), or a folder that is prepared with it."
            )
        computed = COMPUTED[type(transform)](transform, batch, distance)
        batch = replace(batch, encodings=batch.encodings | computed)
    return batch


def computed_on_device(transform: Encoding) -> bool:
    """Whether :func:`encode_batch` takes it."""
    return type(transform) in COMPUTED


def shortest_paths_by_products(adjacency: Tensor) -> Tensor:
    r"""Distances of all pairs by products of boolean matrices, a step of all searches at a time.

    .. math:: R_0 = I, \qquad R_{t+1} = R_t \lor R_t A, \qquad
              d_{ij} = \min \{ t : (R_t)_{ij} \}

    Shapes:
        adjacency: ``[B, N, N]`` bool
        returns: ``[B, N, N]`` int64, ``UNREACHABLE`` where there is no path

    The search goes on until nothing new is reached. On a GPU that is not asked, because the answer
    would be waited for: N - 1 steps are made.
    """
    N = adjacency.shape[-1]
    # A sum of ones beyond a half's largest number is infinite, which is as true as any above 0.
    step = adjacency.to(torch.float16 if adjacency.is_cuda else torch.float32)
    reached = torch.eye(N, dtype=torch.bool, device=adjacency.device).expand_as(adjacency)
    missing = torch.zeros(adjacency.shape, dtype=torch.int64, device=adjacency.device)
    for _ in range(N - 1):
        grown = reached | (reached.to(step.dtype) @ step > 0)
        if not adjacency.is_cuda and torch.equal(grown, reached):
            break
        missing = missing + ~reached
        reached = grown
    return missing.masked_fill(~reached, UNREACHABLE)


def _distance(batch: GraphBatch) -> Tensor:
    """Between real nodes; a padded one has no distance, not even to itself."""
    distance = shortest_paths_by_products(batch.adjacency)
    return distance.masked_fill(~batch.pair_mask, UNREACHABLE)


def _edge_attr(batch: GraphBatch) -> Tensor:
    if batch.edge_attr is None:
        raise ValueError("the graphs have no edge_attr; expected it, for the edges of paths.")
    return batch.edge_attr


COMPUTED: dict[type[Encoding], Callable[[Any, GraphBatch, Distances], dict[str, Tensor]]] = {
    AddDegrees: lambda t, batch, distance: t.compute(batch.adjacency, None),
    AddRandomWalks: lambda t, batch, distance: t.compute(batch.adjacency, None),
    AddShortestPaths: lambda t, batch, distance: {
        "distance": distance().clamp(max=t.max_distance or batch.mask.shape[1])
    },
    AddPathTree: lambda t, batch, distance: {
        "path_tree": path_tree(batch.adjacency, _edge_attr(batch), distance()).to(torch.int16)
    },
    AddPathEdges: lambda t, batch, distance: {
        "path_edges": path_edges(batch.adjacency, _edge_attr(batch), distance(), t.max_length)
    },
}
"""What an encoding's ``compute`` gives, at the nodes that are there."""
