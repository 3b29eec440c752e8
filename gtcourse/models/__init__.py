"""The models: one paper, one file."""

from gtcourse.models.attention import (
    MessagePassingAttention,
    MultiHeadAttention,
    complete_edge_index,
    scaled_dot_product_attention,
)
from gtcourse.models.bag import (
    BagTransformer,
    BagTransformerConfig,
    GraphHead,
    NeighbourTransformer,
)
from gtcourse.models.batch_norm import NodeBatchNorm
from gtcourse.models.categories import CategoryEmbedding
from gtcourse.models.csa import (
    CGT,
    CGTConfig,
    ChromaticSelfAttention,
    CSALayer,
    EdgeTerms,
    WalkEncoding,
)
from gtcourse.models.egt import EGT, EGTAttention, EGTConfig, EGTLayer, SVDEncoding
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
from gtcourse.models.message_passing import (
    GAT,
    GCN,
    GIN,
    GT,
    GATConfig,
    GatedGCN,
    GatedGCNConfig,
    GCNConfig,
    GINConfig,
    GTConfig,
)
from gtcourse.models.signnet import LaplacianEncoding, SignNet, SignNetConfig
from gtcourse.models.transformer import (
    Transformer,
    TransformerConfig,
    TransformerDecoder,
    TransformerEncoder,
    causal_mask,
    sinusoidal_encoding,
)
