"""FlexAttention under graph biases: the same numbers as where the biases are written out.

Graphormer's stands beside the model in ``tests/properties/test_forms.py``.
"""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.flex_forms import grpe_flex
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
