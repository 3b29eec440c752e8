"""What a checker says, and how a checker is written.

A checker compares an answer with numbers that are worked out without it, names the mistakes that
readers make, and lets the notebook go on whatever it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps

import torch
from torch import Tensor


@dataclass(frozen=True)
class Verdict:
    """``passed`` is None where nothing has been attempted."""

    passed: bool | None
    message: str

    def __repr__(self) -> str:
        opening = {True: "Correct", False: "Not yet", None: "Not attempted yet"}[self.passed]
        return f"{opening}: {self.message}"


class Missing(Exception):  # noqa: N818 (a state of the exercise, no error)
    """The answer is still the stub."""


class Mistake(Exception):  # noqa: N818
    """The answer is wrong; the message says how."""


def checker(praise: str) -> Callable[[Callable[..., None]], Callable[..., Verdict]]:
    """Turns a function that raises :class:`Mistake` into one that returns a :class:`Verdict`.

    The answer, its first argument, is "not attempted yet" while it is ``...`` or None, or, as a
    function, returns one of them. An exception in the answer's own code is reported, not raised.

    Args:
        praise: what a correct answer has shown, in a sentence.
    """

    def decorate(check: Callable[..., None]) -> Callable[..., Verdict]:
        @wraps(check)
        def checked(answer, *rest) -> Verdict:
            stub = Verdict(None, "replace the `...` with your answer and run the cell again.")
            try:
                check(_attempted(answer), *rest)
            except Missing:
                return stub
            except Mistake as mistake:
                return Verdict(False, str(mistake))
            except Exception as error:  # the reader's code may raise anything
                return Verdict(False, f"your code raised {type(error).__name__}: {error}")
            return Verdict(True, praise)

        return checked

    return decorate


def expect(got: object, right: Tensor, mistakes: Mapping[str, Tensor], *, atol: float = 1e-4):
    """Compares a tensor with the right one, then with what each known mistake would give.

    Args:
        mistakes: what to say to the tensor that a mistake produces.

    Raises:
        Mistake: the tensor is another; the message names the mistake where it is a known one.
    """
    if not isinstance(got, Tensor):
        raise Mistake(f"expected a tensor, got a {type(got).__name__}.")
    if got.shape == right.shape and torch.allclose(got.to(right), right, atol=atol):
        return
    for message, wrong in mistakes.items():
        if got.shape == wrong.shape and torch.allclose(got.to(wrong), wrong, atol=atol):
            raise Mistake(message)
    if got.shape != right.shape:
        raise Mistake(f"expected the shape {list(right.shape)}, got {list(got.shape)}.")
    gap = float((got.to(right) - right).abs().max())
    raise Mistake(f"the shape is right, the numbers are not: the largest difference is {gap:.3g}.")


def _attempted(answer):
    if answer is None or answer is ...:
        raise Missing
    if not callable(answer) or isinstance(answer, torch.nn.Module):
        return answer

    @wraps(answer)
    def call(*arguments, **options):
        result = answer(*arguments, **options)
        if result is None or result is ...:
            raise Missing
        return result

    return call
