"""JSON as the standard has it, sealed: a file that is not what was written is refused.

A seal is the sha256 of what a file says, in the file itself. Spaces may come and go, but a digit
that is another one does not pass.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

from gtcourse.graphs.files import brief, is_file, replacing

SEAL = "sha256"
MOST_BYTES = 2**24
"""Of a file that is read: 16 MiB, a hundred times a long run's record."""


def write_json(path: str | Path, content: dict) -> None:
    """Writes an object with its seal, whole or not at all.

    Raises:
        ValueError: it holds a number that is none.
    """
    with replacing(Path(path)) as temporary:
        temporary.write_text(json.dumps(sealed(content), indent=1, allow_nan=False) + "\n")


def read_json(path: str | Path, expected: str) -> dict:
    """The object that a JSON file holds, compared with its seal.

    A file without a seal is refused too: damage that takes the seal's name away would pass.

    Args:
        expected: what the file is to be, for the sentence: "the record of a run".

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no JSON object; it names a field twice, or holds a number that is none
            (NaN, Infinity) or that no float or int can hold; or it is larger than ``MOST_BYTES``.
    """
    path = Path(path)
    if not is_file(path):
        raise FileNotFoundError(f"there is no file {brief(path)}; expected {expected}.")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(
            f"{path} has {path.stat().st_size:,} bytes; expected {expected}, at most "
            f"{MOST_BYTES:,} bytes."
        )
    try:
        content = parse_json(path.read_bytes())
    except ValueError as error:
        raise ValueError(f"{path} is not JSON ({error}); expected {expected}.") from None
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds a {type(content).__name__}; expected {expected}.")
    if content.pop(SEAL, None) != seal_of(content):
        raise ValueError(
            f"{path} is not what was written; expected {expected} with its own {SEAL}."
        )
    return content


def sealed(content: dict) -> dict:
    """The object with its seal."""
    return {**content, SEAL: seal_of(content)}


def seal_of(content: dict) -> str:
    """sha256 of what an object says, whatever the order of its fields."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def parse_json(text: bytes) -> object:
    """What a text in UTF-8 says.

    Raises:
        ValueError: it is no JSON, or one of the things that Python's reader would let pass.
    """
    try:
        return json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_distinct,
            parse_constant=_refuse,
            parse_float=_finite,
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _distinct(pairs: list[tuple[str, object]]) -> dict:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in content if names.count(name) > 1)
        raise ValueError(f"it holds {twice[:40]!r} twice")
    return content


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is no number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:40]} is more than a float can hold")
    return value
