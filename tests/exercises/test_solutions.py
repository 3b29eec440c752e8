"""Every exercise of every chapter: the folded solution passes, and the stub waits."""

import math
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gtcourse.exercises import (
    chapter01,
    chapter02,
    chapter03,
    chapter04,
    chapter05,
    chapter06,
    chapter07,
    chapter08,
    chapter09,
    chapter10,
    chapter11,
    chapter12,
)
from tests.exercises.solutions import checkers, folded_solutions

CHAPTERS = {
    "01_self_attention": (chapter01, {"math": math, "torch": torch}),
    "02_transformer": (chapter02, {"torch": torch}),
    "03_message_passing": (chapter03, {"torch": torch, "F": F, "nn": nn}),
    "04_positional_encodings": (chapter04, {"torch": torch}),
    "05_signnet": (chapter05, {"torch": torch}),
    "06_graphormer": (chapter06, {"torch": torch}),
    "07_egt": (chapter07, {"torch": torch}),
    "08_grpe": (chapter08, {"torch": torch}),
    "09_csa": (chapter09, {"torch": torch}),
    "10_one_framework": (chapter10, {"torch": torch, "F": F}),
    "11_what_attention_sees": (chapter11, {"torch": torch}),
    "12_from_a_laptop_to_a_cluster": (chapter12, {"torch": torch}),
}
"""Its checkers, and what its solutions may use of what the page has imported."""

FOLDER = Path(chapter01.__file__).parent
EXERCISES = [
    (chapter, name) for chapter, (module, _) in CHAPTERS.items() for name in checkers(module)
]


@pytest.mark.parametrize(("chapter", "name"), EXERCISES)
def test_the_folded_solution_passes(chapter, name):
    module, given = CHAPTERS[chapter]
    verdict = checkers(module)[name](folded_solutions(chapter, **given)[name])
    assert verdict.passed, verdict


@pytest.mark.parametrize(("chapter", "name"), EXERCISES)
def test_the_stub_is_not_attempted_yet(chapter, name):
    checker = checkers(CHAPTERS[chapter][0])[name]
    assert checker(lambda *arguments: None).passed is None
    assert checker(...).passed is None


def test_all_chapters_with_exercises_are_here():
    assert len(EXERCISES) == 53
    assert {f"chapter{chapter[:2]}" for chapter in CHAPTERS} == {
        path.stem for path in FOLDER.glob("chapter*.py")
    }
