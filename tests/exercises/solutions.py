"""The chapters' own folded solutions, as code, and the checkers that they are for."""

import re
from collections.abc import Callable
from types import ModuleType

from tools.paths import TEXTS

NAMED_OTHERWISE = {
    ("chapter01", "columns"): "attend_columns",
    ("chapter03", "mask"): "mask_of",
    ("chapter03", "virtual_node"): "with_virtual_node",
}
"""What the text calls the function, where the checker's name does not say it."""

OF_VALUES = {("chapter01", "maximum"), ("chapter01", "pair")}
"""Checkers of values instead of a function; the chapter's own tests have them."""


def folded_solutions(chapter: str, **names) -> dict:
    """Every name that the folded solutions of ``chapter`` define, ``names`` being given to them."""
    text = (TEXTS / f"{chapter}.md").read_text()
    for code in re.findall(r"<summary>Solution</summary>\s+```python\n(.*?)```", text, re.S):
        exec(code, names)
    return names


def checkers(module: ModuleType) -> dict[str, Callable]:
    """A chapter's checkers by the name of the function that each is for."""
    chapter = module.__name__.split(".")[-1]
    found = {}
    for name, checker in vars(module).items():
        exercise = (chapter, name.removeprefix("check_"))
        if name.startswith("check_") and exercise not in OF_VALUES:
            found[NAMED_OTHERWISE.get(exercise, exercise[1])] = checker
    return found
