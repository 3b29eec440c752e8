"""The lecture's table on CYCLES: two message-passing models, without and with eigenvectors."""

from __future__ import annotations

from functools import partial

from torch.optim import Adam

from gtcourse.encodings import AddLaplacianEigenvectors
from gtcourse.models import GIN, GatedGCN, GatedGCNConfig, GINConfig, LaplacianEncoding
from gtcourse.training.recipe import Recipe
from gtcourse.training.schedules import halve_on_plateau
from gtcourse.training.tasks import graph_multiclass


def _cycles(name: str, build_model, parameters: int, *percent: tuple[float, float]) -> Recipe:
    """A row of the lecture's table, for 200, 500, 1000 and 5000 training graphs."""
    scores = [tuple(round(value / 100, 5) for value in score) for score in percent]
    with_pe = name.split("/")[0].endswith("-pe")
    eigenvectors = AddLaplacianEigenvectors(20, "symmetric", skip_first=True)
    return Recipe(
        name=name,
        build_model=build_model,
        dataset="cycles",
        transforms=(eigenvectors,) if with_pe else (),
        task=graph_multiclass(2),
        optimizer=partial(Adam, lr=1e-4),
        schedule=partial(halve_on_plateau, patience=10, mode="max"),
        epochs=1000,
        batch_size=25,
        source="CS224W, Laplacian Eigenvectors in Practice; settings of benchmarking-gnns, CYCLES",
        paper_parameters=parameters,
        paper_result={"test_accuracy": dict(zip((200, 500, 1000, 5000), scores, strict=True))},
        stop_below_lr=1e-6,
        notes=(
            "our own CYCLES, whose published generator is not public; a plateau is one of "
            "validation accuracy, there of validation loss; random signs for each graph, there "
            "for each batch; the weights best in validation, there the last"
        ),
    )


def _gin(pe: bool) -> GIN:
    config = GINConfig(num_targets=2, num_node_features=0 if pe else 1)
    return GIN(config, LaplacianEncoding(20, config.d_model, flip_signs=True) if pe else None)


def _gated_gcn(pe: bool) -> GatedGCN:
    config = GatedGCNConfig(num_targets=2, num_node_features=0 if pe else 1)
    return GatedGCN(config, LaplacianEncoding(20, config.d_model, flip_signs=True) if pe else None)


CYCLES = (
    _cycles(
        "gin/cycles", partial(_gin, pe=False), 100_774,
        (70.585, 0.636), (74.995, 1.226), (78.083, 1.083), (86.130, 1.140),
    ),
    _cycles(
        "gin-pe/cycles", partial(_gin, pe=True), 102_864,
        (86.720, 3.376), (95.960, 0.393), (97.998, 0.300), (99.570, 0.089),
    ),
    _cycles(
        "gatedgcn/cycles", partial(_gated_gcn, pe=False), 103_933,
        (50.000, 0.000), (50.000, 0.000), (50.000, 0.000), (50.000, 0.000),
    ),
    _cycles(
        "gatedgcn-pe/cycles", partial(_gated_gcn, pe=True), 105_263,
        (95.082, 0.346), (96.700, 0.381), (98.230, 0.473), (99.725, 0.027),
    ),
)  # fmt: skip
