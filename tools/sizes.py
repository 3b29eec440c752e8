"""How large the project is: ``python -m tools.sizes`` fails where a limit is exceeded.

A limit is what was reached last and only becomes smaller, unless code moves from one to another.
"""

import sys
from collections.abc import Iterable
from pathlib import Path

from tools.paths import ROOT, TEXTS

PAPERS = ("signnet", "graphormer", "egt", "grpe", "csa")


def files(*folders: str, ends: Iterable[str] = (".py",)) -> list[Path]:
    paths = (path for folder in folders for path in sorted((ROOT / folder).rglob("*")))
    return [path for path in paths if path.suffix in ends]


def lines(paths: Iterable[Path]) -> int:
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def measured() -> list[tuple[str, int, int, int]]:
    """(what, size, goal, limit)"""
    package = files("gtcourse")
    papers = [path for path in files("gtcourse/models") if path.stem in PAPERS]
    rest = files("tools", "experiments", "benchmarks", ends=(".py", ".toml"))
    words = [len(path.read_text(encoding="utf-8").split()) for path in TEXTS.glob("[01]*.md")]
    return [
        ("lines of gtcourse", lines(package), 8_000, 11_796),
        ("files of gtcourse", len(package), 60, 64),
        ("lines of tests", lines(files("tests")), 13_000, 12_630),
        ("lines of tools, experiments, benchmarks", lines(rest), 4_000, 3_998),
        ("lines of the longest paper's file", max(lines([path]) for path in papers), 320, 305),
        ("words of the longest chapter", max(words), 6_500, 6_500),
        ("words of chapters 01 to 12", sum(words), 75_000, 75_000),
    ]


def main() -> int:
    rows = measured()
    print(f"{'':42}{'now':>8}{'goal':>8}{'limit':>8}")
    for what, now, goal, limit in rows:
        print(f"{what:42}{now:8,}{goal:8,}{limit:8,}")
    too_large = [what for what, now, _, limit in rows if now > limit]
    print("".join(f"Too large: {what}\n" for what in too_large), end="")
    return int(bool(too_large))


if __name__ == "__main__":
    sys.exit(main())
