"""The course as others get it: a wheel, and a notebook's first cell."""

import ast
import importlib.util
import json
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from itertools import chain
from pathlib import Path, PurePosixPath

import jupytext
import pytest
from IPython.core.inputtransformer2 import TransformerManager

import gtcourse
from tests.packaging.environments import Environment
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


# Installed with the README's extras, and without anything that these do not require.

README_TEXT = README.read_text(encoding="utf-8")
COMMANDS = [
    shlex.split(line, comments=True)
    for block in re.findall(r"```bash\n(.*?)```", README_TEXT, re.S)
    for line in block.splitlines()
]
EXTRAS = re.compile(r"gtcourse\[([\w,]+)\] @ ")


@pytest.fixture(scope="module")
def environment(wheel, tmp_path_factory) -> Callable[..., Environment]:
    """The environment with the wheel and the named extras."""

    @cache
    def created(*extras: str) -> Environment:
        folder = tmp_path_factory.mktemp("environment")
        return Environment(folder, Path(wheel.filename), extras)

    return created


@pytest.mark.slow
def test_the_readmes_example_layer_needs_no_extras(environment, tmp_path):
    (code,) = re.findall(r"```python\n(.*?)```", README_TEXT, re.S)
    code += """
import gtcourse
from gtcourse.course.records import recorded
from gtcourse.runs.record import PACKAGE, read_weights
print(gtcourse.__file__, len(read_weights(recorded("csa-100k/molecules")[0], PACKAGE)) > 0)"""
    plain = environment()
    shapes, found = plain.run(plain.python, "-c", code, cwd=tmp_path).stdout.splitlines()
    assert shapes == "torch.Size([2, 3, 32]) torch.Size([2, 4, 3, 3])"
    file, are_weights = found.split()
    assert Path(file).is_relative_to(plain.folder)
    assert are_weights == "True"
    version = plain.run("gtcourse", "--version", cwd=tmp_path).stdout
    assert version == f"gtcourse {gtcourse.__version__}\n"


# Each in a process of its own, forked from one that imported PyTorch and what training imports,
# which takes seconds. So are the processes that a command starts for its seeds. Frozen, the objects
# are not visited when memory is collected; a forked process ends without taking them apart.
RUN_COMMANDS = """
import gc, json, multiprocessing, sys
from types import SimpleNamespace
import gtcourse.cli, gtcourse.predict, gtcourse.runs.run, lightning_fabric, torchmetrics
from gtcourse.course.commands import main

class Forked(multiprocessing.get_context("fork").Process):
    def __init__(self, words):
        assert words[:3] == [sys.executable, "-m", "gtcourse"]
        super().__init__(target=call, args=(["gtcourse", *words[3:]],))
        self.start()

    def poll(self):
        return self.exitcode

    def wait(self):
        self.join()
        return self.exitcode

def call(words):
    sys.argv = words
    sys.exit(main())

gtcourse.cli.subprocess = SimpleNamespace(Popen=Forked)
gc.freeze()
for words in json.load(sys.stdin):
    status = Forked([sys.executable, "-m", *words]).wait()
    if status != 0:
        sys.exit(f"failed: {words}")
"""


@pytest.mark.slow
def test_the_readmes_commands_run_with_the_extras_it_names(environment, tmp_path):
    """Each command runs as the README has it, but for two things.

    What trains on the real ZINC checks the same recipe on embedded molecules, because that needs no
    network. And training has an epoch or two on a few molecules, which takes a tenth of the time.
    """
    (extras,) = [EXTRAS.match(words[-1])[1] for words in COMMANDS if words[:1] == ["pip"]]
    installed = environment(*extras.split(","))
    rings = [f"CC1{'C' * size}{last}1" for size in range(1, 9) for last in ("C", "N", "O", "S")]
    rows = [f"{ring},{number % 2}" for number, ring in enumerate(rings)]
    for name in ("molecules.csv", "my.csv"):
        (tmp_path / name).write_text("\n".join(["smiles,activity", *rows]))
    commands = []
    for words in COMMANDS:
        if words[:1] == ["gtcourse"]:
            if "real" in words:
                words = [*words, "--budget", "smoke", "--out", "seeds"]
                words[words.index("real")] = "embedded"
            if "--data" in words:
                words = [*words, "--graphs", "32"]
            if "--epochs" in words:
                words = [*words, "--epochs", "1"]  # the last of two counts
            commands.append(words)
    given = (installed.python, "-c", RUN_COMMANDS)
    done = installed.run(*given, cwd=tmp_path, input=json.dumps(commands))
    assert "Warning" not in done.stderr
    assert installed.run(installed.python, "-m", "gtcourse", "--version").stdout  # as for each seed
    predictions = (tmp_path / "predictions.csv").read_text()
    assert len(predictions.splitlines()) == len(rows) + 1
    assert "<script" in (tmp_path / "aspirin.html").read_text()
    assert len([*tmp_path.glob("runs/*/*-seed0.json")]) == 2
    assert len([*tmp_path.glob("seeds/*/*-seed?.json")]) == 2


def code_cells(text: Path) -> list[str]:
    return [cell.source for cell in jupytext.read(text).cells if cell.cell_type == "code"]


TRY_EACH = """
import json, sys
for line in json.load(sys.stdin):
    try:
        exec(line)
    except ImportError:
        print(line)
"""


@pytest.mark.slow
def test_a_notebook_imports_only_what_its_first_cell_installs(environment, tmp_path):
    """What can be imported with the fewest extras can be with more, and is not tried with these."""
    imports = defaultdict(list)
    for text in sorted(TEXTS.glob("*.md")):
        first, *cells = code_cells(text)
        for cell in cells:
            for node in ast.walk(ast.parse(TransformerManager().transform_cell(cell))):
                if isinstance(node, ast.Import | ast.ImportFrom):
                    imports[EXTRAS.search(first)[1]].append(f"{ast.unparse(node)}  # {text.stem}")
    fewest = min(imports, key=len).split(",")
    assert all({*fewest} <= {*extras.split(",")} for extras in imports)
    smallest = environment(*fewest)
    every = json.dumps([*dict.fromkeys(chain(*imports.values()))])
    tried = smallest.run(smallest.python, "-c", TRY_EACH, cwd=tmp_path, input=every)
    for extras, lines in imports.items():
        left = [line for line in lines if line in tried.stdout.splitlines()]
        if left:
            script = tmp_path / f"{extras}.py"
            script.write_text("\n".join(left))
            installed = environment(*extras.split(","))
            installed.run(installed.python, script, cwd=tmp_path)


RUN_CELLS = """
import json, os, sys
from IPython.core.interactiveshell import InteractiveShell
os.environ["GTCOURSE_BUDGET"] = "smoke"
cells = json.load(sys.stdin)
for cell in cells:
    InteractiveShell.instance().run_cell(cell).raise_error()
print(len(cells), "cells ran")
"""


@pytest.mark.nightly
@pytest.mark.parametrize("text", sorted(TEXTS.glob("*.md")), ids=lambda text: text.stem)
def test_a_notebook_runs_with_the_extras_that_its_first_cell_installs(environment, text, tmp_path):
    cells = code_cells(text)
    installed = environment(*EXTRAS.search(cells[0])[1].split(","))
    words = (installed.python, "-c", RUN_CELLS)
    found = installed.run(*words, cwd=tmp_path, input=json.dumps(cells))
    assert found.stdout.endswith(f"{len(cells)} cells ran\n")


# The first cell of a notebook installs the course where it is not there, as on Colab.


@pytest.fixture(scope="module")
def installs() -> set[str]:
    return {code_cells(text)[0] for text in TEXTS.glob("*.md")}


def test_first_cells_differ_only_in_the_extras_they_install(installs):
    assert len({re.sub(r"gtcourse\[.*?\]", "gtcourse[…]", cell) for cell in installs}) == 1
    assert all(f"git+https://github.com/{slug()}" in cell for cell in installs)


PLACES = {
    "beside": "The course is the checkout beside this notebook.",
    "installed": "The course is the installed package.",
    "source": "The course was installed from https://example.org/course.whl.",
    "release": f"@v{gtcourse.__version__}.",
}


@pytest.mark.parametrize("place", PLACES)
def test_the_first_cell_installs_the_course_only_if_missing_and_prints_its_source(
    installs, place, monkeypatch, tmp_path, capsys
):
    asked = []

    def pip(command):
        asked.append(command[-1])
        return subprocess.CompletedProcess(command, 0)

    if place == "beside":
        (tmp_path / "gtcourse").mkdir()
    if place == "source":
        monkeypatch.setenv("GTCOURSE_SOURCE", "https://example.org/course.whl")
    else:
        monkeypatch.delenv("GTCOURSE_SOURCE", raising=False)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(subprocess, "run", pip)
    there = place == "installed" or None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: there)
    exec(next(iter(installs)), {})
    assert PLACES[place] in capsys.readouterr().out
    assert len(asked) == (place in ("source", "release"))


def test_without_a_network_the_first_cell_explains_what_to_do(installs, monkeypatch, tmp_path):
    monkeypatch.delenv("GTCOURSE_SOURCE", raising=False)
    monkeypatch.chdir(tmp_path)
    failed = subprocess.CompletedProcess([], 1)
    monkeypatch.setattr(subprocess, "run", lambda command: failed)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"could not be installed from git.*GTCOURSE_SOURCE to"):
        exec(next(iter(installs)), {})
