r"""EGT (Hussain et al., 2021): a Transformer with a vector for every pair of nodes.

A Transformer treats the nodes of a graph as a set and has no place for the edges. EGT gives every
ordered pair of nodes a vector of its own, which starts from the pair's adjacency or distance and
from the features of its edge. In each layer these vectors bias and gate the attention between the
nodes, and the attention's logits update them in turn, so that the structure evolves from layer to
layer and edges can be predicted from the vectors of their pairs.

Equations, sections and tables are those of arXiv:2108.03348v1. "The authors' code" is the
TensorFlow code of September 2021, which produced the paper's results. As in the paper, "edge" in
the name of a module stands for any pair of nodes.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph; smaller graphs are padded
    q: virtual nodes
    T: tokens, q + N; the virtual nodes come first
    d: width of a node's vector (the paper's :math:`d_h`)
    d_e: width of a pair's vector
    H: attention heads
    K: width of a head, d / H (the paper's :math:`d_k`)
    L: layers
    F: columns of features
    r: pairs of singular vectors
    C: targets, or classes, of a prediction
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.compiler import is_compiling

from gtcourse.graphs.arguments import check_choice
from gtcourse.graphs.batch import GraphBatch, clipped
from gtcourse.models.attention import check_heads, over_heads
from gtcourse.models.categories import (
    CategoryEmbedding,
    NumberEmbedding,
    feature_embedding,
    real_edge_features,
    real_node_features,
)
from gtcourse.models.config import (
    Bound,
    Categories,
    GraphConfig,
    NotNegativeInt,
    PositiveFloat,
    PositiveInt,
    Probability,
    check_given,
    list_of_modules,
)
from gtcourse.models.fused import check_numba
from gtcourse.models.mlp import mlp
from gtcourse.models.old_weights import read_renamed, rename, split


@dataclass(frozen=True)
class EGTConfig(GraphConfig):
    """Data, sizes and variants. The defaults are the 500K model of Table 5 for ZINC."""

    num_node_types: Categories = (28,)  #: categories in each column of x
    num_node_features: NotNegativeInt = 0  #: columns of x, if it holds numbers instead
    num_edge_types: Categories = (4,)  #: categories in each column of edge_attr
    num_edge_features: NotNegativeInt = 0  #: columns of edge_attr, if it holds numbers instead
    target: Literal["graph", "node", "edge"] = "graph"  #: what gets a prediction
    num_targets: PositiveInt = 1  #: numbers in a prediction, C
    d_model: PositiveInt = 64  #: width of a node's vector, d
    d_edge: PositiveInt = 64  #: width of a pair's vector, d_e
    num_heads: PositiveInt = 8  #: attention heads, H
    num_layers: PositiveInt = 10  #: layers, L
    node_multiplier: PositiveFloat = 2.0  #: inner width of the nodes' feed-forward network, over d
    #: inner width of the pairs' network, over d_e; may not be set for the variant "simple"
    edge_multiplier: PositiveFloat = 2.0
    structure: Literal["adjacency", "distance"] = "adjacency"  #: what pairs start from
    #: largest distance with a vector of its own; only for the structure "distance"
    max_distance: PositiveInt = 16
    svd_rank: NotNegativeInt = 0  #: pairs of singular vectors in the encoding, r; 0 for none
    #: which signs of singular vectors are drawn in training (:class:`SVDEncoding`)
    flip_signs: Literal["pairs", "nodes"] | None = None
    #: in "simple" the pairs never change (Eqs. 10 and 11); in "constrained" a node attends only to
    #: itself and its neighbours (Eq. 12)
    variant: Literal["full", "simple", "constrained"] = "full"
    gated: bool = True  #: False for EGT-Ungated (Eqs. 13 and 14)
    virtual_nodes: NotNegativeInt = 0  #: q, from which a graph is read; 0 for the nodes' mean
    head_widths: tuple[PositiveInt, PositiveInt] | None = None  #: by default d / 2, d / 4 (Table 4)
    #: largest distance that is predicted, ν, with a class for each of 0 to ν; 0 for none
    distance_hops: NotNegativeInt = 0
    clip: Bound = 5.0  #: bound of the scaled dot product (Eq. 5); infinite for none
    node_dropout: Probability = 0.0  #: after attention and after the nodes' feed-forward network
    edge_dropout: Probability = 0.0  #: after Eq. 7 and after the pairs' feed-forward network
    norm_eps: PositiveFloat = 1e-5  #: of the layer norms; 1e-3, Keras' default, in the paper's runs
    #: whether the dot product is divided by √K; in the authors' code of early 2022 it was not
    scaled: bool = True
    #: how the layers are computed: "direct" as the equations read, or "fused", the same function on
    #: rows without padding, with loops that numba compiles for the CPU
    #: (:mod:`gtcourse.models.egt_fused`); "fused" computes as "direct" does where the attention is
    #: asked for, and in a compiled model
    form: Literal["direct", "fused"] = "direct"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.flip_signs is not None and self.svd_rank == 0:
            raise ValueError(
                f"flip_signs is {self.flip_signs!r} and svd_rank is 0; expected an "
                "svd_rank above 0, because flip_signs changes the signs of singular vectors."
            )
        if self.structure == "adjacency" and self.max_distance != EGTConfig.max_distance:
            raise ValueError(
                f"max_distance is {self.max_distance} and structure is 'adjacency', which has no "
                "distances; expected structure='distance'."
            )
        if self.variant == "simple" and self.edge_dropout > 0:
            raise ValueError(
                f"edge_dropout is {self.edge_dropout} and variant is 'simple', in which pairs "
                "never change; expected another variant, or edge_dropout=0."
            )
        if self.variant == "simple":
            self.check_unread({"edge_multiplier": "variant is 'simple'"})
        check_multiplier("node_multiplier", self.node_multiplier, self.d_model)
        check_multiplier("edge_multiplier", self.edge_multiplier, self.d_edge)

    @classmethod
    def complete(cls, recorded: Mapping[str, str]) -> dict[str, str]:
        """Recorded fields as today's release writes them.

        Until 0.18 ``edge_multiplier`` could be set for EGT-Simple, which has no such network.
        """
        fields = super().complete(recorded)
        if fields["variant"] == repr("simple"):
            fields["edge_multiplier"] = repr(cls.edge_multiplier)
        return fields


# Section 3.1: the layer


class EGTAttention(nn.Module):
    r"""Attention that the pairs bias and gate (EGT, Eqs. 3 to 5).

    .. math::
        \hat A = \frac{Q K^T}{\sqrt{d_k}}, \qquad
        \hat H = \operatorname{clip}(\hat A) + E, \qquad
        \tilde A = \operatorname{softmax}(\hat H) \odot \sigma(G)

    In each head Q, K and V are linear in the nodes, and E and G in the pairs. The gates
    :math:`\sigma(G)` come after the softmax, so that a row of :math:`\tilde A` may sum to less
    than one. Without gates this is EGT-Ungated (EGT, Eqs. 13 and 14). The paper prints no biases,
    but the linear maps of the authors' code have them.

    Args:
        d_model: Width of a node's vector, d.
        d_edge: Width of a pair's vector, d_e.
        num_heads: Attention heads, H, which have to divide d.
        gated: False for EGT-Ungated.
        clip: Bound of the scaled dot product.
        aggregate: False where only the logits :math:`\hat H` are wanted; V and G have weights even
            then, as in the authors' code.
        scaled: Whether the dot product is divided by :math:`\sqrt{d_k}`.
    """

    def __init__(
        self,
        d_model: int,
        d_edge: int,
        num_heads: int,
        *,
        gated: bool = True,
        clip: float = 5.0,
        aggregate: bool = True,
        scaled: bool = True,
    ):
        super().__init__()
        check_heads(d_model, num_heads)
        if not clip > 0:  # true for NaN, too; clamp() would return one number for all
            raise ValueError(f"clip is {clip}; expected a number above 0, or infinity for none.")
        self.num_heads = num_heads
        self.clip = clip
        self.scale = (d_model // num_heads) ** -0.5 if scaled else 1.0
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.edge_bias = nn.Linear(d_edge, num_heads)
        self.edge_gate = nn.Linear(d_edge, num_heads) if gated else None
        self.output = nn.Linear(d_model, d_model) if aggregate else None
        # The weights of egt-100k/molecules are of release 0.2, where Q, K and V were one map, and E
        # and G another one.
        self.register_load_state_dict_pre_hook(read_joined_maps)

    def extra_repr(self) -> str:
        return f"num_heads={self.num_heads}, clip={self.clip}, scale={self.scale:.3g}"

    def forward(
        self, h: Tensor, e: Tensor, *, mask: Tensor | None = None, return_attention: bool = False
    ) -> tuple[Tensor | None, ...]:
        r"""Lets each token gather from those that it may attend to.

        Args:
            h: Tokens after their norm, ``[B, T, d]``.
            e: Pairs after their norm, ``[B, T, T, d_e]``; the first token attends to the second.
            mask: True where a token may attend to another, ``[B, T, T]``, or at real tokens,
                ``[B, T]``, unless B = T, where it could be of pairs.
            return_attention: Also return :math:`\tilde A`.

        Returns:
            Two results, and with ``return_attention`` three:

            - The update of the tokens, ``[B, T, d]``, zero for a token that may attend to none; or
              None without ``aggregate``.
            - The logits :math:`\hat H`, ``[B, T, T, H]``, which update the pairs.
            - The gated weights :math:`\tilde A`, ``[B, H, T, T]``.
        """
        # The queries are scaled and not the products, which are more numbers.
        query = self.split_heads(self.query(h) * self.scale)  # [B, H, T, K]
        key = self.split_heads(self.key(h))  # [B, H, T, K]
        dot = query @ key.mT  # [B, H, T, T], the paper's A-hat
        E, G = self.edge_terms(e)  # [B, H, T, T] each; G is None without gates
        logits = dot.clamp(-self.clip, self.clip) + E  # Eq. 5, H-hat; E is not clipped
        logits_of_pairs = logits.permute(0, 2, 3, 1)  # [B, T, T, H], as the pairs in e
        if self.output is None and not return_attention:
            return None, logits_of_pairs

        if mask is not None:
            mask = self.mask_of_pairs(mask, h)  # [B, 1, T, T]
            # The lowest number rather than -inf, because a row of -inf alone would become NaN. In
            # attention.py such a row is opened instead, as PyTorch's kernels read True and False.
            logits = logits.masked_fill(~mask, torch.finfo(logits.dtype).min)
        attention = logits.softmax(dim=-1)  # [B, H, T, T]
        if G is not None:
            attention = attention * G.sigmoid()  # Eq. 4, the paper's A-tilde

        z: Tensor | None = None
        if self.output is not None:
            # Eq. 6 prints the value of node i in the sum over j, in which case no node would learn
            # of another. The authors' code has the value of node j.
            value = self.split_heads(self.value(h))  # [B, H, T, K]
            heads = attention @ value  # [B, H, T, K]
            z = self.output(heads.transpose(1, 2).flatten(start_dim=2))  # [B, T, d]
            if mask is not None:
                has_keys = mask.any(dim=-1)[:, 0]  # [B, T]
                z = z.masked_fill(~has_keys[..., None], 0.0)
        if not return_attention:
            return z, logits_of_pairs
        if mask is not None:
            attention = attention.masked_fill(~mask, 0.0)  # a row without keys was uniform
        return z, logits_of_pairs, attention

    def edge_terms(self, e: Tensor) -> tuple[Tensor, Tensor | None]:
        """E and G, ``[B, H, T, T]`` each, or E and None without gates."""
        terms = self.edge_terms_of_rows(e).permute(0, 3, 1, 2)  # [B, 2 H or H, T, T]
        if self.edge_gate is None:
            return terms, None
        E, G = terms.chunk(2, dim=1)  # [B, H, T, T] each
        return E, G

    def edge_terms_of_rows(self, e: Tensor) -> Tensor:
        """E and G with the pairs' own axes first, as the form "fused" needs them.

        Args:
            e: Pairs, ``[..., d_e]``.

        Returns:
            E and G beside each other, ``[..., 2 H]``, or E alone without gates, ``[..., H]``.
        """
        if self.edge_gate is None:
            return self.edge_bias(e)  # [..., H]
        # One product for both, because e is the longest tensor of a layer.
        weight = torch.cat([self.edge_bias.weight, self.edge_gate.weight])  # [2 H, d_e]
        bias = torch.cat([self.edge_bias.bias, self.edge_gate.bias])  # [2 H]
        return F.linear(e, weight, bias)

    def mask_of_pairs(self, mask: Tensor, h: Tensor) -> Tensor:
        """True where a token may attend to another, ``[B, 1, T, T]``.

        Args:
            mask: The same of pairs, ``[B, T, T]``, or True at real tokens, ``[B, T]``. Then real
                tokens attend to each other, and those of padding to none.
            h: Tokens, ``[B, T, d]``.
        """
        if mask.dim() == 2:
            is_real = over_heads(mask, h)  # [B, 1, 1, T]
            return is_real & is_real.mT  # [B, 1, T, T]
        return over_heads(mask, h, num_heads=1)  # [B, 1, T, T]; all heads share a mask

    def split_heads(self, x: Tensor) -> Tensor:
        """Gives each head K of the channels: ``[B, T, d]`` to ``[B, H, T, K]``."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)


class EGTLayer(nn.Module):
    r"""An update of nodes and pairs, with a norm before each step and a residual around it.

    .. math::
        \hat h_i &= h_i + O_h \big\Vert_k \textstyle\sum_j
            \tilde A_{ij}^k V^k \operatorname{LN}(h_j), &
        h_i' &= \hat h_i + \operatorname{FFN}_h(\operatorname{LN}(\hat h_i)), \\
        \hat e_{ij} &= e_{ij} + O_e \big\Vert_k \hat H_{ij}^k, &
        e_{ij}' &= \hat e_{ij} + \operatorname{FFN}_e(\operatorname{LN}(\hat e_{ij}))

    (EGT, Eqs. 6 and 7.) In EGT-Simple the pairs stay as they are (EGT, Eqs. 10 and 11). In
    EGT-Constrained the mask lets nodes attend only to neighbours (EGT, Eq. 12).

    Args:
        d_model: Width of a node's vector, d.
        d_edge: Width of a pair's vector, d_e.
        num_heads: Attention heads, H.
        node_multiplier: Inner width of the nodes' feed-forward network, over d.
        edge_multiplier: Inner width of the pairs' feed-forward network, over d_e.
        edge_channels: False for EGT-Simple, whose pairs bias and gate attention but never change;
            ``update_edges`` then has no effect.
        update_nodes: False in a last layer whose nodes no head reads.
        update_edges: False in a last layer whose pairs no head reads.
        node_dropout: After attention and after the nodes' feed-forward network.
        edge_dropout: After Eq. 7 and after the pairs' feed-forward network.
        norm_eps: Of the layer norms.
        gated: False for EGT-Ungated.
        clip: Bound of the scaled dot product (Eq. 5).
        scaled: Whether the dot product is divided by :math:`\sqrt{d_k}`.
    """

    def __init__(
        self,
        d_model: int,
        d_edge: int,
        num_heads: int,
        *,
        node_multiplier: float = 2.0,
        edge_multiplier: float = 2.0,
        edge_channels: bool = True,
        update_nodes: bool = True,
        update_edges: bool = True,
        node_dropout: float = 0.0,
        edge_dropout: float = 0.0,
        norm_eps: float = 1e-5,
        gated: bool = True,
        clip: float = 5.0,
        scaled: bool = True,
    ):
        super().__init__()
        self.update_nodes = update_nodes
        self.update_edges = update_edges and edge_channels

        self.node_norm = nn.LayerNorm(d_model, norm_eps)
        # EGT-Simple has no norm here, neither in Eq. 11 nor in the authors' code.
        self.edge_norm = nn.LayerNorm(d_edge, norm_eps) if edge_channels else nn.Identity()
        self.attention = EGTAttention(
            d_model,
            d_edge,
            num_heads,
            gated=gated,
            clip=clip,
            aggregate=update_nodes,
            scaled=scaled,
        )
        if self.update_nodes:
            self.node_ffn = NormedFeedForward(d_model, node_multiplier, norm_eps)
            self.node_dropout = nn.Dropout(node_dropout)
        if self.update_edges:
            self.edge_output = nn.Linear(num_heads, d_edge)
            self.edge_ffn = NormedFeedForward(d_edge, edge_multiplier, norm_eps)
            self.edge_dropout = nn.Dropout(edge_dropout)
        # The names in the weights of egt-100k/molecules, which are of release 0.2.
        read_renamed(self, {"node_network.": "node_ffn.", "edge_network.": "edge_ffn."})

    def forward(
        self, h: Tensor, e: Tensor, *, mask: Tensor | None = None, return_attention: bool = False
    ) -> tuple[Tensor, ...]:
        r"""Updates the tokens and the pairs.

        The arguments are those of :meth:`EGTAttention.forward`, here before the norms.

        Returns:
            The tokens, ``[B, T, d]``; the pairs, ``[B, T, T, d_e]``; and with ``return_attention``
            the gated weights :math:`\tilde A`, ``[B, H, T, T]``.
        """
        normed_h = self.node_norm(h)
        normed_e = self.edge_norm(e)
        if return_attention:
            z, logits, attention = self.attention(
                normed_h, normed_e, mask=mask, return_attention=True
            )
        else:
            z, logits = self.attention(normed_h, normed_e, mask=mask)
            attention = None
        if self.update_nodes:
            h = h + self.node_dropout(z)  # Eq. 6
            h = h + self.node_dropout(self.node_ffn(h))  # its first step is the norm
        if self.update_edges:
            # Eq. 7 prints an H with a tilde, which nothing defines. By the text and the authors'
            # code it is H-hat.
            e = e + self.edge_dropout(self.edge_output(logits))
            e = e + self.edge_dropout(self.edge_ffn(e))  # its first step is the norm
        return (h, e, attention) if return_attention else (h, e)


def check_multiplier(name: str, multiplier: float, width: int) -> None:
    """Raises a ValueError unless the inner width of a network is 1 or more."""
    if math.isinf(multiplier) or round(multiplier * width) < 1:
        raise ValueError(
            f"{name} is {multiplier} and the width is {width}; expected a "
            "finite number whose product with the width is 1 or more."
        )


class NormedFeedForward(nn.Sequential):
    """A norm, and a two-layer network for each token or pair.

    Args:
        width: Channels of a token or a pair.
        multiplier: Inner width, over ``width``.
        norm_eps: Of the layer norm.
    """

    def __init__(self, width: int, multiplier: float, norm_eps: float):
        check_multiplier("multiplier", multiplier, width)
        inner_width = round(multiplier * width)
        super().__init__(
            nn.LayerNorm(width, norm_eps),
            nn.Linear(width, inner_width),
            nn.ELU(inplace=True),  # of the pairs, this is the largest tensor of the model
            nn.Linear(inner_width, width),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Maps ``[..., width]`` to the same shape."""
        # A linear map of more than two axes returns a view, and autograd copies the whole gradient
        # of a view that is changed in place.
        rows = x.flatten(end_dim=-2)  # [n, width]
        return super().forward(rows).reshape(x.shape)


# Section 3.2: SVD-based positional encodings


class SVDEncoding(nn.Module):
    r"""A linear map of the singular vectors of the adjacency matrix (EGT, Eqs. 8 and 9).

    .. math:: A \approx U \Sigma V^T, \qquad
              \hat\gamma_i = (U\sqrt\Sigma)_i \,\Vert\, (V\sqrt\Sigma)_i, \qquad
              \gamma_i = W \hat\gamma_i

    The map has a bias as well, which Eq. 9 does not print.

    Args:
        rank: Pairs of singular vectors, r.
        d_model: Width of a node's vector, d.
        flip_signs: Which signs are drawn in training. With "pairs" each pair :math:`(u_m, v_m)` of
            a graph has one, which leaves Eq. 8 true. With "nodes" each node has one, which does
            not; the authors' code drew them so until January 2022.
    """

    def __init__(
        self, rank: int, d_model: int, flip_signs: Literal["pairs", "nodes"] | None = None
    ):
        super().__init__()
        check_choice("flip_signs", flip_signs, ("pairs", "nodes", None))
        self.flip_signs = flip_signs
        self.projection = NumberEmbedding(2 * rank, d_model, "svd")

    def extra_repr(self) -> str:
        return f"flip_signs={self.flip_signs!r}"

    def forward(self, batch: GraphBatch) -> Tensor:
        """Reads the encoding "svd" of ``AddSVD(r)``, ``[B, N, 2 r]``; returns ``[B, N, d]``."""
        svd = batch.encoding("svd")  # [B, N, 2 r]
        if self.training and self.flip_signs == "pairs":
            svd = flip_pairs(svd)
        elif self.training and self.flip_signs == "nodes":
            svd = flip_nodes(svd)
        return self.projection(svd)


def flip_pairs(svd: Tensor) -> Tensor:
    r"""Flips :math:`u_m` together with :math:`v_m` in the columns :math:`u_1 … u_r, v_1 … v_r`.

    ``svd`` is ``[B, N, 2 r]``; each pair of each graph has a sign of its own.
    """
    B, _, width = svd.shape
    bits = torch.randint(0, 2, (B, 1, width // 2), device=svd.device)  # [B, 1, r], 0 or 1
    bits = torch.cat([bits, bits], dim=-1)  # [B, 1, 2 r], the same for u and v
    signs = (2 * bits - 1).to(svd.dtype)  # [B, 1, 2 r], -1 or 1
    return svd * signs


def flip_nodes(svd: Tensor) -> Tensor:
    r"""Multiplies all entries of a node by one sign, after which Eq. 8 is no longer true.

    ``svd`` is ``[B, N, 2 r]``; each node of each graph has a sign of its own.
    """
    B, N, _ = svd.shape
    bits = torch.randint(0, 2, (B, N, 1), device=svd.device)  # [B, N, 1], 0 or 1
    signs = (2 * bits - 1).to(svd.dtype)  # [B, N, 1], -1 or 1
    return svd * signs


# Section 3.3: embedding and prediction


class NodeInput(nn.Module):
    """The nodes before the first layer, without positional encodings.

    A node's vector is the sum of the vectors of its categories, or a linear map of its numbers,
    plus one learned vector that all nodes share.

    Args:
        num_node_types: Number of categories of each column of x; empty for numbers.
        num_node_features: Columns of x, if it holds numbers; else 0.
        d_model: Width of a node's vector, d.
    """

    def __init__(self, num_node_types: tuple[int, ...], num_node_features: int, d_model: int):
        super().__init__()
        self.features = feature_embedding("node", num_node_types, num_node_features, d_model)
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, batch: GraphBatch) -> Tensor:
        """Returns ``[B, N, d]``."""
        return self.features(real_node_features(batch)) + self.bias


class EdgeInput(nn.Module):
    """The pairs of nodes before the first layer.

    A pair has one vector for its place in the graph's structure and, if edges have features, one
    for those of its edge, or a masking vector where there is no edge.

    Args:
        num_edge_types: Number of categories of each column of edge_attr; empty for numbers.
        num_edge_features: Columns of edge_attr, if it holds numbers; both may be absent.
        d_edge: Width of a pair's vector, d_e.
        max_distance: Largest distance with a vector of its own; without it the structure is the
            adjacency with self-loops.
    """

    def __init__(
        self,
        num_edge_types: tuple[int, ...],
        num_edge_features: int,
        d_edge: int,
        max_distance: int | None = None,
    ):
        super().__init__()
        self.max_distance = max_distance
        if max_distance is None:
            self.structure = nn.Embedding(2, d_edge)  # not joined; joined or the same node
        else:
            # An embedding, as in the text; the code has a linear map of "within 1, …, 16 hops".
            self.structure = nn.Embedding(max_distance + 1, d_edge)
        self.features: CategoryEmbedding | NumberEmbedding | None = None
        if num_edge_types or num_edge_features:
            self.features = feature_embedding("edge", num_edge_types, num_edge_features, d_edge)
            # Drawn here for a module on its own; EGT draws all its weights anew.
            self.no_edge = nn.Parameter(torch.empty(d_edge).uniform_(-0.05, 0.05))

    def forward(self, batch: GraphBatch) -> Tensor:
        """Returns ``[B, N, N, d_e]``."""
        is_edge = batch.adjacency  # [B, N, N]
        if self.max_distance is None:
            is_joined = is_edge | same_node(is_edge)  # [B, N, N]
            row = is_joined.long()  # [B, N, N], of the table "structure"
        else:
            # The paper does not say what unreachable nodes are; here they are the farthest.
            row = clipped(batch.encoding("distance"), self.max_distance)  # [B, N, N]
        e = self.structure(row)  # [B, N, N, d_e]
        if self.features is None:
            return e
        features = self.features(real_edge_features(batch))  # [B, N, N, d_e]
        return e + torch.where(is_edge[..., None], features, self.no_edge)  # [B, N, N, d_e]


class VirtualNodes(nn.Module):
    r"""Puts q learned nodes before the nodes of each graph (Section 3.3).

    Virtual node i has a vector :math:`\tilde e_i` for its pairs with nodes, in both directions, and
    :math:`(\tilde e_i + \tilde e_j) / 2` for its pair with virtual node j.

    Args:
        virtual_nodes: Virtual nodes, q.
        d_model: Width of a node's vector, d.
        d_edge: Width of a pair's vector, d_e.
    """

    def __init__(self, virtual_nodes: int, d_model: int, d_edge: int):
        super().__init__()
        self.nodes = nn.Embedding(virtual_nodes, d_model)
        self.pairs = nn.Embedding(virtual_nodes, d_edge)

    def forward(self, h: Tensor, e: Tensor) -> tuple[Tensor, Tensor]:
        """Nodes ``[B, N, d]`` to tokens ``[B, T, d]``, and their pairs to ``[B, T, T, d_e]``."""
        B, N, _ = h.shape
        nodes = self.nodes.weight.expand(B, -1, -1)  # [B, q, d]
        vectors = self.pairs.weight[:, None]  # [q, 1, d_e]
        among = (vectors + vectors.transpose(0, 1)) / 2  # [q, q, d_e]
        among = among.expand(B, -1, -1, -1)  # [B, q, q, d_e]
        to_nodes = vectors.expand(B, -1, N, -1)  # [B, q, N, d_e]
        from_nodes = to_nodes.transpose(1, 2)  # [B, N, q, d_e]
        virtual_rows = torch.cat([among, to_nodes], dim=2)  # [B, q, T, d_e]
        node_rows = torch.cat([from_nodes, e], dim=2)  # [B, N, T, d_e]
        tokens = torch.cat([nodes, h], dim=1)  # [B, T, d]
        pairs = torch.cat([virtual_rows, node_rows], dim=1)  # [B, T, T, d_e]
        return tokens, pairs


def same_node(pairs: Tensor) -> Tensor:
    """True for the pair of a node with itself, ``[N, N]``, for pairs ``[B, N, N]``."""
    return torch.eye(pairs.shape[-1], dtype=torch.bool, device=pairs.device)


class EGT(nn.Module):
    """The complete model, from a batch of graphs to predictions about graphs, nodes or edges.

    Args:
        config: Data, sizes and variants.
        node_encodings: Modules that map a batch to ``[B, N, d]``, which is added to the nodes, in
            place of the SVD encoding. They keep the weights that they come with.
    """

    def __init__(self, config: EGTConfig, node_encodings: Iterable[nn.Module] | None = None):
        super().__init__()
        check_given(self, config, EGTConfig)
        self.config = config
        if config.form == "fused":
            check_numba(other_form="direct")
        d_model = config.d_model
        d_edge = config.d_edge
        q = config.virtual_nodes
        max_distance = config.max_distance if config.structure == "distance" else None

        self.node_input = NodeInput(config.num_node_types, config.num_node_features, d_model)
        self.edge_input = EdgeInput(
            config.num_edge_types, config.num_edge_features, d_edge, max_distance
        )

        # As in the authors' code, the last layer computes only what a head reads. The head for
        # graphs and that for nodes read nodes. The head for edges reads the vectors of pairs, but
        # in EGT-Simple the vectors of both nodes (Appendix C). The head for distances reads pairs.
        reads_nodes = config.target != "edge" or config.variant == "simple"
        reads_edges = not reads_nodes or config.distance_hops > 0
        self.layers = nn.ModuleList()
        for number in range(1, config.num_layers + 1):
            is_last = number == config.num_layers
            layer = EGTLayer(
                d_model,
                d_edge,
                config.num_heads,
                node_multiplier=config.node_multiplier,
                edge_multiplier=config.edge_multiplier,
                edge_channels=config.variant != "simple",
                update_nodes=reads_nodes or not is_last,
                update_edges=reads_edges or not is_last,
                node_dropout=config.node_dropout,
                edge_dropout=config.edge_dropout,
                norm_eps=config.norm_eps,
                gated=config.gated,
                clip=config.clip,
                scaled=config.scaled,
            )
            self.layers.append(layer)
        self.node_norm = nn.LayerNorm(d_model, config.norm_eps) if reads_nodes else None
        self.edge_norm = nn.LayerNorm(d_edge, config.norm_eps) if reads_edges else None

        width = d_model  # of what readout() returns
        if config.target == "graph" and q > 0:
            width = q * d_model
        elif config.target == "edge" and config.variant == "simple":
            width = 2 * d_model + d_edge
        elif config.target == "edge":
            width = d_edge
        # The "few final MLP layers" of Section 3.3, with the widths of Table 4.
        hidden = config.head_widths or (d_model // 2, d_model // 4)
        self.head = mlp(width, *hidden, config.num_targets, activation=nn.ELU)

        self.node_encodings = nn.ModuleList()
        if node_encodings is None and config.svd_rank > 0:
            svd = SVDEncoding(config.svd_rank, d_model, config.flip_signs)
            self.node_encodings.append(svd)
        self.distance_head: nn.Module | None = None
        if config.distance_hops > 0:
            hops = config.distance_hops
            self.distance_head = mlp(d_edge, *hidden, hops + 1, activation=nn.ELU)
        self.virtual_nodes = VirtualNodes(q, d_model, d_edge) if q > 0 else None

        self.reset_parameters()
        # After the draw, so that they keep the weights that they come with.
        if node_encodings is not None:
            self.node_encodings.extend(list_of_modules("node_encodings", node_encodings))
        # Weights of release 0.2 have other names: those of egt-100k/molecules, and a reader's own,
        # in which there may be virtual nodes.
        self.register_load_state_dict_pre_hook(read_old_inputs)

    def reset_parameters(self) -> None:
        """Draws all weights anew, as Keras, the authors' library, does by default."""
        # The authors' Q, K and V are one linear map, for which Glorot's formula counts 3 d outputs.
        one_of_three = set()
        for module in self.modules():
            if isinstance(module, EGTAttention):
                one_of_three |= {module.query, module.key, module.value}
        for module in self.modules():
            if isinstance(module, nn.Linear):
                gain = 0.5**0.5 if module in one_of_three else 1.0
                nn.init.xavier_uniform_(module.weight, gain=gain)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding | CategoryEmbedding):
                nn.init.uniform_(module.weight, -0.05, 0.05)
            elif isinstance(module, nn.LayerNorm | nn.BatchNorm1d):
                module.reset_parameters()
        nn.init.zeros_(self.node_input.bias)
        if self.edge_input.features is not None:
            nn.init.uniform_(self.edge_input.no_edge, -0.05, 0.05)

    def check_features(self, x: Tensor, edge_attr: Tensor | None) -> None:
        """Raises a ValueError if a node, ``x [..., F]``, or an edge has an unknown category."""
        self.node_input.features.check(x)
        if self.edge_input.features is not None and edge_attr is not None:
            self.edge_input.features.check(edge_attr)

    def forward(
        self, batch: GraphBatch, *, return_distances: bool = False, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, ...]:
        r"""Predicts the target of each graph, node or edge.

        Args:
            batch: Graphs, with the encodings "svd" and "distance" if the configuration needs them.
            return_distances: Also return the logits of the distance objective.
            return_attention: Also return :math:`\tilde A` of all layers.

        Returns:
            The prediction: ``[B, C]`` for graphs, ``[B, N, C]`` for nodes, ``[B, N, N, C]`` for
            edges (0 where there is none), without the last axis if C is 1. With an option it
            is a tuple: the prediction and then, each only if it is asked for, the logits of the
            distances, ``[B, N, N, ν + 1]``, 0 at padding, and the attention, ``[B, L, H, T, T]``.

        Raises:
            ValueError: An encoding or the features of edges are missing, distances are asked for
                and distance_hops is 0, or, on the CPU, a category is unknown.
        """
        if return_distances and self.distance_head is None:
            raise ValueError("distance_hops is 0; expected 1 or more if distances are returned.")
        attention: Tensor | None = None
        # The fused loops do not keep the attention, and torch.compile cannot read them.
        if self.config.form == "fused" and not return_attention and not is_compiling():
            from gtcourse.models import egt_fused  # needs numba

            prediction, distances = egt_fused.predict(
                self, batch, return_distances=return_distances
            )
        else:
            prediction, distances, attention = self._predict(
                batch, return_distances=return_distances, return_attention=return_attention
            )
        if self.config.num_targets == 1:
            prediction = prediction.squeeze(-1)
        results = [prediction]
        if distances is not None:
            results.append(distances)
        if attention is not None:
            results.append(attention)
        return prediction if len(results) == 1 else tuple(results)

    def _predict(
        self, batch: GraphBatch, *, return_distances: bool, return_attention: bool
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The three results of :meth:`forward`, in the form "direct", before an axis is left out.

        The prediction has its last axis C, and what is not asked for is None.
        """
        h = self.embed(batch)  # [B, N, d]
        e = self.edge_input(batch)  # [B, N, N, d_e]
        if self.virtual_nodes is not None:
            h, e = self.virtual_nodes(h, e)  # [B, T, d] and [B, T, T, d_e]
        first_e = e
        mask = self.attention_mask(batch)  # [B, T, T]
        attentions = []
        for layer in self.layers:
            if return_attention:
                h, e, attention = layer(h, e, mask=mask, return_attention=True)
                attentions.append(attention)
            else:
                h, e = layer(h, e, mask=mask)
        if self.node_norm is not None:
            h = self.node_norm(h)
        if self.edge_norm is not None:
            e = self.edge_norm(e)

        prediction = self.head(self.readout(batch, h, e, first_e))
        if self.config.target == "edge":
            prediction = prediction.masked_fill(~batch.adjacency[..., None], 0.0)
        distances: Tensor | None = None
        if return_distances and self.distance_head is not None:
            q = self.config.virtual_nodes
            logits = self.distance_head(e[:, q:, q:])  # [B, N, N, ν + 1]
            distances = logits.masked_fill(~batch.pair_mask[..., None], 0.0)
        if not return_attention:
            return prediction, distances, None
        return prediction, distances, torch.stack(attentions, dim=1)  # [B, L, H, T, T]

    def embed(self, batch: GraphBatch) -> Tensor:
        """The nodes with their positional encodings, ``[B, N, d]``."""
        h = self.node_input(batch)
        for encoding in self.node_encodings:
            h = h + encoding(batch)
        return h

    def attention_mask(self, batch: GraphBatch) -> Tensor:
        """True where a token may attend to another, ``[B, T, T]``."""
        mask = batch.pair_mask  # [B, N, N], True for pairs of real nodes
        if self.config.variant == "constrained":
            # Eq. 12: node i attends to itself and to the nodes that an edge leads to from it. By
            # Section 4.3 and Appendix C the pair of node i and node j is kept "if there is an edge
            # from node i to node j", and its vector holds the features of that edge.
            mask = mask & (batch.adjacency | same_node(mask))
        # Virtual nodes and real nodes attend to each other in every variant, but none to padding.
        # (In the authors' later code virtual nodes attend to padding.)
        q = self.config.virtual_nodes
        is_real = F.pad(batch.mask, (q, 0), value=True)  # [B, T]
        are_real = is_real[:, :, None] & is_real[:, None, :]  # [B, T, T]
        mask = F.pad(mask, (q, 0, q, 0), value=True)  # [B, T, T], True for every virtual node
        return mask & are_real

    def readout(self, batch: GraphBatch, h: Tensor, e: Tensor, first_e: Tensor) -> Tensor:
        """What the head reads of each graph, node or pair, ``[B, …, width]``.

        Tokens ``h`` and pairs ``e`` are those after the last layer, ``first_e`` before the first.
        """
        q = self.config.virtual_nodes
        nodes = h[:, q:]  # [B, N, d]
        if self.config.target == "graph" and q > 0:
            return h[:, :q].flatten(start_dim=1)  # [B, q d]
        if self.config.target == "graph":
            is_real = batch.mask[..., None].to(h.dtype)  # [B, N, 1]
            num_nodes = is_real.sum(dim=1).clamp(min=1)  # [B, 1]
            return (nodes * is_real).sum(dim=1) / num_nodes  # [B, d]
        if self.config.target == "node":
            return nodes
        if self.config.variant == "simple":  # edges are classified by pairs of nodes (Appendix C)
            node_i = nodes[:, :, None].expand(-1, -1, nodes.shape[1], -1)  # [B, N, N, d]
            node_j = node_i.transpose(1, 2)  # [B, N, N, d]
            return torch.cat([node_i, node_j, first_e[:, q:, q:]], dim=-1)  # [B, N, N, 2 d + d_e]
        return e[:, q:, q:]  # [B, N, N, d_e]


# Weights of release 0.2: those of egt-100k/molecules, and a reader's own


def read_joined_maps(
    attention: EGTAttention, state_dict: dict[str, Tensor], prefix: str, *_: object
) -> None:
    """Splits one map into Q, K and V, and another into E and G."""
    split(state_dict, prefix, "qkv", ("query", "key", "value"))
    terms = ("edge_bias",) if attention.edge_gate is None else ("edge_bias", "edge_gate")
    split(state_dict, prefix, "edge_input", terms)


def read_old_inputs(model: EGT, state_dict: dict[str, Tensor], prefix: str, *_: object) -> None:
    """Gives the parts of the inputs their present names."""
    renamed = {
        "node_input.features.table.": "node_input.features.",
        "node_input.features.linear.": "node_input.features.",
        "edge_input.features.table.": "edge_input.features.",
        "edge_input.features.linear.": "edge_input.features.",
        "edge_input.virtual": "virtual_nodes.pairs.weight",
    }
    rename(model, state_dict, prefix, renamed=renamed)
    if f"{prefix}virtual_nodes" in state_dict:
        nodes = state_dict.pop(f"{prefix}virtual_nodes")  # [q, d]
        state_dict[f"{prefix}virtual_nodes.nodes.weight"] = nodes
