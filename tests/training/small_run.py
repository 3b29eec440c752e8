"""A small run with everything random in it."""

from __future__ import annotations

import hashlib

import torch

from gtcourse.graphs import DenseLoader
from gtcourse.models import BagTransformer, BagTransformerConfig
from gtcourse.training.fit import History, fit
from gtcourse.training.tasks import graph_regression
from tests.graphs.random_graphs import graph_of

EPOCHS = 6


def graphs(count: int, seed: int):
    return [graph_of(1 + i % 6, [(0, 0)], seed=seed + i) for i in range(count)]


def small_model(seed: int = 0) -> BagTransformer:
    torch.manual_seed(seed)
    config = BagTransformerConfig(d_model=16, num_heads=2, d_hidden=16, dropout=0.3)
    return BagTransformer(config)


def run(folder, epochs: int = EPOCHS, loader_seed: int = 0, **options) -> tuple[History, str]:
    model = small_model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    options.setdefault("schedule", torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, 30))

    torch.manual_seed(123)  # whatever happened before the run must not matter
    history = fit(
        model,
        graph_regression(),
        DenseLoader(graphs(40, seed=0), 8, shuffle=True, seed=loader_seed),
        DenseLoader(graphs(20, seed=1000), 8),
        epochs=epochs,
        optimizer=optimizer,
        seed=5,
        out=folder,
        progress=False,
        **options,
    )
    return history, digest(model)


def digest(model: torch.nn.Module) -> str:
    numbers = torch.cat([p.detach().flatten() for p in model.parameters()])
    return hashlib.sha256(numbers.numpy().tobytes()).hexdigest()
