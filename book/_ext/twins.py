"""The wall of twins: below the table of what encodings tell apart, its pairs and others drawn.

The complete table is ``experiments.encoding_table``; here each node of its graphs gets a colour
for each encoding, the same for the same encoding in both graphs. ``_static/twins.js`` draws them.
Without scripts there is a still picture.
"""

import json
import sys
from pathlib import Path

import networkx as nx
import numpy as np
from docutils import nodes
from pictures import HOME, still, with_caption
from sphinx.util import logging

PAGE = "notebooks/04_positional_encodings"
TABLE = "table-4-1"
ALT = (
    "Ten comparisons, six of them from Table 4.1, with nodes coloured by degree. Degrees tell two "
    "of them apart."
)
INVITATION = "With scripts enabled, you can choose another encoding here."
SHOWN = (
    "The picture shows the ten comparisons with nodes coloured by degree. Rings mark the nodes "
    "that are compared."
)
STILL = still("twins", ALT, INVITATION, SHOWN)
PLACE = f'<div id="twins" data-script="../_static/twins/wall.js">{STILL}</div>'
logger = logging.getLogger(__name__)

CIRCULAR = ("CSL", "rook", "ring of 6", "3 steps")


def embed(app, document: nodes.document, page: str) -> None:
    if page != PAGE or app.builder.format != "html":
        return
    for figure in document.findall(nodes.figure):
        if TABLE in figure["ids"]:
            cell = figure.parent  # the folded code of the table comes after it
            cell.parent.insert(cell.parent.index(cell) + 1, with_caption("twins", PLACE))
            return
    logger.warning("there is no %s to put the wall of twins below", TABLE, location=PAGE)


def write(app, error) -> None:
    if error is not None or app.builder.format != "html":
        return
    folder = Path(app.outdir, "_static", "twins")
    folder.mkdir(parents=True, exist_ok=True)
    text = script(Path(app.srcdir), wall(str(app.srcdir)))
    (folder / "wall.js").write_text(text, encoding="utf-8")


def script(root: Path, data: dict) -> str:
    """The question to guess, the drawing and what it draws."""
    from gtcourse.course import explorer

    code = Path(root, "book/_static/twins.js").read_text(encoding="utf-8").strip()
    shown = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return f"{HOME}{explorer.script('explainer/guess')}{code}({shown});"


def wall(root: str) -> dict:
    """The pairs with their drawings, and for each encoding a verdict and the colours of nodes."""
    sys.path.insert(0, root)
    from experiments import encoding_table

    told = {row["pair"]: row for row in encoding_table.table()["rows"]}
    pairs = []
    for name, compared in encoding_table.examples().items():
        encoded = [encoding_table.encoded(graph) for graph, *_ in compared]
        colors = {
            column: shared(encoding[1], encoded)
            for column, encoding in encoding_table.COLUMNS.items()
            if 1 in encoding and told[name]["cells"][column] is not None
        }
        pairs.append(
            {
                "name": name,
                "kind": told[name]["kind"],
                "told": told[name]["cells"],
                "colors": colors,
                "graphs": [drawn(graph, chosen, name) for graph, *chosen in compared],
            }
        )
    return {"encodings": [*encoding_table.COLUMNS], "pairs": pairs}


def shared(code, encoded: list) -> list[list[int]]:
    """For each graph a number for each node: equal numbers for equal codes, in both graphs."""
    codes = [[code(data, node) for node in range(data.num_nodes)] for data in encoded]
    numbers = {}
    for each in sorted({*codes[0], *codes[1]}, key=repr):
        numbers[each] = len(numbers)
    return [[numbers[each] for each in graph] for graph in codes]


def drawn(graph: nx.Graph, chosen: list[int], name: str) -> dict:
    """Places from -1 to 1, edges, and the nodes that are compared."""
    parts = [graph.subgraph(part) for part in nx.connected_components(graph)]
    places = {}
    for number, part in enumerate(parts):
        for node, place in placed(part, name).items():
            places[node] = np.asarray(place) * (0.8 if len(parts) > 1 else 1) + [2.0 * number, 0]
    at = np.array([places[node] for node in range(len(graph))])
    at = at - (at.max(axis=0) + at.min(axis=0)) / 2
    at = at / np.abs(at).max()
    return {"places": at.round(2).tolist(), "edges": [*map(list, graph.edges)], "chosen": chosen}


def placed(part: nx.Graph, name: str) -> dict:
    """A connected graph as it is usually drawn: rings as polygons, and paths as lines."""
    around = name.startswith(CIRCULAR) and min(dict(part.degree).values()) > 1
    if around or nx.is_regular(part):
        return nx.circular_layout(part)
    if is_path(part):
        first, _ = sorted(node for node, degree in part.degree if degree == 1)
        steps = nx.single_source_shortest_path_length(part, first)
        return {node: (float(step), 0.0) for node, step in steps.items()}
    for edges, places in USUAL:
        if {frozenset(edge) for edge in part.edges} == {frozenset(edge) for edge in edges}:
            return dict(enumerate(places))
    return nx.kamada_kawai_layout(part)


def is_path(part: nx.Graph) -> bool:
    return nx.is_tree(part) and max(dict(part.degree).values()) <= 2


def polygon(sides: int, middle: float, first: float) -> list[tuple[float, float]]:
    """Corners of a regular polygon whose sides have length 1, from an angle in degrees on."""
    radius = 0.5 / np.sin(np.pi / sides)
    angles = np.deg2rad(first + 360 / sides * np.arange(sides))
    return [(middle + radius * np.cos(angle), radius * np.sin(angle)) for angle in angles]


def usual() -> list[tuple[list, list]]:
    """Edges and places of decalin, bicyclopentyl and the diamond."""
    right = polygon(6, np.sqrt(0.75), 150)  # from one end of the shared bond to the other
    left = polygon(6, -np.sqrt(0.75), 30)
    decalin = [right[0], *right[:0:-1], *left[-2:0:-1]]
    radius = 0.5 / np.sin(np.pi / 5)
    bicyclopentyl = [*polygon(5, -radius - 0.5, 0), *polygon(5, radius + 0.5, 180)]
    rings = [
        *nx.cycle_graph(5).edges,
        (0, 5),
        *((i + 5, j + 5) for i, j in nx.cycle_graph(5).edges),
    ]
    diamond = [(0.0, 0.6), (0.0, -0.6), (-1.0, 0.0), (1.0, 0.0)]
    return [
        ([*nx.cycle_graph(10).edges, (0, 5)], decalin),
        (rings, bicyclopentyl),
        ([(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)], diamond),
    ]


USUAL = usual()


def setup(app):
    app.connect("doctree-resolved", embed, priority=900)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
