"""Do the stored outputs belong to the code that is there?

An executed notebook carries a stamp: a hash of its code cells, and one of every file of the
package that the kernel had loaded or read at its end or whose record the cells name. Comments,
docstrings and blank lines do not count: they cannot change an output, except in a file whose
source a cell prints.
"""

import ast
import hashlib
import io
import re
import tokenize
from pathlib import Path

from nbformat import NotebookNode

from tools.paths import PACKAGE

PRINTED = re.compile(r"getsource\((?:\w+\.)*?([A-Z]\w+|\w+)")  # the class or function shown


def code_of(nb: NotebookNode) -> str:
    return "\0".join(code_text(cell.source) for cell in nb.cells if cell.cell_type == "code")


def stamp(nb: NotebookNode, loaded: list[str], package: Path = PACKAGE) -> dict:
    """The stamp of a notebook whose kernel had loaded these files (paths within the package)."""
    code = code_of(nb)
    files = sorted({*loaded, *named_records(code, package)})
    shown = PRINTED.findall(code)
    return {
        "code": digest(code),
        "package": {name: file_digest(package / name, shown) for name in files},
    }


def stale(nb: NotebookNode, package: Path = PACKAGE) -> list[str]:
    """One sentence for each reason why the stored outputs may no longer be true."""
    stored = nb.metadata.get("gtcourse")
    if not stored:
        return ["it has never been executed by `make notebooks`"]
    now = stamp(nb, [*stored["package"]], package)
    reasons = [] if now["code"] == stored["code"] else ["its code cells have changed"]
    for name in sorted({*now["package"], *stored["package"]}):
        before, after = stored["package"].get(name), now["package"].get(name)
        if before != after:
            reasons.append(f"gtcourse/{name} has changed")
    return reasons


def named_records(code: str, package: Path = PACKAGE) -> list[str]:
    """Recorded runs whose name stands in the code: an output may show them."""
    records = sorted((package / "recorded").glob("*.json"))
    names = code.replace("/", "-")  # recorded("bag/zinc") reads bag-zinc-seed0.json and its like
    return [f"recorded/{r.name}" for r in records if re.sub(r"-seed\d+$", "", r.stem) in names]


def file_digest(path: Path, shown: list[str] = ()) -> str | None:
    """Hash of a file's code; of its whole text where it defines a name whose source is shown."""
    if not path.exists():
        return None
    if path.suffix == ".pt":
        return digest_of(path.read_bytes())
    text = path.read_text(encoding="utf-8")
    verbatim = any(re.search(rf"^\s*(?:class|def) {name}\b", text, re.M) for name in shown)
    return digest(code_text(text) if path.suffix == ".py" and not verbatim else text)


def digest(text: str) -> str:
    return digest_of(text.encode())


def digest_of(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def code_text(source: str) -> str:
    """The source without comments, docstrings and blank lines; text that is not Python as it is.

    Syntax tree and tokens only say where to cut, so that the result does not depend on the
    Python version that reads it.
    """
    try:
        cuts = docstrings(source) + comments(source)
    except (SyntaxError, tokenize.TokenError):  # a cell with a magic
        cuts = []
    lines = [line.encode() for line in source.splitlines()]
    for (first, start), (last, end) in sorted(cuts, reverse=True):
        lines[first - 1 : last] = [lines[first - 1][:start] + lines[last - 1][end:]]
    kept = (line.decode().rstrip() for line in lines)
    return "\n".join(line for line in kept if line)


def docstrings(source: str) -> list[tuple]:
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, kinds) and ast.get_docstring(node, clean=False) is not None:
            text = node.body[0]
            found.append(((text.lineno, text.col_offset), (text.end_lineno, text.end_col_offset)))
    return found


def comments(source: str) -> list[tuple]:
    lines = source.splitlines()
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line, column = token.start
            start = len(lines[line - 1][:column].encode())
            found.append(((line, start), (line, start + len(token.string.encode()))))
    return found
