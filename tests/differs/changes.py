"""Changes that several papers' rows share."""

from torch import nn

from gtcourse.models.graphormer import EdgeEncoding, Graphormer


def scale_queries(model: nn.Module, factor: float) -> None:
    """Multiplies the dot products of all layers that have a module named ``query``."""
    for module in model.modules():
        if isinstance(getattr(module, "query", None), nn.Linear):
            for parameter in module.query.parameters():
                parameter.data *= factor


def edge_encoding(model: Graphormer) -> EdgeEncoding:
    return next(m for m in model.modules() if isinstance(m, EdgeEncoding))
