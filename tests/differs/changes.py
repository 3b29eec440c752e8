"""Changes, and a graph, that several papers' rows share."""

import torch
from torch import nn
from torch_geometric.data import Data

from gtcourse.models.graphormer import EdgeEncoding, Graphormer
from tests.graphs.small import of_edges


def scale_queries(model: nn.Module, factor: float) -> None:
    """Multiplies the dot products of all layers that have a module named ``query``."""
    for module in model.modules():
        if isinstance(getattr(module, "query", None), nn.Linear):
            for parameter in module.query.parameters():
                parameter.data *= factor


def chain(*kinds: int) -> Data:
    """A path whose edges are of these kinds."""
    graph = of_edges(len(kinds) + 1, [(i, i + 1) for i in range(len(kinds))])
    graph.x = torch.zeros(len(kinds) + 1, 1).long()
    graph.edge_attr = torch.tensor([*kinds, *kinds])[:, None]
    return graph


def edge_encoding(model: Graphormer) -> EdgeEncoding:
    return next(m for m in model.modules() if isinstance(m, EdgeEncoding))
