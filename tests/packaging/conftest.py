"""The course as others get it: a source archive and a wheel, built once from what is tracked."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.paths import ROOT

SOURCES = ["pyproject.toml", "README.md", "LICENSE", "gtcourse"]


@pytest.fixture(scope="session")
def sources(tmp_path_factory) -> Path:
    """A copy of what a build reads, so that the working tree gets no build folder."""
    folder = tmp_path_factory.mktemp("sources")
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", *SOURCES],
        cwd=ROOT, text=True, capture_output=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    for name in listed:
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def built(sources, tmp_path_factory) -> Path:
    """A folder with the source archive and the wheel that was built from it; no network."""
    return _build(sources, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def wheel(built) -> Path:
    (path,) = built.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def sdist(built) -> Path:
    (path,) = built.glob("*.tar.gz")
    return path


@pytest.fixture(scope="session")
def wheel_of_the_tree(sources, tmp_path_factory) -> Path:
    (path,) = _build(sources, tmp_path_factory.mktemp("direct"), "--wheel").glob("*.whl")
    return path


def _build(sources: Path, out: Path, *options: str) -> Path:
    command = [sys.executable, "-m", "build", "--no-isolation", *options, "--outdir", str(out)]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out
