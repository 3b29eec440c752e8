"""GRPE's attention and layer alone, on plain tensors."""

import pytest
import torch

from gtcourse.models import GRPEAttention, RelationTables
from tests.models.graphormers import large_weights
from tests.models.largest import Largest

CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def test_without_tables_it_is_multi_head_attention():
    layer = large_weights(GRPEAttention(8, 2))
    x, relation = torch.randn(2, 5, 8).double(), torch.zeros(2, 5, 5, dtype=torch.int64)
    expected = super(GRPEAttention, layer).forward(x)
    torch.testing.assert_close(layer(x, relation, RelationTables()), expected, **CLOSE)


def test_the_two_key_contexts_differ_even_where_relations_are_symmetric():
    x, relation = torch.randn(1, 4, 8).double(), torch.randint(0, 3, (1, 4, 4))
    relation = relation + relation.transpose(1, 2)
    tables = RelationTables(query=torch.randn(5, 8).double())
    one, other = (
        large_weights(GRPEAttention(8, 2, key_context=name))(x, relation, tables)
        for name in ("key_column", "query_row")
    )
    assert bool(((one - other).abs() > 1e-3).any())


def test_dropout_meets_values_and_their_relations_alike():
    """With one relation alone, a weight that is dropped takes v and R away together."""
    attention = large_weights(GRPEAttention(8, 2, dropout=0.5)).train()
    attention.value.weight.data.zero_()  # v = 1, R = -1: nothing is left, whatever is dropped
    attention.value.bias.data.fill_(1.0)
    x, relation = torch.randn(1, 6, 8).double(), torch.zeros(1, 6, 6, dtype=torch.int64)
    tables = RelationTables(value=-torch.ones(1, 8).double())
    z = attention(x, relation, tables) - attention.output.bias
    torch.testing.assert_close(z, torch.zeros_like(z))


@pytest.mark.parametrize("key_context", ["key_column", "query_row"])
def test_no_pair_has_a_vector_neither_forward_nor_backward(key_context):
    N, H, T, d = 40, 4, 9, 64
    attention = GRPEAttention(d, H, dropout=0.1, key_context=key_context)
    x, relation = torch.randn(1, N, d, requires_grad=True), torch.randint(0, T, (1, N, N))
    tables = RelationTables(*torch.randn(3, T, d, requires_grad=True), torch.randn(T, H))
    with Largest() as seen:
        z = attention(x, relation, tables, mask=torch.rand(1, N) > 0.2)
        z.sum().backward()
    assert seen.most == N * N * H < N * N * d
