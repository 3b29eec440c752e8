"""GRPE's attention and inputs; the whole model stands beside its loop in ``tests/properties``."""

from dataclasses import replace

import pytest
import torch

from gtcourse import collate
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.models import GRPE, GRPEAttention, GRPEConfig, RelationTables
from tests.graphs.small import graph_of
from tests.models.small import GRPE as SMALL
from tests.models.small import PRECISIONS, Largest, encoded, large_weights, load, reference

CONTEXTS = {"paper": "key_column", "official": "query_row"}


@torch.no_grad()
def test_node_noise_is_added_only_in_training():
    model = GRPE(replace(SMALL, node_noise=0.2))
    batch = collate(encoded(graph_of(4, [(0, 1)])))
    plain = model.eval().embed(batch)
    noise = model.train().embed(batch) - plain
    assert -0.2 - 1e-6 <= float(noise.min()) < -0.1  # of 32 numbers in both directions
    assert 0.1 < float(noise.max()) <= 0.2 + 1e-6
    assert torch.equal(model.eval().embed(batch), plain)


def test_float_edge_features_are_binned_by_edge_step():
    graph = graph_of(2, [(0, 1), (1, 0)])
    model = GRPE(replace(SMALL, num_edge_types=(11,), edge_step=0.1))
    tenths = [(n / 10, n) for n in range(11)]  # floats just below 0.3, 0.6 and 0.7 are these types
    for length, kind in (*tenths, (0.26, 2), (0.95, 9), (7.0, 10)):
        for dtype in (torch.float32, torch.float64):
            graph.edge_attr = torch.tensor([[length], [0.0]], dtype=dtype)
            relation = model.relations(collate(encoded(graph)))[0]
            assert int(relation[1, 2]) == 1 + kind


def test_with_max_distance_0_lowered_distances_are_far():
    path = graph_of(4, [(0, 1), (1, 0), (1, 2), (2, 1), (2, 3), (3, 2)])
    model = GRPE(replace(SMALL, max_distance=0, virtual_node=False))
    E = model.relations.num_edge_types
    for lowered in (AddShortestPaths(), AddShortestPaths(max_distance=1)):
        relation = model.relations(collate(encode([path], lowered)))[0]
        assert relation[0, 2] == relation[0, 3] == E + 1


def test_recorded_fields_of_earlier_releases_get_todays_names_and_defaults():
    todays = {name: repr(value) for name, value in vars(GRPEConfig()).items()}
    before = todays | {"terms": "('query', 'key', 'value')", "seed": "3"}
    del before["form"], before["bias"]
    assert GRPEConfig.complete(before) == todays | {"seed": "3"}
    assert GRPEConfig.complete(todays | {"form": "'fused'"}) == todays | {"form": "'fused'"}
    with pytest.raises(ValueError, match="expected each entry to be one of 'query_context', 'key"):
        GRPEConfig(terms=("query", "value"))


def test_each_term_has_the_tables_of_its_equation():
    for term, table in (("query_context", "key"), ("key_context", "query"), ("value", "value")):
        assert list(GRPE(replace(SMALL, terms=(term,))).tables) == [table]


def test_key_contexts_differ_even_for_symmetric_relations():
    x = torch.randn(1, 4, 8).double()
    relation = torch.randint(0, 3, (1, 4, 4))
    relation = relation + relation.transpose(1, 2)
    tables = RelationTables(query=torch.randn(5, 8).double())
    one, other = (
        large_weights(GRPEAttention(8, 2, key_context=name))(x, relation, tables)
        for name in CONTEXTS.values()
    )
    assert bool(((one - other).abs() > 1e-3).any())


@pytest.mark.parametrize("key_context", CONTEXTS.values())
def test_attention_never_stores_the_vectors_of_all_pairs(key_context):
    N = 40
    H = 4
    T = 9
    d = 64
    attention = GRPEAttention(d, H, dropout=0.1, key_context=key_context)
    x = torch.randn(1, N, d, requires_grad=True)
    relation = torch.randint(0, T, (1, N, N))
    tables = RelationTables(*torch.randn(3, T, d, requires_grad=True), torch.randn(T, H))
    with Largest() as seen:
        attention(x, relation, tables, mask=torch.rand(1, N) > 0.2).sum().backward()
    assert seen.most == N * N * H < N * N * d


@PRECISIONS
@pytest.mark.parametrize("form", CONTEXTS)
def test_attention_equals_the_authors_code(form, dtype, atol):
    stored = reference("grpe")
    attention = GRPEAttention(16, 4, key_context=CONTEXTS[form])
    for name in ("query", "key", "value", "output"):
        letter = name[0].upper()
        load(getattr(attention, name), stored(f"w.W_{letter}"), stored(f"w.b_{letter}"))
    query, key, value = (  # all sums of a row of P and a row of E
        (stored(f"w.P_{name}")[:, None] + stored(f"w.E_{name}")).flatten(0, 1).to(dtype)
        for name in ("query", "key", "value")
    )
    # In Eqs. 6 and 7 queries meet the tables called key; in the authors' code, those called query.
    if form == "paper":
        tables = RelationTables(key=key, query=query, value=value)
    else:
        tables = RelationTables(key=query, query=key, value=value)
    relation = stored("distance_index") * 8 + stored("edge_index_table")
    mask = ~stored("mask")
    z, attended = attention.to(dtype)(
        stored("x").to(dtype), relation, tables, mask=mask, return_attention=True
    )
    close = {"rtol": 0, "atol": atol}
    torch.testing.assert_close(z[mask], stored(f"{form}.out").to(dtype)[mask], **close)
    rows = mask[:, None, :, None].expand_as(attended)
    torch.testing.assert_close(attended[rows], stored(f"{form}.probs").to(dtype)[rows], **close)
