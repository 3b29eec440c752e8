"""What each of two processes does: :func:`main`, started by :mod:`tests.train.forked`.

It writes the gradients of one step, which with one process is the same step as anywhere else; and
the weights of a run, and of the same run when it was interrupted in the middle of an epoch.
"""

from contextlib import suppress
from itertools import count
from pathlib import Path

import torch

from gtcourse.encodings import AddRandomWalks, AddShortestPaths, encode, encode_batch
from gtcourse.graphs import DenseLoader, open_graphs
from gtcourse.graphs.batch import MISSING_LABEL
from gtcourse.models import CGT, GIN, GRPE, CGTConfig, GINConfig, GRPEConfig
from gtcourse.train.loop import device, evaluate, fit
from gtcourse.train.tasks import graph_regression, node_classification
from tests.graphs.small import graph_of

TASKS = {"graph": graph_regression(), "node": node_classification(2, [30, 70])}
WITHOUT_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0}
MODELS = {
    "batch norm of nodes": (
        "graph",
        lambda: CGT(
            CGTConfig(
                d_model=8,
                num_heads=2,
                num_layers=2,
                node_steps=3,
                d_position=2,
                relative_steps=3,
                edge_ablation=0.0,
            )
        ),
    ),
    "batch norm of rows": (
        "graph",
        lambda: GIN(GINConfig(num_node_types=28, num_node_features=0, d_model=8, num_layers=2)),
    ),
    "node targets": (
        "node",
        lambda: GRPE(
            GRPEConfig(
                d_model=8,
                num_heads=2,
                num_layers=2,
                target="node",
                num_targets=2,
                **WITHOUT_DROPOUT,
            )
        ),
    ),
}


EVALUATED = {
    "finite": (2.0,),
    "not finite in the second process": (torch.nan,),
    "no known target in the second process": (2.0, (1, 3, 5)),
    "no known target": (2.0, tuple(range(7))),
}
"""Predictions for the graph of the target 1, and graphs whose target is missing."""


def graphs(kind: str):
    """Seven graphs, which two processes cannot share evenly, some targets missing."""
    made = [graph_of(2 + i % 4, [(0, 1), (1, 0)], seed=i) for i in range(7)]
    for i, graph in enumerate(made):
        classes = torch.arange(graph.num_nodes) % 2
        graph.y = torch.tensor([float(i)]) if kind == "graph" else classes
    made[3].y = (
        made[3].y * torch.nan if kind == "graph" else torch.full_like(made[3].y, MISSING_LABEL)
    )
    return encode(made, AddRandomWalks(3), AddShortestPaths())


def gradients(name: str, accumulate: int = 1) -> dict[str, torch.Tensor]:
    """After the one step of an epoch, in float64, on so many batches."""
    kind, build = MODELS[name]
    torch.manual_seed(0)
    model = build().double()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
    train = DenseLoader(graphs(kind), -(-7 // accumulate), shuffle=True)
    options = {"accumulate": accumulate, "progress": False}
    fit(model, TASKS[kind], train, epochs=1, optimizer=optimizer, **options)
    # GIN's running statistics are no gradients, and have to be the same as well.
    found = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return found | {f"buffer {name}": buffer.clone() for name, buffer in model.named_buffers()}


def weights(folder: Path, until: int | None = None) -> dict[str, torch.Tensor]:
    """Of two epochs with dropout and batch norm on shuffled graphs; ``until`` so many steps."""
    torch.manual_seed(0)
    model = CGT(
        CGTConfig(
            d_model=8,
            num_heads=2,
            num_layers=2,
            node_steps=3,
            d_position=2,
            relative_steps=3,
            dropout=0.3,
        )
    )
    train = DenseLoader(
        open_graphs(folder / "graphs").train,
        4,
        shuffle=True,
        buckets=2,
        then=lambda batch: encode_batch(batch, AddRandomWalks(3)),
    )
    steps = iter(range(until) if until is not None else count())

    class Interrupted(DenseLoader):
        def __iter__(self):
            for batch in super().__iter__():
                if next(steps, None) is None:
                    raise KeyboardInterrupt
                yield batch

    train.__class__ = Interrupted
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    out = folder / ("whole" if until is None and not (folder / "parts").exists() else "parts")
    fit(
        model,
        TASKS["graph"],
        train,
        epochs=2,
        optimizer=optimizer,
        progress=False,
        out=out,
        checkpoint_every=2,
    )
    return model.state_dict()


class Sizes(torch.nn.Module):
    """Predicts the nodes of each graph, and ``wrong`` for that of the target 1."""

    def __init__(self, wrong: float):
        super().__init__()
        self.wrong = torch.nn.Parameter(torch.tensor(wrong))

    def forward(self, batch):
        return batch.sizes.float().where(batch.y != 1, self.wrong)


def evaluated(wrong: float, unknown: tuple[int, ...] = ()) -> torch.Tensor:
    """The error for graphs of which each process has some, -1 if a prediction is not finite."""
    given = graphs("graph")
    for number in unknown:
        given[number].y = torch.tensor([torch.nan])
    loader = DenseLoader(given, 7)
    if torch.distributed.is_initialized():
        loader = loader.shard(torch.distributed.get_rank(), 2, even=False)
    try:
        return torch.tensor(evaluate(Sizes(wrong).to(device()), TASKS["graph"], loader)["mae"])
    except RuntimeError as error:
        if "is not a finite number" not in str(error):
            raise
        return torch.tensor(-1.0)


def main(folder: Path) -> None:
    """Writes what it finds to ``folder/two.pt``."""
    found = {name: gradients(name) for name in MODELS}
    found["accumulated"] = gradients("node targets", accumulate=2)
    found["whole"] = weights(folder)
    with suppress(KeyboardInterrupt):
        weights(folder, until=13)  # of ten an epoch; the checkpoint is of the second after these
    found["parts"] = weights(folder)
    found["evaluated"] = {name: evaluated(*given) for name, given in EVALUATED.items()}
    if torch.distributed.get_rank() == 0:
        torch.save(found, folder / "two.pt")
    torch.distributed.destroy_process_group()
