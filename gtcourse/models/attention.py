"""Attention and the feed-forward network (Vaswani et al., 2017); attention as message passing.

Shapes: B graphs, N queries, M keys and values (M = N in self-attention), H heads, d model width,
K = d / H width of a head.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import softmax


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
    return_attention: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    r"""Every query's average of the values, weighted by how well the keys match it.

    .. math:: Z = \operatorname{softmax}\left(\frac{Q K^T}{\sqrt{d_k}} + b\right) V

    The attention of all sources: CS224W, S2 to S4 and S6; Graphormer, Eq. 4; EGT, Eqs. 1 to 3;
    GRPE, Eqs. 2 and 3; CSA, Eqs. 2 and 3. A query whose keys are all masked gets zeros, with zero
    gradients.

    Args:
        mask: True where a query may attend to a key.
        bias: :math:`b`, added to the scaled logits. Entries may be -inf, but not a complete row.
        return_attention: also return the probabilities before dropout, which PyTorch's fused
            kernels never write out.

    Shapes:
        query: ``[..., N, K]``; key: ``[..., M, K]``; value: ``[..., M, V]``
        mask, bias: broadcast to ``[..., N, M]``
        returns: ``[..., N, V]``, and ``[..., N, M]`` with ``return_attention``
    """
    empty = None
    if mask is not None:
        # The softmax of a row without keys is 0/0. Such a row attends to everything instead, and
        # its result is set to zero: finite on every backend, forward and backward.
        empty = ~mask.any(dim=-1, keepdim=True)
        mask = mask | empty
    if bias is not None:
        bias = bias.to(query.dtype)
        bias = bias if mask is None else bias.masked_fill(~mask, -math.inf)

    if not return_attention:
        output = F.scaled_dot_product_attention(
            query, key, value, mask if bias is None else bias, dropout
        )
        return output if empty is None else output.masked_fill(empty, 0.0)
    logits = query @ key.mT / math.sqrt(query.shape[-1])
    if bias is not None:
        logits = logits + bias
    elif mask is not None:
        logits = logits.masked_fill(~mask, -math.inf)
    attention = logits.softmax(dim=-1)  # [..., N, M]
    output = F.dropout(attention, dropout) @ value
    if empty is None:
        return output, attention
    return output.masked_fill(empty, 0.0), attention.masked_fill(empty, 0.0)


class MultiHeadAttention(nn.Module):
    r"""H attentions side by side, each on its own K = d / H channels.

    .. math:: \operatorname{MHA}(X) = (Z_1 \,\|\, \dots \,\|\, Z_H)\, W^O

    Projections and heads are those of all sources: CS224W, S1 and S5; Graphormer, Eq. 3; GRPE, Eq.
    1. The order of the tokens does not matter (CS224W, S8). Dropout is of attention weights.

    Shapes:
        query: ``[B, N, d]``; key, value: ``[B, M, d]``, the query itself by default
        mask: True where attention may go: ``[B, M]`` for keys, or ``[B, N, M]``, ``[B, H, N, M]``
        bias: ``[B, H, N, M]`` (or broadcast to it), added to the logits
        returns: ``[B, N, d]``; with ``return_attention`` also the probabilities ``[B, H, N, M]``
    """

    def __init__(self, d_model: int, num_heads: int, *, bias: bool = True, dropout: float = 0.0):
        super().__init__()
        self.num_heads, self.dropout = num_heads, dropout
        self.query = nn.Linear(d_model, d_model, bias=bias)
        self.key = nn.Linear(d_model, d_model, bias=bias)
        self.value = nn.Linear(d_model, d_model, bias=bias)
        self.output = nn.Linear(d_model, d_model, bias=bias)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for projection in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(projection.weight)
            if projection.bias is not None:
                nn.init.zeros_(projection.bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor | None = None,
        value: Tensor | None = None,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        key = query if key is None else key
        value = key if value is None else value
        z = scaled_dot_product_attention(
            *self.heads(query, key, value),
            mask=over_heads(mask),
            bias=bias,
            dropout=self.dropout if self.training else 0.0,
            return_attention=return_attention,
        )
        z, attention = z if return_attention else (z, None)
        output = self.output(self.join_heads(z))
        return (output, attention) if return_attention else output

    def heads(self, *inputs: Tensor) -> list[Tensor]:
        """Queries, keys and values of three inputs, ``[B, H, N, K]`` each."""
        projections = self.query, self.key, self.value
        return [self.split_heads(f(x)) for f, x in zip(projections, inputs, strict=True)]

    def split_heads(self, x: Tensor) -> Tensor:
        """``[..., N, d]`` to ``[..., H, N, K]``."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)

    def join_heads(self, x: Tensor) -> Tensor:
        """``[..., H, N, K]`` to ``[..., N, d]``."""
        return x.transpose(-2, -3).flatten(-2)


def over_heads(mask: Tensor | None) -> Tensor | None:
    """A mask of keys ``[B, M]`` or of pairs ``[B, N, M]``, broadcast to ``[B, H, N, M]``."""
    if mask is None or mask.dim() == 4:
        return mask
    return mask[:, None, None] if mask.dim() == 2 else mask[:, None]


def run_layers(layers: Iterable[nn.Module], h: Tensor, *inputs, return_attention: bool, **options):
    """The last layer's output, and all attentions ``[B, L, H, N, M]``, or None."""
    attentions = []
    for layer in layers:
        h = layer(h, *inputs, return_attention=return_attention, **options)
        if return_attention:
            h, attention = h
            attentions.append(attention)
    return h, torch.stack(attentions, dim=1) if return_attention else None


ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "elu": nn.ELU}


class FeedForward(nn.Sequential):
    """The same two-layer network for each token: ``[..., d]`` to ``[..., d]``."""

    def __init__(self, d_model: int, d_hidden: int, *, dropout=0.0, activation="relu"):
        inner = nn.Linear(d_model, d_hidden), ACTIVATIONS[activation](), nn.Dropout(dropout)
        super().__init__(*inner, nn.Linear(d_hidden, d_model))


class MessagePassingAttention(MessagePassing):
    r"""Self-attention as message passing: on the complete graph, the same function.

    .. math:: z_i = \sum_{j \in N(i)} \operatorname{softmax}_j(q_i^T k_j / \sqrt{d_k})\, v_j

    The message of node j is :math:`(k_j, v_j)`; node i aggregates with its query (CS224W, S6 and
    S7). The projections are those of a multi-head attention, and shared with it.

    Shapes:
        x: ``[N, d]``, the nodes of one graph, or of several beside each other
        edge_index: ``[2, E]``; along an edge (j, i) node i attends to node j
        returns: ``[N, d]``, and ``[E, H]`` with ``return_attention``
    """

    def __init__(self, attention: MultiHeadAttention):
        super().__init__(aggr="sum", node_dim=0)
        self.attention = attention

    def forward(
        self, x: Tensor, edge_index: Tensor, *, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        layer, size = self.attention, (len(x), len(x))
        query, key, value = (
            projection(x).unflatten(-1, (layer.num_heads, -1))  # [N, H, K]
            for projection in (layer.query, layer.key, layer.value)
        )
        attention = self.edge_updater(edge_index, query=query, key=key, size=size)
        dropped = F.dropout(attention, layer.dropout, layer.training)
        heads = self.propagate(edge_index, value=value, attention=dropped, size=size)
        output = layer.output(heads.flatten(-2))
        return (output, attention) if return_attention else output

    def edge_update(self, query_i: Tensor, key_j: Tensor, index: Tensor, size_i: int) -> Tensor:
        logits = (query_i * key_j).sum(-1) / math.sqrt(query_i.shape[-1])  # [E, H]
        return softmax(logits, index, num_nodes=size_i)  # over the edges into node i

    def message(self, value_j: Tensor, attention: Tensor) -> Tensor:
        return attention[..., None] * value_j


def complete_edge_index(num_nodes: int) -> Tensor:
    """Every ordered pair of nodes, loops included, ``[2, N²]``: where self-attention goes."""
    nodes = torch.arange(num_nodes)
    return torch.cartesian_prod(nodes, nodes).T.contiguous()
