import nbformat
import pytest

from tools.freshness import code_text, stale, stamp


@pytest.fixture
def executed(package):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("double(2)  # four")])
    nb.metadata["gtcourse"] = stamp(nb, ["layer.py"], package)
    return nb


def test_what_was_just_executed_is_fresh(executed, package):
    assert stale(executed, package) == []


def test_a_notebook_without_a_stamp_is_stale(package):
    assert stale(nbformat.v4.new_notebook(), package)


def test_changed_code_in_a_cell_is_seen_and_a_changed_comment_is_not(executed, package):
    executed.cells[0].source = "double(2)  # 4"
    assert stale(executed, package) == []
    executed.cells[0].source = "double(3)"
    assert stale(executed, package) == ["its code cells have changed"]


def test_changed_code_in_the_package_is_seen(executed, package):
    layer = package / "layer.py"
    layer.write_text(layer.read_text().replace("2 * x", "x + x"))
    assert stale(executed, package) == ["gtcourse/layer.py has changed"]


def test_a_removed_module_is_seen(executed, package):
    (package / "layer.py").unlink()
    assert stale(executed, package) == ["gtcourse/layer.py has changed"]


def test_comments_docstrings_and_blank_lines_of_the_package_do_not_count(executed, package):
    (package / "layer.py").write_text(
        '"""Layers."""\n\ndef double(x):\n\n    return 2 * x\n# end\n'
    )
    assert stale(executed, package) == []


def test_a_docstring_counts_where_a_cell_prints_the_source(package):
    cell = nbformat.v4.new_code_cell("print(inspect.getsource(double))")
    nb = nbformat.v4.new_notebook(cells=[cell])
    nb.metadata["gtcourse"] = stamp(nb, ["layer.py"], package)
    layer = package / "layer.py"
    layer.write_text(layer.read_text().replace("Twice x", "Two x"))
    assert stale(nb, package) == ["gtcourse/layer.py has changed"]


def test_what_the_kernel_read_counts_whatever_the_cells_call_it(package):
    (package / "weights.pt").write_bytes(b"\x80\x02")
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("trained(name)")])
    nb.metadata["gtcourse"] = stamp(nb, ["layer.py", "weights.pt"], package)
    assert stale(nb, package) == []
    (package / "weights.pt").write_bytes(b"\x80\x03")
    assert stale(nb, package) == ["gtcourse/weights.pt has changed"]


def test_a_recorded_run_that_a_cell_names_counts(package):
    nb = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell('recorded("bag-seed0")')])
    nb.metadata["gtcourse"] = stamp(nb, [], package)
    assert stale(nb, package) == []
    (package / "recorded" / "bag-seed0.json").write_text('{"mae": 1}')
    assert stale(nb, package) == ["gtcourse/recorded/bag-seed0.json has changed"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = 'a # b'  # c", "x = 'a # b'"),
        ("é = '≥'  # ≥\n\n\ny = 1", "é = '≥'\ny = 1"),
        ('"""doc"""\nclass A:\n    """doc\n    more"""\n    b = 1', "class A:\n    b = 1"),
        ('x = f"{y!r:>{n}} # {z}"  # w', 'x = f"{y!r:>{n}} # {z}"'),
        ('x = """not a docstring"""', 'x = """not a docstring"""'),
        ("%pip install x  # kept", "%pip install x  # kept"),
    ],
)
def test_only_comments_docstrings_and_blank_lines_are_cut(source, expected):
    assert code_text(source) == expected
