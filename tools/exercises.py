"""The exercises of a chapter, read from its text: how long, how hard, hint, stub and solution."""

import re
from dataclasses import dataclass
from pathlib import Path

from tools.paths import TEXTS

HEADING = re.compile(r"^### Exercise (?P<number>\d+) · (?P<title>.+)$", re.M)
STUB = re.compile(r"```\{code-cell\} ipython3\n(.*?)\n```", re.S)
PARTS = {
    "minutes": re.compile(r"^\*(\d+) minutes, \w+\.\* ", re.M),
    "difficulty": re.compile(r"^\*\d+ minutes, (\w+)\.\* ", re.M),
    "hint": re.compile(r"^\*Hint\.\* (.+)$", re.M),
    "checker": re.compile(r"^(?:chapter\d\d\.)?(check_\w+)\(", re.M),
}
FOLDED = re.compile(r"<details>\n<summary>Solution</summary>\n.*?\n</details>", re.S)
RESULT = re.compile(r"<details>\n<summary>Our result</summary>\n.*?\n</details>", re.S)


@dataclass(frozen=True)
class Exercise:
    """A part that the text lacks is empty."""

    number: int
    title: str
    minutes: str
    difficulty: str
    hint: str
    checker: str
    stub: str
    solution: str


def exercises(text: str) -> list[Exercise]:
    """Every exercise of a chapter's text, in order."""
    _, *parts = HEADING.split(text)
    return [_exercise(*part) for part in zip(parts[::3], parts[1::3], parts[2::3], strict=True)]


def _exercise(number: str, title: str, body: str) -> Exercise:
    body = re.split(r"^## ", body, flags=re.M)[0]  # the last one ends where the next section begins
    stub = STUB.search(body)
    solution = FOLDED.search(body)
    parts = {name: pattern.search(body) for name, pattern in PARTS.items()}
    return Exercise(
        int(number),
        title,
        stub=stub[1] if stub else "",
        solution=solution[0] if solution else "",
        **{name: found[1] if found else "" for name, found in parts.items()},
    )


def chapters() -> list[Path]:
    """The texts that have exercises, in the book's order."""
    return [path for path in sorted(TEXTS.glob("*.md")) if HEADING.search(path.read_text())]


def minutes(text: str) -> int:
    """What all exercises of a chapter's text take together."""
    return sum(int(exercise.minutes) for exercise in exercises(text))
