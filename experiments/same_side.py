"""Chapter 05: ``python -m experiments.same_side``, about a minute.

Section 4.7's task: do two nodes lie on the same side of a graph of two equal halves? A model that
passes messages twice reads eight eigenvectors in one of four ways: with random signs, without
signs, through SignNet, or through SignNet and as products of the two nodes' entries.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Data

from experiments.runs import store_measurement
from gtcourse import GraphBatch, collate
from gtcourse.course.records import RECORDS
from gtcourse.encodings import AddLaplacianEigenvectors, encode
from gtcourse.models import SignNet, SignNetConfig
from gtcourse.models.signnet import flip_signs

K = 8  # eigenvectors
WIDTH = 32
HALF = 8  # nodes on a side
GRAPHS = {"train": 400, "test": 200}
STEPS = 300
BATCH = 32
SEEDS = 3
RATES = (0.002, 0.005, 0.01)
TUNING_SEED = 100
APART = 1e-3
"""The least difference of two eigenvalues, so that each eigenvector is unique up to its sign."""

SIGNNET = SignNetConfig(
    k=K, d_model=WIDTH, phi_layers=3, phi_hidden=16, phi_out=4, rho_layers=2, rho_hidden=32
)
ARMS = ("random flips", "absolute values", "SignNet", "SignNet and products")


def two_sides() -> tuple[Data, Tensor, Tensor]:
    """A graph of two equal halves joined by an edge; each node's side, and its place there."""
    tree = [(i, int(torch.randint(i, ()))) for i in range(1, HALF)]
    more = (torch.rand(HALF, HALF) < 0.2).triu(1).nonzero().tolist()
    half = {tuple(sorted(edge)) for edge in tree + more}
    edges = [(0, HALF), *half, *((i + HALF, j + HALF) for i, j in half)]
    order = torch.randperm(2 * HALF)
    new_number = order.argsort()
    index = new_number[torch.tensor(edges).T]  # [2, E]
    graph = Data(
        x=torch.zeros(2 * HALF, 1, dtype=torch.long),
        edge_index=torch.cat([index, index.flip(0)], dim=1),
    )
    return graph, order // HALF, order % HALF


def task(count: int) -> tuple[GraphBatch, Tensor, Tensor]:
    """Graphs in one batch, which pairs are on the same side, and which are asked, ``[B, N, N]``.

    A node is not compared with itself or with its twin on the other side.
    """
    graphs = []
    sides = []
    places = []
    encoding = AddLaplacianEigenvectors(K, skip_first=True)
    while len(graphs) < count:
        graph, side, place = two_sides()
        wider = AddLaplacianEigenvectors(K + 1, skip_first=True)(graph)
        if wider.laplacian_eigenvalues.diff().min() > APART:
            graphs.append(graph)
            sides.append(side)
            places.append(place)
    side = torch.stack(sides)
    place = torch.stack(places)
    same = side[:, :, None] == side[:, None]
    asked = place[:, :, None] != place[:, None]
    return collate(encode(graphs, encoding)), same, asked


class SameSide(nn.Module):
    """Two layers of message passing, and an attention logit for each pair of nodes."""

    def __init__(self, arm: str) -> None:
        super().__init__()
        self.arm = arm
        self.encoding = SignNet(SIGNNET) if "SignNet" in arm else nn.Linear(K, WIDTH)
        self.layers = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
            for _ in range(2)
        )
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.products = nn.Linear(K, 1) if "products" in arm else None

    def forward(self, U: Tensor, A: Tensor) -> Tensor:
        """Eigenvectors ``[B, N, k]`` and adjacency ``[B, N, N]`` to logits ``[B, N, N]``."""
        if isinstance(self.encoding, SignNet):
            mask = torch.ones(U.shape[:2], dtype=torch.bool)
            h = self.encoding.encode(U, A, mask)  # [B, N, d]
        else:
            h = self.encoding(U.abs() if self.arm == "absolute values" else U)
        for layer in self.layers:
            h = h + layer(h + A @ h)
        logits = self.query(h) @ self.key(h).mT / math.sqrt(WIDTH)
        if self.products is None:
            return logits
        # The same for u and -u; an entry of an eigenvector is about 1 / sqrt(N) in size.
        pairs = U.shape[1] * U[:, :, None] * U[:, None]  # [B, N, N, k]
        return logits + self.products(pairs).squeeze(-1)


def learn(arm: str, rate: float, seed: int, data: tuple[GraphBatch, Tensor, Tensor]) -> SameSide:
    batch, same, asked = data
    U = batch.encodings["laplacian_eigenvectors"].float()
    A = batch.adjacency.float()
    torch.manual_seed(seed)
    model = SameSide(arm)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(STEPS):
        some = torch.randint(len(U), (BATCH,))
        logits = model(flip_signs(U[some]), A[some])[asked[some]]
        loss = F.binary_cross_entropy_with_logits(logits, same[some][asked[some]].float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@torch.no_grad()
def percent_right(model: SameSide, data: tuple[GraphBatch, Tensor, Tensor]) -> float:
    batch, same, asked = data
    torch.manual_seed(0)
    U = flip_signs(batch.encodings["laplacian_eigenvectors"].float())
    right = (model(U, batch.adjacency.float()) > 0) == same
    return 100 * float(right[asked].float().mean())


if __name__ == "__main__":
    torch.manual_seed(0)
    train = task(GRAPHS["train"])
    validation = task(GRAPHS["test"])
    test = task(GRAPHS["test"])
    rows = []
    for arm in ARMS:
        tried = {
            rate: percent_right(learn(arm, rate, TUNING_SEED, train), validation) for rate in RATES
        }
        rate = max(tried, key=tried.get)
        models = [learn(arm, rate, seed, train) for seed in range(SEEDS)]
        row = {
            "arm": arm,
            "rate": rate,
            "validation_by_rate": tried,
            "test_accuracy": [percent_right(model, test) for model in models],
        }
        rows.append(row)
        print(row, flush=True)
    settings = {"steps": STEPS, "batch_size": BATCH, "optimizer": "Adam", "eigenvectors": K}
    content = {"name": "same-side", "graphs": GRAPHS, "settings": settings, "rows": rows}
    store_measurement(RECORDS / "same-side.json", content, "python -m experiments.same_side")
