"""The recorded runs of chapter 05: ``python -m experiments.chapter05``, about 35 CPU minutes.

One bag Transformer, told in seven ways where its atoms are: not at all, by Laplacian eigenvectors
with the signs of a convention, with random signs, by SignNet, and by SignNet's networks without the
second sign, without the eigenvectors, or without messages. With ``--base gatedgcn --epochs 10`` the
same for a model that reads the bonds and their types anyway: about 15 CPU minutes.
"""

from collections.abc import Callable
from dataclasses import asdict, replace

import torch
from torch import Tensor, nn

from experiments.runs import command_line, record_all, record_run
from gtcourse import DenseLoader, load_dataset
from gtcourse.encodings import AddLaplacianEigenvectors, encode
from gtcourse.encodings.signs import flip_signs
from gtcourse.graphs.ragged import GraphDataset
from gtcourse.models import (
    BagTransformer,
    BagTransformerConfig,
    GatedGCN,
    GatedGCNConfig,
    LaplacianEncoding,
    SignNet,
    SignNetConfig,
)
from gtcourse.training.fit import evaluate
from gtcourse.training.records import Record
from gtcourse.training.tasks import graph_regression

K = 8
BASES = {
    "bag": (
        BagTransformer,
        BagTransformerConfig(d_model=64, num_heads=4, num_layers=3, d_hidden=128),
    ),
    "gatedgcn": (
        GatedGCN,
        GatedGCNConfig(num_node_types=28, num_node_features=0, num_edge_types=4, d_model=48),
    ),
}
SIGNNET = SignNetConfig(k=K, phi_layers=3, phi_hidden=32, phi_out=8, rho_layers=2, rho_hidden=64)
SIGN_DRAWS = 5  # of the test set's signs


class OneSign(SignNet):
    """SignNet's networks on u alone: what they see of the graph without the invariance."""

    def even(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        real = mask[:, :, None] & (vectors != 0).any(dim=1, keepdim=True)
        return self.phi(vectors, real, adjacency)


class Constant(SignNet):
    """SignNet's networks on ones: they read the edges, and no eigenvector."""

    def even(self, vectors: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        return super().even(torch.ones_like(vectors) * mask[:, :, None], adjacency, mask)


ENCODINGS: dict[str, Callable[[int], nn.Module | None]] = {
    "no-pe": lambda d: None,
    "laplacian": lambda d: LaplacianEncoding(K, d),
    "flips": lambda d: LaplacianEncoding(K, d, flip_signs=True),
    "signnet": lambda d: SignNet(replace(SIGNNET, d_model=d)),
    "one-sign": lambda d: OneSign(replace(SIGNNET, d_model=d)),
    "constant": lambda d: Constant(replace(SIGNNET, d_model=d)),
    "mlp": lambda d: SignNet(replace(SIGNNET, d_model=d, phi="mlp")),
}


def record(base: str, name: str, seed: int, epochs: int, data: GraphDataset) -> Record:
    model_class, config = BASES[base]
    signnet = asdict(replace(SIGNNET, d_model=config.d_model))
    return record_run(
        f"{base}-{name}/molecules",
        lambda: model_class(config, node_encoding=ENCODINGS[name](config.d_model)),
        data,
        config=asdict(config)
        | {
            "encoding": name,
            "eigenvectors": repr(transform()),
            "signnet": signnet if name in ("signnet", "one-sign", "constant", "mlp") else None,
        },
        seed=seed,
        epochs=epochs,
        command=f"python -m experiments.chapter05 {name} --base {base} --seeds {seed} "
        f"--epochs {epochs}",
        more_scores=lambda model, test: {
            "test_mae_random_signs": mae_with_random_signs(model, test)
        },
    )


def transform() -> AddLaplacianEigenvectors:
    return AddLaplacianEigenvectors(K, skip_first=True)


def mae_with_random_signs(model: nn.Module, test: DenseLoader) -> float:
    """The mean over ``SIGN_DRAWS`` draws of every test graph's signs."""
    generator = torch.Generator().manual_seed(0)
    scores = []
    for _ in range(SIGN_DRAWS):
        flipped = []
        for batch in test:
            vectors = batch.encodings["laplacian_eigenvectors"]
            signed = {"laplacian_eigenvectors": flip_signs(vectors, generator)}
            flipped.append(replace(batch, encodings=batch.encodings | signed))
        scores.append(evaluate(model, graph_regression(), flipped)["mae"])
    return sum(scores) / len(scores)


def main() -> None:
    parser = command_line(__doc__.splitlines()[0], ENCODINGS, epochs=20)
    parser.add_argument("--base", choices=BASES, default="bag")
    args = parser.parse_args()
    data = encode(load_dataset("molecules"), transform())
    record_all(args, lambda name, seed: record(args.base, name, seed, args.epochs, data))


if __name__ == "__main__":
    main()
