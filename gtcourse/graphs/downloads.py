"""Files from their publishers: over TLS, compared with a pinned digest, unpacked by name.

PyG's downloader does not look at certificates and ogb asks for http, so the course has its own.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import shutil
import ssl
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, Request, build_opener

import numpy as np
import torch
from tqdm import tqdm

from gtcourse.graphs.files import file_sha256, locked, replacing

PINS = "downloads.sha256"
"""Where the digests of what had no published one are kept, beside the datasets."""

CHUNK = 1 << 20
LARGEST = 16 << 30
"""Bytes; several times what the largest archive of the course holds."""


@dataclass(frozen=True)
class Download:
    """An address, and what is wanted of what lies there.

    Attributes:
        url: https only.
        files: paths below the folder, and which member of the zip archive each one is; one path
            with an empty member is the file at the address itself.
        digest: "sha256:…" or "md5:…" where one is published. Else the first download is taken as
            it is, its sha256 is kept in ``PINS``, and every later one is compared with that.
    """

    url: str
    files: Mapping[str, str]
    digest: str | None = None


def download(downloads: Iterable[Download], folder: Path, root: Path) -> dict[str, str]:
    """Every file of these below ``folder``; nothing is unpacked that is not what it was.

    Args:
        root: where :func:`pin` keeps digests.

    Returns:
        sha256 by address of what was seen for the first time, for :func:`pin` to keep.

    Raises:
        ValueError: an address is not https, or what lies there is not what was pinned.
        OSError: the network, a certificate, or the disk.
    """
    known = pins(root)
    new = {}
    for each in downloads:
        archive = folder / "download"
        _fetch(each.url, archive)
        if each.digest is None and each.url not in known:
            new[each.url] = file_sha256(archive)
        else:
            _compare(each.url, archive, each.digest or f"sha256:{known[each.url]}")
        _unpack(archive, folder, each.files)
    return new


def pin(root: Path, new: Mapping[str, str]) -> None:
    """Keeps sha256 of addresses and files, and says which of them nobody had published."""
    if not new:
        return
    with locked(root / f".{PINS}.lock"):  # of two data sets at once, both are kept
        kept = pins(root) | dict(new)
        with replacing(root / PINS) as temporary:
            lines = [f"{digest}  {what}\n" for what, digest in sorted(kept.items())]
            temporary.write_text("".join(lines), encoding="utf-8")
    for what, digest in new.items():
        if what.startswith("https://"):
            print(
                f"{what} has sha256 {digest}. No published one of it is known, so this one is "
                f"kept in {root / PINS}, and a later download that differs is refused.",
                file=sys.stderr,
            )


def pins(root: Path) -> dict[str, str]:
    """What :func:`pin` kept."""
    path = root / PINS
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {what: digest for digest, _, what in (line.partition("  ") for line in lines)}


def _fetch(url: str, path: Path) -> None:
    with _open(url) as response, open(path, "wb") as file:
        length = response.headers.get("Content-Length")
        length = int(length) if length else None
        name = Path(urlsplit(url).path).name
        with tqdm(total=length, unit="B", unit_scale=True, desc=name, disable=None) as bar:
            while chunk := response.read(CHUNK):
                bar.update(file.write(chunk))
                if file.tell() > LARGEST:
                    raise ValueError(f"{url} is larger than {LARGEST >> 30} GiB")
        if length is not None and file.tell() != length:  # urllib says nothing of it
            raise ValueError(f"{url} ended after {file.tell():,} of {length:,} bytes")


def _open(url: str):
    opener = build_opener(HTTPSHandler(context=ssl.create_default_context()), _OnlyToHttps)
    return opener.open(Request(_https(url), headers={"User-Agent": "gtcourse"}), timeout=60)  # noqa: S310 (https only)


class _OnlyToHttps(HTTPRedirectHandler):
    def redirect_request(self, request, file, code, message, headers, newurl):
        return super().redirect_request(request, file, code, message, headers, _https(newurl))


def _https(url: str) -> str:
    if urlsplit(url).scheme != "https":
        raise ValueError(f"the address is {url}; expected one that begins with https://")
    return url


def _compare(url: str, path: Path, expected: str) -> None:
    algorithm = expected.partition(":")[0]
    with open(path, "rb") as file:
        found = f"{algorithm}:{hashlib.file_digest(file, algorithm).hexdigest()}"
    if found != expected:
        raise ValueError(f"{url} is not what was pinned: it has {found}; expected {expected}")


def _unpack(archive: Path, folder: Path, files: Mapping[str, str]) -> None:
    """The wanted members and no other, to the paths that we chose."""
    targets = {folder / path: member for path, member in files.items()}
    for target in targets:
        target.parent.mkdir(parents=True, exist_ok=True)
    if list(files.values()) == [""]:
        archive.rename(*targets)
        return
    with zipfile.ZipFile(archive) as opened:
        missing = sorted(set(files.values()) - set(opened.namelist()))
        if missing:
            raise ValueError(f"the archive has no {', '.join(missing)}")
        size = sum(opened.getinfo(member).file_size for member in files.values())
        if size > LARGEST:
            raise ValueError(f"the archive would unpack to {size:,} bytes")
        for target, member in targets.items():
            with opened.open(member) as source, open(target, "wb") as file:
                shutil.copyfileobj(source, file, CHUNK)
    archive.unlink()


def load_tensors(path: Path) -> Any:
    """Tensors in lists, tuples and dicts, from a file written by plain ``pickle``.

    Raises:
        pickle.UnpicklingError: the file asks for something else.
    """
    with open(path, "rb") as file:
        return _Tensors(file).load()


class _Tensors(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        # New functions each time: a pickle can set attributes on what it is handed.
        known = {
            "collections.OrderedDict": OrderedDict,
            "_codecs.encode": lambda text, _: text.encode("latin1"),  # bytes, before protocol 3
            "torch._utils._rebuild_tensor_v2": lambda *parts: torch._utils._rebuild_tensor_v2(
                *parts
            ),
            "torch.storage._load_from_bytes": lambda content: torch.load(
                io.BytesIO(content), weights_only=True
            ),
        }
        if f"{module}.{name}" not in known:
            raise pickle.UnpicklingError(
                f"the file asks for {module}.{name}; expected tensors and nothing else"
            )
        return known[f"{module}.{name}"]


def load_integers(path: Path) -> dict[str, np.ndarray]:
    """A dict of arrays of integers, from a file that ``torch.save`` wrote.

    numpy's own way to rebuild an array trusts the type that the file states, also one of objects;
    so numpy's names lead to :class:`_Array` and :class:`_Type` here, which know 64 bits.

    Raises:
        pickle.UnpicklingError: the file holds something else.
    """
    stand_ins = [
        (_Array, "numpy.ndarray"),
        (_Type, "numpy.dtype"),
        # The name before numpy 2, and since.
        (_reconstruct, "numpy.core.multiarray._reconstruct"),
        (_reconstruct, "numpy._core.multiarray._reconstruct"),
    ]
    with torch.serialization.safe_globals(stand_ins):
        found = torch.load(path, weights_only=True)
    return {key: array.values for key, array in found.items()}


class _Array:
    def __setstate__(self, state: tuple) -> None:
        _, shape, _, _, content = state
        self.values = np.frombuffer(content, dtype="<i8").reshape(shape)


class _Type:
    def __init__(self, code: str, *_: bool):
        if code != "i8":
            raise pickle.UnpicklingError(f"the file has an array of type {code!r}; expected 'i8'")

    def __setstate__(self, state: tuple) -> None:
        if state[1] != "<":
            raise pickle.UnpicklingError("the file has an array of other bytes; expected '<i8'")


def _reconstruct(kind: type, *_: Any) -> _Array:
    return _Array()
