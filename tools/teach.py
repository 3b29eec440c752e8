"""The table of the teacher's page: what each chapter takes, counted from the texts.

python -m tools.teach check    the page says what the texts say today
python -m tools.teach write    make it so
"""

import re
import sys
from pathlib import Path

from tools.exercises import FOLDED, HEADING, chapters, exercises, minutes
from tools.paths import ROOT

TEACH = ROOT / "book" / "teach.md"
BEGIN = "<!-- what a chapter takes: written by python -m tools.teach write -->"
END = "<!-- end of what a chapter takes -->"
WORDS_A_MINUTE = 150
NOT_READ = [
    re.compile(r"\A---\n.*?\n---\n", re.S),  # the file's head
    re.compile(r"^```.*?^```$", re.M | re.S),
    FOLDED,
]


def reading(text: str) -> int:
    """Minutes for the text of a chapter up to its exercises, in steps of five."""
    text = text[: HEADING.search(text).start()]
    for part in NOT_READ:
        text = part.sub("", text)
    return max(5, 5 * round(len(text.split()) / WORDS_A_MINUTE / 5))


def row(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    title = re.search(r"^# (.+)$", text, re.M)[1]
    section = re.search(r"^## (\d+\.\d+) Exercises$", text, re.M)[1]
    page = f"../notebooks/{path.stem}.ipynb"
    solutions = f"{page}#{section.replace('.', '')}-exercises"
    return [
        f"[{title}]({page}), [solutions]({solutions})",
        f"{reading(text)} min",
        re.search(r"^\| Takes \| (.+) on one CPU core \|$", text, re.M)[1],
        f"{len(exercises(text))}, {minutes(text)} min",
    ]


def table() -> str:
    heads = ["chapter", "read", "run", "exercises"]
    rows = [heads, ["---"] * len(heads), *(row(path) for path in chapters())]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in rows)


def with_table(page: str) -> str:
    place = re.compile(re.escape(BEGIN) + r".*?" + re.escape(END), re.S)
    if not place.search(page):
        raise ValueError("the teacher's page has no place for its table")
    return place.sub(lambda _: f"{BEGIN}\n\n{table()}\n\n{END}", page)


def main() -> int:
    page = TEACH.read_text(encoding="utf-8")
    if sys.argv[1:] == ["write"]:
        TEACH.write_text(page := with_table(page), encoding="utf-8")
    wrong = page != with_table(page)
    print(f"{TEACH.name}: {'not what the texts say; run make tables' if wrong else 'agrees'}")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
