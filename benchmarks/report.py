"""What every benchmark says beside its numbers, and how it is asked for and stored."""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Sequence
from pathlib import Path

from gtcourse.training.records import current_commit, device_name, installed_versions


def provenance(name: str, **versions: str) -> dict:
    """Who measured what, where and when.

    Args:
        name: of the module in this folder; versions: of further packages.
    """
    return provenance_of(f"python -m benchmarks.{name}", **versions)


def provenance_of(command: str, **versions: str) -> dict:
    """The same of any command that leaves a record."""
    return {
        "command": command,
        "commit": current_commit(),
        "device": device_name(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "versions": installed_versions() | versions,
        "date": time.strftime("%Y-%m-%d"),
    }


def processor() -> str:
    """As the system calls it, or its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:  # not Linux
        return platform.processor() or platform.machine()
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def command_line(
    description: str, rounds: int | None = None, sizes: Sequence[int] | None = None
) -> argparse.ArgumentParser:
    """``--out`` for all, and ``--rounds`` and ``--sizes`` for those that have them."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    if rounds is not None:
        help_ = "how often each method has its turn"
        parser.add_argument("--rounds", type=at_least_two, default=rounds, help=help_)
    if sizes is not None:
        help_ = "atoms of the chains"
        parser.add_argument("--sizes", type=int, nargs="*", default=sizes, help=help_)
    parser.add_argument("--out", type=Path, help="write the result to this JSON file")
    return parser


def at_least_two(text: str) -> int:
    """Rounds; of fewer there are no quartiles."""
    if not text.isdecimal() or int(text) < 2:
        raise argparse.ArgumentTypeError(f"{text} rounds have no spread; expected 2 or more.")
    return int(text)


def store(content: dict, out: Path | None) -> None:
    """Writes the file, where one was asked for."""
    if out:
        out.write_text(json.dumps(content, indent=1) + "\n")
