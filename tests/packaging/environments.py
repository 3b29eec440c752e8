"""Environments that hold chosen distributions of the running one, made in seconds."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

# What the running process was told must not reach into the new environment.
OUTSIDE = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONWARNINGS"}


def environment(folder: Path, names: list[str]) -> Path:
    """A new environment with these distributions, all that they need, and pip; its Python.

    Their files are hard links (copies, on another file system): what pip removes here stays where
    it came from.
    """
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    place = Path(ask(python, "import sysconfig; print(sysconfig.get_path('purelib'))"))
    for found in closure([*names, "pip"]).values():
        _link(found, place)
    return python


def closure(names: list[str]) -> dict[str, Distribution]:
    """These distributions and all that they need, of those that are installed."""
    found: dict[str, Distribution] = {}
    waiting, met = [Requirement(name) for name in names], set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        for extra in wanted.extras | {""}:
            if (name, extra) not in met:
                met.add((name, extra))
                found[name] = distribution(name)
                waiting += _needed(found[name], extra)
    return found


def _needed(found: Distribution, extra: str) -> list[Requirement]:
    needs = [Requirement(line) for line in found.requires or []]
    return [need for need in needs if not need.marker or need.marker.evaluate({"extra": extra})]


def _link(found: Distribution, place: Path) -> None:
    for file in found.files or []:
        source = Path(found.locate_file(file))
        if ".." in file.parts or not source.is_file():  # scripts, which name the old Python
            continue
        target = place / file
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except OSError:  # another file system
            shutil.copy2(source, target)


def run(python: Path, *words: str, cwd: Path) -> subprocess.CompletedProcess:
    """A command of the environment, told nothing by this process."""
    inherited = {name: value for name, value in os.environ.items() if name not in OUTSIDE}
    return subprocess.run(
        [str(python), *words], cwd=cwd, env=inherited, capture_output=True, text=True, check=False
    )


def ask(python: Path, code: str) -> str:
    done = run(python, "-c", code, cwd=python.parent)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


STATE = """
import hashlib, json, sys
from importlib.metadata import distribution
state = {}
for name in sys.argv[1:]:
    found = distribution(name)
    files = [found.locate_file(file) for file in found.files if ".." not in file.parts]
    stats = [file.stat() for file in files if file.suffix != ".pyc" and file.exists()]
    record = found.read_text("RECORD").encode()
    state[name] = [
        found.version, hashlib.sha256(record).hexdigest(), len(stats),
        [(stat.st_ino, stat.st_mtime_ns, stat.st_size) for stat in stats],
    ]
print(json.dumps(state))
"""


def state(python: Path, names: list[str]) -> dict[str, list]:
    """Version, hash of the list of files, and inode, time and size of each file."""
    done = run(python, "-c", STATE, *names, cwd=python.parent)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
