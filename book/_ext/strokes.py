"""Paths of drawings in fewer letters: each segment absolute or relative, whichever is shorter."""

import re
from collections.abc import Iterator

TAKES = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "Q": 4, "Z": 0}  #: numbers of a command
PART = re.compile(r"(?P<command>[MLHVCQZz])|(?P<number>-?\d*\.?\d+)|(?P<other>[^\s,])")
FOLLOWS = {"M": "L", "m": "l"}  #: what numbers without a letter mean after these commands

Point = tuple[int, int]


def short_path(path: str) -> str:
    """The same path; as it is, if it has commands other than ``MLHVCQZ``."""
    parts = [*PART.finditer(path)]
    if any(part["other"] for part in parts):
        return path
    places = max((len(part[0].partition(".")[2]) for part in parts), default=0)
    at = (0, 0)
    start = at
    last = ""  # the letter that the next numbers have if none is written
    before = ""  # the number before them
    written = ""
    for command, numbers in segments(parts, places):
        if command == "Z":
            written += "z"
            last = "z"
            at = start
            continue
        points = corners(command, numbers, at)
        command = "L" if command in ("H", "V") else command
        forms = [(command, [value for point in points for value in point])]
        forms.append(
            (command.lower(), [v - a for point in points for v, a in zip(point, at, strict=True)])
        )
        if command == "L":
            forms += straight(points[0], at)
        texts = [spelled(letter, values, places, last, before) for letter, values in forms]
        shortest, (letter, values) = min(zip(texts, forms, strict=True), key=length)
        written += shortest
        last = FOLLOWS.get(letter, letter)
        before = decimal(values[-1], places)
        at = points[-1]
        if command == "M":
            start = at
    return written


def length(form: tuple[str, object]) -> int:
    """Letters of a segment that is written in one of its forms."""
    text, _ = form
    return len(text)


def segments(parts: list[re.Match], places: int) -> Iterator[tuple[str, list[int]]]:
    """Commands with their numbers, in units of the last decimal place."""
    command = ""
    numbers: list[int] = []
    for part in parts:
        if part["command"]:
            command = part["command"].upper()
            if command == "Z":
                yield command, []
            continue
        numbers.append(round(float(part["number"]) * 10**places))
        if len(numbers) == TAKES[command]:
            yield command, numbers
            numbers = []
            command = "L" if command == "M" else command


def corners(command: str, numbers: list[int], at: Point) -> list[Point]:
    """The points of a segment that starts at ``at``, the last of which is its end."""
    if command == "H":
        return [(numbers[0], at[1])]
    if command == "V":
        return [(at[0], numbers[0])]
    return [*zip(numbers[::2], numbers[1::2], strict=True)]


def straight(to: Point, at: Point) -> Iterator[tuple[str, list[int]]]:
    """The forms with one number, for a line that is horizontal or vertical."""
    if to[1] == at[1]:
        yield from (("H", [to[0]]), ("h", [to[0] - at[0]]))
    if to[0] == at[0]:
        yield from (("V", [to[1]]), ("v", [to[1] - at[1]]))


def spelled(letter: str, values: list[int], places: int, last: str, before: str) -> str:
    """A segment as text: no letter that the last one stands for, no space that a sign replaces.

    A point replaces a space as well, if there is one in the number before.
    """
    text = "" if letter == last else letter
    for value in values:
        number = decimal(value, places)
        is_apart = number.startswith("-") or (number.startswith(".") and "." in before)
        if text != letter and not is_apart:
            text += " "
        text += number
        before = number
    return text


def decimal(value: int, places: int) -> str:
    """``-.5`` for -50 with two places."""
    digits = str(abs(value)).rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :].rstrip("0")
    sign = "-" if value < 0 else ""
    if part and whole == "0":
        whole = ""
    return sign + whole + (f".{part}" if part else "")
