"""The layer of GatedGCN: every edge has a state, and gates what passes along it.

Shapes: ΣN nodes, ΣE edges, d width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch_geometric.nn import MessagePassing

from gtcourse.models.norms import FlatBatchNorm


class GatedGCNConv(MessagePassing):
    r"""The convolution alone, on plain tensors.

    .. math::
        \hat e_{ji} = C e_{ji} + D h_j + E h_i, \qquad
        \hat h_i = A h_i +
            \frac{\sum_{j \to i} \sigma(\hat e_{ji}) \odot B h_j}
                 {\sum_{j \to i} \sigma(\hat e_{ji}) + 10^{-6}}

    A case of CSA, Eq. 1: messages that know the edge.

    Shapes:
        h: ``[ΣN, d]``; e: ``[ΣE, d]``; edge_index: ``[2, ΣE]``, messages along the edges
        returns: ``[ΣN, d]`` and ``[ΣE, d]``

    Differs from PyG's ``ResGatedGraphConv``: that one adds gated messages without dividing by the
    sum of the gates, and edges have no state that the next layer reads.
    """

    def __init__(self, d_model: int):
        super().__init__(aggr="add")
        self.A, self.B, self.C, self.D, self.E = (nn.Linear(d_model, d_model) for _ in range(5))

    def forward(self, h: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        source, destination = edge_index
        e = self.C(e) + self.D(h)[source] + self.E(h)[destination]
        gated, gates = self.propagate(edge_index, value=self.B(h), gate=e.sigmoid()).chunk(2, -1)
        return self.A(h) + gated / (gates + 1e-6), e

    def message(self, value_j: Tensor, gate: Tensor) -> Tensor:
        return torch.cat([gate * value_j, gate], dim=-1)


class GatedGCNLayer(nn.Module):
    """The convolution, then batch normalisation, ReLU and a residual for nodes and for edges.

    Shapes:
        as :class:`GatedGCNConv`
    """

    def __init__(self, d_model: int):
        super().__init__()
        self.conv = GatedGCNConv(d_model)
        self.node_norm = FlatBatchNorm(d_model)
        self.edge_norm = FlatBatchNorm(d_model)

    def forward(self, h: Tensor, e: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        new_h, new_e = self.conv(h, e, edge_index)
        return h + F.relu(self.node_norm(new_h)), e + F.relu(self.edge_norm(new_e))
