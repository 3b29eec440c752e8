"""Every attention of the package with what it is differentiated in: weights, nodes and pairs.

Shapes: B graphs, N nodes (padded), H heads, d width, d_e width of the pairs, T relations.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from unittest import mock

import torch
from torch import Tensor, nn

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models import (
    BagTransformerConfig,
    ChromaticSelfAttention,
    EdgeTerms,
    EGTAttention,
    GraphormerAttention,
    GraphormerLayer,
    GRPEAttention,
    MessagePassingAttention,
    MultiHeadAttention,
    NeighbourTransformer,
    RelationTables,
    causal_mask,
    csa_kernel,
    scaled_dot_product_attention,
)
from gtcourse.models.baselines import GatedGCNConv, GATLayer, GINLayer
from tests.numerics.cases import RELATIONS, Case, Graphs, tables
from tests.numerics.forms import LAYERS, flex_graphormer, flex_grpe, form, of_the_form

FUSED = "flash_attention_for_cpu_backward is not implemented"
"""PyTorch's fused kernel, where no gradient of a bias is asked for."""


@dataclass(frozen=True)
class Attention:
    """One use of an attention.

    Attributes:
        name: said in reports; covers: what of ``gtcourse.models`` it goes through, by name.
        build: from :class:`Graphs` to a :class:`Case`.
    """

    name: str
    covers: str
    build: Callable[[Graphs], Case]


def products(g: Graphs, explicit: bool) -> Case:
    def run(_, query, key, value, bias):
        mask = g.pairs[:, None]
        return scaled_dot_product_attention(
            query, key, value, mask=mask, bias=bias, return_attention=explicit
        )

    heads = (g.heads_of_nodes() for _ in range(3))
    return Case(nn.Module(), run, *heads, g.of_pairs(g.heads))


def multi_head(g: Graphs, mask: Tensor | None, explicit: bool = False) -> Case:
    def run(layer, x, bias):
        return layer(x, mask=mask, bias=bias, return_attention=explicit)

    layer = MultiHeadAttention(g.d, g.heads)
    return Case(layer, run, g.nodes(), g.of_pairs(g.heads))


def cross(g: Graphs) -> Case:
    layer = MultiHeadAttention(g.d, g.heads)
    return Case(
        layer,
        lambda layer, x, memory: layer(x, memory, mask=g.mask),
        g.normal(g.B, g.N + 1, g.d),
        g.nodes(),
        once=FUSED,
    )


def messages(g: Graphs) -> Case:
    i, j = g.flat_pairs
    layer = MessagePassingAttention(MultiHeadAttention(g.d, g.heads))
    return Case(
        layer,
        lambda layer, x: layer(x, torch.stack([j, i]), return_attention=True),
        g.normal(g.B * g.N, g.d),
    )


def graphormer(g: Graphs, explicit: bool = False) -> Case:
    def run(layer, h, bias):
        return layer(h, bias, mask=g.mask, return_attention=explicit)

    layer = GraphormerAttention(g.d, g.heads)
    return Case(layer, run, g.nodes(), g.of_pairs(g.heads))


def graphormer_values(g: Graphs) -> Case:
    """With the edges' features carried along, "via aggregation"."""
    graph, receiver, sender = g.pairs.nonzero(as_tuple=True)
    edges = graph, receiver, sender, g.relation[g.pairs][:, None]
    layer = GraphormerLayer(g.d, g.heads, num_edge_types=RELATIONS)
    return Case(
        layer,
        lambda layer, h, bias: layer(h, bias, mask=g.mask, edges=edges),
        g.nodes(),
        g.of_pairs(g.heads),
    )


def egt(g: Graphs, constrained: bool = False, **options) -> Case:
    mask = g.pairs if constrained else g.mask
    layer = EGTAttention(g.d, g.d_edge, g.heads, **options)
    e = g.channels_last(g.d_edge)
    return Case(layer, lambda layer, h, e: layer(h, e, mask=mask), g.nodes(), e)


def grpe(g: Graphs, constrained: bool = False, **options) -> Case:
    mask = g.pairs if constrained else g.mask
    layer = GRPEAttention(g.d, g.heads, **options)
    return Case(
        layer,
        lambda layer, x, *rows: layer(x, g.relation, RelationTables(*rows), mask=mask),
        g.nodes(),
        *tables(g),
    )


def csa(g: Graphs, width: str = "d", values: bool = True, rows: int = 0, **options) -> Case:
    """``rows`` above 0 cuts the work into chunks of so many, if the form has chunks."""
    layer = ChromaticSelfAttention(g.d, g.heads, **options)
    chunk = max(rows, 1) * g.B * g.d * g.N if rows else csa_kernel.CHUNK

    def run(layer, h, logits, *values):
        with mock.patch.object(csa_kernel, "CHUNK", chunk):
            return layer(h, EdgeTerms(logits, *values), mask=g.pairs)

    logits = g.of_pairs(g.d if width == "d" else g.heads)
    extra = [g.of_pairs(g.d)] if values else []
    factorised = options.get("form", "factorised") == "factorised" and width == "d"
    once = "form='factorised' has the first alone" if factorised else None
    return Case(layer, run, g.nodes(), logits, *extra, once=once)


def neighbours(g: Graphs) -> Case:
    config = BagTransformerConfig(
        num_node_types=RELATIONS, d_model=g.d, num_heads=g.heads, num_layers=1, d_hidden=2 * g.d
    )
    types = g.relation[:, :, :1]
    batch = GraphBatch(x=types, adjacency=g.pairs, edge_attr=None, mask=g.mask)
    return Case(NeighbourTransformer(config, 1), lambda model: model(batch), once=FUSED)


def flat(g: Graphs, layer: nn.Module) -> Case:
    """PyG's own convolutions within the baselines, along ``edge_index``."""
    i, j = g.flat_pairs
    edge_index = torch.stack([j, i])
    return Case(layer.eval(), lambda layer, h: layer(h, edge_index), g.normal(g.B * g.N, g.d))


def gated(g: Graphs) -> Case:
    i, j = g.flat_pairs
    h, e = g.normal(g.B * g.N, g.d), g.normal(len(i), g.d)
    edge_index = torch.stack([j, i])
    return Case(GatedGCNConv(g.d), lambda layer, h, e: layer(h, e, edge_index), h, e)


def _all() -> list[Attention]:
    plain, heads = "scaled_dot_product_attention", "MultiHeadAttention"
    several = (
        ("products, fused", plain, partial(products, explicit=False)),
        ("products, written out", plain, partial(products, explicit=True)),
        ("multi-head", heads, lambda g: multi_head(g, None)),
        ("multi-head, padded", heads, lambda g: multi_head(g, g.mask)),
        ("multi-head, some pairs", heads, lambda g: multi_head(g, g.pairs)),
        ("multi-head, causal", heads, lambda g: multi_head(g, causal_mask(g.N)[None])),
        ("multi-head, written out", heads, lambda g: multi_head(g, g.pairs, explicit=True)),
        ("multi-head, cross", heads, cross),
        ("message passing", "MessagePassingAttention", messages),
        ("neighbours", "NeighbourTransformer", neighbours),
        ("Graphormer", "GraphormerAttention", graphormer),
        ("Graphormer, written out", "GraphormerAttention", partial(graphormer, explicit=True)),
        ("Graphormer, edges' values", "GraphormerAttention", graphormer_values),
        ("EGT", "EGTAttention", egt),
        ("EGT, constrained", "EGTAttention", partial(egt, constrained=True)),
        ("EGT, ungated", "EGTAttention", partial(egt, gated=False)),
        ("EGT, clipped", "EGTAttention", partial(egt, clip=0.3, scaled=False)),
        ("EGT, degree scaler", "EGTAttention", partial(egt, degree_scaler=True, constrained=True)),
        ("EGT, pairs alone", "EGTAttention", partial(egt, aggregate=False)),
        ("GRPE", "GRPEAttention", grpe),
        ("GRPE, some pairs", "GRPEAttention", partial(grpe, constrained=True)),
        ("GRPE, query's context", "GRPEAttention", partial(grpe, key_context="query_row")),
        ("CSA", "ChromaticSelfAttention", csa),
        ("CSA, no edge values", "ChromaticSelfAttention", partial(csa, values=False)),
        ("CSA, direct", "ChromaticSelfAttention", partial(csa, form="direct")),
        ("CSA, chunked", "ChromaticSelfAttention", partial(csa, form="chunked", rows=2)),
        ("CSA, additive", "ChromaticSelfAttention", partial(csa, score="additive")),
        ("CSA, monochrome", "ChromaticSelfAttention", partial(csa, width="H")),
        ("GAT", "GATLayer", lambda g: flat(g, GATLayer(g.d, g.heads))),
        ("GIN", "GINLayer", lambda g: flat(g, GINLayer(g.d))),
        ("GatedGCN", "GatedGCNConv", gated),
        ("flex, Graphormer", "graphormer_flex", flex_graphormer),
        ("flex, GRPE", "grpe_flex", flex_grpe),
        ("form, softmax", "attend", partial(form, normaliser="softmax")),
        ("form, sum", "attend", partial(form, normaliser="sum")),
        ("form, gates", "attend", partial(form, normaliser="gates")),
        *((f"form of {name}", "attend", partial(of_the_form, name=name)) for name in LAYERS),
    )
    return [Attention(*one) for one in several]


ATTENTIONS = {attention.name: attention for attention in _all()}
KERNELS = {
    "flex, Graphormer": partial(flex_graphormer, kernel=True),
    "flex, GRPE": partial(flex_grpe, kernel=True),
}
"""What computes these without a gradient."""
