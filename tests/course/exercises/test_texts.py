"""The exercises as the reader meets them: every one has all its parts, and a checker of its own."""

import ast
import re
from importlib import import_module

import pytest
import torch

from tools.exercises import FOLDED, chapters, exercises

TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in chapters()}
EXERCISES = [(stem, exercise) for stem, text in TEXTS.items() for exercise in exercises(text)]
MODULES = {stem: import_module(f"gtcourse.course.exercises.chapter{stem[:2]}") for stem in TEXTS}
CHECKERS = {
    (stem[:2], name): check
    for stem, module in MODULES.items()
    for name, check in vars(module).items()
    if name.startswith("check_")
}


def folded_solutions(text: str, **names) -> dict:
    """Every name that the folded solutions define, ``names`` being given to them."""
    for code in re.findall(r"<summary>Solution</summary>\s+```python\n(.*?)```", text, re.S):
        exec(code, names)
    return names


def test_all_twelve_chapters_have_exercises_and_every_checker_is_called_once():
    assert [stem[:2] for stem in TEXTS] == [f"{number:02}" for number in range(1, 13)]
    assert len(EXERCISES) == 56
    assert {(stem[:2], exercise.checker) for stem, exercise in EXERCISES} == set(CHECKERS)


@pytest.mark.parametrize("stem", TEXTS)
def test_a_chapter_has_three_to_six_complete_exercises_in_rising_difficulty(stem):
    found = exercises(TEXTS[stem])
    assert 3 <= len(found) <= 6
    assert [exercise.number for exercise in found] == list(range(1, len(found) + 1))
    ranks = [("easy", "medium", "hard").index(exercise.difficulty) for exercise in found]
    assert ranks == sorted(ranks)
    assert ranks[0] == 0
    for exercise in found:
        assert all(vars(exercise).values()), f"exercise {exercise.number} lacks a part"
        assert "..." in exercise.stub
        assert "```python\n" in exercise.solution
    assert len(FOLDED.findall(TEXTS[stem])) == len(found)


@pytest.mark.parametrize(("stem", "exercise"), EXERCISES)
def test_an_unanswered_exercise_reports_not_attempted(stem, exercise):
    *cell, call = ast.parse(exercise.stub).body
    names = {"torch": torch, "chapter" + stem[:2]: MODULES[stem]}
    exec(compile(ast.Module(cell, []), stem, "exec"), names)
    assert eval(compile(ast.Expression(call.value), stem, "eval"), names).passed is None
