"""Masks whose axes could be taken for others are refused, and batch norms know their channels."""

import pytest
import torch
from torch import nn

from gtcourse.models import (
    ChromaticSelfAttention,
    CSALayer,
    EdgeTerms,
    EGTAttention,
    EGTLayer,
    GraphormerAttention,
    GRPEAttention,
    MultiHeadAttention,
    NodeBatchNorm,
    RelationTables,
    Transformer,
    TransformerConfig,
    TransformerEncoder,
)
from tests.models.small import in_use, large_weights

N = 5
D = 8
H = 2


def calls(B: int) -> dict:
    """Each attention as a function of its mask, for B sequences of N tokens."""
    h = torch.randn(B, N, D, generator=torch.Generator().manual_seed(0)).double()
    e = torch.randn(B, N, N, 3, generator=torch.Generator().manual_seed(1)).double()
    relation = torch.zeros(B, N, N).long()
    tables = RelationTables(key=torch.randn(2, D).double())
    terms = EdgeTerms(torch.randn(B, D, N, N).double())
    torch.manual_seed(0)
    plain = large_weights(MultiHeadAttention(D, H))
    graphormer = large_weights(GraphormerAttention(D, H))
    egt = large_weights(EGTAttention(D, 3, H))
    egt_layer = large_weights(EGTLayer(D, 3, H))
    grpe = large_weights(GRPEAttention(D, H))
    csa = large_weights(ChromaticSelfAttention(D, H))
    encoder = large_weights(TransformerEncoder(1, D, H, D))
    return {
        "MultiHeadAttention": lambda mask: plain(h, mask=mask),
        "GraphormerAttention": lambda mask: graphormer(h, mask=mask),
        "EGTAttention": lambda mask: egt(h, e, mask=mask)[0],
        "EGTLayer": lambda mask: egt_layer(h, e, mask=mask)[0],
        "GRPEAttention": lambda mask: grpe(h, relation, tables, mask=mask),
        "ChromaticSelfAttention": lambda mask: csa(h, terms, mask=mask),
        "TransformerEncoder": lambda mask: encoder(h, mask=mask),
    }


NAMES = list(calls(1))
CAUSAL = torch.ones(N, N, dtype=torch.bool).tril()


@pytest.mark.parametrize("name", NAMES)
def test_ambiguous_mask_raises(name):
    call = calls(N)[name]
    with pytest.raises(ValueError, match=r"mask has shape \[5, 5\], which may be that of the keys"):
        call(CAUSAL)
    assert not torch.allclose(call(CAUSAL[None]), call(CAUSAL[:, None]))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("B", [1, 3])
def test_pair_mask_without_batch_axis_raises(name, B):
    with pytest.raises(ValueError, match=rf"expected \[{B}, 5\] for keys or \[{B}, 5, 5\] for"):
        calls(B)[name](CAUSAL)


@pytest.mark.parametrize("name", NAMES)
def test_key_mask_with_a_query_axis_gives_the_same_result(name):
    call = calls(2)[name]
    mask = torch.tensor([[True] * N, [True] * 3 + [False] * 2])
    real = mask  # rows of padding may be anything
    torch.testing.assert_close(call(mask)[real], call(mask[:, None])[real])


def test_a_batch_may_have_as_many_graphs_as_nodes():
    """Their masks are of real tokens alone."""
    mask = torch.ones(N, N, dtype=torch.bool).tril()
    layer = in_use(CSALayer(D, H))
    h = torch.randn(N, N, D).double()
    terms = EdgeTerms(torch.randn(N, D, N, N).double())
    first = layer(h[:2], EdgeTerms(terms.logits[:2]), mask=mask[:2])
    torch.testing.assert_close(layer(h, terms, mask=mask)[:2], first)
    model = Transformer(TransformerConfig(7, 7, 8, 2, 8, 1, 1)).eval()
    tokens = torch.randint(7, (N, N))
    torch.testing.assert_close(
        model(tokens, tokens, mask)[:2], model(tokens[:2], tokens[:2], mask[:2])
    )


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_without_mask_normalises_the_last_axis(training):
    """Also where there are as many nodes as channels, which PyTorch takes for channels."""
    h = torch.randn(2, 3, 3, dtype=torch.float64)
    ours = NodeBatchNorm(3).double()
    theirs = nn.BatchNorm1d(3).double()
    for layer in (ours, theirs):
        layer.train(training)
        layer.weight.data = torch.tensor([1.0, -2.0, 3.0]).double()
        layer.running_mean += torch.tensor([0.5, 1.0, -1.0])
    expected = theirs(h.flatten(0, 1)).view_as(h)
    torch.testing.assert_close(ours(h), expected)
    torch.testing.assert_close(ours.running_var, theirs.running_var)
    everywhere = torch.ones(2, 3, dtype=torch.bool)
    torch.testing.assert_close(ours.eval()(h), ours(h, everywhere))
