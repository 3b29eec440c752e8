"""The book as one PDF, without TeX: the built pages joined, and printed by Chromium.

python -m tools.pdf [FILE]

Solutions are open, folded code is left out, and where a page has something to play with there is
the still picture. The reference of the package stays on the screen.
"""

import re
import sys
from pathlib import Path
from urllib.parse import urljoin

from bs4 import BeautifulSoup

from tools.chromium import browser, executable
from tools.paths import HTML, ROOT

PDF = ROOT / "_build" / "gtcourse.pdf"
LEFT_OUT = "book/api/"
STYLES = [
    "styles/theme.css",
    "styles/pydata-sphinx-theme.css",
    "pygments.css",
    "styles/sphinx-book-theme.css",
    "exercise.css",
    "proof.css",
    "sphinx-design.min.css",
    "mathjax/mathjax.css",
    "book.css",
    "pictures.css",
    "print.css",
]
# What is for the screen only: links around headings, buttons, folded code, what needs scripts.
SCREEN = (
    "a.headerlink, button, details.above-input, script, .prev-next-footer, dialog, .of-explainer, "
    ".run-here"
)
FOOT = """<div style="width: 100%; text-align: center; font: 8px sans-serif; color: #555">
<span class="pageNumber"></span></div>"""


def pages() -> list[str]:
    """The pages in the order of the contents, without ``.html``."""
    contents = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    found = re.findall(r"\b(?:root|file): (\S+)", contents)
    return [name for name in found if not name.startswith(LEFT_OUT)]


def article(html: str, name: str, joined: list[str]) -> str:
    """A page's text with ids that no other page has, and links to where the others now are.

    Args:
        name: of the page, as in the contents.
        joined: the names of all pages that are joined.
    """
    part = BeautifulSoup(html, "html.parser").select_one("article.bd-article")
    for piece in part.select(SCREEN):
        piece.decompose()
    for invitation in part.select("noscript > .invitation"):
        invitation.decompose()
    for instead in part.select("noscript"):  # hidden by a browser that runs scripts
        instead.unwrap()
    for folded in part.select("details"):
        folded["open"] = ""
    for element in part.select("[id]:not(svg [id])"):  # a drawing finds its strokes by theirs
        element["id"] = place(name, element["id"])
    for link in part.select("a[href]"):
        address = urljoin(f"{name}.html", link["href"])
        page, _, anchor = address.partition("#")
        page = page.removesuffix(".html")
        link["href"] = f"#{place(page, anchor)}" if page in joined else address
    for picture in part.select("img[src]"):
        picture["src"] = urljoin(name, picture["src"])
    part["id"] = place(name, "")
    return str(part)


def place(name: str, anchor: str) -> str:
    return f"{name.replace('/', '-')}--{anchor}"


def joined_pages(names: list[str]) -> str:
    texts = [(HTML / f"{name}.html").read_text(encoding="utf-8") for name in names]
    parts = [article(text, name, names) for text, name in zip(texts, names, strict=True)]
    links = "".join(f'<link rel="stylesheet" href="_static/{style}">' for style in STYLES)
    return (
        '<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        f"<title>Graph Transformers</title>{links}</head>"
        f'<body><main class="bd-main bd-content">{"".join(parts)}</main></body></html>'
    )


def print_to(pdf: Path, page_to_print: Path) -> None:
    with browser() as running:
        page = running.new_page()
        page.set_default_timeout(600_000)
        page.goto(page_to_print.as_uri(), wait_until="load")
        page.evaluate("document.fonts.ready.then(() => true)")
        page.pdf(
            path=pdf,
            format="A4",
            margin={"top": "18mm", "bottom": "20mm", "left": "18mm", "right": "18mm"},
            display_header_footer=True,
            header_template="<span></span>",
            footer_template=FOOT,
            outline=True,
            tagged=True,
        )


def main() -> int:
    pdf = Path(sys.argv[1]) if len(sys.argv) > 1 else PDF
    missing = "" if executable() else "no Chromium is installed"
    if not missing and not (HTML / "index.html").exists():
        missing = "there is no built book: make book builds it"
    if missing:
        print(f"No PDF: {missing}.")
        return 1
    page_to_print = HTML / "gtcourse-print.html"
    page_to_print.write_text(joined_pages(pages()), encoding="utf-8")
    try:
        print_to(pdf, page_to_print)
    finally:
        page_to_print.unlink()
    print(f"{pdf}: {pdf.stat().st_size / 1e6:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
