"""The rows of Graphormer: what is printed, what the authors' code computes, and what we compute."""

from dataclasses import replace

import torch
from torch import Tensor
from torch_geometric.data import Data

from gtcourse import collate
from gtcourse.encodings import AddDegrees, encode
from gtcourse.models import CentralityEncoding, Graphormer
from gtcourse.models.graphormer import EdgeEncoding
from tests.graphs.small import of_edges
from tests.models.small import GRAPHORMER as SMALL
from tests.models.small import (
    NO_PATHS,
    chain,
    edge_encoding,
    encoded,
    large_weights,
    scale_queries,
)
from tests.properties.graphs import renumbered


def test_dividing_by_the_root_of_d_changes_graphormer_unless_it_has_one_head():
    batch = collate(encoded(chain(1, 2, 3)))
    for heads, same in ((1, True), (2, False)):
        config = replace(SMALL, num_heads=heads)
        model = large_weights(Graphormer(config))
        before = model(batch)
        scale_queries(model, heads**-0.5)
        assert torch.allclose(model(batch), before, atol=1e-9) == same


def test_heads_that_share_a_scalar_have_equal_biases():
    model = large_weights(Graphormer(replace(SMALL, edges=None, **NO_PATHS)))
    batch = collate(encoded(chain(1, 2, 3)))
    bias = model.bias(batch)[:, :, 1:, 1:]
    assert (bias[:, 0] - bias[:, 1]).abs().max() > 0.1
    table = model.bias.encodings[0].scalars.weight
    table.data = table.data.mean(dim=1, keepdim=True).expand_as(table).clone()
    alike = model.bias(batch)[:, :, 1:, 1:]
    torch.testing.assert_close(alike, bias.mean(dim=1, keepdim=True).expand_as(alike))


def test_a_node_that_only_receives_differs_from_one_that_only_sends():
    arrow = of_edges(2, [(0, 1)], both=False)
    arrow.x = torch.zeros(2, 1).long()
    encoding = large_weights(CentralityEncoding(3, 3, 4))
    batch = collate(encode([arrow], AddDegrees()))
    sends, receives = encoding(batch)[0]
    assert (sends - receives).abs().max() > 0.1
    # Both tables read at the number of edges out of a node, as in the authors' code.
    out = batch.encodings["out_degree"]
    theirs = encoding.incoming(out) + encoding.outgoing(out)
    assert (theirs[0] - encoding(batch)[0]).abs().max() > 0.1


def test_each_head_has_its_own_edge_encoding():
    encoding = large_weights(EdgeEncoding(2, 4, 4, 3))
    c = encoding(collate(encoded(chain(1, 2))))[0]
    assert encoding.positions.shape == (4, 2, 2)  # as printed: a vector of width 2 for each place
    assert (c[0] - c[1]).abs().max() > 0.1
    encoding.positions.data = encoding.positions.mean(dim=2, keepdim=True).expand(4, 2, 2).clone()
    c = encoding(collate(encoded(chain(1, 2))))[0]
    torch.testing.assert_close(c[0], c[1])


def test_renumbering_a_ring_changes_the_authors_paths_but_not_ours():
    """Opposite corners of a square have two shortest paths, and its edges are of four kinds."""
    square = of_edges(4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    square.x = torch.zeros(4, 1).long()
    square.edge_attr = torch.tensor([0, 1, 2, 3] * 2)[:, None]
    order = torch.tensor([0, 3, 2, 1])  # node 3 takes the place of node 1
    one, other = encoded(square, renumbered(square, order))
    back = order.argsort()
    assert torch.equal(other.path_edges[back][:, back], one.path_edges)
    theirs = [paths_of_the_code(graph, 5) for graph in (one, other)]
    assert not torch.equal(theirs[1][back][:, back], theirs[0])
    assert theirs[0][0, 2, :2, 0].tolist() == [0, 1]
    assert theirs[1][0, 2, :2, 0].tolist() == [3, 2]


def test_paths_through_node_0_include_all_their_edges():
    graph = of_edges(3, [(1, 0), (0, 2)])
    graph.x = torch.zeros(3, 1).long()
    graph.edge_attr = torch.tensor([1, 2, 1, 2])[:, None]
    (graph,) = encoded(graph)
    assert graph.path_edges[1, 2, :2, 0].tolist() == [1, 2]
    via = last_improvement(collate([graph]).adjacency[0])
    assert between(via, 1, 2) == [0]  # which the releases of 2021 took for "no node"


@torch.no_grad()
def test_padding_of_paths_changes_the_authors_predictions_but_not_ours():
    model = large_weights(Graphormer(SMALL))
    short, long = encoded(chain(1), chain(1, 2, 3))
    alone = collate([short])
    together = collate([short, long])
    torch.testing.assert_close(model(together)[:1], model(alone), rtol=0, atol=1e-10)
    encoding = edge_encoding(model)
    plain = encoding(alone)
    none = torch.tensor([0.5, -0.3]).double()
    add_behind_the_end(encoding, none)
    assert (model(together)[:1] - model(alone)).abs() > 1e-5
    torch.testing.assert_close(encoding(alone)[..., 0, 1], plain[..., 0, 1])  # a path that fills it
    torch.testing.assert_close(encoding(alone)[0, :, 0, 0], none @ encoding.positions[0])
    two_empty = none @ (encoding.positions[1] + encoding.positions[2])
    got = encoding(together)[0, :, 0, 1] - plain[0, :, 0, 1]
    torch.testing.assert_close(got, two_empty)


def last_improvement(adjacency: Tensor) -> Tensor:
    """Floyd and Warshall's: the last node k over which a path grew strictly shorter, -1 for none.

    Shapes:
        adjacency: ``[n, n]`` bool; returns: ``[n, n]``
    """
    n = len(adjacency)
    distance = torch.full((n, n), torch.inf).masked_fill(adjacency, 1.0)
    distance.fill_diagonal_(0)
    via = torch.full((n, n), -1)
    for k in range(n):
        detour = distance[:, k, None] + distance[k]
        via = via.masked_fill(detour < distance, k)
        distance = torch.minimum(distance, detour)
    return via


def between(via: Tensor, i: int, j: int) -> list[int]:
    """The nodes on that path from i to j, without its ends."""
    k = int(via[i, j])
    return [] if k == -1 else [*between(via, i, k), k, *between(via, k, j)]


def paths_of_the_code(graph: Data, max_length: int) -> Tensor:
    """``path_edges`` along those paths, ``[n, n, L, F]``: they depend on how nodes are numbered."""
    batch = collate([graph])
    n = graph.num_nodes
    attributes = batch.edge_attr[0]
    via = last_improvement(batch.adjacency[0])
    edges = attributes.new_zeros(n, n, max_length, attributes.shape[-1])
    for i, j in (graph.distance > 0).nonzero().tolist():
        nodes = [i, *between(via, i, j), j]
        steps = attributes[nodes[:-1], nodes[1:]][:max_length]
        edges[i, j, : len(steps)] = steps
    return edges.to(graph.path_edges.dtype)


def add_behind_the_end(encoding: EdgeEncoding, none: Tensor) -> None:
    """The authors' first version: a vector for "no edge" at each place that a path leaves empty.

    Places are counted up to the longest path of the batch.

    Args:
        none: ``[H]``, the row of the table that was meant to stay zero
    """

    def forward(batch):
        distance = batch.encodings["distance"]
        longest = min(int(distance.max()), encoding.max_length)
        empty = torch.arange(longest) >= distance.clamp(min=0)[..., None]  # [B, N, N, L]
        at_place = torch.einsum("k,nkh->nh", none, encoding.positions[:longest])
        length = distance.masked_fill(distance < 0, encoding.max_length)
        length = length.clamp(min=1, max=encoding.max_length)
        more = empty.to(at_place.dtype) @ at_place / length[..., None]
        return EdgeEncoding.forward(encoding, batch) + more.permute(0, 3, 1, 2)

    encoding.forward = forward
