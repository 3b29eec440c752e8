"""The command line: lists, runs, exit codes. Wrong words are in ``bad_input``."""

import signal
import subprocess
import sys
import time

import pytest
from rich.console import Console
from typer.testing import CliRunner

import gtcourse
from gtcourse.cli import _command, app, main
from gtcourse.recipes import RECIPES
from tests.graphs.layout import write_some
from tests.training.tiny_data import tiny, tiny_zinc_file


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """A terminal in which no cell has to be broken, whatever this process was started from."""
    monkeypatch.setattr("gtcourse.cli.console", Console(width=200))


def call(*words: str) -> str:
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return done.output


def test_version():
    assert call("--version") == f"gtcourse {gtcourse.__version__}\n"


def test_recipes_are_listed_by_data_set_and_one_is_described():
    listed = call("recipes", "--dataset", "zinc")
    for name, recipe in RECIPES.items():
        assert (name in listed) == (recipe.dataset == "zinc")
    assert "test_accuracy, by size" in call("recipes", "--dataset", "cycles")
    told = call("recipes", "csa-rings/zinc")
    assert max(map(len, listed.splitlines())) < 80
    assert "paper_result: {'test_mae': (0.056, 0.002)}" in told
    assert "warmup_then_cosine" in told


def test_data_sets_are_listed_and_one_is_described():
    assert "ogbg-molhiv" in call("data")
    told = call("data", "csl")
    assert "'train': " in told
    assert "nodes: 41 to 41" in told


@pytest.fixture
def file(tmp_path):
    return tiny_zinc_file(tmp_path)


def test_a_run_is_trained_and_shown_beside_the_paper(monkeypatch, tmp_path, file):
    words = ["train", "gin-100k/zinc", "--data", str(file), "--epochs", "2"]
    words += ["--out", str(tmp_path / "runs")]
    monkeypatch.setattr(sys, "argv", ["gtcourse", *words])
    said = call(*words)
    assert "test_mae" in said
    assert "(the paper's run on zinc: 0.387)" in said
    shown = call("results", str(tmp_path / "runs"))
    assert "test_mae" in shown
    assert "gin-100k/zinc" in shown
    assert "2 of 1,000 epochs" in shown
    assert "csa/zinc" not in shown
    assert "not yet run" in call("results", str(tmp_path / "runs"), "--all", "--dataset", "zinc")


def test_a_step_is_measured(file):
    said = call("bench", "gin-100k/zinc", "--data", str(file), "--steps", "2")
    assert "ms of 128 graphs" in said
    assert "whole recipe" in said


@pytest.mark.slow
def test_a_folder_holds_what_a_recipe_reads_and_is_trained_on(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    write_some(tmp_path / "root", count=48)
    prepare = ("prepare", "pcqm4mv2", "--root", "root", "--rows", "5", "--out", "graphs")
    told = call(*prepare, "--recipe", "csa-deep/pcqm4mv2")
    assert "stored with them: AddRings(max_size=6)" in told
    assert "pcqm4mv2-layout" in told
    assert "'train': 24, 'val': 8, 'test': 16" in told
    words = ("train", "csa-small/pcqm4mv2", "--data", "graphs", "--epochs", "1",
             "--batch-size", "8", "--checkpoint-every", "2", "--auto-resume")  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["gtcourse", *words])
    begun, again = call(*words), call(*words)
    assert "val_mae" in begun
    assert "test_mae" not in begun  # their publisher keeps the targets of the test back
    assert "the record: runs/" in again
    counted = call("costs", "csa-small/pcqm4mv2", "--data", "graphs", "--nodes", "500")
    assert "csa-small/pcqm4mv2, batches of" in counted


def test_memory_is_counted_for_graphs_of_any_size(file):
    told = call("costs", "egt-500k/zinc", "--data", str(file), "--nodes", "50", "--nodes", "5000",
                "--batch-size", "4")  # fmt: skip
    assert "egt-500k/zinc, batches of 4 graphs" in told
    assert "5,000" in told
    with pytest.raises(ValueError, match="works on lists of edges or of paths"):
        app(["costs", "gin/zinc", "--data", str(file)], standalone_mode=False)


def test_a_missing_library_is_named(monkeypatch, capsys, tmp_path):
    words = ["prepare", "zinc", "--out", str(tmp_path / "graphs"), "--scheduler", "tcp://a:1"]
    monkeypatch.setattr("gtcourse.graphs.datasets.load_dataset", lambda name, root: tiny(name, 2))
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.setattr(sys, "argv", ["gtcourse", *words])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 1
    assert "this needs dask[distributed], which is not installed" in capsys.readouterr().err
    assert not (tmp_path / "graphs").exists()


@pytest.mark.parametrize("words", [["--seed", "0", "--seed", "3"], ["--seed=0", "--seed=3"]])
def test_each_seed_is_one_command(monkeypatch, words):
    called = []

    class Process:
        def __init__(self, command):
            called.append(command[3:])

        def wait(self):
            return len(called) - 1  # the second fails

        def terminate(self):
            pass

    monkeypatch.setattr("gtcourse.cli.subprocess.Popen", Process)
    monkeypatch.setattr(sys, "argv", ["gtcourse", "train", "gin/zinc", *words])
    assert CliRunner().invoke(app, sys.argv[1:]).exit_code == 1
    assert called == [["train", "gin/zinc", "--seed", seed] for seed in ("0", "3")]
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--resume"])
    CliRunner().invoke(app, sys.argv[1:])
    assert called[-1] == ["train", "gin/zinc", "--auto-resume", "--seed", "3"]


def test_the_recorded_command_names_torchrun_and_does_not_resume(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["gtcourse", "train", "a b", "--resume", "--auto-resume"])
    assert _command() == "gtcourse train 'a b'"
    for name in ("TORCHELASTIC_RUN_ID", "GROUP_WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        monkeypatch.setenv(name, "2")
    assert _command() == "torchrun --nnodes 2 --nproc_per_node 2 -m gtcourse train 'a b'"


@pytest.mark.slow
def test_a_signal_reaches_every_seeds_process_and_the_same_command_continues_them(tmp_path, file):
    def command(*more: str) -> list[str]:
        words = ["train", "gin-100k/zinc", "--data", str(file), "--epochs", "40", "--jobs", "2"]
        words += ["--out", str(tmp_path / "runs"), "--seed", "0", "--seed", "1", *more]
        return [sys.executable, "-m", "gtcourse", *words]

    folders = [tmp_path / "runs" / f"gin-100k-zinc-seed{seed}" for seed in range(2)]
    process = subprocess.Popen(command(), stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not any((each / "last.ckpt").exists() for each in folders):
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate()
    assert process.returncode == 128 + signal.SIGTERM
    assert said.count("stopped by SIGTERM") >= 2  # who began the runs, and all that had begun
    assert "Traceback" not in said
    assert not all((each / "weights").exists() for each in folders)
    again = subprocess.run(command("--seed", "2", "--resume"), capture_output=True, text=True)
    assert again.returncode == 0, again.stderr
    records = sorted(path.name for path in tmp_path.rglob("*-seed?.json"))
    assert records == [f"gin-100k-zinc-seed{seed}.json" for seed in range(3)]
