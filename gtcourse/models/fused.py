"""What the fused forms of CSA, EGT and GRPE share: rows without padding, and what they refuse.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph; smaller graphs are padded
    n: real nodes of all graphs
    P: real pairs of all graphs
    d: width of a node's vector
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

Array = np.ndarray[Any, np.dtype[Any]]


class Rows:
    """Where the real nodes and pairs of a batch are, from its mask ``[B, N]``.

    Attributes:
        shape: B and N.
        nodes: ``[n]``, the place of each node in the flattened ``[B, N]``.
        pairs: ``[P]``, the place of each pair in the flattened ``[B, N, N]``. They are in order of
            graphs, then of queries, then of keys.
        graph: ``[n]``, the graph of each node.
        starts: ``[B + 1]``, the first node of each graph, and n.
        no_padding: whether all graphs have N nodes.
    """

    def __init__(self, mask: Tensor):
        self.shape = mask.shape
        self.nodes = mask.flatten().nonzero()[:, 0]
        self.pairs = (mask[:, :, None] & mask[:, None, :]).flatten().nonzero()[:, 0]
        self.graph = self.nodes // mask.shape[1]
        self.starts = F.pad(mask.sum(dim=1).cumsum(dim=0), (1, 0))
        self.no_padding = len(self.nodes) == mask.numel()

    def of_nodes(self, h: Tensor) -> Tensor:
        """``[B, N, …]`` to ``[n, …]``."""
        rows = h.flatten(0, 1)
        return rows if self.no_padding else rows.index_select(0, self.nodes)

    def of_pairs(self, e: Tensor) -> Tensor:
        """``[B, N, N, …]`` to ``[P, …]``."""
        rows = e.flatten(0, 2)
        return rows if self.no_padding else rows.index_select(0, self.pairs)

    def is_itself(self) -> Tensor:
        """True for the pairs of a node with itself, ``[P]``."""
        N = self.shape[1]
        return self.pairs // N % N == self.pairs % N

    def padded(self, h: Tensor) -> Tensor:
        """``[n, d]`` to ``[B, N, d]``, with zeros at padding."""
        B, N = self.shape
        return h.new_zeros(B * N, h.shape[1]).index_copy(0, self.nodes, h).unflatten(0, (B, N))


def as_array(tensor: Tensor) -> Array:
    """The values of a tensor, for a compiled loop."""
    return tensor.detach().contiguous().numpy()


def check_numba(other_form: str) -> None:
    """Raises an ImportError, which says how to install it, if numba is not installed."""
    if find_spec("numba") is None:
        raise ImportError(
            "form='fused' needs numba, which is not installed; install it with `pip install "
            f"'gtcourse[fast]'`, or use form={other_form!r}, the same function."
        )


def check_tensor(tensor: Tensor, other_form: str) -> None:
    """Raises an error for a tensor that the compiled loops cannot read."""
    if tensor.is_meta:
        raise NotImplementedError(
            "form='fused' was given a tensor without values, on 'meta'; numba compiles its loops, "
            "and what they do cannot be counted."
        )
    if tensor.device.type != "cpu" or tensor.dtype not in (torch.float32, torch.float64):
        raise ValueError(
            f"form='fused' was given {tensor.dtype} on {tensor.device.type}; expected float32 or "
            f"float64 on the CPU, or form={other_form!r}."
        )


def refuse_second_derivative(form: str) -> None:
    """Raises a RuntimeError in a backward pass that is to be differentiated itself.

    PyTorch's ``once_differentiable`` would let it pass, and leave out terms.
    """
    if torch.is_grad_enabled():
        raise RuntimeError(f"form={form!r} has no second derivative; expected 'direct'.")
