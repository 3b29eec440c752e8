"""The researcher's page: every block runs, prints what is printed, and needs the files it names."""

import json
import re
import shutil
import sys

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


RUN_BLOCKS = """
import io, json, os, sys
from contextlib import redirect_stdout

def remove(*packages):
    for name in [name for name in sys.modules if name.split(".")[0] in packages]:
        del sys.modules[name]

def printed_by(blocks, folders, without):
    remove(*without)
    sys.modules |= dict.fromkeys(without)
    found = {}
    for name, code in blocks.items():
        remove("gtcourse")
        sys.path[0] = folders[name]
        with redirect_stdout(io.StringIO()) as printed:
            exec(code, {})
        found[name] = printed.getvalue()
    return found

asked = json.load(sys.stdin)
sys.path.insert(0, "")
sys.modules |= dict.fromkeys(asked["never"])
import torch_geometric.data
for folders, without in asked["each"]:
    if os.fork() == 0:
        print(json.dumps(printed_by(asked["blocks"], folders, without)), flush=True)
        os._exit(0)
    if os.wait()[1] != 0:
        sys.exit(1)
"""


@pytest.fixture(scope="module")
def printed(tmp_path_factory) -> list[dict[str, str]]:
    """What each section's block prints after the first one: with the package, and with the files
    that it names in a folder of its own. Each in a process that cannot import what is not needed,
    forked from one that has read PyG."""
    copies = tmp_path_factory.mktemp("copies")
    for name in BLOCKS:
        package = copies / name / "gtcourse"
        for file in named(name, "Copy"):
            folder = (package / file).parent
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "__init__.py").touch()
            shutil.copy(ROOT / "gtcourse" / file, package / file)
        (package / "__init__.py").touch()
    asked = {
        "blocks": {name: START + code for name, code in BLOCKS.items()},
        "never": OF_EXTRAS,
        "each": [
            (dict.fromkeys(BLOCKS, str(ROOT)), OF_EXTRAS),
            ({name: str(copies / name) for name in BLOCKS}, OF_EXTRAS + OF_THE_BASE),
        ],
    }
    told = run(sys.executable, "-c", RUN_BLOCKS, input=json.dumps(asked))
    return [json.loads(line) for line in told.splitlines()]


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


def test_a_code_block_is_short_and_prints_the_stated_output(printed):
    for name, code in BLOCKS.items():
        assert len([line for line in code.splitlines() if line]) <= 8
        assert printed[0][name] == said(code) != ""


def test_the_copied_files_of_a_layer_run_in_another_project(printed):
    assert printed[1] == {name: said(code) for name, code in BLOCKS.items()}


@pytest.mark.parametrize("name", BLOCKS)
def test_the_tests_named_for_a_layer_exist(name):
    tests = [ROOT / path for path in named(name, "Tested in")]
    layer = re.findall(r"\b(\w*(?:Layer|Attention|SignNet))\(", BLOCKS[name])[-1]
    layer = layer.removesuffix("Layer")  # the loops are of whole models
    assert all(path.exists() for path in tests)
    assert any(layer in path.read_text() for path in tests)
