r"""The grid of chapter 10: one small model of which layer, inputs and readout can be exchanged.

Everything else is the same in every cell: the width, the depth, a residual and a layer
normalisation around each layer, the feed-forward network behind it, and the head.

The inputs are the bonds, or the bonds and "structure": chances to return of a random walk, common
rings, and distances. They reach the layers in two forms only. Nodes have a vector, the sum of the
vectors of their atom and of their walks. Pairs have a *relation*, a whole number that says how two
nodes are bonded and, with structure, whether a ring holds both and how far apart they are. Each
layer reads the relations from tables of its own: Graphormer a number for each head, GRPE vectors
for its contexts and values, CSA a logit and a value for each channel, and GatedGCN, for bonded
pairs alone, a vector.

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
from gtcourse.graphs.batch import GraphBatch, clipped
from gtcourse.models import (
    CategoryEmbedding,
    ChromaticSelfAttention,
    EdgeTerms,
    GraphormerAttention,
    GRPEAttention,
    RelationTables,
)
from gtcourse.models.attention import FeedForward, check_choice
from gtcourse.models.categories import NumberEmbedding, check_columns, unknown_category
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
        ValueError: A name is unknown, or the layer does not go with the readout.
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
        """What computes the inputs."""
        return STRUCTURE if self.has_structure else ()


def why_empty(layer: str, readout: str) -> str | None:
    """Why there are no cells with these two, or None if there are."""
    if layer == "gatedgcn" and readout == "virtual node":
        return "a node that is joined to all others would let GatedGCN reach all pairs in two steps"
    return None


def cells() -> Iterator[Cell]:
    """All cells that there are."""
    for layer, inputs, readout in product(LAYERS, INPUTS, READOUTS):
        if why_empty(layer, readout) is None:
            yield Cell(layer, inputs, readout)


class GridModel(nn.Module):
    """The model of one cell.

    Args:
        cell: Which layer, inputs and readout.
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
        reader = READERS[cell.layer]
        self.pairs = reader(self.relations.num_relations, d_model, num_heads)
        self.blocks = nn.ModuleList(
            Block(self.pairs.layer(d_model, num_heads), d_model) for _ in range(num_layers)
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
            ValueError: An encoding is missing that ``cell.transforms`` computes.
        """
        h = self.atoms(batch.x)  # [B, N, d]
        if self.walks is not None:
            h = h + self.walks(batch.encoding("rwse"))
        mask = batch.mask  # [B, N]
        if self.virtual_node is not None:
            virtual_node = self.virtual_node.expand(len(h), 1, -1)  # [B, 1, d]
            h = torch.cat([virtual_node, h], dim=1)  # [B, 1 + N, d]
            mask = F.pad(mask, (1, 0), value=True)  # [B, 1 + N]
        state = self.pairs(self.relations(batch), batch)
        for block in self.blocks:
            h, state = block(h, state, mask)
        return self.read(self.norm(h), batch.mask)

    def read(self, h: Tensor, mask: Tensor) -> Tensor:
        """The same head reads every node, or [VNode] alone: ``[B, 1 + N, d]`` to ``[B]``."""
        if self.virtual_node is not None:
            return self.head(h[:, 0]).squeeze(-1)
        prediction = (self.head(h).squeeze(-1) * mask).sum(dim=1)  # [B]
        return prediction / mask.sum(dim=1) if self.cell.readout == "mean" else prediction


class Block(nn.Module):
    """A layer and a feed-forward network, each behind a layer normalisation, with residuals."""

    def __init__(self, layer: nn.Module, d_model: int):
        super().__init__()
        self.layer = layer
        self.layer_norm = nn.LayerNorm(d_model)
        self.feed_forward = FeedForward(d_model, 2 * d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)

    def forward(self, h: Tensor, state: object, mask: Tensor) -> tuple[Tensor, object]:
        z, state = self.layer(self.layer_norm(h), state, mask)
        h = h + z
        return h + self.feed_forward(self.feed_forward_norm(h)), state


# Inputs of pairs


class PairRelations(nn.Module):
    """The relation of each pair of tokens, 0 to R - 1.

    The first relations are the bond types. Then come those of pairs without a bond: a single one,
    or with structure one for each distance. The next is that of a node and itself. With structure,
    pairs in a common ring have all of these a second time. The last relation is that of [VNode]
    and any token.
    """

    def __init__(self, cell: Cell):
        super().__init__()
        self.cell = cell
        # Distances from 2 to MAX_DISTANCE, and one for all that is farther.
        self.itself = BONDS + (MAX_DISTANCE if cell.has_structure else 1)
        self.num_of_nodes = (self.itself + 1) * (2 if cell.has_structure else 1)
        self.num_relations = self.num_of_nodes + 1

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
            relation = relation + (self.itself + 1) * batch.encoding("ring").long()
        if self.cell.readout == "virtual node":
            relation = F.pad(relation, (1, 0, 1, 0), value=self.num_of_nodes)
        return relation


# How each layer reads them


class GraphormerPairs(nn.Module):
    """A number for each relation and head, which is added to the logits."""

    def __init__(self, num_relations: int, d_model: int, num_heads: int):
        super().__init__()
        self.bias = nn.Embedding(num_relations, num_heads)

    def layer(self, d_model: int, num_heads: int) -> nn.Module:
        return Attention(GraphormerAttention(d_model, num_heads))

    def forward(self, relation: Tensor, batch: GraphBatch) -> tuple[Tensor]:
        return (self.bias(relation).permute(0, 3, 1, 2),)  # [B, H, N, N]


class GRPEPairs(nn.Module):
    """Three vectors for each relation: for the queries, for the keys, and for the values."""

    def __init__(self, num_relations: int, d_model: int, num_heads: int):
        super().__init__()
        self.key = nn.Embedding(num_relations, d_model)
        self.query = nn.Embedding(num_relations, d_model)
        self.value = nn.Embedding(num_relations, d_model)

    def layer(self, d_model: int, num_heads: int) -> nn.Module:
        return Attention(GRPEAttention(d_model, num_heads))

    def forward(self, relation: Tensor, batch: GraphBatch) -> tuple[Tensor, RelationTables]:
        return relation, RelationTables(self.key.weight, self.query.weight, self.value.weight)


class CSAPairs(nn.Module):
    """A logit and a value for each relation and channel."""

    def __init__(self, num_relations: int, d_model: int, num_heads: int):
        super().__init__()
        self.logits = nn.Embedding(num_relations, d_model)
        self.values = nn.Embedding(num_relations, d_model)

    def layer(self, d_model: int, num_heads: int) -> nn.Module:
        return Attention(ChromaticSelfAttention(d_model, num_heads))

    def forward(self, relation: Tensor, batch: GraphBatch) -> tuple[EdgeTerms]:
        logits = self.logits(relation).permute(0, 3, 1, 2).contiguous()  # [B, d, N, N]
        values = self.values(relation).permute(0, 3, 1, 2).contiguous()
        return (EdgeTerms(logits, values, factor_of(logits)),)


class Attention(nn.Module):
    """An attention that reads the same pairs in every layer."""

    def __init__(self, attention: nn.Module):
        super().__init__()
        self.attention = attention

    def forward(self, h: Tensor, pairs: tuple, mask: Tensor) -> tuple[Tensor, tuple]:
        # The same keys for every query, [B, 1, N].
        return self.attention(h, *pairs, mask=mask[:, None]), pairs


class GatedGCNPairs(nn.Module):
    """A vector for each relation, of which the bonded pairs have one; the layers update it."""

    def __init__(self, num_relations: int, d_model: int, num_heads: int):
        super().__init__()
        self.vectors = nn.Embedding(num_relations, d_model)

    def layer(self, d_model: int, num_heads: int) -> nn.Module:
        return GatedGCNLayer(d_model)

    def forward(self, relation: Tensor, batch: GraphBatch) -> tuple[Tensor, Tensor]:
        """The vectors of the edges, ``[ΣE, d]``, and their ends, ``[2, ΣE]``."""
        return self.vectors(relation[batch.adjacency]), batch.edge_index


class GatedGCNLayer(nn.Module):
    """The convolution of the package, on padded nodes, with layer normalisation of the edges."""

    def __init__(self, d_model: int):
        super().__init__()
        self.conv = GatedGCNConv(d_model)
        self.edge_norm = nn.LayerNorm(d_model)

    def forward(
        self, h: Tensor, edges: tuple[Tensor, Tensor], mask: Tensor
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        e, edge_index = edges
        rows, change = self.conv(h[mask], e, edge_index)  # [ΣN, d] and [ΣE, d]
        z = torch.zeros_like(h)
        z[mask] = rows
        return z, (e + F.relu(self.edge_norm(change)), edge_index)


READERS = {
    "gatedgcn": GatedGCNPairs,
    "graphormer": GraphormerPairs,
    "grpe": GRPEPairs,
    "csa": CSAPairs,
}
