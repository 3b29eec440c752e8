"""FlexAttention under graph biases: the same numbers as where the biases are written out.

Graphormer's stands beside the model in ``tests/properties/test_forms.py``.
"""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.flex_forms import graphormer_flex, grpe_flex
from gtcourse.models import GRPEAttention, RelationTables

# PyTorch warns, once a process, that nothing is fused without compilation: here that is meant.
pytestmark = pytest.mark.filterwarnings(
    "ignore:flex_attention called without torch.compile:UserWarning"
)
T, H, K = 5, 2, 4
TERMS = ("key", "query", "value", "bias")


@pytest.mark.parametrize("key_context", ["key_column", "query_row"])
@pytest.mark.parametrize("terms", [(), ("query", "bias"), TERMS])
@torch.no_grad()
@settings(max_examples=4)
@given(B=st.integers(1, 3), N=st.integers(1, 6), share=st.sampled_from([0.0, 0.6, 1.0]))
def test_grpe_equals_the_attention_that_writes_its_logits_out(terms, key_context, B, N, share):
    torch.manual_seed(0)
    attention = GRPEAttention(H * K, H, key_context=key_context).double()
    relation, mask = torch.randint(0, T, (B, N, N)), torch.rand(B, N) < share
    widths = {"bias": H}
    tables = RelationTables(
        **{name: torch.randn(T, widths.get(name, H * K)).double() for name in terms}
    )
    x = torch.randn(B, N, H * K).double()
    heads = (attention.split_heads(f(x)) for f in (attention.query, attention.key, attention.value))
    z = grpe_flex(*heads, relation, tables, mask, key_context=key_context)
    expected = attention(x, relation, tables, mask=mask)
    got = attention.output(attention.join_heads(z))
    torch.testing.assert_close(got, expected, rtol=1e-10, atol=1e-10)


def test_without_real_nodes_every_token_attends_to_the_virtual_node():
    query, key, value = torch.randn(3, 2, H, 4, K)
    pairs, mask = torch.zeros(2, 3, 3, dtype=torch.int8), torch.zeros(2, 3, dtype=torch.bool)
    table, scalars = torch.randn(4, H), torch.randn(H)
    z = graphormer_flex(query, key, value, pairs, table, mask, virtual=scalars)
    torch.testing.assert_close(z, value[:, :, :1].expand_as(z))


@pytest.mark.parametrize("learned", ["query", "table"])
def test_training_on_a_cpu_raises(learned):
    query, key, value = torch.randn(3, 1, H, 3, K)
    table, pairs = torch.randn(T, H), torch.zeros(1, 3, 3, dtype=torch.int64)
    (query if learned == "query" else table).requires_grad_()
    with pytest.raises(NotImplementedError, match="for training, the layers"):
        graphormer_flex(query, key, value, pairs, table)
    with pytest.raises(NotImplementedError, match="for training, the layers"):
        grpe_flex(query, key, value, pairs, RelationTables(bias=table))
