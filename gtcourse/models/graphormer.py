r"""Graphormer (Ying et al., 2021): a Transformer whose attention logits depend on the graph.

Three encodings add the graph to a Transformer. The degrees of a node are embedded and added to its
vector (Eq. 5). The distance of two nodes (Eq. 6) and the edges on a shortest path between them (Eq.
7) are embedded and added to the attention's logits; they are computed once, and all layers share
them. One more token, [VNode], attends to all nodes, and the prediction for a graph is read from it.

Weights start as in the authors' code. Tables and single vectors have a standard deviation of 0.02,
the matrices of linear maps one of 0.02 / √L, and biases are 0. Classes draw their own parameters
when they are built; :class:`Graphormer` then draws all tables and linear maps anew.

"The authors' code" is that of the repository microsoft/Graphormer in 2021.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph; smaller graphs are padded
    H: attention heads
    d: width of a node's vector
    K: width of a head, d / H
    L: layers
    F: columns of features
    P: edges of a path that are read
    C: targets, or classes, of a prediction

[VNode] is token 0 of 1 + N. Entry [i, j] of a pair tensor is about the way from i to j. In logits
and attention token i is the query, which receives, and token j the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.arguments import check_choice, whole_number
from gtcourse.graphs.batch import UNREACHABLE, GraphBatch, has_lowered_distances
from gtcourse.graphs.check import check_batch
from gtcourse.models.attention import AttentionProjections, over_heads, scaled_dot_product_attention
from gtcourse.models.categories import (
    CategoryEmbedding,
    NumberEmbedding,
    can_read,
    edge_features,
    feature_embedding,
    real_edge_features,
    real_node_features,
)
from gtcourse.models.config import (
    Categories,
    GraphConfig,
    NotNegativeInt,
    PositiveInt,
    Probability,
    check_given,
    list_of_modules,
)
from gtcourse.models.mlp import mlp


@dataclass(frozen=True)
class GraphormerConfig(GraphConfig):
    """Data, sizes and variants. The defaults are the slim model of Table 10 for ZINC.

    The categories are those of ZINC and of the molecules that come with the package.
    """

    num_node_types: Categories = (28,)  #: categories in each column of x
    num_edge_types: Categories = (4,)  #: categories in each column of edge_attr
    num_targets: PositiveInt = 1  #: numbers in a prediction, C
    d_model: PositiveInt = 80  #: width of a node's vector, d
    num_heads: PositiveInt = 8  #: attention heads, H
    num_layers: PositiveInt = 12  #: layers
    d_hidden: PositiveInt | None = None  #: inner width of the feed-forward network; by default d
    #: after attention, as in the authors' code, and after the feed-forward network
    dropout: Probability = 0.1
    attention_dropout: Probability = 0.1  #: of attention weights
    input_dropout: Probability = 0.0  #: of the tokens before the first layer
    #: largest distance with a scalar of its own; may be set only with ``spatial``
    max_distance: NotNegativeInt = 38
    #: largest number of edges into a node, and out of it, that has a vector of its own; both may be
    #: set only with ``centrality``
    max_in_degree: NotNegativeInt = 63
    max_out_degree: NotNegativeInt = 63
    #: places on a path that have a vector w_n (Eq. 7), P or more; as in the authors' code there are
    #: some beyond the P that are read; may be set only with ``edges="bias"``, and so may P
    path_positions: PositiveInt = 40
    max_path_length: PositiveInt = 20  #: edges of a path that are read, P
    centrality: bool = True  #: whether degrees are added to the nodes (Eq. 5)
    spatial: bool = True  #: whether distances are added to the logits (Eq. 6)
    #: where features of edges enter (Table 5): in the logits (Eq. 7), in the nodes, in the values,
    #: or nowhere
    edges: Literal["bias", "node", "aggregation"] | None = "bias"
    num_node_features: NotNegativeInt = 0  #: columns of x, if it holds numbers instead
    num_edge_features: NotNegativeInt = 0  #: columns of edge_attr, if it holds numbers instead
    target: Literal["graph", "node"] = "graph"  #: what gets a prediction

    def __post_init__(self) -> None:
        super().__post_init__()
        unread = unread_sizes(
            centrality=self.centrality, spatial=self.spatial, reads_paths=self.edges == "bias"
        )
        self.check_unread(unread)
        if self.edges == "bias":
            check_positions(self.path_positions, self.max_path_length)

    @classmethod
    def complete(cls, recorded: Mapping[str, str]) -> dict[str, str]:
        """Recorded fields as today's release writes them.

        Until 0.18 the sizes of an encoding could be set where another field switches it off.
        """
        fields = super().complete(recorded)
        unread = unread_sizes(
            centrality=fields["centrality"] == "True",
            spatial=fields["spatial"] == "True",
            reads_paths=fields["edges"] == repr("bias"),
        )
        defaults = cls.defaults()
        return fields | {name: repr(defaults[name]) for name in unread}


def unread_sizes(*, centrality: bool, spatial: bool, reads_paths: bool) -> dict[str, str]:
    """The sizes that no module reads, and for each the field because of which it is not read.

    Args:
        centrality: Whether degrees are added to the nodes (Eq. 5).
        spatial: Whether distances are added to the logits (Eq. 6).
        reads_paths: Whether the edges of paths are added to the logits (Eq. 7).
    """
    unread = {}
    if not centrality:
        unread["max_in_degree"] = "centrality is False"
        unread["max_out_degree"] = "centrality is False"
    if not spatial:
        unread["max_distance"] = "spatial is False"
    if not reads_paths:
        unread["path_positions"] = "edges is not 'bias'"
        unread["max_path_length"] = "edges is not 'bias'"
    return unread


def check_positions(positions: int, max_length: int) -> None:
    """Raises a ValueError if there are fewer vectors w_n (Eq. 7) than edges of a path are read."""
    if positions < max_length:
        raise ValueError(
            f"there are {positions} positions on a path and {max_length} of its edges are read; "
            "expected at least as many positions as edges."
        )


# Section 3.1.1: centrality encoding


class CentralityEncoding(nn.Module):
    r"""A vector for the number of edges into a node, and one for the number of edges out of it.

    .. math:: h_i^{(0)} = x_i + z^-_{\deg^-(v_i)} + z^+_{\deg^+(v_i)}

    (Graphormer, Eq. 5.) Nodes beyond the largest degree share its vectors. Differs from the
    authors' code, which looks both up by the same degree.

    Args:
        max_in_degree: Largest number of edges into a node with a vector of its own.
        max_out_degree: Largest number of edges out of a node with a vector of its own.
        d_model: Width of a node's vector, d.
    """

    def __init__(self, max_in_degree: int, max_out_degree: int, d_model: int):
        super().__init__()
        max_in_degree = whole_number("max_in_degree", max_in_degree, 0)
        max_out_degree = whole_number("max_out_degree", max_out_degree, 0)
        self.incoming = nn.Embedding(max_in_degree + 1, d_model)
        self.outgoing = nn.Embedding(max_out_degree + 1, d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        """Reads the encodings of ``AddDegrees()``, ``[B, N]`` each; returns ``[B, N, d]``."""
        max_in_degree = self.incoming.num_embeddings - 1
        max_out_degree = self.outgoing.num_embeddings - 1
        # Clamped at 0 too, because padding may hold any number.
        in_degree = batch.encoding("in_degree").clamp(0, max_in_degree)  # [B, N]
        out_degree = batch.encoding("out_degree").clamp(0, max_out_degree)  # [B, N]
        return self.incoming(in_degree) + self.outgoing(out_degree)  # [B, N, d]


# Section 3.1.2: spatial encoding


class SpatialEncoding(nn.Module):
    r"""A learned scalar :math:`b_{\phi(i,j)}` for each distance and head (Graphormer, Eq. 6).

    It tells the graphs of Graphormer, Figure 2, apart. The paper writes one scalar, its code learns
    one for each head. Distances beyond the largest share its scalars. Row 0 of ``scalars`` is for
    pairs without a path, and row :math:`\phi + 1` for distance :math:`\phi`.

    Args:
        num_heads: Attention heads, H.
        max_distance: Largest distance with a scalar of its own.
    """

    def __init__(self, num_heads: int, max_distance: int):
        super().__init__()
        max_distance = whole_number("max_distance", max_distance, 0)
        self.scalars = nn.Embedding(max_distance + 2, num_heads)

    def forward(self, batch: GraphBatch) -> Tensor:
        """Reads the encoding "distance", ``[B, N, N]``; returns ``[B, H, N, N]``."""
        return self.of(batch.encoding("distance"))

    def of(self, distance: Tensor) -> Tensor:
        """Looks up the scalars of distances that do not come from a batch.

        Args:
            distance: The distance from i to j, ``[B, N, N]``, -1 where there is no path.

        Returns:
            ``[B, H, N, N]``.
        """
        last_row = self.scalars.num_embeddings - 1
        # Clamped at 0 too, because padding may hold any number.
        row = (distance + 1).clamp(0, last_row)  # [B, N, N]; row 0 for -1, no path
        b = self.scalars(row)  # [B, N, N, H]
        return b.permute(0, 3, 1, 2)


# Section 3.1.3: edge encoding


class EdgeEncoding(nn.Module):
    r"""The mean of :math:`x_{e_n} w_n^T` over the edges of a shortest path (Graphormer, Eq. 7).

    .. math:: c_{ij} = \frac{1}{\ell} \sum_{n=1}^{\ell} x_{e_n} w_n^T

    Edge n of the path from i to j has the vector :math:`x_{e_n}`, and place n on a path the vector
    :math:`w_n`. The paper writes N for :math:`\ell`, and the lecture has the sum (CS224W, S11). For
    a node itself, and without a path, :math:`c_{ij}` is 0. As in the authors' code every head has a
    :math:`w_n` of its own, H is also the width of :math:`x_e`, and :math:`x_e` is the mean over the
    columns of the features. Of a path longer than P the first P edges count.

    The mean is computed in three ways that give the same numbers. With the edges of each path,
    :meth:`mean_over_paths` adds up their products. Where the features are categories, all products
    :math:`x_e w_n^T` fit into one :meth:`table`, and the mean of a path is that of some of its
    rows. With the trees of paths, :meth:`mean_along_trees` goes from shorter paths to longer ones.

    Differs from the authors' code, which adds a vector for "no edge" behind a path's end up to the
    longest path of the *batch*, so that a prediction depends on the batch.

    Args:
        num_heads: Attention heads, H.
        num_edge_types: Number of categories of each column of edge_attr, or of its only one; empty
            for numbers.
        positions: Places on a path that have a vector :math:`w_n`.
        max_length: Edges of a path that are read, P.
        reduce: "mean" as in the paper, or "sum" as in the lecture.
        num_edge_features: Columns of edge_attr, if it holds numbers instead.

    Raises:
        ValueError: There are fewer positions than edges that are read, or ``reduce`` is unknown.
    """

    def __init__(
        self,
        num_heads: int,
        num_edge_types: int | tuple[int, ...],
        positions: int,
        max_length: int,
        reduce: Literal["mean", "sum"] = "mean",
        num_edge_features: int = 0,
    ):
        super().__init__()
        check_choice("reduce", reduce, ("mean", "sum"))
        max_length = whole_number("max_length", max_length, 1)
        check_positions(positions, max_length)
        if isinstance(num_edge_types, int):
            num_edge_types = (num_edge_types,)
        self.max_length = max_length
        self.reduce = reduce
        self.edges = feature_embedding("edge", num_edge_types, num_edge_features, num_heads)
        # In place n, positions[n, :, h] is the vector w_n of head h.
        self.positions = nn.Parameter(torch.empty(positions, num_heads, num_heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the vectors of the places; those of the edges are in a module of their own."""
        nn.init.normal_(self.positions, std=0.02)

    def extra_repr(self) -> str:
        return f"max_length={self.max_length}, reduce={self.reduce!r}"

    def forward(self, batch: GraphBatch) -> Tensor:
        """Returns ``[B, H, N, N]``.

        Reads the encoding "distance", exact up to P, and the edges of the paths: "path_edges" of
        ``AddPathEdges(P)``, or else "path_tree", which holds the same paths in N² numbers.

        Raises:
            ValueError: An encoding is missing, or, on the CPU, "path_edges" holds fewer than P
                edges of a path that is longer.
        """
        if "path_tree" in batch.encodings and "path_edges" not in batch.encodings:
            c = self.mean_along_trees(batch)  # [B, N, N, H]
        else:  # without either, this raises an error that names path_edges
            c = self.mean_over_paths(batch)  # [B, N, N, H]
            is_cut = self.has_cut_paths(batch)  # [B]
            if is_cut is not None and not can_read(is_cut):
                # Nothing can be raised here. The prediction for such a graph becomes NaN.
                c = c.masked_fill(is_cut[:, None, None, None], torch.nan)
        if self.reduce == "sum":
            length = batch.encoding("distance").clamp(0, self.max_length)  # [B, N, N]
            c = c * length[..., None]  # without a path, 0 edges are read
        return c.permute(0, 3, 1, 2)

    def has_cut_paths(self, batch: GraphBatch) -> Tensor | None:
        """True for each graph with a path of which fewer edges are stored than are read, ``[B]``.

        None if "path_edges" stores P edges of a path, as many as are read.

        Raises:
            ValueError: On the CPU, there is such a graph.
        """
        stored_length = batch.encoding("path_edges").shape[-2]
        if stored_length >= self.max_length:
            return None
        distance = batch.encoding("distance").masked_fill(~batch.pair_mask, UNREACHABLE)
        longest = distance.amax(dim=(1, 2))  # [B]
        # AddShortestPaths(max_distance=m) stores m for longer paths too, which hides their length.
        is_lowered = has_lowered_distances(distance, batch.adjacency)  # [B]
        is_cut = (longest > stored_length) | is_lowered  # [B]
        if can_read(is_cut) and is_cut.any():
            number = int(is_cut.nonzero()[0])
            more = "more than " if is_lowered[number] else ""
            raise ValueError(
                f"graph {number} of the batch has a path of {more}{int(longest[number])} edges, of "
                f"which path_edges holds the first {stored_length}; expected the first "
                f"{self.max_length}, as AddPathEdges({self.max_length}) stores."
            )
        return is_cut

    def mean_over_paths(self, batch: GraphBatch) -> Tensor:
        """:math:`c_{ij}` from the edges of every path, ``[B, N, N, H]``."""
        distance = batch.encoding("distance").long()  # [B, N, N]
        # P here is the number of edges that are stored, if these are fewer than are read.
        path_edges = batch.encoding("path_edges")[..., : self.max_length, :]  # [B, N, N, P, F]
        place = torch.arange(path_edges.shape[-2], device=distance.device)  # [P]
        is_edge = place < distance[..., None]  # [B, N, N, P]; False everywhere without a path
        if isinstance(self.edges, NumberEmbedding):
            path_edges = path_edges.masked_fill(~is_edge[..., None], 0.0)
            x = self.edges(path_edges)  # [B, N, N, P, H]; 0 beyond the end, as there is no bias
            w = self.positions[: x.shape[-2]]  # [P, H, H]
            total = torch.einsum("bijnk,nkh->bijh", x, w)  # [B, N, N, H]
            length = is_edge.sum(dim=-1, keepdim=True)  # [B, N, N, 1]
            return total / length.clamp(min=1)
        # The edges of a path choose rows of the table of all products, one for each place and
        # column, and c is the mean of these rows. PyTorch calls such a set of rows a bag.
        if can_read(path_edges):
            return self.mean_of_bags(path_edges, is_edge)
        # The length of the list in mean_of_bags depends on values: on an accelerator the program
        # would wait for them, and a compiled model cannot have them.
        return self.mean_of_padded_bags(path_edges, is_edge)

    def mean_of_bags(self, path_edges: Tensor, is_edge: Tensor) -> Tensor:
        """The mean of the table's rows for each path, from a list of the edges of all paths.

        The list leaves out the places beyond the end of a path, which are most of them.

        Args:
            path_edges: Categories of the edges on every path, ``[B, N, N, P, F]``.
            is_edge: True at places before the end of a path, ``[B, N, N, P]``.

        Returns:
            :math:`c_{ij}`, ``[B, N, N, H]``.
        """
        categories = cast(CategoryEmbedding, self.edges)
        table = self.table()  # [P, types + 1, H]
        rows_per_place = table.shape[1]
        edges = path_edges[is_edge]  # [edges of all paths, F]
        categories.check_rows(edges, path_edges, is_edge)
        place = is_edge.nonzero()[:, -1:]  # [edges of all paths, 1]
        rows = categories.rows(edges) + rows_per_place * place  # [edges of all paths, F]
        length = is_edge.sum(dim=-1).flatten()  # [B N²], edges of each path
        edges_before = length.cumsum(0) - length  # [B N²], in the list
        columns = rows.shape[-1]  # F
        # A bag has a row for each edge and column. The mean of an empty bag, of a node itself or
        # without a path, is 0.
        c = F.embedding_bag(
            rows.flatten(), table.flatten(0, 1), offsets=edges_before * columns, mode="mean"
        )  # [B N², H]
        return c.unflatten(0, is_edge.shape[:-1])  # [B, N, N, H]

    def mean_of_padded_bags(self, path_edges: Tensor, is_edge: Tensor) -> Tensor:
        """The same c, from P places of every path; those beyond its end have a row of their own.

        The arguments and what is returned are those of :meth:`mean_of_bags`.
        """
        categories = cast(CategoryEmbedding, self.edges)
        table = self.table()  # [P, types + 1, H]
        rows_per_place = table.shape[1]
        table = F.pad(table.flatten(0, 1), (0, 0, 0, 1))  # [P (types + 1) + 1, H], one more row
        row_beyond = len(table) - 1  # no mean counts it
        # Beyond the end of a path and in padding anything may stand: it is not to be reported.
        path_edges = path_edges.masked_fill(~is_edge[..., None], 0)
        place = torch.arange(is_edge.shape[-1], device=is_edge.device)  # [P]
        rows = categories.rows(path_edges) + rows_per_place * place[:, None]  # [B, N, N, P, F]
        rows = rows.masked_fill(~is_edge[..., None], row_beyond)
        bags = rows.flatten(0, 2).flatten(1)  # [B N², P F]
        c = F.embedding_bag(bags, table, mode="mean", padding_idx=row_beyond)  # [B N², H]
        return c.unflatten(0, is_edge.shape[:-1])  # [B, N, N, H]

    def mean_along_trees(self, batch: GraphBatch) -> Tensor:
        """The same c, ``[B, N, N, H]``, from the last but one node of every path, its parent.

        The path from i to j is the path from i to the parent, and one more edge from the parent to
        j. So the sums of all pairs at distance 1 are computed first, then those at distance 2, each
        from a sum at distance 1, and so on.
        """
        distance = batch.encoding("distance").long()  # [B, N, N]
        parent = batch.encoding("path_tree").long().clamp(min=0)  # [B, N, N]
        B, N, _ = parent.shape
        graph = torch.arange(B, device=parent.device)[:, None, None]  # [B, 1, 1]
        node = torch.arange(N, device=parent.device)  # [N]
        last_edge = edge_features(batch)[graph, parent, node]  # [B, N, N, F], from parent to j
        if isinstance(self.edges, CategoryEmbedding):
            has_last_edge = distance > 0  # [B, N, N]
            self.edges.check_rows(last_edge[has_last_edge], last_edge, has_last_edge)
        last_edge = last_edge.flatten(0, 2)  # [B N², F]
        # The place of the pair (i, parent) among all B N² pairs, of which (i, j) of graph b has the
        # place b N² + i N + j.
        pair_before = (graph * N + node[:, None]) * N + parent  # [B, N, N]
        pair_before = pair_before.flatten()  # [B N²]

        # Pairs without a path stand with those of a node and itself, whose sum is 0.
        length = distance.clamp(min=0).flatten()  # [B N²]
        num_pairs = length.bincount()  # [1 + longest], the pairs of each length from 0
        pairs_by_length = length.argsort().split(num_pairs.tolist())  # their places, by length
        w = self.positions[: self.max_length]  # [P, H, H]
        total = w.new_zeros(B * N * N, w.shape[-1])  # [B N², H]
        # The last edge of a path of length n is in place n - 1, because places count from 0.
        for place, pairs in enumerate(pairs_by_length[1:]):
            sums = total[pair_before[pairs]]  # [pairs, H], of the paths to the parents
            if place < len(w):  # of a longer path the first P edges count
                sums = sums + self.products(last_edge[pairs], place)
            total = total.index_copy(0, pairs, sums)
        c = total / length.clamp(1, len(w))[:, None]  # [B N², H]
        return c.unflatten(0, (B, N, N))

    def products(self, edges: Tensor, place: int) -> Tensor:
        """:math:`x_e w_n^T` of edges at one place: ``[..., F]`` to ``[..., H]``."""
        if isinstance(self.edges, NumberEmbedding):
            return self.edges(edges) @ self.positions[place]  # [..., H]
        table = self.table()[place]  # [types + 1, H]
        of_columns = F.embedding(self.edges.rows(edges), table)  # [..., F, H]
        return of_columns.mean(dim=-2)  # [..., H]

    def table(self) -> Tensor:
        """:math:`x_e w_n^T` for each place, category and head: ``[P, types + 1, H]``.

        The last row of each place is NaN, for an unknown category.
        """
        w = self.positions[: self.max_length]  # [P, H, H]
        products = torch.einsum("ek,nkh->neh", self.edges.weight, w)  # [P, types, H]
        # Under autocast the products are in half precision, in which their means are not to be.
        products = products.to(w.dtype)
        return F.pad(products, (0, 0, 0, 1), value=torch.nan)


# Table 5: the same features of edges elsewhere


def edge_vectors(batch: GraphBatch, edges: CategoryEmbedding | NumberEmbedding) -> Tensor:
    """The vector of each edge, ``[B, N, N, d]``, and zeros elsewhere.

    It is the mean of the vectors of its categories, or a linear map of its numbers.
    """
    e = edges(real_edge_features(batch))  # [B, N, N, d]
    if isinstance(edges, CategoryEmbedding):
        e = e / len(edges.sizes)
    return e.masked_fill(~batch.adjacency[..., None], 0.0)


class NodeEdges(nn.Module):
    """The sum of the vectors of the edges into a node: "via node" of Table 5.

    Args:
        num_edge_types: Number of categories of each column of edge_attr; empty for numbers.
        d_model: Width of a node's vector, d.
        num_edge_features: Columns of edge_attr, if it holds numbers.
    """

    def __init__(self, num_edge_types: tuple[int, ...], d_model: int, num_edge_features: int = 0):
        super().__init__()
        self.edges = feature_embedding("edge", num_edge_types, num_edge_features, d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        """Returns ``[B, N, d]``."""
        return edge_vectors(batch, self.edges).sum(dim=1)  # over the nodes that edges come from


class EdgeValues(nn.Module):
    r"""Vectors of edges that attention adds up as it does values: "via aggregation" of Table 5.

    Node i gets :math:`\sum_j A_{ij} e_{ji}` over the edges from j to it, each head on its own
    channels. The sum is added after the output projection of the attention. The paper does not
    write this out; it is our reading.

    Args:
        num_edge_types: Number of categories of each column of edge_attr; empty for numbers.
        d_model: Width of a node's vector, d.
        num_edge_features: Columns of edge_attr, if it holds numbers.
    """

    def __init__(self, num_edge_types: tuple[int, ...], d_model: int, num_edge_features: int = 0):
        super().__init__()
        self.edges = feature_embedding("edge", num_edge_types, num_edge_features, d_model)

    def forward(self, attention: Tensor, batch: GraphBatch) -> Tensor:
        """Returns ``[B, 1 + N, d]``, zeros for [VNode].

        Args:
            attention: Probabilities before dropout, ``[B, H, 1 + N, 1 + N]``, [VNode] included.
            batch: The graphs.
        """
        H = attention.shape[1]
        e = edge_vectors(batch, self.edges)  # [B, N, N, d]
        e = e.unflatten(-1, (H, -1))  # [B, N, N, H, K]
        between_nodes = attention[..., 1:, 1:]  # [B, H, N, N]
        # Over j; the edge is the one from j to i.
        z = torch.einsum("bhij,bjihk->bihk", between_nodes, e)  # [B, N, H, K]
        z = z.flatten(-2)  # [B, N, d]
        return F.pad(z, (0, 0, 1, 0))  # [B, 1 + N, d]


# Section 3.2: the layer, and [VNode]


class GraphormerAttention(AttentionProjections):
    r"""Self-attention whose logits are shifted for each pair (Graphormer, Eqs. 6 and 7).

    .. math:: A_{ij} = \frac{(h_i W_Q)(h_j W_K)^T}{\sqrt{d / H}} + b_{\phi(v_i, v_j)} + c_{ij}

    Differs from the paper, which writes sqrt(d): its code has sqrt(d / H), as heads need it. The
    arguments are those of :class:`~gtcourse.models.attention.AttentionProjections`.
    """

    def forward(
        self,
        h: Tensor,
        bias: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Lets the nodes attend to each other.

        Args:
            h: Nodes, ``[B, N, d]``.
            bias: b + c, ``[B, H, N, N]`` or what is broadcast to it; -inf where i may not attend.
            mask: True where attention may go, ``[B, N]`` or ``[B, N, N]``. :class:`Graphormer`
                passes none, because its bias is -inf at keys that are padding.
            return_attention: Also return the probabilities before dropout.

        Returns:
            ``[B, N, d]``; with ``return_attention`` also ``[B, H, N, N]``.
        """
        query, key, value = self.project(h, h, h)  # [B, H, N, K] each
        attended = scaled_dot_product_attention(
            query,
            key,
            value,
            mask=over_heads(mask, h, num_heads=self.num_heads),
            bias=bias,
            dropout=self.dropout if self.training else 0.0,
            return_attention=return_attention,
        )
        if isinstance(attended, Tensor):
            return self.output(self.join_heads(attended))
        z, attention = attended  # [B, H, N, K] and [B, H, N, N]
        return self.output(self.join_heads(z)), attention


class GraphormerLayer(nn.Module):
    r"""Attention with a bias, then a feed-forward network (Graphormer, Eqs. 8 and 9).

    .. math::
        h' = \operatorname{MHA}(\operatorname{LN}(h)) + h, \qquad
        h'' = \operatorname{FFN}(\operatorname{LN}(h')) + h'

    With the right weights it computes a step of GIN, GCN or GraphSAGE (Graphormer, Fact 1), or the
    mean of all nodes (Graphormer, Fact 2).

    Args:
        d_model: Width of a node's vector, d.
        num_heads: Attention heads, H.
        d_hidden: Inner width of the feed-forward network; by default d.
        dropout: After attention and after the feed-forward network.
        attention_dropout: Of attention weights.
        num_edge_types: Number of categories of each column of edge_attr, if vectors of the edges
            are to be added to the values (Table 5).
        num_edge_features: Columns of edge_attr, if it holds numbers that are to be added.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_hidden: int | None = None,
        *,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_edge_types: tuple[int, ...] = (),
        num_edge_features: int = 0,
    ):
        super().__init__()
        self.attention = GraphormerAttention(d_model, num_heads, dropout=attention_dropout)
        self.edge_values: EdgeValues | None = None
        if num_edge_types or num_edge_features:
            self.edge_values = EdgeValues(num_edge_types, d_model, num_edge_features)
        d_hidden = d_model if d_hidden is None else d_hidden
        self.feed_forward = mlp(d_model, d_hidden, d_model, activation=nn.GELU)
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        h: Tensor,
        bias: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        edges: GraphBatch | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Updates the nodes, ``[B, N, d]``.

        The arguments and the results are those of :meth:`GraphormerAttention.forward`. ``edges`` is
        the batch whose features of edges are added to the values, if the layer has such vectors.
        """
        normed = self.attention_norm(h)
        if return_attention or self.edge_values is not None:
            z, attention = self.attention(normed, bias, mask=mask, return_attention=True)
        else:  # PyTorch's fused kernels, which never write the attention out
            z = self.attention(normed, bias, mask=mask)
            attention = None
        if self.edge_values is not None:
            check_batch(edges, "a layer with vectors of edges")
            z = z + self.edge_values(attention, edges)
        h = h + self.dropout(z)  # Eq. 8
        h = h + self.dropout(self.feed_forward(self.feed_forward_norm(h)))  # Eq. 9
        return (h, attention) if return_attention else h


class PairBias(nn.Module):
    """The sum of the pair encodings, which is added to the logits of every layer.

    The first row and the first column are [VNode]'s. Their entries are one learned scalar for each
    head (Section 3.2), as in the authors' code. The text allows two, one for each direction.

    Args:
        num_heads: Attention heads, H.
        encodings: Modules that map a batch to ``[B, H, N, N]``, at least one.
    """

    def __init__(self, num_heads: int, encodings: Iterable[nn.Module]):
        super().__init__()
        encodings = list_of_modules("encodings", encodings)
        if not encodings:
            raise ValueError("encodings is empty; expected one encoding of pairs, or more.")
        self.encodings = nn.ModuleList(encodings)
        self.virtual = nn.Parameter(torch.empty(num_heads))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the scalars of [VNode]; the encodings are modules of their own."""
        nn.init.normal_(self.virtual, std=0.02)

    def forward(self, batch: GraphBatch) -> Tensor:
        """Returns ``[B, H, 1 + N, 1 + N]``."""
        first, *others = self.encodings
        bias = first(batch)  # [B, H, N, N]
        for encoding in others:
            bias = bias + encoding(batch)
        N = bias.shape[-1]
        # 1 in the row and in the column of [VNode], 0 between nodes.
        with_virtual = torch.zeros(1 + N, 1 + N, device=bias.device, dtype=bias.dtype)
        with_virtual[0, :] = 1.0
        with_virtual[:, 0] = 1.0
        bias = F.pad(bias, (1, 0, 1, 0))  # [B, H, 1 + N, 1 + N]
        bias = bias + self.virtual[:, None, None] * with_virtual  # [B, H, 1 + N, 1 + N]
        # The encodings leave the heads last in memory, and every layer reads the bias head by head.
        return bias.contiguous()


class Graphormer(nn.Module):
    """The complete model: embeddings, [VNode], layers that share one bias, and a linear head.

    Args:
        config: Data, sizes and variants.
        node_encodings: Modules that map a batch to ``[B, N, d]``, in place of those that the
            configuration asks for.
        pair_encodings: Modules that map a batch to ``[B, H, N, N]``, in place of those that the
            configuration asks for. Encodings that are given keep the weights that they come with.
    """

    def __init__(
        self,
        config: GraphormerConfig,
        node_encodings: Iterable[nn.Module] | None = None,
        pair_encodings: Iterable[nn.Module] | None = None,
    ):
        super().__init__()
        check_given(self, config, GraphormerConfig)
        self.config = config
        d_model = config.d_model
        num_heads = config.num_heads
        edge_types = config.num_edge_types
        edge_numbers = config.num_edge_features
        self.embedding = feature_embedding(
            "node", config.num_node_types, config.num_node_features, d_model, bias=True
        )
        self.virtual_node = nn.Parameter(torch.empty(d_model))

        # The encodings of the configuration are built even if others take their place, so that the
        # layers draw the same random numbers.
        own_node_encodings: list[nn.Module] = []
        if config.centrality:
            degrees = CentralityEncoding(config.max_in_degree, config.max_out_degree, d_model)
            own_node_encodings.append(degrees)
        if config.edges == "node":
            own_node_encodings.append(NodeEdges(edge_types, d_model, edge_numbers))
        own_pair_encodings: list[nn.Module] = []
        if config.spatial:
            own_pair_encodings.append(SpatialEncoding(num_heads, config.max_distance))
        if config.edges == "bias":
            edges_of_paths = EdgeEncoding(
                num_heads,
                edge_types,
                config.path_positions,
                config.max_path_length,
                num_edge_features=edge_numbers,
            )
            own_pair_encodings.append(edges_of_paths)
        nodes = own_node_encodings
        if node_encodings is not None:
            nodes = list_of_modules("node_encodings", node_encodings)
        pairs = own_pair_encodings
        if pair_encodings is not None:
            pairs = list_of_modules("pair_encodings", pair_encodings)
        self.node_encodings = nn.ModuleList(nodes)
        self.bias = PairBias(num_heads, pairs) if pairs else None

        self.dropout = nn.Dropout(config.input_dropout)
        adds_edges_to_values = config.edges == "aggregation"
        self.layers = nn.ModuleList(
            GraphormerLayer(
                d_model,
                num_heads,
                config.d_hidden,
                dropout=config.dropout,
                attention_dropout=config.attention_dropout,
                num_edge_types=edge_types if adds_edges_to_values else (),
                num_edge_features=edge_numbers if adds_edges_to_values else 0,
            )
            for _ in range(config.num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, config.num_targets)
        # Those that were given keep their weights, and are not in these two lists.
        self._draw_small_weights([*own_node_encodings, *own_pair_encodings])

    def reset_parameters(self) -> None:
        """Draws all weights anew, those of given encodings too, as the authors do.

        How they do is said at the top of this module.
        """
        for module in self.modules():
            if isinstance(module, PairBias | EdgeEncoding | nn.LayerNorm | nn.BatchNorm1d):
                module.reset_parameters()
        encodings: list[nn.Module] = [self.node_encodings]
        if self.bias is not None:
            encodings.append(self.bias)
        self._draw_small_weights(encodings)

    def _draw_small_weights(self, encodings: Iterable[nn.Module]) -> None:
        """Draws the tables and the linear maps of the model and of these encodings."""
        nn.init.normal_(self.virtual_node, std=0.02)
        for part in (self.embedding, self.layers, self.head, *encodings):
            for module in part.modules():
                if isinstance(module, nn.Embedding | CategoryEmbedding):
                    nn.init.normal_(module.weight, std=0.02)
                elif isinstance(module, nn.Linear):
                    nn.init.normal_(module.weight, std=0.02 / self.config.num_layers**0.5)
                    if module.bias is not None:
                        nn.init.zeros_(module.bias)

    def check_features(self, x: Tensor, edge_attr: Tensor | None) -> None:
        """Raises a ValueError if a node, ``x [..., F]``, or an edge has an unknown category."""
        self.embedding.check(x)
        for module in self.modules():
            if isinstance(module, EdgeEncoding | NodeEdges | EdgeValues) and edge_attr is not None:
                module.edges.check(edge_attr)

    def forward(
        self,
        batch: GraphBatch,
        *,
        perturbation: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Predicts the target of each graph or node.

        Args:
            batch: Graphs, with the encodings of ``AddDegrees()``, ``AddShortestPaths()`` and
                ``AddPathEdges(P)`` (or ``AddPathTree()``), as the configuration needs them.
            perturbation: Added to the node embeddings, ``[B, N, d]`` (FLAG, Kong et al., 2020).
            return_attention: Also return the attention of all layers.

        Returns:
            The prediction, ``[B, C]`` for graphs or ``[B, N, C]`` for nodes, without the last axis
            if C is 1; with ``return_attention`` also ``[B, L, H, 1 + N, 1 + N]``, where row and
            column 0 are [VNode]'s.

        Raises:
            ValueError: An encoding or the features of edges are missing, or, on the CPU, a
                category is unknown.
        """
        h, attention = self.encode(batch, perturbation, return_attention)
        nodes = h[:, 1:]  # [B, N, d]
        virtual_node = h[:, 0]  # [B, d]
        prediction = self.head(nodes if self.config.target == "node" else virtual_node)
        if self.config.num_targets == 1:
            prediction = prediction.squeeze(-1)
        return prediction if attention is None else (prediction, attention)

    def encode(
        self,
        batch: GraphBatch,
        perturbation: Tensor | None = None,
        return_attention: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """[VNode] and the nodes after all layers, ``[B, 1 + N, d]``, and the attention, or None."""
        h = self.embed(batch)  # [B, N, d]
        if perturbation is not None:
            if perturbation.shape != h.shape:
                raise ValueError(
                    f"perturbation is {list(perturbation.shape)} and the embeddings of the nodes "
                    f"are {list(h.shape)}; expected the same shape."
                )
            h = h + perturbation
        virtual_node = self.virtual_node.expand(h.shape[0], 1, -1)  # [B, 1, d]
        h = self.dropout(torch.cat([virtual_node, h], dim=1))  # [B, 1 + N, d]
        bias = self.attention_bias(batch)  # [B, H, 1 + N, 1 + N]
        attentions = []
        for layer in self.layers:
            if return_attention:
                h, attention = layer(h, bias, edges=batch, return_attention=True)
                attentions.append(attention)
            else:
                h = layer(h, bias, edges=batch)
        h = self.norm(h)
        if not return_attention:
            return h, None
        return h, torch.stack(attentions, dim=1)  # [B, L, H, 1 + N, 1 + N]

    def embed(self, batch: GraphBatch) -> Tensor:
        """Node embeddings and encodings, ``[B, N, d]`` (Eq. 5)."""
        h = self.embedding(real_node_features(batch))  # [B, N, d]
        for encoding in self.node_encodings:
            h = h + encoding(batch)
        return h

    def attention_bias(self, batch: GraphBatch) -> Tensor:
        """What is added to the logits of all layers: ``[B, H, 1 + N, 1 + N]``.

        Columns of padding are -inf, so that no token attends to it; rows of padding are not. A row
        of -inf alone would be NaN after the softmax. There is no such row, because every token may
        attend to [VNode]. Without pair encodings the bias is ``[B, 1, 1, 1 + N]``.
        """
        is_real = F.pad(batch.mask, (1, 0), value=True)[:, None, None, :]  # [B, 1, 1, 1 + N]
        if self.bias is None:
            bias = torch.zeros_like(is_real, dtype=self.virtual_node.dtype)
        else:
            bias = self.bias(batch)
        return bias.masked_fill(~is_real, -torch.inf)
