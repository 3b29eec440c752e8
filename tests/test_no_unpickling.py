"""No code of the project lets a file that it reads run code."""

import ast
import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("gtcourse", "tools", "benchmarks", "cluster", "book", "tests")
LOADERS = {
    "torch.load": ("weights_only", {"True"}),
    "numpy.load": ("allow_pickle", {"False", None}),
}
"""What each may be told (None: nothing); ruff's rules S301 to S506 refuse the other ways."""


def sources() -> dict[str, str]:
    found = {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for folder in FOLDERS
        for path in sorted((ROOT / folder).rglob("*.py"))
    }
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        # Magics are no Python.
        found[path.relative_to(ROOT).as_posix()] = re.sub(r"(?m)^(\s*)[%!].*$", r"\1pass", code)
    return found


def unsafe_loads(code: str) -> list[str]:
    """Calls of torch.load and numpy.load that may unpickle."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.Call):
            continue
        name = re.sub(r"^np\.", "numpy.", ast.unparse(node.func))
        if name in LOADERS:
            keyword, allowed = LOADERS[name]
            said = {each.arg: ast.unparse(each.value) for each in node.keywords}
            if said.get(keyword) not in allowed:
                found.append(ast.unparse(node))
    return found


def test_every_load_in_package_tools_tests_and_chapters_is_safe():
    codes = sources()
    assert len(codes) > 200
    assert any("torch.load(" in code for code in codes.values())
    assert {name: found for name, code in codes.items() if (found := unsafe_loads(code))} == {}
