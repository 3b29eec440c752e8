"""How soon a page of the book answers: ``python -m benchmarks.pages``.

Pages of the built book, from the disk, each in a fresh window of the system's Chromium; they take
turns. Measured from the start of the navigation: until the page is parsed and its scripts have run
(*parsed*), until the formulas in sight stand, too (*answers*: what follows runs in pauses, a few
formulas at a time), until all files are loaded, and until the last formula stands (*complete*).
Files have been read before, so that they lie in the system's memory.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.report import command_line, provenance, store
from tools.chromium import LAPTOP, browser

HTML = Path(__file__).parent.parent / "_build" / "html"
ROUNDS = 3
BAR = 2.0
"""Seconds within which a page shall answer."""

TIMES = """async () => {
  await window.bookReady;
  const complete = performance.now();
  const [loading] = performance.getEntriesByType("navigation");
  const [sight] = performance.getEntriesByName("formulas in sight");
  return {
    parsed: loading.domContentLoadedEventEnd,
    answers: Math.max(loading.domContentLoadedEventEnd, sight.startTime),
    loaded: loading.loadEventEnd,
    complete,
  };
}"""


def times(running, path: Path) -> dict[str, float]:
    """Milliseconds of one opening."""
    context = running.new_context(viewport=LAPTOP)
    page = context.new_page()
    page.goto(path.as_uri(), wait_until="load")
    found = page.evaluate(TIMES)
    context.close()
    return found


def pages() -> list[Path]:
    """The pages that are read; lists of code and names are left out."""
    found = [*(HTML / "book").rglob("*.html"), *(HTML / "notebooks").glob("*.html")]
    if not found:
        raise SystemExit("There is no built book: make book builds it.")
    return sorted(found)


def measure(rounds: int, paths: list[Path]) -> dict:
    """One opening of each beforehand, then ``rounds``; medians of all."""
    found = defaultdict(list)
    with browser() as running:
        for turn in range(rounds + 1):
            for path in paths:
                taken = times(running, path)
                if turn:
                    found[path].append(taken)
        version = running.version
    rows = [row(path, taken) for path, taken in found.items()]
    slowest = max(rows, key=lambda row: row["answers"]["ms"])
    return {
        "name": "pages-benchmark",
        "data": {},
        "rows": rows,
        "slowest": slowest["page"],
        "bar_seconds": BAR,
        "rounds": rounds,
        "threads": 1,
    } | provenance("pages", chromium=version)


def row(path: Path, taken: list[dict[str, float]]) -> dict:
    """Median and quartiles of each time."""
    moments = {
        name: dict(zip(("low", "ms", "high"), quartiles(taken, name), strict=True))
        for name in taken[0]
    }
    return {"page": path.relative_to(HTML).with_suffix("").as_posix()} | {
        name: {"ms": moment["ms"], "quartiles": [moment["low"], moment["high"]]}
        for name, moment in moments.items()
    }


def quartiles(taken: list[dict[str, float]], name: str) -> list[float]:
    found = np.percentile([one[name] for one in taken], [25, 50, 75])
    return [round(float(value), 1) for value in found]


def show(content: dict) -> None:
    for row in content["rows"]:
        moments = "".join(
            f"{name} {value['ms']:7.0f}  " for name, value in row.items() if name != "page"
        )
        print(f"{row['page']:48}{moments}")
    slow = [row["page"] for row in content["rows"] if row["answers"]["ms"] > 1000 * BAR]
    print(f"later than {BAR} s: {', '.join(slow) or 'none'}")


def main() -> None:
    args = command_line(__doc__, ROUNDS).parse_args()
    content = measure(args.rounds, pages())
    show(content)
    store(content, args.out)


if __name__ == "__main__":
    main()
