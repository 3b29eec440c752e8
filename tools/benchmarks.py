"""The tables of book/benchmarks/index.md, from the benchmarks' records in the package.

python -m tools.benchmarks check    the page says what the records say
python -m tools.benchmarks write    make it so
"""

from __future__ import annotations

import json
import sys

from tools.benchmark_tables import TABLES
from tools.paths import PACKAGE, ROOT
from tools.placed import placed
from tools.results import markdown, short, write_or_check

PAGE = ROOT / "book" / "benchmarks" / "index.md"
BEGIN = "<!-- {name}: written by python -m tools.benchmarks write -->"
MARK = BEGIN + "\n{text}\n<!-- end of {name} -->"
SUFFIX = "-benchmark"


def records() -> dict[str, dict]:
    """What is stored, by name."""
    paths = sorted((PACKAGE / "recorded").glob(f"*{SUFFIX}.json"))
    return {path.stem.removesuffix(SUFFIX): json.loads(path.read_text()) for path in paths}


def tables(found: dict[str, dict]) -> dict[str, str]:
    """For each benchmark its tables, and what they were measured with.

    Raises:
        KeyError: a record of which nobody has said how it is shown.
    """
    return {
        name: "".join(markdown(*table) for table in TABLES[name](record)) + "\n" + measured(record)
        for name, record in found.items()
    }


def measured(record: dict) -> str:
    """Data, machine and threads, versions, date, commit and command, in a line below the tables."""
    data = record.get("data") or {}
    processor = f"{record['processor']}, " if "processor" in record else ""
    rounds = record.get("rounds")
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    parts = [
        f"Data: {data['source']}" if data else "",
        f"{processor}{record['device']}, {record['cores']} cores",
        f"{rounds} rounds" if rounds else "",
        versions,
        f"{record['date']}, commit `{short(record['commit'])}`: `{record['command']}`",
    ]
    return "*" + "; ".join(filter(None, parts)) + ".*\n"


def with_tables(text: str) -> str:
    """The page with what is stored today."""
    return placed(text, tables(records()), MARK)


def main() -> int:
    return write_or_check("Benchmarks", PAGE, with_tables)


if __name__ == "__main__":
    sys.exit(main())
