"""Named arrays in one ``.npz`` file: no pickles, the same bytes for the same content, atomic.

``numpy.load`` reads these files; ``numpy.savez`` stamps the time of writing into them and may
leave half a file behind, so they are written here.
"""

from __future__ import annotations

import hashlib
import io
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from gtcourse.graphs.writing import replacing

DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    tokenize.TokenError,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    UnicodeError,
    ValueError,
    KeyError,
    OverflowError,
    MemoryError,
)
"""What ``zipfile`` and numpy's ``.npy`` reader raise, depending on where a file is damaged."""


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
    """Reads every array, checked against the archive's own checksums.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no ``.npz``, it is damaged, or it holds pickled objects.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}; expected an .npz graph file.")
    if not zipfile.is_zipfile(path):
        raise ValueError(
            f"{path} is no .npz graph file, or its end is missing ({path.stat().st_size} bytes); "
            "expected a zip archive of .npy arrays."
        )
    with zipfile.ZipFile(path) as archive:
        return {
            name.removesuffix(".npy"): _read_member(path, archive, name)
            for name in archive.namelist()
        }


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


def _read_member(path: Path, archive: zipfile.ZipFile, name: str) -> np.ndarray:
    try:
        content = archive.read(name)  # all of it, so that zipfile compares its CRC-32
        if not name.endswith(".npy"):
            raise ValueError("not an .npy array")
        return np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    except DAMAGE as error:
        if "allow_pickle" in str(error):
            raise ValueError(
                f"{path} holds pickled objects under {name!r}; expected plain numbers or text, "
                "because unpickling a file runs whatever code it carries."
            ) from None
        raise ValueError(
            f"{path} is damaged: {name!r} cannot be read ({error}); expected an .npy array. "
            "Delete the file and get it again."
        ) from None
