"""How an exercise is checked: the reader's function is run and compared with a reference.

A known mistake is a function too, written as a reader would write it. If the reader's result is
that of a mistake, the checker gives its hint.
"""

from __future__ import annotations

import ctypes
import math
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import dataclass
from dis import get_instructions
from functools import partial, wraps
from inspect import signature, unwrap
from numbers import Real
from operator import index
from types import CodeType, FunctionType
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from gtcourse.course.exercises.diagnosis import OTHER_FACTORS, place_of, relations
from gtcourse.course.exercises.drawing import Case, Draw, OutOfTime, smallest

UNATTEMPTED = "Not attempted yet:"
"""How the answer to an unattempted exercise begins; the book does not show it."""

SECONDS = 20.0
"""How long a check may compute; most right answers take less than two seconds."""

WAITING = 10
"""How many times as long a check may take if other programs compute, or if the answer waits."""

DRAWN = 200
"""How many cases are drawn for an answer that is right in the fixed ones."""


@dataclass(frozen=True)
class Result:
    """The result of a check; ``passed`` is None if nothing has been attempted."""

    passed: bool | None
    message: str

    def __repr__(self) -> str:
        opening = {True: "Correct.", False: "Not yet:", None: UNATTEMPTED}[self.passed]
        return f"{opening} {self.message}"


class Missing(Exception):  # noqa: N818 (a state of the exercise, not an error)
    """The answer is still the stub."""


class Mistake(Exception):  # noqa: N818
    """The answer is wrong; the message says how."""


class TookTooLong(BaseException):
    """The time limit has passed; ``except Exception`` in the reader's code does not catch it."""


class WaitedTooLong(TookTooLong):
    """The limit on the clock has passed, but the answer has computed for less than its time."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises :class:`TookTooLong` in this thread when it has computed for longer than the limit.

    The time in which other programs use the processor does not count, except on systems without a
    clock for a single thread, such as macOS. :class:`WaitedTooLong` is raised when ``WAITING``
    times the limit has passed on the clock. Both are raised between two steps of Python. An endless
    loop is stopped, also one that sleeps, but a single long operation of PyTorch, or a single call
    that waits without end, is not.
    """
    thread = ctypes.c_ulong(threading.get_ident())
    clock = _clock_of_this_thread()
    end = clock() + seconds
    last = time.monotonic() + WAITING * seconds
    lock = threading.Lock()
    running = True

    def start_timer(wait: float) -> threading.Timer:
        timer = threading.Timer(wait, stop)
        timer.daemon = True
        timer.start()
        return timer

    def stop() -> None:
        nonlocal timer
        with lock:
            if not running:
                return
            left = end - clock()
            left_to_wait = last - time.monotonic()
            if left > 0 and left_to_wait > 0:
                timer = start_timer(min(left, left_to_wait) + 0.01)
            else:
                error = TookTooLong if left <= 0 else WaitedTooLong
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(error))

    timer = start_timer(seconds)
    try:
        yield
    finally:
        with lock:
            running = False
            timer.cancel()


def _clock_of_this_thread() -> Callable[[], float]:
    """A clock that any thread can read."""
    if hasattr(time, "pthread_getcpuclockid"):
        return partial(time.clock_gettime, time.pthread_getcpuclockid(threading.get_ident()))
    return time.monotonic


def require(condition: object, message: str) -> None:
    """Raises :class:`Mistake` unless the condition holds."""
    if not condition:
        raise Mistake(message)


def checker(check: Callable[..., str | None]) -> Callable[..., Result]:
    """Turns a function that raises :class:`Mistake` into one that returns a :class:`Result`.

    The answer, its first argument, is "not attempted yet" while it is ``...`` or None, or a
    function whose body is ``...``. The docstring is shown when the answer is correct, followed by
    the note that the function returns, if any.
    """

    @wraps(check)
    def checked(answer, *rest) -> Result:
        try:
            with time_limit(SECONDS):
                note = check(_attempted(answer), *rest)
        except WaitedTooLong:
            limit = f"your code was stopped after {WAITING * SECONDS:g} seconds, in most of which "
            return Result(False, limit + "it computed nothing: does it wait for something?")
        except TookTooLong:
            limit = f"your code was stopped after {SECONDS:g} seconds: is there an endless loop?"
            return Result(False, limit)
        except Missing:
            return Result(None, "replace the `...` with your answer and run the cell again.")
        except Mistake as mistake:
            return Result(False, str(mistake))
        except Exception as error:  # the reader's code may raise anything
            return Result(False, _raised(error))
        return Result(True, f"{check.__doc__} {note}" if note else check.__doc__)

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

    The mistake is ``answer``, or else the reference with ``options``. ``given`` changes the
    arguments (it returns a tuple), and ``then`` changes the result.
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
    """Turns a reference, a right answer, into the checker of an exercise.

    Every checker follows one rule. The answer is called with each case, and with the last one in
    double precision. It may not change its arguments. Lists, NumPy arrays and tensors of either
    precision are right if their values are. An answer that is right in all cases is called with
    drawn ones as well, and the message says which arguments it was wrong for, as few and as small
    as possible.

    The message about a wrong answer is the first of these that fits every case: the hint of a
    known mistake with the same results, an argument for which the results would be right, or a
    relation of the results to the right ones. If none fits, it lists the wrong entries.

    Args:
        cases: the arguments of each call: at least two, in which all sizes differ.
        once: raises :class:`Mistake` if the answer's code breaks a rule of the exercise.
        run: how an answer is called with the arguments of a case.
        view: maps a result to what is compared, where several results are right; it also takes
            the arguments. Tensors that it is given have the right shape.
        explain: makes a sentence from a wrong result, the right one and the arguments; for results
            of which a single entry says little.
        parts: the names of the parts, if the result is a tuple.
        atol: how far a number may be from the reference's.
        gradients: whether gradients are compared as well; only where the exercise asks for them.
        drawn: draws the arguments of one more call, awkward ones on purpose.
    """

    def __init__(
        self,
        *cases: Sequence,
        once: Callable[[Callable], None] | None = None,
        run: Callable | None = None,
        view: Callable | None = None,
        explain: Callable[..., str] | None = None,
        parts: Sequence[str] = (),
        atol: float = 1e-4,
        gradients: bool = False,
        drawn: Callable[[Draw], Sequence] | None = None,
    ) -> None:
        in_double = [x.double() if _is_float(x) else x for x in cases[-1]]
        self.cases = [Case(case) for case in (*cases, in_double)]
        self.once = once
        self.run = run or (lambda answer, *arguments: answer(*arguments))
        self.view = view or (lambda result, *arguments: result)
        self.explain = explain
        self.parts = parts
        self.atol = atol
        self.gradients = gradients
        self.drawn = drawn
        self.of_mistakes: dict[str, _Results] = {}

    def __call__(self, reference: Callable) -> Callable[..., Result]:
        self.reference = reference
        self.of_reference = _Results(self.run, reference)
        self.names = list(signature(reference).parameters)
        checked = checker(wraps(reference)(lambda answer: self.check(answer)))
        del checked.__wrapped__  # its arguments are not the checker's
        checked.reference = reference
        checked.drawn = self.drawn
        return checked

    def results_of(self, hint: str, wrong: Callable) -> _Results:
        """The results of the mistake with this hint, which are the same for every answer."""
        return self.of_mistakes.setdefault(hint, _Results(self.run, wrong))

    def check(self, answer: Callable) -> str | None:
        """Raises :class:`Mistake` for the first difference from the reference.

        Returns:
            a note if not all drawn cases were checked.
        """
        if self.once:
            self.once(answer)
        first = self.check_case(answer, self.cases[0], self.cause)
        before = _copies(first)
        for case in self.cases[1:]:
            self.check_case(answer, case, self.cause)
        same = all(map(_same_entries, _copies(first), before))
        hint = "make a new tensor in each call."
        require(same, f"a later call changes the result of an earlier one: {hint}")
        return self.check_drawn(answer, self.drawn) if self.drawn else None

    def check_case(self, answer: Callable, case: Case, cause: Callable | None = None) -> object:
        """Raises :class:`Mistake` if the result differs in this case, and returns it.

        Args:
            cause: searches for a sentence that says more than which entries are wrong.
        """
        is_drawn = case not in self.cases
        given = deepcopy(case.arguments)
        try:
            got = self.run(answer, *given)
        except RuntimeError as error:
            if case == self.cases[0] or is_drawn:
                raise
            if not any(map(_is_float, case.arguments)):
                raise Mistake(self.with_arguments(_raised(error), case)) from error
            hint = (
                "Is a size or a dtype hard-coded, or a size taken from the largest index? Make new "
                "tensors with `x.new_zeros(...)` or dtype=x.dtype."
            )
            start = "your code runs for other sizes or dtypes, but here it raised"
            raise Mistake(f"{start}: {error}. {hint}") from error
        for name, x, y in zip(self.names, case.arguments, given, strict=False):
            same = torch.equal(x, y) if isinstance(x, Tensor) else repr(x) == repr(y)
            copy = "a copy (clone)" if isinstance(x, Tensor) else "a copy"
            require(same, f"`{name}` has been changed in place; work on {copy}.")
        if self.parts and isinstance(got, Tensor | np.ndarray):
            got = list(got)
        right = self.of_reference(case)
        fits = not self.parts or (isinstance(got, tuple | list) and len(got) == len(self.parts))
        require(fits, f"expected {len(self.parts)} results: {', '.join(self.parts)}.")
        for part, name in enumerate(self.parts or [""]):
            if fault := self.difference(got, right, case, part):
                fault = (cause and cause(answer, case, part)) or fault
                raise Mistake(f"{name}: {fault}" if name else fault)
        if self.gradients and isinstance(right, Tensor) and not is_drawn:
            self.check_gradients(self.slopes(answer, case), self.slopes(self.reference, case))
        return got

    def check_drawn(self, answer: Callable, drawn: Callable[[Draw], Sequence]) -> str | None:
        """Raises :class:`Mistake` for the smallest drawn case in which the result differs.

        The number of cases ends the search, so that the verdict is the same on every machine. The
        time is a last resort, for an answer that is slow and may be right.

        Returns:
            a note if the time was over before all cases were checked.
        """
        end = time.thread_time() + SECONDS / 4
        checked = 0

        def fails(case: Case) -> bool:
            nonlocal checked
            if time.thread_time() > end:
                raise OutOfTime
            try:
                self.check_case(answer, case)
            except Exception:
                return True
            checked += 1
            return False

        try:
            case = smallest(drawn, fails, DRAWN)
        except OutOfTime:
            return f"(Your code is slow: only {checked} of the {DRAWN} random inputs were checked.)"
        if case is None:
            return None
        try:
            self.check_case(answer, case, self.cause_of_drawn)
        except Mistake as fault:
            raise Mistake(self.with_arguments(f"{fault}", case)) from fault
        except Exception as error:
            raise Mistake(self.with_arguments(_raised(error), case)) from error
        raise Mistake("two calls with the same arguments give different results.")

    def with_arguments(self, fault: str, case: Case) -> str:
        """The fault, after the arguments that it was found for."""
        if fault.startswith(("for ", "after ")):  # the explanation names them
            return fault
        named = zip(self.names, case.arguments, strict=False)
        return f"for {', '.join(f'`{name}` = {_written(x)}' for name, x in named)}: {fault}"

    def difference(self, got, right, case: Case, part: int) -> str | None:
        """What distinguishes a result, or a part of it, from the right one."""
        if self.parts:
            got = got[part]
            right = right[part]
        if fault := _another_kind(got, right):
            return fault
        one, other = (self.view(_like(each, right), *case.arguments) for each in (got, right))
        if _equal(one, other, self.atol):
            kind = getattr(one, "dtype", None)
            if getattr(other, "dtype", None) == torch.bool and kind != torch.bool:
                return f"the entries are right; expected torch.bool, got {kind}."
            if kind in HALF:
                return f"expected single or double precision, got {kind}, which has three digits."
            return None
        if self.explain:
            return self.explain(_like(got, right), right, *case.arguments)
        if isinstance(other, Tensor) and other.dim():
            shown = one, other
            if isinstance(right, Tensor) and right.shape == other.shape:
                shown = _like(got, right), right  # the reader's own numbers
            return place_of(~_close(one, other, self.atol), *shown)
        return f"expected {_shown(other)}, got {_shown(one)}."

    def cause(self, answer: Callable, case: Case, part: int) -> str | None:
        """A sentence that fits this case and all others and names the likely mistake."""
        count = len(case.arguments)
        known = self.reference.mistakes.items()
        got = _Results(self.run, answer)
        return (
            self.hint([*known, *self.misreadings(count)], got, case, part)
            or self.relation(got, part)
            or self.hint(self.changes(CHANGED_NUMBERS, count), got, case, part)
        )

    def cause_of_drawn(self, answer: Callable, case: Case, part: int) -> str | None:
        """A sentence that fits this case and names the likely mistake, which all others hide."""
        known = self.reference.mistakes.items()
        likely = [*known, *self.misreadings(len(case.arguments))]
        return self.hint(likely, _Results(self.run, answer), case, part, may_raise=False)

    def hint(
        self, likely: Iterable, got: _Results, case: Case, part: int, may_raise: bool = True
    ) -> str | None:
        """The hint of the mistake with the answer's results in this case and in all others.

        Args:
            got: the results of the answer.
            may_raise: whether the mistake, or the answer, may raise in the other cases.
        """
        others = [one for one in self.cases if one != case]
        cases = sorted([case, *others], key=_size)  # most hints fail in a small case
        for hint, wrong in likely:
            expected = self.results_of(hint, wrong)
            for other in cases:
                same = self.agree(got, expected, other, part)
                if same is False or (same is None and (other == case or not may_raise)):
                    break
            else:
                return hint
        return None

    def agree(self, one: _Results, other: _Results, case: Case, part: int) -> bool | None:
        """Whether two answers have equal results; None if the first, or both, raise."""
        with warnings.catch_warnings(action="ignore"):
            try:
                got = one(case)
            except Exception:
                return None
            with suppress(Exception):
                return self.difference(got, other(case), case, part) is None
        return False

    def relation(self, answer: _Results, part: int) -> str | None:
        """How the answer's results are related to the right ones, in every case in which they
        differ."""
        if self.explain:
            return None
        found: dict[str, str] | None = None
        numbers = 0
        for case in self.cases[:-1]:  # the last is the one before it, in double precision
            try:
                got = answer(case)
                right = self.of_reference(case)
                if self.difference(got, right, case, part) is None:
                    continue
                if self.parts:
                    got = got[part]
                    right = right[part]
                right = torch.as_tensor(right)
                is_number = right.is_floating_point()
                got = _like(got, right).detach().double()
                right = right.detach().double()
                if _equal(got, right, self.atol):  # wrong in its type only
                    return None
                named = zip(self.names, case.arguments, strict=False)
                floats = {name: x.double() for name, x in named if _is_float(x)}
                here = relations(got, right, self.atol, **floats)
                if not is_number:  # of flags and whole numbers, the wrong entries say more
                    here = {kind: said for kind, said in here.items() if kind not in OF_NUMBERS}
            except Exception:  # no tensors of one shape
                return None
            if found is None:
                found = here
            for kind in [*found]:
                if kind not in here:
                    del found[kind]
                elif kind == "factor" and here[kind] != found[kind]:
                    found[kind] = OTHER_FACTORS
            numbers += right.numel()
        if not found or numbers < 2:  # a single number has a relation to every other
            return None
        return next(iter(found.values()))

    def misreadings(self, count: int) -> Iterator[tuple[str, Callable]]:
        """The reference with two arguments swapped, or with one of them misread, and the hints.

        Args:
            count: the number of arguments of a case.
        """
        names = self.names[:count]
        for i, name in enumerate(names):
            for j in range(i):
                hint = f"this is the result with `{names[j]}` and `{name}` swapped."
                yield hint, partial(self.with_swapped_arguments, i, j)
        for i, name in enumerate(names):
            for j, other in enumerate(names):
                if i != j:
                    hint = f"this is the result with `{other}` in place of `{name}`."
                    yield hint, partial(self.with_one_argument_twice, i, j)
        yield from self.changes(MISREADINGS, count)

    def changes(self, kinds: dict[str, Callable], count: int) -> Iterator[tuple[str, Callable]]:
        """The reference with one argument changed."""
        for how, change in kinds.items():
            for i, name in enumerate(self.names[:count]):
                yield how.format(name), partial(self.with_changed_argument, i, change)

    def with_swapped_arguments(self, i: int, j: int, *arguments: object) -> object:
        """The result of the reference with arguments i and j in each other's place."""
        swapped = list(arguments)
        swapped[i] = arguments[j]
        swapped[j] = arguments[i]
        return self.reference(*swapped)

    def with_one_argument_twice(self, i: int, j: int, *arguments: object) -> object:
        """The result of the reference with argument j also in place of argument i."""
        replaced = list(arguments)
        replaced[i] = arguments[j]
        return self.reference(*replaced)

    def with_changed_argument(self, i: int, change: Callable, *arguments: object) -> object:
        """The result of the reference with argument i changed, as by one of ``MISREADINGS``."""
        changed = list(arguments)
        changed[i] = change(arguments[i])
        return self.reference(*changed)

    def slopes(self, answer: Callable, case: Case) -> dict[str, Tensor]:
        """The gradients of a fixed random combination of the result's entries."""
        given = dict(zip(self.names, deepcopy(case.arguments), strict=False))
        inputs = {name: x.requires_grad_() for name, x in given.items() if _is_float(x)}
        result = self.view(self.run(answer, *given.values()), *case.arguments)
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
            hint = (
                "it is too late to replace NaN afterwards; change the row before the softmax or "
                "before the division."
            )
            is_finite = got[name].isfinite().all()
            require(is_finite, f"{start} the gradient of `{name}` is not finite: {hint}")
            is_close = torch.allclose(got[name], expected, atol=10 * self.atol, rtol=1e-3)
            hint = "is something detached, clamped or rounded?"
            require(is_close, f"{start} the gradient of `{name}` is not: {hint}")


class _Results:
    """The results of an answer, computed once for each case and kept as long as the case is.

    Args:
        run: how the answer is called.
    """

    def __init__(self, run: Callable, answer: Callable) -> None:
        self.run = run
        self.answer = answer
        self.found: WeakKeyDictionary[Case, object] = WeakKeyDictionary()

    def __call__(self, case: Case) -> object:
        """Raises what the answer raises in this case, and later :class:`_HasRaised`.

        What it raises is not kept, because an exception holds the variables of its call.
        """
        if case not in self.found:
            try:
                self.found[case] = _copy(self.run(self.answer, *deepcopy(case.arguments)))
            except Exception:
                self.found[case] = _HasRaised
                raise
        result = self.found[case]
        if result is _HasRaised:
            raise _HasRaised
        return result


class _HasRaised(Exception):  # noqa: N818 (a state of the answer, not an error)
    """An earlier call with this case raised."""


def _copy(result: object) -> object:
    """A result that later calls of the answer do not change."""
    if isinstance(result, Tensor):
        return result.detach().clone()
    if isinstance(result, list):
        return [_copy(part) for part in result]
    if isinstance(result, tuple):
        return tuple(_copy(part) for part in result)
    return deepcopy(result)


def _raised(error: Exception) -> str:
    return f"your code raised {type(error).__name__}: {error}"


def _real(x: Tensor) -> Tensor:
    if not _is_float(x):
        raise TypeError("expected a tensor of real numbers")
    return x


def _flag(x: Tensor) -> Tensor:
    if x.dtype != torch.bool:
        raise TypeError(f"expected torch.bool, got {x.dtype}")
    return x


HALF = {torch.float16, torch.bfloat16}

OF_NUMBERS = {"row", "column", "shifted row", "shifted column"}
"""Relations that say something of real numbers only."""

# Each sentence is shown only where it is true of every case.
MISREADINGS = {
    "this is the result for `{}` + 1.": lambda x: index(x) + 1,
    "this is the result for `{}` - 1.": lambda x: index(x) - 1,
    "this is the result for `{}` transposed: rows and columns are swapped.": lambda x: x.mT,
    "this is the result with `{0}` made symmetric; use `{0}` as it is.": (
        lambda x: torch.maximum(x, x.mT)
    ),
    "this is the result with the first two axes of `{}` swapped.": lambda x: x.transpose(0, 1),
    "this is the result with `{}` set to 0 or False, as if it were unused.": torch.zeros_like,
    "this is the result with `{}` set to True, as if it were unused.": (
        lambda x: torch.ones_like(_flag(x))
    ),
    "this is the result with True and False swapped in `{}`.": lambda x: ~_flag(x),
    "this is the result for `{}` in reverse order.": lambda x: x.flip(0),
}
CHANGED_NUMBERS = {
    "this is the result for `{}` with the opposite sign.": lambda x: -_real(x),
    "this is the result for the absolute values of `{}`.": lambda x: _real(x).abs(),
    "this is the result for twice `{}`.": lambda x: 2 * _real(x),
    "this is the result for half of `{}`.": lambda x: _real(x) / 2,
    "this is the result for the softmax of `{}`.": lambda x: _real(x).softmax(dim=-1),
    "this is the result for the sigmoid of `{}`.": lambda x: _real(x).sigmoid(),
    "this is the result for the exponential of `{}`.": lambda x: _real(x).exp(),
}


def random(*shapes: Sequence[int], seed: int = 1) -> list[Tensor]:
    """Normally distributed numbers, the same on every call."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(*shape, generator=generator) for shape in shapes]


def adjacency(N: int, *edges: tuple[int, int], directed: bool = False) -> Tensor:
    """The adjacency matrix of edges (i, j), ``[N, N]`` of booleans."""
    A = torch.zeros(N, N, dtype=torch.bool)
    A[tuple(torch.tensor(edges).T)] = True
    return A if directed else A | A.T


def tensors(answer: object, *shapes: Sequence[int]) -> list[Tensor]:
    """The parts of an answer, which have to be tensors, or lists, of these shapes."""
    parts = answer if isinstance(answer, tuple | list) and len(shapes) > 1 else [answer]
    parts = [part.detach() if isinstance(part, Tensor) else _in_single(part) for part in parts]
    wanted = [list(shape) for shape in shapes]
    got = [list(part.shape) for part in parts]
    require(got == wanted, f"expected tensors of shapes {wanted}, got {got}.")
    return parts


def _tensor(part: object) -> Tensor:
    """A tensor from numbers, or rows of numbers, in any form."""
    if isinstance(part, Tensor):
        return part
    if isinstance(part, tuple | list) and any(isinstance(row, Tensor) for row in part):
        return torch.stack([torch.as_tensor(row) for row in part])
    try:
        return torch.as_tensor(np.asarray(part))
    except (ValueError, TypeError):
        raise Mistake(f"expected a tensor, got {part!r:.60}.") from None


def _in_single(part: object) -> Tensor:
    """A tensor from lists or arrays, whose numbers Python and NumPy hold in double precision."""
    numbers = _tensor(part).detach()
    if numbers.dtype != torch.float64:
        return numbers
    single = numbers.float()
    return single if single.isfinite().equal(numbers.isfinite()) else numbers


def integers(answer: object, *_) -> list[int]:
    """A list, tensor or array of whole numbers, as a list; also a ``view`` of :class:`compare`."""
    try:
        return [index(n) for n in answer]
    except TypeError:
        raise Mistake(f"expected a list of whole numbers, got {answer!r:.60}.") from None


def without_loops(answer: Callable) -> None:
    """Raises :class:`Mistake` if the code has a loop, a comprehension or a loop of NumPy's."""
    loops = {"FOR_ITER", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}
    loops |= {"vectorize", "apply_along_axis", "frompyfunc"}
    codes = _codes(answer)
    found = {step.opname for code in codes for step in get_instructions(code)}
    found |= {name for code in codes for name in code.co_names}
    require(not found & loops, "there is a loop in your code; tensor operations need none.")


class _Counted(TorchDispatchMode):
    """Counts the operations of PyTorch."""

    count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


def in_one_go(answer: Callable, *cases: Sequence, what: str) -> None:
    """Raises :class:`Mistake` if a case takes many more operations than another one.

    Args:
        cases: the arguments of each call; one case has ten times as much of something.
        what: what it has more of.
    """
    counts = []
    for case in cases:
        with _Counted() as counted:
            answer(*deepcopy(case))
        counts.append(counted.count)
    grows = f"the number of operations grows with the number of {what}: process them all at once."
    require(max(counts) - min(counts) < 10, grows)


def without_autograd(answer: Callable) -> None:
    """Raises :class:`Mistake` if the code of a function computes gradients with PyTorch."""
    asking = {"autograd", "backward", "grad", "jacobian", "jacrev", "vjp", "requires_grad_"}
    asking |= {"jacfwd", "jvp", "requires_grad", "grad_and_value", "enable_grad"}
    used = {name for code in _codes(answer) for name in code.co_names}
    require(not used & asking, "work the derivative out yourself, without autograd.")


def _codes(answer: Callable) -> list[CodeType]:
    """The code of a function, of those within it and of those beside it that it calls."""
    function = unwrap(answer)
    if not isinstance(function, FunctionType):  # a partial or a built-in
        return []
    found = [function.__code__]
    for code in found:
        found += [part for part in code.co_consts if isinstance(part, CodeType)]
        names = {step.argval for step in get_instructions(code) if step.opname == "LOAD_GLOBAL"}
        called = [function.__globals__.get(name) for name in names]
        found += [
            one.__code__
            for one in called
            if isinstance(one, FunctionType)
            and one.__module__ == function.__module__
            and one.__code__ not in found
        ]
    return found


def _size(case: Case) -> int:
    """How many numbers the arguments have."""
    return sum(x.numel() for x in case.arguments if isinstance(x, Tensor))


def _is_float(x: object) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point()


def _another_kind(got: object, right: object) -> str | None:
    """A sentence if the result should be a tensor of the right shape, or a number, and is not."""
    if isinstance(right, Tensor):
        if isinstance(got, list | tuple | np.ndarray):
            with suppress(ValueError, TypeError, RuntimeError, Mistake):  # rows of other lengths
                got = _tensor(got)
        if not isinstance(got, Tensor):
            return f"expected a tensor, got a {type(got).__name__}."
        if got.shape != right.shape:
            shapes = f"expected the shape {list(right.shape)}, got {list(got.shape)}"
            if sorted(got.shape) == sorted(right.shape):
                return f"{shapes}: the axes are in a different order."
            if got.numel() == right.numel():
                return f"{shapes}: the number of entries is right, but the axes are not."
            return f"{shapes}."
    elif isinstance(right, int | float):
        if isinstance(got, Tensor | np.generic | np.ndarray) and math.prod(got.shape) == 1:
            got = got.item()
        if not isinstance(got, Real) or isinstance(got, bool):
            shape = f" of shape {list(got.shape)}" if hasattr(got, "shape") else ""
            return f"expected a number, got a {type(got).__name__}{shape}."
    return None


def _like(got: object, right: object) -> object:
    """A result in the form of the right one, where it is a list, an array or a single number."""
    if isinstance(right, Tensor) and not isinstance(got, Tensor):
        return _tensor(got)
    if isinstance(right, int | float) and isinstance(got, Tensor | np.generic | np.ndarray):
        return got.item()
    if isinstance(right, int | float) and not isinstance(got, int | float):  # a fraction
        return float(got)
    return got


def _copies(result: object) -> list[Tensor]:
    """Copies of the tensors and arrays of a result."""
    parts = result if isinstance(result, tuple | list) else [result]
    kept = [part for part in parts if isinstance(part, Tensor | np.ndarray)]
    return [torch.as_tensor(part).detach().clone() for part in kept]


def _same_entries(one: Tensor, other: Tensor) -> bool:
    return bool(((one == other) | (one.isnan() & other.isnan())).all())


def _close(one: Tensor, other: Tensor, atol: float) -> Tensor:
    rtol = min(1e-5, atol)
    return torch.isclose(one.double(), other.double(), rtol=rtol, atol=atol, equal_nan=True)


def _equal(one: object, other: object, atol: float) -> bool:
    if isinstance(other, Tensor):
        return one.shape == other.shape and bool(_close(one, other, atol).all())
    if isinstance(other, int | float):  # single precision is enough
        close = math.isfinite(other) and abs(one - other) <= atol + 1e-6 * abs(other)
        return close or one == other or (math.isnan(one) and math.isnan(other))
    return one == other


def _written(x: object) -> str:
    """An argument of a call, in a form that a reader can type; a large tensor's shape alone."""
    if isinstance(x, np.ndarray):
        x = torch.from_numpy(x)
    if isinstance(x, Tensor) and x.numel() > 16:
        return f"a tensor of shape {list(x.shape)}"
    if isinstance(x, Tensor):
        x = (x.int() if x.dtype == torch.bool else x).tolist()
    if isinstance(x, FunctionType):
        return x.__name__
    return _rounded(x)


def _rounded(x: object) -> str:
    if isinstance(x, list):
        return f"[{', '.join(map(_rounded, x))}]"
    return f"{x:.4g}" if isinstance(x, float) else f"{x!r:.80}"


def _shown(value: object) -> str:
    if isinstance(value, Tensor):
        value = value.item()
    return f"{value:.6g}" if isinstance(value, float) else f"{value}"
