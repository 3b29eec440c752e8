"""What attention maps look like, held to loops; what they say where it is known."""

import math

import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.analysis import (
    attention_entropy,
    attention_rollout,
    between_nodes,
    head_similarity,
    probabilities,
    read_by_graph,
    token_mask,
)
from tests.loops.probes import entropy_loop, likeness_loop, rollout_loop, rows_loop

L, H = 2, 3
EXACT = {"rtol": 0, "atol": 1e-10}
SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=3)


def some_attention(sizes, seed, heads=H, more=0):
    """Weights that are no probabilities, ``more`` rows of padding, and the mask."""
    T = max(sizes) + more
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(len(sizes), L, heads, T, T, generator=generator, dtype=torch.float64)
    weights[weights < 0.2] = 0.0
    return weights, torch.arange(T) < torch.tensor(sizes)[:, None]


@given(sizes=SIZES, seed=st.integers(0, 99), more=st.integers(0, 2))
def test_entropy_equals_the_loop_over_rows(sizes, seed, more):
    attention, mask = some_attention(sizes, seed, more=more)
    got = iter(attention_entropy(attention, mask))
    shares = iter(attention_entropy(attention, mask, share=True))
    for b, n in enumerate(sizes):
        rows = [[rows_loop(attention[b, layer, h], n) for h in range(H)] for layer in range(L)]
        for i in range(n):
            entropy = [[entropy_loop(rows[layer][h][i]) for h in range(H)] for layer in range(L)]
            expected = torch.tensor(entropy, dtype=torch.float64)
            torch.testing.assert_close(next(got), expected, **EXACT)
            torch.testing.assert_close(next(shares), expected / math.log(max(n, 2)), **EXACT)
    assert next(got, None) is None


@given(sizes=SIZES, seed=st.integers(0, 99), more=st.integers(0, 2))
def test_similarity_equals_the_loop_over_tokens(sizes, seed, more):
    attention, mask = some_attention(sizes, seed, more=more)
    other, _ = some_attention(sizes, seed + 100, heads=2, more=more)
    got = head_similarity(attention[:, 0], other[:, 0], mask)

    def rows(of, h):
        return [rows_loop(of[b, 0, h], n) for b, n in enumerate(sizes)]

    expected = [
        [likeness_loop(rows(attention, h), rows(other, g)) for g in range(2)] for h in range(H)
    ]
    # A root near zero makes 1e-8 of a rounding of 1e-16.
    expected = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-7)
    assert ((got >= 0) & (got <= 1)).all()


@given(
    sizes=SIZES, seed=st.integers(0, 99), more=st.integers(0, 2), residual=st.sampled_from([0, 0.5])
)
def test_rollout_equals_the_sum_over_all_ways(sizes, seed, more, residual):
    attention, mask = some_attention(sizes, seed, more=more)
    got = attention_rollout(attention, mask, residual=residual)
    for b, n in enumerate(sizes):
        torch.testing.assert_close(got[b], rollout_loop(attention[b], n, residual), **EXACT)


def test_one_hot_rows_have_no_entropy_and_even_ones_all_of_it():
    mask = torch.ones(1, 4, dtype=torch.bool)
    rows = torch.stack([torch.eye(4), torch.full((4, 4), 0.25)])[None, None]  # two heads
    assert attention_entropy(rows, mask, share=True)[:, 0].tolist() == [[0.0, 1.0]] * 4
    nats = attention_entropy(rows, mask)[:, 0, 1]
    torch.testing.assert_close(nats, torch.full((4,), math.log(4)))


def test_a_gated_row_counts_as_the_row_that_its_gate_scales():
    attention, mask = some_attention([4], 0)
    gated = attention * torch.rand(1, L, H, 4, 1, dtype=torch.float64)
    torch.testing.assert_close(probabilities(gated, mask), probabilities(attention, mask), **EXACT)
    assert not probabilities(torch.zeros(1, 1, 1, 2, 2), torch.ones(1, 2).bool()).any()


def test_a_graph_is_read_by_its_virtual_node_or_by_all_its_nodes():
    mask = torch.tensor([[True, True, False]])
    assert token_mask(mask, 1).tolist() == [[True, True, True, False]]
    tokens = torch.tensor([[[0.5, 0.2, 0.3, 0], [0, 1, 0, 0], [0.1, 0.3, 0.6, 0], [9, 9, 9, 9.0]]])
    torch.testing.assert_close(read_by_graph(tokens, mask, 1), torch.tensor([[0.2, 0.3, 0.0]]))
    nodes = between_nodes(tokens, 1)
    assert nodes.tolist() == tokens[:, 1:, 1:].tolist()
    torch.testing.assert_close(read_by_graph(nodes, mask), torch.tensor([[0.65, 0.3, 0.0]]))
