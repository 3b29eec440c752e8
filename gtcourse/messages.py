"""How messages show the values that they are about, and how errors are printed."""

from __future__ import annotations

import errno
from collections.abc import Sequence

MOST_SHOWN = 200
"""Characters of a value in a message."""

MOST_LISTED = 500
"""Characters of a list of names in a message."""


def shown(value: object) -> str:
    """A value as messages show it: without line breaks, and cut where it is long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def listed(names: Sequence[str]) -> str:
    """Names as messages list them: on one line, and with their number where the list is cut."""
    text = " ".join(", ".join(names).split())
    if len(text) <= MOST_LISTED:
        return text
    return f"{text[:MOST_LISTED]}… ({len(names):,} in all)"


def sentence(error: Exception) -> str:
    """The text that is printed for an error."""
    if isinstance(error, KeyError):
        return str(error.args[0])  # str(error) would quote it
    if isinstance(error, OSError) and error.strerror is not None:
        where = "" if error.filename is None else f"{error.filename}: "
        return f"{where}{error.strerror}."
    return str(error)


def is_of_full_disk(error: Exception) -> bool:
    """Whether an error of the operating system says that a disk, a quota or a file is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
