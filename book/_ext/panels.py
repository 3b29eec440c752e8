"""Small multiples that a phone shows in two columns.

A row of three or more equal panels has the width of a laptop's text, and on a phone each is as wide
as a thumb. Here each panel becomes a group with the way that it moves on a phone, and the drawing
states the room that the panels then take; ``_static/book.css`` does the rest. A figure whose
caption speaks of left, right or the middle keeps its row. The texts of the other drawings get a
class, by which a phone writes them a little larger.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from docutils import nodes
from sphinx.application import Sphinx

OF_MATPLOTLIB = '<g id="figure_1">'
OF_RDKIT = "<!-- END OF HEADER -->"
HEAD = re.compile(
    r'<div style="overflow-x:auto">'
    r'(?=<svg\b[^>]*?\sviewBox=["\'][-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)["\'])'
)
TAG = re.compile(r"<(/?)([\w:]+)((?:[^<>\"']|\"[^\"]*\"|'[^']*')*?)\s*(/?)>")
NAME = re.compile(r'\bid="([^"]*)"')
FRAME = re.compile(r'<g id="patch_\d+">\s*<path d="([^"]*)"')
TEXT = re.compile(r'<g id="text_\d+">')
NAMED = re.compile(r'<g id="(legend|axes)_\d+">')
VIEW = re.compile(r"""(\sviewBox=["'])0""")
ID = re.compile(r' id="text_\d+"|<defs>.*?</defs>', re.DOTALL)
PLACED = re.compile(
    r'transform="translate\(([-\d.]+) ([-\d.]+)\)(?: rotate\(([-\d.]+)\))?'
    r' scale\(([\d.]+) -[\d.]+\)"'
)
GLYPH = re.compile(r'<use xlink:href="#[^"]+"(?: transform="translate\(([-\d.]+)[^"]*")?')
AXIS = re.compile(r"matplotlib\.axis_\d+")
NUMBER = re.compile(r"-?[\d.]+")
PLACE = re.compile(
    r"(?:\sd=['\"]M|\scx=['\"]|\sx=['\"])\s*(-?[\d.]+)[^\d.-]+(?:cy=['\"]|y=['\"])?(-?[\d.]+)"
)
LEGEND = re.compile(r'<text class="legend" x="([\d.]+)" y="([\d.]+)"')
CELL = (180, 165)  #: of ``plots.molecules``, in pixels
SIDES = re.compile(r"\b(left|right|middle)\b")
COLUMNS = 2
LEAST = 3  #: panels of a row that a phone breaks
GAP = 8.0  #: between panels
GROWTH = 0.1  #: of a text with the class (book.css), half of it to each side
LONG = 40.0  #: a text that would grow by 2 points to each side
NARROWEST = 270.0  #: of what a phone shows; its letters of 10 points are then 14 px high


@dataclass
class Box:
    left: float
    right: float
    top: float
    bottom: float

    @property
    def size(self) -> tuple[int, int]:
        return round(self.right - self.left), round(self.bottom - self.top)


def arrange(app: Sphinx, document: nodes.document, page: str) -> None:
    if app.builder.format != "html":
        return
    for raw in [*document.findall(nodes.raw)]:
        text = raw.astext()
        if "<svg" not in text or not HEAD.search(text):
            continue
        is_in_row = SIDES.search(caption_of(raw)) is not None
        changed = None if is_in_row else in_columns(text)
        changed = changed or with_larger_texts(text)
        if changed != text:
            raw.replace_self(nodes.raw(changed, changed, **raw.attributes))


def with_larger_texts(drawing: str) -> str:
    """The drawing with classes for its texts, which say how they grow on a phone.

    Those of a legend grow mostly away from its colours, the long ones at the right of a panel away
    from the end of their line, and those at the edge of the drawing away from it. Where the second
    kind needs it, the view moves into the margin at the left.
    """
    width = float(HEAD.search(drawing)[1])
    spans = []  # of a legend, or of a panel with its frame
    for named in NAMED.finditer(drawing):
        _, at, end = next(children(drawing, named.start()))
        frame = frame_of(drawing[at:end]) if named[1] == "axes" else None
        if frame or named[1] == "legend":
            spans.append((at, end, frame))
    margin, most = width, 0.0

    def larger(tag: re.Match) -> str:
        nonlocal margin, most
        _, at, end = next(children(drawing, tag.start()))
        kind = "t"
        if PLACED.search(drawing, at, end):
            box = box_of(drawing[at:end], None)
            long = box.right - box.left
            margin = min(margin, box.left - 1)
            around = [frame for begin, stop, frame in spans if begin < at < stop]
            middle = (box.left + box.right) / 2
            if None in around:
                kind = "t of-legend"
            elif long > LONG and any(frame and middle > frame.right for frame in around):
                kind = "t of-end"
                most = max(most, box.right + long * GROWTH * 0.9)
            elif box.right + long * GROWTH / 2 > width:
                kind = "t of-edge"
        return f'{tag[0][:-1]} class="{kind}">'

    changed = TEXT.sub(larger, drawing)
    shift = min(most - width, margin)
    if shift <= 0:
        return changed
    return VIEW.sub(lambda view: f"{view[1]}{shift:.4g}", changed, count=1)


def caption_of(raw: nodes.raw) -> str:
    node = raw
    while node.parent is not None and not isinstance(node, nodes.figure):
        node = node.parent
    captions = [part.astext() for part in node.findall(nodes.caption)]
    return captions[0] if isinstance(node, nodes.figure) and captions else ""


def in_columns(drawing: str) -> str | None:
    """The drawing with panels that a phone puts into two columns; None without a row of three."""
    if OF_MATPLOTLIB in drawing:
        return plots_in_columns(drawing)
    if OF_RDKIT in drawing:
        return molecules_in_columns(drawing)
    return None


def plots_in_columns(drawing: str) -> str | None:
    start = drawing.index(OF_MATPLOTLIB) + len(OF_MATPLOTLIB)
    parts = [*children(drawing, start)]
    axes = [(at, end) for name, at, end in parts if name.startswith("axes_")]
    frames = [frame_of(drawing[at:end]) for at, end in axes]
    if any(name.startswith("legend") for name, *_ in parts) or not axes or None in frames:
        return None
    panels = [k for k, frame in enumerate(frames) if alike(frame, frames[0])]
    others = [k for k in range(len(axes)) if k not in panels]
    if len(panels) < LEAST or len(others) > 1:
        return None
    around = [box_of(drawing[at:end], frame) for (at, end), frame in zip(axes, frames, strict=True)]
    first = frames[0]
    above = max(frames[k].top - around[k].top for k in panels)
    below = max(around[k].bottom - frames[k].bottom for k in panels)
    wide, high = first.right - first.left, first.bottom - first.top
    labels = axis_of(drawing, axes[0])
    left = [first.left - around[0].left, 0.0]
    right = [0.0, 0.0]
    for n, k in enumerate(panels):
        left[n % COLUMNS] = max(left[n % COLUMNS], frames[k].left - around[k].left)
        right[n % COLUMNS] = max(right[n % COLUMNS], around[k].right - frames[k].right)
    across = [left[0], left[0] + wide + right[0] + GAP + left[1]]
    moves: dict[int, tuple[float, float]] = {}
    for n, k in enumerate(panels):
        row, column = divmod(n, COLUMNS)
        y = above + row * (above + high + below + GAP)
        moves[k] = (across[column] - frames[k].left, y - frames[k].top)
    rows = -(-len(panels) // COLUMNS)
    width = across[1] + wide + right[1]
    height = rows * (above + high + below) + (rows - 1) * GAP
    middle = (across[0] + across[1] + wide) / 2
    for k in others:  # a colour bar
        box = around[k]
        moves[k] = (width + GAP - box.left, (height - box.top - box.bottom) / 2)
        width += GAP + box.right - box.left
    words = [(at, end) for name, at, end in parts if name.startswith("text_")]
    of_words = {}
    again_at: dict[int, tuple[float, float]] = {}
    for at, end in words:  # below all panels
        box = box_of(drawing[at:end], None)
        of_words[at] = (middle - (box.left + box.right) / 2, height + 2 - box.top)
        if len(words) == 1 and len(panels) % COLUMNS and box.top > first.bottom:
            # The label of all horizontal axes: below the last panel of each column.
            centers = [x + wide / 2 - (box.left + box.right) / 2 for x in across]
            free = (rows - 1) * (above + high + below + GAP) - GAP
            of_words[at] = (centers[0], of_words[at][1])
            again_at[at] = (centers[1], free + 2 - box.top)
        height += 2 + box.bottom - box.top
    shift = max(0.0, (NARROWEST - width) / 2)
    width = max(width, NARROWEST)
    pieces = []
    done = 0
    for n, (at, end) in enumerate(axes):
        x, y = moves[n]
        again = ""
        if n in panels[COLUMNS::COLUMNS] and labels and not has_words(drawing, axes[n]):
            way = f"translate({frames[n].left - first.left:.2f} {frames[n].top - first.top:.2f})"
            again = f'<use class="of-row" href="#{labels}" transform="{way}"/>'
        body = drawing[at:end].removesuffix("</g>") + again + "</g>"
        pieces += [drawing[done:at], moved(body, x + shift, y)]
        done = end
    for at, end in words:
        x, y = of_words[at]
        pieces += [drawing[done:at], moved(drawing[at:end], x + shift, y)]
        if at in again_at:
            x, y = again_at[at]
            label = f'<g class="of-row">{ID.sub("", drawing[at:end])}</g>'
            pieces.append(moved(label, x + shift, y))
        done = end
    changed = "".join([*pieces, drawing[done:]])
    if any('<use class="of-row"' in piece for piece in pieces):
        # The ids of a page's drawings are alike.
        unique = f"{labels}-{hashlib.sha256(drawing.encode()).hexdigest()[:8]}"
        changed = changed.replace(f'id="{labels}"', f'id="{unique}"', 1)
        changed = changed.replace(f'href="#{labels}"', f'href="#{unique}"')
    return with_room(changed, width, height)


def molecules_in_columns(drawing: str) -> str | None:
    """RDKit draws one molecule after another, and ``plots.molecules`` writes the legends last."""
    head = HEAD.search(drawing)
    width, height = float(head[1]), float(head[2])
    legends = LEGEND.findall(drawing)
    columns = len({x for x, _ in legends}) or round(width / CELL[0])
    rows = len({y for _, y in legends}) or round(height / CELL[1])
    if columns < LEAST:
        return None
    cell, tall = width / columns, height / rows
    number = len(legends) or columns * rows
    start = drawing.index(OF_RDKIT) + len(OF_RDKIT)
    end = drawing.index("</svg>")
    body = ""
    current: tuple[float, float] | None = None
    for part in re.finditer(r"<text\b.*?</text>|<[^>]*>", drawing[start:end], re.DOTALL):
        place = PLACE.search(part[0])
        if place is None:
            return None
        column, row = int(float(place[1]) // cell), int(float(place[2]) // tall)
        at = row * columns + column
        to_row, to_column = divmod(at, COLUMNS)
        alone = to_row == (number - 1) // COLUMNS and number % COLUMNS
        x = cell * (to_column - column) + (cell / 2 if alone else 0)
        move = (x, tall * (to_row - row))
        if move != current:
            body += ("</g>" if current is not None else "") + f"<g {style_of(*move)}>"
            current = move
        body += part[0]
    changed = f"{drawing[:start]}{body}</g>{drawing[end:]}"
    return with_room(changed, COLUMNS * cell, tall * -(-number // COLUMNS))


def with_room(drawing: str, width: float, height: float) -> str:
    head = HEAD.search(drawing)
    room = f"--of:{width:.0f}/{height:.0f};--wide:{float(head[1]) / width:.4g}"
    return HEAD.sub(f'<div class="panels" style="{room}">', drawing, count=1)


def moved(group: str, x: float, y: float) -> str:
    return f"<g {style_of(x, y)}>{group}</g>"


def style_of(x: float, y: float) -> str:
    return f'class="panel" style="--x:{x:.2f}px;--y:{y:.2f}px"'


def children(drawing: str, start: int) -> Iterator[tuple[str, int, int]]:
    """The name, the beginning and the end of each group that begins at this depth."""
    depth = 0
    name, begin = "", start
    for tag in TAG.finditer(drawing, start):
        if tag[4]:
            continue
        if tag[1]:
            if depth == 0:
                return
            depth -= 1
            if depth == 0:
                yield name, begin, tag.end()
        else:
            if depth == 0:
                found = NAME.search(tag[3])
                name, begin = (found[1] if found else ""), tag.start()
            depth += 1


def frame_of(axes: str) -> Box | None:
    path = FRAME.match(axes, axes.index(">") + 1)
    if path is None:
        return None
    numbers = [float(number) for number in NUMBER.findall(path[1])]
    xs, ys = numbers[::2], numbers[1::2]
    return Box(min(xs), max(xs), min(ys), max(ys))


def alike(one: Box, other: Box) -> bool:
    return one.size == other.size and round(one.top) == round(other.top)


def box_of(group: str, frame: Box | None) -> Box:
    """A frame and all texts around it; a letter is at most 0.9 em wide and 0.8 em high."""
    boxes = [frame] if frame else []
    for place in PLACED.finditer(group):
        x, y, turned, scale = float(place[1]), float(place[2]), place[3], float(place[4])
        end = group.find("</g>", place.end())
        steps = [float(step or 0) for step in GLYPH.findall(group[place.end() : end])]
        length = scale * (max(steps, default=0) + 65)
        if turned:
            boxes.append(Box(x - 80 * scale, x + 20 * scale, y - length, y))
        else:
            boxes.append(Box(x, x + length, y - 80 * scale, y + 22 * scale))
    return Box(
        min(box.left for box in boxes),
        max(box.right for box in boxes),
        min(box.top for box in boxes),
        max(box.bottom for box in boxes),
    )


def axis_of(drawing: str, axes: tuple[int, int]) -> str | None:
    """The id of the second axis, whose labels stand at the left."""
    at, end = axes
    names = [
        name for name, *_ in children(drawing[:end], drawing.index(">", at) + 1) if AXIS.match(name)
    ]
    return names[-1] if names else None


def has_words(drawing: str, axes: tuple[int, int]) -> bool:
    """Whether the axis at the left has labels."""
    at, end = axes
    axis = ""
    for name, begin, stop in children(drawing[:end], drawing.index(">", at) + 1):
        if AXIS.match(name):
            axis = drawing[begin:stop]
    return "text_" in axis


def setup(app: Sphinx) -> dict:
    app.connect("doctree-resolved", arrange, priority=590)  # once captions stand with their figures
    return {"parallel_read_safe": True, "parallel_write_safe": True}
