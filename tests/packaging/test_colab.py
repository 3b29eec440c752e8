"""A chapter's first cell in an environment that has what Colab has, and not the course.

It installs from the built wheel in place of the repository's address; nothing else of the cell is
changed. pip fetches what is missing (PyTorch Geometric, RDKit, …) from the package index.
"""

import json
import re
import shutil
from pathlib import Path

import jupytext
import pytest

from tests.packaging.environments import environment, run, state
from tools.paths import TEXTS, slug

# Of what Colab's runtimes come with, that which the course needs, too. With less there is more to
# install, so that what is left out here (pandas' and torch's many relatives) makes the test harder.
NOT_TO_BE_TOUCHED = ["torch", "numpy", "scipy", "matplotlib", "pandas", "scikit-learn"]
COLAB_HAS = [*NOT_TO_BE_TOUCHED, "networkx", "tqdm", "requests", "ipykernel"]

ADDRESS = "git+https://github.com/{slug}"

# Each notebook's cells in turn, in one IPython, with empty names for each notebook.
RUN_CELLS = """
import json, sys
from IPython.core.interactiveshell import InteractiveShell

shell = InteractiveShell.instance()
for name, cells in json.load(open(sys.argv[1])).items():
    shell.reset(new_session=False)
    for cell in cells:
        result = shell.run_cell(cell)
        if not result.success:
            sys.exit(f"{name}: {result.error_before_exec or result.error_in_exec!r}")
print("all ran")
"""


def first_cells(text: Path) -> list[str]:
    """The cell that installs, and the one that imports; the notebook has the same (a test)."""
    return [cell.source for cell in jupytext.read(text).cells if cell.cell_type == "code"][:2]


FIRST = {path.stem: first_cells(path) for path in sorted(TEXTS.glob("*.md"))}
INSTALLS = sorted({install for install, _ in FIRST.values()})
ASKED = [re.search(r"gtcourse\[(.*?)\]", cell)[1] for cell in INSTALLS]


def test_all_notebooks_begin_with_the_same_cell_but_for_what_they_ask_for():
    assert len(FIRST) >= 13
    assert len({re.sub(r"gtcourse\[.*?\]", "gtcourse[…]", cell) for cell in INSTALLS}) == 1
    assert all(ADDRESS.format(slug=slug()) in cell for cell in INSTALLS)


@pytest.fixture
def colab(tmp_path):
    return environment(tmp_path / "colab", COLAB_HAS)


def in_ipython(python: Path, folder: Path, notebooks: dict[str, list[str]]):
    (folder / "cells.json").write_text(json.dumps(notebooks))
    (folder / "run_cells.py").write_text(RUN_CELLS)
    return run(python, "run_cells.py", "cells.json", cwd=folder)


def test_where_the_install_fails_the_cell_says_so_in_a_sentence(colab, tmp_path):
    nowhere = INSTALLS[0].replace(ADDRESS.format(slug=slug()), (tmp_path / "no.whl").as_uri())
    done = in_ipython(colab, tmp_path, {"notebook": [nowhere]})
    assert done.returncode == 1
    assert "The course was not installed. Above, pip says why" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("cell", INSTALLS, ids=ASKED)
def test_the_first_cell_installs_the_course_and_touches_nothing_that_was_there(
    colab, cell, wheel, tmp_path
):
    reached = run(colab, "-m", "pip", "index", "versions", "torch-geometric", cwd=tmp_path)
    if reached.returncode:
        pytest.skip("no package index can be reached, and pip needs one for PyTorch Geometric")
    before = state(colab, NOT_TO_BE_TOUCHED)

    here = cell.replace(ADDRESS.format(slug=slug()), wheel.as_uri())
    first = {name: [here, imports] for name, (install, imports) in FIRST.items() if install == cell}
    done = in_ipython(colab, tmp_path, first)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("all ran\n")
    assert state(colab, NOT_TO_BE_TOUCHED) == before
    where = run(colab, "-c", "import gtcourse; print(gtcourse.__file__)", cwd=tmp_path).stdout
    assert Path(where.strip()).is_relative_to(colab.parent.parent)


def test_where_the_course_is_there_the_cell_installs_nothing(wheel, tmp_path):
    python = environment(tmp_path / "there", ["ipykernel"])
    installed = run(
        python, "-m", "pip", "install", "-q", "--no-deps", "--no-index", str(wheel), cwd=tmp_path
    )
    assert installed.returncode == 0, installed.stderr
    nowhere = INSTALLS[0].replace("%pip", "raise AssertionError #")
    done = in_ipython(python, tmp_path, {"notebook": [nowhere]})
    assert done.stdout == "all ran\n"
    assert done.returncode == 0


def test_a_distribution_that_is_touched_is_seen(tmp_path):
    python = environment(tmp_path / "env", ["tqdm"])
    before = state(python, ["tqdm"])
    assert state(python, ["tqdm"]) == before
    (file,) = (tmp_path / "env").rglob("tqdm/std.py")
    copy = shutil.copy2(file, file.with_name("copy.py"))  # a link: never write into the file itself
    Path(copy).replace(file)
    assert state(python, ["tqdm"]) != before
