"""Steps of dot-product attention that the loops of CSA's, EGT's and GRPE's fused forms share.

A fused form compiles its own loops (:class:`Loops`) over the graphs, queries and keys of a batch.
The functions below are the steps in them that are the same in all three papers. They are inlined:
the compiler sees one loop, in which the numbers of heads and channels are constants. Importing this
module needs numba.

Shapes:
    n: nodes or tokens of a graph
    H: attention heads
    K: channels of a head
    d: width of a node's vector, H K

Tensors with a row for each node of all graphs have ``[·, d]``, and with a row for each pair
``[·, H]``. ``first`` is the row of a graph's first node, and ``p`` the row of a query's first pair,
of which it has n.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba import njit

from gtcourse.models.fused import Array

# Sums may be reordered, and so vectorised. NaN and infinity stay what they are.
FASTMATH = {"reassoc", "contract", "nsz"}

# numba compiles a function again if its own file has changed, or the value of a variable of the
# enclosing function that it reads. Each loop therefore reads this digest of the steps below.
STEPS = hashlib.sha256(Path(__file__).read_bytes()).hexdigest()

compiled = njit(fastmath=FASTMATH, error_model="numpy", cache=True)
inlined = njit(fastmath=FASTMATH, error_model="numpy", inline="always")


class Loops(NamedTuple):
    """The compiled loops over all pairs in the attention of a model.

    Between the first two, PyTorch computes the exponentials.

    Attributes:
        score: The logits, and what the softmax takes the exponentials of.
        aggregate: The softmax, and the sums over the keys of each query.
        backward: The gradients of all that the other two have read.
    """

    score: Callable[..., None]
    aggregate: Callable[..., None]
    backward: Callable[..., None]


# Scores


@inlined
def keys_by_channel(k: Array, first: int, n: int, d: int) -> Array:
    """The keys of a graph, channels before keys, ``[d, n or more]``.

    The innermost loop over them then runs over neighbouring numbers. Zeros fill each row to a
    multiple of 8, so that vector instructions leave no remainder.
    """
    keys = np.zeros((d, (n + 7) // 8 * 8), k.dtype)
    for j in range(n):
        for c in range(d):
            keys[c, j] = k[first + j, c]
    return keys


@inlined
def dot_products(
    q: Array, i: int, h: int, K: int, scale: float, keys: Array, products: Array
) -> None:
    """Writes the scaled products of a query with all keys in one head, ``[n or more]``."""
    products[:] = 0
    for c in range(h * K, h * K + K):
        scaled = q[i, c] * scale
        for j in range(len(products)):
            products[j] += scaled * keys[c, j]


@inlined
def write_shifted(logits: Array, n: int, h: int, p: int, result: Array) -> None:
    """Writes a query's logits in one head, ``[n or more]``, less the largest, to the result."""
    largest = np.finfo(logits.dtype).min  # -inf less -inf would be NaN
    for j in range(n):
        largest = max(largest, logits[j])
    for j in range(n):
        result[p + j, h] = logits[j] - largest


# One query


@inlined
def write_reciprocal_sums(attention: Array, p: int, n: int, H: int, reciprocal: Array) -> None:
    """Writes one over the sum of a query's exponentials in each head, ``[H]``."""
    reciprocal[:] = 0
    for j in range(n):
        for h in range(H):
            reciprocal[h] += attention[p + j, h]
    for h in range(H):
        reciprocal[h] = 1 / reciprocal[h]


# One pair. What a pair has for each head is written to all channels of the head, so that the loops
# over channels are vectorised.


@inlined
def write_to_head(of_channel: Array, h: int, K: int, number: float) -> None:
    """Writes a number to all channels of a head; ``of_channel`` is ``[d]``."""
    for c in range(h * K, h * K + K):
        of_channel[c] = number


@inlined
def sum_of_head(of_channel: Array, h: int, K: int) -> float:
    """The sum over the channels of a head; ``of_channel`` is ``[d]``."""
    total = of_channel[h * K]
    for c in range(h * K + 1, h * K + K):
        total += of_channel[c]
    return total


@inlined
def write_products(x: Array, i: int, y: Array, j: int, d: int, of_channel: Array) -> None:
    """Writes the products of row i of ``x`` and row j of ``y``, channel by channel, ``[d]``."""
    for c in range(d):
        of_channel[c] = x[i, c] * y[j, c]


@inlined
def add_products(of_channel: Array, x: Array, i: int, d: int, total: Array, row: int) -> None:
    """Adds row i of ``x``, times a number for each channel, to a row of the total."""
    for c in range(d):
        total[row, c] += of_channel[c] * x[i, c]
