"""One convention for directed graphs: entry [i, j] is the way from i to j, in every model.

Messages travel along edges, so over an edge i → j node j receives from i. Attention that reads
pairs follows its paper: how node i attends to j is steered by the pair [i, j].
"""

from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from gtcourse import GraphBatch, collate, models
from gtcourse.graphs.batch import ENCODINGS
from tests.models import small
from tests.models.small import encoded
from tests.models.test_categories import features
from tests.properties.models import MODELS, in_use

ARROW = torch.tensor([[0], [1]])  # an edge from node 0 to node 1


def arrow(x: int = 3) -> GraphBatch:
    """Three nodes, of which the first is of a given kind, and one edge, from node 0 to node 1."""
    graph = Data(x=torch.tensor([[x], [5], [7]]), edge_index=ARROW, edge_attr=torch.tensor([[1]]))
    return collate(encoded(graph))


def nodes_that_see_node_0(read) -> list[bool]:
    """Of nodes 1 and 2: whether what a function reads of them changes with node 0's features."""
    with torch.no_grad():
        one = read(arrow(3))
        other = read(arrow(4))
    return [bool((one[0, i] - other[0, i]).abs().max() > 1e-9) for i in (1, 2)]


def last_nodes(model: torch.nn.Module):
    """The vectors of the nodes of a message-passing network, ``[1, 3, d]``."""

    def read(batch: GraphBatch) -> torch.Tensor:
        h = model.input(batch)
        if isinstance(model, models.GatedGCN | models.GT):
            e = model.edge_input(batch)
            for layer in model.layers:
                h, e = layer(h, e, batch.edge_index)
        else:
            for layer in model.layers:
                h = layer(h, batch.edge_index)
        return h[None]

    return read


@pytest.mark.parametrize("name", ["GCN", "GIN", "GAT", "GatedGCN", "GT"])
def test_messages_travel_along_edges(name):
    variants = MODELS[name].variants
    model = in_use(name, next(iter(variants)))
    assert nodes_that_see_node_0(last_nodes(model)) == [True, False]
    backwards = last_nodes(model)
    assert nodes_that_see_node_0(lambda batch: backwards(transposed(batch))) == [False, False]


def test_attention_to_neighbours_is_message_passing_along_edges():
    config = models.BagTransformerConfig(d_model=8, num_heads=2, d_hidden=8)
    model = small.in_use(models.NeighbourTransformer(config, masked_heads=2))

    def read(batch: GraphBatch) -> torch.Tensor:
        return model.encoder(model.embed(batch), mask=model.attention_mask(batch))

    assert nodes_that_see_node_0(read) == [True, False]
    mask = model.attention_mask(arrow())[0, 0]
    assert mask[1, 0]
    assert not mask[0, 1]


def test_signnet_passes_entries_along_edges():
    config = models.SignNetConfig(k=1, d_model=4, phi_layers=1, phi_hidden=4, rho_layers=1)
    model = small.in_use(models.SignNet(config))
    adjacency = arrow().adjacency
    mask = torch.ones(1, 3, dtype=torch.bool)

    def read(first: float) -> torch.Tensor:
        vectors = torch.tensor([[[first], [0.5], [0.7]]]).double()
        return model.encode(vectors, adjacency, mask).detach()

    changed = (read(1.0) - read(2.0)).abs().amax(dim=-1)[0] > 1e-9
    assert changed.tolist() == [True, True, False]


def test_graphormer_edges_via_node_and_aggregation_reach_their_destination():
    for edges in ("node", "aggregation"):
        config = replace(small.GRAPHORMER, **small.BARE | {"edges": edges}, num_layers=1)
        model = small.in_use(models.Graphormer(config))
        batches = [arrow(), arrow()]
        batches[1].edge_attr[0, 0, 1, 0] = 2
        one, other = (model.encode(batch)[0][0, 1:] for batch in batches)
        changed = (one - other).abs().amax(dim=-1) > 1e-9
        if edges == "node":  # attention then carries it on to all
            one, other = (model.node_encodings[0](batch)[0] for batch in batches)
            changed = (one - other).abs().amax(dim=-1) > 1e-9
        assert changed.tolist() == [False, True, False]


def test_constrained_egt_attends_along_outgoing_edges():
    """ "It only keeps track of the edge embeddings e_ij if there is an edge from node i to j"."""
    model = models.EGT(replace(small.EGT, variant="constrained"))
    mask = model.attention_mask(arrow())[0]
    assert mask.tolist() == [[True, True, False], [False, True, False], [False, False, True]]
    e = model.edge_input(arrow())[0]
    assert not torch.equal(e[0, 1], e[1, 0])  # the pair of node 0 and node 1 holds the edge


# What a pair tensor is read from


PAIRS = {
    "Graphormer, distances": ("Graphormer", "distances", ["distance"]),
    "Graphormer, edges of paths": ("Graphormer", "edges of paths", ["distance", "path_edges"]),
    "EGT, adjacency": ("EGT", "graph", ["adjacency"]),
    "EGT, distances": ("EGT", "distance structure", ["distance"]),
    "EGT, constrained": ("EGT", "constrained", ["adjacency"]),
    "GRPE": ("GRPE", "all terms", ["distance", "adjacency"]),
    "CSA, walks": ("CGT", "walks", ["random_walks"]),
    "CSA, distances": ("CGT", "distances and added rings", ["distance"]),
    "CSA, bonds": ("CGT", "bonds alone", ["adjacency"]),
    "GCN": ("GCN", "alone", ["adjacency"]),
    "GIN": ("GIN", "alone", ["adjacency"]),
    "GAT": ("GAT", "alone", ["adjacency"]),
    "GatedGCN": ("GatedGCN", "alone", ["adjacency"]),
    "GT": ("GT", "alone", ["adjacency"]),
    "SignNet": ("SignNet", "gin, mlp", ["adjacency"]),
    "NeighbourTransformer": ("NeighbourTransformer", "2 masked", ["adjacency"]),
}


def directed(variant) -> GraphBatch:
    """A path 0 → 1 → 2 → 3 with an edge back from 2 to 0."""
    generator = torch.Generator().manual_seed(0)
    edge_index = torch.tensor([[0, 1, 2, 2], [1, 2, 3, 0]])
    graph = Data(
        x=features(generator, 4, variant.x),
        edge_index=edge_index,
        edge_attr=features(generator, 4, variant.edges),
    )
    return collate(encoded(graph, encodings=variant.transforms))


def transposed(batch: GraphBatch, names: list[str] | None = None) -> GraphBatch:
    """The batch with some relations read from j to i; the edges take their features with them."""
    names = ["adjacency"] if names is None else names
    changes = {"encodings": dict(batch.encodings)}
    for name in names:
        if name == "adjacency":
            changes["adjacency"] = batch.adjacency.mT
            if batch.edge_attr is not None:
                changes["edge_attr"] = batch.edge_attr.transpose(1, 2)
        else:
            assert ENCODINGS[name] == 2
            changes["encodings"][name] = batch.encodings[name].transpose(1, 2)
    return replace(batch, **changes)


@pytest.mark.parametrize("case", PAIRS)
@torch.no_grad()
def test_transposing_a_relation_changes_the_outputs(case):
    name, chosen, relations = PAIRS[case]
    variant = MODELS[name].variants[chosen]
    model = in_use(name, chosen)
    batch = directed(variant)
    for relation in relations:
        before = vectors_of(name, model, batch, variant)
        after = vectors_of(name, model, transposed(batch, [relation]), variant)
        assert not torch.allclose(before, after, rtol=1e-6, atol=1e-12), relation


def vectors_of(name: str, model: torch.nn.Module, batch: GraphBatch, variant) -> torch.Tensor:
    """The nodes' last vectors, which say more than a prediction, where the registry has them."""
    if hasattr(model, "input"):
        return last_nodes(model)(batch)
    outputs = MODELS[name].outputs(model, batch, variant)
    return outputs.get("states", outputs["prediction"])[0]
