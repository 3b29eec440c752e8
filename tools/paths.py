"""Where things stand in the repository."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / "book" / "chapters"
NOTEBOOKS = ROOT / "notebooks"
PACKAGE = ROOT / "gtcourse"
CONFIG = ROOT / "_config.yml"
README = ROOT / "README.md"
RUN_TIMES = ROOT / "book" / "run_times.json"
HTML = ROOT / "_build" / "html"
