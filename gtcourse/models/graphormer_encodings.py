"""What Graphormer knows of a graph (Ying et al., 2021, Section 3.1): Eqs. 5, 6 and 7.

Node encodings make ``[B, N, d]`` of a batch and are added to the node embeddings; pair encodings
make ``[B, H, N, N]`` and are added to the attention logits, where :class:`PairBias` says.
Shapes: B graphs, N nodes (padded), H heads, d width, L edges of a path, F and F_e columns of
categories.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.batch import UNREACHABLE, GraphBatch
from gtcourse.models.node_encodings import read_encoding

CATEGORY_STRIDE = 512
"""Rows of a table that belong to one column of categories, as in the authors' code."""


class CentralityEncoding(nn.Module):
    r"""A vector for the number of edges into a node, and one for those out of it (Eq. 5).

    .. math:: h_i^{(0)} = x_i + z^-_{\deg^-(v_i)} + z^+_{\deg^+(v_i)}

    Args:
        max_in_degree, max_out_degree: nodes with more edges share the vectors of these.

    Shapes:
        batch.encodings["in_degree"], ["out_degree"]: ``[B, N]``
        returns: ``[B, N, d]``, the two vectors' sum

    Differs from the authors' code, which looks both up by the same degree.
    """

    def __init__(self, max_in_degree: int, max_out_degree: int, d_model: int):
        super().__init__()
        self.incoming = nn.Embedding(max_in_degree + 1, d_model)
        self.outgoing = nn.Embedding(max_out_degree + 1, d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        tables = {"in_degree": self.incoming, "out_degree": self.outgoing}
        z_in, z_out = (
            table(read_encoding(batch, name).clamp(max=table.num_embeddings - 1))
            for name, table in tables.items()
        )
        return z_in + z_out


class SpatialEncoding(nn.Module):
    r"""A learned scalar :math:`b_{\phi(i,j)}` for each shortest-path distance and head (Eq. 6).

    Args:
        num_heads: H; the paper writes one scalar, its implementation learns one for each head.
        max_distance: longer distances share this one's scalars; pairs without a path have their
            own, in row 0 of ``scalars``, and distance d has row d + 1.

    Shapes:
        batch.encodings["distance"]: ``[B, N, N]``
        returns: ``[B, H, N, N]``
    """

    def __init__(self, num_heads: int, max_distance: int):
        super().__init__()
        self.scalars = nn.Embedding(max_distance + 2, num_heads)

    def forward(self, batch: GraphBatch) -> Tensor:
        return self.of(read_encoding(batch, "distance"))

    def of(self, distance: Tensor) -> Tensor:
        """The scalars of distances ``[B, N, N]``, -1 where j cannot be reached from i."""
        row = (distance - UNREACHABLE).clamp(max=self.scalars.num_embeddings - 1)
        return self.scalars(row).permute(0, 3, 1, 2)


class EdgeEncoding(nn.Module):
    r"""The mean over a shortest path of what each edge means at its place in it (Eq. 7).

    .. math:: c_{ij} = \frac{1}{N} \sum_{n=1}^{N} x_{e_n} (w_n^E)^T

    The categories of edges make :math:`x_e \cdot w_n` a table with a row for each place and
    category; :math:`c_{ij}` is a mean of its rows. Pairs without an edge between them on a path,
    that is i = j and pairs without a path, get 0.

    Args:
        num_heads: H, and the width of :math:`x_e` (d_E) as well; each head has its own w.
        num_edge_types: categories of edges.
        positions: how many vectors :math:`w_n` there are.
        max_length: L, the edges of a path that are read, from i on; N is at most L.

    Shapes:
        batch.encodings["distance"]: ``[B, N, N]``
        batch.encodings["path_edges"]: ``[B, N, N, L', F_e]`` categories; without them
        batch.encodings["path_tree"]: ``[B, N, N]``, and batch.edge_attr ``[B, N, N, F_e]``: the
            same result in N² instead of N² L F_e numbers
        returns: ``[B, H, N, N]``

    Raises:
        ValueError: in the forward pass, where the batch has neither, or a category is too large.

    Differs from the authors' code: nothing is added behind a path's end. There a vector for "no
    edge" is, as often as the longest path of the *batch* has places, so that a molecule's
    prediction depends on its company.
    """

    def __init__(self, num_heads: int, num_edge_types: int, positions: int, max_length: int):
        super().__init__()
        if max_length > positions:
            raise ValueError(
                f"max_path_length is {max_length}; expected at most path_positions = {positions}."
            )
        self.max_length = max_length
        self.edges = nn.Embedding(num_edge_types, num_heads)
        self.positions = nn.Parameter(torch.empty(positions, num_heads, num_heads))
        nn.init.normal_(self.positions, std=0.02)

    def forward(self, batch: GraphBatch) -> Tensor:
        distance = read_encoding(batch, "distance")
        if "path_edges" not in batch.encodings and "path_tree" in batch.encodings:
            mean = self.along_trees(batch.encodings["path_tree"], batch.edge_attr, distance)
        else:
            mean = self.along_paths(read_encoding(batch, "path_edges"), distance)
        return mean.permute(0, 3, 1, 2)

    def table(self) -> Tensor:
        """:math:`x_e \\cdot w_n` for each place, category and head: ``[L, types, H]``."""
        w = self.positions[: self.max_length]
        return torch.einsum("ek,nkh->neh", self.edges.weight, w).to(w.dtype)

    def along_paths(self, path_edges: Tensor, distance: Tensor) -> Tensor:
        """A bag of table rows for each pair: the places that are on its path. ``[B, N, N, H]``"""
        table = self.table()
        path_edges = path_edges[..., : self.max_length, :]
        place = torch.arange(path_edges.shape[-2], device=distance.device)
        on_path = place < distance[..., None]
        edges = category_rows(path_edges[on_path], "path_edges", table.shape[1])  # [paths, F_e]
        rows = place.expand(on_path.shape)[on_path][:, None] * table.shape[1] + edges
        ends = (distance.clamp(0, len(place)) * rows.shape[1]).flatten().cumsum(0)
        starts = F.pad(ends[:-1], (1, 0))
        mean = F.embedding_bag(rows.flatten(), table.flatten(0, 1), starts, mode="mean")
        return mean.unflatten(0, distance.shape)

    def along_trees(self, path_tree: Tensor, edge_attr: Tensor | None, distance: Tensor) -> Tensor:
        """Sums along paths, near pairs first: each is its parent's sum and one edge more."""
        table = self.table()
        if edge_attr is None:
            raise ValueError("the graphs have no edge_attr; expected the categories of edges.")
        in_level = torch.zeros_like(distance)  # the place of a pair among those of its distance
        total = table.new_zeros(distance.numel(), table.shape[-1])
        pairs, means = [], []
        for length in range(1, int(distance.max()) + 1):
            graph, i, j = pair = (distance == length).nonzero(as_tuple=True)
            k = path_tree[pair].long()
            total = total[in_level[graph, i, k]]
            if length <= self.max_length:
                rows = category_rows(edge_attr[graph, k, j], "edge_attr", table.shape[1])
                total = total + table[length - 1][rows].mean(dim=1)
            in_level[pair] = torch.arange(len(i), device=distance.device)
            pairs.append(pair)
            means.append(total / min(length, self.max_length))
        mean = table.new_zeros(*distance.shape, table.shape[-1])
        if not means:
            return mean
        index = tuple(torch.cat(axis) for axis in zip(*pairs, strict=True))
        return mean.index_put(index, torch.cat(means))


class NodeEdges(nn.Module):
    """The features of the edges into a node, summed: edges "via node" of Table 5.

    Shapes:
        batch.edge_attr: ``[B, N, N, F_e]`` categories
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

    Node i gets :math:`\\sum_j A_{ij} e_{ij}` over its edges, each head on its own channels. The
    paper does not spell this variant out; this is our reading.

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


class PairBias(nn.Module):
    r"""The one place where structure enters attention: computed once, added in every layer.

    The sum of the pair encodings, with a first row and column for [VNode], whose pairs all have one
    learned scalar for each head instead (Section 3.2).

    Args:
        num_heads: H.
        encodings: modules that make ``[B, H, N, N]`` of a batch; at least one.

    Shapes:
        returns: ``[B, H, N + 1, N + 1]``
    """

    def __init__(self, num_heads: int, encodings: Iterable[nn.Module]):
        super().__init__()
        self.encodings = nn.ModuleList(encodings)
        self.virtual = nn.Parameter(torch.empty(num_heads))
        nn.init.normal_(self.virtual, std=0.02)

    def forward(self, batch: GraphBatch) -> Tensor:
        nodes = sum(encoding(batch) for encoding in self.encodings)
        bias = F.pad(nodes, (1, 0, 1, 0))
        virtual = F.pad(torch.zeros_like(nodes[:1, :1]), (1, 0, 1, 0), value=1.0)
        return (bias + self.virtual[:, None, None] * virtual).contiguous()


def flat_edges(batch: GraphBatch, num_edge_types: int) -> tuple[Tensor, ...]:
    """All edges of a batch beside each other: graph, receiver and sender ``[E]``, rows ``[E, F]``.

    Raises:
        ValueError: the edges have no features, or a category has no row among the types.
    """
    if batch.edge_attr is None:
        raise ValueError("the graphs have no edge_attr; expected the categories of edges.")
    graph, sender, receiver = batch.adjacency.nonzero(as_tuple=True)
    rows = category_rows(batch.edge_attr[batch.adjacency], "edge_attr", num_edge_types)
    return graph, receiver, sender, rows


def category_rows(values: Tensor, name: str, size: int) -> Tensor:
    """The row of each category in one table: value v of column c is row v + 512 c.

    Args:
        values: ``[..., F]`` whole numbers; name: what they are, for the sentence.
        size: rows of the table.

    Raises:
        ValueError: the values are floats, or one has no row.
    """
    if values.is_floating_point():
        raise ValueError(f"{name} is {values.dtype}; expected integer categories.")
    columns = values.shape[-1]
    most = min(size, CATEGORY_STRIDE) if columns > 1 else size
    # Checked here: a category too large would silently be another column, or another place.
    if values.numel() and not 0 <= int(values.min()) <= int(values.max()) < most:
        wrong = values.min() if values.min() < 0 else values.max()
        raise ValueError(f"{name} holds the category {int(wrong)}; expected 0 to {most - 1}.")
    rows = values.long() + CATEGORY_STRIDE * torch.arange(columns, device=values.device)
    if rows.numel() and int(rows.max()) >= size:
        raise ValueError(
            f"{name} has {columns} columns of categories, of which one needs row "
            f"{int(rows.max())}; expected at most {size - 1}."
        )
    return rows
