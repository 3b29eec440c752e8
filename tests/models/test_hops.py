import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse import collate
from gtcourse.analysis import attention_by_hop
from gtcourse.encodings import AddShortestPaths, encode
from tests.graphs.random_graphs import graph_of, graphs


@given(some=st.lists(graphs(max_nodes=6), min_size=1, max_size=3), seed=st.integers(0, 99))
def test_the_shares_equal_the_loop_over_nodes_and_pairs(some, seed):
    some = [without_encodings(graph) for graph in some]
    batch = collate(encode(some, AddShortestPaths()))
    N = batch.mask.shape[1]
    attention = torch.rand(
        len(some), 2, 3, N, N, generator=torch.Generator().manual_seed(seed), dtype=torch.float64
    )
    got = iter(attention_by_hop(attention, batch.encodings["distance"], batch.mask, hops=2))
    for b, graph in enumerate(some):
        n = len(graph.x)
        for i in range(n):
            expected = torch.zeros(2, 4).double()
            for layer in range(2):
                paid = [float(attention[b, layer, :, i, j].sum()) for j in range(n)]
                for j in range(n):
                    distance = int(batch.encodings["distance"][b, i, j])
                    column = 3 if distance == -1 or distance > 2 else distance
                    expected[layer, column] += paid[j] / sum(paid)
            torch.testing.assert_close(next(got), expected, rtol=1e-12, atol=1e-12)
    assert next(got, None) is None


def test_a_node_without_attention_in_a_layer_is_left_out():
    (graph,) = encode([without_encodings(graph_of(3, [(0, 1), (1, 2)]))], AddShortestPaths())
    batch = collate([graph])
    attention = torch.ones(1, 2, 1, 3, 3)
    attention[:, 1, :, 1] = 0
    shares = attention_by_hop(attention, batch.encodings["distance"], batch.mask, hops=1)
    third = 1 / 3
    rows = [[third, third, third], [third, 0, 2 * third]]
    expected = torch.tensor([[row, row] for row in rows])
    torch.testing.assert_close(shares, expected)


def without_encodings(graph):
    for name in ("distance", "laplacian_eigenvectors"):
        del graph[name]
    return graph
