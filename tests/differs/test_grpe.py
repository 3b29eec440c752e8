"""The rows of GRPE: what is printed, what the authors' code computes, and what we compute."""

from dataclasses import replace

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from gtcourse import collate
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.models import GRPE
from gtcourse.models.grpe import RelationEmbedding, Relations
from tests.graphs.small import graph_of
from tests.models.small import GRPE as SMALL
from tests.models.small import chain, large_weights, scale_queries


def path(length: int):
    return collate(encode([chain(*[1] * (length - 1))], AddShortestPaths()))


@torch.no_grad()
def test_a_nodes_own_edge_vector_is_used_here_but_overwritten_in_the_authors_code():
    model = large_weights(GRPE(SMALL))
    batch = path(3)
    before = model(batch)
    for table in model.tables.values():
        table.edges.weight[-2] += 1.0  # E_self
    assert (model(batch) - before).abs() > 1e-3
    # The two lines of the code: the diagonal is "self", then all that is not one step away is "no".
    distance = batch.encodings["distance"][0]
    SELF = -2
    NO = -3
    edge = torch.zeros_like(distance)
    edge.fill_diagonal_(SELF)
    edge[distance != 1] = NO
    assert not (edge == SELF).any()


def test_paths_follow_the_direction_of_edges_here_but_not_in_the_authors_code():
    ends = np.array([[0, 1], [1, 2]])  # 0 -> 1 -> 2
    (ours,) = encode([graph_of(3, ends.T.tolist())], AddShortestPaths())
    assert ours.distance.tolist() == [[0, 1, 2], [-1, 0, 1], [-1, -1, 0]]
    code = shortest_path(csr_array((np.ones(2), tuple(ends)), shape=(3, 3)), directed=False)
    assert code.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    both = np.concatenate([ends, ends[::-1]], axis=1)
    (reversed_too,) = encode([graph_of(3, both.T.tolist())], AddShortestPaths())
    assert reversed_too.distance.tolist() == code.tolist()


def test_an_edge_that_is_listed_twice_is_one_step_here_but_two_in_the_authors_code():
    ends = np.array([[0, 1, 0, 1], [1, 0, 1, 0]])
    graph = graph_of(2, ends.T.tolist())
    graph.edge_attr = torch.ones(4, 1, dtype=torch.int64)
    (ours,) = encode([graph], AddShortestPaths())
    assert ours.distance.tolist() == [[0, 1], [1, 0]]
    counts = np.zeros((2, 2))
    np.add.at(counts, tuple(ends), 1)
    assert shortest_path(counts, directed=False).tolist() == [[0, 2], [2, 0]]


@torch.no_grad()
def test_the_largest_distance_has_its_own_vector_as_in_the_paper_but_not_in_the_code():
    ours = large_weights(RelationEmbedding(4, 5, 3))
    rows = ours()  # itself, 4 types, 2 to 5 steps, far, unreachable, virtual
    assert len(rows) == 1 + 4 + 4 + 3
    at_5 = rows[8]
    far = rows[9]
    relations = Relations((4,), None, max_distance=5, virtual_node=False)
    assert relations(path(9))[0, 0].tolist() == [0, 2, 5, 6, 7, 8, 9, 9, 9]
    assert (at_5 - far).abs().max() > 0.1
    model = large_weights(GRPE(replace(SMALL, max_distance=5)))
    for table in model.tables.values():  # pairs at distance L read P_far, as in the authors' code
        P = table.distances.weight
        L = table.max_distance
        P[L] = P[L + 1]
    shorter = large_weights(GRPE(replace(SMALL, max_distance=4)))
    state = model.state_dict()
    for name in state:
        if name.endswith("distances.weight"):
            state[name] = torch.cat([state[name][:5], state[name][6:]])
    shorter.load_state_dict(state)
    batch = path(9)
    torch.testing.assert_close(model(batch), shorter(batch), rtol=1e-10, atol=1e-10)


@torch.no_grad()
def test_dividing_by_the_root_of_d_scales_all_three_terms_equally():
    config = replace(SMALL, terms=("query_context", "key_context"), num_layers=1, num_heads=4)
    model = large_weights(GRPE(config))
    batch = path(4)
    logits = logits_of(model, batch)
    scale_queries(model, 0.5)  # the root of four heads
    for parameter in model.tables["query"].parameters():
        parameter.data *= 0.5  # keys meet this table: the second context
    torch.testing.assert_close(logits_of(model, batch), logits / 2)


def logits_of(model: GRPE, batch) -> torch.Tensor:
    """Attention's logarithm, less each row's mean: logits up to what a softmax does not see."""
    _, attention = model(batch, return_attention=True)
    logs = attention[0, 0].log()
    return logs - logs.mean(dim=-1, keepdim=True)


def test_tables_start_with_unit_variance():
    torch.manual_seed(0)
    table = RelationEmbedding(100, 100, 100)
    for part in (table.distances, table.edges):
        assert abs(part.weight.std() - 1) < 0.02
    assert abs(table().std() - 2**0.5) < 0.15  # rows share parts
