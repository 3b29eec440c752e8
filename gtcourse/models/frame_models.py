r"""Every model of the course as a choice in the form of :mod:`gtcourse.models.frame`.

The terms are computed from the package's own layers, with their weights, so that the table of
choices can be held to the code that it describes.

Shapes: B graphs, N nodes (padded), H heads, d width, K = d / H.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GINConv

from gtcourse.models.attention import MultiHeadAttention, over_heads
from gtcourse.models.baselines import GatedGCNConv
from gtcourse.models.csa import ChromaticSelfAttention, EdgeTerms
from gtcourse.models.egt import EGTAttention
from gtcourse.models.frame import Terms, attend
from gtcourse.models.graphormer import GraphormerAttention
from gtcourse.models.grpe import GRPEAttention, RelationTables


@dataclass(frozen=True)
class Frame:
    """One model's choices. The texts are LaTeX with the book's symbols, or words.

    Attributes:
        name: as the course calls the model.
        logit: :math:`s_{ij}`, or :math:`s_{ijc}` where each channel has its own.
        message: :math:`m_{ij}`.
        normaliser: what makes weights of a row of logits, and the gate, where there is one.
        pairs: what becomes of a pair's vector in the layer.
        structure: where the graph enters.
        equations: the paper's numbers.
        weights: of a pair: "1", "H" or "d".
        terms: the package's layer, its nodes ``[B, N, d]`` and what it takes of the pairs to
            :class:`~gtcourse.models.frame.Terms`.
        after: the layer, its nodes and the sum z to what the layer returns.
    """

    name: str
    logit: str
    message: str
    normaliser: str
    pairs: str
    structure: str
    equations: str
    weights: str
    terms: Callable[..., Terms]
    after: Callable[[nn.Module, Tensor, Tensor], Tensor]

    def output(self, layer: nn.Module, h: Tensor, *pairs, **options) -> Tensor:
        """The layer's own output, by way of the form; rows of padding hold nothing of meaning."""
        return self.after(layer, h, attend(self.terms(layer, h, *pairs, **options))[0])


def transformer_terms(
    attention: MultiHeadAttention, h: Tensor, *, mask: Tensor | None = None
) -> Terms:
    """Multi-head attention; mask: True at nodes, ``[B, N]``, or pairs, ``[B, N, N]``."""
    query, key = (attention.split_heads(part(h)) for part in (attention.query, attention.key))
    content = query @ key.mT / math.sqrt(query.shape[-1])
    return Terms(content, attention.value(h), mask=over_heads(mask))


def gin_terms(conv: GINConv, h: Tensor, adjacency: Tensor) -> Terms:
    """A sum over the nodes from which an edge leads here: logits of 0, not divided."""
    zeros = h.new_zeros(len(h), 1, 1, 1).expand(-1, -1, *adjacency.shape[1:])
    return Terms(zeros, h, mask=adjacency.mT[:, None], normaliser="sum")


def gat_terms(conv: GATConv, h: Tensor, adjacency: Tensor) -> Terms:
    """A head's number of the sender and one of the receiver, added and bent."""
    value = conv.lin(h)
    by_head = value.unflatten(-1, (conv.heads, -1))
    sender, receiver = ((by_head * a).sum(-1).mT for a in (conv.att_src[0], conv.att_dst[0]))
    content = F.leaky_relu(receiver[..., None] + sender[:, :, None], conv.negative_slope)
    return Terms(content, value, mask=adjacency.mT[:, None])


def gatedgcn_terms(conv: GatedGCNConv, h: Tensor, e: Tensor, adjacency: Tensor) -> Terms:
    """A logit for each channel; e: ``[B, N, N, d]``, in row i and column j of the edge i to j."""
    sender, receiver = conv.D(h).mT, conv.E(h).mT  # [B, d, N]
    return Terms(
        content=receiver[..., None] + sender[:, :, None],
        structure=conv.C(e).permute(0, 3, 2, 1),
        value=conv.B(h),
        mask=adjacency.mT[:, None],
        normaliser="gates",
    )


def graphormer_terms(
    attention: GraphormerAttention,
    h: Tensor,
    bias: Tensor | None = None,
    *,
    mask: Tensor | None = None,
) -> Terms:
    r"""A bias for each head, which may be :math:`-\infty` where a pair is masked."""
    terms = transformer_terms(attention, h, mask=mask)
    if bias is None:
        return terms
    mask = bias > -math.inf
    mask = mask if terms.mask is None else mask & terms.mask
    return Terms(terms.content, terms.value, bias.masked_fill(~mask, 0.0), mask=mask)


def egt_terms(
    attention: EGTAttention,
    h: Tensor,
    e: Tensor,
    *,
    mask: Tensor | None = None,
) -> Terms:
    """A clipped product, a bias and a gate; e: ``[B, N, N, d_e]``.

    Without what only the authors' code has (``random_mask``, ``degree_scaler``).
    """
    mask = h.new_ones(h.shape[:2], dtype=bool) if mask is None else mask
    mask = mask if mask.dim() == 3 else mask[:, :, None] & mask[:, None]
    query, key, value = attention.qkv(h).chunk(3, dim=-1)
    query, key = (x.unflatten(-1, (attention.num_heads, -1)).transpose(1, 2) for x in (query, key))
    said = attention.edge_input(e).permute(0, 3, 1, 2)
    shift, *gate = said.chunk(1 + attention.gated, dim=1)
    return Terms(
        content=(query @ key.mT * attention.scale).clamp(-attention.clip, attention.clip),
        structure=shift,
        value=value,
        gate=gate[0].sigmoid() if gate else None,
        mask=mask[:, None],
    )


def grpe_terms(
    attention: GRPEAttention,
    h: Tensor,
    relation: Tensor,
    tables: RelationTables,
    *,
    mask: Tensor | None = None,
) -> Terms:
    """Two contexts in the logits, and a vector beside the value, here written for every pair."""
    terms = transformer_terms(attention, h, mask=mask)
    query, key = (attention.split_heads(part(h)) for part in (attention.query, attention.key))
    pair = relation[:, None].expand(-1, attention.num_heads, -1, -1)
    of_column = attention.key_context == "key_column"
    contexts = []
    for x, table, column in ((query, tables.key, False), (key, tables.query, of_column)):
        if table is not None:
            met = x @ attention.split_heads(table).mT / math.sqrt(x.shape[-1])  # [B, H, N, T]
            contexts.append(met.mT.gather(2, pair) if column else met.gather(3, pair))
    if tables.bias is not None:
        contexts.append(F.embedding(relation, tables.bias).permute(0, 3, 1, 2))
    vectors = None if tables.value is None else F.embedding(relation, tables.value)
    return Terms(
        content=terms.content,
        structure=sum(contexts) if contexts else None,
        value=terms.value,
        pair_value=None if vectors is None else vectors.permute(0, 3, 1, 2),
        mask=terms.mask,
    )


def csa_terms(
    attention: ChromaticSelfAttention, h: Tensor, edges: EdgeTerms, *, mask: Tensor | None = None
) -> Terms:
    """A logit and a value for each channel of a pair; the score is the dot product."""
    terms = transformer_terms(attention, h, mask=mask)
    each = edges.logits.shape[1] // attention.num_heads
    return Terms(
        content=terms.content.repeat_interleave(each, dim=1),
        structure=edges.logits,
        value=terms.value,
        pair_value=edges.values,
        mask=terms.mask,
    )


def _through_network(conv: GINConv, h: Tensor, z: Tensor) -> Tensor:
    rows = (1 + conv.eps) * h + z
    return conv.nn(rows.flatten(0, -2)).view_as(rows)


def _projected(attention: nn.Module, h: Tensor, z: Tensor) -> Tensor:
    return attention.output(z)


DOT = r"q_i \cdot k_j / \sqrt K"
ADDED = r"h_j W_D + h_i W_E + e_{ji} W_C"
OVER_GATES = r"$\sigma(s_{ijc})$ over its sum, on neighbours"

FRAMES = (
    Frame(
        "Transformer", f"${DOT}$", "$v_j$", "softmax", "–", "nowhere", "S2 to S5", "H",
        transformer_terms, _projected,
    ),
    Frame(
        "GIN", "$0$", "$h_j$", r"$\exp$, on neighbours", "–", "mask", "4.1", "1",
        gin_terms, _through_network,
    ),
    Frame(
        "GAT", r"$\operatorname{LeakyReLU}(a_1 \cdot W h_i + a_2 \cdot W h_j)$", "$W h_j$",
        "softmax, on neighbours", "–", "mask", "1 to 5", "H",
        gat_terms, lambda conv, h, z: z,
    ),
    Frame(
        "GatedGCN", f"${ADDED}$", "$h_j W_B$", OVER_GATES,
        r"$e_{ji} + \operatorname{ReLU}(\operatorname{BN}(s_{ij}))$", "mask, logits",
        "–", "d", gatedgcn_terms, lambda conv, h, z: conv.A(h) + z,
    ),
    Frame(
        "SignNet", f"${ADDED}$", "$h_j W_B$", OVER_GATES,
        r"$e_{ji} + \operatorname{ReLU}(\operatorname{BN}(s_{ij}))$",
        r"nodes, mask, logits", "S13, S14", "d",
        gatedgcn_terms, lambda conv, h, z: conv.A(h) + z,
    ),
    Frame(
        "Graphormer", rf"${DOT} + b_{{\phi(i,j)}} + c_{{ij}}$", "$v_j$", "softmax", "–",
        "nodes, logits", "5 to 7", "H", graphormer_terms, _projected,
    ),
    Frame(
        "EGT", rf"$\operatorname{{clip}}({DOT}) + e_{{ij}} W_E$", "$v_j$",
        r"softmax, times $\sigma(e_{ij} W_G)$", r"$e_{ij} + s_{ij} W_{O,e}$, then a network",
        "nodes, logits, gates", "1 to 7", "H", egt_terms, _projected,
    ),
    Frame(
        "GRPE",
        r"$(q_i \cdot k_j + q_i \cdot R^{\text{key}}_r + k_j \cdot R^{\text{query}}_r) / \sqrt K$",
        r"$v_j + R^{\text{value}}_r$", "softmax", "–", "logits, values", "6 to 9", "H",
        grpe_terms, _projected,
    ),
    Frame(
        "CSA", f"${DOT} + E_{{ijc}}$", r"$v_j + E^{\text{value}}_{ij}$", "softmax", "–",
        "nodes, logits, values", "5 to 7", "d", csa_terms, _projected,
    ),
)  # fmt: skip
"""In the order of the chapters; SignNet is GatedGCN's layer with another encoding of the nodes."""


def frame_rows(columns: Sequence[str]) -> list[list[str]]:
    """The named attributes of all frames, a row for each."""
    return [[getattr(frame, column) for column in columns] for frame in FRAMES]
