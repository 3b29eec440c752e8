"""The course as others get it: a wheel, and a notebook's first cell."""

import importlib.util
import os
import re
import shutil
import sys
import zipfile
from pathlib import Path, PurePosixPath

import jupytext
import pytest
from IPython.core.interactiveshell import InteractiveShell

import gtcourse
from tests.process import run
from tools.paths import README, ROOT, TEXTS, slug

SOURCES = ["pyproject.toml", "README.md", "LICENSE", "gtcourse"]


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    """A copy of what a build reads, so that the working tree gets no build folder."""
    folder = tmp_path_factory.mktemp("sources")
    listing = ("git", "ls-files", "--cached", "--others", "--exclude-standard", *SOURCES)
    for name in filter(lambda name: (ROOT / name).is_file(), run(*listing, cwd=ROOT).splitlines()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(sources, tmp_path_factory) -> zipfile.ZipFile:
    """Built from the source archive, without a network."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", out, cwd=sources)
    assert len([*out.glob("*.tar.gz")]) == 1
    return zipfile.ZipFile(out / f"gtcourse-{gtcourse.__version__}-py3-none-any.whl")


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel, sources):
    files = (path for path in (sources / "gtcourse").rglob("*") if path.is_file())
    tracked = {path.relative_to(sources).as_posix() for path in files}
    others = {name for name in wheel.namelist() if name not in tracked}
    assert {*wheel.namelist()} - others == tracked
    assert {name.split("/")[0] for name in others} == {f"gtcourse-{gtcourse.__version__}.dist-info"}
    kinds = {PurePosixPath(name).suffix for name in tracked}
    assert kinds >= {".py", ".json", ".jsonl", ".safetensors", ".js"}
    assert "gtcourse/py.typed" in tracked


def test_the_wheel_runs_far_from_the_sources(wheel, tmp_path):
    """README's lines, the command, and recorded weights."""
    shutil.unpack_archive(wheel.filename, tmp_path / "site", "zip")
    there = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": str(tmp_path / "site")}}
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.S)
    code += """
import gtcourse
from gtcourse.course.records import recorded
from gtcourse.runs.record import PACKAGE, read_weights
print(gtcourse.__file__, len(read_weights(recorded("csa-100k/molecules")[0], PACKAGE)) > 0)"""
    shapes, found = run(sys.executable, "-c", code, **there).splitlines()
    assert shapes == "torch.Size([2, 3, 32]) torch.Size([2, 4, 3, 3])"
    assert found == f"{tmp_path}/site/gtcourse/__init__.py True"
    version = run(sys.executable, "-m", "gtcourse", "--version", **there)
    assert version == f"gtcourse {gtcourse.__version__}\n"


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
