import nbformat

from tools import pairs


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_pair_that_agrees_has_no_differences(chapter):
    assert pairs.differences(*chapter) == []


def test_changed_prose_changed_code_changed_tags_and_a_new_cell_are_seen(chapter):
    text, notebook = chapter
    original = text.read_text()
    for old, new in [
        ("A sum.", "A total."),
        ("1 + 1", "1 + 2"),
        ("hide-input", "hide-output"),
        ("A sum.", "A sum.\n\n```{code-cell} ipython3\nx = 1\n```"),
    ]:
        edit(text, old, new)
        assert pairs.differences(text, notebook), new
        text.write_text(original)


def test_a_missing_side_is_seen(chapter):
    text, notebook = chapter
    notebook.unlink()
    assert pairs.differences(text, notebook)


def test_syncing_from_the_text_keeps_outputs_of_unchanged_code_only(chapter):
    text, notebook = chapter
    edit(text, "print(1 + 1)  # two", "print(1 + 1)  # still two")
    assert pairs.sync(text, notebook, source="text")
    assert nbformat.read(notebook, 4).cells[-1].outputs[0].text == "2\n"
    edit(text, "print(1 + 1)", "print(1 + 2)")
    pairs.sync(text, notebook, source="text")
    assert nbformat.read(notebook, 4).cells[-1].outputs == []
    assert pairs.differences(text, notebook) == []


def test_syncing_from_the_notebook_writes_the_text(chapter):
    text, notebook = chapter
    nb = nbformat.read(notebook, 4)
    nb.cells[0].source = "# Another chapter"
    nbformat.write(nb, notebook)
    pairs.sync(text, notebook, source="notebook")
    assert "# Another chapter" in text.read_text()
    assert pairs.differences(text, notebook) == []


def test_the_newer_side_wins(chapter):
    text, notebook = chapter
    edit(text, "A sum.", "A total.")
    assert pairs.sync(text, notebook) == "01_chapter.md -> 01_chapter.ipynb"
    assert pairs.sync(text, notebook) is None


def test_the_same_notebook_gives_the_same_bytes(chapter):
    text, notebook = chapter
    before = notebook.read_bytes()
    pairs.write_notebook(pairs.follow_text(text, notebook), notebook)
    assert notebook.read_bytes() == before
