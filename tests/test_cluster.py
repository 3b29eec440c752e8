"""The scripts for clusters, run on this machine: Slurm's own commands are played by a few lines."""

import os
import shlex
import sys
from functools import partial
from pathlib import Path

import pytest

from gtcourse.encodings.prepare import prepare
from gtcourse.graphs import open_graphs
from gtcourse.runs.record import read_record
from tests.faults.jobs import command_line
from tests.graphs.served import write_some
from tests.process import run
from tests.train.forked import two_processes
from tests.train.tiny_data import tiny

CLUSTER = Path(__file__).resolve().parent.parent / "cluster"
SCONTROL = "#!/bin/sh\necho localhost\n"
SRUN = """#!/usr/bin/env bash
# The same command on each of MACHINES machines; options are Slurm's own.
cores=none
while [[ $1 == --* ]]; do
  [[ $1 == --cpus-per-task=* ]] && cores=${1#*=}
  shift
done
[[ $cores == "$SLURM_CPUS_PER_TASK" ]] || exit 1
trap 'kill "${running[@]}" 2>/dev/null' EXIT
for ((i = 0; i < MACHINES; i++)); do "$@" & running+=($!); done
for one in "${running[@]}"; do wait "$one" || exit 1; done
"""


@pytest.fixture
def slurm(tmp_path):
    """An environment as Slurm gives it to a job of two machines."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, script in (("srun", SRUN), ("scontrol", SCONTROL)):
        (commands / name).write_text(script)
        (commands / name).chmod(0o755)
    mine = Path(sys.executable).parent
    return os.environ | {
        "PATH": f"{commands}:{mine}:{os.environ['PATH']}",
        "MACHINES": "2",
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_JOB_NODELIST": "node[1-2]",
        "SLURM_NNODES": "2",
        "SLURM_NTASKS": "2",
        "SLURM_CPUS_PER_TASK": "1",
        "SLURM_GPUS_ON_NODE": "1",
    }


def call(script: str, *words: object, env: dict[str, str], cwd: Path) -> str:
    return run(CLUSTER / script, *words, env=env, cwd=cwd, timeout=120)


@pytest.mark.slow
def test_two_machines_train_one_model_and_a_finished_job_is_not_repeated(slurm, tmp_path):
    prepare(tiny("zinc", 24), tmp_path / "graphs", stored=(), rows_per_part=6, progress=False)
    words = ("csa/zinc", "--data", "graphs", "--out", "runs", "--epochs", 2, "--batch-size", 4)
    call("train.sbatch", *words, env=slurm, cwd=tmp_path)
    (folder,) = (tmp_path / "runs").iterdir()
    (path,) = (path for path in folder.glob("*.json") if path.name != "run.json")
    record = read_record(path)
    assert record.config["devices"] == 2
    assert record.data["sizes"] == {"train": 24, "val": 24, "test": 24}
    assert record.result["steps"] == 2 * 6
    torchrun, command = record.command.split(" gtcourse ", 1)
    assert torchrun == "torchrun --nnodes 2 --nproc_per_node 1 -m"
    assert command.startswith("train csa/zinc --data graphs ")
    assert "--auto-resume" in (CLUSTER / "train.sbatch").read_text()
    words = [*shlex.split(command), "--auto-resume"]
    again = two_processes(partial(command_line, words), tmp_path, machines=2)
    assert f"{record.seconds:.0f} s; the record" in again[0]


@pytest.mark.slow
def test_two_machines_prepare_one_data_set(slurm, tmp_path):
    write_some(tmp_path / "root")
    words = ("pcqm4mv2", "--root", "root", "--out", "graphs", "--rows", 6)
    left = tmp_path / f".dask-{slurm['SLURM_JOB_ID']}.json"
    left.write_text('{"address": "tcp://127.0.0.1:9"}')  # by the same job, when it was ended
    told = call("prepare.sbatch", *words, env=slurm, cwd=tmp_path)
    assert "stored with them: AddRings(max_size=18)" in told
    assert len(open_graphs(tmp_path / "graphs")) == 24
    assert not list(tmp_path.glob(".dask-*"))


@pytest.mark.slow
def test_the_processes_of_one_machine_train_one_model(slurm, tmp_path):
    prepare(tiny("zinc", 12), tmp_path / "graphs", stored=(), rows_per_part=6, progress=False)
    words = ("csa/zinc", "--data", "graphs", "--epochs", 1, "--batch-size", 4)
    told = call("train.sh", *words, env=slurm | {"GPUS": "2"}, cwd=tmp_path)
    assert "val_mae" in told
