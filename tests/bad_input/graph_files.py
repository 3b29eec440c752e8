"""What is no graph file at all, or one that was made to do harm."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gtcourse.graphs import load_dataset, read_graphs, write_graphs
from tests.bad_input.case import Case
from tests.bad_input.payload import Payload
from tests.graphs.small import three_chains


def written(write: Callable[[Path], object]) -> Callable[[Path], Callable]:
    """Something else under the name of a graph file."""

    def make(folder: Path) -> Callable:
        write(folder / "graphs.npz")
        return lambda: read_graphs(folder / "graphs.npz")

    return make


def archive_of(*members: tuple[str, bytes], **options) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w", **options) as archive:
            for name, content in members:
                archive.writestr(name, content)

    return write


def one_array(path: Path) -> None:
    with open(path, "wb") as file:
        np.save(file, np.zeros(3))


def cut(path: Path) -> None:
    write_graphs(path, three_chains())
    path.write_bytes(path.read_bytes()[:-400])


def twice(path: Path) -> None:
    write_graphs(path, three_chains())
    with zipfile.ZipFile(path) as archive:
        content = archive.read("x.npy")
    with zipfile.ZipFile(path, "a") as archive:
        archive._didModify = True  # zipfile warns of what is done on purpose here
        info = zipfile.ZipInfo("x.npy")
        archive.NameToInfo.pop("x.npy")
        archive.writestr(info, content)


def pickled(path: Path) -> None:
    np.savez(path, num_nodes=np.array([Payload(path.parent / "executed")], dtype=object))


def huge_header(path: Path) -> None:
    """80 GB by its header, in 128 bytes."""
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000,), }"
    content = b"\x93NUMPY\x01\x00v\x00" + header.ljust(117).encode() + b"\n"
    archive_of(("num_nodes.npy", content))(path)


CASES = [
    Case("pickled objects", written(pickled), "{folder}/graphs.npz holds pickled objects under "),
    Case(
        "text",
        written(lambda path: path.write_bytes(b"this is text, not an archive")),
        "{folder}/graphs.npz is no .npz graph file, or its end is missing (28 bytes)",
    ),
    Case(
        "an empty file",
        written(lambda path: path.write_bytes(b"")),
        "{folder}/graphs.npz is no .npz graph file, or its end is missing (0 bytes)",
    ),
    Case("a single array", written(one_array), "{folder}/graphs.npz is no .npz graph file"),
    Case("a file without its end", written(cut), "is no .npz graph file, or its end is missing"),
    Case(
        "an archive of something else",
        written(archive_of(("readme.txt", b"hello"))),
        "{folder}/graphs.npz holds 'readme.txt'; expected .npy arrays with names of letters",
    ),
    Case(
        "an array whose name leads out of the folder",
        written(archive_of(("../../x.npy", b""))),
        "holds '../../x.npy'; expected .npy arrays with names of letters",
    ),
    Case(
        "an array whose name is one of Python's own",
        written(archive_of(("__class__.npy", b""))),
        "holds '__class__.npy'; expected .npy arrays with names of letters",
    ),
    Case(
        "an array twice", written(twice), "{folder}/graphs.npz holds 'x.npy' twice; expected each"
    ),
    Case(
        "an array packed as numpy never does",
        written(archive_of(("x.npy", b"1" * 99), compression=zipfile.ZIP_LZMA)),
        "holds 'x.npy' packed in another way than numpy's; expected it stored or deflated",
    ),
    Case(
        "a header of 80 gigabytes",
        written(huge_header),
        "cannot be read (it says float64 of shape [10000000000] and has 0 bytes of numbers)",
    ),
    Case(
        "an array that is no array",
        written(archive_of(("x.npy", b"hello"))),
        "{folder}/graphs.npz is damaged: 'x.npy' cannot be read",
    ),
    Case("an archive of nothing", written(archive_of()), "there is no array num_nodes, num_edges"),
    Case(
        "a file that is not there",
        lambda folder: lambda: load_dataset("zinc", source=folder / "lost.npz"),
        "there is no file {folder}/lost.npz; expected an .npz graph file",
        FileNotFoundError,
    ),
    Case(
        "a folder in a file's place",
        lambda folder: lambda: read_graphs(folder),
        "there is no file {folder}; expected an .npz graph file",
        FileNotFoundError,
    ),
    Case(
        "a name longer than any",
        lambda folder: lambda: read_graphs(folder / ("a" * 5000)),
        "expected an .npz graph file",
        FileNotFoundError,
    ),
    Case(
        "a name with a null byte",
        lambda folder: lambda: read_graphs(f"{folder}/a\0.npz"),
        "expected an .npz graph file",
        FileNotFoundError,
    ),
    Case(
        "a link to itself",
        lambda folder: (
            os.symlink(folder / "loop.npz", folder / "loop.npz"),
            lambda: read_graphs(folder / "loop.npz"),
        )[1],
        "there is no file {folder}/loop.npz; expected an .npz graph file",
        FileNotFoundError,
    ),
]
