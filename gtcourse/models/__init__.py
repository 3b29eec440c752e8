"""The models: one file, one idea."""

from gtcourse.models.attention import (
    MessagePassingAttention,
    MultiHeadAttention,
    complete_edge_index,
    scaled_dot_product_attention,
)
from gtcourse.models.bag import BagTransformer, BagTransformerConfig
from gtcourse.models.baselines import (
    GAT,
    GIN,
    GATConfig,
    GatedGCN,
    GatedGCNConfig,
    GINConfig,
)
from gtcourse.models.csa import CGT
from gtcourse.models.csa_config import CGTConfig
from gtcourse.models.csa_edges import BondEncoding, DistanceEncoding, EdgeMaps, PairWalkEncoding
from gtcourse.models.csa_filters import EdgeTerms
from gtcourse.models.csa_layers import ChromaticSelfAttention, CSALayer
from gtcourse.models.egt import EGT
from gtcourse.models.egt_config import EGTConfig
from gtcourse.models.egt_layers import EGTAttention, EGTLayer
from gtcourse.models.graphormer import (
    Graphormer,
    GraphormerAttention,
    GraphormerConfig,
    GraphormerLayer,
)
from gtcourse.models.graphormer_edges import EdgeEncoding
from gtcourse.models.graphormer_encodings import CentralityEncoding, PairBias, SpatialEncoding
from gtcourse.models.grpe import GRPE, GRPEConfig
from gtcourse.models.grpe_layers import GRPEAttention, GRPELayer
from gtcourse.models.heads import GraphHead, mean_pool
from gtcourse.models.hops import attention_by_hop
from gtcourse.models.layers import DecoderLayer, EncoderLayer, FeedForward
from gtcourse.models.neighbours import NeighbourTransformer
from gtcourse.models.node_encodings import LaplacianEncoding, SVDEncoding, WalkEncoding
from gtcourse.models.relations import RelationEmbedding, Relations, RelationTables
from gtcourse.models.signnet import SignNet, SignNetConfig
from gtcourse.models.transformer import (
    Transformer,
    TransformerConfig,
    TransformerDecoder,
    TransformerEncoder,
    causal_mask,
    sinusoidal_encoding,
)

__all__ = [
    "CGT",
    "EGT",
    "GAT",
    "GIN",
    "GRPE",
    "BagTransformer",
    "BagTransformerConfig",
    "BondEncoding",
    "CGTConfig",
    "CSALayer",
    "CentralityEncoding",
    "ChromaticSelfAttention",
    "DecoderLayer",
    "DistanceEncoding",
    "EGTAttention",
    "EGTConfig",
    "EGTLayer",
    "EdgeEncoding",
    "EdgeMaps",
    "EdgeTerms",
    "EncoderLayer",
    "FeedForward",
    "GATConfig",
    "GINConfig",
    "GRPEAttention",
    "GRPEConfig",
    "GRPELayer",
    "GatedGCN",
    "GatedGCNConfig",
    "GraphHead",
    "Graphormer",
    "GraphormerAttention",
    "GraphormerConfig",
    "GraphormerLayer",
    "LaplacianEncoding",
    "MessagePassingAttention",
    "MultiHeadAttention",
    "NeighbourTransformer",
    "PairBias",
    "PairWalkEncoding",
    "RelationEmbedding",
    "RelationTables",
    "Relations",
    "SVDEncoding",
    "SignNet",
    "SignNetConfig",
    "SpatialEncoding",
    "Transformer",
    "TransformerConfig",
    "TransformerDecoder",
    "TransformerEncoder",
    "WalkEncoding",
    "attention_by_hop",
    "causal_mask",
    "complete_edge_index",
    "mean_pool",
    "scaled_dot_product_attention",
    "sinusoidal_encoding",
]
