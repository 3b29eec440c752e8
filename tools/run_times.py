"""The measured run times of the chapters: the table in book/how_to_read.md.

python -m tools.run_times check    it says what book/run_times.json says
python -m tools.run_times write    make it so
"""

import json
import sys
from pathlib import Path

from tools.paths import NOTEBOOKS, ROOT, RUN_TIMES
from tools.placed import placed
from tools.results import markdown, write_or_check

PAGE = ROOT / "book" / "how_to_read.md"
MARK = "<!-- {name}: written by python -m tools.run_times write -->\n{text}\n<!-- end of {name} -->"


def title(notebook: Path) -> str:
    """The first heading of the notebook."""
    first = json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"]
    return "".join(first).splitlines()[0].removeprefix("# ").strip()


def row(notebook: Path, times: dict) -> tuple[str, str, str]:
    run = times[notebook.stem]["cpu"]
    minutes, seconds = divmod(run["seconds"], 60)
    duration = f"{minutes} min {seconds:02d} s" if run["seconds"] >= 100 else f"{run['seconds']} s"
    link = f"[{title(notebook)}](../notebooks/{notebook.name})"
    return link, duration, f"{run['peak_memory_mb'] / 1000:.1f} GB"


def with_table(text: str) -> str:
    times = json.loads(RUN_TIMES.read_text())
    rows = [row(notebook, times) for notebook in sorted(NOTEBOOKS.glob("*.ipynb"))]
    return placed(text, {"run times": markdown(("chapter", "time on a CPU", "memory"), rows)}, MARK)


if __name__ == "__main__":
    sys.exit(write_or_check("Run times", PAGE, with_table))
