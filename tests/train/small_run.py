"""A small run with everything random in it."""

import hashlib

import torch

from gtcourse.graphs import DenseLoader
from gtcourse.models import BagTransformer, BagTransformerConfig
from gtcourse.train.loop import History, fit
from gtcourse.train.tasks import graph_regression
from tests.graphs.small import graph_of

EPOCHS = 6


def graphs(count: int, seed: int):
    return [graph_of(1 + i % 6, [(0, 0)], seed=seed + i) for i in range(count)]


def small_model(seed: int = 0, dropout: float = 0.3) -> BagTransformer:
    torch.manual_seed(seed)
    config = BagTransformerConfig(d_model=16, num_heads=2, d_hidden=16, dropout=dropout)
    return BagTransformer(config)


def run(
    folder,
    epochs: int = EPOCHS,
    loader_seed: int = 0,
    dropout: float = 0.3,
    task=graph_regression(),  # noqa: B008
    momentum: float | None = None,
    **options,
) -> tuple[History, str]:
    model = small_model(dropout=dropout)
    if momentum is None:
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    else:
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, momentum=momentum)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 30)
    options = {"schedule": schedule, "seed": 5, "progress": False} | options
    torch.manual_seed(123)  # whatever happened before the run must not matter
    train = DenseLoader(graphs(40, seed=0), 8, shuffle=True, seed=loader_seed)
    val = DenseLoader(graphs(20, seed=1000), 8)
    history = fit(
        model, task, train, val, epochs=epochs, optimizer=optimizer, out=folder, **options
    )
    return history, digest(model)


def digest(model: torch.nn.Module) -> str:
    numbers = torch.cat([p.detach().flatten() for p in model.parameters()])
    return hashlib.sha256(numbers.numpy().tobytes()).hexdigest()


def without_time(history: History) -> list[dict[str, float]]:
    return [{k: v for k, v in row.items() if k != "seconds"} for row in history.epochs]
