"""Two processes of one training as torchrun starts them, forked from one that imported PyTorch.

Each process of torchrun takes seconds to import PyTorch and what training needs.
tests/test_cluster.py trains with torchrun itself.
"""

import os
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.faults.jobs import Child

LIMIT = 120
"""Seconds that both processes have."""


def two_processes(job: Callable[[Path], object], folder: Path, machines: int = 1) -> list[str]:
    """Calls ``job(folder)`` in both, on one machine or as if on two; what each has printed."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = [
        Child(partial(_as_torchrun, job, rank, machines, port, folder), folder / f"process-{rank}")
        for rank in range(2)
    ]
    ends = time.monotonic() + LIMIT
    while any(child.process.is_alive() for child in children):
        failed = any(child.process.exitcode for child in children)
        if failed or time.monotonic() > ends:
            for child in children:
                child.process.kill()  # as torchrun does; one alone would wait for the other
        time.sleep(0.02)
    for child in children:
        child.end()
    codes = [child.code for child in children]
    assert codes == [0, 0], "\n".join(child.output for child in children)
    return [child.output for child in children]


def _as_torchrun(
    job: Callable[[Path], object], rank: int, machines: int, port: int, folder: Path, _: Path
) -> None:
    here = 2 // machines
    numbers = {
        "RANK": rank,
        "WORLD_SIZE": 2,
        "LOCAL_RANK": rank % here,
        "LOCAL_WORLD_SIZE": here,
        "GROUP_RANK": rank // here,
        "GROUP_WORLD_SIZE": machines,
        "MASTER_PORT": port,
    }
    os.environ |= {name: str(number) for name, number in numbers.items()}
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "TORCHELASTIC_RUN_ID": "tests"}
    job(folder)
