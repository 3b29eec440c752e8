import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools import execute
from tools.notebooks import output_faults


def notebook(*outputs, count=1, **metadata):
    return new_notebook(
        cells=[new_code_cell("x", execution_count=count, outputs=list(outputs), metadata=metadata)]
    )


def test_clean_outputs_have_no_faults():
    fine = new_output("stream", name="stdout", text="epoch 10: 0.51\n")
    assert output_faults(notebook(fine)) == []


@pytest.mark.parametrize(
    ("output", "word"),
    [
        (new_output("error", ename="ValueError", evalue="no", traceback=[]), "ValueError"),
        (new_output("stream", name="stderr", text="UserWarning"), "stderr"),
        (new_output("stream", name="stdout", text=" 40%|####      | 4/10"), "progress bar"),
        (new_output("stream", name="stdout", text="in /home/me/x.py"), "path of the machine"),
        (new_output("display_data", data={"application/vnd.plotly.v1+json": {}}), "plotly"),
    ],
)
def test_what_must_not_be_stored_is_seen(output, word):
    (fault,) = output_faults(notebook(output))
    assert word in fault


def test_a_wanted_error_may_stay():
    error = new_output("error", ename="ValueError", evalue="no", traceback=[])
    assert output_faults(notebook(error, tags=["raises-exception"])) == []


def test_cells_out_of_order_are_seen():
    assert output_faults(notebook(count=3)) == ["cell 1 has execution count 3, not 1"]


def test_a_heavy_notebook_is_seen():
    heavy = new_output("display_data", data={"text/html": "x" * 4_100_000})
    assert any("MB" in fault for fault in output_faults(notebook(heavy)))


def test_executing_twice_gives_the_same_bytes_and_stamps_what_was_loaded(tmp_path):
    code = "import gtcourse\nprint('a')\nprint(len({'x', 'y'}))"
    nb = new_notebook(cells=[new_code_cell(code), new_code_cell("1 + 1")])
    runs = []
    for _ in range(2):
        measured = execute.execute(nb, tmp_path)
        nb.cells[0].id, nb.cells[1].id = "a", "b"
        runs.append(nbformat.writes(nb))
    assert runs[0] == runs[1]
    assert output_faults(nb) == []
    assert nb.cells[0].outputs[0].text == "a\n2\n"
    assert "__init__.py" in nb.metadata["gtcourse"]["package"]
    assert measured["seconds"] >= 0
    assert measured["peak_memory_mb"] > 10


def test_a_failing_cell_stops_the_execution(tmp_path):
    nb = new_notebook(cells=[new_code_cell("1 / 0")])
    with pytest.raises(Exception, match="ZeroDivisionError"):
        execute.execute(nb, tmp_path)


def test_pieces_of_one_stream_become_one():
    pieces = [new_output("stream", name=n, text=t) for n, t in [("stdout", "a"), ("stdout", "b")]]
    assert [o.text for o in execute.merge_streams(pieces)] == ["ab"]
