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
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.paths import HTML

# What a page's policy may name: its own files, over http or from the disk, and what it contains.
OURS = {"'self'", "'unsafe-inline'", "'none'", "data:", "blob:", "file:"}
RAW_TEX = re.compile(r"\$\$|\\\(|\\\[|\\(?:frac|begin|sum|sqrt|mathbb|operatorname|cdot|tfrac)\b")
FORMULA = re.compile(r"\\\((.*?)\\\)|\\\[(.*?)\\\]", re.S)
NOT_PROSE = {"script", "style", "pre", "code", "textarea"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Page(HTMLParser):
    """What the checks need to know of one page."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.policy: str | None = None
        self.loads = False
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.pictures: list[tuple[str, str]] = []
        self.drawings: list[bool] = []  # SVG among the outputs: is it described?
        self.formulas: list[str] = []
        self.prose: list[str] = []
        self.open: list[tuple[str, set[str]]] = []  # tags around the current place, their classes
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        classes = set(values.get("class", "").split())
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "meta" and values.get("http-equiv", "").lower() == "content-security-policy":
            self.policy = values["content"]
        self.loads |= tag in ("script", "link", "img")
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "img":
            self.pictures.append((values.get("src", ""), values.get("alt", "").strip()))
        if tag == "svg" and self.within_class("cell_output") and not self.within({"svg"}):
            hidden = values.get("aria-hidden") == "true"
            self.drawings.append(hidden or bool(values.get("aria-label")))
        if tag == "title" and self.within({"svg"}) and self.drawings:
            self.drawings[-1] = True
        if tag in ("span", "div") and "math" in classes:
            self.formulas.append("")
        if tag not in VOID:
            self.open.append((tag, classes))

    def handle_endtag(self, tag: str) -> None:
        for i in reversed(range(len(self.open))):
            if self.open[i][0] == tag:
                del self.open[i:]
                return

    def handle_data(self, data: str) -> None:
        if self.within_class("math"):
            self.formulas[-1] += data
        elif self.within({"article"}) and not self.within(NOT_PROSE):
            self.prose.append(data)

    def within(self, tags: set[str]) -> bool:
        return any(tag in tags for tag, _ in self.open)

    def within_class(self, name: str) -> bool:
        return any(name in classes for _, classes in self.open)


def faults(page: Page) -> list[str]:
    """What is wrong with a page on its own."""
    found = [f"raw TeX in the text: {t.strip()[:70]!r}" for t in page.prose if RAW_TEX.search(t)]
    for source, alt in page.pictures:  # Sphinx writes the file's name where there are no words
        if not alt or re.search(r"\.(svg|png|jpe?g|gif)$", alt):
            found.append(f"picture {source[:80]} has no alt text")
    found += ["a drawing among the outputs has no title"] * page.drawings.count(False)
    if page.policy is None:  # the root leads to the first page, and loads nothing
        return found + ["no Content-Security-Policy keeps other hosts out"] * page.loads
    allowed = {word for part in page.policy.split(";") for word in part.split()[1:]}
    if allowed - OURS or "default-src" not in page.policy:
        found.append(f"its Content-Security-Policy is {page.policy!r}; expected default-src, ours")
    return found


def broken_links(name: str, page: Page, pages: dict[str, Page], root: Path) -> list[str]:
    found = []
    for link in page.links:
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


def formulas_of(name: str, page: Page) -> list[dict]:
    parts = [part for text in page.formulas for part in FORMULA.findall(text)]
    return [{"page": name, "tex": a or b, "display": bool(b)} for a, b in parts]


def refused(formulas: list[dict]) -> list[str]:
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
    pages = {p.relative_to(root).as_posix(): Page(p.read_text(encoding="utf-8")) for p in files}
    found, formulas = [], []
    for name, page in pages.items():
        about = faults(page) + broken_links(name, page, pages, root)
        found += [f"{name}: {fault}" for fault in about]
        formulas += formulas_of(name, page)
    judge = "read by MathJax" if shutil.which("node") else "not read: Node.js is not installed"
    found += refused(formulas) if shutil.which("node") else []
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
