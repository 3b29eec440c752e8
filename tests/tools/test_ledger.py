"""The ledger: complete as it stands, and each missing or wrong link is reported in a sentence."""

import shutil

import pytest

from tools import ledger
from tools.paths import PACKAGE, ROOT, TEXTS

PAGE = ledger.PAGE.read_text(encoding="utf-8")


def test_every_equation_has_an_object_a_test_and_a_section_and_the_page_says_so():
    assert ledger.faults() == []


@pytest.fixture
def copies(tmp_path):
    """The package's models, the tests and the chapters, to be spoiled."""
    places = {"package": PACKAGE, "tests": ROOT / "tests", "chapters": TEXTS}
    for name, folder in places.items():
        kinds = shutil.ignore_patterns("__pycache__", "*.json", "*.npz", "*.pt")
        shutil.copytree(folder, tmp_path / name, ignore=kinds)
    return tmp_path


def spoil(path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{text.count(old)} places for {old!r} in {path.name}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def faults_of(copies) -> list[str]:
    return ledger.read(*(copies / name for name in ("package", "tests", "chapters"))).faults


@pytest.mark.parametrize(
    ("path", "old", "new", "faults"),
    [
        (
            "package/models/embeddings.py",
            "up to p (CSA, Eq. 11)",
            "up to p",
            ["CSA, Eq. 11: no docstring cites it."],
        ),
        (
            "tests/models/test_baselines.py",
            '@pytest.mark.holds("CSA, Eq. 1")\n',
            "",
            ["CSA, Eq. 1: no test holds it."],
        ),
        (
            "chapters/08_grpe.md",
            r"\tag{9}",
            "",
            ["GRPE, Eq. 9: no chapter explains it."],
        ),
        (
            "package/models/embeddings.py",
            "(CSA, Eq. 11)",
            "(CSA, Eq. 11; see Eq. 12)",
            ["embeddings.py: DistanceEncoding cites an equation and not of which source."],
        ),
        (
            "tests/models/test_baselines.py",
            '("CSA, Eq. 1")',
            '("CSA, Eq. 1", "EGT, Eq. 15")',
            ["test_baselines.py: test_a_gated_layer_equals_the_loop_over_nodes_and_edges names "
             "EGT, Eq. 15, which does not exist."],
        ),
    ],
)  # fmt: skip
def test_what_is_missing_or_wrong_is_named(copies, path, old, new, faults):
    spoil(copies / path, old, new)
    assert faults_of(copies) == faults


def test_a_skipped_test_holds_nothing(copies):
    mark = '@pytest.mark.holds("CSA, Eq. 1")'
    spoil(copies / "tests/models/test_baselines.py", mark, f"@pytest.mark.skip\n{mark}")
    assert "CSA, Eq. 1: no test holds it." in faults_of(copies)


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("GRPE, Eqs. 6 to 8", ["GRPE 6", "GRPE 7", "GRPE 8"]),
        ("CS224W, S2 to S4 and S6; CSA,\n  Eq. 5", ["S2", "S3", "S4", "S6", "CSA 5"]),
        ("Graphormer, Facts 1 and 2", ["Graphormer Fact 1", "Graphormer Fact 2"]),
        ("CSA, Figure 2, and EGT, Figure 3", ["CSA Figure 2"]),
        ("Eq. 4, Graphormer's Eq. 6, S4", []),
    ],
)  # fmt: skip
def test_a_citation_is_read_as_it_is_meant(text, ids):
    assert ledger.cited(text) == ids


CHAPTER = r"""
# 08 GRPE

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
    sections, errata, unknown = ledger.read_chapters(tmp_path)
    titles = {id: [section.title for section in places] for id, places in sections.items()}
    assert titles == {
        "GRPE 2": ["8.2 Within"],
        "GRPE 5": ["8.2 Second $k_j$"],
        "GRPE 6": ["9.1 Later"],
        "S11": ["8.2 Within"],
    }
    assert list(errata) == ["GRPE 4"]
    table = ledger.table("GRPE", ledger.Ledger({}, {}, sections, errata, []))
    erratum = "Erratum: [a sum](../notebooks/errata.ipynb#grpe-eq-4-a-sum)"
    assert f"| Eq. 4: a scalar for each relation, as Graphormer's<br>{erratum} |" in table
    assert unknown == []


def test_an_anchor_is_the_one_that_myst_makes():
    assert ledger.anchor("6.5 [VNode], the layer, the model") == "65-vnode-the-layer-the-model"
    assert ledger.anchor("8.5 $k_j$ or $k_i$") == "85--or-"
