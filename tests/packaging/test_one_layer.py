"""The researcher's page: every block runs, prints what is printed, and needs the files it names."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.paths import ROOT

PAGE = (ROOT / "book" / "one_layer.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*?)(?=^## |\Z)", PAGE, re.M))
CODE = re.compile(r"```python\n(.*?)```", re.S)
START = CODE.search(PAGE)[1]
BLOCKS = {name: CODE.search(text)[1] for name, text in SECTIONS.items() if CODE.search(text)}
ROW = re.compile(r"^\| (Copy|Tested in) \| (.+) \|$", re.M)
OF_EXTRAS = ["rdkit", "ogb", "networkx", "matplotlib", "sklearn", "dask", "fast_tsp"]
OF_THE_BASE = ["lightning_fabric", "torchmetrics", "tensorboardX", "typer", "rich", "scipy"]


def named(section: str, row: str) -> list[str]:
    return re.findall(r"`([^`]+)`", dict(ROW.findall(SECTIONS[section]))[row])


def run(code: str, folder: Path, *without: str) -> str:
    """What the code prints, in a process that cannot import what is ``without``."""
    first = f"import sys\nfor name in {without}: sys.modules[name] = None\n"
    done = subprocess.run(
        [sys.executable, "-c", first + "sys.path.insert(0, '.')\n" + code],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def said(code: str) -> str:
    """What the comments behind ``print`` say that it prints."""
    return "".join(line + "\n" for line in re.findall(r"^print\(.*\)  # (.+)$", code, re.M))


def test_every_paper_and_the_lecture_have_a_layer():
    assert [*BLOCKS] == [
        "Attention",
        "Message passing",
        "SignNet",
        "Graphormer",
        "EGT",
        "GRPE",
        "CSA",
    ]


@pytest.fixture(scope="module")
def printed() -> dict[str, str]:
    """What each block prints after the first one, by its section; all of one process."""
    calls = [f"print({name!r}); exec({START + code!r}, {{}})" for name, code in BLOCKS.items()]
    lines = run("\n".join(calls), ROOT, *OF_EXTRAS).splitlines(keepends=True)
    places = [lines.index(f"{name}\n") for name in BLOCKS]
    return {
        name: "".join(lines[place + 1 : following])
        for name, place, following in zip(BLOCKS, places, [*places[1:], None], strict=True)
    }


@pytest.mark.parametrize("name", BLOCKS)
def test_a_block_is_short_and_prints_what_stands_beside_it(name, printed):
    assert len([line for line in BLOCKS[name].splitlines() if line]) <= 8
    assert said(BLOCKS[name])
    assert printed[name] == said(BLOCKS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_the_files_run_alone_in_another_project_with_pytorch_and_pyg(name, tmp_path):
    package = tmp_path / "gtcourse"
    for file in named(name, "Copy"):
        folder = (package / file).parent
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "__init__.py").touch()
        shutil.copy(ROOT / "gtcourse" / file, package / file)
    (package / "__init__.py").touch()
    printed = run(START + BLOCKS[name], tmp_path, *OF_EXTRAS, *OF_THE_BASE)
    assert printed == said(BLOCKS[name])


@pytest.mark.parametrize("name", BLOCKS)
def test_the_tests_that_hold_a_layer_exist(name):
    tests = [ROOT / path for path in named(name, "Tested in")]
    layer = re.findall(r"\b(\w*(?:Layer|Attention|SignNet))\(", BLOCKS[name])[-1]
    layer = layer.removesuffix("Layer")  # the loops are of whole models
    assert all(path.exists() for path in tests)
    assert any(layer in path.read_text() for path in tests)
