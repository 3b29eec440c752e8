r"""The pairs of a batch as rows of features, for CSA without gradients and for its form "fused".

:math:`E^{(0)}` of CSA, Eq. 9, is linear in a few features of a pair. They are numbers that depend
on the graph alone: 1 for the bond that the pair has and 0 for each other one, likewise for the
distance and the ring, and the probabilities of walks. One linear map leads from these features to
:math:`E^{(0)}_{ij}`, and another one from there to logits or values. The matrices of the two maps
are multiplied first, so that :math:`E^{(0)}_{ij}`, d numbers for each pair, is never computed.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph; smaller graphs are padded
    P: real pairs of all graphs
    d: width of a node's vector, and of a pair's
    M: features of a pair
    F: columns of an edge's categories
    p: steps of a walk, or the longest distance with a vector of its own
"""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.batch import GraphBatch, clipped
from gtcourse.models.categories import CategoryEmbedding, edge_features
from gtcourse.models.csa import (
    CGT,
    BondEncoding,
    DistanceEncoding,
    EdgeMaps,
    EdgeTerms,
    PairEncoding,
    PairWalkEncoding,
)
from gtcourse.models.fused import Rows


class PairFeatures(NamedTuple):
    r""":math:`E^{(0)}` of the real pairs: ``features @ table + bias``.

    A feature is 1 or 0, for a row of the table that is added or is not, or it is the probability of
    a walk. Features depend on no parameter, while table and bias consist of the encoding's
    parameters.
    """

    features: Tensor  #: of each pair, ``[P, M]``
    table: Tensor  #: a row for each feature, ``[M, d]``
    bias: Tensor  #: that of the map of the walks, and 0 elsewhere, ``[d]``

    def mapped(self, linear: nn.Linear) -> Tensor:
        """A linear map of :math:`E^{(0)}`, ``[P, width]``, without :math:`E^{(0)}` itself.

        For the features f of a pair, two maps in a row are one: W (tableᵀ f + bias) + c is
        (W tableᵀ) f + (W bias + c), and the last bracket is ``linear(self.bias)``.
        """
        weight = linear.weight @ self.table.mT  # [width, M]
        return F.linear(self.features, weight, linear(self.bias))

    def mapped_channels_first(self, linear: nn.Linear, B: int) -> Tensor:
        """The same, channels before pairs, ``[B, width, N²]``; P is B N², padding included."""
        weight = linear.weight @ self.table.mT  # [width, M]
        weight = weight.expand(B, -1, -1)  # [B, width, M]
        features = self.features.unflatten(0, (B, -1)).mT  # [B, M, N²]
        bias = linear(self.bias)[:, None]  # [width, 1]
        return torch.bmm(weight, features).add_(bias)


def pair_features(encoding: PairEncoding, batch: GraphBatch, rows: Rows) -> PairFeatures:
    r"""The features of the real pairs, and the table and bias that give :math:`E^{(0)}`."""
    table, bias = pair_table(encoding)
    return PairFeatures(features_of_pairs(encoding, batch, rows), table, bias)


def features_of_pairs(encoding: PairEncoding, batch: GraphBatch, rows: Rows) -> Tensor:
    """The features of the real pairs, ``[P, M]``, which depend on no value of a parameter."""
    bonds = encoding.bonds
    dtype = bonds.itself.weight.dtype
    # The order is that of the rows in pair_table, first those of edges, of no edge, and of a node
    # and itself.
    num_vectors = len(bonds.edges.weight) + len(bonds.no_edge.weight) + len(bonds.itself.weight)
    bond_rows = _bond_rows(bonds, batch, rows)  # [P, F]
    features = [_one_hot(bond_rows, num_vectors, dtype)]
    if encoding.relative is not None:
        features.append(_relative_features(encoding.relative, batch, rows, dtype))
    if encoding.ring is not None:
        ring = rows.of_pairs(batch.encoding("ring")).long()  # [P]
        features.append(_one_hot(ring[:, None], 2, dtype))
    return torch.cat(features, dim=1)


def pair_table(encoding: PairEncoding) -> tuple[Tensor, Tensor]:
    r"""The parameters that map features to :math:`E^{(0)}`: a table, ``[M, d]``, and a bias."""
    bonds = encoding.bonds
    # A row for each vector of a bond, of d channels, or of d / 2 beside a relative encoding.
    table = torch.cat([bonds.edges.weight, bonds.no_edge.weight, bonds.itself.weight])
    bias = table.new_zeros(table.shape[1])
    relative = encoding.relative
    # E^bond and E^RPE have half of the channels each (Eq. 9): rows of the one are 0 in the other.
    if isinstance(relative, PairWalkEncoding):
        table = torch.block_diag(table, relative.projection.weight.mT)  # p more rows, d channels
        bias = torch.cat([bias, relative.projection.bias])  # [d]
    elif isinstance(relative, DistanceEncoding):
        vectors = relative.vectors.weight  # [p + 2, d / 2]
        table = torch.block_diag(table, vectors)  # p + 2 more rows, d channels
        bias = torch.cat([bias, vectors.new_zeros(vectors.shape[1])])  # [d]
    if encoding.ring is not None:
        table = torch.cat([table, encoding.ring.weight])
    return table, bias


def _relative_features(
    relative: PairWalkEncoding | DistanceEncoding,
    batch: GraphBatch,
    rows: Rows,
    dtype: torch.dtype,
) -> Tensor:
    """The probabilities of walks, ``[P, p]``, or which distance it is, ``[P, p + 2]``."""
    if isinstance(relative, PairWalkEncoding):
        walks = rows.of_pairs(batch.encoding("random_walks")).to(dtype)  # [P, p]
        relative.projection.check(walks)  # here, because the module itself is not called
        return walks
    distance = rows.of_pairs(batch.encoding("distance")).long()  # [P]
    row = clipped(distance, len(relative.vectors.weight) - 1)  # [P]
    return _one_hot(row[:, None], len(relative.vectors.weight), dtype)


def _bond_rows(bonds: BondEncoding, batch: GraphBatch, rows: Rows) -> Tensor:
    """The rows of each pair in the table of its bond, ``[P, F]``.

    The table is that of edges, then that of no edge, then the vector of a node and itself. An edge
    has a row for each of its F columns of categories. Any other pair has one row, F times.
    """
    is_edge = rows.of_pairs(batch.adjacency)  # [P]
    on_ring = torch.zeros_like(is_edge, dtype=torch.long)  # [P]
    if bonds.with_rings:
        on_ring = rows.of_pairs(batch.encoding("ring")).long()  # [P]
    categories = torch.zeros_like(on_ring)[:, None]  # [P, 1], for edges without features
    embedding = cast(CategoryEmbedding, bonds.edges)  # numbers of edges cannot be fused
    if bonds.edge_types:
        features = edge_features(batch)  # [B, N, N, F]
        categories = rows.of_pairs(features).masked_fill(~is_edge[:, None], 0)  # [P, F]
        embedding.check_rows(categories, features, batch.adjacency)
    of_edge = embedding.rows(categories, on_ring)  # [P, F]
    # Behind the rows of edges, one of no edge, or two with rings, and then that of the same node.
    row_of_no_edge = len(bonds.edges.weight)
    row_of_itself = row_of_no_edge + len(bonds.no_edge.weight)
    without_edge = torch.where(rows.is_itself(), row_of_itself, row_of_no_edge + on_ring)  # [P]
    return torch.where(is_edge[:, None], of_edge, without_edge[:, None])


def _one_hot(rows: Tensor, width: int, dtype: torch.dtype) -> Tensor:
    """1 at the rows of each pair, and 0 elsewhere.

    Args:
        rows: One or more rows of each pair, ``[P, k]``; a row that is there twice has 1, too.
        width: Number of rows in all.
        dtype: Of the result.

    Returns:
        ``[P, width]``.
    """
    zeros = torch.zeros(len(rows), width, dtype=dtype, device=rows.device)
    return zeros.scatter_(1, rows, 1.0)


@torch.no_grad()
def terms_of_all_pairs(model: CGT, batch: GraphBatch) -> list[EdgeTerms]:
    """What :meth:`gtcourse.models.CGT.edge_terms` returns, without gradients.

    Pairs with padding have terms as well, which no real node reads.
    """
    rows = Rows(torch.ones_like(batch.mask))  # padding, too: each graph has N² pairs
    pairs = pair_features(model.edge_encoding, batch, rows)
    B, N = batch.mask.shape

    def mapped(linear: nn.Linear) -> Tensor:
        return pairs.mapped_channels_first(linear, B).unflatten(-1, (N, N))  # [B, width, N, N]

    terms = []
    for module in model.edge_maps:
        maps = cast(EdgeMaps, module)
        values = None
        if maps.values is not None:
            values = mapped(maps.values)  # [B, d, N, N]
        terms.append(EdgeTerms(mapped(maps.logits), values))
    return terms
