"""Which relation two nodes have, and its vector."""

from dataclasses import replace

import pytest
import torch

from gtcourse import collate
from gtcourse.models import GRPE, RelationEmbedding, Relations
from tests.graphs.random_graphs import graph_of
from tests.models.grpes import SMALL, encoded


def relation_ids(graph, config=SMALL) -> torch.Tensor:
    return GRPE(config).relations(collate(encoded(graph)))[0]


def test_each_pair_has_the_relation_of_its_distance_or_its_edge():
    chain = [(0, 1), (1, 2), (2, 3), (1, 0), (2, 1), (3, 2), (4, 4)]
    graph = graph_of(5, chain)
    graph.edge_attr = torch.tensor([0, 1, 3, 0, 1, 3, 2])[:, None]
    # Itself is 0, edges are 1 to 4, two steps 5, far 6, unreachable 7, [VNode] 8. A loop is itself.
    assert relation_ids(graph).tolist() == [
        [0, 8, 8, 8, 8, 8],
        [8, 0, 1, 5, 6, 7],
        [8, 1, 0, 2, 5, 7],
        [8, 5, 2, 0, 4, 7],
        [8, 6, 5, 4, 0, 7],
        [8, 7, 7, 7, 7, 0],
    ]
    no_distance = relation_ids(graph, replace(SMALL, max_distance=0))
    assert no_distance[1].tolist() == [7, 0, 1, 5, 5, 6]


@pytest.mark.parametrize(
    ("max_distance", "expected"),
    [
        # 100 P + E; of P the rows 0 to L, far, unreachable, virtual, of E two types, no, self, …
        (0, [3, 100, 101, 102, 202, 304]),
        (1, [3, 100, 101, 202, 302, 404]),
        (3, [3, 100, 101, 202, 302, 402, 502, 604]),
    ],
)
def test_a_relations_vector_is_the_sum_of_its_rows(max_distance, expected):
    embedding = RelationEmbedding(2, max_distance, 1)
    for table, step in ((embedding.distances, 100.0), (embedding.edges, 1.0)):
        table.weight.data = step * torch.arange(len(table.weight))[:, None]
    assert embedding()[:, 0].tolist() == expected
    relations = Relations((2,), None, max_distance, virtual_node=True)
    assert relations.num_relations == len(expected)


def test_numbers_are_cut_off_to_types():
    graph = graph_of(2, [(0, 1), (1, 0)])
    config = replace(SMALL, num_edge_types=(11,), edge_step=0.1)
    tenths = [(n / 10, n) for n in range(11)]  # 0.3, 0.6 and 0.7 are not what they look like
    for length, kind in (*tenths, (0.26, 2), (0.95, 9), (7.0, 10)):
        for dtype in (torch.float32, torch.float64):
            graph.edge_attr = torch.tensor([[length], [0.0]], dtype=dtype)
            assert int(relation_ids(graph, config)[1, 2]) == 1 + kind
