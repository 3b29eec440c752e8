r"""The grid of chapter 10: one small model whose layer, inputs and readout can be exchanged.

Everything else is the same in every cell: the width, the depth, a residual and a layer
normalisation around each layer, the feed-forward network after it, and the head.

The inputs are the bonds, or the bonds and "structure": return probabilities of a random walk,
common rings, and distances. They enter the layers in only two forms:

- A node has a vector, the sum of the vectors of its atom and of its walks.
- A pair of nodes has a *relation*, a whole number that says how the two are bonded and, with
  structure, whether a ring contains both and how far apart they are (:class:`PairRelations`).

Each kind of layer has its own *tables*, which map a relation to the terms that its paper has for a
pair: in Graphormer a bias for each head, in GRPE vectors for the contexts and values, in CSA a
logit and a value for each channel, and in GatedGCN a vector for each bonded pair. All layers of a
model share the tables.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph; 1 + N tokens with [VNode]
    H: attention heads
    d: width of a node's vector
    R: relations
    ΣN: real nodes of all graphs
    ΣE: edges of all graphs
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.encodings import AddRandomWalks, AddRings, AddShortestPaths
from gtcourse.encodings.transform import Encoding
from gtcourse.graphs.arguments import check_choice
from gtcourse.graphs.batch import GraphBatch, clipped
from gtcourse.models import (
    CategoryEmbedding,
    ChromaticSelfAttention,
    EdgeTerms,
    GraphormerAttention,
    GRPEAttention,
    RelationTables,
)
from gtcourse.models.attention import FeedForward
from gtcourse.models.categories import (
    NumberEmbedding,
    check_columns,
    real_node_features,
    unknown_category,
)
from gtcourse.models.csa_kernel import factor_of
from gtcourse.models.message_passing import GatedGCNConv
from gtcourse.models.mlp import mlp

LAYERS = ("gatedgcn", "graphormer", "grpe", "csa")
INPUTS = ("bonds", "structure")
READOUTS = ("mean", "sum", "virtual node")

ATOMS = 28
BONDS = 4
STEPS = 20
MAX_DISTANCE = 5
STRUCTURE = (AddRandomWalks(STEPS, pairs=False), AddRings(18), AddShortestPaths())

D_MODEL = 32
NUM_HEADS = 4
NUM_LAYERS = 3


@dataclass(frozen=True)
class Cell:
    """A place in the grid.

    Raises:
        ValueError: a name is unknown, or the layer cannot be combined with the readout.
    """

    layer: str
    inputs: str
    readout: str

    def __post_init__(self) -> None:
        check_choice("layer", self.layer, LAYERS)
        check_choice("inputs", self.inputs, INPUTS)
        check_choice("readout", self.readout, READOUTS)
        reason = why_empty(self.layer, self.readout)
        if reason is not None:
            raise ValueError(
                f"layer is {self.layer!r} and readout {self.readout!r}; expected another readout, "
                f"because {reason}."
            )

    @property
    def name(self) -> str:
        return f"grid/{self.layer}, {self.inputs}, {self.readout}"

    @property
    def has_structure(self) -> bool:
        return self.inputs == "structure"

    @property
    def transforms(self) -> tuple[Encoding, ...]:
        """The transforms that compute the inputs."""
        return STRUCTURE if self.has_structure else ()


def why_empty(layer: str, readout: str) -> str | None:
    """Why these two cannot be combined, or None if they can."""
    if layer == "gatedgcn" and readout == "virtual node":
        return "a node that is joined to all others would let GatedGCN reach all pairs in two steps"
    return None


def cells() -> Iterator[Cell]:
    """All cells of the grid."""
    for layer, inputs, readout in product(LAYERS, INPUTS, READOUTS):
        if why_empty(layer, readout) is None:
            yield Cell(layer, inputs, readout)


class GridModel(nn.Module):
    """The model of one cell.

    Args:
        cell: the layer, the inputs and the readout.
        d_model: Width of a node's vector, d.
        num_heads: Attention heads, H; GatedGCN has none.
        num_layers: Layers.
    """

    def __init__(
        self,
        cell: Cell,
        d_model: int = D_MODEL,
        num_heads: int = NUM_HEADS,
        num_layers: int = NUM_LAYERS,
    ):
        super().__init__()
        self.cell = cell
        self.atoms = CategoryEmbedding((ATOMS,), d_model, "x")
        self.walks = NumberEmbedding(STEPS, d_model, "rwse") if cell.has_structure else None
        self.relations = PairRelations(cell)
        self.virtual_node: nn.Parameter | None = None
        if cell.readout == "virtual node":
            self.virtual_node = nn.Parameter(torch.zeros(d_model))
        tables_of_layer = TABLES[cell.layer]
        self.tables = tables_of_layer(self.relations.num_relations, d_model, num_heads)
        self.blocks = nn.ModuleList(
            Block(layer_of(cell, d_model, num_heads), d_model) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model)
        self.head = mlp(d_model, d_model, 1)

    def check_features(self, x: Tensor, edge_attr: Tensor | None) -> None:
        """Raises a ValueError if a node, ``x [..., F]``, or an edge has an unknown category."""
        self.atoms.check(x)
        if edge_attr is None:
            raise ValueError("the graphs have no edge_attr; expected one column of bond types.")
        check_columns(edge_attr, (BONDS,), "edge_attr")
        is_unknown = (edge_attr < 0) | (edge_attr >= BONDS)
        if bool(is_unknown.any()):
            raise ValueError(unknown_category(edge_attr, is_unknown, (BONDS,), "edge_attr"))

    def forward(self, batch: GraphBatch) -> Tensor:
        """Predicts a number for each graph, ``[B]``.

        Raises:
            ValueError: an encoding that ``cell.transforms`` computes is missing.
        """
        h = self.atoms(real_node_features(batch))  # [B, N, d]
        if self.walks is not None:
            h = h + self.walks(batch.encoding("rwse"))
        mask = batch.mask  # [B, N]
        if self.virtual_node is not None:
            virtual_node = self.virtual_node.expand(len(h), 1, -1)  # [B, 1, d]
            h = torch.cat([virtual_node, h], dim=1)  # [B, 1 + N, d]
            mask = F.pad(mask, (1, 0), value=True)  # [B, 1 + N]
        terms = self.tables(self.relations(batch), batch)
        for block in self.blocks:
            h, terms = block(h, terms, mask)
        return self.readout(self.norm(h), batch.mask)

    def readout(self, h: Tensor, mask: Tensor) -> Tensor:
        """The prediction ``[B]`` from the vectors ``[B, N, d]``, or ``[B, 1 + N, d]`` with [VNode].

        The same head reads every node, or only [VNode].
        """
        if self.virtual_node is not None:
            return self.head(h[:, 0]).squeeze(-1)
        prediction = (self.head(h).squeeze(-1) * mask).sum(dim=1)  # [B]
        return prediction / mask.sum(dim=1) if self.cell.readout == "mean" else prediction


class Block(nn.Module):
    """A layer and a feed-forward network, each after a layer normalisation, with residuals.

    The layer is called with the nodes ``[B, N, d]``, the terms of the pairs, and the mask
    ``[B, N]``. It returns the update of the nodes and the terms for the next layer.
    """

    def __init__(self, layer: nn.Module, d_model: int):
        super().__init__()
        self.layer = layer
        self.layer_norm = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, 2 * d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)

    def forward(self, h: Tensor, terms: tuple, mask: Tensor) -> tuple[Tensor, tuple]:
        z, terms = self.layer(self.layer_norm(h), terms, mask)
        h = h + z
        h = h + self.feed_forward(self.feed_forward_norm(h))
        return h, terms


# The relation of a pair


class PairRelations(nn.Module):
    """The relation of each pair of tokens, 0 to R - 1.

    The first relations are the bond types. Then come those of pairs without a bond: a single one,
    or with structure one for each distance. The next is that of a node with itself. With structure,
    all of these exist a second time for pairs in a common ring; the second relation of a node with
    itself is not used. The last relation is that of [VNode] with any token.

    Cells without [VNode] also have that relation, which no pair uses. Two cells that differ only in
    the readout therefore start with the same weights.
    """

    def __init__(self, cell: Cell):
        super().__init__()
        self.cell = cell
        # Distances from 2 to MAX_DISTANCE, and one for all that is farther.
        self.itself = BONDS + (MAX_DISTANCE if cell.has_structure else 1)
        self.num_without_ring = self.itself + 1
        self.virtual = self.num_without_ring * (2 if cell.has_structure else 1)
        self.num_relations = self.virtual + 1

    def forward(self, batch: GraphBatch) -> Tensor:
        """Returns ``[B, N, N]``, or ``[B, 1 + N, 1 + N]`` with [VNode]."""
        assert batch.edge_attr is not None
        bond = batch.edge_attr[..., 0].long()  # [B, N, N]
        relation = torch.full_like(bond, BONDS)
        if self.cell.has_structure:
            distance = clipped(batch.encoding("distance").long(), MAX_DISTANCE + 1)
            relation = relation + (distance - 2).clamp(min=0)
        relation = torch.where(batch.adjacency, bond, relation)
        is_itself = torch.eye(bond.shape[-1], dtype=torch.bool, device=bond.device)
        relation = relation.masked_fill(is_itself, self.itself)
        if self.cell.has_structure:
            relation = relation + self.num_without_ring * batch.encoding("ring").long()
        if self.cell.readout == "virtual node":
            relation = F.pad(relation, (1, 0, 1, 0), value=self.virtual)
        return relation


# What a relation stands for in each layer


class GraphormerTables(nn.Module):
    """A number for each relation and head, which is added to the logits."""

    def __init__(self, num_relations: int, d_model: int, num_heads: int):
        super().__init__()
        self.bias = nn.Embedding(num_relations, num_heads)

    def forward(self, relation: Tensor, batch: GraphBatch) -> tuple[Tensor]:
        bias = self.bias(relation).permute(0, 3, 1, 2)  # [B, H, N, N]
        return (bias,)


class GRPETables(nn.Module):
    """Three vectors for each relation: for the queries, for the keys, and for the values."""

    def __init__(self, num_relations: int, d_model: int, num_heads: int):
        super().__init__()
        self.key = nn.Embedding(num_relations, d_model)
        self.query = nn.Embedding(num_relations, d_model)
        self.value = nn.Embedding(num_relations, d_model)

    def forward(self, relation: Tensor, batch: GraphBatch) -> tuple[Tensor, RelationTables]:
        """The relations ``[B, N, N]``, and the tables in which GRPE's attention looks them up."""
        return relation, RelationTables(self.key.weight, self.query.weight, self.value.weight)


class CSATables(nn.Module):
    """A logit and a value for each relation and channel."""

    def __init__(self, num_relations: int, d_model: int, num_heads: int):
        super().__init__()
        self.logits = nn.Embedding(num_relations, d_model)
        self.values = nn.Embedding(num_relations, d_model)

    def forward(self, relation: Tensor, batch: GraphBatch) -> tuple[EdgeTerms]:
        logits = self.logits(relation).permute(0, 3, 1, 2).contiguous()  # [B, d, N, N]
        values = self.values(relation).permute(0, 3, 1, 2).contiguous()  # [B, d, N, N]
        return (EdgeTerms(logits, values, factor_of(logits)),)


class GatedGCNTables(nn.Module):
    """A vector for each relation; those of pairs without a bond are never read."""

    def __init__(self, num_relations: int, d_model: int, num_heads: int):
        super().__init__()
        self.vectors = nn.Embedding(num_relations, d_model)

    def forward(self, relation: Tensor, batch: GraphBatch) -> tuple[Tensor, Tensor]:
        """The vectors of the edges, ``[ΣE, d]``, and their ends, ``[2, ΣE]``."""
        return self.vectors(relation[batch.adjacency]), batch.edge_index


TABLES = {
    "gatedgcn": GatedGCNTables,
    "graphormer": GraphormerTables,
    "grpe": GRPETables,
    "csa": CSATables,
}


# The layers


def layer_of(cell: Cell, d_model: int, num_heads: int) -> nn.Module:
    """A layer of the cell's kind."""
    if cell.layer == "gatedgcn":
        return GatedGCNLayer(d_model)
    attention = {
        "graphormer": GraphormerAttention,
        "grpe": GRPEAttention,
        "csa": ChromaticSelfAttention,
    }
    return AttentionLayer(attention[cell.layer](d_model, num_heads))


class AttentionLayer(nn.Module):
    """An attention layer of the package; the next layer reads the same terms of the pairs."""

    def __init__(self, attention: nn.Module):
        super().__init__()
        self.attention = attention

    def forward(self, h: Tensor, terms: tuple, mask: Tensor) -> tuple[Tensor, tuple]:
        keys = mask[:, None]  # [B, 1, N], the same keys for every query
        return self.attention(h, *terms, mask=keys), terms


class GatedGCNLayer(nn.Module):
    """The package's GatedGCN convolution on padded nodes; it also updates the edges' vectors."""

    def __init__(self, d_model: int):
        super().__init__()
        self.conv = GatedGCNConv(d_model)
        self.edge_norm = nn.LayerNorm(d_model)

    def forward(
        self, h: Tensor, terms: tuple[Tensor, Tensor], mask: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        e, edge_index = terms  # [ΣE, d] and [2, ΣE]
        node_change, edge_change = self.conv(h[mask], e, edge_index)  # [ΣN, d] and [ΣE, d]
        z = torch.zeros_like(h)
        z[mask] = node_change
        e = e + F.relu(self.edge_norm(edge_change))
        return z, (e, edge_index)
