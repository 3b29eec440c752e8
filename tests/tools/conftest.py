import nbformat
import pytest

from tools import pairs

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
    text, notebook = tmp_path / "01_chapter.md", tmp_path / "01_chapter.ipynb"
    text.write_text(TEXT)
    nb = pairs.follow_text(text, notebook)
    first, second = (cell for cell in nb.cells if cell.cell_type == "code")
    first.execution_count, second.execution_count = 1, 2
    second.outputs = [nbformat.v4.new_output("stream", name="stdout", text="2\n")]
    pairs.write_notebook(nb, notebook)
    return text, notebook


@pytest.fixture
def package(tmp_path):
    """A package of one module and one recorded run."""
    folder = tmp_path / "gtcourse"
    (folder / "recorded").mkdir(parents=True)
    (folder / "layer.py").write_text(
        '"""A layer."""\n\n\ndef double(x):\n    """Twice x."""\n    return 2 * x  # quick\n'
    )
    (folder / "recorded" / "bag-seed0.json").write_text("{}")
    return folder
