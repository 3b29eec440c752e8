"""Attentions that are written in another way: for FlexAttention, and in the form of chapter 10."""

import torch
from torch import nn

from gtcourse.models import (
    ChromaticSelfAttention,
    EdgeTerms,
    EGTAttention,
    GraphormerAttention,
    GRPEAttention,
    MultiHeadAttention,
    RelationTables,
)
from gtcourse.models.baselines import GatedGCNConv, GATLayer, GINLayer
from gtcourse.models.flex import (
    graphormer_flex,
    graphormer_score_mod,
    grpe_flex,
    grpe_score_mod,
    relation_contexts,
)
from gtcourse.models.frame import Terms, attend
from gtcourse.models.frame_models import FRAMES
from tests.numerics.cases import RELATIONS, Case, Graphs, tables


def written_out(score_mod, query, key, value):
    """FlexAttention as its documentation defines it; the real one has no gradient on a CPU."""
    scores = query @ key.mT * query.shape[-1] ** -0.5
    places = torch.meshgrid(*(torch.arange(n) for n in scores.shape), indexing="ij")
    return score_mod(scores, *places).softmax(dim=-1) @ value


def flex_graphormer(g: Graphs, kernel: bool = False) -> Case:
    """With PyTorch's own kernel, which on a CPU has a forward pass alone, or written out."""
    distance = g.relation - 1

    def run(_, query, key, value, table, virtual, edges):
        real = torch.nn.functional.pad(g.mask, (1, 0), value=True)[:, None, :, None]
        if kernel:
            z = graphormer_flex(
                query, key, value, distance, table, g.mask, virtual=virtual, edges=edges
            )
        else:
            score = graphormer_score_mod(distance, table, g.mask, virtual=virtual, edges=edges)
            z = written_out(score, query, key, value)
        return z * real

    heads = (g.normal(g.B, g.heads, g.N + 1, g.d // g.heads) for _ in range(3))
    scalars = g.normal(RELATIONS - 1, g.heads), g.normal(g.heads), g.of_pairs(g.heads)
    return Case(nn.Module(), run, *heads, *scalars)


def flex_grpe(g: Graphs, kernel: bool = False) -> Case:
    """The terms of the logits; the value's is a sum outside of the kernel."""

    def run(_, query, key, value, *rows):
        tables = RelationTables(rows[0], rows[1], None, rows[2])
        if kernel:
            return grpe_flex(query, key, value, g.relation, tables, g.mask)
        contexts = relation_contexts(query, key, tables)
        return written_out(grpe_score_mod(g.relation, *contexts, g.mask), query, key, value)

    heads = (g.heads_of_nodes() for _ in range(3))
    rows = tables(g)
    return Case(nn.Module(), run, *heads, rows[0], rows[1], rows[3])


def form(g: Graphs, normaliser: str) -> Case:
    """The one form of chapter 10, with a gate and values of pairs."""

    def run(_, content, value, structure, pair_value, gate):
        return attend(
            Terms(content, value, structure, pair_value, gate, g.pairs[:, None], normaliser)
        )

    of_pairs = [g.of_pairs(width) for width in (g.heads, g.heads, g.d, g.heads)]
    return Case(nn.Module(), run, of_pairs[0], g.nodes(), *of_pairs[1:])


LAYERS = {
    "Transformer": lambda g: (MultiHeadAttention(g.d, g.heads), [], lambda: ()),
    "GIN": lambda g: (GINLayer(g.d).conv.eval(), [], lambda: (g.pairs,)),
    "GAT": lambda g: (GATLayer(g.d, g.heads).conv, [], lambda: (g.pairs,)),
    "GatedGCN": lambda g: (GatedGCNConv(g.d), [g.channels_last(g.d)], lambda e: (e, g.pairs)),
    "Graphormer": lambda g: (
        GraphormerAttention(g.d, g.heads), [g.of_pairs(g.heads)], lambda bias: (bias,),
    ),
    "EGT": lambda g: (
        EGTAttention(g.d, g.d_edge, g.heads), [g.channels_last(g.d_edge)], lambda e: (e,),
    ),
    "GRPE": lambda g: (
        GRPEAttention(g.d, g.heads), tables(g),
        lambda *rows: (g.relation, RelationTables(*rows)),
    ),
    "CSA": lambda g: (
        ChromaticSelfAttention(g.d, g.heads), [g.of_pairs(g.d), g.of_pairs(g.d)],
        lambda *terms: (EdgeTerms(*terms),),
    ),
}  # fmt: skip
"""For chapter 10's models a layer, what it knows of pairs, and how the layer takes that."""


def of_the_form(g: Graphs, name: str) -> Case:
    """A layer's weights through the terms that the form reads of it."""
    output = {frame.name: frame for frame in FRAMES}[name].output
    layer, pairs, arranged = LAYERS[name](g)
    return Case(layer, lambda a, h, *pairs: output(a, h, *arranged(*pairs)), g.nodes(), *pairs)
