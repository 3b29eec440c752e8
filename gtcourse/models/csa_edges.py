r"""What a pair of nodes is to CSA (Menegaux et al., 2023, Sections 3.3 and 3.4).

Shapes: B graphs, N nodes (padded), R rows of them, H heads, d width, p steps.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.batch import UNREACHABLE, GraphBatch
from gtcourse.models.categories import ALL, combinations, edges_alone
from gtcourse.models.csa_filters import EdgeTerms
from gtcourse.models.node_encodings import read_encoding

Relative = Literal[None, "walks", "distances"]
Rings = Literal[None, "additive", "categorical"]


class BondEncoding(nn.Module):
    r""":math:`E^\text{bond}`: the edge's vector, that of a node with itself, or of no edge.

    (CSA, Eq. 8.) A loop that is among the edges keeps its edge's vector.

    Args:
        edge_types: categories of each column of ``edge_attr``, whose vectors are added; empty where
            edges have no features: all have the same vector.
        width: of the vectors.
        with_rings: whether a pair's category is one of edge *and* ring, the Cartesian product of
            Section 3.4: pairs on a common ring have a second set of vectors.

    Shapes:
        batch.edge_attr: ``[B, N, N, F]``, where there are types; batch.encodings["ring"]: ``[B, N,
            N]`` bool, where rings are read
        returns: ``[B, R, N, width]``
    """

    def __init__(self, edge_types: tuple[int, ...], width: int, with_rings: bool = False):
        super().__init__()
        self.edge_types, self.with_rings = edge_types, with_rings
        sets = 1 + with_rings
        self.edges = nn.Embedding(sets * sum(edge_types or (1,)), width)
        self.no_edge = nn.Embedding(sets, width)
        self.itself = nn.Embedding(1, width)

    def forward(self, batch: GraphBatch, rows: slice = ALL) -> Tensor:
        edge = batch.adjacency[:, rows]
        ring = read_ring(batch, rows) if self.with_rings else torch.zeros_like(edge)
        types = math.prod(self.edge_types)
        # The rows of one table: types without a ring, types on one, no edge, itself.
        of_edge = self._type(batch, rows) + types * ring.long()
        kind = torch.where(edge, of_edge, 2 * types + ring.long())
        nodes = torch.arange(edge.shape[-1], device=edge.device)
        loops = (nodes[rows, None] == nodes) & ~edge
        return F.embedding(kind.masked_fill(loops, 2 * types + 2), self._table())

    def _table(self) -> Tensor:
        """A vector for each combination of the columns' categories, and for the rest."""
        sets = self.edges.weight.unflatten(0, (1 + self.with_rings, -1))  # [sets, types, width]
        table = sets.new_zeros(len(sets), 1, sets.shape[-1])
        for column in sets.split(list(self.edge_types or (1,)), dim=1):
            # As combinations() counts: the first column in ones.
            table = (column[:, :, None] + table[:, None]).flatten(1, 2)
        table = table.expand(2, -1, -1).flatten(0, 1)
        return torch.cat([table, self.no_edge.weight.expand(2, -1), self.itself.weight])

    def _type(self, batch: GraphBatch, rows: slice) -> Tensor:
        """The combination of each edge's categories, ``[B, R, N]``; anything elsewhere."""
        if not self.edge_types:
            return torch.zeros_like(batch.adjacency[:, rows], dtype=torch.long)
        if batch.edge_attr is None:
            raise ValueError(
                "the graphs have no edge_attr; expected it, or num_edge_types = () in the model."
            )
        return combinations(edges_alone(batch, rows), "edge_attr", self.edge_types)


class DistanceEncoding(nn.Module):
    r""":math:`E^\text{SPDE}`: a vector for each length of a shortest path (CSA, Eq. 11).

    Args:
        steps: p; farther and unreachable pairs share a vector, and a node has one with itself.

    Shapes:
        batch.encodings["distance"]: ``[B, N, N]``, exact up to p
        returns: ``[B, R, N, width]``

    Differs from the authors' code, in which distances of 4 and more have another's vector by
    mistake, and unreachable pairs none.
    """

    def __init__(self, steps: int, width: int):
        super().__init__()
        self.vectors = nn.Embedding(steps + 2, width)  # itself, 1 to p, the rest

    def forward(self, batch: GraphBatch, rows: slice = ALL) -> Tensor:
        rest = self.vectors.num_embeddings - 1
        distance = read_encoding(batch, "distance")[:, rows].long()
        return self.vectors(distance.masked_fill(distance == UNREACHABLE, rest).clamp(max=rest))


class PairWalkEncoding(nn.Module):
    r""":math:`E^\text{RWSE}`: linear in the chances of 1 … p steps from i to j.

    (CSA, Eq. 12, a case of CSA, Eq. 10.) With a bias, as in the authors' code; the
    paper has none.

    Shapes:
        batch.encodings["random_walks"]: ``[B, N, N, p]``
        returns: ``[B, R, N, width]``
    """

    def __init__(self, steps: int, width: int):
        super().__init__()
        self.projection = nn.Linear(steps, width)

    def forward(self, batch: GraphBatch, rows: slice = ALL) -> Tensor:
        walks = read_encoding(batch, "random_walks", self.projection.in_features)[:, rows]
        return self.projection(walks.to(self.projection.weight.dtype))


class PairEncoding(nn.Module):
    r""":math:`E^{(0)} = E^\text{bond} \,\|\, E^\text{RPE}` (CSA, Eq. 9), half of the width each.

    Args:
        edge_types: of :class:`BondEncoding`; d_model: d.
        relative: "walks" (Eq. 12), "distances" (Eq. 11), or None: all of the width for the bonds.
        steps: p of the relative encoding.
        rings: "additive" adds a vector for whether i and j are on a common ring (Section 3.4);
            "categorical" has it in the bonds' categories; None does not look.

    Shapes:
        returns: ``[B, R, N, d]``
    """

    def __init__(
        self,
        edge_types: tuple[int, ...],
        d_model: int,
        relative: Relative,
        steps: int,
        rings: Rings,
    ):
        super().__init__()
        of_relative = 0 if relative is None else d_model // 2
        self.bonds = BondEncoding(edge_types, d_model - of_relative, rings == "categorical")
        encodings = {"walks": PairWalkEncoding, "distances": DistanceEncoding}
        self.relative = encodings[relative](steps, of_relative) if relative else None
        self.ring = nn.Embedding(2, d_model) if rings == "additive" else None

    def forward(self, batch: GraphBatch, rows: slice = ALL) -> Tensor:
        E = self.bonds(batch, rows)
        if self.relative is not None:
            E = torch.cat([E, self.relative(batch, rows)], dim=-1)
        return E if self.ring is None else E + self.ring(read_ring(batch, rows).long())


class EdgeMaps(nn.Module):
    r"""Logits :math:`E_{ij}` and values :math:`E^\text{value}_{ij}`, linear in :math:`E^{(0)}`.

    Args:
        d_model: d; logits: of a pair, d, or H for monochrome attention.
        values: whether there are any (Eq. 7).
        bias: as the authors have it where all layers share the maps.

    Shapes:
        E: ``[B, R, N, d]``; returns: ``[B, d, R, N]`` (or ``[B, H, R, N]``) and ``[B, d, R, N]``
    """

    def __init__(self, d_model: int, logits: int, values: bool, bias: bool):
        super().__init__()
        self.logits = nn.Linear(d_model, logits, bias=bias)
        self.values = nn.Linear(d_model, d_model, bias=bias) if values else None

    def forward(self, E: Tensor) -> EdgeTerms:
        values = None if self.values is None else _channels_first(self.values, E)
        return EdgeTerms(_channels_first(self.logits, E), values)


def _channels_first(linear: nn.Linear, E: Tensor) -> Tensor:
    """The linear map of ``[B, R, N, d]``, made as ``[B, width, R, N]``, without a copy."""
    weight, pairs = linear.weight.expand(len(E), -1, -1), E.flatten(1, 2).mT
    if linear.bias is None:
        mapped = torch.bmm(weight, pairs)
    else:
        mapped = torch.baddbmm(linear.bias[:, None], weight, pairs)
    return mapped.unflatten(-1, E.shape[1:3])


def read_ring(batch: GraphBatch, rows: slice = ALL) -> Tensor:
    """Whether i and j are on a common ring, ``[B, R, N]`` bool (CSA, Eq. 13)."""
    return read_encoding(batch, "ring")[:, rows].bool()
