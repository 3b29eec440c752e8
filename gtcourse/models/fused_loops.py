"""How the loops of the fused forms of CSA, EGT and GRPE are compiled. Importing it needs numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from numba import njit

# Sums may be reordered, and so vectorised. NaN and infinity stay what they are.
compiled = njit(fastmath={"reassoc", "contract", "nsz"}, error_model="numpy", cache=True)


class Loops(NamedTuple):
    """The compiled loops over all pairs in the attention of EGT or GRPE.

    Attributes:
        score: The logits, and what the softmax takes the exponentials of.
        gather: The softmax, and the sums over the keys of each query.
        spread: The gradients of all that the other two have read.
    """

    score: Callable[..., None]
    gather: Callable[..., None]
    spread: Callable[..., None]
