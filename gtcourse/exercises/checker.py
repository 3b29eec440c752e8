"""How a checker works: it runs the reader's function and compares the result with a reference.

A known mistake is a function too, written as a reader would write it. If the reader's result is
that of a mistake, the checker says which.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial, update_wrapper, wraps

import torch
from torch import Tensor


@dataclass(frozen=True)
class Result:
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


def checker(praise: str) -> Callable[[Callable[..., None]], Callable[..., Result]]:
    """Turns a function that raises :class:`Mistake` into one that returns a :class:`Result`.

    The answer, its first argument, is "not attempted yet" while it is ``...`` or None, or, as a
    function, returns one of them. An exception in the answer's own code is reported, not raised.

    Args:
        praise: what a correct answer has shown, in a sentence.
    """

    def decorate(check: Callable[..., None]) -> Callable[..., Result]:
        @wraps(check)
        def checked(answer, *rest) -> Result:
            stub = Result(None, "replace the `...` with your answer and run the cell again.")
            try:
                check(_attempted(answer), *rest)
            except Missing:
                return stub
            except Mistake as mistake:
                return Result(False, str(mistake))
            except Exception as error:  # the reader's code may raise anything
                return Result(False, f"your code raised {type(error).__name__}: {error}")
            return Result(True, praise)

        return checked

    return decorate


def compare(
    praise: str,
    *,
    cases: Sequence[tuple],
    mistakes: Mapping[str, Callable | dict],
    run: Callable = lambda answer, *arguments: answer(*arguments),
    view: Callable = lambda result: result,
    parts: Sequence[str] = (),
    atol: float = 1e-4,
    dtype: torch.dtype | None = None,
) -> Callable[[Callable], Callable[..., Result]]:
    """Turns a reference, the right answer, into the checker of an exercise.

    Args:
        praise: what a correct answer has shown, in a sentence.
        cases: the arguments of each call.
        mistakes: wrong answers by the sentence that names them; a dict holds the options with
            which the reference makes the mistake. Of a result with several parts, a mistake
            leaves the others None.
        run: how an answer, or a mistake, is called with the arguments of a case.
        view: what of a result is compared, where several results are right. Tensors that it
            is given have the right shape.
        parts: the names of the parts, if the result is a tuple.
        atol: how far a number may be from the reference's.
        dtype: demanded of a tensor whose entries are right.
    """

    def decorate(reference: Callable) -> Callable[..., Result]:
        wrongs = {
            message: partial(reference, **wrong) if isinstance(wrong, dict) else wrong
            for message, wrong in mistakes.items()
        }

        def check(answer) -> None:
            for arguments in cases:
                got = run(answer, *deepcopy(arguments))
                right = reference(*deepcopy(arguments))
                if parts and (not isinstance(got, tuple | list) or len(got) != len(parts)):
                    raise Mistake(f"expected {len(parts)} results: {', '.join(parts)}.")
                for place, name in enumerate(parts or [""]):
                    fault = differs(got, right, place)
                    if fault is not None:
                        fault = named(got, place, arguments) or fault
                        raise Mistake(f"{name}: {fault}" if parts else fault)
                if dtype is not None and got.dtype != dtype:
                    raise Mistake(f"the entries are right; expected {dtype}, got {got.dtype}.")

        def named(got, place: int, arguments: tuple) -> str | None:
            for message, wrong in wrongs.items():
                try:
                    known = run(wrong, *deepcopy(arguments))
                except Mistake:
                    continue
                if parts and known[place] is None:
                    continue
                if differs(got, known, place) is None:
                    return message
            return None

        def differs(got, right, place: int) -> str | None:
            if parts:
                got, right = got[place], right[place]
            if not isinstance(right, Tensor) or getattr(got, "shape", None) == right.shape:
                got, right = view(got), view(right)
            return _difference(got, right, atol)

        update_wrapper(check, reference)
        del check.__wrapped__  # its arguments are not those of the checker
        checked = checker(praise)(check)
        checked.reference, checked.mistakes = reference, wrongs
        return checked

    return decorate


def random(*shapes: tuple[int, ...], seed: int = 1) -> list[Tensor]:
    """Normal numbers, the same on every call."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator) for shape in shapes]


def _difference(got: object, right: object, atol: float) -> str | None:
    """What distinguishes a result from the right one, in a sentence; None if nothing does."""
    if isinstance(right, Tensor):
        if not isinstance(got, Tensor):
            return f"expected a tensor, got a {type(got).__name__}."
        if got.shape != right.shape:
            return f"expected the shape {list(right.shape)}, got {list(got.shape)}."
        got, right = got.detach().double(), right.detach().double()
        if torch.allclose(got, right, atol=atol, equal_nan=True):
            return None
        if got.isnan().any():
            return "an entry is NaN."
        gap = float((got - right).abs().nan_to_num().max())
        return f"the shape is right, the numbers are not: the largest difference is {gap:.3g}."
    if isinstance(right, int | float):
        if isinstance(got, Tensor) and got.numel() == 1:
            got = got.item()
        if not isinstance(got, int | float) or isinstance(got, bool):
            return f"expected a number, got a {type(got).__name__}."
        return None if abs(got - right) <= atol else f"expected {right:.6g}, got {got:.6g}."
    return None if got == right else f"expected {right}, got {got}."


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
