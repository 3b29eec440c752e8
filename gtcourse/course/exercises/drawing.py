"""Awkward arguments for the exercises: 200 cases, of which the smallest that fails is shown.

A drawn argument is a choice from a few awkward values: zeros of both signs, ties, large numbers
beside small ones, sizes of 1, graphs without edges. All values are exact in single precision, so
that right answers in either precision stay within the tolerance.

A case is computed from bytes, and the bytes of each case from its number alone. So every reader
has the same cases. A checker that runs out of time before it has checked all of them says so.
Hypothesis cannot promise this: it also draws constants that it finds in the modules that are
loaded, no setting turns them off, and its draws change with its version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import shake_256

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


MOST_BYTES = 2**15
"""How many bytes of a case are drawn; a case that reads more reads zeros."""

MOST_TRIES = 2000
"""How many cases are tried to find a smaller one that fails as well."""


@dataclass(frozen=True, eq=False)
class Case:
    """The arguments of one call. A case is equal to itself alone, so it can be a key of results."""

    arguments: Sequence


class OutOfTime(Exception):  # noqa: N818 (nothing is wrong)
    """There is no time for more cases."""


def smallest(
    case: Callable[[Draw], Sequence], fails: Callable[[Case], bool], count: int
) -> Case | None:
    """The smallest case for which ``fails`` is true, or None if there is none among ``count``.

    The same cases are drawn each time and everywhere. If ``fails`` raises :class:`OutOfTime` after
    a case has failed, the result is the smallest one so far.
    """
    for number in range(count):
        one, read = drawn_case(case, number)
        if fails(one):
            search = Search(case, fails, one, read)
            with suppress(OutOfTime):
                search.run()
            return search.found
    return None


@cache
def drawn_case(case: Callable[[Draw], Sequence], number: int) -> tuple[Case, bytes]:
    """A case and the bytes that it was drawn from. All answers share it, so it must not change."""
    tape = Tape(drawn_bytes(number))
    return Case(case(Draw(tape))), tape.read


class Tape:
    """Bytes that are read one after another; after the last one come zeros.

    Attributes:
        read: all bytes that were read so far.
    """

    def __init__(self, written: bytes) -> None:
        self.written = written
        self.read = b""

    def __call__(self, size: int) -> bytes:
        start = len(self.read)
        some = self.written[start : start + size].ljust(size, b"\0")
        self.read += some
        return some


def drawn_bytes(number: int) -> bytes:
    """The bytes of a case: only zeros, any bytes, few different ones, or zeros for the most part.

    Few different bytes give ties, and zeros give small sizes and the first of the values.
    """
    if number == 0:
        return b""
    drawn = shake_256(f"case {number}".encode()).digest(MOST_BYTES)
    if number % 3 == 0:
        return drawn
    if number % 3 == 1:
        palette = drawn[: 2 + number % 4]
        return drawn.translate(bytes(palette[byte % len(palette)] for byte in range(256)))
    return drawn.translate(bytes(byte if byte < 96 or byte >= 240 else 0 for byte in range(256)))


class Search:
    """Makes a case that fails smaller: fewer bytes, and of equally many the smallest ones.

    Attributes:
        found: the smallest case so far that fails.
        read: the bytes that it read.
    """

    def __init__(
        self,
        case: Callable[[Draw], Sequence],
        fails: Callable[[Case], bool],
        found: Case,
        read: bytes,
    ) -> None:
        self.case = case
        self.fails = fails
        self.found = found
        self.read = read
        self.tries = 0

    def run(self) -> None:
        before = None
        while self.read != before:
            before = self.read
            self.shorten()
            self.lower()

    def shorten(self) -> None:
        """Leaves out bytes, or sets them to 0: first many at once, then few."""
        size = len(self.read)
        while size:
            start = 0
            while start < len(self.read):
                left = self.read[:start]
                right = self.read[start + size :]
                if not (self.accepts(left + right) or self.accepts(left + bytes(size) + right)):
                    start += size
            size //= 2

    def lower(self) -> None:
        """Makes single bytes smaller, or all that are equal, or moves a smaller one forward."""
        for byte in sorted({*self.read}):
            for n in range(byte):
                if self.accepts(self.read.replace(bytes([byte]), bytes([n]))):
                    break
        place = 0
        while place < len(self.read):
            left = self.read[:place]
            right = self.read[place + 1 :]
            for n in range(self.read[place]):
                if self.accepts_lower(left + bytes([n]), right):
                    break
            self.accepts(left + right[:1] + self.read[place : place + 1] + right[1:])
            place += 1

    def accepts_lower(self, left: bytes, right: bytes) -> bool:
        """Also tries to leave out the bytes that are no longer read if the byte is a size."""
        if self.tries == MOST_TRIES:
            return False
        tape = Tape(left + right)
        self.case(Draw(tape))
        if self.accepts(left + right):
            return True
        fewer = len(left + right) - len(tape.read)
        if fewer <= 0:
            return False
        for start in range(len(right) - fewer + 1):
            if self.accepts(left + right[:start] + right[start + fewer :]):
                return True
        return False

    def accepts(self, written: bytes) -> bool:
        """Whether these bytes give a smaller case that fails, which then replaces the last one."""
        if self.tries == MOST_TRIES:
            return False
        self.tries += 1
        tape = Tape(written)
        one = Case(self.case(Draw(tape)))
        is_smaller = (len(tape.read), tape.read) < (len(self.read), self.read)
        if not (is_smaller and self.fails(one)):
            return False
        self.found = one
        self.read = tape.read
        return True
