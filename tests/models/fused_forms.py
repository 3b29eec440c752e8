"""What the tests of the fused forms of CSA, EGT and GRPE share: a batch with padding, and draws."""

import torch
from torch import Tensor

from gtcourse import collate
from gtcourse.graphs.batch import GraphBatch
from tests.graphs.small import graph_of
from tests.models.small import encoded

SIZES = (3, 1, 4)
MASK = torch.arange(5) < torch.tensor(SIZES)[:, None]
SCATTERED = MASK[:, torch.tensor([3, 1, 4, 0, 2])]
"""Padding between the nodes."""


def draw(*shape: int, seed: int = 0, size: float = 1.0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return (size * torch.randn(shape, generator=generator, dtype=torch.float64)).requires_grad_()


def batch_of(dtype: torch.dtype = torch.float64) -> GraphBatch:
    graphs = (
        graph_of(6, [(0, 1), (1, 2), (2, 0), (3, 4)]),
        graph_of(1, []),
        graph_of(4, [(0, 1), (1, 2), (2, 3), (3, 0)]),
    )
    return collate(encoded(*graphs, dtype=dtype))


def assert_alike(got, expected, tolerance: float = 1e-12) -> None:
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)
