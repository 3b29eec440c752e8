"""What can be said about a wrong tensor beside the right one.

A relation is a fact about all of its entries, such as "every entry is twice the right one". If
there is none, :func:`place_of` says which entries are wrong. Both state facts only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import permutations

import torch
from torch import Tensor


@dataclass(frozen=True)
class Change:
    """A change that turns the right result into a wrong one, or a wrong one into the right one.

    Attributes:
        sentence: the message for the reader. In it, ``{entry}`` stands for "every entry", or for
            "it" where the result is a single number.
        apply: the change.
        needs_axes: whether the change applies only to tensors, not to single numbers.
    """

    sentence: str
    apply: Callable[[Tensor], Tensor]
    needs_axes: bool = False


def one_minus(x: Tensor) -> Tensor:
    return 1 - x


def softmax_of_rows(x: Tensor) -> Tensor:
    return x.softmax(dim=-1)


def divided_by_sum_of_rows(x: Tensor) -> Tensor:
    return x / x.sum(dim=-1, keepdim=True)


OF_THE_RIGHT = (
    Change("the sign is wrong.", torch.neg),
    Change("{entry} is the absolute value of the right one.", torch.abs),
    Change("{entry} is the square of the right one.", torch.square),
    Change("{entry} is the square root of the right one.", torch.sqrt),
    Change("{entry} is the exponential of the right one.", torch.exp),
    Change("{entry} is the logarithm of the right one.", torch.log),
    Change("{entry} is 1 minus the right one.", one_minus),
    Change("{entry} is 1 divided by the right one.", torch.reciprocal),
    Change(
        "this is the softmax of the right result; leave the softmax out.",
        softmax_of_rows,
        needs_axes=True,
    ),
)
"""What a wrong result may be, computed from the right one."""

TO_THE_RIGHT = (
    Change("a softmax over the last axis makes it right.", softmax_of_rows, needs_axes=True),
    Change("a sigmoid makes it right.", torch.sigmoid, needs_axes=True),
    Change("rounding down makes it right.", torch.floor, needs_axes=True),
    Change("dividing each row by its sum makes it right.", divided_by_sum_of_rows, needs_axes=True),
)
"""What makes a wrong result right."""

OTHER_FACTORS = (
    "every entry is the right one times a factor, which is not the same for all inputs: check what "
    "you multiply by or divide by."
)
"""Said instead of the factor where it differs between inputs."""


def argument_itself(right: Tensor, argument: Tensor) -> Tensor:
    return argument


WITH_AN_ARGUMENT: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "this is the right result plus `{}`.": torch.add,
    "this is the right result minus `{}`.": torch.sub,
    "this is the right result times `{}`.": torch.mul,
    "this is the right result divided by `{}`.": torch.div,
    "this is `{}` itself.": argument_itself,
}
"""What a wrong result may be, computed from the right one and an argument of its shape."""


def relations(got: Tensor, right: Tensor, atol: float, **arguments: Tensor) -> dict[str, str]:
    """Sentences that hold for all entries of two tensors of one shape, by kind.

    A kind is the same for all pairs of tensors; a sentence may contain numbers of this pair. The
    arguments are what the result was computed from. A relation holds if it leaves at most a tenth
    of the error: of numbers that are hardly outside the tolerance, many things are nearly true.
    """
    if got.shape == right.shape and got.numel():
        error = torch.where(got == right, 0.0, (got - right).abs())
        atol = min(atol, float(error.nan_to_num(nan=torch.inf).max()) / 10)
    same = partial(_same, atol=atol)
    found = dict(_relations(got, right, same))
    for name, argument in arguments.items():
        if argument.shape == right.shape and right.dim():
            for sentence, change in WITH_AN_ARGUMENT.items():
                if same(got, change(right, argument)):
                    found[sentence.format(name)] = sentence.format(name)
    return found


def _same(one: Tensor, other: Tensor, atol: float) -> bool:
    """Whether two tensors are equal, and not only in entries that are infinite or NaN."""
    close = one.shape == other.shape and torch.allclose(one, other, atol=atol, equal_nan=True)
    return close and bool(other.isfinite().any())


def _relations(
    got: Tensor, right: Tensor, same: Callable[[Tensor, Tensor], bool]
) -> Iterator[tuple[str, str]]:
    """The kind and the sentence of each relation that does not involve an argument."""
    if got.isnan().any() and not right.isnan().any():
        place = got.isnan().nonzero()[0].tolist()
        where = f", at {place}" if place else ""
        cause = (
            "0/0, inf/inf, the logarithm of a negative number or a softmax over nothing but -inf"
        )
        yield "NaN", f"an entry is NaN{where}: does it come from {cause}?"
        return
    is_tensor = right.dim() > 0
    entry = "every entry" if is_tensor else "it"
    for change in OF_THE_RIGHT:
        if (is_tensor or not change.needs_axes) and same(change.apply(right), got):
            yield change.sentence, change.sentence.format(entry=entry)
    for change in TO_THE_RIGHT:
        if (is_tensor or not change.needs_axes) and same(change.apply(got), right):
            yield change.sentence, change.sentence.format(entry=entry)
    for axes in permutations(range(right.dim())):
        if same(got.permute(axes), right):
            yield "axes", f"axes are swapped: permute{axes} makes it right."
    for axis in range(right.dim()):
        if same(got.flip(axis), right):
            yield f"flip {axis}", f"axis {axis} is in reverse order."
        if same(got, right.cumsum(axis)):
            yield f"sums {axis}", f"the entries are added up along axis {axis}: leave cumsum out."
        if same(got, right.mean(axis, keepdim=True).expand_as(right)):
            yield f"mean {axis}", f"every entry is the mean of the right ones along axis {axis}."
        if same(got, right.sum(axis, keepdim=True).expand_as(right)):
            yield f"sum {axis}", f"every entry is the sum of the right ones along axis {axis}."
        if right.shape[axis] > 1 and same(got, right.narrow(axis, 0, 1).expand_as(right)):
            yield f"first {axis}", f"the first entry along axis {axis} is repeated."
    scale = (got * right).nansum() / (right * right).nansum()
    is_other = scale.isfinite() and abs(scale) > 1e-6 and f"{scale:.4g}" != "1"
    if is_other and same(got, scale * right):
        # Any number is a multiple of any other: of single numbers, the factor is part of the kind.
        kind = "factor" if is_tensor else f"factor {scale:.3g}"
        yield kind, f"{entry} is {scale:.4g} times the right one: check the factors."
    shift = (got - right).flatten()[:1]
    if is_tensor and same(got, right + shift):
        yield "shift", "every entry is off by the same number."
    if right.dim() > 1 and min(right.shape[-2:]) > 1:
        for axis, name in ((-1, "row"), (-2, "column")):
            dot = (got * right).sum(axis, keepdim=True)
            norm = (right * right).sum(axis, keepdim=True)
            scale = torch.where(norm > 0, dot / norm, 1.0)  # zeros are a multiple of zeros
            if same(got, scale * right) and (scale.abs() > 1e-6).all():
                yield name, f"each {name} is a multiple of the right one: check what you divide by."
            shift = (got - right).mean(axis, keepdim=True)
            if same(got, right + shift):
                yield (
                    f"shifted {name}",
                    f"each {name} is off by a constant, which differs from {name} to {name}.",
                )


def place_of(wrong: Tensor, got: Tensor, right: Tensor) -> str:
    """Which entries are wrong, what they have in common, and one of them.

    Args:
        wrong: True at the wrong entries; any shape.
        got: the result, of this shape.
        right: the right one, of this shape.
    """
    count = int(wrong.sum())
    place = tuple(wrong.nonzero()[0].tolist())
    start = f"{count} of {wrong.numel()} entries {'is' if count == 1 else 'are'} wrong"
    if count == wrong.numel():
        start = "all entries are wrong"
    elif common := _in_common(wrong, right):
        how = ""
        if common.is_exact:
            how = "exactly "
        elif count > 1:
            how = "all "
        start += f", {how}{common.place}"
    one = _number(got[place])
    other = _number(right[place])
    for digits in (8, 17):
        if one == other:  # equal in the digits that are shown
            one = f"{got[place].item():.{digits}g}"
            other = f"{right[place].item():.{digits}g}"
    return f"{start}; entry {list(place)} is {one}, not {other}."


@dataclass(frozen=True)
class Common:
    """What wrong entries have in common.

    Attributes:
        place: where all of them are, such as "on the diagonal".
        is_exact: whether all entries there are known to be wrong.
    """

    place: str
    is_exact: bool = False


def _in_common(wrong: Tensor, right: Tensor) -> Common | None:
    values = right[wrong].unique()
    number = values.double()
    plain = len(values) == 1 and (number.isinf() | (number == number.round())).all()
    if plain and (right != values).any():
        value = _number(values[0].to(right.dtype))
        every = bool(wrong[right == values].all())
        return Common(f"where the right value is {value}", is_exact=every)
    if wrong.dim() > 1 and wrong.shape[-1] == wrong.shape[-2]:
        row, column = wrong.nonzero()[:, -2:].T
        for name, chosen in (
            ("on the diagonal", row == column),
            ("above the diagonal", row < column),
            ("below the diagonal", row > column),
            ("off the diagonal", row != column),
        ):
            if chosen.all():
                return Common(name)
    for axis, size in enumerate(wrong.shape):
        places = wrong.nonzero()[:, axis].unique().tolist()
        if len(places) == 1 and size > 1:
            return Common(f"at index {places[0]} of axis {axis}")
    return None


def _number(x: Tensor) -> str:
    value = x.item()
    if isinstance(value, float):
        return "0" if abs(value) < 1e-9 else f"{value:.4g}"
    return f"{value}"
