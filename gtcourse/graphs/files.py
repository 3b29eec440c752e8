"""Atomic file replacement, locks between processes, and libraries that only some data need."""

from __future__ import annotations

import hashlib
import io
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType

import torch
from filelock import FileLock, Timeout

UNFINISHED = re.compile(r"\.(.+)\.[0-9a-f]{12}\.tmp")
"""The name of a file that is being written, with the name that it will have."""

ABANDONED = 24 * 60 * 60
"""Seconds after which an unfinished file is taken to be a killed process's."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that replaces it when the block ends without an error.

    Unfinished files of the same name that a killed process left a day ago are removed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_unfinished(path)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def remove_unfinished(path: Path, older_than: float = ABANDONED) -> None:
    """Removes what writers of ``path`` left; at any age under a lock that they all hold."""
    for other in path.parent.iterdir():
        name = UNFINISHED.fullmatch(other.name)
        with suppress(FileNotFoundError):  # another process may be faster
            if name and name[1] == path.name and time.time() - other.stat().st_mtime >= older_than:
                other.unlink()


def write_tensors(path: Path, content: dict) -> None:
    """``torch.save``, atomically; the same content gives the same bytes.

    torch itself would write the temporary path's name into the file.
    """
    buffer = io.BytesIO()
    torch.save(content, buffer)
    with replacing(path) as temporary:
        temporary.write_bytes(buffer.getbuffer())


@contextmanager
def locked(path: Path, busy: str | None = None) -> Iterator[None]:
    """A block that one process at a time executes; a thread may enter it again.

    Args:
        path: a file for the lock. It stays, empty.
        busy: the message to raise if another process holds the lock; by default, wait for it.

    Raises:
        ValueError: another process holds the lock, and ``busy`` is given.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path, is_singleton=True)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        if busy is not None:
            raise ValueError(busy) from None
        print(f"Waiting for another process to finish in {path.parent}.", file=sys.stderr)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def work_folder(path: Path) -> Iterator[Path]:
    """An empty folder, removed in the end; one that a killed process left is emptied first."""
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    try:
        yield path
    finally:
        shutil.rmtree(path)


def file_sha256(path: str | Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require(module: str, package: str) -> ModuleType:
    """Imports a module, or raises an ImportError that says how to install its package."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            f"this needs {package}, which is not installed; install it with `pip install "
            f"{package}`. Graph files (load_dataset(name, source='….npz')) are read without it."
        ) from None
