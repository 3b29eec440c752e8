import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools import notebooks

TEXT = """---
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A chapter

```{code-cell} ipython3
import gtcourse
```

A sum.

```{code-cell} ipython3
:tags: [hide-input]

print(1 + 1)  # two
```
"""


@pytest.fixture
def chapter(tmp_path):
    """A pair (text, notebook) that agrees, with outputs in the notebook."""
    text = tmp_path / "01_chapter.md"
    notebook = tmp_path / "01_chapter.ipynb"
    text.write_text(TEXT)
    nb = notebooks.follow_text(text, notebook)
    first, second = (cell for cell in nb.cells if cell.cell_type == "code")
    first.execution_count = 1
    second.execution_count = 2
    second.outputs = [nbformat.v4.new_output("stream", name="stdout", text="2\n")]
    notebooks.write_notebook(nb, notebook)
    return text, notebook


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A sum.", "A total."),
        ("1 + 1", "1 + 2"),
        ("hide-input", "hide-output"),
        ("A sum.", "A sum.\n\n```{code-cell} ipython3\nx = 1\n```"),
    ],
)
def test_a_change_to_text_or_notebook_is_detected(chapter, old, new):
    assert notebooks.differences(*chapter) == []
    edit(chapter[0], old, new)
    assert notebooks.differences(*chapter)


def test_syncing_copies_the_newer_file_and_preserves_outputs_of_unchanged_cells(chapter):
    text, notebook = chapter
    edit(text, "A sum.", "A total.")
    assert notebooks.sync(text, notebook) == "01_chapter.md -> 01_chapter.ipynb"
    assert notebooks.sync(text, notebook) is None
    nb = nbformat.read(notebook, 4)
    assert nb.cells[-1].outputs[0].text == "2\n"
    assert notebooks.output_faults(nb) == []
    edit(text, "print(1 + 1)", "print(1 + 2)")
    notebooks.sync(text, notebook, source="text")
    nb = nbformat.read(notebook, 4)
    assert nb.cells[-1].outputs == []
    (fault,) = notebooks.output_faults(nb)
    assert "has changed since the chapter was executed" in fault
    assert notebooks.differences(text, notebook) == []
    nb.cells[0].source = "# Another chapter"
    nbformat.write(nb, notebook)
    notebooks.sync(text, notebook, source="notebook")
    assert "# Another chapter" in text.read_text()
    assert notebooks.differences(text, notebook) == []


@pytest.mark.parametrize(
    ("output", "word"),
    [
        (new_output("error", ename="ValueError", evalue="no", traceback=[]), "ValueError"),
        (new_output("stream", name="stderr", text="UserWarning"), "stderr"),
        (new_output("stream", name="stdout", text=" 40%|####      | 4/10"), "progress bar"),
        (new_output("stream", name="stdout", text="in /home/me/x.py"), "path of the machine"),
        (new_output("display_data", data={"application/vnd.plotly.v1+json": {}}), "plotly"),
        (new_output("display_data", data={"text/html": "x" * 4_100_000}), "MB"),
    ],
)
def test_forbidden_outputs_are_reported(output, word):
    cell = new_code_cell("x", execution_count=1, outputs=[output])
    (fault,) = notebooks.output_faults(new_notebook(cells=[cell]))
    assert word in fault


def test_a_figure_that_is_not_on_the_last_line_of_a_cell_is_reported():
    shown = new_output("execute_result", data={"text/html": "<img>"}, execution_count=1)
    source = "plots.show(figure, alt='')"
    last = new_code_cell(source, execution_count=1, outputs=[shown])
    assert notebooks.output_faults(new_notebook(cells=[last])) == []
    printed = new_output("stream", name="stdout", text="1\n")
    lost = new_code_cell(f"{source}\nprint(1)", execution_count=1, outputs=[printed])
    (fault,) = notebooks.output_faults(new_notebook(cells=[lost]))
    assert "lost" in fault


def test_executing_twice_gives_the_same_bytes(tmp_path):
    cells = [new_code_cell("print('a')\nprint(len({'x', 'y'}))"), new_code_cell("1 + 1")]
    nb = new_notebook(cells=cells)
    runs = []
    for _ in range(2):
        measured = notebooks.execute(nb, tmp_path)
        nb.cells[0].id = "a"
        nb.cells[1].id = "b"
        runs.append(nbformat.writes(nb))
    assert runs[0] == runs[1]
    assert notebooks.output_faults(nb) == []
    assert nb.cells[0].outputs[0].text == "a\n2\n"
    assert measured["peak_memory_mb"] > 10


def test_waiting_does_not_count_as_running_time(tmp_path):
    waiting = new_notebook(cells=[new_code_cell("import time\ntime.sleep(4)")])
    assert notebooks.execute(waiting, tmp_path)["seconds"] < 4
    assert notebooks.execute(waiting, tmp_path, on_gpu=True)["seconds"] >= 4
