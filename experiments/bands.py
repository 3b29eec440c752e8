"""Chapter 09: ``python -m experiments.bands``, a few minutes.

Section 9.4's puzzle with 2, 4 and 8 bands of distances at one width. The query node reports one
number from each band, that of the node with the wanted type. Colour lets one head weigh the bands
apart; without colour a head has one weight for a pair, and more heads have narrower queries. As a
control, one arm has many heads and queries that are as wide as those of a single head.
"""

from itertools import product

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from experiments.runs import store_measurement
from gtcourse.course.records import RECORDS

TYPES = 6
WIDTH = 16
STEPS = 800
BATCH = 64
SEEDS = 3
BANDS = (2, 4, 8)
RATES = (0.01, 0.02)
"""The best is taken for each arm and number of bands, by the error of a seed of its own."""

ARMS = {
    "1 head, colour": (1, True, None),
    "1 head": (1, False, None),
    "as many heads as bands": (None, False, None),
    "as many heads as bands, colour": (None, True, None),
    "16 heads": (WIDTH, False, None),
    "16 heads, wide queries": (WIDTH, False, WIDTH),
}
"""Heads, whether each channel has a weight of its own, and the width of a head's queries.

The heads share the width of the model where no width of the queries is given.
"""


def puzzles(count: int, bands: int) -> tuple[Tensor, Tensor, Tensor]:
    """Types ``[count, n]``, numbers ``[count, n]`` and answers ``[count, bands]``, n = 1 + 6 bands.

    Node 0 has the wanted type; each band has one node of every type.
    """
    wanted = torch.randint(TYPES, (count, 1))
    inside = torch.rand(count, bands, TYPES).argsort(dim=2)  # each type once in each band
    numbers = torch.randn(count, bands, TYPES)
    answers = numbers[inside == wanted[:, :, None]].view(count, bands)
    types = torch.cat([TYPES + wanted, inside.flatten(1)], dim=1)
    numbers = torch.cat([torch.zeros(count, 1), numbers.flatten(1)], dim=1)
    return types, numbers, answers


class Finder(nn.Module):
    """One layer of chromatic attention (Eq. 5), read at node 0."""

    def __init__(
        self, bands: int, num_heads: int, chromatic: bool, query_width: int | None = None
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.chromatic = chromatic
        self.types = nn.Embedding(2 * TYPES, WIDTH)
        self.number = nn.Linear(1, WIDTH)
        self.pair = nn.Embedding(1 + bands, WIDTH)  # 0 for node 0 itself
        of_all_heads = WIDTH if query_width is None else num_heads * query_width
        self.query, self.key = (nn.Linear(WIDTH, of_all_heads, bias=False) for _ in range(2))
        self.value, self.output = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2))
        self.head = nn.Linear(WIDTH, bands)
        away = torch.arange(1, 1 + bands).repeat_interleave(TYPES)
        self.register_buffer("band", torch.cat([torch.zeros(1, dtype=torch.long), away]))

    def forward(self, types: Tensor, numbers: Tensor) -> Tensor:
        h = self.types(types) + self.number(numbers[..., None])  # [B, n, d]
        query = self.query(h[:, :1]).unflatten(2, (self.num_heads, -1))  # [B, 1, H, K]
        key = self.key(h).unflatten(2, (self.num_heads, -1))  # [B, n, H, K]
        dot = (query * key).sum(dim=3) / key.shape[3] ** 0.5  # [B, n, H]
        E = self.pair(self.band).unflatten(1, (self.num_heads, -1))  # [n, H, K]
        if not self.chromatic:  # one number for each head
            E = E.mean(dim=2, keepdim=True)
        logits = dot[..., None] + E  # [B, n, H, K], or K = 1 without colour
        value = self.value(h).unflatten(2, (self.num_heads, -1))
        message = (logits.softmax(dim=1) * value).sum(dim=1)  # [B, H, K]
        return self.head(self.output(message.flatten(1)))


def error(
    bands: int, num_heads: int, chromatic: bool, query_width: int | None, rate: float, seed: int
) -> float:
    """The squared error of a trained model on new puzzles; 1 for predicting 0."""
    torch.manual_seed(seed)
    model = Finder(bands, num_heads, chromatic, query_width)
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, total_steps=STEPS)
    for _ in range(STEPS):
        types, numbers, answers = puzzles(BATCH, bands)
        loss = F.mse_loss(model(types, numbers), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    types, numbers, answers = puzzles(2000, bands)
    with torch.no_grad():
        return F.mse_loss(model(types, numbers), answers).item()


if __name__ == "__main__":
    rows = []
    for bands, (arm, (heads, chromatic, query_width)) in product(BANDS, ARMS.items()):
        model = bands, heads or bands, chromatic, query_width
        tried = {rate: error(*model, rate, seed=100) for rate in RATES}
        rate = min(tried, key=tried.get)
        errors = [error(*model, rate, seed) for seed in range(SEEDS)]
        row = {
            "bands": bands,
            "arm": arm,
            "num_heads": heads or bands,
            "chromatic": chromatic,
            "query_width": query_width or WIDTH // (heads or bands),
            "rate": rate,
            "error_by_rate": tried,
            "errors": errors,
        }
        rows.append(row)
        print(row, flush=True)
    settings = {"width": WIDTH, "steps": STEPS, "batch_size": BATCH, "optimizer": "Adam, one cycle"}
    content = {"name": "bands", "settings": settings, "rows": rows}
    store_measurement(RECORDS / "bands.json", content, "python -m experiments.bands")
