"""Named arrays in one ``.npz`` file: no pickles, the same bytes for the same content, atomic.

``numpy.load`` reads these files; ``numpy.savez`` stamps the time of writing into them and may
leave half a file behind, so they are written here.
"""

from __future__ import annotations

import hashlib
import io
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from math import prod
from pathlib import Path

import numpy as np

from gtcourse.graphs.writing import replacing

DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    tokenize.TokenError,
    EOFError,
    NotImplementedError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    UnicodeError,
    ValueError,
)
"""What ``zipfile`` and numpy's ``.npy`` reader raise, depending on where a file is damaged.

Without ``MemoryError``: what a file says of its sizes is compared with its own before anything of
that size is made.
"""

UNPACKED, ALWAYS = 100, 2**28
"""A file may unpack to so many times its size, or to 256 MiB; a zip bomb wants a thousand times."""


def write_npz(path: str | Path, arrays: Mapping[str, np.ndarray]) -> str:
    """Writes arrays under their names; another process sees the old file or the whole new one.

    Members are sorted, stored uncompressed (compressors differ between machines), little-endian
    and dated 1980, so that the same arrays give the same bytes everywhere.

    Returns:
        sha256 of the file.
    """
    with replacing(Path(path)) as temporary:
        with zipfile.ZipFile(temporary, "x", zipfile.ZIP_STORED) as archive:
            for name in sorted(arrays):
                archive.writestr(_member(name), _npy(arrays[name]))
        return file_sha256(temporary)


def read_npz(path: str | Path) -> dict[str, np.ndarray]:
    """Reads every array, checked against the archive's own checksums; nothing is executed.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no ``.npz``, it is damaged, it holds pickled objects, an array twice or
            one whose name is none, or it would unpack to far more than its size.
    """
    path = Path(path)
    if not is_file(path):
        raise FileNotFoundError(f"there is no file {brief(path)}; expected an .npz graph file.")
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path} is no .npz graph file, or its end is missing ({path.stat().st_size} bytes); "
            "expected a zip archive of .npy arrays."
        )
    member = "the list of its arrays"
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            _refuse_members(members, path.stat().st_size)
            arrays = {}
            for info in members:
                member = repr(info.filename)
                arrays[info.filename.removesuffix(".npy")] = _read_member(archive, info)
            return arrays
    except _RefusedError as error:
        raise ValueError(f"{path} {error}") from None
    except DAMAGE as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0][:200].rstrip(".")
        raise ValueError(
            f"{path} is damaged: {member} cannot be read ({said}); expected .npy arrays. "
            "Delete the file and get it again."
        ) from None


def brief(path: Path) -> str:
    """A path as a sentence can hold it."""
    return str(path) if len(str(path)) <= 300 else f"{str(path)[:100]}…"


def is_file(path: Path) -> bool:
    """Whether there is one; a name that no file can have is that of none."""
    try:
        return path.is_file()
    except (OSError, ValueError):  # too long; a null byte
        return False


def file_sha256(path: str | Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system = 3  # zipfile notes the operating system otherwise
    info.external_attr = 0o644 << 16
    return info


def _npy(array: np.ndarray) -> bytes:
    array = np.ascontiguousarray(array) if array.ndim else array
    buffer = io.BytesIO()
    little_endian = array.astype(array.dtype.newbyteorder("<"), copy=False)
    np.lib.format.write_array(buffer, little_endian, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


class _RefusedError(ValueError):
    """Not damage: somebody wrote it so."""


def _refuse_members(members: list[zipfile.ZipInfo], size: int) -> None:
    """Refuses what need not be read to be known."""
    seen = set()
    for info in members:
        name = info.filename.removesuffix(".npy")
        if info.filename in seen:
            raise _RefusedError(f"holds {info.filename[:80]!r} twice; expected each array once.")
        if name == info.filename or not name.isidentifier() or name.startswith("_"):
            raise _RefusedError(
                f"holds {info.filename[:80]!r}; expected .npy arrays with names of letters, digits "
                "and underscores, such as 'edge_index.npy'."
            )
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _RefusedError(
                f"holds {info.filename!r} packed in another way than numpy's; expected it stored "
                "or deflated."
            )
        seen.add(info.filename)
    unpacked, most = sum(info.file_size for info in members), max(ALWAYS, UNPACKED * size)
    if unpacked > most:
        raise _RefusedError(
            f"has {size:,} bytes and would unpack to {unpacked:,}; expected at most {most:,}."
        )


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(info) as member:
        # All of it, so that zipfile compares its CRC-32, and no more, whatever it unpacks to.
        content = io.BytesIO(member.read(info.file_size))
    _refuse_header(info, content)
    return np.lib.format.read_array(content, allow_pickle=False)


def _refuse_header(info: zipfile.ZipInfo, content: io.BytesIO) -> None:
    """Refuses pickles, and an array of another size than its bytes; leaves ``content`` rewound."""
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(np.lib.format.read_magic(content))
    if read_header is None:
        raise ValueError("an .npy format of neither version 1 nor 2")
    shape, _, dtype = read_header(content)
    if dtype.hasobject:
        raise _RefusedError(
            f"holds pickled objects under {info.filename!r}; expected plain numbers or text, "
            "because unpickling a file runs whatever code it carries."
        )
    bytes_left = info.file_size - content.tell()
    if dtype.itemsize == 0 or prod(shape) * dtype.itemsize != bytes_left:
        raise ValueError(
            f"it says {dtype} of shape {list(shape)} and has {bytes_left} bytes of numbers"
        )
    content.seek(0)
