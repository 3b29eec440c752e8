"""What each layer of a whole model puts into the form of :mod:`gtcourse.models.frame`.

Shapes: B graphs, N nodes (padded), d width.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GINConv

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models import frame_models
from gtcourse.models.attention import MultiHeadAttention
from gtcourse.models.baselines import GatedGCNConv
from gtcourse.models.csa import ChromaticSelfAttention
from gtcourse.models.egt import EGTAttention
from gtcourse.models.frame import Terms
from gtcourse.models.graphormer import GraphormerAttention
from gtcourse.models.grpe import GRPEAttention


def layer_terms(model: nn.Module, batch: GraphBatch) -> list[Terms]:
    """The terms of each layer of a model while it predicts for ``batch``, first layer first.

    Where the model has a virtual node, it is token 0 of the terms as well.

    Args:
        model: any of the leaderboard's; one in evaluation mode has no dropout to wonder about.

    Raises:
        ValueError: no layer of the model is one that the form has a reader for.
    """
    found: list[Terms] = []

    def reading(read: Callable[..., Terms]) -> Callable:
        def hook(layer: nn.Module, args: tuple, options: dict) -> None:
            options = {name: given for name, given in options.items() if name in READ_OPTIONS}
            found.append(read(batch, layer, *args, **options))

        return hook

    layers = [layer for layer in model.modules() if type(layer) in READERS]
    if not layers:
        raise ValueError(f"{type(model).__name__} has no layer of {', '.join(sorted(_names()))}.")
    hooks = [
        layer.register_forward_pre_hook(reading(READERS[type(layer)]), with_kwargs=True)
        for layer in layers
    ]
    try:
        with torch.no_grad():
            model(batch)
    finally:
        for hook in hooks:
            hook.remove()
    return found


READ_OPTIONS = {"mask", "pairs"}


def _dense(read: Callable[..., Terms]) -> Callable[..., Terms]:
    """A reader of layers that take tables of nodes and pairs, padded."""
    return lambda batch, layer, *args, **options: read(layer, *args, **options)


def _flat(read: Callable[..., Terms]) -> Callable[..., Terms]:
    """A reader of layers that take the real nodes, and perhaps the edges, as one long list."""

    def of_lists(batch: GraphBatch, layer: nn.Module, h: Tensor, *rest: Tensor) -> Terms:
        *edges, _ = rest  # the last is the edge_index, which the batch has as a table
        places = [_placed(e, batch.adjacency) for e in edges]
        return read(layer, _placed(h, batch.mask), *places, batch.adjacency)

    return of_lists


def _placed(rows: Tensor, mask: Tensor) -> Tensor:
    """Rows at the places where ``mask`` is True, in their order; zeros elsewhere."""
    table = rows.new_zeros(*mask.shape, rows.shape[-1])
    table[mask] = rows
    return table


READERS: dict[type[nn.Module], Callable[..., Terms]] = {
    MultiHeadAttention: _dense(frame_models.transformer_terms),
    GraphormerAttention: _dense(frame_models.graphormer_terms),
    EGTAttention: _dense(frame_models.egt_terms),
    GRPEAttention: _dense(frame_models.grpe_terms),
    ChromaticSelfAttention: _dense(frame_models.csa_terms),
    GINConv: _flat(frame_models.gin_terms),
    GATConv: _flat(frame_models.gat_terms),
    GatedGCNConv: _flat(frame_models.gatedgcn_terms),
}


def _names() -> set[str]:
    return {kind.__name__ for kind in READERS}
