"""The course as others get it: a source archive, a wheel, and a notebook's first cell."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import jupytext
import pytest
from IPython.core.interactiveshell import InteractiveShell

import gtcourse
from tools.paths import README, ROOT, TEXTS, slug

SOURCES = ["pyproject.toml", "README.md", "LICENSE", "gtcourse"]
NOT_IN_IT = {"tests", "tools", "book", "notebooks", "student", "benchmarks", "cluster"}


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    """A copy of what a build reads, so that the working tree gets no build folder."""
    folder = tmp_path_factory.mktemp("sources")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *SOURCES]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, check=True)
    for name in filter(lambda name: (ROOT / name).is_file(), done.stdout.splitlines()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def built(sources, tmp_path_factory) -> Path:
    """A folder with the source archive and the wheel that was built from it; no network."""
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out)]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def wheel(built) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    assert path.name == f"gtcourse-{gtcourse.__version__}-py3-none-any.whl"
    return zipfile.ZipFile(path)


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel, sources):
    files = (path for path in (sources / "gtcourse").rglob("*") if path.is_file())
    tracked = {path.relative_to(sources).as_posix() for path in files}
    others = {name for name in wheel.namelist() if name not in tracked}
    assert {*wheel.namelist()} - others == tracked
    assert {PurePosixPath(name).parts[0] for name in others} == {
        f"gtcourse-{gtcourse.__version__}.dist-info"
    }
    assert {PurePosixPath(name).suffix for name in tracked} >= {".py", ".json", ".pt", ".js"}
    assert "gtcourse/py.typed" in tracked


def test_the_source_archive_has_what_a_build_reads(built):
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        files = {"/".join(PurePosixPath(name).parts[1:]) for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "gtcourse/__init__.py"} <= files
    assert not {name.split("/")[0] for name in files} & NOT_IN_IT


def test_the_wheel_runs_far_from_the_sources(wheel, tmp_path):
    """README's lines, the command, and recorded weights."""
    shutil.unpack_archive(wheel.filename, tmp_path / "site", "zip")
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}

    def run(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("-c", "import gtcourse; print(gtcourse.__file__)").startswith(str(tmp_path))
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    assert run("-c", code) == "torch.Size([2, 3, 32]) torch.Size([2, 4, 3, 3])\n"
    assert run("-m", "gtcourse", "--version") == f"gtcourse {gtcourse.__version__}\n"
    weights = "read_weights(recorded('csa-100k/molecules')[0])"
    names = "from gtcourse.training.records import read_weights, recorded"
    assert run("-c", f"{names}; print(len({weights}) > 0)") == "True\n"


# The first cell of a notebook installs the course where it is not there, as on Colab.


@pytest.fixture(scope="module")
def installs() -> set[str]:
    cells = [jupytext.read(path).cells for path in sorted(TEXTS.glob("*.md"))]
    return {next(c.source for c in chapter if c.cell_type == "code") for chapter in cells}


def test_all_notebooks_begin_with_the_same_cell_but_for_the_extras(installs):
    assert len({re.sub(r"gtcourse\[.*?\]", "gtcourse[…]", cell) for cell in installs}) == 1
    assert all(f"git+https://github.com/{slug()}" in cell for cell in installs)


@pytest.mark.parametrize("there", [True, False])
def test_the_first_cell_installs_what_is_missing_and_tells_where_that_failed(
    installs, there, monkeypatch
):
    asked = []
    shell = InteractiveShell.instance()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: there or None)
    monkeypatch.setattr(shell, "run_line_magic", lambda *words, **_: asked.append(words))
    result = shell.run_cell(next(iter(installs)))
    assert [name for name, _ in asked] == ([] if there else ["pip"])
    if not there:
        assert "The course could not be installed. See pip" in str(result.error_in_exec)
