"""The reliability page: nothing on it without a record, and no record with a failure."""

import copy
import re

import pytest

from tools import reliability
from tools.reliability_faults import FAULTS
from tools.reliability_names import missing, of_records, of_today
from tools.reliability_pictures import PICTURES, family_of, worst_of_families
from tools.reliability_tables import TABLES

WHO = {
    "command": "python -m tests.x",
    "commit": "0" * 40,
    "device": "CPU",
    "cores": 2,
    "versions": {"torch": "2.13.0"},
    "date": "2026-11-22",
    "seconds": 600,
}
ERROR = {"error": 1e-3, "bound": 4e-3, "share": 0.25, "finite": True}
DTYPES = dict.fromkeys(("float32", "float16", "bfloat16"), ERROR)
SENTENCE = {"what": "floats", "sentence": "edge_index is float32; expected int64 | int."}
FUZZED = {"kind": ".npz", "examples": 1000, "refused": 900, "unchanged": 100, "failures": []}
MOMENT = {"share": 0.5, "seconds": 1.0, "phase": "a batch", "same_result": True, "rubbish": []}
MOMENTS = [MOMENT | {"phase": f"batch {k}"} for k in range(20)]
MUTANT = {"phrase": "no scale", "verdict": "caught", "test": "tests/models/test_a.py::test_b"}
SAMPLE = {
    "properties": WHO
    | {
        "models": {"EGT": {"order": 1500, "padding": 500}},
        "encodings": {"AddSVD": {"order": 2000}},
        "graphs": {"examples": 4000, "graphs": 8000, "directed": 2000, "x of int8": 900},
        "failures": [],
    },
    "inputs": WHO
    | {
        "boundaries": [{"boundary": "collate", "cases": 60, "sentences": [SENTENCE] * 2}],
        "fuzzed": [
            {"kind": ".npz", "examples": 1000, "refused": 900, "unchanged": 100, "failures": []}
        ],
        "bombs": [{"what": "zeros", "declared_mib": 4096, "peak_mib": 12, "sentence": "No."}],
        "payloads": {"tried": 3, "executed": 0},
    },
    "faults": WHO
    | {
        "kills": [{"kind": "training", "seconds": 2.0, "moments": MOMENTS}],
        "cases": [{"kind": "disk full", "what": "a cache", "outcome": "said so", "passed": True}],
    },
    "mutants": WHO | {"mutants": [MUTANT | {"model": "EGT", "id": f"egt-{i}"} for i in range(10)]},
    "numerics": WHO
    | {
        "gradients": {"first": ["EGT"], "second": ["EGT"], "refused": []},
        "attentions": {"EGT": DTYPES, "EGT, ungated": DTYPES},
        "models": {"egt": DTYPES},
        "determinism": {
            "threads": [1, 2, 4],
            "encodings": ["AddSVD"],
            "data": ["csl"],
            "close": 1e-4,
            "differ in another process": [],
            "differ with other threads": [],
            "differ in a second step": [],
            "gradients with other threads": {"egt": 1e-7},
        },
    },
}
TODAY = of_records(SAMPLE)
FAILURES = [
    ("properties", ("models", "EGT"), {"order": 1999, "finite in bf16": 2000}),
    ("properties", ("models",), {"GIN": {"order": 2000}}),
    ("properties", ("encodings",), {}),
    ("inputs", ("fuzzed", 0, "examples"), 999),
    ("inputs", ("bombs",), []),
    ("inputs", ("payloads", "tried"), 0),
    ("faults", ("kills", 0, "moments"), [MOMENT] * 20),
    ("faults", ("kills",), []),
    ("faults", ("cases",), []),
    ("mutants", ("mutants", 0, "id"), "another"),
    ("numerics", ("gradients", "first"), []),
    ("numerics", ("attentions",), {}),
    ("numerics", ("models",), {}),
    ("numerics", ("models", "egt"), {"float32": ERROR}),
    ("properties", ("failures",), ["a test"]),
    ("properties", ("models", "EGT", "order"), 1499),
    ("inputs", ("boundaries", 0, "cases"), 59),
    ("inputs", ("fuzzed", 0, "failures"), ["a flip"]),
    ("inputs", ("payloads", "executed"), 1),
    ("faults", ("kills", 0, "moments"), [MOMENT] * 19),
    ("faults", ("kills", 0, "moments", 0), MOMENT | {"same_result": False}),
    ("faults", ("kills", 0, "moments", 0), MOMENT | {"rubbish": [".half.tmp"]}),
    ("faults", ("cases", 0, "passed"), False),
    ("mutants", ("mutants", 0, "verdict"), "survived"),
    ("mutants", ("mutants", 0, "model"), "GIN"),
    ("numerics", ("attentions", "EGT", "float16"), ERROR | {"share": 1.01}),
    ("numerics", ("models", "egt", "float16"), ERROR | {"finite": False}),
    ("numerics", ("determinism", "differ with other threads"), ["encodings: AddSVD"]),
    ("numerics", ("determinism", "gradients with other threads", "egt"), 1e-3),
]


def changed(part, path, value):
    found = copy.deepcopy(SAMPLE)
    place = found[part]
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return found


def test_the_stored_records_have_no_faults_and_the_page_says_what_they_say():
    found = reliability.records()
    assert reliability.faults(found, of_today()) == []
    assert reliability.stale(found) == []


def test_records_without_a_failure_have_no_faults():
    assert reliability.faults(SAMPLE, TODAY) == []


@pytest.mark.parametrize(("part", "path", "value"), FAILURES)
def test_a_failure_or_too_little_is_named(part, path, value):
    faults = reliability.faults(changed(part, path, value), TODAY)
    assert faults
    assert all(fault.startswith(f"{part}: ") for fault in faults)


def test_what_a_whole_record_names_is_found_in_the_package():
    today = of_today()
    assert {*today} == {*TODAY}
    assert all(today.values())
    assert missing({}, today) == []


@pytest.mark.parametrize("part", FAULTS)
def test_a_part_that_is_missing_is_named(part):
    found = {name: record for name, record in SAMPLE.items() if name != part}
    assert reliability.faults(found, TODAY) == [f"there is no record of {part}"]


@pytest.mark.parametrize("name", TABLES)
def test_a_block_has_its_place_on_the_page_and_rows_of_equal_width(name):
    page = reliability.PAGE.read_text(encoding="utf-8")
    assert page.count(f"<!-- {name}: ") == page.count(f"<!-- end of {name} -->") == 1
    rows = re.findall(r"^\|.*\|$", TABLES[name](SAMPLE), re.M)
    assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) <= (
        2 if name in ("fuzzed", "inputs") else 1
    )


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_its_place_a_description_and_no_fixed_ink(name):
    page = reliability.PAGE.read_text(encoding="utf-8")
    assert f":file: reliability/{name}.html" in page
    drawn = reliability.picture(name, SAMPLE)
    assert 'aria-label="' in drawn
    assert "var(--gtcourse-ink" in drawn


@pytest.fixture
def page(tmp_path, monkeypatch):
    """A copy of the page, brought up to date with the sample."""
    text = reliability.PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(reliability, "PAGE", tmp_path / "reliability.md")
    monkeypatch.setattr(reliability, "FOLDER", tmp_path / "reliability")
    reliability.PAGE.write_text(text, encoding="utf-8")
    reliability.write(SAMPLE)
    return tmp_path


def test_a_page_that_was_written_is_up_to_date(page):
    assert reliability.stale(SAMPLE) == []


def test_a_number_that_changes_is_seen_in_page_and_picture(page):
    other = changed("numerics", ("models", "egt", "float16"), ERROR | {"error": 2e-3})
    assert reliability.stale(other) == [
        "reliability.md is not of these records",
        "numerics.html is not drawn from these records",
    ]


def test_a_picture_that_is_missing_is_seen(page):
    (page / "reliability" / "faults.html").unlink()
    assert reliability.stale(SAMPLE) == ["faults.html is not drawn from these records"]


def test_results_without_a_digit_are_named():
    assert "No error is above a tenth" in TABLES["precision"](SAMPLE)
    coarse = changed("numerics", ("attentions", "EGT", "float16"), ERROR | {"error": 0.78})
    assert "EGT in float16 (0.78)" in TABLES["precision"](coarse)


def test_a_family_shows_its_worst_member():
    worse = ERROR | {"share": 0.9}
    found = worst_of_families({"EGT": DTYPES, "EGT, ungated": DTYPES | {"float16": worse}})
    assert found["EGT"]["float16"] == worse
    assert family_of("form of EGT") == family_of("form, gates") == "form"
