r"""CSA (Menegaux et al., 2023): self-attention with a filter for each channel of a pair.

Shapes: B graphs, N nodes (padded), H heads, d width, K = d / H channels of a head, C classes or
targets. Pair tensors have channels before nodes, ``[B, d, N, N]``; row i is the query's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.compiler import is_compiling

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models import csa_kernel
from gtcourse.models.attention import FeedForward, MultiHeadAttention, over_heads
from gtcourse.models.csa_kernel import rows_of
from gtcourse.models.embeddings import (
    FeaturesAndWalks,
    NodeBatchNorm,
    PairEncoding,
    mlp,
    squeeze_one,
)


@dataclass(frozen=True)
class CGTConfig:
    """The model of Table 6 for ZINC, without rings, by default.

    Attributes:
        num_node_types, num_edge_types: number of categories of each column of x and edge_attr;
            num_node_features: number of float columns of x instead.
        node_steps, d_position: steps and width of the nodes' random-walk encoding; 0 for none.
        relative, relative_steps: pair encoding, RWSE (Eq. 12) or SPDE (Eq. 11), and p.
        rings: how common rings enter (Section 3.4); chromatic: False for one logit per head,
            CSA-mono; edge_values: pairs add to the messages (Eq. 7); share_edges: one pair of edge
            maps for all layers; form: of :class:`ChromaticSelfAttention`, as the rest, or "fused",
            compiled for the CPU, in :mod:`gtcourse.models.csa_fused`.
    """

    num_node_types: tuple[int, ...] = (28,)
    num_node_features: int = 0
    num_edge_types: tuple[int, ...] = (4,)
    target: Literal["graph", "node"] = "graph"
    num_targets: int = 1
    d_model: int = 64
    num_heads: int = 4
    num_layers: int = 10
    node_steps: int = 20
    d_position: int = 28
    relative: Literal["walks", "distances"] | None = "walks"
    relative_steps: int = 20
    rings: Literal["additive", "categorical"] | None = None
    chromatic: bool = True
    edge_values: bool = True
    share_edges: bool = True
    score: Literal["dot", "additive"] = "dot"
    form: Literal["factorised", "direct", "chunked", "fused"] = "factorised"
    dropout: float = 0.0
    node_ablation: float = 0.0
    edge_ablation: float = 0.5
    channel_ablation: float = 0.0
    activation: Literal["relu", "gelu"] = "relu"
    readout: Literal["sum", "mean"] = "sum"


class CGT(nn.Module):
    """Chromatic Graph Transformer: node and edge encodings, CSA layers, an MLP on nodes, pooling.

    Shapes:
        batch.encodings: "random_walks", "distance" and "ring", as the configuration reads them
        returns: ``[B, C]`` of graphs, ``[B, N, C]`` of nodes, without the last axis where C is 1;
            with ``return_attention`` also the filters ``[B, layers, d (or H), N, N]``
    """

    def __init__(self, config: CGTConfig):
        super().__init__()
        self.config, c, d, T = config, config, config.d_model, config.num_targets
        self.node_encoding = FeaturesAndWalks(
            c.num_node_types, c.num_node_features, d, c.node_steps, c.d_position
        )
        self.edge_encoding = PairEncoding(
            c.num_edge_types, d, c.relative, c.relative_steps, c.rings
        )
        self.edge_maps = nn.ModuleList(
            EdgeMaps(d, d if c.chromatic else c.num_heads, c.edge_values, bias=c.share_edges)
            for _ in range(1 if c.share_edges else c.num_layers)
        )
        self.layers = nn.ModuleList(
            CSALayer(
                d, c.num_heads, dropout=c.dropout, activation=c.activation, score=c.score,
                form=_form_of_layers(c), node_ablation=c.node_ablation,
                edge_ablation=c.edge_ablation, channel_ablation=c.channel_ablation,
            )
            for _ in range(c.num_layers)
        )  # fmt: skip
        # The benchmark's heads of graphs and nodes.
        self.head = mlp(d, *((d // 2, d // 4) if c.target == "graph" else (d, d)), T)

    def forward(self, batch: GraphBatch, *, return_attention: bool = False):
        h, attention = self.encode(batch, return_attention)
        prediction = squeeze_one(self.head(h))
        if self.config.target == "graph":
            nodes = batch.mask if prediction.dim() == 2 else batch.mask[..., None]
            prediction = (prediction * nodes).sum(dim=1)
            if self.config.readout == "mean":
                prediction = prediction / nodes.sum(dim=1).clamp(min=1)
        return (prediction, attention) if return_attention else prediction

    def encode(self, batch: GraphBatch, return_attention: bool = False):
        """The nodes after all layers, ``[B, N, d]``, and the attention of all."""
        if self.config.form == "fused" and not return_attention and not is_compiling():
            from gtcourse.models import csa_fused  # needs numba

            return csa_fused.encode(self, batch), None
        h, attentions, c = self.node_encoding(batch), [], self.config
        if c.form == "chunked":  # rows of the pairs are computed when they are needed
            edges = [lambda rows, f=f: f(self.edge_encoding(batch, rows)) for f in self.edge_maps]
        else:
            E = self.edge_encoding(batch)
            edges = [maps(E) for maps in self.edge_maps]
        if c.share_edges:
            if c.form == "factorised" and c.score == "dot" and not is_compiling():
                edges = [edges[0]._replace(factor=csa_kernel.factor_of(edges[0].logits))]
            edges = edges * c.num_layers
        for layer, terms in zip(self.layers, edges, strict=True):
            h = layer(h, terms, mask=batch.mask, return_attention=return_attention)
            h, *attention = h if return_attention else (h,)
            attentions += attention
        return h, torch.stack(attentions, dim=1) if return_attention else None


def _form_of_layers(config: CGTConfig) -> str:
    """The form in which a layer alone computes; "fused" computes all layers where it can."""
    if config.form != "fused":
        return config.form
    if not config.chromatic or config.score != "dot":
        raise ValueError(
            f"form is 'fused' with chromatic={config.chromatic} and score={config.score!r}; "
            "expected chromatic=True and score='dot', or form='factorised'."
        )
    if find_spec("numba") is None:
        raise ImportError(
            "form='fused' needs numba, which is not installed; install it with `pip install "
            "'gtcourse[fast]'`, or use form='factorised', the same function."
        )
    return "factorised"


class EdgeTerms(NamedTuple):
    """What the pairs add to logits and values."""

    logits: Tensor  # E_ij of Eq. 5, [B, d, N, N], or e_ij of Eq. 4, [B, H, N, N]
    values: Tensor | None = None  # E^value_ij of Eq. 7, [B, d, N, N]
    factor: Tensor | None = None  # csa_kernel: the logits' exponentials, shared by layers


class ChromaticSelfAttention(MultiHeadAttention):
    r"""Attention with a weight for each channel of a pair (CSA, Eqs. 5 to 7).

    .. math::
        z_i = \sum_j \tilde a(i, j) \odot (V_j + E^\text{value}_{ij}), \qquad
        \tilde a(i, j) = \frac{\exp(Q_i \cdot K_j + E_{ij})}{\sum_k \exp(Q_i \cdot K_k + E_{ik})}
        \in \mathbb{R}^d

    :math:`Q_i \cdot K_j` is a head's, divided by :math:`\sqrt{K}`. With a number for each head
    instead of :math:`E_{ij}` this is "monochrome" attention (CSA, Eq. 4), of which Graphormer's
    bias and, as :math:`\log K_r(i, j)`, GraphiT's kernel are cases. As in the authors' code only
    the output projection has a bias.

    Args:
        score: "additive" for :math:`\exp(Q_i + K_j + E_{ij})`, in which :math:`Q_i` cancels.
        form: "direct", as the equations read; "factorised" or "chunked", the same function with
            less memory, in :mod:`gtcourse.models.csa_kernel`.
        node_ablation, edge_ablation, channel_ablation: in training, dropout after the softmax of
            all weights of a node j, of a pair (i, j), and of a channel of all pairs.

    Shapes:
        h: ``[B, N, d]``; mask: ``[B, N]`` or ``[B, N, N]``; edges: terms, or slice → their rows
        returns: ``[B, N, d]``, zeros before the output projection for a node without keys; with
            ``return_attention`` also :math:`\tilde a`, shaped as the logits, before the ablations
    """

    def __init__(
        self, d_model: int, num_heads: int, *, score: str = "dot", form: str = "factorised",
        node_ablation: float = 0.0, edge_ablation: float = 0.0, channel_ablation: float = 0.0,
    ):  # fmt: skip
        super().__init__(d_model, num_heads, bias=False)
        self.output, self.score, self.form = nn.Linear(d_model, d_model), score, form
        self.node_ablation, self.edge_ablation = node_ablation, edge_ablation
        self.channel_ablation = channel_ablation
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """PyTorch's own initialisation, as in the authors' code."""
        for projection in (self.query, self.key, self.value, self.output):
            projection.reset_parameters()

    def forward(self, h: Tensor, edges, *, mask: Tensor | None = None, return_attention=False):
        mask, (query, key, value) = over_heads(mask), self.heads(h, h, h)
        scores, value = query * query.shape[-1] ** -0.5 @ key.mT, value.mT
        if self.score == "additive":
            scores, edges = torch.zeros_like(scores), partial(_additive_terms, query, key, edges)
        if mask is not None:  # finite: a row without keys has a softmax, and becomes zero below
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        if return_attention or self.form == "direct" or is_compiling():  # compilers fuse it
            terms = rows_of(edges)
            attention = filters(scores, terms)
            z = gather(attention, value, terms.values, self._ablation(h))
        else:
            z = getattr(csa_kernel, self.form)(direct, scores, value, edges, self._ablation(h))
        if mask is not None:
            z = z.masked_fill(~mask.any(dim=-1)[:, :, None], 0.0)
        z = z.flatten(1, 2)  # [B, d, N]
        if self.training and self.channel_ablation:
            z = z * F.dropout(torch.ones_like(z[..., :1]), self.channel_ablation)
        if not return_attention:
            return self.output(z.mT)
        attention = attention.flatten(1, 2)
        attention = attention if mask is None else attention.masked_fill(~mask, 0.0)
        return self.output(z.mT), attention

    def _ablation(self, h: Tensor) -> Tensor | None:
        """Factors of dropout on the weights, ``[B, 1, N, N]``, or None."""
        if not self.training or not (self.node_ablation or self.edge_ablation):
            return None
        nodes, pairs = (h.new_ones(len(h), 1, n, h.shape[1]) for n in (1, h.shape[1]))
        return F.dropout(nodes, self.node_ablation) * F.dropout(pairs, self.edge_ablation)


def filters(scores: Tensor, terms: EdgeTerms) -> Tensor:
    r"""The weights of CSA, Eqs. 4 and 5: :math:`\operatorname{softmax}_j (Q_i \cdot K_j + E_{ij})`.

    ``[B, H, K, N, N]``, with 1 in place of K where the terms are monochrome.
    """
    # In float32 at least: in half precision a sum of two numbers near 100 is off by a quarter.
    logits = terms.logits.unflatten(1, (scores.shape[1], -1)).to(
        torch.promote_types(scores.dtype, torch.float32)
    )
    return (scores[:, :, None] + logits).softmax(dim=-1)


def gather(filters: Tensor, value: Tensor, values: Tensor | None, drop: Tensor | None) -> Tensor:
    r"""CSA, Eqs. 6 and 7: :math:`\sum_j \tilde a(i, j) \odot (V_j + E^\text{value}_{ij})`.

    value: ``[B, H, K, N]``, as what it returns; values: ``[B, d, N, N]``; drop: ``[B, 1, …, N]``.
    """
    messages = value[..., None, :]
    if values is not None:
        messages = messages + values.unflatten(1, (value.shape[1], -1))
    weights = filters if drop is None else filters * drop[:, :, None]
    return (weights * messages).sum(dim=-1).to(value.dtype)


def direct(scores: Tensor, value: Tensor, terms: EdgeTerms, drop: Tensor | None = None) -> Tensor:
    """z as the equations read."""
    return gather(filters(scores, terms), value, terms.values, drop)


def _additive_terms(query: Tensor, key: Tensor, edges, rows: slice) -> EdgeTerms:
    """:math:`Q_i + K_j + E_{ij}`, channel by channel."""
    # Cancellation leaves rounding.
    dtype, terms = torch.promote_types(query.dtype, torch.float32), rows_of(edges, rows)
    q, k = (x.mT.flatten(1, 2).to(dtype) for x in (query[:, :, rows], key))  # [B, d, R], [B, d, N]
    return terms._replace(logits=terms.logits + (q[..., None] + k[..., None, :]))


class CSALayer(nn.Module):
    r"""Chromatic self-attention and a feed-forward network, each with a batch norm on its sum.

    .. math::
        x = \operatorname{BN}(h + \operatorname{CSA}(h, E)), \qquad
        h' = \operatorname{BN}(x + \operatorname{FFN}(x))

    (Section 3.5.) The statistics are those of the real nodes; padding becomes zeros.
    """

    def __init__(
        self, d_model: int, num_heads: int, d_hidden: int | None = None, *, dropout: float = 0.0,
        activation: str = "relu", **attention
    ):  # fmt: skip
        super().__init__()
        self.attention = ChromaticSelfAttention(d_model, num_heads, **attention)
        inner, options = d_hidden or 2 * d_model, {"dropout": dropout, "activation": activation}
        self.feed_forward = FeedForward(d_model, inner, **options)
        self.attention_norm = NodeBatchNorm(d_model)
        self.feed_forward_norm = NodeBatchNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, h: Tensor, edges, *, mask: Tensor | None = None, return_attention=False):
        mask = torch.ones_like(h[..., 0], dtype=torch.bool) if mask is None else mask
        z = self.attention(h, edges, mask=mask, return_attention=return_attention)
        z, attention = z if return_attention else (z, None)
        h = self.attention_norm(h + self.dropout(z), mask)
        h = self.feed_forward_norm(h + self.dropout(self.feed_forward(h)), mask)
        return (h, attention) if return_attention else h


class EdgeMaps(nn.Module):
    r"""Logits :math:`E_{ij}` and values :math:`E^\text{value}_{ij}`, linear in :math:`E^{(0)}`.

    A pair has d logits, or H in monochrome attention, and values where pairs add to messages.
    Biases are those of the authors' code where all layers share the maps. E: ``[B, N, N, d]``.
    """

    def __init__(self, d_model: int, logits: int, values: bool, bias: bool):
        super().__init__()
        self.logits = nn.Linear(d_model, logits, bias=bias)
        self.values = nn.Linear(d_model, d_model, bias=bias) if values else None

    def forward(self, E: Tensor) -> EdgeTerms:
        values = None if self.values is None else _channels_first(self.values, E)
        return EdgeTerms(_channels_first(self.logits, E), values)


def _channels_first(linear: nn.Linear, E: Tensor) -> Tensor:
    """The linear map of ``[B, N, N, d]`` as ``[B, width, N, N]``, without a copy."""
    weight, pairs = linear.weight.expand(E.shape[0], -1, -1), E.flatten(1, 2).mT
    mapped = torch.bmm(weight, pairs).unflatten(-1, E.shape[1:3])
    return mapped if linear.bias is None else mapped + linear.bias[:, None, None]
