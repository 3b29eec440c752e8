"""What others would use for graphs of this size, at the size of the leaderboard's smaller models.

Each is a stack of layers of a library, with the embeddings and the mean that it takes to predict a
number for a graph. Shapes: B graphs, N nodes (padded), ΣN nodes and E edges of all graphs, d width.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.nn import GINEConv, GPSConv, TransformerConv, global_mean_pool

from gtcourse import GraphBatch
from gtcourse.training.leaderboard import ATOMS, BONDS

LAYERS = 4


class TorchEncoder(nn.Module):
    """``nn.TransformerEncoder`` on the padded batch, as wide and deep as ``transformer-100k``.

    Shapes:
        batch.x: ``[B, N, 1]``; batch.mask: ``[B, N]``
        returns: ``[B]``
    """

    def __init__(self, d_model: int = 56, num_heads: int = 8, d_hidden: int = 112):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_hidden, 0.0, activation="gelu", batch_first=True, norm_first=True
        )
        norm = nn.LayerNorm(d_model)
        self.embedding = nn.Embedding(ATOMS, d_model)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, norm, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.Linear(d_model, d_model), nn.ReLU(), nn.Linear(d_model, 1))

    def forward(self, batch: GraphBatch) -> Tensor:
        h = self.encoder(self.embedding(batch.x[..., 0]), src_key_padding_mask=~batch.mask)
        mean = (h * batch.mask[..., None]).sum(dim=1) / batch.sizes[:, None]
        return self.head(mean).squeeze(-1)


class GPS(nn.Module):
    """PyG's ``GPSConv``: GINE along the bonds, and attention of all with all, side by side.

    Shapes:
        graphs.x: ``[ΣN, 1]``; graphs.edge_index: ``[2, E]``; graphs.edge_attr: ``[E, 1]``
        returns: ``[B]``
    """

    def __init__(self, d_model: int = 48, num_heads: int = 8):
        super().__init__()
        self.atoms, self.bonds = nn.Embedding(ATOMS, d_model), nn.Embedding(BONDS, d_model)
        self.layers = nn.ModuleList(
            GPSConv(d_model, GINEConv(_network(d_model, d_model)), num_heads) for _ in range(LAYERS)
        )
        self.head = _network(d_model, 1)

    def forward(self, graphs: Batch) -> Tensor:
        h, edges = self.atoms(graphs.x[:, 0]), self.bonds(graphs.edge_attr[:, 0])
        for layer in self.layers:
            h = layer(h, graphs.edge_index, graphs.batch, edge_attr=edges)
        return self.head(global_mean_pool(h, graphs.batch)).squeeze(-1)


class BondTransformer(nn.Module):
    """PyG's ``TransformerConv``, attention along the bonds alone, with a feed-forward network.

    The layer of a Transformer is completed here: norms, residuals and the network are not PyG's.

    Shapes: as :class:`GPS`
    """

    def __init__(self, d_model: int = 52, num_heads: int = 4):
        super().__init__()
        self.atoms, self.bonds = nn.Embedding(ATOMS, d_model), nn.Embedding(BONDS, d_model)
        self.attentions = nn.ModuleList(
            TransformerConv(d_model, d_model // num_heads, num_heads, edge_dim=d_model)
            for _ in range(LAYERS)
        )
        self.networks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(d_model), _network(d_model, d_model, 2 * d_model))
            for _ in range(LAYERS)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(LAYERS))
        self.head = _network(d_model, 1)

    def forward(self, graphs: Batch) -> Tensor:
        h, edges = self.atoms(graphs.x[:, 0]), self.bonds(graphs.edge_attr[:, 0])
        for norm, attention, network in zip(
            self.norms, self.attentions, self.networks, strict=True
        ):
            h = h + attention(norm(h), graphs.edge_index, edges)
            h = h + network(h)
        return self.head(global_mean_pool(h, graphs.batch)).squeeze(-1)


def _network(d_model: int, d_out: int, d_hidden: int | None = None) -> nn.Sequential:
    d_hidden = d_hidden or d_model
    return nn.Sequential(nn.Linear(d_model, d_hidden), nn.ReLU(), nn.Linear(d_hidden, d_out))


class Peer(NamedTuple):
    """
    Attributes:
        build: makes the model, freshly initialised;
        padded: it takes a :class:`GraphBatch`, and otherwise PyG's batch;
        reads: what of a graph reaches it, and what cannot.
    """

    build: Callable[[], nn.Module]
    padded: bool
    reads: str


PEERS = {
    "nn.TransformerEncoder": Peer(
        TorchEncoder, True, "atoms; no bond, no distance, no bias that is learned from a graph"
    ),
    "PyG GPSConv": Peer(
        GPS, False, "atoms and bonds along the bonds; its attention of all with all takes no bias"
    ),
    "PyG TransformerConv": Peer(
        BondTransformer, False, "atoms and bonds; two atoms without a bond never meet in a layer"
    ),
}


def l1_loss(prediction: Tensor, graphs: GraphBatch | Batch) -> Tensor:
    """As :func:`gtcourse.training.tasks.graph_regression` has it, of either batch."""
    return F.l1_loss(prediction, graphs.y.view_as(prediction))
