"""The command line: lists, runs, exit codes. Wrong words are in ``bad_input``."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import get_args

import pytest

import gtcourse
from gtcourse import names
from gtcourse.cli import Form, _command, main
from gtcourse.course.commands import app
from gtcourse.graphs.published import dataset_names
from gtcourse.models.csa import ModelForm
from gtcourse.predict import load
from gtcourse.recipes import RECIPES, get_recipe
from gtcourse.recipes.recipe import with_form
from tests.faults.jobs import Child, command_line
from tests.graphs.served import write_some
from tests.process import InThisProcess, run
from tests.process import gtcourse as call
from tests.train.tiny_data import tiny, tiny_zinc_file


@pytest.fixture
def file(tmp_path):
    return str(tiny_zinc_file(tmp_path))


def test_version_recipes_and_data_sets_are_listed():
    assert call("--version") == f"gtcourse {gtcourse.__version__}\n"
    assert call("--version", "models") == f"gtcourse {gtcourse.__version__}\n"
    listed = call("recipes", "--dataset", "zinc")
    for name, recipe in RECIPES.items():
        assert (name in listed) == (recipe.dataset == "zinc")
    assert max(map(len, listed.splitlines())) < 80
    assert "test_accuracy, by size" in call("recipes", "--dataset", "cycles")
    described = call("recipes", "csa-rings/zinc")
    assert "paper_result: {'test_mae': (0.056, 0.002)}" in described
    assert "warmup_then_cosine" in described
    assert "ogbg-molhiv" in call("data")
    described = call("data", "csl")
    assert "'train': " in described
    assert "nodes: 41 to 41" in described


def test_names_listed_without_pytorch_match_recipes_data_sets_and_weights():
    assert [*RECIPES] == names.RECIPE_NAMES
    assert gtcourse.load_dataset  # whose module adds the generated data sets to the published
    assert [*names.DATASET_NAMES] == dataset_names()
    assert [*Form] == [*get_args(ModelForm)]
    assert names.available() == sorted({load(name).name for name in names.available()})
    with_recipe = {recipe.dataset for recipe in RECIPES.values()}
    assert {*names.WITHOUT_RECIPE} == {*names.DATASET_NAMES} - with_recipe


@pytest.mark.parametrize("name", names.RECIPE_NAMES + names.SMALL_RECIPE_NAMES)
def test_a_form_is_rejected_without_pytorch_where_the_recipe_rejects_it(name):
    recipe = get_recipe(name)
    for form in Form:
        is_of_csa_alone = form.value in ("factorised", "chunked")
        accepted = name.startswith("csa" if is_of_csa_alone else ("csa", "egt", "grpe"))
        without_pytorch = message(lambda form=form: names.check_form(form.value, name))
        assert (without_pytorch == "") == accepted
        with_pytorch = message(lambda form=form: with_form(recipe, form.value))
        if form.value == "fused" and "-mono" in name:  # only the configuration knows
            assert "chromatic=False" in with_pytorch
        elif form.value == "factorised" and "-bounded" in name:  # likewise
            assert "clip is 5.0 and form is 'factorised'" in with_pytorch
        else:
            assert with_pytorch == without_pytorch


def message(check: Callable[[], object]) -> str:
    """The message of the ValueError, or nothing."""
    try:
        check()
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", names.available())
def test_a_shipped_model_is_known_to_predict_values_without_pytorch(name):
    assert load(name).task.kind == "value"
    assert names.predicts_values(name)


OWN = ("train", "csa/zinc", "--csv", "own.csv")

WRONG = [
    (("recipes", "csa/znic"), "there is no recipe 'csa/znic'; expected one such as csa/zinc"),
    (("train", "csa/znic"), "there is no recipe 'csa/znic'"),
    (("train", "csa/znic", "--seed", "0", "--seed", "1"), "there is no recipe 'csa/znic'"),
    (("train", "csa/zinc", "--data", "nowhere"), "data is 'nowhere'; expected 'embedded'"),
    (("train", "csa/zinc", "--csv", "my.csv"), "expected --target NAME"),
    (
        ("train", "csa/zinc", "--csv", "my.csv", "--target", "y", "--start", "csa/znic"),
        "csa/znic is not a trained model",
    ),
    (("train", "csa/zinc", "--budget", "huge"), "Invalid value for '--budget'"),
    (("train", "csa/zinc", "--precision", "8"), "Invalid value for '--precision'"),
    (("train", "csa/zinc", "--task", "ranking"), "Invalid value for '--task'"),
    (("train", "csa/zinc", "--form", "fast"), "Invalid value for '--form'"),
    (("data", "zink"), "there is no dataset 'zink'"),
    (("prepare", "zink", "--out", "graphs"), "there is no dataset 'zink'"),
    (
        ("predict", "csa/znic", "CCO"),
        "csa/znic is not a trained model (similar: csa/zinc); expected one of",
    ),
    (("predict", "csa/zinc"), "expected SMILES or --csv FILE"),
    (("predict", "csa/zinc", "--csv", "no.csv"), "there is no file no.csv; expected a CSV"),
    (("train", "csa/zinc", "--csv", "no.csv", "--target", "y"), "there is no file no.csv"),
    (("predict", "csa/zinc", "--csv", "https://a.org/b.csv"), "is an address; expected a CSV file"),
    (("predict", "CCO"), "CCO is not a trained model"),
    (("predict", "csa/zinc", __file__), "is a file; expected --csv"),
    (("predict", "csa/zinc", "CCO", "--out", "."), "--out is ., a folder; expected the name"),
    (("explore", "csa/zinc,csa/znic", "CCO"), "csa/znic is not a trained model"),
    (("bench", "csa/znic"), "there is no recipe 'csa/znic'"),
    (("costs", "csa/znic"), "there is no recipe 'csa/znic'"),
    (
        ("predict", "csa/zinc", "--csv", "own.csv", "--smiles", "SMILES"),
        "own.csv has no column 'SMILES' (similar: 'smiles'); expected smiles (--smiles) to be one",
    ),
    (("predict", "csa/zinc", "--csv", "latin.csv"), "latin.csv, line 1: byte 0xe9 is not UTF-8"),
    (("predict", "csa/zinc", "--csv", "header.csv"), "header.csv has a header and no rows"),
    (("predict", "csa/zinc", "--csv", "ragged.csv"), "ragged.csv, line 3 has 3 cells; expected 2"),
    (("predict", "csa/zinc", "CCO", "--logits"), "--logits has no effect on csa/zinc"),
    ((*OWN, "--target", "Y"), "own.csv has no column 'Y' (similar: 'y'); expected one of smiles,"),
    ((*OWN, "--target", "Y", "--folds", "3"), "own.csv has no column 'Y'"),
    ((*OWN, "--target", "Y", "--seed", "0", "--seed", "1"), "own.csv has no column 'Y'"),
    ((*OWN, "--target", "y", "--smiles", "SMILES"), "own.csv has no column 'SMILES'"),
    ((*OWN, "--target", "y", "--split", "scafold"), "own.csv has no column 'scafold'"),
    (
        (*OWN, "--target", "y", "--split", "name"),
        "own.csv, line 2, column 'name' has 'ethanol'; expected train, val or test.",
    ),
    ((*OWN, "--target", "y", "--folds", "4"), "--folds is 4, but own.csv has 3 rows; expected at"),
    (
        (*OWN, "--target", "y", "--folds", "4", "--fold", "1"),
        "--folds is 4, but own.csv has 3 rows; expected at most 3.",
    ),
    ((*OWN, "--target", "name"), "own.csv, line 2, column 'name' has 'ethanol'; expected a number"),
    ((*OWN, "--target", "y", "--task", "binary"), "own.csv, line 3, column 'y' has '0.5'"),
    ((*OWN, "--target", "part", "--task", "classes"), "column 'part' has 1 classes (train)"),
    (
        (*OWN, "--target", "y", "--target", "name", "--task", "classes"),
        "the task classes has 2 targets; expected one column.",
    ),
    ((*OWN, "--target", "y", "--target", "y"), "targets is ['y', 'y']; expected one or more diff"),
    ((*OWN, "--target", "smiles"), "expected columns other than that of the SMILES"),
    (
        ("train", "csa/zinc", "--csv", "header.csv", "--target", "y"),
        "header.csv has a header and no rows; expected a row for each molecule.",
    ),
    (
        ("train", "csa/zinc", "--csv", "latin.csv", "--target", "y"),
        "latin.csv, line 1: byte 0xe9 is not UTF-8",
    ),
    (
        ("train", "egt-100k/zinc", "--form", "factorised"),
        "form is 'factorised'; expected one of direct, fused.",
    ),
    (
        ("train", "gin/zinc", "--form", "fused"),
        "form is 'fused' for gin/zinc; expected a recipe of CSA, EGT or GRPE.",
    ),
    (("recipes", "--dataset", "digits"), "there is no published recipe for 'digits'; expected one"),
    (("results", "."), "there is no finished run in .; expected one or more."),
    (("data", "zinc", "--source", "dowload"), "there is no file dowload; expected an .npz graph"),
]
"""Words of a command, and what it answers."""

FILES = {
    "own.csv": b"smiles,y,name,part\nCCO,1,ethanol,train\nC,0.5,methane,train\nCC,2,ethane,train\n",
    "latin.csv": "smiles,y,unit\u00e9\nCCO,1,m\n".encode("latin-1"),
    "header.csv": b"smiles,y\n",
    "ragged.csv": b"smiles,y\nCCO,1\nC,1,2\n",
}
"""The files that these words name."""

ANSWER_EACH = """
import io, json, sys
from contextlib import redirect_stderr
sys.modules["torch"] = sys.modules["torch_geometric"] = None
from gtcourse.course.commands import main

answers = []
for words in json.load(sys.stdin):
    sys.argv = ["gtcourse", *words]
    code = 0
    with redirect_stderr(io.StringIO()) as said:
        try:
            main()
        except SystemExit as stop:
            code = stop.code
    answers.append([code, said.getvalue()])
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory) -> dict[tuple[str, ...], tuple[int, str]]:
    """Exit status and answer to each of the wrong words, in one process without PyTorch."""
    folder = tmp_path_factory.mktemp("files")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    asked = [words for words, _ in WRONG]
    told = run(sys.executable, "-c", ANSWER_EACH, input=json.dumps(asked), cwd=folder)
    return {words: tuple(answer) for words, answer in zip(asked, json.loads(told), strict=True)}


@pytest.mark.parametrize(("words", "says"), WRONG)
def test_a_wrong_name_or_option_is_rejected_before_pytorch_is_imported(answers, words, says):
    code, said = answers[words]
    assert code in (1, 2)
    assert says in said


def test_results_compares_a_trained_run_with_the_paper(tmp_path, file):
    runs = str(tmp_path / "runs")
    words = ("train", "gin-100k/zinc", "--data", file, "--epochs", "2", "--out", runs)
    told = call(*words)
    assert re.search(r"^estimate: about \d+ s for 2 epochs of 1 step on this machine", told, re.M)
    assert "(the paper's run on zinc: 0.387)" in told
    shown = call("results", runs)
    assert "gin-100k/zinc  2 of 1,000 epochs" in shown
    assert "csa/zinc" not in shown
    assert "not yet run" in call("results", runs, "--all", "--dataset", "zinc")


def test_bench_times_a_step_and_costs_counts_its_memory_for_any_graph_size(file):
    measured = call("bench", "gin-100k/zinc", "--data", file, "--steps", "2")
    assert "ms of 128 graphs" in measured
    assert "whole recipe" in measured
    words = ("--nodes", "50", "--nodes", "5000", "--batch-size", "4")
    counted = call("costs", "egt-500k/zinc", "--data", file, *words)
    assert "egt-500k/zinc, batches of 4 graphs" in counted
    assert "5,000" in counted
    with pytest.raises(ValueError, match="works on lists of edges or of paths"):
        app(["costs", "gin/zinc", "--data", file], standalone_mode=False)


@pytest.mark.slow
def test_prepare_stores_what_a_recipe_reads_and_train_uses_the_folder(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    write_some(tmp_path / "root", count=48)
    words = ("prepare", "pcqm4mv2", "--root", "root", "--rows", "5", "--out", "graphs")
    prepared = call(*words, "--recipe", "csa-deep/pcqm4mv2")
    assert "stored with them: AddRings(max_size=6)" in prepared
    assert "pcqm4mv2-layout" in prepared
    assert "'train': 24, 'val': 8, 'test': 16" in prepared
    words = (
        "train",
        "csa-small/pcqm4mv2",
        "--data",
        "graphs",
        "--epochs",
        "1",
        "--batch-size",
        "8",
        "--checkpoint-every",
        "2",
        "--auto-resume",
    )
    begun = call(*words)
    again = call(*words)
    assert "val_mae" in begun
    assert "test_mae" not in begun  # the publisher withholds the targets of the test set
    assert "the record: runs/" in again


def test_a_missing_library_is_named(monkeypatch, capsys, tmp_path):
    words = ["prepare", "zinc", "--out", str(tmp_path / "graphs"), "--scheduler", "tcp://a:1"]
    monkeypatch.setattr("gtcourse.load_dataset", lambda name, root: tiny(name, 2))
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr(sys, "argv", ["gtcourse", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    assert "this needs dask[distributed], which is not installed" in capsys.readouterr().err
    assert not (tmp_path / "graphs").exists()


def test_the_recorded_command_includes_torchrun_but_not_resume_options(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["gtcourse", "train", "a b", "--resume", "--auto-resume"])
    assert _command() == "gtcourse train 'a b'"
    for name in ("TORCHELASTIC_RUN_ID", "GROUP_WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.setenv(name, "2")
    assert _command() == "torchrun --nnodes 2 --nproc_per_node 2 -m gtcourse train 'a b'"


@pytest.mark.slow
def test_a_signal_stops_the_processes_of_all_seeds_and_resume_continues_them(
    monkeypatch, tmp_path, file
):
    words = ["train", "gin-100k/zinc", "--data", file, "--epochs", "40", "--jobs", "2"]
    words += ["--out", str(tmp_path / "runs"), "--seed=0", "--seed", "1"]
    folders = [tmp_path / "runs" / f"gin-100k-zinc-seed{seed}" for seed in range(2)]
    child = Child(partial(command_line, words), tmp_path)
    while child.process.is_alive() and not any((each / "last.ckpt").exists() for each in folders):
        time.sleep(0.01)
    child.signal_after(0, signal.SIGTERM)
    assert child.end().code == 128 + signal.SIGTERM
    # In the first process and those it started.
    assert child.output.count("stopped by SIGTERM") >= 2
    assert "Traceback" not in child.output
    assert not all((each / "weights").exists() for each in folders)

    def start(command: list[str]):
        """The last in a process of its own, as for a reader."""
        kind = subprocess.Popen if command[-2:] == ["--seed", "2"] else InThisProcess
        return kind(command)

    monkeypatch.setattr("gtcourse.cli.subprocess", SimpleNamespace(Popen=start))
    call(*words, "--seed", "2", "--resume")
    records = sorted(path.name for path in tmp_path.rglob("*-seed?.json"))
    assert records == [f"gin-100k-zinc-seed{seed}.json" for seed in range(3)]


def test_a_console_that_lacks_a_character_shows_a_question_mark():
    """As those of Windows, which have no superscript nine."""
    console = {**os.environ, "PYTHONIOENCODING": "cp1252", "COLUMNS": "200"}
    words = [sys.executable, "-m", "gtcourse", "costs", "--help"]
    done = subprocess.run(words, capture_output=True, env=console)
    assert done.returncode == 0, done.stderr
    assert b"GFLOP (10?" in done.stdout
