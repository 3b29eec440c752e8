"""The built pages: a policy that keeps other hosts out, formulas that parse, links that lead
somewhere, pictures that are described. What pages load is seen in the browser (tests/browser).

python -m tools.check_book [FOLDER]
"""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from bs4 import BeautifulSoup

from tools.paths import HTML

# What a page's policy may name: its own files, over http or from the disk, and what it contains.
OURS = {"'self'", "'unsafe-inline'", "'none'", "data:", "blob:", "file:"}
RAW_TEX = re.compile(r"\$\$|\\\(|\\\[|\\(?:frac|begin|sum|sqrt|mathbb|operatorname|cdot|tfrac)\b")
FORMULA = re.compile(r"\\\((.*?)\\\)|\\\[(.*?)\\\]", re.S)
MATH = "span.math, div.math"
NOT_PROSE = f"script, style, pre, code, textarea, {MATH}"


class Page(NamedTuple):
    faults: list[str]
    links: list[str]
    ids: set[str]
    formulas: list[tuple[str, str]]  # in the line, displayed


def read(html: str) -> Page:
    soup = BeautifulSoup(html, "html.parser")
    links = [link["href"] for link in soup.select("a[href]")]
    ids = {each.get(name) for name in ("id", "name") for each in soup.select(f"[{name}]")}
    formulas = [part for math in soup.select(MATH) for part in FORMULA.findall(math.text)]
    found = policy_faults(soup)
    for picture in soup.select("img"):  # Sphinx writes the file's name where there are no words
        alt = picture.get("alt", "").strip()
        if not alt or re.search(r"\.(svg|png|jpe?g|gif)$", alt):
            found.append(f"picture {picture.get('src', '')[:80]} has no alt text")
    for drawing in soup.select(".cell_output svg:not(svg svg)"):
        hidden = drawing.get("aria-hidden") == "true"
        if not (hidden or drawing.get("aria-label") or drawing.find("title")):
            found.append("a drawing among the outputs has no title")
    for other in soup.select(NOT_PROSE):
        other.extract()
    texts = [text.strip() for article in soup.select("article") for text in article.strings]
    found += [f"raw TeX in the text: {t[:70]!r}" for t in texts if RAW_TEX.search(t)]
    return Page(found, links, ids, formulas)


def policy_faults(soup: BeautifulSoup) -> list[str]:
    meta = soup.select_one('meta[http-equiv="Content-Security-Policy" i]')
    if meta is None:  # the root leads to the first page, and loads nothing
        loads = soup.select_one("script, link, img")
        return ["no Content-Security-Policy keeps other hosts out"] if loads else []
    policy = meta["content"]
    allowed = {word for part in policy.split(";") for word in part.split()[1:]}
    if allowed <= OURS and "default-src" in policy:
        return []
    return [f"its Content-Security-Policy is {policy!r}; expected default-src, ours"]


def broken_links(name: str, pages: dict[str, Page], root: Path) -> list[str]:
    found = []
    for link in pages[name].links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        path = (root / name).parent / unquote(parts.path) if parts.path else root / name
        if not path.exists():
            found.append(f"link to {link}, which does not exist")
            continue
        target = path.resolve().relative_to(root.resolve()).as_posix()
        anchor = unquote(parts.fragment)
        if anchor and target in pages and anchor not in pages[target].ids:
            found.append(f"link to {link}: no such place on that page")
    return found


def unreadable(formulas: list[dict]) -> list[str]:
    """What MathJax, from the copy that the pages use, cannot read."""
    folder = Path(importlib.util.find_spec("sphinx-mathjax-offline").origin).parent
    done = subprocess.run(
        ["node", Path(__file__).with_name("math.js"), folder / "static" / "mathjax"],
        input=json.dumps(formulas),
        text=True,
        capture_output=True,
    )
    if done.returncode:
        raise RuntimeError(f"MathJax did not start: {done.stderr.strip()}")
    return [f"{f['page']}: {f['why']} in {f['tex'][:70]!r}" for f in json.loads(done.stdout)]


def check(root: Path) -> tuple[list[str], str]:
    """Every fault, and a line that says how much was looked at."""
    files = [path for path in sorted(root.rglob("*.html")) if "_static" not in path.parts]
    names = [path.relative_to(root).as_posix() for path in files]
    texts = (path.read_text(encoding="utf-8") for path in files)
    pages = dict(zip(names, map(read, texts), strict=True))
    found = [
        f"{name}: {fault}"
        for name, page in pages.items()
        for fault in page.faults + broken_links(name, pages, root)
    ]
    formulas = [
        {"page": name, "tex": inline or displayed, "display": bool(displayed)}
        for name, page in pages.items()
        for inline, displayed in page.formulas
    ]
    with_node = shutil.which("node") is not None
    found += unreadable(formulas) if with_node else []
    judge = "read by MathJax" if with_node else "not read: Node.js is not installed"
    return found, f"{len(pages)} pages, {len(formulas)} formulas ({judge})"


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else HTML
    if not any(root.rglob("*.html")):
        print(f"There is no book in {root}; make book builds it.")
        return 1
    found, summary = check(root)
    print("\n".join([*found, f"{summary}, {len(found)} faults"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
