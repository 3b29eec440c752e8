"""The first cell of every notebook, which finds the course: ``python -m tools.first_cell``.

Writes it into all chapters, with the version that the package has now.
"""

import re
import sys

import nbformat

import gtcourse
from tools.notebooks import pairs, write_notebook
from tools.paths import slug

CELL = """
# Finds the course: beside this notebook, in GTCOURSE_SOURCE, or as a release.
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

RELEASE = "git+https://github.com/{slug}@v{version}"
source = os.environ.get("GTCOURSE_SOURCE")
folders = [Path.cwd(), Path.cwd().parent]
checkouts = [folder for folder in folders if (folder / "gtcourse").is_dir()]
if checkouts:
    sys.path.insert(0, str(checkouts[0]))
    print("The course is the checkout beside this notebook.")
elif source is None and importlib.util.find_spec("gtcourse") is not None:
    print("The course is the installed package.")
else:
    url = source or RELEASE
    if Path(url).exists():  # a folder or a wheel
        url = Path(url).resolve().as_uri()
    wanted = f"gtcourse[{extras}] @ {{url}}"
    pip = subprocess.run([sys.executable, "-m", "pip", "install", "-q", wanted])
    importlib.invalidate_caches()
    if pip.returncode != 0:
        raise ImportError(
            f"The course could not be installed from {{url}}. Without a "
            "network, put this notebook into the notebooks folder of a "
            "checkout, or set GTCOURSE_SOURCE to the path of a wheel, and run "
            "this cell again."
        )
    print(f"The course was installed from {{url}}.")
""".strip()
BEGINNING = re.compile(r"# (Colab only: install the course|Finds the course)")
EXTRAS = re.compile(r'"?gtcourse\[([\w,]+)\]')


def first_cell(extras: str) -> str:
    return CELL.format(slug=slug(), version=gtcourse.__version__, extras=extras)


def main() -> int:
    for text, notebook in pairs():
        nb = nbformat.read(notebook, as_version=4)
        found = [cell for cell in nb.cells if BEGINNING.match(cell.source)]
        if len(found) != 1:
            raise SystemExit(f"{notebook.name} has {len(found)} cells that find the course, not 1.")
        before = found[0].source
        extras = EXTRAS.search(before)[1]
        after = first_cell(extras)
        if after == before:
            continue
        found[0].source = after
        content = text.read_text(encoding="utf-8")
        if content.count(before) != 1:
            raise SystemExit(f"{text.name} does not hold the first cell of {notebook.name}.")
        text.write_text(content.replace(before, after), encoding="utf-8")
        write_notebook(nb, notebook)
        print(f"{notebook.name}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
