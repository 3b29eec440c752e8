"""Measured run times: the tables in README.md and book/how_to_read.md, and each chapter's card.

python -m tools.run_times check    they say what book/run_times.json says
python -m tools.run_times write    make them so
"""

import json
import re
import sys
from pathlib import Path

from tools import pairs
from tools.address import slug
from tools.paths import NOTEBOOKS, README, ROOT, RUN_TIMES, TEXTS

HOW_TO_READ = ROOT / "book" / "how_to_read.md"
BEGIN = "<!-- run times: written by python -m tools.run_times write -->"
END = "<!-- end of run times -->"
CARD = re.compile(r"^(\| Takes \| )[^;|]*", re.M)  # what follows, on other devices, is by hand
COLAB = "https://colab.research.google.com/github/{slug}/blob/main/notebooks/{name}.ipynb"


def title(notebook: Path) -> str:
    """The first heading of the notebook."""
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        for line in "".join(cell["source"]).splitlines():
            if cell["cell_type"] == "markdown" and line.startswith("# "):
                return line[2:].strip()
    raise ValueError(f"{notebook.name} has no heading")


def measured(name: str, times: dict) -> tuple[str, str]:
    """(time, memory) on the processor, for people."""
    run = times.get(name, {}).get("cpu")
    if run is None:
        return "not measured", "not measured"
    seconds = run["seconds"]
    duration = f"{seconds} s" if seconds < 100 else f"{seconds // 60} min {seconds % 60:02d} s"
    return duration, f"{run['peak_memory_mb'] / 1000:.1f} GB"


def all_times() -> dict:
    return json.loads(RUN_TIMES.read_text()) if RUN_TIMES.exists() else {}


def table(*, links: bool) -> str:
    """One row for each notebook; with `links`, a badge that opens it in Colab."""
    times = all_times()
    heads = ["chapter", "time on a CPU", "memory"] + (["run it"] if links else [])
    rows = [heads, ["---"] * len(heads)]
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        name = notebook.stem
        duration, memory = measured(name, times)
        if links:
            colab = COLAB.format(slug=slug(), name=name)
            badge = f"[![Open in Colab](book/_static/colab.svg)]({colab})"
            rows.append([f"[{title(notebook)}](notebooks/{name}.ipynb)", duration, memory, badge])
        else:
            rows.append([f"[{title(notebook)}](../notebooks/{name}.ipynb)", duration, memory])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def with_table(text: str, rows: str) -> str:
    pattern = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END), re.S)
    if not pattern.search(text):
        raise ValueError("the page has no place for the table of run times")
    return pattern.sub(lambda _: f"{BEGIN}\n\n{rows}\n\n{END}", text)


def with_card(text: str, duration: str) -> str:
    """A chapter whose card says how long it took."""
    return CARD.sub(lambda row: f"{row[1]}{duration} on one CPU thread", text)


def tables() -> list[tuple[Path, str, str]]:
    """(page, its text, its text with the times of today) for both tables and all cards."""
    pages = [(README, True), (HOW_TO_READ, False)]
    found = []
    for path, links in pages:
        text = path.read_text(encoding="utf-8")
        found.append((path, text, with_table(text, table(links=links))))
    for path in sorted(TEXTS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        found.append((path, text, with_card(text, measured(path.stem, all_times())[0])))
    return found


def write() -> None:
    for text, notebook in pairs.pairs():
        pairs.sync(text, notebook)  # or a newer notebook would lose to the card
    for path, old, new in tables():
        if old != new:
            path.write_text(new, encoding="utf-8")
        if old != new and path.parent == TEXTS:
            pairs.sync(path, pairs.notebook_of(path), source="text")


def main() -> int:
    if sys.argv[1:] == ["write"]:
        write()
    wrong = [path.name for path, old, new in tables() if old != new]
    for name in wrong:
        print(f"{name}: its times are not what was measured; make tables mends that")
    print(f"Run times: {len(wrong)} pages disagree")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
