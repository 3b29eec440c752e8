"""Awkward arguments for the exercises, which Hypothesis draws and then makes as small as it can.

A drawn argument is a choice from a few awkward values: zeros of both signs, ties, large numbers
beside small ones, sizes of 1, graphs without edges. All values are exact in single precision, so
that right answers in either precision stay within the tolerance.

Hypothesis is imported when something is drawn. A chapter whose exercises are not run does without.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress

import torch
from torch import Tensor

PLAIN = (0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, -0.0, -0.5, 1.5, 0.25, -3.0)
WIDE = (*PLAIN, 10.0, -10.0, 6.5, -7.0)  # beyond a clip, but exp of them is finite
HUNDREDS = (0.0, 1.0, -1.0, 2.0, 200.0, -200.0, 100.0, -0.0, -100.0, 0.5, 201.0, -201.0)
THOUSANDS = (0.0, 1.0, -1.0, 1000.0, -1000.0, 500.0, -0.0, -999.0, 999.0, 2.0, 0.5, -500.0)
SHARES = (1.0, 0.0, 3.0, 1.0, 4.0, 0.0, 0.125, 1 / 128)


class Draw:
    """Draws the parts of one case; the smallest case has the first value of everything.

    Args:
        some_bytes: draws a number of bytes. The smallest ones are 0.
    """

    def __init__(self, some_bytes: Callable[[int], bytes]) -> None:
        self.some_bytes = some_bytes

    def number(self, least: int, most: int) -> int:
        return least + self.some_bytes(1)[0] % (most - least + 1)

    def size(self, most: int) -> int:
        """From 1 to a number, and now and then larger, so that a fixed limit is found."""
        byte = self.some_bytes(1)[0]
        return 1 + byte % (most if byte < 224 else 3 * most)

    def one_of(self, *values):
        return values[self.number(0, len(values) - 1)]

    def several(self, count: int, values: Sequence) -> list:
        """A list of ``count`` of the values, in which each may come more than once."""
        return [values[byte % len(values)] for byte in self.some_bytes(count)]

    def numbers(self, *shape: int, of: Sequence[float] = PLAIN) -> Tensor:
        """A tensor of this shape; of whole numbers if the values are."""
        count = torch.Size(shape).numel()
        return torch.tensor(self.several(count, of), dtype=torch.tensor(of).dtype).view(shape)

    def flags(self, *shape: int) -> Tensor:
        """Booleans: few, many, or all of one kind."""
        share = self.one_of(2, 1, 3, 0, 4)  # of 4
        return self.numbers(*shape, of=(0, 1, 2, 3)) >= 4 - share

    def row_weights(self, *shape: int, of: Sequence[float] = SHARES) -> Tensor:
        """Weights, zeros among them, that sum to one over the last axis."""
        shares = self.numbers(*shape, of=of)
        empty = shares.sum(dim=-1, keepdim=True) == 0
        shares = shares + empty  # equal weights
        return shares / shares.sum(dim=-1, keepdim=True)

    def adjacency(self, N: int, directed: bool = True, loops: bool = False) -> Tensor:
        """A graph ``[N, N]``, which need not be connected."""
        A = self.flags(N, N)
        if not directed or self.one_of(True, False):
            A = A.triu()
            A = A | A.T
        return A if loops else A.fill_diagonal_(False)

    def distances(self, N: int, directed: bool = True) -> Tensor:
        """The distances ``[N, N]`` in a graph, with -1 where there is no path."""
        return distances(self.adjacency(N, directed))

    def in_some_order(self, items: Sequence) -> list:
        left = list(items)
        return [left.pop(byte % len(left)) for byte in self.some_bytes(len(left))]


def distances(A: Tensor) -> Tensor:
    """The number of steps from i to j, ``[N, N]``, with -1 where there is no path."""
    reached = torch.eye(len(A), dtype=torch.bool)
    steps = torch.where(reached, 0, -1)
    for step in range(1, len(A)):
        further = reached.float() @ A.float() > 0
        steps[further & ~reached] = step
        reached = reached | further
    return steps


def smallest(case: Callable[[Draw], Sequence], fails: Callable[[Sequence], bool], count: int):
    """The smallest case for which ``fails`` is true, or None if there is none among ``count``.

    The same cases are drawn each time, as long as the same modules are loaded: Hypothesis also
    draws constants that it finds in them. Nothing is printed or written to disk.
    """
    from hypothesis import Phase, Verbosity, configuration, find, settings
    from hypothesis.errors import HypothesisException
    from hypothesis.strategies import binary, composite

    @composite
    def drawn(draw):
        return case(Draw(lambda size: draw(binary(min_size=size, max_size=size))))

    found = []

    def condition(one: Sequence) -> bool:
        if fails(one):
            found[:] = [one]
            return True
        return False

    quiet = settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        verbosity=Verbosity.quiet,
    )
    # Hypothesis would make a folder for what it reads in the modules beside the notebook.
    configuration.set_hypothesis_home_dir(os.devnull)
    try:
        with suppress(HypothesisException):  # none fails, or one that failed does not fail again
            find(drawn(), condition, settings=quiet)
    finally:
        configuration.set_hypothesis_home_dir(None)
    return found[0] if found else None
