"""The researcher's page: every block runs, prints what is printed, and needs the files it names."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.process import run
from tools.paths import ROOT

PAGE = (ROOT / "book" / "one_layer.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+)\n((?:(?!^## ).*\n)*?)(?=^## |\Z)", PAGE, re.M))
CODE = re.compile(r"```python\n(.*?)```", re.S)
START = CODE.search(PAGE)[1]
BLOCKS = {name: CODE.search(text)[1] for name, text in SECTIONS.items() if CODE.search(text)}
ROW = re.compile(r"^\| (Copy|Tested in) \| (.+) \|$", re.M)
OF_EXTRAS = ["numba", "rdkit", "ogb", "networkx", "matplotlib", "sklearn", "dask", "fast_tsp"]
OF_THE_BASE = ["lightning_fabric", "torchmetrics", "tensorboardX", "typer", "rich", "scipy"]


def named(section: str, row: str) -> list[str]:
    return re.findall(r"`([^`]+)`", dict(ROW.findall(SECTIONS[section]))[row])


def printed_by(folders: dict[str, Path], *without: str) -> dict[str, str]:
    """What each section's block prints after the first one, with the package in its folder; all of
    one process, which cannot import what is ``without``."""
    code = f"import sys\nfor name in {without}: sys.modules[name] = None\nsys.path.insert(0, '')\n"
    for name, folder in folders.items():
        code += (
            f"sys.path[0] = {str(folder)!r}\n"
            "for name in [n for n in sys.modules if n.split('.')[0] == 'gtcourse']:\n"
            "    del sys.modules[name]\n"
            f"print({name!r}); exec({START + BLOCKS[name]!r}, {{}})\n"
        )
    lines = run(sys.executable, "-c", code).splitlines(keepends=True)
    places = [lines.index(f"{name}\n") for name in folders]
    return {
        name: "".join(lines[place + 1 : following])
        for name, place, following in zip(folders, places, [*places[1:], None], strict=True)
    }


def said(code: str) -> str:
    """What the comments behind ``print`` say that it prints."""
    return "".join(line + "\n" for line in re.findall(r"^print\(.*\)  # (.+)$", code, re.M))


def test_the_page_has_a_layer_for_every_paper_and_the_lecture():
    assert [*BLOCKS] == [
        "Attention",
        "Message passing",
        "SignNet",
        "Graphormer",
        "EGT",
        "GRPE",
        "CSA",
    ]


def test_a_code_block_is_short_and_prints_the_stated_output():
    printed = printed_by(dict.fromkeys(BLOCKS, ROOT), *OF_EXTRAS)
    for name, code in BLOCKS.items():
        assert len([line for line in code.splitlines() if line]) <= 8
        assert printed[name] == said(code) != ""


def test_the_copied_files_of_a_layer_run_in_another_project(tmp_path):
    for name in BLOCKS:
        package = tmp_path / name / "gtcourse"
        for file in named(name, "Copy"):
            folder = (package / file).parent
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "__init__.py").touch()
            shutil.copy(ROOT / "gtcourse" / file, package / file)
        (package / "__init__.py").touch()
    printed = printed_by({name: tmp_path / name for name in BLOCKS}, *OF_EXTRAS, *OF_THE_BASE)
    assert printed == {name: said(code) for name, code in BLOCKS.items()}


@pytest.mark.parametrize("name", BLOCKS)
def test_the_tests_named_for_a_layer_exist(name):
    tests = [ROOT / path for path in named(name, "Tested in")]
    layer = re.findall(r"\b(\w*(?:Layer|Attention|SignNet))\(", BLOCKS[name])[-1]
    layer = layer.removesuffix("Layer")  # the loops are of whole models
    assert all(path.exists() for path in tests)
    assert any(layer in path.read_text() for path in tests)
