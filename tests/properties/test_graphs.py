"""The strategy of random graphs draws what it is said to draw."""

from collections import Counter

import torch
from hypothesis import given, settings

from gtcourse.graphs import collate
from tests.properties.graphs import (
    CATEGORIES,
    NUMBERS,
    Features,
    _random_edges,
    examples,
    kinds_of,
)

KINDS = {
    "1 node",
    "2 nodes",
    "40 nodes",
    "no edges",
    "directed",
    "undirected",
    "self-loops",
    "repeated edges",
    "several components",
    "isolated nodes",
    "no edge features",
}


def test_every_kind_of_graph_and_every_dtype_is_met_in_a_hundred_examples():
    met = Counter()
    for x in (Features((28,)), Features(numbers=2)):

        @settings(max_examples=100)
        @given(example=examples(x, Features()))
        def draw(example):
            for graph in example.graphs:
                met.update(kinds_of(graph))
            collate(example.graphs)

        draw()
    dtypes = {f"x of {str(dtype)[len('torch.') :]}" for dtype in (*CATEGORIES, *NUMBERS)}
    assert {*met} == KINDS | dtypes
    assert min(met[kind] for kind in KINDS) > 10


def test_pieces_are_not_joined_by_random_edges():
    edges = _random_edges(17, 500, 3, torch.Generator().manual_seed(0))
    assert torch.equal(edges[0] % 3, edges[1] % 3)
    assert {*edges.flatten().tolist()} == {*range(17)}
