"""FlexAttention under graph biases: the same numbers as where the biases are written out."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.flex_forms import graphormer_flex, grpe_flex
from gtcourse.models import (
    GRPEAttention,
    RelationTables,
)

# PyTorch warns, once a process, that nothing is fused without compilation: here that is meant.
pytestmark = [
    pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning"),
    pytest.mark.usefixtures("no_gradients"),
]
CLOSE = {"rtol": 1e-10, "atol": 1e-10}
T, H, K = 5, 2, 4
TERMS = ("key", "query", "value", "bias")


@pytest.fixture
def no_gradients():
    with torch.no_grad():
        yield


@st.composite
def problems(draw):
    """Queries, keys, values, a small integer for each pair, and real nodes, perhaps none."""
    B, N = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 99)))
    heads = torch.randn(3, B, H, N, K, generator=generator, dtype=torch.float64)
    pairs = torch.randint(0, T, (B, N, N), generator=generator)
    mask = torch.rand(B, N, generator=generator) < draw(st.sampled_from([0.0, 0.6, 1.0]))
    return *heads, pairs, mask


def softmax_loop(logits: dict[int, torch.Tensor]) -> dict[int, float]:
    exponentials = {j: math.exp(float(logit)) for j, logit in logits.items()}
    return {j: e / sum(exponentials.values()) for j, e in exponentials.items()}


@pytest.mark.holds("Graphormer, Eqs. 6 and 7")
@settings(max_examples=6)
@given(problem=problems(), with_edges=st.booleans())
def test_graphormer_equals_the_loop_over_pairs(problem, with_edges):
    query, key, value, pairs, mask = problem
    distance = pairs.to(torch.int8) - 1  # -1 is unreachable; the table ends at 2, the data at 3
    table = torch.randn(4, H).double()
    edges = torch.randn(*query.shape[:3], query.shape[2]).double() if with_edges else None
    expected = torch.zeros_like(value)
    for b, h, i in torch.cartesian_prod(*map(torch.arange, value.shape[:3])).tolist():
        logits = {}
        for j in mask[b].nonzero()[:, 0].tolist():
            logits[j] = query[b, h, i] @ key[b, h, j] / K**0.5
            logits[j] += table[min(int(distance[b, i, j]) + 1, 3), h]
            logits[j] += edges[b, h, i, j] if with_edges else 0
        for j, share in softmax_loop(logits).items():
            expected[b, h, i] += share * value[b, h, j]
    got = graphormer_flex(query, key, value, distance, table, mask, edges=edges)
    torch.testing.assert_close(got, expected, **CLOSE)


@pytest.mark.holds("GRPE, Eqs. 6 to 9")
@settings(max_examples=6)
@given(problem=problems())
def test_grpe_equals_the_loop_over_pairs(problem):
    query, key, value, relation, mask = problem
    by_name = {name: torch.randn(T, H, K).double() for name in TERMS[:3]}
    expected = torch.zeros_like(value)
    for b, h, i in torch.cartesian_prod(*map(torch.arange, value.shape[:3])).tolist():
        logits = {}
        for j in mask[b].nonzero()[:, 0].tolist():
            r, q, k = relation[b, i, j], query[b, h, i], key[b, h, j]
            logits[j] = q @ k + q @ by_name["key"][r, h] + k @ by_name["query"][r, h]
            logits[j] /= K**0.5
        for j, share in softmax_loop(logits).items():
            vector = by_name["value"][relation[b, i, j], h]
            expected[b, h, i] += share * (value[b, h, j] + vector)
    tables = RelationTables(**{name: t.flatten(1) for name, t in by_name.items()})
    got = grpe_flex(query, key, value, relation.to(torch.int8), tables, mask)
    torch.testing.assert_close(got, expected, **CLOSE)


@pytest.mark.parametrize("key_context", ["key_column", "query_row"])
@pytest.mark.parametrize("terms", [(), ("key",), ("query", "bias"), ("value",), TERMS])
@settings(max_examples=4)
@given(problem=problems())
def test_grpe_equals_the_attention_that_writes_its_logits_out(terms, key_context, problem):
    relation, mask = problem[3:]
    attention = GRPEAttention(H * K, H, key_context=key_context).double()
    widths = {"bias": H}
    tables = RelationTables(
        **{name: torch.randn(T, widths.get(name, H * K)).double() for name in terms}
    )
    x = torch.randn(*mask.shape, H * K, dtype=torch.float64)
    heads = (attention.split_heads(f(x)) for f in (attention.query, attention.key, attention.value))
    z = grpe_flex(*heads, relation, tables, mask, key_context=key_context)
    expected = attention(x, relation, tables, mask=mask)
    torch.testing.assert_close(attention.output(attention.join_heads(z)), expected, **CLOSE)


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
    calls = (
        lambda: graphormer_flex(query, key, value, pairs, table),
        lambda: grpe_flex(query, key, value, pairs, RelationTables(bias=table)),
    )
    for call in calls:
        with (
            torch.enable_grad(),
            pytest.raises(NotImplementedError, match="for training, the layers"),
        ):
            call()
        assert call().shape == query.shape  # without gradients it is no question
