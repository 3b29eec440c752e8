"""How an exercise is checked: the reader's function is run and compared with a reference.

A known mistake is a function too, written as a reader would write it. If the reader's result is
that of a mistake, the checker gives its hint.
"""

import ctypes
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from dis import get_instructions
from functools import partial, wraps
from inspect import signature, unwrap
from itertools import permutations
from operator import index
from types import CodeType

import numpy as np
import torch
from torch import Tensor

SECONDS = 20.0
"""How long a check may take; right answers need less than one."""


@dataclass(frozen=True)
class Result:
    """``passed`` is None where nothing has been attempted."""

    passed: bool | None
    message: str

    def __repr__(self) -> str:
        opening = {True: "Correct.", False: "Not yet:", None: "Not attempted yet:"}[self.passed]
        return f"{opening} {self.message}"


class Missing(Exception):  # noqa: N818 (a state of the exercise, no error)
    """The answer is still the stub."""


class Mistake(Exception):  # noqa: N818
    """The answer is wrong; the message says how."""


class TookTooLong(BaseException):
    """The time is over; no ``except Exception`` of the reader's code catches it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises :class:`TookTooLong` in this thread once the time is over.

    It is raised between two steps of Python, so a loop that never ends is stopped, and a single
    long operation of PyTorch is not.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    lock = threading.Lock()
    running = True

    def stop() -> None:
        with lock:
            if running:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(TookTooLong))

    timer = threading.Timer(seconds, stop)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            running = False
        timer.cancel()


def require(condition: object, message: str) -> None:
    """Raises :class:`Mistake` unless the condition holds."""
    if not condition:
        raise Mistake(message)


def checker(check: Callable[..., None]) -> Callable[..., Result]:
    """Turns a function that raises :class:`Mistake` into one that returns a :class:`Result`.

    The answer, its first argument, is "not attempted yet" while it is ``...`` or None, or a
    function whose body is ``...``. The docstring says what a correct answer has shown.
    """

    @wraps(check)
    def checked(answer, *rest) -> Result:
        try:
            with time_limit(SECONDS):
                check(_attempted(answer), *rest)
        except TookTooLong:
            limit = f"your code was stopped after {SECONDS:g} seconds: does a loop never end?"
            return Result(False, limit)
        except Missing:
            return Result(None, "replace the `...` with your answer and run the cell again.")
        except Mistake as mistake:
            return Result(False, str(mistake))
        except Exception as error:  # the reader's code may raise anything
            return Result(False, f"your code raised {type(error).__name__}: {error}")
        return Result(True, check.__doc__)

    return checked


EMPTY_BODY = {"RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE"}


def _attempted(answer):
    def call(*arguments):
        result = answer(*arguments)
        if result is None and {step.opname for step in get_instructions(answer)} <= EMPTY_BODY:
            raise Missing
        require(result is not None, "the result is None: did you forget `return`?")
        return _attempted(result)

    if answer is None or answer is ...:
        raise Missing
    if callable(answer):
        call.__wrapped__ = answer
        return call
    return answer


def mistake(hint: str, answer=None, *, given=None, then=None, **options) -> Callable:
    """Adds a known mistake, and the hint for it, to the reference below it.

    The mistake is ``answer``, or the reference with ``options``, with arguments that ``given``
    changes (it returns a tuple) and a result that ``then`` changes.
    """

    def decorate(reference: Callable) -> Callable:
        def wrong(*arguments):
            arguments = given(*arguments) if given else arguments
            result = (answer or partial(reference, **options))(*arguments)
            return then(result) if then else result

        reference.mistakes = {hint: wrong} | getattr(reference, "mistakes", {})
        return reference

    return decorate


class compare:  # noqa: N801 (a decorator)
    """Turns a reference, which is a right answer, into the checker of an exercise.

    Every checker follows one rule. The answer is called with each case, and with the last one in
    double precision. It may not change its arguments. Values and precision are those of the
    reference; lists and NumPy arrays of the right values are right.

    Args:
        cases: the arguments of each call: at least two, in which all sizes differ.
        run: how an answer is called with the arguments of a case.
        view: what of a result is compared, where several are right; it also takes the arguments.
            Tensors that it is given have the right shape.
        parts: the names of the parts, if the result is a tuple.
        atol: how far a number may be from the reference's.
        gradients: whether gradients are compared as well; only where the exercise asks for them.
    """

    def __init__(
        self, *cases: Sequence, run: Callable | None = None, view: Callable | None = None,
        parts: Sequence[str] = (), atol: float = 1e-4, gradients: bool = False,
    ) -> None:  # fmt: skip
        self.cases = [*cases, [x.double() if _is_float(x) else x for x in cases[-1]]]
        self.run = run or (lambda answer, *arguments: answer(*arguments))
        self.view = view or (lambda result, *arguments: result)
        self.parts, self.atol, self.gradients = parts, atol, gradients

    def __call__(self, reference: Callable) -> Callable[..., Result]:
        self.reference, self.names = reference, list(signature(reference).parameters)
        checked = checker(wraps(reference)(lambda answer: self.check(answer)))
        del checked.__wrapped__  # its arguments are not the checker's
        checked.reference = reference
        return checked

    def check(self, answer: Callable) -> None:
        """Raises :class:`Mistake` for the first difference from the reference."""
        for case in self.cases:
            given = deepcopy(case)
            try:
                got = self.run(answer, *given)
            except RuntimeError as error:
                if case is self.cases[0]:
                    raise
                hint = "Are they fixed? Make new tensors with `x.new_zeros(...)` or dtype=x.dtype."
                raise Mistake(f"right for other sizes or dtypes, but: {error}. {hint}") from error
            for name, x, y in zip(self.names, case, given, strict=False):
                same = torch.equal(x, y) if isinstance(x, Tensor) else repr(x) == repr(y)
                require(same, f"`{name}` has been changed in place; work on a copy (clone).")
            if self.parts and isinstance(got, Tensor | np.ndarray):
                got = list(got)
            right = self.run(self.reference, *deepcopy(case))
            fits = not self.parts or (isinstance(got, tuple | list) and len(got) == len(self.parts))
            require(fits, f"expected {len(self.parts)} results: {', '.join(self.parts)}.")
            for part, name in enumerate(self.parts or [""]):
                if fault := self.difference(got, right, case, part):
                    fault = self.hint(answer, case, part) or fault
                    raise Mistake(f"{name}: {fault}" if name else fault)
            if self.gradients and isinstance(right, Tensor):
                self.check_gradients(self.slopes(answer, case), self.slopes(self.reference, case))

    def difference(self, got, right, case: Sequence, part: int) -> str | None:
        """What distinguishes a result, or a part of it, from the right one."""
        if self.parts:
            got, right = got[part], right[part]
        if not isinstance(right, Tensor) or getattr(got, "shape", None) == right.shape:
            got, right = self.view(got, *case), self.view(right, *case)
        doubles = any(_is_float(x) and x.dtype == torch.float64 for x in case)
        return _difference(got, right, self.atol, doubles)

    def hint(self, answer: Callable, case: Sequence, part: int) -> str | None:
        """The hint of the mistake that has the answer's results, in this case and in all others."""
        known = self.reference.mistakes.items()
        for hint, wrong in [*known, *self.misreadings(len(case))]:
            if self.agree(answer, wrong, case, part) and all(
                self.agree(answer, wrong, other, part) is not False for other in self.cases
            ):
                return hint
        return None

    def agree(self, one: Callable, other: Callable, case: Sequence, part: int) -> bool | None:
        """Whether two answers have one result; None if either of them cannot take the case."""
        with suppress(Exception):
            got, expected = (self.run(each, *deepcopy(case)) for each in (one, other))
            return self.difference(got, expected, case, part) is None
        return None

    def misreadings(self, count: int) -> Iterator[tuple[str, Callable]]:
        """The reference with two arguments swapped, or with one of them misread."""

        def after(change: Callable[[list], list]) -> Callable:
            return lambda *arguments: self.reference(*change(list(arguments)))

        for i, name in enumerate(self.names[:count]):
            for j in range(i):
                order = [{i: j, j: i}.get(n, n) for n in range(count)]
                swapped = f"`{self.names[j]}` and `{name}` are swapped."
                yield swapped, after(lambda a, order=order: [a[n] for n in order])
            for how, change in MISREADINGS.items():
                misread = after(lambda a, i=i, f=change: [*a[:i], f(a[i]), *a[i + 1 :]])
                yield f"`{name}` {how}.", misread

    def slopes(self, answer: Callable, case: Sequence) -> dict[str, Tensor]:
        """The gradients of a fixed random combination of the result's entries."""
        given = dict(zip(self.names, deepcopy(case), strict=False))
        inputs = {name: x.requires_grad_() for name, x in given.items() if _is_float(x)}
        result = self.view(self.run(answer, *given.values()), *case)
        if not inputs or not result.requires_grad:
            return {}
        weights = random(result.shape, seed=7)[0].to(result.dtype)
        (weights * torch.where(result.isfinite(), result, 0.0)).sum().backward()
        return {n: torch.zeros_like(x) if x.grad is None else x.grad for n, x in inputs.items()}

    def check_gradients(self, got: dict[str, Tensor], right: dict[str, Tensor]) -> None:
        start = "the values are right, but"
        hint = "use tensor operations only, without detach(), item() or torch.tensor()."
        require(got or not right, f"{start} no gradient reaches the arguments: {hint}")
        for name, expected in right.items():
            hint = "replacing NaN is too late; change the row before the softmax or the division."
            is_finite = got[name].isfinite().all()
            require(is_finite, f"{start} the gradient of `{name}` is not finite: {hint}")
            is_close = torch.allclose(got[name], expected, atol=10 * self.atol, rtol=1e-3)
            hint = "is something detached, clamped or rounded?"
            require(is_close, f"{start} the gradient of `{name}` is not: {hint}")


MISREADINGS = {
    "is taken one too large": lambda x: index(x) + 1,
    "is taken one too small": lambda x: index(x) - 1,
    "is transposed: rows and columns are swapped": lambda x: x.mT,
    "was made symmetric: keep its direction": lambda x: torch.maximum(x, x.mT),
    "has its first two axes swapped": lambda x: x.transpose(0, 1),
    "has no effect, as if it were 1 or True everywhere": torch.ones_like,
    "has no effect, as if it were 0 or False everywhere": torch.zeros_like,
    "is inverted: True and False are swapped": torch.logical_not,
    "has the wrong sign": torch.neg,
    "is read in reverse order": lambda x: x.flip(0),
}


def random(*shapes: Sequence[int], seed: int = 1) -> list[Tensor]:
    """Normal numbers, the same on every call."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator) for shape in shapes]


def adjacency(N: int, *edges: tuple[int, int], directed: bool = False) -> Tensor:
    """The adjacency matrix of edges (i, j), ``[N, N]`` of booleans."""
    A = torch.zeros(N, N, dtype=torch.bool)
    A[tuple(torch.tensor(edges).T)] = True
    return A if directed else A | A.T


def tensors(answer: object, *shapes: Sequence[int]) -> list[Tensor]:
    """The parts of an answer, which have to be tensors, or lists, of these shapes."""
    parts = answer if isinstance(answer, tuple | list) else [answer]
    parts = [torch.as_tensor(part).detach() for part in parts]
    wanted, got = [list(shape) for shape in shapes], [list(part.shape) for part in parts]
    require(got == wanted, f"expected tensors of shapes {wanted}, got {got}.")
    return parts


def integers(answer: object, *_) -> list[int]:
    """A list, tensor or array of whole numbers, as a list; also a ``view`` of :class:`compare`."""
    try:
        return [index(n) for n in answer]
    except TypeError:
        raise Mistake(f"expected a list of whole numbers, got {answer}.") from None


def without_loops(answer: Callable) -> None:
    """Raises :class:`Mistake` if the code of a function has a loop or a comprehension."""
    loops = {"FOR_ITER", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
    found = {step.opname for code in _codes(answer) for step in get_instructions(code)}
    require(not found & loops, "there is a loop in your code; use operations on all at once.")


def without_autograd(answer: Callable) -> None:
    """Raises :class:`Mistake` if the code of a function asks PyTorch for a gradient."""
    asking = {"autograd", "backward", "grad", "jacobian", "jacrev", "vjp", "requires_grad_"}
    used = {name for code in _codes(answer) for name in code.co_names}
    require(not used & asking, "work the derivative out yourself, without autograd.")


def _codes(answer: Callable) -> list[CodeType]:
    """The code of a function and of the functions within it."""
    code = getattr(unwrap(answer), "__code__", None)  # None for a partial or a built-in
    found = [] if code is None else [code]
    for code in found:
        found += [part for part in code.co_consts if isinstance(part, CodeType)]
    return found


def _is_float(x: object) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point()


def _difference(got: object, right: object, atol: float, doubles: bool) -> str | None:
    """What distinguishes a result from the right one, in a sentence; None if nothing does."""
    if isinstance(right, Tensor):
        if isinstance(got, list | tuple | np.ndarray):
            with suppress(ValueError, TypeError, RuntimeError):  # its rows may differ in length
                got = torch.as_tensor(np.asarray(got, dtype=None)).to(right.dtype)
        if not isinstance(got, Tensor):
            return f"expected a tensor, got a {type(got).__name__}."
        if got.shape != right.shape:
            return f"expected the shape {list(right.shape)}, got {list(got.shape)}."
        if not torch.allclose(got.double(), right.double(), atol=atol, equal_nan=True):
            return _likely_cause(got.detach().double(), right.detach().double(), atol)
        exact = right.dtype == torch.bool or (doubles and right.dtype == torch.float64)
        if exact and got.dtype != right.dtype:
            return f"the entries are right; expected {right.dtype}, got {got.dtype}."
        return None
    if isinstance(right, int | float):
        if isinstance(got, Tensor | np.generic | np.ndarray) and math.prod(got.shape) == 1:
            got = got.item()
        if not isinstance(got, int | float) or isinstance(got, bool):
            return f"expected a number, got a {type(got).__name__}."
        close = abs(got - right) <= atol + 1e-6 * abs(right)  # single precision is enough
        return None if close else f"expected {right:.6g}, got {got:.6g}."
    return None if got == right else f"expected {right}, got {got}."


def _likely_cause(got: Tensor, right: Tensor, atol: float) -> str:
    """What commonly gives these numbers instead of the right ones; else which are wrong."""
    if got.isnan().any():
        place = got.isnan().nonzero()[0].tolist()
        return f"an entry is NaN, at {place}: is it 0/0, or a softmax over only -inf?"
    scale = (got * right).nansum() / (right * right).nansum()
    corrected = {
        "the sign is wrong.": -got,
        f"every entry is {scale:.4g} times the right one: a factor is missing.": got / scale,
        "every entry is off by the same number.": got + (right - got).flatten()[0],
    }
    for axes in permutations(range(right.dim())):
        corrected[f"axes are swapped: permute{axes} makes it right."] = got.permute(axes)
    for cause, entries in corrected.items():
        if entries.shape == right.shape and torch.allclose(entries, right, atol=atol):
            return cause
    wrong = ~torch.isclose(got, right, atol=atol, equal_nan=True)
    count, place = int(wrong.sum()), wrong.nonzero()[0].tolist()
    example = f"at {place} it is {got[tuple(place)]:.4g}, not {right[tuple(place)]:.4g}."
    return f"{count} of {wrong.numel()} entries are wrong; {example}"
