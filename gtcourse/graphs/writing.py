"""Files that are the old one or the whole new one, and folders that one process at a time has.

A process can be killed at any moment, the disk can fill up, a folder can be read-only, and another
process can be about the same. What is written here is never read before it is whole.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import torch
from filelock import FileLock, Timeout

HALF = re.compile(r"\.(.+)\.[0-9a-f]{12}\.tmp")
"""The name of a file that is being written, and in it the name that it will have."""

FORGOTTEN = 24 * 60 * 60
"""Seconds after which nobody writes a half file any more: it is a killed process's."""

NO_ROOM = {
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "the limit on the size of a file is reached",
}


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends without error.

    Half files of the same name that a killed process left a day ago or earlier are removed.

    Raises:
        OSError: it cannot be written; one sentence says why. What was there is as it was.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    with in_a_sentence(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_halves(path.parent, path.name, older_than=FORGOTTEN)
        try:
            yield temporary
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


def write_tensors(path: Path, content: dict) -> None:
    """``torch.save``, whole or not at all; the same content gives the same bytes.

    torch itself writes the name of a path into the file, and of a full disk it says only at which
    byte it was.
    """
    buffer = BytesIO()
    torch.save(content, buffer)
    with replacing(path) as temporary:
        temporary.write_bytes(buffer.getbuffer())


def remove_halves(folder: Path, name: str | None = None, older_than: float = 0) -> None:
    """Removes what killed processes were writing, which never had the name of a file.

    Args:
        name: only of this file; otherwise of every file in the folder.
        older_than: seconds since the last byte; 0 is for who holds the folder's lock.
    """
    for path in folder.iterdir():
        half = HALF.fullmatch(path.name)
        if half and name in (None, half[1]):
            _remove_if_older(path, older_than)


@contextmanager
def locked(path: Path, otherwise: str | None = None) -> Iterator[None]:
    """A block that one process at a time is in; a killed process is in none.

    Within a thread it may be entered again. It needs a file system with locks (``flock``), as local
    disks and NFS have them; on one without, filelock warns of what it does instead, or nothing is
    written.

    Args:
        path: a file for the lock. It stays, empty.
        otherwise: the sentence to refuse with where another process is in the block; without it,
            this one says on stderr that it waits, and does.

    Raises:
        ValueError: another process is in the block, and ``otherwise`` is given.
        OSError: the lock's file cannot be made; one sentence says why.
        RuntimeError: the file system has no locks.
    """
    with in_a_sentence(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, is_singleton=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if otherwise is not None:
                raise ValueError(otherwise) from None
            said = f"another process is at work in {path.parent}; this one waits for its end."
            print(said, file=sys.stderr, flush=True)
            lock.acquire()
        except NotImplementedError:
            raise RuntimeError(
                f"{path.parent} is on a file system without locks; expected one that has them."
            ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def work_folder(path: Path) -> Iterator[Path]:
    """An empty folder that is gone in the end; if a killed process left it, the next empties it.

    For who holds a lock: its name is always the same.
    """
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    try:
        yield path
    finally:
        shutil.rmtree(path)


@contextmanager
def in_a_sentence(path: Path) -> Iterator[None]:
    """A block that writes ``path``; what the system says against it becomes one sentence.

    What it says of a file elsewhere goes through as it is.
    """
    try:
        yield
    except OSError as error:
        if error.filename is not None and not _belongs(Path(error.filename), path):
            raise
        if error.errno in NO_ROOM:
            sentence = (
                f"{path} cannot be written: {NO_ROOM[error.errno]}. What was there is as it was; "
                "make room and run the same again."
            )
        else:
            reason = os.strerror(error.errno) if error.errno else error
            sentence = (
                f"{path} cannot be written ({reason}); expected a folder that this process may "
                "write into."
            )
        said = OSError(sentence)
        said.errno = error.errno
        raise said from error


def _belongs(found: Path, path: Path) -> bool:
    """Whether it is the path, a folder above it, or lies beside or in it."""
    return found in (path, *path.parents) or found.parent in (path, path.parent)


def _remove_if_older(path: Path, seconds: float) -> None:
    try:
        if time.time() - path.stat().st_mtime >= seconds:
            path.unlink()
    except FileNotFoundError:  # another process was quicker
        return
