"""The settings of EGT (Hussain et al., 2021, Tables 4 to 6), and which go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gtcourse.graphs.arguments import at_least, exactly_one, kinds, positive


@dataclass(frozen=True)
class EGTConfig:
    """The 500K model of Table 5 for ZINC and the embedded molecules by default.

    Attributes:
        num_node_types, num_edge_types: categories of each column of x and of edge_attr;
            num_node_features, num_edge_features: columns of numbers instead. Where both are empty
            for the edges, they have no features.
        target: what is predicted: a graph, its nodes or its edges; num_targets: C.
        node_multiplier, edge_multiplier: inner widths of the feed-forward networks over d and d_e.
        structure: what the pairs know of the graph at first: "adjacency" with self-loops, or the
            "distance", clipped at max_distance.
        svd_rank: r of the positional encoding (Eqs. 8, 9), 0 for none; flip_signs: "pairs" flips
            the signs of :math:`u_m, v_m` together in training, "nodes" those of all that a node
            has, as the authors' first code did by mistake.
        variant: "full"; "simple", whose pairs never change (Eqs. 10, 11); "constrained", which
            attends to neighbours and itself (Eq. 12).
        gated: False for EGT-U (Eqs. 13, 14).
        virtual_nodes: q; of a graph they are the readout, in place of the nodes' mean.
        head_widths: of the two hidden layers of the heads; d / 2 and d / 4 where it is None.
        distance_hops: ν of the distance-prediction objective; 0 for none.
        norm_eps: of the layer norms; 1e-3 in the paper's runs (Keras).
        attention_dropout, random_mask, degree_scaler, scaled: of the authors' later code, see
            :class:`~gtcourse.models.egt_layers.EGTAttention`.
    """

    num_node_types: tuple[int, ...] = (28,)
    num_node_features: int = 0
    num_edge_types: tuple[int, ...] = (4,)
    num_edge_features: int = 0
    target: Literal["graph", "node", "edge"] = "graph"
    num_targets: int = 1
    d_model: int = 64
    d_edge: int = 64
    num_heads: int = 8
    num_layers: int = 10
    node_multiplier: float = 2.0
    edge_multiplier: float = 2.0
    structure: Literal["adjacency", "distance"] = "adjacency"
    max_distance: int = 16
    svd_rank: int = 0
    flip_signs: Literal["pairs", "nodes"] | None = None
    variant: Literal["full", "simple", "constrained"] = "full"
    gated: bool = True
    virtual_nodes: int = 0
    head_widths: tuple[int, int] | None = None
    distance_hops: int = 0
    clip: float = 5.0
    node_dropout: float = 0.0
    edge_dropout: float = 0.0
    norm_eps: float = 1e-5
    attention_dropout: float = 0.0
    random_mask: float = 0.0
    degree_scaler: bool = False
    scaled: bool = True

    @property
    def reads_edges(self) -> bool:
        """Whether the pairs' last vectors are used; otherwise the last layer does not make them."""
        return (self.target == "edge" and self.variant != "simple") or self.distance_hops > 0

    @property
    def reads_nodes(self) -> bool:
        return self.target != "edge" or self.variant == "simple"


CHOICES = {
    "target": ("graph", "node", "edge"),
    "structure": ("adjacency", "distance"),
    "variant": ("full", "simple", "constrained"),
    "flip_signs": (None, "pairs", "nodes"),
}


def check(config: EGTConfig) -> None:
    """Refuses what cannot be.

    Raises:
        ValueError: a number is too small, a word is unknown, or two settings exclude each other.
    """
    kinds(config)
    counts = ("num_targets", "d_model", "d_edge", "num_heads", "num_layers", "max_distance")
    at_least(1, **{name: getattr(config, name) for name in counts})
    none = ("svd_rank", "virtual_nodes", "distance_hops", "num_node_features", "num_edge_features")
    at_least(0, **{name: getattr(config, name) for name in none})
    for name in ("num_node_types", "num_edge_types", "head_widths"):
        for value in getattr(config, name) or ():
            at_least(1, **{name: value})
    _check_shares(config)
    for name, choices in CHOICES.items():
        if getattr(config, name) not in choices:
            expected = ", ".join(map(str, choices))
            raise ValueError(f"{name} is {getattr(config, name)!r}; expected one of {expected}.")
    exactly_one(num_node_types=config.num_node_types, num_node_features=config.num_node_features)
    if config.num_edge_types and config.num_edge_features:
        raise ValueError(
            f"num_edge_types is {config.num_edge_types} and num_edge_features "
            f"{config.num_edge_features}; expected at most one of the two."
        )
    if config.distance_hops and config.variant != "full":
        raise ValueError(
            f"distance_hops is {config.distance_hops} and variant {config.variant!r}; expected "
            "'full', the only one with a vector for every pair at the end."
        )
    if config.distance_hops and config.structure == "distance":
        raise ValueError(
            "the distance objective asks for what structure = 'distance' gives away; expected "
            "'adjacency' beside distance_hops."
        )


def _check_shares(config: EGTConfig) -> None:
    """The settings that are no whole numbers; torch refuses a dropout that is none."""
    positive(clip=config.clip, norm_eps=config.norm_eps)
    if not 0 <= config.random_mask < 1:
        raise ValueError(
            f"random_mask is {config.random_mask}; expected a share, 0 or more and below 1."
        )
    for name, width in (("node_multiplier", config.d_model), ("edge_multiplier", config.d_edge)):
        if round(getattr(config, name) * width) < 1:
            raise ValueError(
                f"{name} is {getattr(config, name)}, of d = {width}; expected an inner width of 1 "
                "or more."
            )
