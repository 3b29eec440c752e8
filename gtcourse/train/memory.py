"""Memory that a process has freed, and whether it keeps it for its next step."""

import ctypes
import platform

M_TRIM_THRESHOLD = -1
M_MMAP_MAX = -4
"""Numbers of two options in glibc's ``malloc.h``."""


def keep_freed_memory() -> bool:
    """Makes this process keep the memory that it frees, and says whether it does.

    By default, glibc's malloc gives large blocks that are freed back to the operating system. A
    training step on a CPU frees and allocates the same large tensors again and again, so each step
    waits until the system has provided the memory anew. With this function the process keeps what
    it has, up to the largest amount that it needed at any time. Results do not change.

    Returns:
        Whether the process keeps its memory: False for other C libraries than glibc, which have
        no such options.
    """
    if platform.libc_ver()[0] != "glibc":
        return False
    libc = ctypes.CDLL(None)
    never_trimmed = libc.mallopt(M_TRIM_THRESHOLD, -1)
    never_mapped = libc.mallopt(M_MMAP_MAX, 0)
    return bool(never_trimmed and never_mapped)
