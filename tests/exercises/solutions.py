"""The chapters' own folded solutions, as code."""

import re

from tools.paths import TEXTS


def folded_solutions(chapter: str, **names) -> dict:
    """Every name that the folded solutions of ``chapter`` define, ``names`` being given to them."""
    text = (TEXTS / f"{chapter}.md").read_text()
    for code in re.findall(r"<summary>Solution</summary>\s+```python\n(.*?)```", text, re.S):
        exec(code, names)
    return names
