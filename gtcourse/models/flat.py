"""A batch as one long list of real nodes and real edges, as PyG's convolutions take it.

Nothing here sees padding, so that sums and batch statistics cannot count it.
Shapes: B graphs with ΣN real nodes and ΣE edges in all, d width.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

from torch import Tensor, nn
from torch_geometric.nn import global_add_pool, global_mean_pool

from gtcourse.graphs.arguments import at_least, kinds
from gtcourse.graphs.batch import GraphBatch

Readout = Literal["sum", "mean"]


class NodeInput(nn.Module):
    """What each node is and, with a node encoding, where it is.

    Args:
        d_model: d.
        num_node_types: an embedding of the integers ``x[..., 0]``; 0 where nodes have no types.
        num_node_features: a linear map of this many floats ``x``; 0 where they are not read.
        node_encoding: a module that makes ``[B, N, d]`` of a batch, added to the above; on its own
            where neither is given, as the benchmark has it for CYCLES.

    Shapes:
        returns: ``[ΣN, d]``

    Raises:
        ValueError: there is nothing to make node vectors of, or both types and features.
    """

    def __init__(
        self,
        d_model: int,
        num_node_types: int,
        num_node_features: int,
        node_encoding: nn.Module | None,
    ):
        super().__init__()
        if num_node_types and num_node_features:
            raise ValueError(
                f"num_node_types is {num_node_types} and num_node_features {num_node_features}; "
                "expected one of them to be 0, because x holds either categories or numbers."
            )
        if not (num_node_types or num_node_features or node_encoding):
            raise ValueError(
                "num_node_types and num_node_features are 0 and there is no node_encoding; "
                "expected one of the three."
            )
        self.types = nn.Embedding(num_node_types, d_model) if num_node_types else None
        self.features = nn.Linear(num_node_features, d_model) if num_node_features else None
        self.encoding = node_encoding

    def forward(self, batch: GraphBatch) -> Tensor:
        parts = []
        if self.types is not None:
            _refuse_floats(batch.x, "x", "num_node_types")
            parts.append(self.types(batch.x[batch.mask][:, 0]))
        if self.features is not None:
            width = self.features.in_features
            if not batch.x.is_floating_point() or batch.x.shape[-1] != width:
                raise ValueError(
                    f"x is {batch.x.dtype} with {batch.x.shape[-1]} features; expected "
                    f"num_node_features = {width} floats (categories go with num_node_types)."
                )
            parts.append(self.features(batch.x[batch.mask].to(self.features.weight.dtype)))
        if self.encoding is not None:
            parts.append(self.encoding(batch)[batch.mask])
        return sum(parts[1:], start=parts[0])


class EdgeInput(nn.Module):
    """An embedding of ``edge_attr[..., 0]``, or of a constant 1 where edges have no types.

    Shapes:
        returns: ``[ΣE, d]``, in the order of ``batch.edge_index``
    """

    def __init__(self, d_model: int, num_edge_types: int):
        super().__init__()
        self.types = nn.Embedding(num_edge_types, d_model) if num_edge_types else None
        self.constant = None if num_edge_types else nn.Linear(1, d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        if self.types is not None:
            if batch.edge_attr is None:
                raise ValueError("the graphs have no edge_attr; expected num_edge_types of them.")
            _refuse_floats(batch.edge_attr, "edge_attr", "num_edge_types")
            return self.types(batch.edge_attr[batch.adjacency][:, 0])
        ones = self.constant.weight.new_ones(int(batch.adjacency.sum()), 1)
        return self.constant(ones)


def _refuse_floats(values: Tensor, name: str, option: str) -> None:
    if values.is_floating_point():
        raise ValueError(f"{name} is {values.dtype}; expected integer categories for {option}.")


def pool(h: Tensor, batch: GraphBatch, readout: Readout) -> Tensor:
    """A READOUT (Graphormer, Eq. 2), the sum or the mean of nodes: ``[ΣN, d]`` to ``[B, d]``."""
    pooled = {"sum": global_add_pool, "mean": global_mean_pool}[readout]
    return pooled(h, batch.graph_index, size=batch.num_graphs)


def check_sizes(config: object) -> None:
    """Refuses a model's configuration without width, layers, heads or targets, and its readout."""
    kinds(config)
    for name in ("d_model", "num_layers", "num_heads", "num_targets"):
        at_least(1, **{name: getattr(config, name, 1)})
    for name in ("num_node_types", "num_node_features", "num_edge_types"):
        at_least(0, **{name: getattr(config, name, 0)})
    readout = config.readout
    if readout not in ("sum", "mean"):
        raise ValueError(f"readout is {readout!r}; expected 'sum' or 'mean'.")


class HalvingMLP(nn.Sequential):
    """The benchmark's read-out: d → d/2 → d/4 → T with ReLU between, ``[B]`` where T is 1."""

    def __init__(self, d_model: int, num_targets: int):
        if d_model < 4:
            raise ValueError(
                f"d_model is {d_model}; expected 4 or more, of which a quarter is left."
            )
        widths = [d_model, d_model // 2, d_model // 4]
        layers = []
        for width, narrower in pairwise(widths):
            layers += [nn.Linear(width, narrower), nn.ReLU()]
        super().__init__(*layers, nn.Linear(widths[-1], num_targets))

    def forward(self, h: Tensor) -> Tensor:
        return squeeze_one(super().forward(h))


def squeeze_one(prediction: Tensor) -> Tensor:
    """``[B, 1]`` to ``[B]``; more targets stay as they are."""
    return prediction.squeeze(-1) if prediction.shape[-1] == 1 else prediction
