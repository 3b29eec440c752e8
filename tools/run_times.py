"""The measured run times of the chapters: the table in book/how_to_read.md.

python -m tools.run_times check    it says what book/run_times.json says
python -m tools.run_times write    make it so
"""

import json
import re
import sys
from pathlib import Path

from tools.paths import NOTEBOOKS, ROOT, RUN_TIMES

PAGE = ROOT / "book" / "how_to_read.md"
BEGIN = "<!-- run times: written by python -m tools.run_times write -->"
END = "<!-- end of run times -->"


def title(notebook: Path) -> str:
    """The first heading of the notebook."""
    first = json.loads(notebook.read_text(encoding="utf-8"))["cells"][0]["source"]
    return "".join(first).splitlines()[0].removeprefix("# ").strip()


def row(notebook: Path, times: dict) -> str:
    run = times[notebook.stem]["cpu"]
    minutes, seconds = divmod(run["seconds"], 60)
    duration = f"{minutes} min {seconds:02d} s" if run["seconds"] >= 100 else f"{run['seconds']} s"
    link = f"[{title(notebook)}](../notebooks/{notebook.name})"
    return f"| {link} | {duration} | {run['peak_memory_mb'] / 1000:.1f} GB |"


def with_table(text: str) -> str:
    times = json.loads(RUN_TIMES.read_text())
    rows = [row(notebook, times) for notebook in sorted(NOTEBOOKS.glob("*.ipynb"))]
    table = "\n".join(["| chapter | time on a CPU | memory |", "| --- | --- | --- |", *rows])
    pattern = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END), re.S)
    return pattern.sub(lambda _: f"{BEGIN}\n\n{table}\n\n{END}", text)


def main() -> int:
    text = PAGE.read_text(encoding="utf-8")
    new = with_table(text)
    if sys.argv[1:] == ["write"]:
        PAGE.write_text(new, encoding="utf-8")
        return 0
    if text != new:
        print(f"{PAGE.name}: its times are not what was measured; make tables writes them")
    return int(text != new)


if __name__ == "__main__":
    sys.exit(main())
