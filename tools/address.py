"""The repository's address stands once, in _config.yml; links that need it carry a copy.

python -m tools.address check    no copy differs
python -m tools.address stamp    after a change in _config.yml: write it into every copy
"""

import re
import subprocess
import sys
from pathlib import Path

import yaml

from tools.paths import CONFIG, ROOT

SLUG = r"[\w.-]+/[\w.-]+?"
# Where our own address stands: what comes before owner/name, and what after it.
OWN_LINKS = [
    re.compile(rf"(?P<before>{before})(?P<slug>{SLUG})(?={after})", re.M)
    for before, after in [
        (r"git(?:\+| clone )https://github\.com/", r"\.git|[\s\"'@)`]|$"),
        (r"colab\.research\.google\.com/github/", r"/blob/[\w.-]+/(?:notebooks|student)/"),
        (r"mybinder\.org/v2/gh/", r"/"),
        (r"repository-code: \"?https://github\.com/", r"[\"\s]|$"),
        (r"github\.com/(?=[\w.-]+/gtcourse\b)", r"[^\w-]|$"),
    ]
]
READ = {".md", ".ipynb", ".py", ".toml", ".yml", ".yaml", ".cff", ".txt", ""}


def slug(config: Path = CONFIG) -> str:
    """owner/name of the repository, from the book's configuration."""
    url = yaml.safe_load(config.read_text(encoding="utf-8"))["repository"]["url"]
    return url.rstrip("/").removeprefix("https://github.com/")


def stamped(text: str, own: str) -> str:
    for link in OWN_LINKS:
        text = link.sub(lambda match: match["before"] + own, text)
    return text


def others(text: str, own: str) -> list[str]:
    """Spellings of our address that differ from `own`."""
    found = {m["slug"] for link in OWN_LINKS for m in link.finditer(text)}
    return sorted(found - {own})


def files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, text=True, capture_output=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    paths = [ROOT / name for name in listed if not name.startswith("tests/tools/")]
    return [p for p in paths if p.suffix in READ and p != CONFIG and p.is_file()]


def main() -> int:
    own, faults = slug(), 0
    for path in files():
        text = path.read_text(encoding="utf-8", errors="replace")
        wrong = others(text, own)
        if not wrong:
            continue
        if sys.argv[1:] == ["stamp"]:
            path.write_text(stamped(text, own), encoding="utf-8")
            print(f"{path.relative_to(ROOT)}: {', '.join(wrong)} -> {own}")
        else:
            faults += 1
            print(f"{path.relative_to(ROOT)}: {', '.join(wrong)}, but _config.yml says {own}")
    print(f"Address {own}: {faults} files disagree")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
