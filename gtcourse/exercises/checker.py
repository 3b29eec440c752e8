"""How a checker works: it runs the reader's function and compares the result with a reference.

A known mistake is a function too, written as a reader would write it. If the reader's result is
that of a mistake, the checker says which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from dis import get_instructions
from functools import partial, update_wrapper, wraps
from inspect import signature
from itertools import permutations

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

    The answer, its first argument, is "not attempted yet" while it is ``...`` or None, or a
    function whose body is ``...``. An exception in the answer's own code is reported, not raised.

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
    gradients: bool = True,
) -> Callable[[Callable], Callable[..., Result]]:
    """Turns a reference, the right answer, into the checker of an exercise.

    Every checker follows one rule. The answer is called with each case, and with the last one in
    double precision. It may not change its arguments. Values, the precision and the gradients of
    all floating-point arguments are those of the reference.

    Args:
        praise: what a correct answer has shown, in a sentence.
        cases: the arguments of each call: at least two, in which all sizes differ.
        mistakes: wrong answers by the hint that names them; a dict holds the options with
            which the reference makes the mistake. Of a result with several parts, a mistake
            leaves the others None.
        run: how an answer, or a mistake, is called with the arguments of a case.
        view: what of a result is compared, where several results are right. Tensors that it
            is given have the right shape.
        parts: the names of the parts, if the result is a tuple.
        atol: how far a number may be from the reference's.
        dtype: demanded of a tensor whose entries are right.
        gradients: False where the reference itself has none that are finite or unique.
    """

    def decorate(reference: Callable) -> Callable[..., Result]:
        wrongs = {
            message: partial(reference, **wrong) if isinstance(wrong, dict) else wrong
            for message, wrong in mistakes.items()
        }
        names = list(signature(reference).parameters)

        def check(answer) -> None:
            for arguments in _with_doubles(cases):
                given = deepcopy(arguments)
                try:
                    got = run(answer, *given)
                except RuntimeError as error:
                    if arguments is cases[0]:
                        raise
                    raise Mistake(
                        f"correct for other sizes or dtypes; here, with {_described(given)}, it "
                        f"raised {error}. Are sizes or dtypes fixed? Make new tensors with "
                        "`x.new_zeros(...)` or dtype=x.dtype."
                    ) from error
                for name, before, after in zip(names, arguments, given, strict=False):
                    if _changed(before, after):
                        raise Mistake(
                            f"`{name}` has been changed in place; work on a copy (clone)."
                        )
                right = reference(*deepcopy(arguments))
                if parts and (not isinstance(got, tuple | list) or len(got) != len(parts)):
                    raise Mistake(f"expected {len(parts)} results: {', '.join(parts)}.")
                for place, name in enumerate(parts or [""]):
                    fault = differs(got, right, place)
                    if fault is not None:
                        fault = named(got, place, arguments) or fault
                        raise Mistake(f"{name}: {fault}" if parts else fault)
                    _check_dtype(
                        *((got[place], right[place]) if parts else (got, right)),
                        dtype or (torch.float64 if _has_doubles(arguments) else None),
                    )
                if gradients and not parts and isinstance(right, Tensor):
                    check_gradients(answer, arguments)

        def check_gradients(answer, arguments: tuple) -> None:
            right = slopes(reference, arguments, lambda answer, *given: answer(*given))
            if right is None:
                return
            got = slopes(answer, arguments, run)
            if got is None:
                raise Mistake(
                    "the values are right, but no gradient reaches the arguments: use "
                    "tensor operations only, without detach(), item() or torch.tensor()."
                )
            for name, mine, expected in zip(right, got.values(), right.values(), strict=True):
                if not mine.isfinite().all():
                    raise Mistake(
                        f"the output is finite, but the gradient of `{name}` is not finite: "
                        "replacing NaN afterwards hides it from the forward pass only. Avoid "
                        "it before it arises: change the row before the softmax or the division."
                    )
                if not torch.allclose(mine, expected, atol=10 * atol, rtol=1e-3):
                    raise Mistake(
                        f"the values are right, but the gradient of `{name}` is not: is something "
                        "detached, clamped or rounded?"
                    )

        def slopes(function, arguments: tuple, run: Callable) -> dict[str, Tensor] | None:
            """The gradients of a fixed random combination of the result's entries."""
            given = deepcopy(arguments)
            inputs = {
                name: argument.requires_grad_()
                for name, argument in zip(names, given, strict=False)
                if isinstance(argument, Tensor) and argument.is_floating_point()
            }
            result = view(run(function, *given))
            if not inputs or not result.requires_grad:
                return None
            weights = random(result.shape, seed=7)[0].to(result.dtype)
            finite = torch.where(result.isfinite(), result, 0.0)
            found = torch.autograd.grad(
                (weights * finite).sum(), list(inputs.values()), allow_unused=True
            )
            return {
                name: torch.zeros_like(tensor) if slope is None else slope
                for (name, tensor), slope in zip(inputs.items(), found, strict=True)
            }

        def named(got, place: int, arguments: tuple) -> str | None:
            likely = {f"{name}.": wrong for name, wrong in of_arguments(arguments)}
            for message, wrong in (wrongs | likely).items():
                with suppress(Exception):  # this case may not allow the mistake
                    known = run(wrong, *deepcopy(arguments))
                    left_open = parts and known[place] is None
                    if not left_open and differs(got, known, place) is None:
                        return message
            return None

        def of_arguments(arguments: tuple) -> Iterator[tuple[str, Callable]]:
            """The reference with an argument exchanged, transposed, negated or ignored."""
            for i, x in enumerate(arguments):
                for j, y in enumerate(arguments[:i]):
                    if _alike(x, y):
                        order = list(range(len(arguments)))
                        order[i], order[j] = j, i
                        yield (
                            f"`{names[j]}` and `{names[i]}` are swapped",
                            lambda *a, order=order: reference(*(a[n] for n in order)),
                        )
                for what, change in _misreadings(x):
                    yield (
                        f"`{names[i]}` {what}",
                        lambda *a, i=i, change=change: reference(*a[:i], change(a[i]), *a[i + 1 :]),
                    )

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


def _alike(x: object, y: object) -> bool:
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        return x.shape == y.shape and x.dtype == y.dtype
    return type(x) is type(y) and isinstance(x, int)


def _misreadings(x: object) -> Iterator[tuple[str, Callable]]:
    """How an argument is commonly misread."""
    if isinstance(x, int | float):
        yield "is taken one too large", lambda x: x + 1
        yield "is taken one too small", lambda x: x - 1
    if not isinstance(x, Tensor):
        return
    if x.dim() >= 2 and x.shape[-1] == x.shape[-2]:
        yield "is transposed: rows and columns are swapped", lambda x: x.mT
        yield (
            "was made symmetric: keep its direction",
            lambda x: x | x.mT if x.dtype == torch.bool else x + x.mT,
        )
    if x.dim() == 3 and x.shape[0] == x.shape[1]:
        yield "has its first two axes swapped", lambda x: x.transpose(0, 1)
    if x.dtype == torch.bool:
        yield "is ignored, as if it were True everywhere", torch.ones_like
        yield "is inverted: True and False are swapped", torch.logical_not
    if x.is_floating_point():
        yield "has the wrong sign", torch.neg
        yield "is missing, as if it were 0", torch.zeros_like
        yield "is read in reverse order", lambda x: x.flip(0)


def _with_doubles(cases: Sequence[tuple]) -> list[tuple]:
    """The cases, and the last one in double precision where it holds floating-point tensors."""
    if _has_doubles(cases[-1]):
        return list(cases)
    doubled = tuple(
        x.double()
        if isinstance(x, Tensor) and x.is_floating_point()
        else deepcopy(x).double()
        if isinstance(x, torch.nn.Module)
        else x
        for x in cases[-1]
    )
    return [*cases, doubled] if _has_doubles(doubled) else list(cases)


def _has_doubles(arguments: tuple) -> bool:
    return any(isinstance(x, Tensor) and x.dtype == torch.float64 for x in arguments)


def _described(arguments: tuple) -> str:
    return ", ".join(
        f"{str(x.dtype).removeprefix('torch.')} {list(x.shape)}"
        for x in arguments
        if isinstance(x, Tensor)
    )


def _changed(before: object, after: object) -> bool:
    if isinstance(before, Tensor):
        return before.shape != after.shape or not torch.equal(before, after)
    return isinstance(before, int | float | list | dict) and before != after


def _check_dtype(got: object, right: object, dtype: torch.dtype | None) -> None:
    if not isinstance(got, Tensor) or not isinstance(right, Tensor):
        return
    if dtype == torch.float64 and right.dtype != dtype:
        return  # whole numbers or booleans from numbers in double precision
    if dtype is not None and got.dtype != dtype:
        raise Mistake(f"the entries are right; expected {dtype}, got {got.dtype}.")


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
            place = got.isnan().nonzero()[0].tolist()
            return f"an entry is NaN, at {place}: is it 0/0, or a softmax over only -inf?"
        return _likely_cause(got, right, atol)
    if isinstance(right, int | float):
        if isinstance(got, Tensor) and got.numel() == 1:
            got = got.item()
        if not isinstance(got, int | float) or isinstance(got, bool):
            return f"expected a number, got a {type(got).__name__}."
        return None if abs(got - right) <= atol else f"expected {right:.6g}, got {got:.6g}."
    return None if got == right else f"expected {right}, got {got}."


def _likely_cause(got: Tensor, right: Tensor, atol: float) -> str:
    """What commonly gives these numbers instead of the right ones; else the first wrong entry."""

    def same(other: Tensor) -> bool:
        return other.shape == right.shape and torch.allclose(other, right, atol=atol)

    if same(-got):
        return "the sign is wrong."
    for axes in permutations(range(right.dim())):
        if same(got.permute(axes)):
            return f"axes are swapped: with permute{axes} the entries are right."
    for axis in range(right.dim()):
        if same(got.flip(axis)):
            return f"the order along axis {axis} is reversed."
    scale = (got * right).nansum() / (right * right).nansum()
    if scale.isfinite() and scale != 0 and same(got / scale):
        return (
            f"every entry is {scale:.4g} times the right one: a factor is missing or superfluous."
        )
    if same(got + (right - got).flatten()[0]):
        return "every entry is off by the same number: a term is missing or superfluous."
    wrong = ~torch.isclose(got, right, atol=atol, equal_nan=True)
    place = wrong.nonzero()[0].tolist()
    return (
        f"{_where(wrong)}; at {place} it is {got[tuple(place)]:.4g}, and should be "
        f"{right[tuple(place)]:.4g}."
    )


def _where(wrong: Tensor) -> str:
    """Which entries are wrong, by the pattern that they form."""
    if wrong.dim() >= 2:
        one = torch.ones_like(wrong)
        patterns = {
            "only entries above the diagonal are wrong": one.triu(1),
            "only entries below the diagonal are wrong": one.tril(-1),
            "only the diagonal is wrong": one.triu() & one.tril(),
            "only the diagonal is right": one.triu(1) | one.tril(-1),
        }
        for pattern, places in patterns.items():
            if not (wrong & ~places).any() and (pattern[-5:] == "wrong" or (wrong == places).all()):
                return pattern
        for axis, name in ((-2, "row"), (-1, "column")):
            others = [n for n in range(wrong.dim()) if n != wrong.dim() + axis]
            at = wrong.any(dim=others).nonzero().flatten().tolist()
            if len(at) == 1:
                return f"only {name} {at[0]} is wrong"
    if wrong.all():
        return "every entry is wrong: look at the axis of the sum or softmax, and at the scale"
    return f"{int(wrong.sum())} of {wrong.numel()} entries are wrong, the others right"


def _is_stub(function: Callable) -> bool:
    """Whether a function's body is `...`, perhaps below a docstring."""
    code = getattr(function, "__code__", None)
    body = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}
    return code is None or all(step.opname in body for step in get_instructions(code))


def _attempted(answer):
    if answer is None or answer is ...:
        raise Missing
    if not callable(answer) or isinstance(answer, torch.nn.Module):
        return answer

    @wraps(answer)
    def call(*arguments, **options):
        result = answer(*arguments, **options)
        if result is ... or (result is None and _is_stub(answer)):
            raise Missing
        if result is None:
            raise Mistake("the result is None: did you forget `return`?")
        return result

    return call
