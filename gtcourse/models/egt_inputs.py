"""What enters EGT (Hussain et al., 2021, Section 3.3): a vector for each node and for each pair.

Shapes: B graphs, N nodes (padded), F features, P pairs that are computed, q virtual nodes, which
come first among the N + q tokens, d and d_e widths.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.batch import UNREACHABLE, GraphBatch
from gtcourse.models import waiting
from gtcourse.models.categories import edges_alone
from gtcourse.models.features import Features
from gtcourse.models.node_encodings import read_encoding
from gtcourse.models.pairs import Pairs


class NodeInput(nn.Module):
    """The nodes' vectors: their features, and a vector that all of them have.

    Args:
        types, features: as of :class:`Features`.

    Shapes:
        batch.x: ``[B, N, F]``; returns: ``[B, N, d]``
    """

    def __init__(self, types: tuple[int, ...], features: int, d_model: int):
        super().__init__()
        self.features = Features(types, features, d_model, "x")
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, batch: GraphBatch) -> Tensor:
        return self.features(batch.x) + self.bias


class EdgeInput(nn.Module):
    r"""The pairs' vectors: one for the structure, and one for the edge between them or its absence.

    Structure is the adjacency with self-loops, 0 or 1, or the distance clipped at k, 0 to k, where
    unreachable is k as well. (The authors' first code gives distances 0 and 1 one vector and
    unreachable another than k; there are as many.) A virtual node i has a vector :math:`\tilde e_i`
    for all its pairs with nodes, and :math:`(\tilde e_i + \tilde e_j) / 2` with a virtual node j.

    Args:
        types, features: as of :class:`Features`, of the edges; where both are empty the edges have
            no features, and no masking vector stands in their place.
        max_distance: k; None for the adjacency.
        virtual_nodes: q.

    Shapes:
        batch.adjacency: ``[B, N, N]``; batch.edge_attr: ``[B, N, N, F]``;
            batch.encodings["distance"]: ``[B, N, N]`` where it is the structure
        pairs: of the q + N tokens
        returns: ``[P, d_e]``
    """

    def __init__(
        self,
        types: tuple[int, ...],
        features: int,
        d_edge: int,
        max_distance: int | None = None,
        virtual_nodes: int = 0,
    ):
        super().__init__()
        self.max_distance, self.virtual_nodes = max_distance, virtual_nodes
        self.structure = nn.Embedding(2 if max_distance is None else max_distance + 1, d_edge)
        self.virtual = nn.Parameter(torch.empty(virtual_nodes, d_edge)) if virtual_nodes else None
        self.features = self.no_edge = None
        if types or features:
            self.features = Features(types, features, d_edge, "edge_attr")
            self.no_edge = nn.Parameter(torch.empty(d_edge))

    def forward(self, batch: GraphBatch, pairs: Pairs) -> Tensor:
        rows, table = self._with_virtual(self._structure(batch), self.structure.weight)
        e = F.embedding(pairs.pack(rows), table)
        if self.features is None:
            return e
        edge, real = (pairs.pack(self._padded(pair)) for pair in (batch.adjacency, batch.pair_mask))
        e = e + self.no_edge * (real & ~edge)[:, None]
        if batch.edge_attr is None or (pairs.index is None and not waiting.may_wait(edge)):
            attributes = None if batch.edge_attr is None else edges_alone(batch)
            features = self.features(attributes) * batch.adjacency[..., None]
            q = self.virtual_nodes
            return e + pairs.pack(F.pad(features, (0, 0, q, 0, q, 0))).to(e.dtype)
        # In a batch's row-major order the edges are in the order of the table's rows.
        features = self.features(batch.edge_attr[batch.adjacency])
        return e.index_add(0, edge.nonzero().squeeze(1), features.to(e.dtype))

    def _structure(self, batch: GraphBatch) -> Tensor:
        """``[B, N, N]``, the row of each pair in the table."""
        if self.max_distance is None:
            loops = torch.eye(batch.mask.shape[1], dtype=torch.bool, device=batch.mask.device)
            return (batch.adjacency | loops).long()
        distance = read_encoding(batch, "distance")
        farthest = distance == UNREACHABLE
        return distance.masked_fill(farthest, self.max_distance).clamp(max=self.max_distance)

    def _with_virtual(self, rows: Tensor, table: Tensor) -> tuple[Tensor, Tensor]:
        """Rows ``[B, q + N, q + N]`` for all tokens, and the longer table that they are of."""
        q, first = self.virtual_nodes, len(table)
        if q == 0:
            return rows, table
        number = torch.arange(q, device=rows.device)
        rows = self._padded(rows)
        rows[:, :q, q:] = first + number[:, None]
        rows[:, q:, :q] = first + number
        rows[:, :q, :q] = first + q + q * number[:, None] + number
        between = (self.virtual[:, None] + self.virtual) / 2  # [q, q, d_e]
        return rows, torch.cat([table, self.virtual, between.flatten(0, 1)])

    def _padded(self, pairs: Tensor) -> Tensor:
        """``[B, N, N]`` to ``[B, q + N, q + N]``."""
        return F.pad(pairs, (self.virtual_nodes, 0, self.virtual_nodes, 0))
