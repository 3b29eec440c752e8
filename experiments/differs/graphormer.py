"""Graphormer: the paper's print, the authors' code and the package, measured on trained models."""

from functools import partial

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from experiments.differs.common import (
    changed,
    count,
    few_molecules,
    molecules,
    over_heads,
    predictions,
    short_training,
)
from gtcourse import collate, load_dataset
from gtcourse.encodings import AddDegrees, AddPathEdges, AddShortestPaths, encode
from gtcourse.models import Graphormer, GraphormerConfig
from gtcourse.models.graphormer import EdgeEncoding
from gtcourse.recipes import RECIPES
from gtcourse.training.leaderboard import trained

NAME = "graphormer-100k"
READS = (AddDegrees(), AddShortestPaths(), AddPathEdges(20))
SMALL = GraphormerConfig(
    d_model=64, num_layers=4, dropout=0.0, attention_dropout=0.0, max_path_length=20
)


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
    n = graph.num_nodes
    attributes = torch.zeros(n, n, graph.edge_attr.shape[1], dtype=graph.edge_attr.dtype)
    attributes[tuple(graph.edge_index)] = graph.edge_attr
    adjacency = torch.zeros(n, n, dtype=torch.bool)
    adjacency[tuple(graph.edge_index)] = True
    via = last_improvement(adjacency)
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


def edge_encoding(model: Graphormer) -> EdgeEncoding:
    return next(m for m in model.modules() if isinstance(m, EdgeEncoding))


def one_scalar(model: Graphormer) -> None:
    """All heads get the mean of their scalars, in Eq. 6."""
    table = model.bias.encodings[0].scalars.weight
    table.data = table.data.mean(dim=1, keepdim=True).expand_as(table).clone()


def scale() -> dict:
    data = few_molecules(READS)
    return changed(NAME, over_heads(NAME)) | {
        "root_of_head": short_training("sqrt(d / H)", partial(Graphormer, SMALL), data),
        "root_of_width": short_training("sqrt(d)", _by_the_whole_width, data),
    }


class ByTheWholeWidth(nn.Module):
    """A Graphormer that divides its products by the root of d, as Eq. 6 is printed."""

    def __init__(self, config: GraphormerConfig):
        super().__init__()
        self.model = Graphormer(config)
        self.factor = config.num_heads**-0.5
        for layer in self.model.layers:
            layer.attention.query.register_forward_hook(self._less)

    def _less(self, module: nn.Module, given: tuple, query: Tensor) -> Tensor:
        return query * self.factor

    def forward(self, batch):
        return self.model(batch)


def _by_the_whole_width() -> nn.Module:
    return ByTheWholeWidth(SMALL)


def degrees() -> dict:
    """Of atoms, and of the pixels of digits, which are joined to their nearest in one direction."""

    def differing(graphs: list) -> float:
        both = [(g.in_degree != g.out_degree).double() for g in encode(graphs, AddDegrees())]
        return torch.cat(both).mean().item()

    digits = [*load_dataset("digits").test]
    return {"atoms": differing(molecules()), "pixels": differing(digits)}


def paths() -> dict:
    """How many pairs have a choice, and what another choice does to predictions."""
    graphs = encode(molecules()[:200], *READS)
    pairs = several = different = 0
    theirs = []
    for graph in graphs:
        A = torch.zeros(graph.num_nodes, graph.num_nodes, dtype=torch.float64)
        A[tuple(graph.edge_index)] = 1
        walks, power = torch.zeros_like(A), torch.eye(len(A), dtype=A.dtype)
        for length in range(1, int(graph.distance.max()) + 1):
            power = power @ A  # walks of so many steps; those between their ends are paths
            walks = torch.where(graph.distance == length, power, walks)
        edges = paths_of_the_code(graph, 20)
        pairs += (graph.distance > 0).sum().item()
        several += (walks > 1).sum().item()
        different += (edges != graph.path_edges).any(-1).any(-1).sum().item()
        other = graph.clone()
        other.path_edges = edges
        theirs.append(other)
    model = trained(NAME)
    moved = predictions(model, [collate(theirs)]) - predictions(model, [collate(graphs)])
    return {
        "several": several / pairs,
        "different": different / pairs,
        "moved": moved.abs().mean().item(),
        "largest": moved.abs().max().item(),
    }


def node_0() -> dict:
    """The share of pairs whose path leads over node 0, as the molecules are and renumbered."""
    generator = torch.Generator().manual_seed(0)

    def share(shuffle: bool) -> float:
        over = pairs = 0
        for graph in encode(molecules()[:200], AddShortestPaths()):
            n = graph.num_nodes
            order = torch.randperm(n, generator=generator) if shuffle else torch.arange(n)
            adjacency = torch.zeros(n, n, dtype=torch.bool)
            adjacency[tuple(order[graph.edge_index])] = True
            via = last_improvement(adjacency)
            reachable = [(i, j) for i in range(n) for j in range(n) if i != j]
            over += sum(0 in between(via, i, j) for i, j in reachable)
            pairs += len(reachable)
        return over / pairs

    return {"as_listed": share(False), "renumbered": share(True)}


def company() -> dict:
    """Predictions of molecules alone and in a batch, with the row for "no edge" as it starts."""
    torch.manual_seed(0)
    model = trained(NAME)
    encoding = edge_encoding(model)
    add_behind_the_end(encoding, 0.02 * torch.randn(encoding.edges.embedding_dim))
    graphs = encode(molecules()[:100], *READS)
    alone = predictions(model, [collate([graph]) for graph in graphs])
    together = predictions(model, [collate(graphs)])
    del encoding.forward
    ours = predictions(model, [collate([graph]) for graph in graphs])
    ours_together = predictions(model, [collate(graphs)])
    return {
        "moved": (together - alone).abs().mean().item(),
        "largest": (together - alone).abs().max().item(),
        "ours": (ours_together - ours).abs().max().item(),
    }


def weights_of_places() -> dict:
    """Numbers of Eq. 7's w in the model for ZINC: d_E to a place as printed, and the code's."""
    config = RECIPES["graphormer-slim/zinc"].build_model.args[0]
    heads, places = config.num_heads, config.path_positions
    return {"printed": places * heads, "ours": places * heads * heads, "places": places}


def final_norm() -> dict:
    build = RECIPES["graphormer-slim/zinc"].build_model
    with torch.device("meta"):
        norm = sum(p.numel() for p in build().norm.parameters())
    return {"ours": count(build), "without": count(build) - norm}


def virtual_node() -> dict:
    """[VNode] hears itself without its scalar, the only pair on which texts and code may part."""

    def change(model: Graphormer) -> None:
        bias = model.bias

        def forward(batch):
            found = type(bias).forward(bias, batch).clone()
            found[:, :, 0, 0] -= bias.virtual
            return found

        bias.forward = forward

    return changed(NAME, change)


def unreachable() -> dict:
    graphs = encode(molecules(), AddShortestPaths())
    return {
        "molecules": len(graphs),
        "in_pieces": sum(bool((graph.distance < 0).any()) for graph in graphs),
        "rows": trained(NAME).bias.encodings[0].scalars.num_embeddings,
        "longest": max(int(graph.distance.max()) for graph in graphs),
    }


MEASURES = {
    "scale": scale,
    "scalars": partial(changed, NAME, one_scalar),
    "degrees": degrees,
    "paths": paths,
    "node-0": node_0,
    "company": company,
    "places": weights_of_places,
    "final-norm": final_norm,
    "virtual-node": virtual_node,
    "unreachable": unreachable,
}
