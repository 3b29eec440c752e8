"""For forks: ``python -m tools.repository OWNER/NAME`` puts it in place of the repository's name.

In every file that git tracks: links, badges, the notebooks' first cell, the citation.
"""

import argparse
import re
import subprocess

from tools.paths import ROOT, slug

NAME = re.compile(r"[\w.-]+/[\w.-]+")
PLACES = ("https://github.com/", "https://colab.research.google.com/github/", "/gh/")
"""What stands before the repository's name in an address."""


def renamed(text: str, old: str, new: str) -> str:
    for place in PLACES:
        text = re.sub(re.escape(place + old) + r"(?![\w-])", place + new, text)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repository", help="OWNER/NAME on GitHub")
    new = parser.parse_args().repository
    if not NAME.fullmatch(new):
        parser.error(f"the repository is {new!r}; expected OWNER/NAME.")
    old = slug()
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    changed = 0
    for name in filter(None, tracked.stdout.split("\0")):
        path = ROOT / name
        try:
            before = path.read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError):
            continue
        after = renamed(before, old, new)
        if after != before:
            path.write_text(after, encoding="utf-8")
            changed += 1
    print(f"{old} is {new} in {changed} files.")


if __name__ == "__main__":
    main()
