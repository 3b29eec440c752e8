"""Chapter 05: ``python -m experiments.chapter05``, about three CPU hours.

A bag Transformer on molecules, with one of eight node encodings: none, Laplacian eigenvectors with
the signs of a convention or with random signs, SignNet, SignNet's networks without the second sign,
without the eigenvectors or without messages, and a vector for each degree. The same for a GatedGCN,
which reads the bonds and their types anyway, and on chapter 04's CYCLES, where GatedGCN without an
encoding can only guess. On CYCLES a linear map also reads the eigenvectors' absolute values, and
three encodings also train with a higher rate, and for longer. SignNet's networks without the second
sign also train there with random signs, and without messages, both with the signs of the convention
and with random signs.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from experiments.runs import Run, first_graphs, main
from gtcourse import DenseLoader, GraphBatch, load_dataset, models
from gtcourse.encodings import AddLaplacianEigenvectors, encode
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.models.signnet import flip_signs
from gtcourse.train.loop import evaluate
from gtcourse.train.tasks import Task, graph_multiclass, graph_regression

SIGNNET = models.SignNetConfig(
    k=8, phi_layers=3, phi_hidden=32, phi_out=8, rho_layers=2, rho_hidden=64
)


class Base(NamedTuple):
    """A model, the data and the sizes of SignNet beside it."""

    model: type[nn.Module]
    config: object
    signnet: models.SignNetConfig = SIGNNET
    data: str = "molecules"
    task: Task = graph_regression()
    batch_size: int = 128
    buckets: int = 4
    epochs: int = 20


BASES = {
    "bag": Base(
        models.BagTransformer,
        models.BagTransformerConfig(d_model=64, num_heads=4, num_layers=3, d_hidden=128),
    ),
    "gatedgcn": Base(
        models.GatedGCN,
        models.GatedGCNConfig(
            num_node_types=(28,), num_node_features=0, num_edge_types=(4,), d_model=48
        ),
        epochs=10,
    ),
    "cycles": Base(
        models.GatedGCN,
        models.GatedGCNConfig(num_targets=2, d_model=48),
        replace(SIGNNET, k=20, phi_hidden=16, phi_out=4),
        "cycles",
        graph_multiclass(2),
        batch_size=50,
        buckets=1,
    ),
}
EIGENVECTORS = {
    "molecules": AddLaplacianEigenvectors(8, skip_first=True),
    "cycles": AddLaplacianEigenvectors(20, "symmetric", skip_first=True),
}
CYCLES = (1000, 500, 2000)  # graphs for training, validation and test
SIGN_DRAWS = 5  # of the test set's signs
MAX_DEGREE = 6
"""Of a node of CYCLES; an atom has at most four bonds here."""


class OneSign(models.SignNet):
    """SignNet's networks on u alone: what they see of the graph without the invariance."""

    def even(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        real = mask[:, :, None] & (vectors != 0).any(dim=1, keepdim=True)
        return self.phi(vectors, real, adjacency)


class OneRandomSign(OneSign):
    """The same with signs drawn anew in training, so that it can learn to ignore them."""

    def even(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        return super().even(flip_signs(vectors) if self.training else vectors, adjacency, mask)


class Constant(models.SignNet):
    """SignNet's networks on ones: they read the edges, and no eigenvector."""

    def even(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        return super().even(torch.ones_like(vectors) * mask[:, :, None], adjacency, mask)


class AbsoluteValues(models.LaplacianEncoding):
    """A linear map of the entries without their signs."""

    def forward(self, batch: GraphBatch) -> Tensor:
        vectors = batch.encoding("laplacian_eigenvectors")
        return self.projection(vectors.abs())


def absolute_values(config: models.SignNetConfig) -> AbsoluteValues:
    return AbsoluteValues(config.k, config.d_model)


class Degrees(nn.Embedding):
    """A learned vector for the number of a node's neighbours."""

    def forward(self, batch: GraphBatch) -> Tensor:
        return super().forward(batch.adjacency.sum(dim=-1))


ENCODINGS = {
    "no-pe": lambda c: None,
    "laplacian": lambda c: models.LaplacianEncoding(c.k, c.d_model),
    "flips": lambda c: models.LaplacianEncoding(c.k, c.d_model, flip_signs=True),
    "signnet": models.SignNet,
    "one-sign": OneSign,
    "constant": Constant,
    "mlp": lambda c: models.SignNet(replace(c, phi="mlp")),
    "degrees": lambda c: Degrees(MAX_DEGREE + 1, c.d_model),
}
WITHOUT_SIGNNET = ("no-pe", "laplacian", "flips", "absolute", "degrees")
VARIED = ("laplacian", "flips", "signnet")
"""The encodings that CYCLES is trained with at ``HIGHER_PEAK``, and for ``MORE_EPOCHS``."""

HIGHER_PEAK = 5e-3
MORE_EPOCHS = 100


def run_of(base: Base, name: str, build: Callable | None = None) -> Run:
    """The run with an encoding of ``ENCODINGS``, or with what ``build`` makes of the sizes."""
    signnet = replace(base.signnet, d_model=base.config.d_model)
    encoding_of = build or ENCODINGS[name]
    return Run(
        lambda: base.model(base.config, node_encoding=encoding_of(signnet)),
        asdict(base.config)
        | {
            "encoding": name,
            "eigenvectors": repr(EIGENVECTORS[base.data]),
            "signnet": None if name in WITHOUT_SIGNNET else asdict(signnet),
        },
        data=base.data,
        task=lambda: base.task,
        batch_size=base.batch_size,
        buckets=base.buckets,
        epochs=base.epochs,
        scores=partial(random_signs, base.task),
    )


class RandomSigns:
    """A loader's batches, with random signs for each graph's eigenvectors."""

    def __init__(self, loader: DenseLoader):
        self.loader = loader
        self.targets = loader.targets

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[GraphBatch]:
        for batch in self.loader:
            vectors = flip_signs(batch.encodings["laplacian_eigenvectors"])
            encodings = batch.encodings | {"laplacian_eigenvectors": vectors}
            yield replace(batch, encodings=encodings)


def random_signs(task: Task, model: nn.Module, test: DenseLoader) -> dict[str, float]:
    """The test metric's mean over ``SIGN_DRAWS`` draws of every test graph's signs."""
    torch.manual_seed(0)
    scores = [evaluate(model, task, RandomSigns(test))[task.monitor] for _ in range(SIGN_DRAWS)]
    return {f"test_{task.monitor}_random_signs": sum(scores) / len(scores)}


def load(name: str) -> GraphDataset:
    data = load_dataset(name)
    data = first_graphs(data, *CYCLES) if name == "cycles" else data
    return encode(data, EIGENVECTORS[name])


if __name__ == "__main__":
    runs = {
        f"{name}-{encoding}/{base.data}": run_of(base, encoding)
        for name, base in BASES.items()
        for encoding in ENCODINGS
    }
    for encoding in VARIED:
        run = runs[f"cycles-{encoding}/cycles"]
        runs[f"cycles-{encoding}-fast/cycles"] = replace(run, peak=HIGHER_PEAK)
        runs[f"cycles-{encoding}-long/cycles"] = replace(run, epochs=MORE_EPOCHS)
    only_on_cycles = {
        "one-sign-flips": OneRandomSign,
        "mlp-one-sign": lambda c: OneSign(replace(c, phi="mlp")),
        "mlp-one-sign-flips": lambda c: OneRandomSign(replace(c, phi="mlp")),
        "absolute": absolute_values,
    }
    for name, build in only_on_cycles.items():
        runs[f"cycles-{name}/cycles"] = run_of(BASES["cycles"], name, build)
    main("chapter05", runs, load)
