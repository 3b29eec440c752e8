"""Files of ``torch.save`` as they were written, or not at all; nothing in them is executed.

``torch.load`` compares no checksums: a flipped bit in a weight would pass. The file is a zip
archive of stored members, each with its CRC-32, and these are compared here first.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import torch

from gtcourse.graphs.npz import is_file


def read_tensors(path: Path, expected: str, advice: str) -> object:
    """What ``torch.save`` wrote: tensors, numbers and text in lists and dictionaries.

    Args:
        expected: what the file is to be, for the sentence; advice: what to do about another one.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is damaged, it is something else, or it wants code to be run.
    """
    if not is_file(path):
        raise FileNotFoundError(f"there is no file {path}; expected {expected}.")
    try:
        _refuse_damage(path)
        return torch.load(path, map_location="cpu", weights_only=True)
    # Of a pickle that is none torch raises whatever its next instruction stumbles over.
    except Exception as error:
        why = "it names code to be run" if "nsupported" in str(error) else _brief(error)
        raise ValueError(
            f"{path} cannot be read ({why}); expected {expected}, whole. {advice}"
        ) from None


def _refuse_damage(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if len({*names}) < len(names):
            raise ValueError("it holds a part twice")
        # torch counts from the file's beginning, zipfile from its end: they have to see the same.
        if min((info.header_offset for info in archive.infolist()), default=1) != 0:
            raise ValueError("there is something before its first part")
        # Stored, a member is no larger than the file: nothing unpacks to more.
        packed = [info.filename for info in archive.infolist() if info.compress_type]
        if packed:
            raise ValueError(f"its part {packed[0]!r} is packed")
        damaged = archive.testzip()
    if damaged is not None:
        raise ValueError(f"its part {damaged!r} does not have its own checksum")


def _brief(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:150].rstrip(".")
