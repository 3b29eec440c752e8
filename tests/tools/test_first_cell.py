"""Every chapter begins with one cell that finds the course, with the package's own version."""

import nbformat
import pytest

import gtcourse
from tools.first_cell import BEGINNING, EXTRAS, first_cell
from tools.notebooks import pairs


@pytest.mark.parametrize("notebook", [notebook for _, notebook in pairs()], ids=lambda p: p.stem)
def test_a_chapter_installs_the_release_that_executed_it(notebook):
    cells = nbformat.read(notebook, as_version=4).cells
    (cell,) = [cell for cell in cells if BEGINNING.match(cell.source)]
    assert cell.source == first_cell(EXTRAS.search(cell.source)[1])
    assert f"@v{gtcourse.__version__}" in cell.source
