"""The built pages: nothing from another host, formulas that parse, links that lead somewhere,
pictures that are described.

python -m tools.check_book [FOLDER]
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from tools.math_check import refused
from tools.paths import HTML

# Attributes through which a page loads something while it is read; an <a href> does not.
LOADS = {
    "script": ["src"],
    "img": ["src", "srcset"],
    "source": ["src", "srcset"],
    "iframe": ["src"],
    "embed": ["src"],
    "audio": ["src"],
    "video": ["src", "poster"],
    "object": ["data"],
    "image": ["href", "xlink:href"],
    "use": ["href", "xlink:href"],
    "input": ["src"],
    "track": ["src"],
    "frame": ["src"],
    "body": ["background"],
    "base": ["href"],  # every other address would lead there
}
NOT_LOADED = {"next", "prev", "search", "index", "author", "canonical", "license", "alternate"}
IN_CSS = re.compile(r"url\(\s*['\"]?([^'\")]+)|(?:@import|image-set\()\s*['\"]([^'\"]+)")
# A script that names another host's script, style or font is about to fetch it; and so is one that
# hands any address to what asks for it.
IN_SCRIPT = re.compile(
    r"['\"`]((?:https?:)?//[^'\"`\s]+\.(?:m?js|css|woff2?|json|wasm))\b"
    r"|\b(?:fetch|import|importScripts|WebSocket|EventSource|Worker|sendBeacon|open)"
    r"\s*\(?[^()]*?['\"`]((?:https?:|wss?:)?//[^'\"`\s]+)"
)
# What a page's policy may name: its own files, over http or from the disk, and what it contains.
OURS = {"'self'", "'unsafe-inline'", "'none'", "data:", "blob:", "file:"}
RAW_TEX = re.compile(r"\$\$|\\\(|\\\[|\\(?:frac|begin|sum|sqrt|mathbb|operatorname|cdot|tfrac)\b")
UNREAD = {"script", "style", "pre", "code", "textarea"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Page(HTMLParser):
    """What the checks need to know of one page."""

    def __init__(self, text: str):
        super().__init__(convert_charrefs=True)
        self.loads: list[str] = []
        self.policy: str | None = None  # what the browser is told to load, if told beforehand
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.pictures: list[tuple[str, str | None]] = []
        self.drawings: list[bool] = []  # inline SVG among the outputs: is it described?
        self.formulas: list[tuple[str, bool]] = []
        self.prose: list[str] = []
        self.styles: list[str] = []
        self.scripts: list[str] = []
        self.open: list[tuple[str, str]] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        kind = values.get("class") or ""
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        self.loads += [values[a] for a in LOADS.get(tag, []) if values.get(a)]
        if tag == "link" and not set((values.get("rel") or "").split()) <= NOT_LOADED:
            self.loads += [values.get("href") or "", values.get("imagesrcset") or ""]
        if tag == "meta":
            self.read_meta((values.get("http-equiv") or "").lower(), values.get("content") or "")
        if values.get("srcdoc"):
            inner = Page(values["srcdoc"])
            self.loads, self.styles = self.loads + inner.loads, self.styles + inner.styles
            self.scripts += inner.scripts
        self.scripts += [values[a] for a in values if a.startswith("on") and values[a]]
        if values.get("style"):
            self.styles.append(values["style"])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag == "img":
            self.pictures.append((values.get("src", ""), values.get("alt")))
        if tag == "svg" and self.inside("cell_output") and not self.inside_tag("svg"):
            hidden = values.get("aria-hidden") == "true"
            self.drawings.append(bool(hidden or values.get("aria-label")))
        if tag == "title" and self.inside_tag("svg") and self.drawings:
            self.drawings[-1] = True
        if tag in ("span", "div") and "math" in kind.split():
            self.formulas.append(("", tag == "div"))
            kind += " is-math"
        if tag not in VOID:
            self.open.append((tag, kind))

    def read_meta(self, kind: str, content: str) -> None:
        if kind == "content-security-policy" and not self.loads:
            self.policy = content
        target = content.partition("=")[2].strip("'\" ")
        if kind == "refresh" and is_foreign(target):
            self.loads.append(target)

    def handle_endtag(self, tag):
        for i in range(len(self.open) - 1, -1, -1):
            if self.open[i][0] == tag:
                del self.open[i:]
                return

    def handle_data(self, data):
        if self.inside("is-math"):
            tex, display = self.formulas[-1]
            self.formulas[-1] = (tex + data, display)
        elif self.inside_tag("style"):
            self.styles.append(data)
        elif self.inside_tag("script"):
            self.scripts.append(data)
        elif self.inside_tag("article") and not any(tag in UNREAD for tag, _ in self.open):
            self.prose.append(data)

    def inside(self, kind: str) -> bool:
        return any(kind in kinds.split() for _, kinds in self.open)

    def inside_tag(self, name: str) -> bool:
        return any(tag == name for tag, _ in self.open)


def is_foreign(address: str) -> bool:
    parts = urlsplit(address.strip().replace("\\", "/"))  # as browsers read it
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp", "ws", "wss")


def foreign_loads(page: Page) -> list[str]:
    # A comma parts the addresses of a srcset, and stands within a data: address.
    addresses = [part.split()[0] for load in page.loads for part in load.split(",") if part.strip()]
    addresses += [a or b for style in page.styles for a, b in IN_CSS.findall(style)]
    addresses += [a or b for script in page.scripts for a, b in IN_SCRIPT.findall(script)]
    return [f"loads {address} from another host" for address in addresses if is_foreign(address)]


def unguarded(page: Page) -> list[str]:
    """Whatever a script of the page does later, the browser is to ask no other host."""
    if page.policy is None:
        return ["no Content-Security-Policy stands before what it loads"] if page.loads else []
    allowed = [word for part in page.policy.split(";") for word in part.split()[1:]]
    foreign = [word for word in allowed if word not in OURS]
    if foreign or "default-src" not in page.policy:
        return [f"its Content-Security-Policy is {page.policy!r}; expected default-src and ours"]
    return []


def foreign_in_file(text: str, suffix: str) -> list[str]:
    found = [a or b for a, b in IN_CSS.findall(text)] if suffix == ".css" else []
    return [f"loads {address} from another host" for address in found if is_foreign(address)]


def missing_alt(page: Page) -> list[str]:
    """A picture needs words; a file name, which Sphinx puts where there are none, is not that."""
    faults = [
        f"picture {src[:80]} has no alt text"
        for src, alt in page.pictures
        if not (alt or "").strip() or re.search(r"\.(svg|png|jpe?g|gif)$", alt.strip())
    ]
    return faults + ["a drawing among the outputs has no title"] * page.drawings.count(False)


def raw_tex(page: Page) -> list[str]:
    return [
        f"raw TeX in the text: {text.strip()[:70]!r}" for text in page.prose if RAW_TEX.search(text)
    ]


def broken_links(name: str, page: Page, pages: dict[str, Page], root: Path) -> list[str]:
    faults = []
    for link in page.links:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = name
        if parts.path:
            path = (root / name).parent / unquote(parts.path)
            if not path.exists():
                faults.append(f"link to {link}, which does not exist")
                continue
            target = path.resolve().relative_to(root.resolve()).as_posix()
        anchor = unquote(parts.fragment)
        if anchor and target in pages and anchor not in pages[target].ids:
            faults.append(f"link to {link}: no such place on that page")
    return faults


def formulas_of(name: str, page: Page) -> list[dict]:
    found = []
    for text, _ in page.formulas:
        for inline, display in re.findall(r"\\\((.*?)\\\)|\\\[(.*?)\\\]", text, flags=re.S):
            found.append({"page": name, "tex": inline or display, "display": bool(display)})
    return found


def check(root: Path) -> tuple[list[str], str]:
    """Every fault, and a line that says how much was looked at."""
    files = [p for p in sorted(root.rglob("*.html")) if "_static" not in p.parts]
    pages = {p.relative_to(root).as_posix(): Page(p.read_text(encoding="utf-8")) for p in files}
    faults, formulas = [], []
    for name, page in pages.items():
        found = foreign_loads(page) + unguarded(page) + missing_alt(page) + raw_tex(page)
        found += broken_links(name, page, pages, root)
        faults += [f"{name}: {fault}" for fault in found]
        formulas += formulas_of(name, page)
    for path in sorted(root.rglob("*.css")):
        found = foreign_in_file(path.read_text(encoding="utf-8", errors="replace"), ".css")
        faults += [f"{path.relative_to(root)}: {fault}" for fault in found]
    bad, judge = refused(formulas)
    summary = f"{len(pages)} pages, {len(formulas)} formulas (read {judge})"
    return faults + bad, summary


def main() -> int:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else HTML
    if not any(root.rglob("*.html")):
        print(f"There is no book in {root}; make book builds it.")
        return 1
    faults, summary = check(root)
    print("\n".join(faults))
    print(f"{summary}, {len(faults)} faults")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
