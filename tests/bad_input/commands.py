"""The command line: the message is on stderr, the exit status not 0, and there is no traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from unittest.mock import patch

from gtcourse.cli import main
from tests.bad_input.case import Case
from tests.training.tiny_data import tiny_zinc_file


class RefusedError(Exception):
    """What the command said on stderr, in one line."""


def typed(*words: str) -> Callable:
    """``gtcourse WORDS``; a word that begins with @ is a path in the folder."""

    def make(folder: Path) -> Callable:
        tiny_zinc_file(folder)
        (folder / "file").write_text("no graph file")
        arguments = [str(folder / word[1:]) if word.startswith("@") else word for word in words]
        return lambda: call(arguments)

    return make


def call(arguments: list[str]) -> None:
    said, shown = StringIO(), StringIO()
    with (
        patch.object(sys, "argv", ["gtcourse", *arguments]),
        patch.dict("os.environ", {"COLUMNS": "5000", "TERM": "dumb"}),
        redirect_stderr(said),
        redirect_stdout(shown),
    ):
        try:
            main()
        except SystemExit as stop:
            status = stop.code
        else:
            status = 0
    assert status not in (0, None), shown.getvalue()
    assert "Traceback" not in said.getvalue()
    raise RefusedError(sentence(said.getvalue()))


def sentence(said: str) -> str:
    """Without the frame, the usage and the hint that typer draws around its own."""
    lines = [line.strip(" │|") for line in said.splitlines()]
    kept = [
        line for line in lines if line and not line.startswith(("Usage:", "Try ", "╭", "╰", "+"))
    ]
    return " ".join(kept)


TRAIN = ("train", "gin-100k/zinc", "--data", "@zinc.npz", "--out", "@runs")
CASES = [
    Case(f"gtcourse {' '.join(words)}"[:120], typed(*words), says, RefusedError)
    for words, says in [
        (("dance",), "No such command 'dance'."),
        (("recipes", "csa"), "there is no recipe 'csa'; expected one of"),
        (("recipes", "--dataset", "zink"), "no recipe is for 'zink'; expected one of cifar10,"),
        (("data", "zink"), "there is no dataset 'zink'; expected one of molecules,"),
        (("data", "--source", "@zinc.npz"), "of no data set; expected a name before it"),
        (("data", "zinc", "--source", "[/x].npz"), "there is no file [/x].npz; expected an .npz"),
        (
            ("data", "zinc", "--source", "@file"),
            "/file is no .npz graph file, or its end is missing",
        ),
        (
            ("data", "molecules", "--source", "download"),
            "there is nothing to download for 'molecule",
        ),
        (("train",), "Missing argument"),
        (("train", "gin/zync"), "there is no recipe 'gin/zync'; expected one of"),
        ((*TRAIN[:2], "--data", "nowhere"), "data is 'nowhere'; expected 'embedded', 'real', the"),
        ((*TRAIN[:2], "--data", "x" * 5000), "expected 'embedded', 'real', the path of an .npz"),
        ((*TRAIN[:2], "--data", "@file"), "/file is no .npz graph file, or its end is missing"),
        ((*TRAIN[:2], "--data", "@"), "expected"),
        ((*TRAIN, "--budget", "huge"), "budget is 'huge'; expected one of paper, short, smoke"),
        ((*TRAIN, "--epochs", "0"), "epochs is 0; expected a whole number, 1 or more"),
        ((*TRAIN, "--epochs", "1.5"), "Invalid value for '--epochs': "),
        ((*TRAIN, "--epochs", "many"), "Invalid value for '--epochs': "),
        ((*TRAIN, "--batch-size", "-4"), "batch_size is -4; expected a whole number, 1 or more"),
        ((*TRAIN, "--graphs", "0"), "graphs is 0; expected a whole number, 1 or more"),
        ((*TRAIN, "--seed", "-1"), "seed is -1; expected a whole number from 0 to 4294967295"),
        ((*TRAIN, "--seed", "x"), "Invalid value for '--seed': "),
        ((*TRAIN, "--seed", "9" * 20), "expected a whole number from 0 to 4294967295"),
        (
            (*TRAIN, "--seed", "1", "--seed", "1"),
            "a seed of [1, 1] is given twice; expected each once",
        ),
        (
            (*TRAIN, "--seed", "1", "--seed", "2", "--jobs", "0"),
            "jobs is 0; expected a whole number",
        ),
        ((*TRAIN, "--resume", "--auto-resume"), "expected one of the two"),
        ((*TRAIN, "--resume"), "holds no run to resume; expected one that was begun there"),
        ((*TRAIN, "--checkpoint-every", "0"), "checkpoint_every is 0; expected a whole number, 1"),
        ((*TRAIN, "--devices", "0"), "devices is 0; expected a whole number, 1 or more"),
        ((*TRAIN, "--precision", "low"), "precision is 'low'; expected one of 32-true, bf16-mixed"),
        ((*TRAIN, "--buckets", "0"), "buckets is 0; expected a whole number, 1 or more"),
        ((*TRAIN, "--colour", "red"), "No such option: --colour"),
        ((*TRAIN[:4], "--out", "@file"), "expected a folder that this process may write into"),
        (("results",), "Missing argument"),
        (("results", "@nowhere"), "/nowhere is no folder; expected one with the records of runs"),
        (
            ("results", "@", "--dataset", "zink"),
            "no recipe is for 'zink'; expected one of cifar10,",
        ),
        (("bench", "gin/zinc", "--steps", "0"), "steps is 0; expected a whole number, 1 or more"),
        (("bench", "gin-100k/zinc", "--data", "@zinc.npz", "--precision", "x"), "precision is 'x'"),
        (("costs", "gin-100k/zinc", "--nodes", "0"), "nodes is 0; expected a whole number, 1 or m"),
        (
            ("costs", "gin-100k/zinc", "--batch-size", "0"),
            "batch_size is 0; expected a whole number",
        ),
        (("prepare", "zink", "--out", "@out"), "there is no dataset 'zink'; expected one of"),
        (("prepare", "molecules"), "Missing option '--out'."),
        (
            ("prepare", "csl", "--out", "@out", "--rows", "0"),
            "rows_per_shard is 0; expected a whole",
        ),
        (
            ("prepare", "csl", "--out", "@out", "--workers", "0"),
            "workers is 0; expected a whole numb",
        ),
        (
            ("prepare", "csl", "--out", "@out", "--recipe", "x"),
            "there is no recipe 'x'; expected one",
        ),
        (
            ("prepare", "csl", "--out", "@out", "--workers", "2", "--scheduler", "tcp://a:1"),
            "a scheduler has workers of its own; expected one of the two",
        ),
    ]
]
