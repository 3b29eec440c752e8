"""The layers of a Transformer (Vaswani et al., 2017): what encoders and decoders are stacks of.

Shapes: B sequences or graphs, N tokens of the source, M of the target, H heads, d width.
"""

from __future__ import annotations

from torch import Tensor, nn

from gtcourse.models.attention import MultiHeadAttention

ACTIVATIONS = {"relu": nn.ReLU, "gelu": nn.GELU, "elu": nn.ELU}


class _Residual(nn.Module):
    """Where a layer normalises: before each sub-layer (pre-LN), or after its sum (post-LN)."""

    def __init__(self, norm_first: bool, dropout: float):
        super().__init__()
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)

    def before(self, x: Tensor, norm: nn.LayerNorm) -> Tensor:
        return norm(x) if self.norm_first else x

    def after(self, x: Tensor, h: Tensor, norm: nn.LayerNorm) -> Tensor:
        x = x + self.dropout(h)
        return x if self.norm_first else norm(x)


class EncoderLayer(_Residual):
    """Self-attention, then a feed-forward network, each with a residual connection and LayerNorm.

    Args:
        d_model: d; d_hidden: the feed-forward network's inner width.
        norm_first: pre-LN, ``x + f(LN(x))``; otherwise the paper's post-LN, ``LN(x + f(x))``.
        activation: "relu", "gelu" or "elu".
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_hidden: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: str = "relu",
    ):
        super().__init__(norm_first, dropout)
        self.attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_hidden, dropout=dropout, activation=activation)
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        h = self.before(x, self.attention_norm)
        h = self.attention(h, mask=mask, bias=bias, return_attention=return_attention)
        h, attention = h if return_attention else (h, None)
        x = self.after(x, h, self.attention_norm)

        h = self.feed_forward(self.before(x, self.feed_forward_norm))
        x = self.after(x, h, self.feed_forward_norm)
        return (x, attention) if return_attention else x


class DecoderLayer(_Residual):
    """Causal self-attention, attention to the encoder's output, then a feed-forward network.

    Args:
        as in :class:`EncoderLayer`.

    Shapes:
        x: ``[B, M, d]``; memory: ``[B, N, d]``, the encoder's output
        mask: which targets may see which, ``[B or 1, M, M]``; memory_mask: ``[B, N]`` real tokens
        returns: ``[B, M, d]``; with ``return_attention`` also the attention to the memory,
            ``[B, H, M, N]``
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_hidden: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: str = "relu",
    ):
        super().__init__(norm_first, dropout)
        self.attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_hidden, dropout=dropout, activation=activation)
        self.attention_norm = nn.LayerNorm(d_model)
        self.cross_attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        h = self.before(x, self.attention_norm)
        x = self.after(x, self.attention(h, mask=mask), self.attention_norm)

        h = self.before(x, self.cross_attention_norm)
        h = self.cross_attention(h, memory, mask=memory_mask, return_attention=return_attention)
        h, attention = h if return_attention else (h, None)
        x = self.after(x, h, self.cross_attention_norm)

        h = self.feed_forward(self.before(x, self.feed_forward_norm))
        x = self.after(x, h, self.feed_forward_norm)
        return (x, attention) if return_attention else x


class FeedForward(nn.Sequential):
    """The same two-layer network for each token: ``[..., d]`` to ``[..., d]``."""

    def __init__(
        self, d_model: int, d_hidden: int, *, dropout: float = 0.0, activation: str = "relu"
    ):
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}; expected one of {[*ACTIVATIONS]}.")
        super().__init__(
            nn.Linear(d_model, d_hidden),
            ACTIVATIONS[activation](),
            nn.Dropout(dropout),
            nn.Linear(d_hidden, d_model),
        )
