"""Each row of chapter 10's table as a model: a layer of the package, computed by the one form."""

import torch
from torch import Tensor, nn

from gtcourse.graphs import GraphBatch
from gtcourse.graphs.batch import UNREACHABLE
from gtcourse.models import (
    ChromaticSelfAttention,
    EdgeTerms,
    EGTAttention,
    GraphormerAttention,
    GRPEAttention,
    MultiHeadAttention,
    RelationTables,
)
from gtcourse.models.baselines import GatedGCNConv, GATLayer, GINLayer
from gtcourse.models.frame_models import Frame

D, H, FARTHEST = 6, 3, 3
LAYERS = {
    "Transformer": lambda: MultiHeadAttention(D, H),
    "GIN": lambda: GINLayer(D).conv,
    "GAT": lambda: GATLayer(D, H).conv,
    "GatedGCN": lambda: GatedGCNConv(D),
    "SignNet": lambda: GatedGCNConv(D),
    "Graphormer": lambda: GraphormerAttention(D, H),
    "EGT": lambda: EGTAttention(D, D, H),
    "GRPE": lambda: GRPEAttention(D, H),
    "CSA": lambda: ChromaticSelfAttention(D, H),
}


class FramedLayer(nn.Module):
    """Node types and distances make vectors; the form makes of them what the layer returns.

    Shapes:
        batch.x: ``[B, N, 1]``; batch.encodings["distance"]: ``[B, N, N]``; returns: ``[B, N, d]``
    """

    def __init__(self, frame: Frame):
        super().__init__()
        self.frame, self.layer = frame, LAYERS[frame.name]()
        self.nodes = nn.Embedding(28, D)
        self.rows = nn.Embedding(FARTHEST + 2, D)
        self.others = nn.Embedding(FARTHEST + 2, D)

    def forward(self, batch: GraphBatch) -> Tensor:
        row = (batch.encodings["distance"] - UNREACHABLE).clamp(max=FARTHEST + 1)
        h, pairs = self.nodes(batch.x[..., 0]), self.rows(row)
        given, options = self._given(batch, row, pairs)
        return self.frame.output(self.layer, h, *given, **options)

    def _given(self, batch: GraphBatch, row: Tensor, pairs: Tensor) -> tuple[tuple, dict]:
        """What the layer takes of the pairs, and its mask."""
        masked = {"mask": batch.mask}
        channels = pairs.permute(0, 3, 1, 2)
        match self.frame.name:
            case "Transformer":
                return (), masked
            case "GIN" | "GAT":
                return (batch.adjacency,), {}
            case "GatedGCN" | "SignNet":
                return (pairs, batch.adjacency), {}
            case "Graphormer":
                return (channels[:, :H],), masked
            case "EGT":
                return (pairs,), masked
            case "GRPE":
                tables = RelationTables(self.rows.weight, self.others.weight, self.rows.weight)
                return (row, tables), masked
            case "CSA":
                values = self.others(row).permute(0, 3, 1, 2)
                return (EdgeTerms(channels, values),), masked
        raise ValueError(f"there is no layer of {self.frame.name}.")

    def by_itself(self, batch: GraphBatch) -> Tensor:
        """The layer's own result, ``[B, N, d]``; the package's code without the form."""
        row = (batch.encodings["distance"] - UNREACHABLE).clamp(max=FARTHEST + 1)
        h, pairs = self.nodes(batch.x[..., 0]), self.rows(row)
        given, options = self._given(batch, row, pairs)
        if self.frame.name in ("GIN", "GAT", "GatedGCN", "SignNet"):
            edges = [part[batch.adjacency] for part in given[:-1]]
            result = self.layer(h[batch.mask], *edges, batch.edge_index)
            result = result[0] if edges else result
            return torch.zeros_like(h).index_put((batch.mask,), result)
        result = self.layer(h, *given, **options)
        return result[0] if isinstance(result, tuple) else result
