"""Models to be measured, each with the same molecules in the form that it takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.profiler import record_function
from torch_geometric.data import Batch, Data

from benchmarks.peers import PEERS, l1_loss
from gtcourse import GraphBatch, GraphDataset, collate
from gtcourse.encodings import encode
from gtcourse.training.fit import count_parameters
from gtcourse.training.leaderboard import LEADERBOARD, Entry

SIZE, BATCH = "100k", 64
ENTRIES = {entry.model: entry for entry in LEADERBOARD.values() if entry.size == SIZE}
READS = {
    "transformer": "atoms; no bond, no distance",
    "gin": "atoms, along the bonds",
    "gat": "atoms, along the bonds",
    "gatedgcn": "atoms and bonds, along the bonds",
    "signnet": "as GatedGCN, and eigenvectors of the Laplacian, whatever their signs",
    "graphormer": "atoms, degrees; of all pairs the distance and the bonds on a shortest path",
    "egt": "atoms, singular vectors; bonds as channels of all pairs, which every layer rewrites",
    "grpe": "atoms; of all pairs the distance and the bond, for queries, keys and values",
    "csa": "atoms; of all pairs the bond, 20 steps of a random walk and the ring they share",
}
"""What of a graph reaches each model of the course."""

PHASES = ("forward", "backward", "optimiser")

Step = Callable[[], None]


@dataclass
class Subject:
    """One model on its batch.

    Attributes:
        name: the leaderboard's model, or the peer's; reads: what of a graph reaches it.
        graphs: the batch, as the model takes it.
    """

    name: str
    model: nn.Module
    graphs: GraphBatch | Batch
    reads: str
    peer: bool = False

    @property
    def parameters(self) -> int:
        return count_parameters(self.model)

    def forward(self) -> Step:
        """Predictions as they are made once a model is trained: no gradient, evaluation mode."""

        @torch.no_grad()
        def run() -> None:
            self.model.eval()(self.graphs)

        return run

    def training_step(self) -> Step:
        """Forward, backward, Adam, which a profiler sees by :data:`PHASES`.

        Gradients are given back at the end, so that the step's memory has them.
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


def molecules(data: GraphDataset, count: int = BATCH) -> list[Data]:
    """The first training molecules."""
    return data.train[:count]


def subject(entry: Entry, graphs: list[Data], device: str = "cpu") -> Subject:
    """A model of the leaderboard, with the encodings that it reads."""
    torch.manual_seed(0)
    batch = collate(encode(graphs, *entry.transforms)).to(device)
    return Subject(entry.model, entry.build_model().to(device), batch, READS[entry.model])


def of_the_course(graphs: list[Data], device: str = "cpu") -> list[Subject]:
    """All nine models of the leaderboard at 100,000 parameters."""
    return [subject(entry, graphs, device) for entry in ENTRIES.values()]


def peers(graphs: list[Data], device: str = "cpu") -> list[Subject]:
    """Those of :mod:`benchmarks.peers`, of which the first has no graph."""
    padded, ragged = collate(graphs).to(device), Batch.from_data_list(graphs).to(device)
    torch.manual_seed(0)
    return [
        Subject(name, peer.build().to(device), padded if peer.padded else ragged, peer.reads, True)
        for name, peer in PEERS.items()
    ]
