"""Files that are small and say that they are large: ``python -m tests.bad_input.bombs FOLDER``.

As a program it may use 512 MiB more than it has after its imports, and prints what each cost.
"""

from __future__ import annotations

import json
import resource
import struct
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from gtcourse.graphs import read_graphs
from gtcourse.graphs.json_files import MOST_BYTES
from gtcourse.shards.format import read_shard
from gtcourse.training.checkpoint import read_tensors
from gtcourse.training.records import read_record

MIB = 2**20
ALLOWED = 512 * MIB
BLOCK = 16 * MIB


def deflated_zeros(size: int) -> bytes:
    """A raw deflate stream of so many zeros, made of one block that is repeated."""
    packer = zlib.compressobj(9, wbits=-15)
    block = packer.compress(bytes(BLOCK)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * (size // BLOCK) + zlib.compressobj(9, wbits=-15).flush()


def archive(name: str, content: bytes, said: int, times: int = 1) -> bytes:
    """A zip of one deflated member that says it has ``said`` bytes, listed so many times."""
    encoded = name.encode()
    sizes = (0, len(content), min(said, 2**32 - 1), len(encoded))
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 8, 0, 33, *sizes, 0) + encoded
    places, listing = len(local) + len(content), b""
    for number in range(times):
        entry = encoded if times == 1 else f"a{number}.npy".encode()
        sizes = (0, len(content), min(said, 2**32 - 1), len(entry))
        listing += struct.pack(
            "<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 8, 0, 33, *sizes, 0, 0, 0, 0, 0, 0
        )
        listing += entry
    end = struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, times, times, len(listing), places, 0)
    return local + content + listing + end


def zip_bomb(path: Path) -> int:
    size = 4096 * MIB - BLOCK
    path.write_bytes(archive("x.npy", deflated_zeros(size), said=size))
    return size


def liar(path: Path) -> int:
    """It says 100 bytes, and unpacks to gigabytes."""
    size = 4096 * MIB - BLOCK
    path.write_bytes(archive("x.npy", deflated_zeros(size), said=100))
    return size


def overlapping(path: Path) -> int:
    """A thousand arrays, all of them the same bytes of the file."""
    size = 16 * MIB
    path.write_bytes(archive("a0.npy", deflated_zeros(size), said=size, times=1000))
    return 1000 * size


def header(path: Path) -> int:
    """80 GB by the header of an array of no bytes."""
    text = "{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000,), }"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("x.npy", b"\x93NUMPY\x01\x00v\x00" + text.ljust(117).encode() + b"\n")
    return 80 * 10**9


def empty_text(path: Path) -> int:
    """A file of 20 GB that takes no room on the disk."""
    with open(path, "wb") as file:
        file.truncate(20 * 10**9)
    return 20 * 10**9


def digits(path: Path) -> int:
    path.write_text('{"seed": ' + "9" * (MOST_BYTES - 100) + "}")
    return MOST_BYTES


def packed_weights(path: Path) -> int:
    size = 4096 * MIB - BLOCK
    path.write_bytes(archive("archive/data/0", deflated_zeros(size), said=size))
    return size


def constant_column(path: Path) -> int:
    """A column that repeats one number: its pages are almost nothing."""
    rows = 2**24
    table = pa.table({"x": _zeros(rows)})
    with pq.ParquetWriter(path, table.schema, use_dictionary=True) as writer:
        for _ in range(40):
            writer.write_table(table)
    return 40 * rows * 8


def _zeros(rows: int) -> pa.Array:
    return pa.Array.from_buffers(pa.uint8(), rows, [None, pa.py_buffer(bytes(rows))])


def read_weights_file(path: Path) -> object:
    return read_tensors(path, "the weights of a run")


BOMBS: dict[str, tuple[Callable[[Path], int], Callable[[Path], object], str]] = {
    "a graph file that unpacks to 4 GiB": (zip_bomb, read_graphs, "a.npz"),
    "a graph file that unpacks to 4 GiB and says 100 bytes": (liar, read_graphs, "b.npz"),
    "a graph file with one array a thousand times": (overlapping, read_graphs, "c.npz"),
    "a graph file whose array says 80 GB": (header, read_graphs, "d.npz"),
    "a record of 20 GB": (empty_text, read_record, "e.json"),
    "a record with a number of 16 MiB": (digits, read_record, "f.json"),
    "weights that unpack to 4 GiB": (packed_weights, read_weights_file, "g.pt"),
    "a shard that repeats one number": (constant_column, read_shard, "h.parquet"),
    "a shard of 20 GB": (empty_text, read_shard, "i.parquet"),
}


def resident(name: str) -> int:
    """VmRSS, or VmHWM: what this process holds now, or held at most."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {name}; expected Linux.")


@contextmanager
def limited(allowed: int) -> Iterator[None]:
    """No more address space than this process has, and ``allowed``."""
    has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (has + allowed, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def measure(what: str, folder: Path) -> dict:
    """What reading a bomb says, and how much memory it takes at most."""
    make, read, name = BOMBS[what]
    declared = make(folder / name)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = resident("VmRSS")
    with limited(ALLOWED):
        try:
            read(folder / name)
            sentence = None
        except (ValueError, FileNotFoundError) as error:
            sentence = str(error).replace(f"{folder}/", "")
    peak = max(0, resident("VmHWM") - before)
    (folder / name).unlink()
    return {
        "what": what,
        "declared_mib": round(declared / MIB),
        "peak_mib": round(peak / MIB, 1),
        "sentence": sentence,
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps([measure(what, Path(sys.argv[1])) for what in BOMBS]))
