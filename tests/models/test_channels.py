"""What a channel looks at: kinds of pairs, and the share of attention that goes to each."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse import collate
from gtcourse.analysis import KINDS, attention_by_kind, pair_kinds
from tests.graphs.random_graphs import graph_of, graphs
from tests.models.csas import encoded

SQUARE_WITH_A_TAIL = [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5), (5, 6)]


def test_each_pair_has_its_kind():
    """A ring of four, a tail of three, and a node that nobody reaches."""
    edges = SQUARE_WITH_A_TAIL + [(j, i) for i, j in SQUARE_WITH_A_TAIL]
    (kinds,) = pair_kinds(collate(encoded(graph_of(8, edges))), near=3)
    names = [[KINDS[kind] for kind in row] for row in kinds.tolist()]
    assert names[1] == [
        "neighbours",
        "itself",
        "neighbours",
        "same ring",
        "near",  # three steps
        "far",
        "far",
        "far",  # no steps lead there
    ]
    assert names[3][:6] == ["neighbours", "same ring", "neighbours", "itself", "neighbours", "near"]
    assert names[7] == ["far"] * 7 + ["itself"]


@given(some=st.lists(graphs(max_nodes=6), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_the_shares_equal_the_loop_over_nodes_and_pairs(some, seed):
    batch = collate(encoded(*some))
    N, nodes = batch.mask.shape[1], sum(len(graph.x) for graph in some)
    attention = torch.rand(
        len(some), 2, 3, N, N, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    kind = pair_kinds(batch, near=1)
    expected = torch.zeros(2, 3, len(KINDS)).double()
    of_even = torch.zeros(len(KINDS)).double()
    for b, graph in enumerate(some):
        n = len(graph.x)
        for i in range(n):
            for j in range(n):
                expected[..., kind[b, i, j]] += attention[b, :, :, i, j] / nodes
                of_even[kind[b, i, j]] += 1 / n / nodes
    share, even = attention_by_kind(attention, kind, batch.mask)
    torch.testing.assert_close(share, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(even.double(), of_even, rtol=1e-6, atol=1e-6)
    assert abs(float(even.sum()) - 1) < 1e-5
