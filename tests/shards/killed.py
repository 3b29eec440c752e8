"""``python -m tests.shards.killed ROOT OUT COUNT``: is killed while it writes the COUNT-th shard.

Half of the file is written by then, as by a process that is killed from outside.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pyarrow.parquet as pq

from gtcourse.encodings import AddRings
from gtcourse.shards import pcqm4mv2, prepare

write_table = pq.write_table
left = int(sys.argv[3])


def write_half_and_die(table, path, **options) -> None:
    global left
    left -= 1
    write_table(table, path, **options)
    if left == 0:
        content = Path(path).read_bytes()
        Path(path).write_bytes(content[: len(content) // 2])
        os.kill(os.getpid(), signal.SIGKILL)


pq.write_table = write_half_and_die
prepare(pcqm4mv2(sys.argv[1]), sys.argv[2], stored=(AddRings(6),), rows_per_shard=4)
