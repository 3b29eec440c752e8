"""What EGT's paper prints: results (Hussain et al., 2021, Tables 1, 3, 7, 8), settings (Table 5).

A run has its model's name in the paper. "simple" and "constrained" are the variants of Appendix C,
"ungated" is EGT-U; "spe" are SVD-based and "epe" Laplacian positional encodings; "do" is the
distance objective. "augmented" and "unaugmented" are the rows of Table 8 that do with the signs of
singular vectors what the other runs on their data do not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gtcourse.training.tasks import (
    Task,
    edge_classification,
    graph_multiclass,
    graph_regression,
    node_classification,
)

COLUMNS = ("pattern", "cluster", "mnist", "cifar10", "tsp", "zinc", "zinc-full")
"""Of the two tables below: accuracy in percent, F1 on TSP, mean absolute error on ZINC."""

# fmt: off
RESULTS = {
    "Table 1": {
        "egt-100k": "86.798±0.032 - 97.615±0.050 63.260±0.735 0.807±0.004 0.370±0.016 -",
        "egt-100k-epe": "86.827±0.037 - - - - 0.336±0.029 -",
        "egt-100k-spe": "86.735±0.032 - 97.573±0.068 63.968±1.252 0.810±0.003 0.277±0.019 -",
        "egt-100k-spe-do": "- - 97.722±0.222 67.004±0.624 - 0.171±0.013 -",
        "egt-500k": "86.825±0.032 77.080±0.361 - - 0.845±0.001 0.302±0.023 -",
        "egt-500k-epe": "86.856±0.013 76.952±0.337 - - - 0.242±0.010 -",
        "egt-500k-spe": "86.730±0.036 77.909±0.245 - - 0.844±0.002 0.223±0.007 -",
        "egt-500k-spe-do": "- - - - - 0.154±0.011 -",
    },
    "Table 3": {
        "egt-500k": "- - - - - - 0.051±0.002",
        "egt-500k-spe": "- - - - - - 0.042±0.005",
        "egt-100k-simple": "- - 97.940±0.192 62.840±0.648 - - -",
        "egt-500k-simple": "86.794±0.020 76.989±0.102 - - 0.818±0.002 0.383±0.025 0.056±0.001",
        "egt-100k-simple-spe": "- - 97.487±0.438 63.260±0.569 - - -",
        "egt-500k-simple-spe":
            "86.746±0.055 76.858±0.218 - - 0.819±0.002 0.266±0.034 0.049±0.002",
        "egt-100k-constrained": "- - 96.753±0.297 63.165±0.139 - - -",
        "egt-500k-constrained":
            "84.267±0.555 74.532±0.280 - - 0.846±0.001 0.232±0.010 0.063±0.004",
        "egt-100k-constrained-spe": "- - 96.823±0.204 65.192±0.475 - - -",
        "egt-500k-constrained-spe":
            "86.629±0.041 76.701±0.257 - - 0.846±0.001 0.174±0.004 0.051±0.003",
    },
    "Table 7": {
        "egt-100k-ungated": "- - 97.368±0.369 61.275±0.966 - - -",
        "egt-500k-ungated": "86.811±0.040 76.811±0.333 - - 0.839±0.002 0.371±0.020 -",
    },
    "Table 8": {
        "egt-500k-spe-augmented": "85.624±0.642 77.626±0.520 - - - - 0.046±0.001",
        "egt-100k-spe-unaugmented": "- - 96.675±0.314 60.720±0.883 - - -",
        "egt-500k-spe-unaugmented": "- - - - 0.844±0.001 0.520±0.008 -",
    },
}
PARAMETERS = {
    "egt-100k": "138674 - 138826 138954 116226 112337 -",
    "egt-100k-epe": "138866 - - - - 112769 -",
    "egt-100k-spe": "139762 - 139914 140042 117314 113153 -",
    "egt-100k-spe-do": "- - 141182 141310 - 124665 -",
    "egt-500k": "546674 546998 - - 524226 506977 506977",
    "egt-500k-epe": "546866 548342 - - - 507553 -",
    "egt-500k-spe": "547762 548086 - - 525314 508065 508065",
    "egt-500k-spe-do": "- - - - - 528149 -",
    "egt-100k-simple": "- - 137658 137786 - - -",
    "egt-500k-simple": "540898 541222 - - 543154 528857 528857",
    "egt-100k-simple-spe": "- - 138746 138874 - - -",
    "egt-500k-simple-spe": "541986 542310 - - 544242 530217 530217",
    "egt-100k-ungated": "- - 138538 138666 - - -",
    "egt-500k-ungated": "545522 545846 - - 523074 501777 -",
}
# fmt: on
"""Of the models here. Neither a neighbourhood ("constrained") nor other signs change them."""

NODES_OF_PATTERN = (979_220, 209_900)
NODES_OF_CLUSTER = (19_695, 19_222, 19_559, 19_417, 19_801, 20_139)
"""Nodes of each class, as the authors' code counts them."""

SIZES = {"100k": (4, 64, 8), "500k": (16, 64, 8)}
SIZES_ON_ZINC = {"100k": (4, 48, 48), "500k": (10, 64, 64), "500k-simple": (10, 80, 8)}
"""Layers, width of the nodes and of the pairs."""


@dataclass(frozen=True)
class Setting:
    """A data set's column of Table 5.

    Attributes:
        config: what the model reads and predicts, as arguments of
            :class:`gtcourse.models.EGTConfig`.
        sizes: by the number of parameters, as ``SIZES`` has them.
        augmented: whether singular vectors are flipped in training.
        eigenvectors: of "epe"; distance_weight: κ of "do".
    """

    config: dict
    task: Task
    epochs: int
    patience: int
    augmented: bool
    sizes: dict[str, tuple[int, int, int]] = field(default_factory=lambda: SIZES)
    batch_size: int = 128
    eigenvectors: int = 0
    distance_weight: float = 0.0


def _categories(nodes: int, edges: int = 0, **target) -> dict:
    edge_types = (edges,) if edges else ()
    return {"num_node_types": (nodes,), "num_edge_types": edge_types, **target}


def _numbers(nodes: int, edges: int, **target) -> dict:
    none = {"num_node_types": (), "num_edge_types": ()}
    return none | {"num_node_features": nodes, "num_edge_features": edges, **target}


SETTINGS = {
    "pattern": Setting(
        _categories(3, target="node", num_targets=2),
        node_classification(2, NODES_OF_PATTERN),
        epochs=200, patience=10, augmented=False, eigenvectors=2,
    ),
    "cluster": Setting(
        _categories(7, target="node", num_targets=6),
        node_classification(6, NODES_OF_CLUSTER),
        epochs=200, patience=10, augmented=False, eigenvectors=20,
    ),
    "mnist": Setting(
        _numbers(3, 1, num_targets=10), graph_multiclass(10),
        epochs=200, patience=10, augmented=True, distance_weight=5e-4,
    ),
    "cifar10": Setting(
        _numbers(5, 1, num_targets=10), graph_multiclass(10),
        epochs=200, patience=10, augmented=True, distance_weight=5e-4,
    ),
    "tsp": Setting(
        _numbers(2, 1, target="edge", num_targets=2), edge_classification(),
        epochs=100, patience=5, augmented=True, batch_size=8,
    ),
    "zinc": Setting(
        _categories(28, 4), graph_regression(), sizes=SIZES_ON_ZINC,
        epochs=600, patience=20, augmented=True, eigenvectors=8, distance_weight=5e-2,
    ),
    "zinc-full": Setting(
        _categories(28, 4), graph_regression(), sizes=SIZES_ON_ZINC,
        epochs=200, patience=5, augmented=False,
    ),
}  # fmt: skip
