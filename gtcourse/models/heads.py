"""From node vectors to predictions."""

from __future__ import annotations

from torch import Tensor, nn


def mean_pool(h: Tensor, mask: Tensor) -> Tensor:
    """The mean over each graph's real nodes (a READOUT: Graphormer, Eq. 2).

    Shapes:
        h: ``[B, N, d]``; mask: ``[B, N]``, True at real nodes
        returns: ``[B, d]``; zeros for a graph without nodes
    """
    weights = mask.to(h.dtype)[:, :, None]
    return (h * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


class GraphHead(nn.Module):
    """Mean over the nodes, then a two-layer network: one prediction, or T, for each graph.

    Shapes:
        h: ``[B, N, d]``; mask: ``[B, N]``
        returns: ``[B]``, or ``[B, T]`` where ``num_targets`` T is above 1
    """

    def __init__(self, d_model: int, num_targets: int = 1):
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(d_model, d_model), nn.GELU(), nn.Linear(d_model, num_targets)
        )

    def forward(self, h: Tensor, mask: Tensor) -> Tensor:
        prediction = self.network(mean_pool(h, mask))
        return prediction.squeeze(-1) if prediction.shape[-1] == 1 else prediction
