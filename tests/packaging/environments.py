"""Virtual environments that hold the course and no distribution that it does not ask for.

A test environment has every extra and what these bring with them, so an import that nobody declared
works in it. Here the wheel is installed into an empty environment, and the distributions that its
metadata names, with those that they need in turn, are linked from the running one. That takes
seconds and no network.
"""

import os
import subprocess
import sys
import sysconfig
import venv
from collections import defaultdict
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.process import run

OF_THIS_PROCESS = ("PYTHONPATH", "PYTHONHOME", "PYTHONWARNINGS", "VIRTUAL_ENV", "GTCOURSE_BUDGET")


class Environment:
    """A virtual environment in ``folder`` with the wheel and what it needs with these extras."""

    def __init__(self, folder: Path, wheel: Path, extras: Iterable[str]):
        venv.create(folder, symlinks=True)
        self.folder = folder
        self.python = folder / "bin" / "python"
        # Before the links, and without dependencies: pip must never touch a file behind a link.
        pip = (sys.executable, "-m", "pip", "--python", self.python, "install", "--no-deps")
        run(*pip, "--no-index", wheel, env=os.environ | {"PIP_CONFIG_FILE": os.devnull})
        site = sysconfig.get_path("purelib", "venv", {"base": str(folder)})
        installed = {canonicalize_name(each.name): each for each in distributions()}
        (installed["gtcourse"],) = distributions(name="gtcourse", path=[site])
        needed = closure(Requirement(f"gtcourse[{','.join(extras)}]"), installed)
        link(needed - {"gtcourse"}, installed, Path(site))

    def run(self, *words: object, **options) -> subprocess.CompletedProcess[str]:
        """Runs a command here; it inherits nothing that this process was told.

        It has one thread, because threads that wait for a core beside other tests take many times
        the time of the computation.
        """
        told = {name: text for name, text in os.environ.items() if name not in OF_THIS_PROCESS}
        told["OMP_NUM_THREADS"] = "1"
        told["PATH"] = f"{self.folder / 'bin'}{os.pathsep}{told['PATH']}"
        done = subprocess.run(
            [*map(str, words)], env=told, capture_output=True, text=True, **options
        )
        assert done.returncode == 0, f"{words}\n{done.stdout[-1000:]}{done.stderr[-3000:]}"
        return done


def closure(wanted: Requirement, installed: dict[str, Distribution]) -> set[str]:
    """The names of a distribution, of those that it requires, of those that they require, …"""
    waiting = [wanted]
    seen = set()
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        for extra in {"", *requirement.extras}:
            if (name, extra) in seen:
                continue
            seen.add((name, extra))
            for line in installed[name].requires or []:
                needed = Requirement(line)
                if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                    waiting.append(needed)
    return {name for name, _ in seen}


def link(names: set[str], installed: dict[str, Distribution], site: Path) -> None:
    """Links all files of these distributions into a folder of packages.

    A folder is linked as one, unless others have files in it as well (``sphinxcontrib``).
    """
    owners = defaultdict(set)
    for name, each in installed.items():
        for file in each.files or []:
            owners[file.parts[0]].add(name)
    for name in names:
        for file in installed[name].files or []:
            first = file.parts[0]
            if first in ("..", "__pycache__"):  # scripts, which name the other Python
                continue
            path = Path(first) if owners[first] <= names else Path(file)
            link = site / path
            if not link.is_symlink():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(installed[name].locate_file(path))
