"""How long a chapter takes to read and to run, wherever the book says so."""

import json
import re
from functools import cache

from tools.paths import RUN_TIMES

PER_MINUTE = 150
"""Words of a chapter's prose, formulas among them, that a student reads in a minute."""

LEFT_OUT = re.compile(
    r"\A---\n.*?\n---\n|<details.*?</details>|```.*?```|^#+ [\d.]* *Exercises.*",
    re.DOTALL | re.MULTILINE,
)
"""What is not read on the way through a chapter: code, folded text and the exercises at its end."""


def words(text: str) -> int:
    """Those of a chapter's prose, up to its exercises."""
    return len(re.findall(r"\b[^\W\d_][\w’'-]*", LEFT_OUT.sub("", text)))


def reading(text: str) -> int:
    """Minutes to read a chapter's text up to its exercises, in steps of five."""
    return max(5, 5 * round(words(text) / PER_MINUTE / 5))


@cache
def run_times() -> dict[str, dict]:
    """Seconds and memory of each notebook on a CPU, by its name."""
    return {name: run["cpu"] for name, run in json.loads(RUN_TIMES.read_text()).items()}


def running(name: str) -> str:
    """What the notebook of this name takes on a CPU, in words."""
    seconds = run_times()[name]["seconds"]
    if seconds < 10:
        return "a few seconds"
    if seconds < 20:
        return "10 to 20 seconds"
    if seconds < 40:
        return "about half a minute"
    if seconds < 90:
        return "about a minute"
    whole_minutes = round(seconds / 60)
    in_words = {2: "two", 3: "three", 4: "four", 5: "five"}
    return f"about {in_words.get(whole_minutes, whole_minutes)} minutes"
