"""Attention and the feed-forward network (Vaswani et al., 2017); attention as message passing.

Shapes:
    B: sequences or graphs in a batch
    N: queries
    M: keys and values; M = N in self-attention
    H: heads
    d: width of the model
    K: width of a head, d / H (in equations K is the matrix of the keys, and the width is d_k)
    V: width of a value; K in multi-head attention

"CS224W, S2" is statement 2 of the lecture, by the numbers of the book's ledger.
"""

from __future__ import annotations

import math
from numbers import Integral
from typing import Literal, overload

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing
from torch_geometric.utils import softmax

from gtcourse.graphs.arguments import check_choice, number, whole_number

Activation = Literal["relu", "gelu", "elu"]
ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "gelu": nn.GELU, "elu": nn.ELU}


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
    r"""An average of the values for each query, weighted by how well the keys match it.

    .. math:: Z = \operatorname{softmax}\left(\frac{Q K^T}{\sqrt{d_k}} + b\right) V

    The attention of all sources: CS224W, S2 to S4 and S6; Graphormer, Eq. 4; EGT, Eqs. 1 to 3;
    GRPE, Eqs. 2 and 3; CSA, Eqs. 2 and 3. A query whose keys are all masked gets zeros, with zero
    gradients.

    Args:
        query: Queries, ``[..., N, K]``.
        key: Keys, ``[..., M, K]``.
        value: Values, ``[..., M, V]``.
        mask: True where a query may attend to a key, broadcast to ``[..., N, M]``.
        bias: :math:`b`, added to the scaled logits and broadcast to ``[..., N, M]``. Entries may be
            -inf, but each query needs a key with a finite entry, unless the mask is False for all
            its keys.
        dropout: Share of the probabilities that are set to zero, in evaluation too: pass 0 there.
        return_attention: Also return the probabilities before dropout, which PyTorch's fused
            kernels never write out.

    Returns:
        The averages, ``[..., N, V]``; with ``return_attention`` also the probabilities,
        ``[..., N, M]``.

    Raises:
        ValueError: The mask is not bool.
    """
    has_no_keys = None
    if mask is not None:
        check_mask(mask)
        # The softmax of a row without keys is 0/0. Such a row attends to everything instead, and
        # its result is set to zero: finite on every backend, forward and backward.
        has_no_keys = ~mask.any(dim=-1, keepdim=True)  # [..., N, 1]
        mask = mask | has_no_keys
    if bias is not None:
        # Under autocast the queries are in half precision, and so must the bias be for the kernels.
        bias = bias.to(query.dtype)
        if mask is not None:
            bias = bias.masked_fill(~mask, -math.inf)

    if not return_attention:
        # PyTorch adds a mask of floats to the logits; the bias is -inf where the mask is False.
        output = F.scaled_dot_product_attention(
            query, key, value, attn_mask=mask if bias is None else bias, dropout_p=dropout
        )  # [..., N, V]
        return output if has_no_keys is None else output.masked_fill(has_no_keys, 0.0)

    logits = query @ key.mT / math.sqrt(query.shape[-1])  # [..., N, M]
    if bias is not None:
        logits = logits + bias
    elif mask is not None:
        logits = logits.masked_fill(~mask, -math.inf)
    attention = logits.softmax(dim=-1)  # [..., N, M]
    output = F.dropout(attention, dropout) @ value  # [..., N, V]
    if has_no_keys is None:
        return output, attention
    return output.masked_fill(has_no_keys, 0.0), attention.masked_fill(has_no_keys, 0.0)


class AttentionProjections(nn.Module):
    """The four linear maps of H heads, and how the heads divide the channels.

    The base of :class:`MultiHeadAttention` and of the attentions of Graphormer, GRPE and CSA, each
    of which has a ``forward`` of its own. Head h, counted from 0, works on the channels from h K to
    (h + 1) K - 1 of the queries, the keys and the values.

    Args:
        d_model: Width of a token, d.
        num_heads: Heads, H, which have to divide d.
        bias: Whether the maps have one.
        dropout: Share of the attention weights that are set to zero in training.
    """

    def __init__(self, d_model: int, num_heads: int, *, bias: bool = True, dropout: float = 0.0):
        super().__init__()
        check_heads(d_model, num_heads)
        self.num_heads = num_heads
        self.dropout = number("dropout", dropout, 0, 1)
        self.query = nn.Linear(d_model, d_model, bias=bias)
        self.key = nn.Linear(d_model, d_model, bias=bias)
        self.value = nn.Linear(d_model, d_model, bias=bias)
        self.output = nn.Linear(d_model, d_model, bias=bias)
        self.reset_parameters()

    def extra_repr(self) -> str:
        return f"num_heads={self.num_heads}, dropout={self.dropout}"

    def reset_parameters(self) -> None:
        """Draws all four maps anew, by Glorot's formula, with biases of zero."""
        for projection in (self.query, self.key, self.value, self.output):
            nn.init.xavier_uniform_(projection.weight)
            if projection.bias is not None:
                nn.init.zeros_(projection.bias)

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries ``[B, H, N, K]``, and keys and values ``[B, H, M, K]``, from their inputs."""
        q = self.split_heads(self.query(query))
        k = self.split_heads(self.key(key))
        v = self.split_heads(self.value(value))
        return q, k, v

    heads = project
    """The name of :meth:`project` in releases before 0.18."""

    def split_heads(self, x: Tensor) -> Tensor:
        """Gives each head K of the channels: ``[..., N, d]`` to ``[..., H, N, K]``."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(-2, -3)

    def join_heads(self, x: Tensor) -> Tensor:
        """Puts the heads side by side again: ``[..., H, N, K]`` to ``[..., N, d]``."""
        return x.transpose(-2, -3).flatten(-2)


class MultiHeadAttention(AttentionProjections):
    r"""H attentions side by side, each on its own K = d / H channels.

    .. math:: \operatorname{MHA}(X) = (Z_1 \,\|\, \dots \,\|\, Z_H)\, W^O

    :math:`Z_h` is the :func:`scaled_dot_product_attention` of head h. Projections and heads are
    those of all sources: CS224W, S1 and S5; Graphormer, Eq. 3; GRPE, Eq. 1. Permuting the tokens
    permutes the result in the same way (CS224W, S8).

    The arguments are those of :class:`AttentionProjections`.
    """

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
        """Lets each query attend to the keys.

        Args:
            query: What the queries are made of, ``[B, N, d]``.
            key: What the keys are made of, ``[B, M, d]``; by default the queries' input.
            value: What the values are made of, ``[B, M, d]``; by default the keys' input.
            mask: True where attention may go: ``[B, M]`` for keys; ``[B, N, M]`` for pairs, or what
                is broadcast to it, such as ``[1, N, M]``; or ``[B, H, N, M]`` for each head.
            bias: Added to the logits, ``[B, H, N, M]`` or what is broadcast to it, such as
                ``[H, N, M]`` or ``[N, M]``.
            return_attention: Also return the probabilities before dropout.

        Returns:
            The tokens, ``[B, N, d]``; with ``return_attention`` also the probabilities,
            ``[B, H, N, M]``.

        Raises:
            ValueError: The mask is not bool, has none of these shapes, or has two axes where B = N,
                so that it could be of keys or of pairs. The bias is not of floats, has none of
                these shapes, or has three axes where B = H, so that it could be of sequences or of
                heads.
        """
        key = query if key is None else key
        value = key if value is None else value
        if bias is not None:
            check_bias(bias, self.num_heads, query, key)
        q, k, v = self.project(query, key, value)  # [B, H, N, K], [B, H, M, K], [B, H, M, K]
        attended = scaled_dot_product_attention(
            q,
            k,
            v,
            mask=over_heads(mask, query, key, num_heads=self.num_heads),
            bias=bias,
            dropout=self.dropout if self.training else 0.0,
            return_attention=return_attention,
        )
        if isinstance(attended, Tensor):
            return self.output(self.join_heads(attended))
        z, attention = attended  # [B, H, N, K] and [B, H, N, M]
        return self.output(self.join_heads(z)), attention


class FeedForward(nn.Sequential):
    """The same two-layer network for each token: ``[..., d]`` to ``[..., d]``.

    Args:
        d_model: Width of a token, d.
        d_hidden: Width between the two layers.
        dropout: Share of the hidden numbers that are set to zero in training.
        activation: "relu", "gelu" or "elu".
    """

    def __init__(
        self,
        d_model: int,
        d_hidden: int,
        *,
        dropout: float = 0.0,
        activation: Activation = "relu",
    ):
        check_choice("activation", activation, list(ACTIVATIONS))
        d_hidden = whole_number("d_hidden", d_hidden, 1)
        super().__init__(
            nn.Linear(d_model, d_hidden),
            ACTIVATIONS[activation](),
            nn.Dropout(dropout),
            nn.Linear(d_hidden, d_model),
        )


class MessagePassingAttention(MessagePassing):  # type: ignore[misc] # PyG has no types
    r"""Self-attention as message passing: on the complete graph, the same function.

    .. math:: z_i = \sum_{j \in N(i)} \operatorname{softmax}_j(q_i^T k_j / \sqrt{d_k})\, v_j

    The message of node j is :math:`(k_j, v_j)`; node i aggregates with its query (CS224W, S6 and
    S7).

    Args:
        attention: The multi-head attention whose projections it shares.
    """

    def __init__(self, attention: AttentionProjections):
        super().__init__(aggr="sum", node_dim=0)  # the nodes are the first axis of [N, H, K]
        self.attention = attention

    def forward(
        self, x: Tensor, edge_index: Tensor, *, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Lets each node attend to those from which an edge leads to it.

        Args:
            x: The nodes of one graph, or of several beside each other, ``[N, d]``.
            edge_index: ``[2, E]``; along an edge (j, i) node i attends to node j.
            return_attention: Also return the probabilities before dropout.

        Returns:
            The nodes, ``[N, d]``; with ``return_attention`` also the probabilities, ``[E, H]``.
        """
        layer = self.attention
        query = layer.query(x).unflatten(-1, (layer.num_heads, -1))  # [N, H, K]
        key = layer.key(x).unflatten(-1, (layer.num_heads, -1))  # [N, H, K]
        value = layer.value(x).unflatten(-1, (layer.num_heads, -1))  # [N, H, K]
        attention = self.edge_updater(edge_index, query=query, key=key)  # [E, H]
        dropped = F.dropout(attention, layer.dropout, layer.training)
        z = self.propagate(edge_index, value=value, attention=dropped)  # [N, H, K]
        output = layer.output(z.flatten(-2))  # [N, d]
        return (output, attention) if return_attention else output

    def edge_update(self, query_i: Tensor, key_j: Tensor, index: Tensor, size_i: int) -> Tensor:
        logits = (query_i * key_j).sum(-1) / math.sqrt(query_i.shape[-1])  # [E, H]
        return softmax(logits, index, num_nodes=size_i)  # over the edges into node i

    def message(self, value_j: Tensor, attention: Tensor) -> Tensor:
        return attention[..., None] * value_j  # [E, H, K]


def complete_edge_index(num_nodes: int) -> Tensor:
    """Every ordered pair of nodes, loops included, ``[2, N²]``: where self-attention goes."""
    nodes = torch.arange(whole_number("num_nodes", num_nodes, 0))
    return torch.cartesian_prod(nodes, nodes).T.contiguous()


@overload
def over_heads(
    mask: Tensor, query: Tensor, key: Tensor | None = None, *, num_heads: int | None = None
) -> Tensor: ...
@overload
def over_heads(
    mask: None, query: Tensor, key: Tensor | None = None, *, num_heads: int | None = None
) -> None: ...
def over_heads(
    mask: Tensor | None, query: Tensor, key: Tensor | None = None, *, num_heads: int | None = None
) -> Tensor | None:
    """A mask that is broadcast to ``[B, H, N, M]``, or None.

    Args:
        mask: True where attention may go: ``[B, M]`` for keys, ``[B, N, M]`` for pairs, or
            ``[B, H, N, M]`` for each head.
        query: The queries' input, ``[B, N, d]``.
        key: The keys' input, ``[B, M, d]``; by default the queries' input.
        num_heads: H, to check a mask that is given for each head.

    Raises:
        ValueError: The mask is not bool, has none of these shapes, or has two axes where B = N > 1,
            so that it could be of keys or of pairs.
    """
    if mask is None:
        return None
    check_mask(mask)
    B, N = query.shape[:2]
    M = N if key is None else key.shape[1]
    given = f"mask has shape {list(mask.shape)}"
    if mask.dim() == 4:
        H = mask.shape[1] if num_heads is None else num_heads
        if not is_broadcast(mask, (B, H, N, M)):
            raise ValueError(f"{given}; expected [{B}, {H}, {N}, {M}], or what is broadcast to it.")
        return mask
    if mask.dim() == 3 and is_broadcast(mask, (B, N, M)):
        return mask[:, None]
    if mask.shape != (B, M):
        raise ValueError(f"{given}; expected [{B}, {M}] for keys or [{B}, {N}, {M}] for pairs.")
    if B == N and N > 1:  # for one query of one sequence both are the same
        raise ValueError(
            f"{given}, which may be that of the keys of {B} sequences or that of pairs; expected "
            "mask[:, None] for keys, or mask[None] for pairs."
        )
    return mask[:, None, None]


def check_mask(mask: Tensor) -> None:
    """Raises a ValueError unless a mask is bool; numbers would be read as bits, or be added."""
    if mask.dtype != torch.bool:
        raise ValueError(
            f"mask is {mask.dtype}; expected torch.bool, True where attention is allowed."
        )


def check_bias(bias: Tensor, num_heads: int, query: Tensor, key: Tensor) -> None:
    """Raises a ValueError unless a bias is of floats, and broadcast to ``[B, H, N, M]`` in one way.

    Args:
        bias: What is added to the logits.
        num_heads: H.
        query: The queries' input, ``[B, N, d]``.
        key: The keys' input, ``[B, M, d]``.
    """
    if not bias.is_floating_point():  # a mask would add 1 where it is True
        raise ValueError(
            f"bias is {bias.dtype}; expected floats, which are added to the logits, or mask=…."
        )
    B, N = query.shape[:2]
    M = key.shape[1]
    given = f"bias has shape {list(bias.shape)}"
    if not is_broadcast(bias, (B, num_heads, N, M)):
        raise ValueError(
            f"{given}; expected [{B}, {num_heads}, {N}, {M}], or what is broadcast to it."
        )
    fits_both = bias.dim() == 3 and bias.shape[0] == B and num_heads == B
    if fits_both and B > 1:
        raise ValueError(
            f"{given}, which may be that of {B} sequences or of {num_heads} heads; expected "
            "bias[:, None] for sequences, or bias[None] for heads."
        )


def is_broadcast(tensor: Tensor, shape: tuple[int, ...]) -> bool:
    """Whether PyTorch broadcasts a tensor to this shape: its last axes have the full size, or 1."""
    if tensor.dim() > len(shape):
        return False
    last_axes = shape[len(shape) - tensor.dim() :]
    sizes = zip(tensor.shape, last_axes, strict=True)
    # The full size comes first: torch.export keeps the result of every comparison, and "not 1"
    # would bind the exported model to sizes above 1.
    return all(size == full or size == 1 for size, full in sizes)


def check_heads(d_model: int, num_heads: int) -> None:
    """Raises a ValueError unless the heads can share the channels equally."""
    are_whole = isinstance(d_model, Integral) and isinstance(num_heads, Integral)
    if not are_whole or num_heads < 1 or d_model % num_heads != 0:
        raise ValueError(
            f"d_model is {d_model!r} and num_heads is {num_heads!r}; expected a d_model that is a "
            "multiple of num_heads."
        )
