r"""What two nodes are to each other (Park et al., 2022, Sections 4 and 4.3): rows of a few tables.

A pair has a distance and perhaps an edge. The paper gives each its own vector,
:math:`\mathcal{P}_{\psi(i,j)} + \mathcal{E}_{e_{ij}}`. Only few of the sums occur, because nodes
have an edge where they are one step apart and nowhere else. These sums are the *relations* of a
model, T in all: a node to itself, each type of edge, each distance from 2 to L, farther,
unreachable, and [VNode] to a node.

Shapes: B graphs, N nodes (padded), H heads, d width.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.batch import UNREACHABLE, GraphBatch
from gtcourse.models.categories import combinations, edges_alone
from gtcourse.models.node_encodings import read_encoding
from gtcourse.models.waiting import refuse


class RelationTables(NamedTuple):
    r"""A vector for each of T relations, by what meets it; None for a term that is left out.

    Attributes:
        key: ``[T, d]``, met by queries: :math:`\mathcal{P}^\text{key} + \mathcal{E}^\text{key}` of
            Eq. 6; query: ``[T, d]``, met by keys (Eq. 7); value: ``[T, d]``, added to values
            (Eq. 9).
        bias: ``[T, H]``, met by nothing: Graphormer's scalars (Eq. 4).
    """

    key: Tensor | None = None
    query: Tensor | None = None
    value: Tensor | None = None
    bias: Tensor | None = None


class RelationEmbedding(nn.Module):
    r"""The vectors of all relations: a table for distances and one for edges.

    Args:
        num_edge_types: E; max_distance: L, longer distances share :math:`\mathcal{P}_\text{far}`;
        width: d, or H for scalars.

    Attributes:
        distances: rows 0 to L, far, unreachable, virtual; edges: rows 0 to E - 1, no edge, self,
            virtual.

    Shapes:
        returns: ``[T, width]``
    """

    def __init__(self, num_edge_types: int, max_distance: int, width: int):
        super().__init__()
        self.max_distance = max_distance
        self.distances = nn.Embedding(max_distance + 4, width)
        self.edges = nn.Embedding(num_edge_types + 3, width)

    def forward(self) -> Tensor:
        P, E = self.distances.weight, self.edges.weight
        no, itself, virtual = E[-3], E[-2], E[-1]
        far = self.max_distance + 1  # where L = 0, the ends of an edge are far as well
        rows = P[:1] + itself, P[1:2] + E[:-3], P[min(2, far) : -1] + no, P[-1:] + virtual
        return torch.cat(rows)


class Relations(nn.Module):
    """Which relation each pair of tokens has.

    Row i is the query's: the distance and the edge are those from i to j. [VNode], where there is
    one, is token 0. Distances are those of the graph without it.

    Args:
        edge_types: categories of each column of ``edge_attr``; each combination is a type of edge.
            Empty where edges have no features: all are of one type.
        edge_step: where ``edge_attr`` holds numbers instead: those from n to n + 1 times this are
            of type n, and what is larger than the last type's is of the last type.
        max_distance: L; virtual_node: whether there is one.

    Attributes:
        num_edge_types: E; num_relations: T.

    Shapes:
        batch.adjacency: ``[B, N, N]``; batch.encodings["distance"]: ``[B, N, N]``, exact up to
            L + 1; batch.edge_attr: ``[B, N, N, F]``, where there are types
        returns: ``[B, N, N]``, or ``[B, N + 1, N + 1]`` with [VNode]

    Raises:
        ValueError: in the forward pass, where distances or ``edge_attr`` are not what is described.

    Differs from the authors' code: there distances ignore the edges' directions, L and more is far,
    a node's edge to itself is *no*, and a bond that is listed twice is two steps long.
    """

    def __init__(
        self,
        edge_types: tuple[int, ...],
        edge_step: float | None,
        max_distance: int,
        virtual_node: bool,
    ):
        super().__init__()
        self.edge_types, self.edge_step = edge_types, edge_step
        self.max_distance, self.virtual_node = max_distance, virtual_node
        self.num_edge_types = math.prod(edge_types)
        # Itself, the types of edges, distances 2 to L, far, unreachable and [VNode].
        self.num_relations = 1 + self.num_edge_types + max(max_distance - 1, 0) + 3

    def forward(self, batch: GraphBatch) -> Tensor:
        far = self.num_relations - 3
        distance = self._distances(batch)
        relation = (distance + self.num_edge_types - 1).clamp(max=far)  # two steps come after E
        relation = relation.masked_fill(distance == UNREACHABLE, far + 1)
        relation = torch.where(batch.adjacency, 1 + self._type(batch), relation)
        relation.diagonal(dim1=1, dim2=2).fill_(0)  # a loop is no edge to another
        if self.virtual_node:
            relation = F.pad(relation, (1, 0, 1, 0), value=far + 2)
            relation[:, 0, 0] = 0
        return relation

    def _distances(self, batch: GraphBatch) -> Tensor:
        distance = read_encoding(batch, "distance").long()
        refuse(
            (distance == 1) & ~batch.adjacency & batch.pair_mask,
            "distance is 1 for a pair without an edge; expected the steps of a shortest path "
            "from i to j along the edges, as AddShortestPaths() has them.",
        )
        return distance

    def _type(self, batch: GraphBatch) -> Tensor:
        """The type of each edge, ``[B, N, N]``, 0 to E - 1; anything elsewhere."""
        if not self.edge_types:
            return torch.zeros_like(batch.adjacency, dtype=torch.long)
        if batch.edge_attr is None:
            raise ValueError(
                "the graphs have no edge_attr; expected it, or num_edge_types = () in the model."
            )
        values = edges_alone(batch)
        if self.edge_step is not None:
            return self._cut_off(values)
        return combinations(values, "edge_attr", self.edge_types)

    def _cut_off(self, values: Tensor) -> Tensor:
        if not values.is_floating_point() or values.shape[-1] != 1:
            raise ValueError(
                f"edge_attr has {values.shape[-1]} columns of {values.dtype}; expected one of "
                "floating point for edge_step."
            )
        wrong = ~(values >= 0)
        refuse(
            wrong,
            lambda: f"edge_attr holds {float(values[wrong][0])}; expected numbers from 0 on.",
        )
        types = values[..., 0] * (
            1 / self.edge_step
        )  # 0.3 * 10 is 3, but 0.3 / 0.1 is a little less
        return types.clamp(max=self.num_edge_types - 1).long()
