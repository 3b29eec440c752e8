"""Pictures that state their sizes, so that the text below does not move when they arrive.

The list of a page's contents follows its article. While only the article is there, its class says
that the list will come, so that the text has its width from the start.
"""

import re
from functools import cache
from pathlib import Path

from pages import built, update
from PIL import Image

PICTURE = re.compile(r'<img\b(?![^>]*\s(?:width|style)=)[^>]*?\ssrc="([^":]*_images/[^":]+)"')
SVG = re.compile(r"<svg\b[^>]*>", re.DOTALL)
SIDE = re.compile(r'\s(width|height)="([\d.]+)(pt|px|)"')
BOX = re.compile(r'\sviewBox="[-\d.]+[\s,]+[-\d.]+[\s,]+([\d.]+)[\s,]+([\d.]+)"')
POINT = 4 / 3  #: pixels

ARTICLE = '<div class="bd-article-container">'
CONTENTS = 'class="bd-sidebar-secondary'


def with_sizes(page: str, folder: Path) -> str:
    """The page with the size of each of the book's own pictures; ``folder`` is the page's."""

    def sized(picture: re.Match) -> str:
        width, height = size((folder / picture[1]).resolve())
        return f'{picture[0]} width="{width}" height="{height}"'

    return PICTURE.sub(sized, page)


@cache
def size(path: Path) -> tuple[int, int]:
    """Width and height in pixels."""
    if path.suffix != ".svg":
        with Image.open(path) as picture:
            return picture.size
    head = SVG.search(path.read_text(encoding="utf-8"))
    if head is None:
        raise ValueError(f"{path} is no SVG; expected a picture that begins with <svg.")
    sides = {
        name: float(number) * (POINT if unit == "pt" else 1)
        for name, number, unit in SIDE.findall(head[0])
    }
    if len(sides) < 2:
        box = BOX.search(head[0])
        if box is None:
            raise ValueError(f"{path} has no size; expected width and height, or a viewBox.")
        sides = {"width": float(box[1]), "height": float(box[2])}
    return round(sides["width"]), round(sides["height"])


def with_announced_contents(page: str) -> str:
    """The page, whose article has the class ``has-contents`` if a list of contents follows it."""
    if CONTENTS not in page:
        return page
    return page.replace(ARTICLE, '<div class="bd-article-container has-contents">', 1)


def size_pages(app, error) -> None:
    for path, page in built(app, error):
        update(path, page, with_announced_contents(with_sizes(page, path.parent)))


def setup(app):
    app.connect("build-finished", size_pages, priority=910)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
