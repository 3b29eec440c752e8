"""Chapter 05: ``python -m experiments.chapter05``, about 50 CPU minutes.

One bag Transformer, told in seven ways where its atoms are: not at all, by Laplacian eigenvectors
with the signs of a convention, with random signs, by SignNet, and by SignNet's networks without the
second sign, without the eigenvectors, or without messages. The same for a GatedGCN, which reads the
bonds and their types anyway.
"""

from dataclasses import asdict, replace
from functools import partial

import torch
from torch import Tensor, nn

from experiments.runs import Run, main
from gtcourse import DenseLoader, load_dataset, models
from gtcourse.encodings import AddLaplacianEigenvectors, encode
from gtcourse.graphs.ragged import GraphDataset
from gtcourse.models.embeddings import flip_signs
from gtcourse.training.fit import evaluate
from gtcourse.training.tasks import graph_regression

K = 8
EIGENVECTORS = AddLaplacianEigenvectors(K, skip_first=True)
BASES = {
    "bag": (
        models.BagTransformer,
        models.BagTransformerConfig(d_model=64, num_heads=4, num_layers=3, d_hidden=128),
    ),
    "gatedgcn": (
        models.GatedGCN,
        models.GatedGCNConfig(num_node_types=28, num_node_features=0, num_edge_types=4, d_model=48),
    ),
}
SIGNNET = models.SignNetConfig(
    k=K, phi_layers=3, phi_hidden=32, phi_out=8, rho_layers=2, rho_hidden=64
)
EPOCHS = {"bag": 20, "gatedgcn": 10}
SIGN_DRAWS = 5  # of the test set's signs


class OneSign(models.SignNet):
    """SignNet's networks on u alone: what they see of the graph without the invariance."""

    def even(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        real = mask[:, :, None] & (vectors != 0).any(dim=1, keepdim=True)
        return self.phi(vectors, real, adjacency)


class Constant(models.SignNet):
    """SignNet's networks on ones: they read the edges, and no eigenvector."""

    def even(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        return super().even(torch.ones_like(vectors) * mask[:, :, None], adjacency, mask)


ENCODINGS = {
    "no-pe": lambda d: None,
    "laplacian": lambda d: models.LaplacianEncoding(K, d),
    "flips": lambda d: models.LaplacianEncoding(K, d, flip_signs=True),
    "signnet": lambda d: models.SignNet(replace(SIGNNET, d_model=d)),
    "one-sign": lambda d: OneSign(replace(SIGNNET, d_model=d)),
    "constant": lambda d: Constant(replace(SIGNNET, d_model=d)),
    "mlp": lambda d: models.SignNet(replace(SIGNNET, d_model=d, phi="mlp")),
}
WITHOUT_SIGNNET = ("no-pe", "laplacian", "flips")


def build(base: str, name: str) -> nn.Module:
    model, config = BASES[base]
    return model(config, node_encoding=ENCODINGS[name](config.d_model))


def run_of(base: str, name: str) -> Run:
    _, config = BASES[base]
    signnet = asdict(replace(SIGNNET, d_model=config.d_model))
    about = {
        "encoding": name,
        "eigenvectors": repr(EIGENVECTORS),
        "signnet": None if name in WITHOUT_SIGNNET else signnet,
    }
    build_model = partial(build, base, name)
    return Run(build_model, asdict(config) | about, epochs=EPOCHS[base], scores=random_signs)


def random_signs(model: nn.Module, test: DenseLoader) -> dict[str, float]:
    """The error's mean over ``SIGN_DRAWS`` draws of every test graph's signs."""
    generator = torch.Generator().manual_seed(0)
    scores = []
    for _ in range(SIGN_DRAWS):
        flipped = []
        for batch in test:
            vectors = flip_signs(batch.encodings["laplacian_eigenvectors"], generator)
            encodings = batch.encodings | {"laplacian_eigenvectors": vectors}
            flipped.append(replace(batch, encodings=encodings))
        scores.append(evaluate(model, graph_regression(), flipped)["mae"])
    return {"test_mae_random_signs": sum(scores) / len(scores)}


def load(name: str) -> GraphDataset:
    return encode(load_dataset(name), EIGENVECTORS)


if __name__ == "__main__":
    runs = {f"{base}-{name}": run_of(base, name) for base in BASES for name in ENCODINGS}
    main("chapter05", runs, load, title="{}/molecules")
