"""The models: one file, one idea."""

from gtcourse.models.attention import (
    MessagePassingAttention,
    MultiHeadAttention,
    complete_edge_index,
    scaled_dot_product_attention,
)
from gtcourse.models.bag import BagTransformer, BagTransformerConfig
from gtcourse.models.heads import GraphHead, mean_pool
from gtcourse.models.transformer import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Transformer,
    TransformerConfig,
    TransformerDecoder,
    TransformerEncoder,
    causal_mask,
    sinusoidal_encoding,
)

__all__ = [
    "BagTransformer",
    "BagTransformerConfig",
    "DecoderLayer",
    "EncoderLayer",
    "FeedForward",
    "GraphHead",
    "MessagePassingAttention",
    "MultiHeadAttention",
    "Transformer",
    "TransformerConfig",
    "TransformerDecoder",
    "TransformerEncoder",
    "causal_mask",
    "complete_edge_index",
    "mean_pool",
    "scaled_dot_product_attention",
    "sinusoidal_encoding",
]
