"""The Transformer (Vaswani et al., 2017): encoder, decoder and both together.

Shapes: B sequences, N source tokens, M target tokens, H heads, d width, V words.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gtcourse.models.attention import FeedForward, MultiHeadAttention


@dataclass(frozen=True)
class TransformerConfig:
    """The paper's base model by default (Table 3 there), but for the vocabularies.

    ``norm_first=False`` normalises after the residual sum, as the paper does; True before each
    sub-layer, with one more normalisation at the end (Xiong et al., 2020).
    """

    source_vocabulary: int
    target_vocabulary: int
    d_model: int = 512
    num_heads: int = 8
    d_hidden: int = 2048
    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    dropout: float = 0.1
    norm_first: bool = False
    activation: str = "relu"


class Transformer(nn.Module):
    """Encoder and decoder: reads a source sequence, predicts each next token of a target.

    Shapes:
        source: ``[B, N]`` token numbers; source_mask: ``[B, N]``, True at real tokens
        target: ``[B, M]`` token numbers, of which position m is predicted from those up to m
        returns: ``[B, M, V]`` logits; with ``return_attention`` also what the decoder's layers
            took from the source, ``[B, L, H, M, N]``
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = config
        self.source_embedding = TokenEmbedding(
            config.source_vocabulary, config.d_model, config.dropout
        )
        self.target_embedding = TokenEmbedding(
            config.target_vocabulary, config.d_model, config.dropout
        )
        layer = {
            "d_model": config.d_model,
            "num_heads": config.num_heads,
            "d_hidden": config.d_hidden,
            "dropout": config.dropout,
            "norm_first": config.norm_first,
            "activation": config.activation,
        }
        self.encoder = TransformerEncoder(config.num_encoder_layers, **layer)
        self.decoder = TransformerDecoder(config.num_decoder_layers, **layer)
        self.head = nn.Linear(config.d_model, config.target_vocabulary)

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_mask: Tensor | None = None,
        *,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        memory = self.encoder(self.source_embedding(source), mask=source_mask)
        hidden = self.decoder(
            self.target_embedding(target),
            memory,
            mask=causal_mask(target.shape[1], target.device),
            memory_mask=source_mask,
            return_attention=return_attention,
        )
        hidden, attention = hidden if return_attention else (hidden, None)
        logits = self.head(hidden)
        return (logits, attention) if return_attention else logits


class TokenEmbedding(nn.Module):
    """Word vectors, scaled by sqrt(d), plus sinusoidal positions: ``[B, N]`` to ``[B, N, d]``."""

    def __init__(self, vocabulary: int, d_model: int, dropout: float):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.dropout = nn.Dropout(dropout)
        # The paper scales the vectors up by sqrt(d); this start makes them of unit size then.
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        words = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(words + sinusoidal_encoding(*words.shape[-2:]).to(words))


class _Stack(nn.Module):
    """Layers in turn; pre-LN stacks end with a normalisation, because no layer of theirs does."""

    def __init__(self, layers: Iterable[nn.Module], d_model: int, norm_first: bool):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()

    def run(
        self, x: Tensor, *memory: Tensor, return_attention: bool, **masks: Tensor | None
    ) -> Tensor | tuple[Tensor, Tensor]:
        attentions = []
        for layer in self.layers:
            x = layer(x, *memory, return_attention=return_attention, **masks)
            if return_attention:
                x, attention = x
                attentions.append(attention)
        x = self.norm(x)
        return (x, torch.stack(attentions, dim=1)) if return_attention else x


class TransformerEncoder(_Stack):
    """A stack of encoder layers.

    Args:
        num_layers: L.
        layer: the arguments of :class:`EncoderLayer`.

    Shapes:
        x: ``[B, N, d]``; mask and bias as in :class:`~gtcourse.models.attention.MultiHeadAttention`
        returns: ``[B, N, d]``; with ``return_attention`` also ``[B, L, H, N, N]``
    """

    def __init__(self, num_layers: int, **layer):
        layers = (EncoderLayer(**layer) for _ in range(num_layers))
        super().__init__(layers, layer["d_model"], layer.get("norm_first", False))

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        return self.run(x, mask=mask, bias=bias, return_attention=return_attention)


class TransformerDecoder(_Stack):
    """A stack of decoder layers.

    Shapes:
        as in :class:`DecoderLayer`; with ``return_attention`` also ``[B, L, H, M, N]``
    """

    def __init__(self, num_layers: int, **layer):
        layers = (DecoderLayer(**layer) for _ in range(num_layers))
        super().__init__(layers, layer["d_model"], layer.get("norm_first", False))

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        masks = {"mask": mask, "memory_mask": memory_mask}
        return self.run(x, memory, return_attention=return_attention, **masks)


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


def sinusoidal_encoding(length: int, d_model: int) -> Tensor:
    r"""A vector for each position: sines and cosines of geometrically growing wavelengths.

    .. math:: p_{t,2i} = \sin(t / 10000^{2i/d}), \quad p_{t,2i+1} = \cos(t / 10000^{2i/d})

    Shapes:
        returns: ``[length, d]``

    Source: Vaswani et al. (2017), Section 3.5.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    channel = torch.arange(d_model)
    angle = position / 10000 ** ((channel - channel % 2).double() / d_model)
    return torch.where(channel % 2 == 0, angle.sin(), angle.cos()).float()


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """True where position m may see position n, that is n ≤ m: ``[1, length, length]``."""
    return torch.ones(1, length, length, dtype=torch.bool, device=device).tril()
