"""No code of the project lets a file that it reads run code.

Ruff's rules S301 to S506 refuse pickle itself; PyTorch and NumPy unpickle when they are told to.
"""

import json
import re

from tools.paths import ROOT

FOLDERS = ("gtcourse", "tools", "benchmarks", "experiments", "cluster", "book", "tests")
UNSAFE = re.compile(r"weights_onl[y]=(?!True)|allow_pickl[e]=(?!False)")


def sources() -> dict[str, str]:
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    found = {str(path): path.read_text(encoding="utf-8") for path in paths}
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found[str(path)] = "\n".join("".join(cell["source"]) for cell in cells)
    return found


def test_no_load_call_unpickles_arbitrary_objects():
    assert any("torch.load(" in code for code in sources().values())
    assert {
        name: found for name, code in sources().items() if (found := UNSAFE.findall(code))
    } == {}
