"""The Transformer (Vaswani et al., 2017): encoder, decoder and both together.

Shapes:
    B: sequences in a batch
    N: source tokens
    M: target tokens; in the attention to the source, the queries are M and the keys N
    L: layers
    H: heads
    d: width of a token
    V: words of the target's vocabulary
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gtcourse.graphs.arguments import whole_number
from gtcourse.models.attention import Activation, FeedForward, MultiHeadAttention
from gtcourse.models.categories import can_read
from gtcourse.models.config import Config, PositiveInt, Probability, check_given


@dataclass(frozen=True)
class TransformerConfig(Config):
    """Sizes and variants. The defaults are the base model of the paper's Table 3."""

    source_vocabulary: PositiveInt  #: words of the source
    target_vocabulary: PositiveInt  #: words of the target, V
    d_model: PositiveInt = 512  #: width of a token, d
    num_heads: PositiveInt = 8  #: attention heads, H
    d_hidden: PositiveInt = 2048  #: inner width of the feed-forward networks
    num_encoder_layers: PositiveInt = 6  #: layers of the encoder
    num_decoder_layers: PositiveInt = 6  #: layers of the decoder
    #: share that is set to zero in training: of embedded tokens, of what each sub-layer adds, of
    #: attention weights, and of the hidden layer of the feed-forward networks
    dropout: Probability = 0.1
    #: False: LayerNorm after the residual sum, as in the paper; True: before each sub-layer, and
    #: once more at the end (Xiong et al., 2020)
    norm_first: bool = False
    activation: Activation = "relu"  #: of the feed-forward networks


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network, each with a residual connection and LayerNorm.

    Args:
        d_model: Width of a token, d.
        num_heads: Attention heads, H.
        d_hidden: Inner width of the feed-forward network.
        dropout: Share that is set to zero in training: of what each sub-layer adds, of attention
            weights, and of the hidden layer of the feed-forward network.
        norm_first: True for pre-LN, ``x + f(LN(x))``, in place of the paper's post-LN,
            ``LN(x + f(x))``.
        activation: Of the feed-forward network: "relu", "gelu" or "elu".
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_hidden: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: Activation = "relu",
    ):
        super().__init__()
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)
        self.attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_hidden, dropout=dropout, activation=activation)
        self.attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)

    def extra_repr(self) -> str:
        return f"norm_first={self.norm_first}"

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Updates the tokens, ``[B, N, d]``.

        ``mask`` and ``bias`` are those of :meth:`MultiHeadAttention.forward`. Returns the tokens,
        ``[B, N, d]``; with ``return_attention`` also the attention, ``[B, H, N, N]``.
        """
        h = self.attention_norm(x) if self.norm_first else x
        if return_attention:
            z, attention = self.attention(h, mask=mask, bias=bias, return_attention=True)
        else:  # PyTorch's fused kernels, which never write the attention out
            z = self.attention(h, mask=mask, bias=bias)
            attention = None
        x = x + self.dropout(z)
        if not self.norm_first:
            x = self.attention_norm(x)

        h = self.feed_forward_norm(x) if self.norm_first else x
        x = x + self.dropout(self.feed_forward(h))
        if not self.norm_first:
            x = self.feed_forward_norm(x)
        return (x, attention) if return_attention else x


class DecoderLayer(nn.Module):
    """Self-attention, attention to the encoder's output, then a feed-forward network.

    The self-attention is causal if ``mask`` is :func:`causal_mask`; without a mask, a target also
    attends to those after it. The order is that of the paper's Figure 1, right. The arguments are
    those of :class:`EncoderLayer`.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        d_hidden: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: Activation = "relu",
    ):
        super().__init__()
        self.norm_first = norm_first
        self.dropout = nn.Dropout(dropout)
        self.attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.cross_attention = MultiHeadAttention(d_model, num_heads, dropout=dropout)
        self.feed_forward = FeedForward(d_model, d_hidden, dropout=dropout, activation=activation)
        self.attention_norm = nn.LayerNorm(d_model)
        self.cross_attention_norm = nn.LayerNorm(d_model)
        self.feed_forward_norm = nn.LayerNorm(d_model)

    def extra_repr(self) -> str:
        return f"norm_first={self.norm_first}"

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Updates the targets, which attend to each other and to the memory.

        Args:
            x: Targets, ``[B, M, d]``.
            memory: What the encoder returns, ``[B, N, d]``.
            mask: True where a target may attend to another, ``[B, M, M]`` or ``[1, M, M]``.
            memory_mask: True where a target may attend to a token of the memory, ``[B, 1, N]`` or
                ``[B, M, N]``; also ``[B, N]`` unless B = M, where it could be of pairs.
            return_attention: Also return the attention to the memory.

        Returns:
            The targets, ``[B, M, d]``; with ``return_attention`` also ``[B, H, M, N]``.
        """
        h = self.attention_norm(x) if self.norm_first else x
        x = x + self.dropout(self.attention(h, mask=mask))
        if not self.norm_first:
            x = self.attention_norm(x)

        h = self.cross_attention_norm(x) if self.norm_first else x
        if return_attention:
            z, attention = self.cross_attention(h, memory, mask=memory_mask, return_attention=True)
        else:
            z = self.cross_attention(h, memory, mask=memory_mask)
            attention = None
        x = x + self.dropout(z)
        if not self.norm_first:
            x = self.cross_attention_norm(x)

        h = self.feed_forward_norm(x) if self.norm_first else x
        x = x + self.dropout(self.feed_forward(h))
        if not self.norm_first:
            x = self.feed_forward_norm(x)
        return (x, attention) if return_attention else x


class TransformerEncoder(nn.Module):
    """A stack of :class:`EncoderLayer`; with pre-LN, one more norm at the end.

    Args:
        num_layers: Layers, L.
        d_model: Width of a token, d.
        num_heads: Attention heads, H.
        d_hidden: Inner width of the feed-forward networks.
        dropout: As in the layer.
        norm_first: True for pre-LN, and one more norm after the layers.
        activation: Of the feed-forward networks: "relu", "gelu" or "elu".
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        num_heads: int,
        d_hidden: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: Activation = "relu",
    ):
        super().__init__()
        num_layers = whole_number("num_layers", num_layers, 1)
        self.layers = nn.ModuleList(
            EncoderLayer(
                d_model,
                num_heads,
                d_hidden,
                dropout=dropout,
                norm_first=norm_first,
                activation=activation,
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(
        self,
        x: Tensor,
        *,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Takes the arguments of :meth:`EncoderLayer.forward`, for all layers.

        Returns the tokens, ``[B, N, d]``; with ``return_attention`` also the attention of all
        layers, ``[B, L, H, N, N]``.
        """
        attentions = []
        for layer in self.layers:
            if return_attention:
                x, attention = layer(x, mask=mask, bias=bias, return_attention=True)
                attentions.append(attention)
            else:
                x = layer(x, mask=mask, bias=bias)
        x = self.norm(x)
        return (x, torch.stack(attentions, dim=1)) if return_attention else x


class TransformerDecoder(nn.Module):
    """A stack of :class:`DecoderLayer`; with pre-LN, one more norm at the end.

    The arguments are those of :class:`TransformerEncoder`.
    """

    def __init__(
        self,
        num_layers: int,
        d_model: int,
        num_heads: int,
        d_hidden: int,
        *,
        dropout: float = 0.0,
        norm_first: bool = False,
        activation: Activation = "relu",
    ):
        super().__init__()
        num_layers = whole_number("num_layers", num_layers, 1)
        self.layers = nn.ModuleList(
            DecoderLayer(
                d_model,
                num_heads,
                d_hidden,
                dropout=dropout,
                norm_first=norm_first,
                activation=activation,
            )
            for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(d_model) if norm_first else nn.Identity()

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Takes the arguments of :meth:`DecoderLayer.forward`, for all layers.

        Returns the targets, ``[B, M, d]``; with ``return_attention`` also the attention of all
        layers to the memory, ``[B, L, H, M, N]``.
        """
        attentions = []
        for layer in self.layers:
            if return_attention:
                x, attention = layer(
                    x, memory, mask=mask, memory_mask=memory_mask, return_attention=True
                )
                attentions.append(attention)
            else:
                x = layer(x, memory, mask=mask, memory_mask=memory_mask)
        x = self.norm(x)
        return (x, torch.stack(attentions, dim=1)) if return_attention else x


class TokenEmbedding(nn.Module):
    """Word vectors, scaled by sqrt(d), plus sinusoidal positions: ``[B, N]`` to ``[B, N, d]``.

    Args:
        vocabulary: Number of words; their numbers are 0 to ``vocabulary - 1``.
        d_model: Width of a vector, d.
        dropout: Share of the entries that are set to zero in training.

    Raises:
        ValueError: Tokens are not whole numbers, or, on the CPU, one is not in the vocabulary. On
            an accelerator its vector is NaN.
    """

    def __init__(self, vocabulary: int, d_model: int, dropout: float):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, d_model)
        self.dropout = nn.Dropout(dropout)
        # The paper multiplies the vectors by sqrt(d), so that they start at unit size.
        nn.init.normal_(self.embedding.weight, std=d_model**-0.5)

    def forward(self, tokens: Tensor) -> Tensor:
        d_model = self.embedding.embedding_dim
        check_tokens(tokens)
        is_unknown = (tokens < 0) | (tokens >= self.embedding.num_embeddings)  # [B, N]
        if can_read(tokens):
            if is_unknown.any():
                raise ValueError(
                    f"tokens contain {int(tokens[is_unknown][0])}; expected 0 to "
                    f"{self.embedding.num_embeddings - 1}."
                )
            words = self.embedding(tokens)  # [B, N, d]
        else:
            # An exception would have to wait for the device. An unknown word is NaN instead.
            words = self.embedding(tokens.masked_fill(is_unknown, 0))  # [B, N, d]
            words = words.masked_fill(is_unknown[..., None], torch.nan)
        words = words * math.sqrt(d_model)  # [B, N, d]
        positions = sinusoidal_encoding(tokens.shape[1], d_model)  # [N, d]
        return self.dropout(words + positions.to(words))


def check_tokens(tokens: Tensor) -> None:
    """Raises a ValueError unless tokens are whole numbers, ``[B, N]``; it reads no value."""
    if tokens.dim() != 2 or tokens.dtype not in (torch.int32, torch.int64):
        raise ValueError(
            f"tokens are {tokens.dtype} {list(tokens.shape)}; expected whole numbers [B, N]."
        )


class Transformer(nn.Module):
    """Encoder and decoder: reads a source sequence and predicts each next token of a target.

    Differs from the paper: both embeddings and the head have matrices of their own, where the paper
    shares one among the three. Dropout acts on attention weights and on hidden layers too, as in
    PyTorch's ``nn.Transformer``; Section 5.4 has it after the embeddings and after each sub-layer.

    Args:
        config: Sizes and variants.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        check_given(self, config, TransformerConfig)
        self.config = config
        d_model = config.d_model
        self.source_embedding = TokenEmbedding(config.source_vocabulary, d_model, config.dropout)
        self.target_embedding = TokenEmbedding(config.target_vocabulary, d_model, config.dropout)
        self.encoder = TransformerEncoder(
            config.num_encoder_layers,
            d_model,
            config.num_heads,
            config.d_hidden,
            dropout=config.dropout,
            norm_first=config.norm_first,
            activation=config.activation,
        )
        self.decoder = TransformerDecoder(
            config.num_decoder_layers,
            d_model,
            config.num_heads,
            config.d_hidden,
            dropout=config.dropout,
            norm_first=config.norm_first,
            activation=config.activation,
        )
        self.head = nn.Linear(d_model, config.target_vocabulary)

    def forward(
        self,
        source: Tensor,
        target: Tensor,
        source_mask: Tensor | None = None,
        *,
        return_attention: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Predicts each token of the target from those before it and from the source.

        Args:
            source: Token numbers, ``[B, N]``.
            target: Token numbers, ``[B, M]``; what follows position m is predicted from the tokens
                up to m.
            source_mask: True at real tokens of the source, ``[B, N]``.
            return_attention: Also return the decoder's attention to the source.

        Returns:
            Logits, ``[B, M, V]``; with ``return_attention`` also the attention of the decoder's
            layers to the source, ``[B, L, H, M, N]``.

        Raises:
            ValueError: There are more or fewer sources than targets, or tokens are not those that
                :class:`TokenEmbedding` takes.
        """
        # One row for all queries, so that it cannot be taken for a mask of pairs.
        real_keys = None if source_mask is None else source_mask[:, None]  # [B, 1, N]
        sources = self.source_embedding(source)  # [B, N, d]
        x = self.target_embedding(target)  # [B, M, d]
        # After the embeddings, which check that both have two axes.
        if source.shape[0] != target.shape[0]:
            raise ValueError(
                f"source is {list(source.shape)} and target {list(target.shape)}; expected equally "
                "many sequences."
            )
        memory = self.encoder(sources, mask=real_keys)  # [B, N, d]
        causal = causal_mask(target.shape[1], target.device)  # [1, M, M]
        if return_attention:
            x, attention = self.decoder(
                x, memory, mask=causal, memory_mask=real_keys, return_attention=True
            )
            return self.head(x), attention
        return self.head(self.decoder(x, memory, mask=causal, memory_mask=real_keys))


def sinusoidal_encoding(length: int, d_model: int) -> Tensor:
    r"""A vector for each position: sines and cosines of geometrically growing wavelengths.

    .. math:: p_{t,2i} = \sin(t / 10000^{2i/d}), \quad p_{t,2i+1} = \cos(t / 10000^{2i/d})

    Vaswani et al. (2017), Section 3.5; returns ``[length, d]``.
    """
    # In float64, because float32 rounds the angles of late positions.
    position = torch.arange(length, dtype=torch.float64)[:, None]  # [length, 1]
    channel = torch.arange(d_model)  # [d]
    even_channel = channel - channel % 2
    angle = position / 10000 ** (even_channel.double() / d_model)  # [length, d]
    return torch.where(channel % 2 == 0, angle.sin(), angle.cos()).float()


def causal_mask(length: int, device: torch.device | None = None) -> Tensor:
    """True where position m may attend to position n, that is n ≤ m: ``[1, length, length]``."""
    return torch.ones(1, length, length, dtype=torch.bool, device=device).tril()
