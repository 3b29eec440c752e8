"""The settings of CSA (Menegaux et al., 2023, Table 6), and which go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gtcourse.graphs.arguments import at_least, exactly_one, kinds, share
from gtcourse.models.csa_edges import Relative, Rings
from gtcourse.models.csa_layers import Form, Score
from gtcourse.models.flat import Readout

Target = Literal["graph", "node"]
Activation = Literal["relu", "gelu"]


@dataclass(frozen=True)
class CGTConfig:
    """The model of Table 6 for ZINC, without rings, by default.

    Attributes:
        num_node_types, num_edge_types: categories of each column of x and of edge_attr;
            num_node_features: columns of numbers of x instead. Where num_edge_types is empty, edges
            have no features.
        target: what is predicted: a graph or its nodes; num_targets: C.
        node_steps: of the random walks that a node encodes (RWSE); d_position: how many of the d
            channels at first are that encoding's. 0 for none.
        relative: the encoding of pairs: "walks" (RWSE, Eq. 12), "distances" (SPDE, Eq. 11) or None;
            relative_steps: p.
        rings: "additive", "categorical" or None (Section 3.4).
        chromatic: a logit of each pair for each channel; False for one of each head, CSA-mono.
        edge_values: whether pairs add to the values (Eq. 7).
        share_edges: one pair of maps for the edges' logits and values, or one in each layer.
        score, form, node_ablation, edge_ablation, channel_ablation: of
            :class:`~gtcourse.models.csa_layers.ChromaticSelfAttention`.
        readout: the sum or the mean of the nodes' predictions, of a graph.
    """

    num_node_types: tuple[int, ...] = (28,)
    num_node_features: int = 0
    num_edge_types: tuple[int, ...] = (4,)
    target: Target = "graph"
    num_targets: int = 1
    d_model: int = 64
    num_heads: int = 4
    num_layers: int = 10
    node_steps: int = 20
    d_position: int = 28
    relative: Relative = "walks"
    relative_steps: int = 20
    rings: Rings = None
    chromatic: bool = True
    edge_values: bool = True
    share_edges: bool = True
    score: Score = "dot"
    form: Form = "factorised"
    dropout: float = 0.0
    node_ablation: float = 0.0
    edge_ablation: float = 0.5
    channel_ablation: float = 0.0
    activation: Activation = "relu"
    readout: Readout = "sum"


CHOICES = {
    "target": Target,
    "relative": Relative,
    "rings": Rings,
    "score": Score,
    "form": Form,
    "activation": Activation,
    "readout": Readout,
}
PROBABILITIES = ("dropout", "node_ablation", "edge_ablation", "channel_ablation")


def check(config: CGTConfig) -> None:
    """Refuses what cannot be.

    Raises:
        ValueError: a number is too small, a word is unknown, or two settings exclude each other.
    """
    kinds(config)
    counts = ("num_targets", "num_heads", "num_layers", "relative_steps")
    at_least(1, **{name: getattr(config, name) for name in counts})
    at_least(4, d_model=config.d_model)  # of which the head leaves a quarter
    none = ("num_node_features", "node_steps", "d_position")
    at_least(0, **{name: getattr(config, name) for name in none})
    for name in ("num_node_types", "num_edge_types"):
        for value in getattr(config, name):
            at_least(1, **{name: value})
    for name, literal in CHOICES.items():
        choices = get_args(literal)
        if getattr(config, name) not in choices:
            expected = ", ".join(map(str, choices))
            raise ValueError(f"{name} is {getattr(config, name)!r}; expected one of {expected}.")
    if config.score == "additive" and not config.chromatic:
        raise ValueError(
            "score is 'additive' and chromatic False; expected chromatic, as the sum is one of "
            "channels."
        )
    share(**{name: getattr(config, name) for name in PROBABILITIES})
    exactly_one(num_node_types=config.num_node_types, num_node_features=config.num_node_features)
    if bool(config.node_steps) != bool(config.d_position) or config.d_position >= config.d_model:
        raise ValueError(
            f"node_steps is {config.node_steps} and d_position {config.d_position}; expected both "
            f"0, or both above and d_position below d_model = {config.d_model}."
        )
