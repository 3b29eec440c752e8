"""The rows of CSA: what is printed, what the authors' code computes, and what we compute."""

from dataclasses import replace

import torch

from experiments.differs import csa as forms
from experiments.differs.common import scale_queries
from gtcourse import collate
from gtcourse.models import CGT, EdgeTerms
from tests.encodings.graphs import of_edges
from tests.graphs.random_graphs import graph_of
from tests.models.csas import SMALL, encoded
from tests.models.graphormers import large_weights


def small_batch():
    return collate(encoded(graph_of(4, [(0, 1), (1, 2), (2, 3)]), graph_of(3, [(0, 1), (1, 2)])))


@torch.no_grad()
def test_the_scale_is_that_of_a_head():
    model, batch = large_weights(CGT(SMALL)), small_batch()
    layer = model.layers[0].attention
    h, N = model.node_encoding(batch), batch.mask.shape[1]
    nothing = EdgeTerms(torch.zeros(len(h), 2, N, N).double())
    q, k = layer.split_heads(layer.query(h)), layer.split_heads(layer.key(h))
    _, attention = layer(h, nothing, return_attention=True)
    expected = (q @ k.mT / 4**0.5).softmax(dim=-1)  # a head is 4 wide
    torch.testing.assert_close(attention, expected)
    before = model(batch)
    scale_queries(model, 2**-0.5)  # two heads: by the root of 8
    _, attention = layer(h, nothing, return_attention=True)
    torch.testing.assert_close(attention, (q @ k.mT / 8**0.5).softmax(dim=-1))
    assert not torch.allclose(model(batch), before)


def test_changing_the_matrix_in_place_stores_the_lengths_that_are_said():
    chain = of_edges(20, [(i, i + 1) for i in range(19)])
    A = collate([chain]).adjacency[0].double()
    steps = torch.arange(20)[:, None].sub(torch.arange(20)).abs()
    for copied in (True, False):
        step = A.clone()
        reached = step.clone() if copied else step  # without a copy: a second name
        stored = reached.long()
        for length in range(2, 20):
            reached.copy_((reached @ step + reached > 0).double())
            stored[(reached > 0) & (stored == 0)] = length
        wanted = steps if copied else forms.stored_lengths(steps)
        apart = steps > 0
        assert torch.equal(stored[apart], wanted[apart])
    assert forms.stored_lengths(torch.tensor([-1, 0, 1, 2, 3, 4, 5, 8, 9, 16, 17])).tolist() == [
        -1, 0, 1, 2, 3, 3, 4, 4, 5, 5, 6,
    ]  # fmt: skip


@torch.no_grad()
def test_the_shift_of_the_walks_map_can_stand_in_the_maps_that_follow():
    model, batch = large_weights(CGT(SMALL)), small_batch()
    before = model(batch)
    forms.fold_shift(model)
    assert model.edge_encoding.relative.projection.bias.abs().max() == 0
    torch.testing.assert_close(model(batch), before, rtol=1e-10, atol=1e-10)


def test_heads_change_no_count_where_there_is_colour():
    found = forms.heads()
    assert found["four"] == found["eight"]
    mono = [
        sum(p.numel() for p in CGT(replace(SMALL, chromatic=False, num_heads=h)).parameters())
        for h in (2, 4)
    ]
    assert mono[0] < mono[1]
