"""The models that are measured, all on the same molecules: the course's nine, and three peers.

The course's are the leaderboard's at 100,000 parameters. A peer is a stack of a library's layers
with about as many, and the embeddings and the mean that it takes to predict a number for a graph.
Shapes: B graphs, N nodes (padded), ΣN nodes and E edges of all graphs, d width.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.profiler import record_function
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINEConv, GPSConv, TransformerConv, global_mean_pool

from gtcourse import GraphBatch, collate
from gtcourse.course.leaderboard import LEADERBOARD
from gtcourse.encodings import encode
from gtcourse.recipes.small import ATOMS, BONDS
from gtcourse.train.loop import count_parameters
from speed.measure import Step

BATCH = 64
LAYERS = 4
ENTRIES = {entry.model: entry for entry in LEADERBOARD.values() if entry.size == "100k"}
PHASES = ("forward", "backward", "optimiser")


def network(d_model: int, d_out: int, d_hidden: int | None = None) -> nn.Sequential:
    d_hidden = d_hidden or d_model
    return nn.Sequential(nn.Linear(d_model, d_hidden), nn.ReLU(), nn.Linear(d_hidden, d_out))


class TorchEncoder(nn.Module):
    """``nn.TransformerEncoder`` on a padded batch, as wide and deep as ``transformer-100k``."""

    def __init__(self, d_model: int = 56, num_heads: int = 8, d_hidden: int = 112):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            d_model, num_heads, d_hidden, 0.0, activation="gelu", batch_first=True, norm_first=True
        )
        norm = nn.LayerNorm(d_model)
        self.embedding = nn.Embedding(ATOMS, d_model)
        self.encoder = nn.TransformerEncoder(layer, LAYERS, norm, enable_nested_tensor=False)
        self.head = network(d_model, 1)

    def forward(self, batch: GraphBatch) -> Tensor:
        h = self.encoder(self.embedding(batch.x[..., 0]), src_key_padding_mask=~batch.mask)
        mean = (h * batch.mask[..., None]).sum(dim=1) / batch.sizes[:, None]
        return self.head(mean).squeeze(-1)


class PyGModel(nn.Module):
    """A stack of PyG's layers on atoms and bonds.

    Shapes:
        graphs: PyG's batch, x ``[ΣN, 1]``, edge_index ``[2, E]``, edge_attr ``[E, 1]``
        returns: ``[B]``
    """

    def __init__(self, d_model: int, layer: Callable[[], nn.Module]):
        super().__init__()
        self.atoms = nn.Embedding(ATOMS, d_model)
        self.bonds = nn.Embedding(BONDS, d_model)
        self.layers = nn.ModuleList(layer() for _ in range(LAYERS))
        self.head = network(d_model, 1)

    def forward(self, graphs: Batch) -> Tensor:
        h = self.atoms(graphs.x[:, 0])
        edges = self.bonds(graphs.edge_attr[:, 0])
        for layer in self.layers:
            h = layer(h, graphs.edge_index, graphs.batch, edge_attr=edges)
        return self.head(global_mean_pool(h, graphs.batch)).squeeze(-1)


def gps(d_model: int = 48, num_heads: int = 8) -> PyGModel:
    """``GPSConv``: GINE along the bonds, and attention of all with all, side by side."""
    return PyGModel(
        d_model, lambda: GPSConv(d_model, GINEConv(network(d_model, d_model)), num_heads)
    )


class BondLayer(nn.Module):
    """PyG's ``TransformerConv``, attention along the bonds alone, completed to a Transformer layer:
    norms, residuals and the feed-forward network are not PyG's."""

    def __init__(self, d_model: int, num_heads: int):
        super().__init__()
        self.norm = nn.LayerNorm(d_model)
        self.attention = TransformerConv(d_model, d_model // num_heads, num_heads, edge_dim=d_model)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(d_model), network(d_model, d_model, 2 * d_model)
        )

    def forward(self, h: Tensor, edge_index: Tensor, _: Tensor, edge_attr: Tensor) -> Tensor:
        h = h + self.attention(self.norm(h), edge_index, edge_attr)
        return h + self.feed_forward(h)


def bond_transformer(d_model: int = 52, num_heads: int = 4) -> PyGModel:
    return PyGModel(d_model, lambda: BondLayer(d_model, num_heads))


PEERS = {
    "nn.TransformerEncoder": TorchEncoder,
    "PyG GPSConv": gps,
    "PyG TransformerConv": bond_transformer,
}


def l1_loss(prediction: Tensor, graphs: GraphBatch | Batch) -> Tensor:
    """As :func:`gtcourse.train.tasks.graph_regression` has it, of either batch."""
    return F.l1_loss(prediction, graphs.y.view_as(prediction))


@dataclass
class Subject:
    """One model on its batch, as the model takes it."""

    name: str
    model: nn.Module
    graphs: GraphBatch | Batch

    @property
    def parameters(self) -> int:
        return count_parameters(self.model)

    def forward(self) -> Step:
        """Predictions as they are made once a model is trained: no gradient, evaluation mode."""
        return torch.no_grad()(lambda: self.model.eval()(self.graphs))

    def training_step(self) -> Step:
        """Forward, backward, Adam, which a profiler sees by :data:`PHASES`.

        Gradients are freed at the end, so that the step's memory includes them.
        """
        optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-4)
        forward, backward, optimiser = PHASES

        def run() -> None:
            with record_function(forward):
                loss = l1_loss(self.model.train()(self.graphs), self.graphs)
            with record_function(backward):
                loss.backward()
            with record_function(optimiser):
                optimizer.step()
                optimizer.zero_grad()

        return run


def subject(name: str, graphs: list[Data], device: str = "cpu") -> Subject:
    """A model of the leaderboard, with the encodings that it reads, or a peer."""
    torch.manual_seed(0)
    if name in ENTRIES:
        batch = collate(encode(graphs, *ENTRIES[name].transforms))
        return Subject(name, ENTRIES[name].build_model().to(device), batch.to(device))
    batch = collate(graphs) if name == "nn.TransformerEncoder" else Batch.from_data_list(graphs)
    return Subject(name, PEERS[name]().to(device), batch.to(device))
