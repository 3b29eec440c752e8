"""Where things stand in the repository."""

from functools import cache
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / "book" / "chapters"
NOTEBOOKS = ROOT / "notebooks"
PACKAGE = ROOT / "gtcourse"
CONFIG = ROOT / "_config.yml"
README = ROOT / "README.md"
RUN_TIMES = ROOT / "book" / "run_times.json"
HTML = ROOT / "_build" / "html"


@cache
def slug() -> str:
    """owner/name of the repository, from the book's configuration."""
    url = yaml.safe_load(CONFIG.read_text(encoding="utf-8"))["repository"]["url"]
    return url.rstrip("/").removeprefix("https://github.com/")
