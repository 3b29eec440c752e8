"""Does every formula parse?

Where Node.js is present, MathJax itself answers, from the same copy that the pages use. Where it
is not, names and nesting are checked here against the names that this copy knows; a formula
whose arguments are wrong then passes.
"""

import importlib.util
import json
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

ENVIRONMENT = re.compile(r"\\(begin|end)\s*\{([^}]*)\}")
CONTROL = re.compile(r"\\([A-Za-z]+)")
KEY = re.compile(r'[{,]"?(?:\\\\)?([A-Za-z]+)"?:')


def refused(formulas: list[dict]) -> tuple[list[str], str]:
    """One sentence for each formula that does not parse, and who judged."""
    node = shutil.which("node")
    if node is None:
        found = [(f, why) for f in formulas if (why := fault(f["tex"]))]
        judge = "by names and nesting only: Node.js, which runs MathJax itself, is not installed"
    else:
        found = [(f, f["why"]) for f in ask_mathjax(node, formulas)]
        judge = "by MathJax"
    return [f"{f['page']}: {why} in {f['tex'][:70]!r}" for f, why in found], judge


def ask_mathjax(node: str, formulas: list[dict]) -> list[dict]:
    script = Path(__file__).with_name("math.js")
    done = subprocess.run(
        [node, script, mathjax_folder()], input=json.dumps(formulas), text=True, capture_output=True
    )
    if done.returncode:
        raise RuntimeError(f"MathJax did not start: {done.stderr.strip()}")
    return json.loads(done.stdout)


def fault(tex: str) -> str | None:
    """What is wrong with the names or the nesting of a formula, if anything is."""
    for name in CONTROL.findall(tex):
        if name not in known_names():
            return f"Undefined control sequence \\{name}"
    depth = 0
    for brace in re.findall(r"(?<!\\)(?:\\\\)*([{}])", tex):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return "Extra close brace"
    if depth:
        return "Missing close brace"
    if len(re.findall(r"\\left(?![a-z])", tex)) != len(re.findall(r"\\right(?![a-z])", tex)):
        return r"\left without \right"
    opened = []
    for kind, name in ENVIRONMENT.findall(tex):
        if kind == "begin":
            opened.append(name)
        elif not opened or opened.pop() != name:
            return rf"\end{{{name}}} without its \begin"
    return rf"\begin{{{opened[-1]}}} without its \end" if opened else None


@cache
def known_names() -> frozenset[str]:
    """Every name that stands as a key in MathJax's TeX input; more than it defines, never less."""
    return frozenset(KEY.findall((mathjax_folder() / "input" / "tex-full.js").read_text()))


def mathjax_folder() -> Path:
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    return Path(found.origin).parent / "static" / "mathjax"
