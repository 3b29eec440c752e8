"""The models: one paper, one file."""

from gtcourse.models.attention import (
    MessagePassingAttention,
    MultiHeadAttention,
    complete_edge_index,
    scaled_dot_product_attention,
)
from gtcourse.models.baselines import (
    GAT,
    GIN,
    BagTransformer,
    BagTransformerConfig,
    GATConfig,
    GatedGCN,
    GatedGCNConfig,
    GINConfig,
    GraphHead,
    NeighbourTransformer,
)
from gtcourse.models.csa import CGT, CGTConfig, ChromaticSelfAttention, CSALayer, EdgeTerms
from gtcourse.models.egt import EGT, EGTAttention, EGTConfig, EGTLayer
from gtcourse.models.embeddings import LaplacianEncoding, SVDEncoding, WalkEncoding
from gtcourse.models.graphormer import (
    CentralityEncoding,
    EdgeEncoding,
    Graphormer,
    GraphormerAttention,
    GraphormerConfig,
    GraphormerLayer,
    PairBias,
    SpatialEncoding,
)
from gtcourse.models.grpe import GRPE, GRPEAttention, GRPEConfig, GRPELayer, RelationTables
from gtcourse.models.signnet import SignNet, SignNetConfig
from gtcourse.models.transformer import (
    Transformer,
    TransformerConfig,
    TransformerDecoder,
    TransformerEncoder,
    causal_mask,
    sinusoidal_encoding,
)
