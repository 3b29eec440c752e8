"""What Graphormer knows of a graph's nodes and pairs (Ying et al., 2021), [VNode] included.

Node encodings make ``[B, N, d]`` of a batch and are added to the node embeddings; pair encodings
make ``[B, H, N, N]`` and are added to the attention logits, where :class:`PairBias` says.
Shapes: B graphs, N nodes (padded), H heads, d width.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.batch import UNREACHABLE, GraphBatch
from gtcourse.models.node_encodings import read_encoding


class CentralityEncoding(nn.Module):
    r"""A vector for the number of edges into a node, and one for those out of it.

    .. math:: h_i^{(0)} = x_i + z^-_{\deg^-(v_i)} + z^+_{\deg^+(v_i)}

    (Graphormer, Eq. 5.)

    Args:
        max_in_degree, max_out_degree: nodes with more edges share the vectors of these.

    Shapes:
        batch.encodings["in_degree"], ["out_degree"]: ``[B, N]``
        returns: ``[B, N, d]``, the two vectors' sum

    Differs from the authors' code, which looks both up by the same degree.
    """

    def __init__(self, max_in_degree: int, max_out_degree: int, d_model: int):
        super().__init__()
        self.incoming = nn.Embedding(max_in_degree + 1, d_model)
        self.outgoing = nn.Embedding(max_out_degree + 1, d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        tables = {"in_degree": self.incoming, "out_degree": self.outgoing}
        z_in, z_out = (
            table(read_encoding(batch, name).clamp(max=table.num_embeddings - 1))
            for name, table in tables.items()
        )
        return z_in + z_out


class SpatialEncoding(nn.Module):
    r"""A learned scalar :math:`b_{\phi(i,j)}` for each shortest-path distance and head.

    (Graphormer, Eq. 6.) It is what tells the graphs of Graphormer, Figure 2, apart.

    Args:
        num_heads: H; the paper writes one scalar, its implementation learns one for each head.
        max_distance: longer distances share this one's scalars; pairs without a path have their
            own, in row 0 of ``scalars``, and distance d has row d + 1.

    Shapes:
        batch.encodings["distance"]: ``[B, N, N]``
        returns: ``[B, H, N, N]``
    """

    def __init__(self, num_heads: int, max_distance: int):
        super().__init__()
        self.scalars = nn.Embedding(max_distance + 2, num_heads)

    def forward(self, batch: GraphBatch) -> Tensor:
        return self.of(read_encoding(batch, "distance"))

    def of(self, distance: Tensor) -> Tensor:
        """The scalars of distances ``[B, N, N]``, -1 where j cannot be reached from i."""
        row = (distance - UNREACHABLE).clamp(max=self.scalars.num_embeddings - 1)
        return self.scalars(row).permute(0, 3, 1, 2)


class PairBias(nn.Module):
    r"""The one place where structure enters attention: computed once, added in every layer.

    The sum of the pair encodings, with a first row and column for [VNode], whose pairs all have one
    learned scalar for each head instead (Section 3.2).

    Args:
        num_heads: H.
        encodings: modules that make ``[B, H, N, N]`` of a batch; at least one.

    Shapes:
        returns: ``[B, H, N + 1, N + 1]``

    [VNode]'s row and column share the scalar, as in the authors' code; the text allows two of them.
    """

    def __init__(self, num_heads: int, encodings: Iterable[nn.Module]):
        super().__init__()
        self.encodings = nn.ModuleList(encodings)
        self.virtual = nn.Parameter(torch.empty(num_heads))
        nn.init.normal_(self.virtual, std=0.02)

    def forward(self, batch: GraphBatch) -> Tensor:
        nodes = sum(encoding(batch) for encoding in self.encodings)
        bias = F.pad(nodes, (1, 0, 1, 0))
        virtual = F.pad(torch.zeros_like(nodes[:1, :1]), (1, 0, 1, 0), value=1.0)
        return (bias + self.virtual[:, None, None] * virtual).contiguous()
