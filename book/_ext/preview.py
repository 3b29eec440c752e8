"""What search engines and shared links show of a page: its first sentences and its picture.

A chapter's picture is the one of its card. Sites that show previews read no SVG, so the pictures
are drawn as PNG when the book is built.
"""

import re
from html import escape
from io import BytesIO
from pathlib import Path
from urllib.parse import urljoin

import matplotlib
import resvg_py
from cards import chapter
from docutils import nodes
from PIL import Image

SITE = "Graph Transformers: an open, executable course"
WIDTH = 1200
HEIGHT = 630
LONGEST = 200
FONT = Path(matplotlib.get_data_path(), "fonts/ttf/DejaVuSans.ttf")
HOME = "home"
"""The picture of the pages without one of their own: that of the chapter on CSA."""
TAG = re.compile(
    r'<meta (?:name="description"|property="og:|name="twitter:)[^>]*>|<link rel="canonical"[^>]*>'
)
ROOT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{title}</title>
<meta http-equiv="refresh" content="0; url={home}">
{tags}
</head>
<body><a href="{home}">{title}</a></body>
</html>
"""


def set_address(app, config) -> None:
    """Where GitHub publishes the repository's pages, unless the configuration says otherwise."""
    if not config.html_baseurl:
        owner, name = config.html_theme_options["repository_url"].rstrip("/").split("/")[-2:]
        config.html_baseurl = f"https://{owner}.github.io/{name}/"


def describe(app, page, template, context, doctree) -> None:
    text = "" if doctree is None else first_words(doctree)
    if not text:
        return
    picture = chapter(page) or HOME
    tags = {
        "og:title": context.get("title", SITE),
        "og:description": text,
        "og:type": "article",
        "og:site_name": SITE,
        "og:url": urljoin(app.config.html_baseurl, f"{page}.html"),
        "og:image": urljoin(app.config.html_baseurl, f"_static/previews/{picture}.png"),
        "og:image:width": str(WIDTH),
        "og:image:height": str(HEIGHT),
    }
    metas = [f'<meta name="description" content="{escape(text)}">']
    metas += [f'<meta property="{k}" content="{escape(v)}">' for k, v in tags.items()]
    metas.append('<meta name="twitter:card" content="summary_large_image">')
    context["metatags"] = context.get("metatags", "") + "\n".join(metas)


def first_words(doctree: nodes.document) -> str:
    """The first paragraph that has words, without its citations; a badge has none."""
    for paragraph in doctree.findall(nodes.paragraph):
        if next(iter(paragraph.findall(nodes.image)), None) is not None:
            continue
        text = " ".join(re.sub(r" \[[^]]*\]", "", paragraph.astext()).split())
        if text:
            return text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
    return ""


def describe_root(app, error) -> None:
    """``index.html`` leads to the first page, and tells sites and search engines what that is."""
    if error is not None or app.builder.format != "html":
        return
    home = f"{app.config.root_doc}.html"
    page = Path(app.outdir, home).read_text(encoding="utf-8")
    text = ROOT.format(home=home, title=SITE, tags="\n".join(TAG.findall(page)))
    Path(app.outdir, "index.html").write_text(text, encoding="utf-8")


def draw(app, error) -> None:
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, "_static", "previews")
    folder.mkdir(parents=True, exist_ok=True)
    cards = {path.stem: path for path in Path(app.srcdir, "book/_static/cards").glob("*.svg")}
    for name, path in {**cards, HOME: cards["09"]}.items():
        picture = path.read_text(encoding="utf-8")
        # The cards are 240 wide and 120 high; here there is white around them.
        whole = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-15 -18.75 270 157.5" '
            f'width="{WIDTH}" height="{HEIGHT}">{picture}</svg>'
        )
        png = resvg_py.svg_to_bytes(
            whole,
            width=WIDTH,
            height=HEIGHT,
            background="#ffffff",
            skip_system_fonts=True,
            font_files=[str(FONT)],
            sans_serif_family="DejaVu Sans",
            font_family="DejaVu Sans",
        )
        (folder / f"{name}.png").write_bytes(bytes(png))


def draw_icon(app, error) -> None:
    """``favicon.ico``, which browsers ask for where a page names no icon, as the root does not."""
    if error is not None or app.builder.format != "html":
        return
    picture = Path(app.srcdir, app.config.html_favicon).read_text(encoding="utf-8")
    png = resvg_py.svg_to_bytes(picture, width=64, height=64)
    icon = Image.open(BytesIO(bytes(png)))
    icon.save(Path(app.outdir, "favicon.ico"), sizes=[(16, 16), (32, 32), (48, 48)])


def setup(app):
    app.connect("config-inited", set_address)
    app.connect("html-page-context", describe)
    app.connect("build-finished", draw)
    app.connect("build-finished", draw_icon)
    app.connect("build-finished", describe_root, priority=900)  # after sphinx-external-toc's
    return {"parallel_read_safe": True, "parallel_write_safe": True}
