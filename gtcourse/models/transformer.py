"""The Transformer (Vaswani et al., 2017): encoder, decoder and both together.

Shapes: B sequences, N source tokens, M target tokens, L layers, H heads, d width, V words.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from gtcourse.models.attention import FeedForward, MultiHeadAttention, run_layers


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
        returns: ``[B, M, V]`` logits; with ``return_attention`` also the decoder's attention to
            the source, ``[B, L, H, M, N]``
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.config = c = config
        self.source_embedding = TokenEmbedding(c.source_vocabulary, c.d_model, c.dropout)
        self.target_embedding = TokenEmbedding(c.target_vocabulary, c.d_model, c.dropout)
        names = "d_model", "num_heads", "d_hidden", "dropout", "norm_first", "activation"
        layer = {name: getattr(c, name) for name in names}
        self.encoder = TransformerEncoder(c.num_encoder_layers, **layer)
        self.decoder = TransformerDecoder(c.num_decoder_layers, **layer)
        self.head = nn.Linear(c.d_model, c.target_vocabulary)

    def forward(
        self, source: Tensor, target: Tensor, source_mask=None, *, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        memory = self.encoder(self.source_embedding(source), mask=source_mask)
        masks = {"mask": causal_mask(target.shape[1], target.device), "memory_mask": source_mask}
        x = self.target_embedding(target)
        x = self.decoder(x, memory, return_attention=return_attention, **masks)
        return (self.head(x[0]), x[1]) if return_attention else self.head(x)


class TokenEmbedding(nn.Module):
    """Word vectors, scaled by sqrt(d), plus sinusoidal positions: ``[B, N]`` to ``[B, N, d]``."""

    def __init__(self, vocabulary: int, d_model: int, dropout: float):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.dropout = nn.Dropout(dropout)
        # The paper multiplies the vectors by sqrt(d), so that they start at unit size.
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        words = self.embedding(tokens) * math.sqrt(self.embedding.embedding_dim)
        return self.dropout(words + sinusoidal_encoding(*words.shape[-2:]).to(words))


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each with a residual connection and LayerNorm.

    ``norm_first`` is pre-LN, ``x + f(LN(x))``, in place of the paper's post-LN, ``LN(x + f(x))``.

    Shapes:
        x: ``[B, N, d]``; mask and bias as in :class:`~gtcourse.models.attention.MultiHeadAttention`
        returns: ``[B, N, d]``; with ``return_attention`` also ``[B, H, N, N]``
    """

    cross = False  # whether there is attention to a memory too

    def __init__(
        self, d_model: int, num_heads: int, d_hidden: int, *, dropout: float = 0.0,
        norm_first: bool = False, activation: str = "relu"
    ):  # fmt: skip
        super().__init__()
        self.norm_first, self.dropout = norm_first, nn.Dropout(dropout)
        self.attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        if self.cross:
            self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_hidden, dropout=dropout, activation=activation)
        self.attention_norm = nn.LayerNorm(d_model)
        if self.cross:
            self.cross_attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)

    def forward(
        self, x: Tensor, *, mask: Tensor | None = None, bias: Tensor | None = None,
        return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
        attend = partial(self.attention, mask=mask, bias=bias, return_attention=return_attention)
        x, attention = self.sub_layer(x, attend, self.attention_norm)
        x, _ = self.sub_layer(x, self.feed_forward, self.feed_forward_norm)
        return (x, attention) if return_attention else x

    def sub_layer(self, x: Tensor, function: Callable, norm: nn.LayerNorm):
        """The function with its residual and norm, and the attention where it returns one."""
        h = function(norm(x) if self.norm_first else x)
        h, attention = h if isinstance(h, tuple) else (h, None)
        x = x + self.dropout(h)
        return x if self.norm_first else norm(x), attention


class DecoderLayer(EncoderLayer):
    """Causal self-attention, attention to the encoder's output, then a feed-forward network.

    Shapes:
        x: ``[B, M, d]``; memory: ``[B, N, d]``; memory_mask: ``[B, N]`` real tokens
        mask: which targets may see which, ``[B or 1, M, M]``
        returns: ``[B, M, d]``; with ``return_attention`` also ``[B, H, M, N]``, to the memory
    """

    cross = True

    def forward(
        self, x: Tensor, memory: Tensor, *, mask: Tensor | None = None,
        memory_mask: Tensor | None = None, return_attention: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:  # fmt: skip
        read = partial(
            self.cross_attention, key=memory, mask=memory_mask, return_attention=return_attention
        )
        x, _ = self.sub_layer(x, partial(self.attention, mask=mask), self.attention_norm)
        x, attention = self.sub_layer(x, read, self.cross_attention_norm)
        x, _ = self.sub_layer(x, self.feed_forward, self.feed_forward_norm)
        return (x, attention) if return_attention else x


class TransformerEncoder(nn.Module):
    """A stack of L :class:`EncoderLayer` with these arguments; with pre-LN, one more norm.

    Shapes are those of the layer; the attention is ``[B, L, H, N, N]``.
    """

    layer_type = EncoderLayer

    def __init__(self, num_layers: int, **layer):
        super().__init__()
        self.layers = nn.ModuleList(self.layer_type(**layer) for _ in range(num_layers))
        pre_norm = layer.get("norm_first", False)
        self.norm = nn.LayerNorm(layer["d_model"]) if pre_norm else nn.Identity()

    def forward(
        self, x: Tensor, *memory: Tensor, return_attention: bool = False, **masks: Tensor | None
    ) -> Tensor | tuple[Tensor, Tensor]:
        options = {"return_attention": return_attention, **masks}
        x, attention = run_layers(self.layers, x, *memory, **options)
        return (self.norm(x), attention) if return_attention else self.norm(x)


class TransformerDecoder(TransformerEncoder):
    """A stack of L :class:`DecoderLayer`; the attention is ``[B, L, H, M, N]``."""

    layer_type = DecoderLayer


def sinusoidal_encoding(length: int, d_model: int) -> Tensor:
    r"""A vector for each position: sines and cosines of geometrically growing wavelengths.

    .. math:: p_{t,2i} = \sin(t / 10000^{2i/d}), \quad p_{t,2i+1} = \cos(t / 10000^{2i/d})

    Vaswani et al. (2017), Section 3.5; returns ``[length, d]``.
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]
    channel = torch.arange(d_model)
    angle = position / 10000 ** ((channel - channel % 2).double() / d_model)
    return torch.where(channel % 2 == 0, angle.sin(), angle.cos()).float()


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """True where position m may see position n, that is n ≤ m: ``[1, length, length]``."""
    return torch.ones(1, length, length, dtype=torch.bool, device=device).tril()
