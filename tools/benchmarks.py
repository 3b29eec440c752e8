"""The table of book/benchmarks/index.md, from the record of ``python -m benchmarks.models``.

python -m tools.benchmarks check    the page says what the record says
python -m tools.benchmarks write    make it so
"""

from __future__ import annotations

import json
import sys

from tools.paths import PACKAGE, ROOT
from tools.placed import placed
from tools.results import markdown, short, write_or_check

PAGE = ROOT / "book" / "benchmarks" / "index.md"
MARK = (
    "<!-- {name}: written by python -m tools.benchmarks write -->\n{text}\n<!-- end of {name} -->"
)
HEADS = ("model", "parameters", "step, ms", "forward, ms", "graphs/s", "peak, MiB")


def record() -> dict:
    return json.loads((PACKAGE / "recorded" / "models-benchmark.json").read_text())


def table(record: dict) -> str:
    """Medians with their quartiles, and below them with what they were measured."""
    rows = [
        (
            row["model"] if row["peer"] else f"`{row['model']}`",
            f"{row['parameters']:,}",
            timed(row["step"]),
            timed(row["forward"]),
            f"{row['graphs_per_second']:,}",
            f"{row['peak_mb']:.0f}",
        )
        for row in record["rows"]
    ]
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    measured = (
        f"*{record['data']['source']}; {record['processor']}, {record['device']}; "
        f"{record['rounds']} rounds; {versions}; {record['date']}, commit "
        f"`{short(record['commit'])}`: `{record['command']}`.*\n"
    )
    return f"{markdown(HEADS, rows)}\n{measured}"


def timed(times: dict) -> str:
    low, high = times["quartiles"]
    return f"{times['ms']:,.0f} ({low:,.0f}–{high:,.0f})"


def with_tables(text: str) -> str:
    """The page with the record of today."""
    return placed(text, {"models": table(record())}, MARK)


if __name__ == "__main__":
    sys.exit(write_or_check("Benchmarks", PAGE, with_tables))
