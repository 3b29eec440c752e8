"""The ledger: which missing or wrong link is reported; its page shows what is found."""

from tools import ledger

OBJECT = '''class Layer:
    """A layer (GRPE, Eqs. 6 and 7; S1).

    Args:
        width: GRPE, Eq. 8.
    """
'''
TEST = """@pytest.mark.holds("GRPE, Eq. 6", "GRPE, Eq. 60")
def test_a_layer(): ...


@pytest.mark.skip
@pytest.mark.holds("GRPE, Eq. 7")
def test_b(): ...
"""


def test_missing_and_unknown_equations_are_named(tmp_path):
    (tmp_path / "layer.py").write_text(OBJECT)
    (tmp_path / "test_layer.py").write_text(TEST)
    (tmp_path / "08_grpe.md").write_text("## 8.1 First\n\n$$\nx \\tag{7}\n$$\n")
    faults = ledger.read(tmp_path, tmp_path, tmp_path).faults
    assert [fault for fault in faults if "Eq. 60" in fault] == [
        "test_layer.py: test_a_layer cites GRPE, Eq. 60, which does not exist."
    ]
    about = {n: {f for f in faults if f.startswith(f"GRPE, Eq. {n}:")} for n in (6, 7, 8)}
    assert about[6] == {"GRPE, Eq. 6: no chapter explains it."}
    assert about[7] == {"GRPE, Eq. 7: no test holds it."}
    assert len(about[8]) == 3
    unsaid = (
        "test_layer.py: tools/tested.toml does not say what test_a_layer checks of GRPE, Eq. 6."
    )
    assert unsaid in faults


def test_a_sentence_for_each_equation_says_nothing_about_others():
    of_encodings = "test_every_encoding_equals_the_loop_over_nodes_and_pairs"
    assert ledger.is_said(of_encodings, "EGT, Eq. 8")
    assert "singular values" in ledger.checked_by(of_encodings, "EGT, Eq. 8")
    assert not ledger.is_said(of_encodings, "EGT, Eq. 1")
    assert not ledger.is_said("test_that_does_not_exist", "EGT, Eq. 8")
