"""Drawings of matplotlib and RDKit in a page: the same strokes in fewer letters.

A style that many strokes have becomes a class. A number on an axis, which is a row of glyphs, is
written once and then used again. Names depend on what they name, because ``tools.pdf`` joins pages.
"""

import re
from collections import Counter
from collections.abc import Iterator
from hashlib import sha256

from pages import built, update
from strokes import short_path

DRAWING = re.compile(r'(<svg\b[^>]*\brole="img"[^>]*>)(.*?</svg>)', re.DOTALL)
PLOTTED = re.compile(r"<g id=\"figure_1\">|<path class='bond-")
TAG = re.compile(r"<(/?)([\w:]+)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)\s*(/?)>")
ATTRIBUTE = re.compile(r"([\w:-]+)=(?:\"([^\"]*)\"|'([^']*)')")
ATTRIBUTES = re.compile(rf"(?:\s+{ATTRIBUTE.pattern})*\s*")
USED = re.compile(r"""(?:href=["']|url\()#([^"')]+)""")
OF_ROOT = re.compile(r' xmlns:xlink="[^"]*"| version="1\.1"')
OF_RDKIT = re.compile(r"(?:(?:bond|atom)-\d+ ?)+")
GLYPH = re.compile(r"DejaVuSans(?=-)")
SHIFT = re.compile(r"translate\((-?[\d.]+)[ ,]+(-?[\d.]+)\)")
NUMBER = re.compile(r"\d*\.\d+")
SIZES = {"x", "y", "width", "height", "cx", "cy", "r", "rx", "ry", "transform"}
GAP = re.compile(r"(?<=[:;]) +")
STYLE = re.compile(r' style="([^"]*)"')
ROW = re.compile(r'(?:<use href="#[^"]+"(?: [xy]="[^"]*")*/>){2,}')
RULES = re.compile(r'<defs><style type="text/css">[^<]*</style></defs>')

CONTENT_OF: dict[str, str] = {}
"""What each name of a style or a row of glyphs stands for, in all pages."""


def with_short_drawings(page: str) -> str:
    """The page with its drawings of matplotlib and RDKit in fewer letters; others stay."""
    found = [drawing for drawing in DRAWING.finditer(page) if PLOTTED.search(drawing[2])]
    used = set(USED.findall(page))
    short = ["".join(tags(drawing[2], used)) for drawing in found]
    short = once(RULES, with_classes(short))
    text = ""
    end = 0
    for drawing, inside in zip(found, rows_once(short), strict=True):
        text += page[end : drawing.start()] + OF_ROOT.sub("", drawing[1]) + inside
        end = drawing.end()
    return text + page[end:]


def tags(drawing: str, used: set[str]) -> Iterator[str]:
    """The tags and texts of a drawing, without groups that say nothing of what they hold."""
    kept_groups: list[bool] = []  # whether each group that is open has a tag
    end = 0
    for tag in TAG.finditer(drawing):
        yield drawing[end : tag.start()].strip("\n")
        end = tag.end()
        closes, name, attributes, is_empty = tag.groups()
        if closes:
            if name != "g" or kept_groups.pop():
                yield tag[0]
            continue
        is_read = ATTRIBUTES.fullmatch(attributes) is not None
        written = "".join(short_attributes(name, attributes, used)) if is_read else attributes
        if name == "g" and not is_empty:
            kept_groups.append(bool(written))
        if name != "g" or written:
            yield f"<{name}{written}{is_empty}>" if is_read else tag[0]


def short_attributes(tag: str, attributes: str, used: set[str]) -> Iterator[str]:
    """The attributes of a tag, each with a space before it, without those that change nothing.

    Args:
        tag: The tag's name.
        attributes: All of its attributes, as they stand in the page.
        used: The ids that the page refers to; others are left out.
    """
    found = {key: double or single for key, double, single in ATTRIBUTE.findall(attributes)}
    shift = SHIFT.fullmatch(found.get("transform", ""))
    if tag == "use" and shift and not {"x", "y"} & found.keys():
        del found["transform"]
        found |= {"x": shift[1], "y": shift[2]}
    for key, value in found.items():
        if key in ("href", "xlink:href"):
            yield attribute("href", GLYPH.sub("d", value))
        elif key == "id":
            yield attribute("id", GLYPH.sub("d", value)) if value in used else ""
        elif key == "style" and "&" not in value:  # whose ; would not end a property
            yield attribute("style", GAP.sub("", value).removesuffix(";"))
        elif key == "d":
            yield attribute("d", short_path(value))
        elif key in SIZES:
            short = NUMBER.sub(short_number, value)
            yield "" if tag == "use" and short == "0" else attribute(key, short)
        elif key != "class" or not OF_RDKIT.fullmatch(value):
            yield attribute(key, value)


def attribute(key: str, value: str) -> str:
    """An attribute in double quotation marks, with a space before it."""
    escaped = value.replace('"', "&quot;")
    return f' {key}="{escaped}"'


def short_number(number: re.Match) -> str:
    """``.5`` for ``0.50``."""
    return number[0].rstrip("0").rstrip(".").lstrip("0") or "0"


def with_classes(drawings: list[str]) -> list[str]:
    """The drawings of a page; styles that many strokes share are rules in the first."""
    counts = Counter(style for drawing in drawings for style in STYLE.findall(drawing))
    names = {
        style: named("s", style)
        for style, count in counts.items()
        if count * (len(style) - len("s12345678")) > len(style) + len(".s12345678{}")
    }
    if not names:
        return drawings

    def classed(tag: re.Match) -> str:
        style = STYLE.search(tag[0])
        if style is None or style[1] not in names or " class=" in tag[0]:
            return tag[0]
        return tag[0].replace(style[0], f' class="{names[style[1]]}"')

    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    first, *others = [TAG.sub(classed, drawing) for drawing in drawings]
    return [f"<style>{rules}</style>{first}", *others]


def once(part: re.Pattern, drawings: list[str]) -> list[str]:
    """The drawings of a page; what several contain alike stays where it is first."""
    seen = set()

    def first(found: re.Match) -> str:
        is_new = found[0] not in seen
        seen.add(found[0])
        return found[0] if is_new else ""

    return [part.sub(first, drawing) for drawing in drawings]


def rows_once(drawings: list[str]) -> list[str]:
    """The drawings of a page; a row of glyphs that comes again uses the first."""
    counts = Counter(row for drawing in drawings for row in ROW.findall(drawing))
    seen = set()

    def short(found: re.Match) -> str:
        row = found[0]
        if counts[row] == 1:
            return row
        name = named("r", row)
        if row in seen:
            return f'<use href="#{name}"/>'
        seen.add(row)
        return f'<g id="{name}">{row}</g>'

    return [ROW.sub(short, drawing) for drawing in drawings]


def named(letter: str, content: str) -> str:
    """The content's name: a letter, and 8 digits of a hash.

    Raises:
        ValueError: Another content of the book has this name.
    """
    name = letter + sha256(content.encode()).hexdigest()[:8]
    other = CONTENT_OF.setdefault(name, content)
    if other != content:
        raise ValueError(f"{name} is the name of {content!r} and {other!r}; expected one content.")
    return name


def shorten(app, error) -> None:
    for path, page in built(app, error):
        update(path, page, with_short_drawings(page))


def setup(app):
    app.connect("build-finished", shorten, priority=902)  # after slim.py's single glyphs
    return {"parallel_read_safe": True, "parallel_write_safe": True}
