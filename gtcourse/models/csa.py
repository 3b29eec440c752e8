r"""CSA (Menegaux et al., 2023): self-attention with a weight for each channel of a pair.

In a Transformer one number decides how much node i takes from node j, the same for all channels of
a head. In Chromatic Self-Attention each channel has a number of its own (Eq. 5). It depends on the
vector of the pair, which is made of its edge, of the walks between its nodes, and of the rings that
hold both (Eqs. 8 to 13). The pair also adds to what is taken (Eq. 7).

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph; smaller graphs are padded
    H: attention heads
    d: width of a node's vector, and of a pair's
    K: channels of a head, d / H
    R: rows of a pair tensor, that is, nodes that attend
    F: columns of features
    p: steps of a random walk, or the longest distance with a vector of its own
    C: targets, or classes, of a prediction

In layers pair tensors have channels before nodes, ``[B, d, N, N]``; in encodings the channels come
last. Row i is the query's: node i receives from node j, by what is known of the way from i to j.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.compiler import is_compiling

from gtcourse.graphs.arguments import check_choice, number
from gtcourse.graphs.batch import GraphBatch, clipped
from gtcourse.models import csa_kernel
from gtcourse.models.attention import Activation, AttentionProjections, FeedForward, over_heads
from gtcourse.models.batch_norm import NodeBatchNorm
from gtcourse.models.categories import (
    ALL,
    CategoryEmbedding,
    NumberEmbedding,
    can_read,
    feature_embedding,
    real_edge_features,
    real_node_features,
)
from gtcourse.models.config import (
    Bound,
    Categories,
    GraphConfig,
    NotNegativeInt,
    PositiveInt,
    Probability,
    check_given,
)
from gtcourse.models.csa_kernel import rows_of
from gtcourse.models.fused import check_numba
from gtcourse.models.mlp import mlp
from gtcourse.models.old_weights import read_renamed

Score = Literal["dot", "additive"]
Form = Literal["factorised", "direct", "chunked"]
ModelForm = Literal["factorised", "direct", "chunked", "fused"]


@dataclass(frozen=True)
class CGTConfig(GraphConfig):
    """Data, sizes and variants. The defaults are the model of Table 6 for ZINC, without rings."""

    num_node_types: Categories = (28,)  #: categories in each column of x
    num_node_features: NotNegativeInt = 0  #: columns of x, if it holds numbers instead
    num_edge_types: Categories = (4,)  #: categories in each column of edge_attr
    target: Literal["graph", "node"] = "graph"  #: what gets a prediction
    num_targets: PositiveInt = 1  #: numbers in a prediction, C
    d_model: PositiveInt = 64  #: width of a node's vector, and of a pair's, d
    num_heads: PositiveInt = 4  #: attention heads, H
    num_layers: PositiveInt = 10  #: layers
    node_steps: NotNegativeInt = 20  #: steps of the nodes' random walks; 0 for none
    d_position: NotNegativeInt = 28  #: channels of d that encode the nodes' random walks
    #: what the vector of a pair holds beside its edge: random walks (Eq. 12) or distances (Eq. 11)
    relative: Literal["walks", "distances"] | None = "walks"
    #: steps of these walks, or the longest distance, p; may be set only with a relative encoding
    relative_steps: PositiveInt = 20
    #: how pairs on a common ring enter (Section 3.4)
    rings: Literal["additive", "categorical"] | None = None
    chromatic: bool = True  #: whether each channel has a logit; else each head, CSA-mono (Eq. 4)
    edge_values: bool = True  #: whether pairs add to the messages (Eq. 7)
    share_edges: bool = True  #: whether all layers share the linear maps of the pairs
    score: Score = "dot"  #: "additive" for Q_i + K_j + E_ij in the exponent
    #: bound of the logits, Q_i · K_j + E_ij; infinite for none, as in the paper
    clip: Bound = math.inf
    #: how attention is computed (:class:`ChromaticSelfAttention`), or "fused", which computes all
    #: layers in loops that numba compiles for the CPU (:mod:`gtcourse.models.csa_fused`);
    #: where the attention is asked for, and in a compiled model, "fused" computes layer by layer
    form: ModelForm = "factorised"
    dropout: Probability = 0.0  #: after attention, and in and after the feed-forward network
    node_ablation: Probability = 0.0  #: share of the nodes whose weights are dropped in training
    edge_ablation: Probability = 0.5  #: share of the pairs whose weights are dropped
    channel_ablation: Probability = 0.0  #: share of the channels whose weights are dropped
    activation: Activation = "relu"  #: of the feed-forward networks
    #: how the predictions of nodes make a graph's; may be set only for targets of graphs
    readout: Literal["sum", "mean"] = "sum"
    num_edge_features: NotNegativeInt = 0  #: columns of edge_attr, if it holds numbers instead

    def __post_init__(self) -> None:
        super().__post_init__()
        encodes_walks = self.node_steps > 0
        has_channels = self.d_position > 0
        if encodes_walks != has_channels or self.d_position >= self.d_model:
            raise ValueError(
                f"node_steps is {self.node_steps} and d_position is {self.d_position}; expected "
                f"both above 0, or both 0, and d_position below d_model, {self.d_model}."
            )
        if self.relative is None and self.relative_steps != CGTConfig.relative_steps:
            raise ValueError(
                f"relative_steps is {self.relative_steps} and relative is None, which has neither "
                "walks nor distances; expected relative='walks' or 'distances', or "
                f"relative_steps={CGTConfig.relative_steps}, the default."
            )
        if self.rings == "categorical" and self.num_edge_features > 0:
            raise ValueError(
                f"rings is 'categorical' and num_edge_features is {self.num_edge_features}; "
                "expected categories of edges, or rings 'additive'."
            )
        if self.score == "additive" and not self.chromatic:
            raise ValueError(
                "score is 'additive' and chromatic is False; expected chromatic=True, because each "
                "channel has its own Q_i + K_j, or score='dot'."
            )
        if self.target == "node":
            self.check_unread({"readout": "target is 'node'"})
        can_be_fused = self.chromatic and self.score == "dot" and self.num_edge_features == 0
        if self.form == "fused" and not can_be_fused:
            raise ValueError(
                f"form is 'fused' with chromatic={self.chromatic}, score={self.score!r} and "
                f"num_edge_features={self.num_edge_features}; expected chromatic=True, "
                "score='dot' and no numbers of edges, or form='factorised'."
            )
        check_clip(self.clip, self.form)

    @classmethod
    def complete(cls, recorded: Mapping[str, str]) -> dict[str, str]:
        """Recorded fields as today's release writes them.

        Until 0.17 ``relative_steps`` could be set without a relative encoding, and until 0.18
        ``readout`` for targets of nodes, where nothing reads them.
        """
        fields = super().complete(recorded)
        if fields["relative"] == "None":
            fields["relative_steps"] = repr(cls.relative_steps)
        if fields["target"] == repr("node"):
            fields["readout"] = repr(cls.readout)
        return fields


def check_clip(clip: float, form: str) -> None:
    """Raises a ValueError for a bound that is not above 0, or that the form does not compute."""
    if not clip > 0:  # true for NaN, too
        raise ValueError(f"clip is {clip}; expected a number above 0, or infinity for no bound.")
    if math.isfinite(clip) and form == "factorised":
        raise ValueError(
            f"clip is {clip} and form is 'factorised'; expected another form, such as 'direct', or "
            "clip infinite."
        )


# Section 3.2: chromatic self-attention


class EdgeTerms(NamedTuple):
    """What the pairs add to logits and values."""

    logits: Tensor  #: E_ij of Eq. 5, ``[B, d, N, N]``, or e_ij of Eq. 4, ``[B, H, N, N]``
    values: Tensor | None = None  #: E^value_ij of Eq. 7, ``[B, d, N, N]``
    #: exponentials of the logits, each row divided by its sum, if layers are to share them
    #: (:func:`gtcourse.models.csa_kernel.factor_of`)
    factor: Tensor | None = None


RowsOfTerms = Callable[[slice], EdgeTerms]
"""A function that computes the terms of some rows of the pairs when they are needed."""


class ChromaticSelfAttention(AttentionProjections):
    r"""Attention with a weight for each channel of a pair (CSA, Eqs. 5 to 7).

    .. math::
        z_i = \sum_j \tilde a(i, j) \odot (V_j + E^\text{value}_{ij}), \qquad
        \tilde a(i, j) = \frac{\exp(Q_i \cdot K_j + E_{ij})}{\sum_k \exp(Q_i \cdot K_k + E_{ik})}
        \in \mathbb{R}^d

    The products, the sum over k and the division are for each channel on its own;
    :math:`Q_i \cdot K_j` is that of the channel's head, divided by :math:`\sqrt{K}`. With one
    number for each head in place of :math:`E_{ij}` this is "monochrome" attention (CSA, Eq. 4), of
    which Graphormer's bias and, as :math:`\log K_r(i, j)`, GraphiT's kernel are cases. As in the
    authors' code only the output projection has a bias.

    Args:
        d_model: Width of a node's vector, d.
        num_heads: Attention heads, H, which have to divide d.
        score: "dot" as above, or "additive" for :math:`\exp(Q_i + K_j + E_{ij})`, in which
            :math:`Q_i` cancels.
        clip: Bound of the logits, :math:`Q_i \cdot K_j + E_{ij}`, which form "factorised" cannot
            have. The paper has none; 5 is that of the first author's earlier code, the layer
            ``graphit_layer.py`` of github.com/rmenegaux/GraphGPS.
        form: "direct", as the equations read; "factorised" or "chunked", the same function with
            less memory, in :mod:`gtcourse.models.csa_kernel`. On a GPU, "factorised" gives NaN for
            a row whose logits lie hundreds apart.
        node_ablation: Share of the nodes j whose weights are set to zero, after the softmax and in
            training alone, as are those of the two that follow.
        edge_ablation: Share of the pairs (i, j) whose weights are set to zero.
        channel_ablation: Share of the channels whose weights are set to zero for all pairs.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        score: Score = "dot",
        clip: float = math.inf,
        form: Form = "factorised",
        node_ablation: float = 0.0,
        edge_ablation: float = 0.0,
        channel_ablation: float = 0.0,
    ):
        check_choice("score", score, ("dot", "additive"))
        check_choice("form", form, ("factorised", "direct", "chunked"))
        check_clip(clip, form)
        super().__init__(d_model, num_heads, bias=False)
        self.output = nn.Linear(d_model, d_model)
        self.score = score
        self.clip = clip
        self.form = form
        self.node_ablation = number("node_ablation", node_ablation, 0, 1)
        self.edge_ablation = number("edge_ablation", edge_ablation, 0, 1)
        self.channel_ablation = number("channel_ablation", channel_ablation, 0, 1)
        self.reset_parameters()

    def extra_repr(self) -> str:
        parts = f"num_heads={self.num_heads}, score={self.score!r}, form={self.form!r}"
        return f"{parts}, clip={self.clip}" if math.isfinite(self.clip) else parts

    def reset_parameters(self) -> None:
        """PyTorch's own initialisation, as in the authors' code."""
        for projection in (self.query, self.key, self.value, self.output):
            projection.reset_parameters()

    def forward(
        self,
        h: Tensor,
        edges: EdgeTerms | RowsOfTerms,
        *,
        mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        r"""Lets the nodes attend to each other.

        Args:
            h: Nodes, ``[B, N, d]``.
            edges: What the pairs add, or a function that computes it for some rows.
            mask: True where attention may go: ``[B, N]`` or ``[B, 1, N]`` for keys, ``[B, N, N]``
                for pairs.
            return_attention: Also return :math:`\tilde a` before the ablations.

        Returns:
            ``[B, N, d]``, zeros before the output projection for a node without keys; with
            ``return_attention`` also the filters, shaped as the logits, zeros outside the mask.

        Raises:
            ValueError: The mask is not bool, has none of these shapes, or has two axes where B = N,
                so that it could be of keys or of pairs.
        """
        mask = over_heads(mask, h, num_heads=self.num_heads)  # [B, 1, N, N] or [B, 1, 1, N]
        query, key, value = self.project(h, h, h)  # [B, H, N, K] each
        value = value.mT  # [B, H, K, N]
        if self.score == "dot":
            scaled = query * query.shape[-1] ** -0.5  # [B, H, N, K]
            scores = scaled @ key.mT  # [B, H, N, N], Q_i · K_j
        else:
            # Q_i + K_j differs from channel to channel, so that it joins the logits of the pairs.
            B, H, N, _ = query.shape
            scores = query.new_zeros(B, H, N, N)
            edges = partial(additive_terms, query, key, edges)
        if mask is not None:
            # Finite, so that a row without keys has a softmax; its result is set to zero below.
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)

        drop = self.ablation(h)  # [B, 1, N, N] or None
        attention: Tensor | None = None
        # The form "direct" shows the attention, and a compiler fuses it by itself.
        if return_attention or self.form == "direct" or is_compiling():
            terms = rows_of(edges)
            attention = filters(scores, terms, self.clip)  # [B, H, K, N, N], Eq. 5
            z = gather(attention, value, terms.values, drop)  # [B, H, K, N], Eqs. 6 and 7
        elif self.form == "chunked":
            rows_by_direct = partial(direct, clip=self.clip)
            z = csa_kernel.chunked(rows_by_direct, scores, value, edges, drop)  # [B, H, K, N]
        else:  # always without a bound (check_clip)
            z = csa_kernel.factorised(direct, scores, value, edges, drop)  # [B, H, K, N]

        if mask is not None:
            has_keys = mask.any(dim=-1)[:, :, None]  # [B, 1, 1, N] or [B, 1, 1, 1]
            z = z.masked_fill(~has_keys, 0.0)
        z = z.flatten(1, 2)  # [B, d, N]
        if self.training and self.channel_ablation > 0:
            # To drop all weights of a channel is to drop what the channel gathers.
            ones = torch.ones_like(z[..., :1])  # [B, d, 1]
            z = z * F.dropout(ones, self.channel_ablation)  # [B, d, N]
        output = self.output(z.mT)  # [B, N, d]
        if not return_attention:
            return output
        assert attention is not None  # computed in the first of the three branches
        attention = attention.flatten(1, 2)  # [B, d, N, N], or [B, H, N, N] if monochrome
        if mask is not None:
            attention = attention.masked_fill(~mask, 0.0)  # a row without keys was uniform
        return output, attention

    def ablation(self, h: Tensor) -> Tensor | None:
        """Factors of the weights by node and edge ablation, ``[B, 1, N, N]``, or None.

        They are 0 for what is dropped. As in dropout, the others are divided by the share that is
        kept on average.
        """
        if not self.training or (self.node_ablation == 0 and self.edge_ablation == 0):
            return None
        B, N, _ = h.shape
        of_nodes = F.dropout(h.new_ones(B, 1, 1, N), self.node_ablation)  # one for each node j
        of_pairs = F.dropout(h.new_ones(B, 1, N, N), self.edge_ablation)
        return of_nodes * of_pairs


def filters(scores: Tensor, terms: EdgeTerms, clip: float = math.inf) -> Tensor:
    r"""The weights of CSA, Eqs. 4 and 5: :math:`\operatorname{softmax}_j (Q_i \cdot K_j + E_{ij})`.

    Args:
        scores: :math:`Q_i \cdot K_j` of each head, ``[B, H, R, N]``; the lowest finite number
            where attention may not go.
        terms: What the pairs of the same rows add.
        clip: Bound of the logits.

    Returns:
        ``[B, H, K, R, N]``, with 1 in place of K where the terms are monochrome.
    """
    H = scores.shape[1]
    # In float32 at least: in half precision a sum of two numbers near 100 is off by a quarter.
    dtype = torch.promote_types(scores.dtype, torch.float32)
    of_pairs = terms.logits.unflatten(1, (H, -1)).to(dtype)  # [B, H, K, R, N]
    logits = scores[:, :, None] + of_pairs  # [B, H, K, R, N]
    if math.isfinite(clip):
        # A masked entry stays the lowest; at -clip it would have weight.
        allowed = scores > torch.finfo(scores.dtype).min  # [B, H, R, N]
        logits = torch.where(allowed[:, :, None], logits.clamp(-clip, clip), logits)
    return logits.softmax(dim=-1)


def gather(
    attention: Tensor,
    value: Tensor,
    edge_values: Tensor | None = None,
    drop: Tensor | None = None,
) -> Tensor:
    r"""What each node gathers, :math:`\sum_j \tilde a(i, j) \odot (V_j + E^\text{value}_{ij})`.

    (CSA, Eqs. 6 and 7.)

    Args:
        attention: The filters :math:`\tilde a(i, j)`, ``[B, H, K, R, N]``, or 1 for K.
        value: :math:`V_j`, ``[B, H, K, N]``.
        edge_values: :math:`E^\text{value}_{ij}`, ``[B, d, R, N]``, or None.
        drop: Factors of dropout, ``[B, 1, R, N]``, or None.

    Returns:
        ``[B, H, K, R]``.
    """
    H = value.shape[1]
    messages = value[..., None, :]  # [B, H, K, 1, N]
    if edge_values is not None:
        messages = messages + edge_values.unflatten(1, (H, -1))  # [B, H, K, R, N]
    weights = attention  # [B, H, K, R, N]
    if drop is not None:
        weights = attention * drop[:, :, None]  # [B, H, K, R, N]
    z = (weights * messages).sum(dim=-1)  # [B, H, K, R]
    return z.to(value.dtype)


def direct(
    scores: Tensor,
    value: Tensor,
    terms: EdgeTerms,
    drop: Tensor | None = None,
    *,
    clip: float = math.inf,
) -> Tensor:
    """What each node gathers, ``[B, H, K, R]``, as the equations read.

    The arguments are those of :func:`filters` and :func:`gather`.
    """
    return gather(filters(scores, terms, clip), value, terms.values, drop)


def additive_terms(
    query: Tensor, key: Tensor, edges: EdgeTerms | RowsOfTerms, rows: slice
) -> EdgeTerms:
    """Some rows of the terms, with :math:`Q_i + K_j + E_{ij}` in place of the logits.

    Args:
        query: :math:`Q_i` of all nodes, ``[B, H, N, K]``.
        key: :math:`K_j`, ``[B, H, N, K]``.
        edges: What the pairs add, or a function that computes it.
        rows: The rows, R nodes i.
    """
    terms = rows_of(edges, rows)
    # In float32 at least: Q_i cancels in the softmax, and leaves its rounding error behind.
    dtype = torch.promote_types(query.dtype, torch.float32)
    of_queries = query[:, :, rows].mT.flatten(1, 2).to(dtype)  # [B, d, R]
    of_keys = key.mT.flatten(1, 2).to(dtype)  # [B, d, N]
    scores = of_queries[..., None] + of_keys[..., None, :]  # [B, d, R, N]
    return terms._replace(logits=terms.logits + scores, factor=None)


class EdgeMaps(nn.Module):
    r"""Logits :math:`E_{ij}` and values :math:`E^\text{value}_{ij}`, linear in :math:`E^{(0)}`.

    In the authors' code the maps have a bias where all layers share them, and none otherwise.

    Args:
        d_model: Width of a pair's vector, d.
        num_logits: Number of logits of a pair: d, or H in monochrome attention.
        values: Whether pairs add to the messages.
        bias: Whether the maps have a bias.
    """

    def __init__(self, d_model: int, num_logits: int, values: bool, bias: bool):
        super().__init__()
        self.logits = nn.Linear(d_model, num_logits, bias=bias)
        self.values = nn.Linear(d_model, d_model, bias=bias) if values else None

    def forward(self, E: Tensor) -> EdgeTerms:
        """Maps pairs, ``[B, R, N, d]``, to terms: logits ``[B, d or H, R, N]``, values with d."""
        values = None
        if self.values is not None:
            values = channels_first(self.values, E)
        return EdgeTerms(channels_first(self.logits, E), values)


def channels_first(linear: nn.Linear, E: Tensor) -> Tensor:
    """A linear map of ``[B, R, N, d]`` to ``[B, width, R, N]``, without a transposed copy."""
    weight = linear.weight.expand(E.shape[0], -1, -1)  # [B, width, d]
    pairs = E.flatten(1, 2).mT  # [B, d, R N]
    mapped = torch.bmm(weight, pairs).unflatten(-1, E.shape[1:3])  # [B, width, R, N]
    return mapped if linear.bias is None else mapped + linear.bias[:, None, None]


# Sections 3.3 and 3.4: the vector of a pair


class BondEncoding(nn.Module):
    r""":math:`E^\text{bond}`: a vector for the edge of a pair, for no edge, or for the same node.

    (CSA, Eq. 8.) An edge from a node to itself has the vector of the edge. The vectors of several
    columns of categories are added. Edges without features share one vector.

    Args:
        edge_types: Number of categories of each column of edge_attr.
        width: Width of a vector.
        with_rings: Whether pairs on a common ring have a second set of vectors, the Cartesian
            product of Section 3.4.
        num_edge_features: Columns of edge_attr, if it holds numbers.
    """

    def __init__(
        self,
        edge_types: tuple[int, ...],
        width: int,
        with_rings: bool = False,
        num_edge_features: int = 0,
    ):
        super().__init__()
        self.edge_types = edge_types
        self.with_rings = with_rings
        num_sets = 2 if with_rings else 1
        self.edges: CategoryEmbedding | NumberEmbedding
        if num_edge_features > 0:
            self.edges = feature_embedding("edge", (), num_edge_features, width)
        else:
            self.edges = CategoryEmbedding(
                edge_types or (1,), width, "edge_attr", num_sets=num_sets
            )
        self.no_edge = nn.Embedding(num_sets, width)
        self.itself = nn.Embedding(1, width)

    def forward(self, batch: GraphBatch, rows: slice = ALL) -> Tensor:
        """Returns ``[B, R, N, width]``."""
        is_edge = batch.adjacency[:, rows]  # [B, R, N]
        on_ring = torch.zeros_like(is_edge, dtype=torch.long)
        if self.with_rings:
            on_ring = batch.encoding("ring")[:, rows].long()
        if isinstance(self.edges, NumberEmbedding):
            vectors = self.edges(real_edge_features(batch, rows))  # [B, R, N, width]
        elif self.edge_types:
            vectors = self.edges(real_edge_features(batch, rows), on_ring)  # [B, R, N, width]
        else:
            only_type = torch.zeros_like(on_ring)[..., None]  # [B, R, N, 1]
            vectors = self.edges(only_type, on_ring)  # [B, R, N, width]
        e = torch.where(is_edge[..., None], vectors, self.no_edge(on_ring))  # [B, R, N, width]
        N = is_edge.shape[-1]
        itself = torch.eye(N, dtype=torch.bool, device=is_edge.device)[rows]  # [R, N]
        is_itself = itself & ~is_edge  # [B, R, N]
        return torch.where(is_itself[..., None], self.itself.weight, e)


class DistanceEncoding(nn.Module):
    r""":math:`E^\text{SPDE}`: a vector for each shortest-path distance up to p (CSA, Eq. 11).

    Farther and unreachable pairs share one. Differs from the authors' code, in which by mistake
    distances of 4 and more have the vector of another distance, and unreachable pairs none.

    Args:
        steps: Longest distance with a vector of its own, p.
        width: Width of a vector.
    """

    def __init__(self, steps: int, width: int):
        super().__init__()
        self.vectors = nn.Embedding(steps + 2, width)  # distances 0 to p, then all others

    def forward(self, batch: GraphBatch, rows: slice = ALL) -> Tensor:
        """Reads the encoding "distance", ``[B, N, N]``; returns ``[B, R, N, width]``."""
        distance = batch.encoding("distance")[:, rows].long()
        return self.vectors(clipped(distance, self.vectors.num_embeddings - 1))


class PairWalkEncoding(nn.Module):
    r""":math:`E^\text{RWSE}`: linear in the probabilities that a walk from i is at j (CSA, Eq. 12).

    The probabilities are those after 1, …, p steps, a case of CSA, Eq. 10. The map has a bias, as
    in the authors' code; the paper prints none.

    Args:
        steps: Steps of the walks, p.
        width: Width of a vector.
    """

    def __init__(self, steps: int, width: int):
        super().__init__()
        self.projection = NumberEmbedding(steps, width, "random_walks")

    def forward(self, batch: GraphBatch, rows: slice = ALL) -> Tensor:
        """Reads the encoding "random_walks", ``[B, N, N, p]``; returns ``[B, R, N, width]``."""
        return self.projection(batch.encoding("random_walks")[:, rows])


class PairEncoding(nn.Module):
    r"""The vector of a pair, :math:`E^{(0)} = E^\text{bond} \,\|\, E^\text{RPE}` (CSA, Eq. 9).

    Each has half of the channels; without a relative encoding :math:`E^\text{bond}` has all of
    them. With additive rings one of two vectors is added to all channels: one for pairs on a common
    ring, and one for others (Section 3.4).

    Args:
        edge_types: Number of categories of each column of edge_attr.
        d_model: Width of a pair's vector, d.
        relative: "walks", "distances" or None.
        steps: Steps of the walks, or the longest distance, p.
        rings: "additive", "categorical" or None.
        num_edge_features: Columns of edge_attr, if it holds numbers.
    """

    def __init__(
        self,
        edge_types: tuple[int, ...],
        d_model: int,
        relative: Literal["walks", "distances"] | None,
        steps: int,
        rings: Literal["additive", "categorical"] | None,
        num_edge_features: int = 0,
    ):
        super().__init__()
        check_choice("relative", relative, ("walks", "distances", None))
        check_choice("rings", rings, ("additive", "categorical", None))
        half = 0 if relative is None else d_model // 2
        self.bonds = BondEncoding(
            edge_types, d_model - half, rings == "categorical", num_edge_features
        )
        self.relative: PairWalkEncoding | DistanceEncoding | None = None
        if relative == "walks":
            self.relative = PairWalkEncoding(steps, half)
        elif relative == "distances":
            self.relative = DistanceEncoding(steps, half)
        self.ring = nn.Embedding(2, d_model) if rings == "additive" else None

    def forward(self, batch: GraphBatch, rows: slice = ALL) -> Tensor:
        """Returns ``[B, R, N, d]``, of some rows if asked for."""
        E = self.bonds(batch, rows)  # [B, R, N, d] or half of it
        if self.relative is not None:
            E = torch.cat([E, self.relative(batch, rows)], dim=-1)  # [B, R, N, d]
        if self.ring is not None:
            E = E + self.ring(batch.encoding("ring")[:, rows].long())
        return E


# Section 3.5: the model


class WalkEncoding(nn.Module):
    """A linear map of the chances to be back after 1, …, p steps of a random walk (RWSE).

    Args:
        steps: Steps, p.
        d_model: Width of the encoding.
        norm: A norm over the real nodes that comes before the map, as in CSA; by default none does.
    """

    def __init__(self, steps: int, d_model: int, norm: nn.Module | None = None):
        super().__init__()
        self.norm = norm
        self.projection = NumberEmbedding(steps, d_model, "rwse")

    def forward(self, batch: GraphBatch) -> Tensor:
        """Reads "rwse", ``[B, N, p]``, or else the diagonal of "random_walks".

        Returns ``[B, N, d_model]``.
        """
        if "random_walks" in batch.encodings and "rwse" not in batch.encodings:
            returns = batch.encoding("random_walks").diagonal(dim1=1, dim2=2).mT  # [B, N, p]
        else:  # without either, this raises an error that names rwse
            returns = batch.encoding("rwse")  # [B, N, p]
        if self.norm is not None:
            self.projection.check(returns)  # before the norm, whose error would name no encoding
            returns = self.norm(returns.to(self.projection.weight.dtype), batch.mask)
        return self.projection(returns)


class NodeEncoding(nn.Module):
    """Node features, and beside them batch-normalised chances of return (CSA, Section 3.5).

    The features have d - d_position channels, the walks d_position. The linear map of float
    features has a bias, as in the authors' code.

    Args:
        num_node_types: Number of categories of each column of x; empty for numbers.
        num_node_features: Columns of x, if it holds numbers; else 0.
        d_model: Width of a node's vector, d.
        steps: Steps of the walks; 0 for none.
        d_position: Channels of d for the walks.
    """

    def __init__(
        self,
        num_node_types: tuple[int, ...],
        num_node_features: int,
        d_model: int,
        steps: int,
        d_position: int,
    ):
        super().__init__()
        self.features = feature_embedding(
            "node", num_node_types, num_node_features, d_model - d_position, bias=True
        )
        self.walks = WalkEncoding(steps, d_position, NodeBatchNorm(steps)) if steps > 0 else None
        read_renamed(self, {"features.table.": "features.", "features.linear.": "features."})

    def forward(self, batch: GraphBatch) -> Tensor:
        """Returns ``[B, N, d]``."""
        features = self.features(real_node_features(batch))  # [B, N, d - d_position]
        if self.walks is None:
            return features
        walks = self.walks(batch)  # [B, N, d_position]
        return torch.cat([features, walks], dim=-1)  # [B, N, d]


class CSALayer(nn.Module):
    r"""Chromatic self-attention and a feed-forward network, each with a residual and a batch norm.

    .. math::
        x = \operatorname{BN}(h + \operatorname{CSA}(h, E)), \qquad
        h' = \operatorname{BN}(x + \operatorname{FFN}(x))

    (Section 3.5.) The statistics are those of the real nodes; padding becomes zeros.

    Args:
        d_model: Width of a node's vector, d.
        num_heads: Attention heads, H.
        d_hidden: Inner width of the feed-forward network; by default 2 d.
        dropout: After attention, and in and after the feed-forward network.
        activation: Of the feed-forward network: "relu", "gelu" or "elu".
        score: As in :class:`ChromaticSelfAttention`, and so are the five that follow.
        clip: Bound of the logits.
        form: How attention is computed.
        node_ablation: Share of the nodes whose weights are set to zero.
        edge_ablation: Share of the pairs whose weights are set to zero.
        channel_ablation: Share of the channels whose weights are set to zero.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_hidden: int | None = None,
        *,
        dropout: float = 0.0,
        activation: Activation = "relu",
        score: Score = "dot",
        clip: float = math.inf,
        form: Form = "factorised",
        node_ablation: float = 0.0,
        edge_ablation: float = 0.0,
        channel_ablation: float = 0.0,
    ):
        super().__init__()
        self.attention = ChromaticSelfAttention(
            d_model,
            num_heads,
            score=score,
            clip=clip,
            form=form,
            node_ablation=node_ablation,
            edge_ablation=edge_ablation,
            channel_ablation=channel_ablation,
        )
        d_hidden = 2 * d_model if d_hidden is None else d_hidden
        self.feed_forward = FeedForward(d_model, d_hidden, dropout=dropout, activation=activation)
        self.attention_norm = NodeBatchNorm(d_model)
        self.feed_forward_norm = NodeBatchNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        h: Tensor,
        edges: EdgeTerms | RowsOfTerms,
        *,
        mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Updates the nodes, ``[B, N, d]``.

        Args:
            h: Nodes, ``[B, N, d]``.
            edges: What the pairs add, or a function that computes it for some rows.
            mask: None if all nodes are real; else True at real nodes, ``[B, N]``.
            return_attention: Also return the filters.

        Returns:
            The nodes, ``[B, N, d]``, zeros at padding; with ``return_attention`` also the filters,
            ``[B, d, N, N]``, or H for d if they are monochrome.
        """
        # With an axis for queries, because [B, N] could be of pairs if B = N.
        real_keys = None if mask is None else mask[:, None]  # [B, 1, N]
        if return_attention:
            z, attention = self.attention(h, edges, mask=real_keys, return_attention=True)
        else:
            z = self.attention(h, edges, mask=real_keys)
            attention = None
        h = self.attention_norm(h + self.dropout(z), mask)
        h = self.feed_forward_norm(h + self.dropout(self.feed_forward(h)), mask)
        return (h, attention) if return_attention else h


class CGT(nn.Module):
    """The complete Chromatic Graph Transformer: encodings, layers, an MLP on the nodes, pooling.

    Args:
        config: Data, sizes and variants.
    """

    def __init__(self, config: CGTConfig):
        super().__init__()
        check_given(self, config, CGTConfig)
        self.config = config
        d_model = config.d_model
        form = config.form
        if form == "fused":
            check_numba(other_form="factorised")
            # The loops compute all layers at once. A layer that is called on its own, or asked for
            # its attention, takes this form.
            form = "direct" if math.isfinite(config.clip) else "factorised"
        self.node_encoding = NodeEncoding(
            config.num_node_types,
            config.num_node_features,
            d_model,
            config.node_steps,
            config.d_position,
        )
        self.edge_encoding = PairEncoding(
            config.num_edge_types,
            d_model,
            config.relative,
            config.relative_steps,
            config.rings,
            config.num_edge_features,
        )
        num_logits = d_model if config.chromatic else config.num_heads
        self.edge_maps = nn.ModuleList(
            EdgeMaps(d_model, num_logits, config.edge_values, bias=config.share_edges)
            for _ in range(1 if config.share_edges else config.num_layers)
        )
        self.layers = nn.ModuleList(
            CSALayer(
                d_model,
                config.num_heads,
                dropout=config.dropout,
                activation=config.activation,
                score=config.score,
                clip=config.clip,
                form=form,
                node_ablation=config.node_ablation,
                edge_ablation=config.edge_ablation,
                channel_ablation=config.channel_ablation,
            )
            for _ in range(config.num_layers)
        )
        # The heads of the benchmark that the paper compares on, for graphs and for nodes.
        if config.target == "graph":
            self.head = mlp(d_model, d_model // 2, d_model // 4, config.num_targets)
        else:
            self.head = mlp(d_model, d_model, d_model, config.num_targets)

    def reset_parameters(self) -> None:
        """Draws all weights anew, by PyTorch's defaults, as in the authors' code."""
        # The projections of the attention are linear maps, too.
        kinds = CategoryEmbedding | NodeBatchNorm | nn.Linear | nn.Embedding
        for module in self.modules():
            if isinstance(module, kinds):
                module.reset_parameters()

    def check_features(self, x: Tensor, edge_attr: Tensor | None) -> None:
        """Raises a ValueError if a node, ``x [..., F]``, or an edge has an unknown category."""
        self.node_encoding.features.check(x)
        reads_edges = bool(self.config.num_edge_types or self.config.num_edge_features)
        if reads_edges and edge_attr is not None:
            self.edge_encoding.bonds.edges.check(edge_attr)

    def forward(
        self, batch: GraphBatch, *, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Predicts the target of each graph or node.

        Args:
            batch: Graphs, with the encodings "random_walks", "distance" and "ring", as the
                configuration reads them.
            return_attention: Also return the filters of all layers.

        Returns:
            The prediction, ``[B, C]`` for graphs or ``[B, N, C]`` for nodes, without the last axis
            if C is 1; at padding it means nothing. With ``return_attention`` also the filters,
            ``[B, layers, d, N, N]``, or H for d if they are monochrome.

        Raises:
            ValueError: An encoding or the features of edges are missing, or, on the CPU, a
                category is unknown.
        """
        h, attention = self.encode(batch, return_attention)
        prediction = self.head(h)  # [B, N, C]
        if self.config.target == "graph":
            is_real = batch.mask[..., None]  # [B, N, 1]
            prediction = (prediction * is_real).sum(dim=1)  # [B, C]
            if self.config.readout == "mean":
                prediction = prediction / is_real.sum(dim=1).clamp(min=1)
        if self.config.num_targets == 1:
            prediction = prediction.squeeze(-1)
        return prediction if attention is None else (prediction, attention)

    def encode(
        self, batch: GraphBatch, return_attention: bool = False
    ) -> tuple[Tensor, Tensor | None]:
        """The nodes after all layers, ``[B, N, d]``, and the filters of all, or None."""
        # The fused loops do not keep the attention, and torch.compile cannot read them.
        if self.config.form == "fused" and not return_attention and not is_compiling():
            from gtcourse.models import csa_fused  # needs numba

            return csa_fused.encode(self, batch), None
        h = self.node_encoding(batch)  # [B, N, d]
        terms = self.edge_terms(batch)
        mask: Tensor | None = batch.mask
        if not self.training and can_read(batch.mask) and bool(batch.mask.all()):
            mask = None  # without padding nothing has to be masked
        attentions = []
        for index, layer in enumerate(self.layers):
            edges = terms[0] if self.config.share_edges else terms[index]
            if return_attention:
                h, attention = layer(h, edges, mask=mask, return_attention=True)
                attentions.append(attention)
            else:
                h = layer(h, edges, mask=mask)
        if not return_attention:
            return h, None
        return h, torch.stack(attentions, dim=1)  # [B, layers, d or H, N, N]

    def edge_terms(self, batch: GraphBatch) -> list[EdgeTerms | RowsOfTerms]:
        """What the pairs add in each layer; one entry if all layers share it."""
        if self.config.form == "chunked":  # rows of the pairs are computed when they are needed
            return [
                partial(self.rows_of_terms, batch, cast(EdgeMaps, maps)) for maps in self.edge_maps
            ]
        if self._uses_pair_features(batch):
            from gtcourse.models.csa_pairs import terms_of_all_pairs  # it imports this module

            terms = terms_of_all_pairs(self, batch)
        else:
            E = self.edge_encoding(batch)  # [B, N, N, d]
            terms = [maps(E) for maps in self.edge_maps]
        # The form "factorised" takes exponentials of the logits, the same in all layers; monochrome
        # logits it leaves to the form "direct".
        shares_factor = (
            self.config.share_edges
            and self.config.chromatic
            and self.config.form in ("factorised", "fused")
            and self.config.score == "dot"
            and math.isinf(self.config.clip)
        )
        if shares_factor and not is_compiling():
            factor = csa_kernel.factor_of(terms[0].logits)  # [B, d, N, N], once for all layers
            terms = [terms[0]._replace(factor=factor)]
        # In quotation marks, because torch.compile cannot trace how the type is made.
        return cast("list[EdgeTerms | RowsOfTerms]", terms)

    def _uses_pair_features(self, batch: GraphBatch) -> bool:
        """Whether the terms are computed from features of pairs: faster, but without gradients.

        That is only on the CPU, and not in the form "direct", which computes as the equations
        read. Numbers of edges are not among these features.
        """
        if self.config.form == "direct" or self.config.num_edge_features > 0:
            return False
        return not torch.is_grad_enabled() and can_read(batch.mask)

    def rows_of_terms(self, batch: GraphBatch, maps: EdgeMaps, rows: slice) -> EdgeTerms:
        """The terms of some rows of the pairs."""
        return maps(self.edge_encoding(batch, rows))
