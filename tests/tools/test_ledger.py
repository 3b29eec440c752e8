"""The ledger: how citations are read, and which missing or wrong link is reported."""

import pytest

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


def test_what_is_missing_or_does_not_exist_is_named(tmp_path):
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


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("GRPE, Eqs. 6 to 8", ["GRPE, Eq. 6", "GRPE, Eq. 7", "GRPE, Eq. 8"]),
        ("CS224W, S2 to S4;\n  CSA,\n  Eq. 5",
         ["CS224W, S2", "CS224W, S3", "CS224W, S4", "CSA, Eq. 5"]),
        ("Graphormer, Facts 1 and 2", ["Graphormer, Fact 1", "Graphormer, Fact 2"]),
        ("CSA, Figure 2, and EGT, Figure 3", ["CSA, Figure 2"]),
        ("Eq. 4, Graphormer's Eq. 6, S4", []),
    ],
)  # fmt: skip
def test_a_citation_is_read_as_it_is_meant(text, ids):
    assert ledger.cited(text) == ids


CHAPTER = r"""
# 08 GRPE

| | |
|---|---|
| Sources | GRPE, Eq. 1 {cite:p}`park2022grpe` |

## 8.1 First

See Eq. 2, and Graphormer's Eq. 3.

## 8.2 Second $k_j$

```python
# GRPE, Eq. 4
```

$$
x \tag{5}
$$

### Within

Here it is (Eq. 2), from the lecture (S11).
"""


def test_a_section_explains_what_it_prints_or_has_in_parentheses_or_is_first_to_name(tmp_path):
    (tmp_path / "08_grpe.md").write_text(CHAPTER)
    (tmp_path / "09_csa.md").write_text("## 9.1 Later\n\nGRPE, Eqs. 2, 5 and 6; S11.\n")
    (tmp_path / "errata.md").write_text("### GRPE, Eq. 4: a sum\n\nUnlike CSA, Eq. 4.\n")
    sections, errata, _ = ledger.read_chapters(tmp_path)
    titles = {id: [section.name for section in places] for id, places in sections.items()}
    assert titles == {
        "GRPE, Eq. 2": ["8.2 Within"],
        "GRPE, Eq. 5": ["8.2 Second $k_j$"],
        "GRPE, Eq. 6": ["9.1 Later"],
        "CS224W, S11": ["8.2 Within"],
    }
    assert list(errata) == ["GRPE, Eq. 4"]
    table = ledger.table("GRPE", ledger.Ledger({}, {}, sections, errata, []))
    erratum = "Erratum: [a sum](../notebooks/errata.ipynb#grpe-eq-4-a-sum)"
    assert f"| Eq. 4: a scalar for each relation, as Graphormer's<br>{erratum} |" in table
