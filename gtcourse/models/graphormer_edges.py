"""Where Graphormer can put the features of edges (Ying et al., 2021): the places of Table 5.

Shapes: B graphs, N nodes (padded), E edges in all, H heads, d width, K = d / H, L edges of a path,
F columns of categories.
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.encodings.distances import by_length
from gtcourse.graphs.batch import GraphBatch
from gtcourse.models import waiting
from gtcourse.models.categories import category_rows
from gtcourse.models.node_encodings import read_encoding


class EdgeEncoding(nn.Module):
    r"""The mean over a shortest path of what each edge means at its place in it.

    .. math:: c_{ij} = \frac{1}{\ell} \sum_{n=1}^{\ell} x_{e_n} w_n^T

    over the edges :math:`e_1, \dots, e_\ell` of the path from i to j (Graphormer, Eq. 7, which has
    N for :math:`\ell`). The lecture has the sum in its place (CS224W, S11). The categories of edges
    make :math:`x_e \cdot w_n` a table with a row for each place and category; :math:`c_{ij}` is a
    mean of its rows. A node with itself, and pairs without a path, get 0.

    Args:
        num_heads: H, and the width of :math:`x_e` (d_E) as well; each head has its own w.
        num_edge_types: categories of edges.
        positions: how many vectors :math:`w_n` there are.
        max_length: L, the edges of a path that are read, from i on; the mean is over these.
        reduce: "mean", or "sum" as in the lecture.

    Shapes:
        batch.encodings["distance"]: ``[B, N, N]``, exact: of ``AddShortestPaths()``, without a
            longest distance
        batch.encodings["path_edges"]: ``[B, N, N, L, F]`` categories; where there are none,
        batch.encodings["path_tree"]: ``[B, N, N]``, and batch.edge_attr ``[B, N, N, F]``: the same
            result from N² numbers
        returns: ``[B, H, N, N]``

    Raises:
        ValueError: ``reduce`` is something else; in the forward pass, where the batch has neither,
            a path is not all there, a tree is of other distances, or a category has no row.

    Differs from the authors' code: nothing is added behind a path's end. There a vector for "no
    edge" is, as often as the longest path of the *batch* has places, so that a molecule's
    prediction depends on its company.
    """

    def __init__(
        self,
        num_heads: int,
        num_edge_types: int,
        positions: int,
        max_length: int,
        reduce: Literal["mean", "sum"] = "mean",
    ):
        super().__init__()
        if reduce not in ("mean", "sum"):
            raise ValueError(f"reduce is {reduce!r}; expected 'mean' or 'sum'.")
        if max_length > positions:
            raise ValueError(
                f"max_path_length is {max_length}; expected at most path_positions = {positions}."
            )
        self.max_length, self.reduce = max_length, reduce
        self.edges = nn.Embedding(num_edge_types, num_heads)
        self.positions = nn.Parameter(torch.empty(positions, num_heads, num_heads))
        nn.init.normal_(self.positions, std=0.02)

    def forward(self, batch: GraphBatch) -> Tensor:
        distance = read_encoding(batch, "distance")
        if "path_edges" not in batch.encodings and "path_tree" in batch.encodings:
            mean = self.along_trees(batch, distance)
        else:
            mean = self.along_paths(read_encoding(batch, "path_edges"), distance)
        if self.reduce == "sum":
            mean = mean * distance.clamp(0, self.max_length)[..., None]
        return mean.permute(0, 3, 1, 2)

    def table(self) -> Tensor:
        """:math:`x_e \\cdot w_n` for each place, category and head: ``[L, types, H]``."""
        w = self.positions[: self.max_length]
        return torch.einsum("ek,nkh->neh", self.edges.weight, w).to(w.dtype)

    def along_paths(self, path_edges: Tensor, distance: Tensor) -> Tensor:
        """A bag of table rows for each pair: the places that are on its path. ``[B, N, N, H]``"""
        self._refuse_short(path_edges, distance)
        table = self.table()
        path_edges = path_edges[..., : self.max_length, :]
        place = torch.arange(path_edges.shape[-2], device=distance.device)
        on_path = place < distance[..., None]  # [B, N, N, L]
        if waiting.may_wait(distance):
            return self._bags_as_long_as_paths(path_edges, on_path, place, table)
        return self._bags_of_one_length(path_edges, on_path, place, table)

    def _bags_as_long_as_paths(
        self, path_edges: Tensor, on_path: Tensor, place: Tensor, table: Tensor
    ) -> Tensor:
        """Only what is on a path is listed: how much that is, the data say."""
        edges = category_rows(path_edges[on_path], "path_edges", table.shape[1])  # [paths, F]
        rows = place.expand(on_path.shape)[on_path][:, None] * table.shape[1] + edges
        ends = (on_path.sum(dim=-1) * rows.shape[1]).flatten().cumsum(0)
        starts = F.pad(ends[:-1], (1, 0))
        mean = F.embedding_bag(rows.flatten(), table.flatten(0, 1), starts, mode="mean")
        return mean.unflatten(0, on_path.shape[:-1])

    def _bags_of_one_length(
        self, path_edges: Tensor, on_path: Tensor, place: Tensor, table: Tensor
    ) -> Tensor:
        """All places are listed, and those behind a path's end left out of its mean."""
        nothing = table.shape[0] * table.shape[1]
        edges = path_edges.masked_fill(~on_path[..., None], 0)
        rows = place[:, None] * table.shape[1] + category_rows(edges, "path_edges", table.shape[1])
        rows = rows.masked_fill(~on_path[..., None], nothing).flatten(0, 2).flatten(1)
        table = F.pad(table.flatten(0, 1), (0, 0, 0, 1))
        mean = F.embedding_bag(rows, table, mode="mean", padding_idx=nothing)
        return mean.unflatten(0, on_path.shape[:-1])

    def along_trees(self, batch: GraphBatch, distance: Tensor) -> Tensor:
        """Sums along paths, near pairs first: each is its parent's sum and one edge more."""
        if batch.edge_attr is None:
            raise ValueError("the graphs have no edge_attr; expected the categories of edges.")
        table, N = self.table(), distance.shape[-1]
        distance, tree = distance.flatten(), batch.encodings["path_tree"].flatten().long()
        near, *farther = by_length(distance)  # the pairs at distance 0, 1, …
        pair, sizes = torch.cat([near[:0], *farther]), [len(level) for level in farther]
        before = tree[pair]  # k, from which the path from i enters j
        parent = pair - pair % N + before  # the pair (i, k)
        if not bool(((before >= 0) & (distance[parent] == distance[pair] - 1)).all()):
            raise ValueError(
                "path_tree and distance do not belong together; expected those of the same graph, "
                "with exact distances: AddShortestPaths() without a longest one."
            )
        last = pair + (before - pair // N % N) * N  # the pair (k, j), the path's last edge
        rows = category_rows(batch.edge_attr.flatten(0, 2)[last], "edge_attr", table.shape[1])

        place = torch.empty_like(tree)  # of a pair among those of its distance
        for level in (near, *farther):
            place[level] = torch.arange(len(level), device=tree.device)
        total = table.new_zeros(len(near), table.shape[-1])
        means = [total[:0]]
        levels = zip(place[parent].split(sizes), rows.split(sizes), strict=True)
        for length, (parents, row) in enumerate(levels, start=1):
            total = total[parents]
            if length <= self.max_length:
                total = total + table[length - 1][row].mean(dim=1)
            means.append(total / min(length, self.max_length))
        mean = table.new_zeros(len(distance), table.shape[-1])
        return mean.index_copy(0, pair, torch.cat(means)).unflatten(0, (-1, N, N))

    def _refuse_short(self, path_edges: Tensor, distance: Tensor) -> None:
        length = path_edges.shape[-2]
        if length < self.max_length:
            waiting.refuse(
                distance > length,
                lambda: (
                    f"path_edges holds the first {length} edges of paths of up to "
                    f"{int(distance.max())}; expected AddPathEdges({self.max_length}), or a model "
                    f"of max_path_length = {length}."
                ),
            )


class NodeEdges(nn.Module):
    """The features of the edges into a node, summed: edges "via node" of Table 5.

    Shapes:
        batch.edge_attr: ``[B, N, N, F]`` categories
        returns: ``[B, N, d]``
    """

    def __init__(self, num_edge_types: int, d_model: int):
        super().__init__()
        self.edges = nn.Embedding(num_edge_types, d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        graph, receiver, _, rows = flat_edges(batch, self.edges.num_embeddings)
        h = self.edges.weight.new_zeros(*batch.mask.shape, self.edges.embedding_dim)
        return h.index_put((graph, receiver), self.edges(rows).mean(dim=1), accumulate=True)


class EdgeValues(nn.Module):
    """What attention carries beside the values, along edges: edges "via aggregation" of Table 5.

    Node i gets :math:`\\sum_j A_{ij} e_{ij}` over the edges into it, each head on its own channels.
    The paper does not spell this variant out; this is our reading. The weights are those from
    before attention's dropout.

    Shapes:
        attention: ``[B, H, N, N]``; edges: of :func:`flat_edges`
        returns: ``[B, N, d]``
    """

    def __init__(self, num_edge_types: int, d_model: int, num_heads: int):
        super().__init__()
        self.num_heads = num_heads
        self.edges = nn.Embedding(num_edge_types, d_model)

    def forward(self, attention: Tensor, edges: tuple[Tensor, ...]) -> Tensor:
        graph, receiver, sender, rows = edges
        e = self.edges(rows).mean(dim=1).unflatten(-1, (self.num_heads, -1))  # [E, H, K]
        weight = attention[graph, :, receiver, sender]  # [E, H]
        message = (weight[:, :, None] * e).flatten(1)
        z = message.new_zeros(attention.shape[0], attention.shape[2], message.shape[1])
        return z.index_put((graph, receiver), message, accumulate=True)


def flat_edges(batch: GraphBatch, num_edge_types: int) -> tuple[Tensor, ...]:
    """All edges of a batch beside each other: graph, receiver and sender ``[E]``, rows ``[E, F]``.

    The receiver of an edge is the node that it leads to, as in PyG. (Distances and paths are read
    the other way, from the node that listens; without directions it is all the same.)

    Raises:
        ValueError: the edges have no features, or a category has no row among the types.
    """
    if batch.edge_attr is None:
        raise ValueError("the graphs have no edge_attr; expected the categories of edges.")
    graph, sender, receiver = batch.adjacency.nonzero(as_tuple=True)
    rows = category_rows(batch.edge_attr[batch.adjacency], "edge_attr", num_edge_types)
    return graph, receiver, sender, rows
