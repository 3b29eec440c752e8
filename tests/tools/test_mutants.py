"""The mutants: listed for the source of today, and none of them unnoticed."""

import json
import multiprocessing
import sys
from dataclasses import replace

import pytest

from tools.mutants import __main__ as command
from tools.mutants import trial
from tools.mutants.lists import AT_LEAST, Model, Mutant, read_models
from tools.mutants.trial import Trial, fail_anyway, try_mutant
from tools.paths import ROOT

MODELS = read_models()

TESTS = """
from gtcourse.layer import double

def test_twice_three_is_six():
    assert double(3) == 6
"""
SUMMED = Mutant(
    id="summed",
    phrase="two is added",
    file="gtcourse/layer.py",
    before="2 * x",
    after="2 + x",
    tests=("tests/test_layer.py",),
)
LAYER = Model("layer", "Layer", "from gtcourse.layer import double; double(1)", (SUMMED,))


@pytest.fixture
def repository(package, monkeypatch):
    """A package of one function, ``2 * x``, and a test of it."""
    # A process has one fork server, and another test may have had it import the real package.
    monkeypatch.setattr(trial, "_server", lambda: multiprocessing.get_context("spawn"))
    root = package.parent
    (package / "__init__.py").touch()
    (root / "tests").mkdir()
    (root / "tests" / "__init__.py").touch()
    (root / "tests" / "test_layer.py").write_text(TESTS)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\nmarkers = ['slow']\n")
    return root


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.file)
def test_every_mutant_can_be_made_of_the_source_of_today(model):
    assert {mutant.id: mutant.fault(ROOT) for mutant in model.mutants if mutant.fault(ROOT)} == {}
    for mutant in model.mutants:
        for begins in mutant.tests:
            file, _, test = begins.partition("[")[0].partition("::")
            assert f"def {test}" in (ROOT / file).read_text(), begins
        compile((ROOT / mutant.file).read_text().replace(mutant.before, mutant.after), "", "exec")


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.file)
def test_every_model_is_broken_in_ten_ways_or_more(model):
    changes = {(mutant.file, mutant.before, mutant.after) for mutant in model.mutants}
    assert len(changes) == len(model.mutants) >= AT_LEAST


def test_the_record_says_that_every_mutant_is_caught():
    recorded = json.loads(command.RECORD.read_text())["mutants"]
    assert [(row["id"], row["model"], row["phrase"], row["file"]) for row in recorded] == [
        (mutant.id, model.name, mutant.phrase, mutant.file)
        for model in MODELS
        for mutant in model.mutants
    ]
    for row in recorded:
        assert row["verdict"] == "caught"
        assert (ROOT / row["test"].split("::")[0]).is_file()


def test_a_mutant_that_a_test_notices_is_caught(repository):
    noticed = try_mutant(LAYER, SUMMED, root=repository)
    assert (noticed.verdict, noticed.test) == (
        "caught",
        "tests/test_layer.py::test_twice_three_is_six",
    )
    assert noticed.why.startswith("AssertionError: assert 5 == 6")
    assert "return 2 * x" in (repository / "gtcourse" / "layer.py").read_text()


def test_a_mutant_that_no_test_notices_has_survived(repository):
    same = replace(SUMMED, after="x + x")
    assert try_mutant(LAYER, same, root=repository).verdict == "survived"


def test_tests_are_named_by_how_their_ids_begin(repository):
    (repository / "tests" / "test_many.py").write_text(
        "import pytest\nfrom gtcourse.layer import double\n\n"
        "@pytest.mark.parametrize('x', [2, 3, 13])\n"
        "def test_twice(x):\n    assert double(x) == 2 * x\n"
    )
    for begins, verdict in (("[2", "survived"), ("[1", "caught"), ("[7", "bad")):
        mutant = replace(SUMMED, tests=(f"tests/test_many.py::test_twice{begins}",))
        tried = try_mutant(LAYER, mutant, root=repository)
        assert tried.verdict == verdict
    assert tried.why == "pytest ended with NO_TESTS_COLLECTED"


def test_the_test_of_last_time_is_asked_first_if_it_is_still_there(repository):
    (repository / "tests" / "test_other.py").write_text(TESTS)
    for last, asked in (("test_other.py::test_twice_three_is_six", "other"), ("gone.py", "layer")):
        noticed = try_mutant(LAYER, SUMMED, f"tests/{last}", root=repository)
        assert noticed.verdict == "caught"
        assert noticed.test == f"tests/test_{asked}.py::test_twice_three_is_six"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"before": "3 * x"}, "its text is 0 times in gtcourse/layer.py; expected once"),
        ({"before": "x"}, "its text is 3 times in gtcourse/layer.py; expected once"),
        ({"after": "2 * x"}, "it changes nothing"),
        ({"file": "gtcourse/gone.py"}, "gtcourse/gone.py is not there"),
        ({"after": "2 *"}, "does not build: SyntaxError"),
        ({"after": "two * x"}, "does not build: NameError"),
        ({"after": "2 * [6, 6, 6, 0][x]"}, "does not build: IndexError"),
    ],
)
def test_a_mutant_that_cannot_be_made_is_no_catch(repository, changes, why):
    bad = replace(SUMMED, **changes)
    model = replace(LAYER, builds="from gtcourse.layer import double; double(4)")
    tried = try_mutant(model, bad, root=repository)
    assert tried.verdict == "bad"
    assert tried.why.startswith(why)


def test_a_mutant_that_only_makes_tests_crash_is_no_catch(repository):
    tried = try_mutant(LAYER, replace(SUMMED, after="2 * [0, 1][x]"), root=repository)
    assert tried.verdict == "bad"
    assert tried.why == (
        "crashes in tests/test_layer.py::test_twice_three_is_six: "
        "IndexError: list index out of range"
    )


def test_a_test_that_fails_anyway_is_found(repository):
    (repository / "tests" / "test_wrong.py").write_text("def test_wrong():\n    assert 1 == 2\n")
    names = ["tests/test_layer.py::test_twice_three_is_six", "tests/test_wrong.py::test_wrong"]
    assert fail_anyway(names, repository) == names[1:]
    assert fail_anyway([], repository) == []


@pytest.mark.parametrize(
    ("verdict", "wrong"), [("survived", []), ("bad", []), ("caught", ["t"]), ("caught", [])]
)
def test_only_a_run_that_caught_all_is_well_and_recorded(
    monkeypatch, tmp_path, capsys, verdict, wrong
):
    def tried(model, mutant, *_):
        return Trial(model.name, mutant.id, mutant.phrase, mutant.file, verdict, "t")

    out = tmp_path / "record.json"
    monkeypatch.setattr(command, "try_mutant", tried)
    monkeypatch.setattr(command, "fail_anyway", lambda tests: wrong)
    monkeypatch.setattr(command, "read_models", lambda: [LAYER])
    monkeypatch.setattr(sys, "argv", ["mutants", "--out", str(out)])
    with pytest.raises(SystemExit) as end:
        command.main()
    well = verdict == "caught" and not wrong
    assert (end.value.code == 0) == well == out.exists()
    printed = capsys.readouterr().out
    assert ("fails without a mutant, too: t" in printed) == bool(wrong)
    assert ("0 of" in printed) == (verdict != "caught")


def test_a_record_of_some_mutants_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["mutants", "--only", "csa", "--out", "record.json"])
    with pytest.raises(SystemExit):
        command.main()
    assert "a record is of all mutants; expected --only or --out" in capsys.readouterr().err


def test_a_list_that_is_none_is_refused():
    with pytest.raises(SystemExit, match="there is no list and no mutant gnorm; expected names"):
        command.chosen(MODELS, ["csa", "gnorm"])


def test_two_mutants_of_one_name_are_refused(tmp_path):
    text = (ROOT / "tools" / "mutants" / "bag.toml").read_text()
    for name in ("one", "other"):
        (tmp_path / f"{name}.toml").write_text(text)
    with pytest.raises(ValueError, match="two mutants are called bag-dropout-ignored, bag-enc"):
        read_models(tmp_path)
