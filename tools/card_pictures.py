"""The pictures on the chapters' cards: for each a function, whose docstring describes the picture.

They stand on a white page and on a near-black one, 220 to 340 pixels wide; so they have no
background, hardly any words, and colours of the figures' style.
"""

import itertools
import math

import networkx as nx
import torch
from matplotlib.colors import to_hex
from torch_geometric.data import Data

from gtcourse.encodings import AddLaplacianEigenvectors, AddShortestPaths
from gtcourse.graphs.statistics import recorded_statistics
from gtcourse.models import scaled_dot_product_attention
from gtcourse.plots import COLORS, TWO_SIDED
from gtcourse.plots.molecules import PALE

WIDTH, HEIGHT = 240, 120
GREY = "#787d85"  # of all greys the one that reads best on both pages
LETTERS = "#2b2118"
BLUE, ORANGE, GREEN, PINK, SKY, GOLD, RED = COLORS.values()


def line(start, end, color=GREY, width=2.0) -> str:
    (x, y), (to_x, to_y) = start, end
    return (
        f'<path d="M{x:.1f} {y:.1f}L{to_x:.1f} {to_y:.1f}" stroke="{color}" '
        f'stroke-width="{width:.1f}" stroke-linecap="round"/>'
    )


def arrow(start, end, color=GREY, width=2.0) -> str:
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    heads = (
        line(end, (end[0] - 7 * math.cos(angle + turn), end[1] - 7 * math.sin(angle + turn)),
             color, width)
        for turn in (-0.5, 0.5)
    )  # fmt: skip
    return line(start, end, color, width) + "".join(heads)


def dot(place, radius=8.0, fill=SKY, edge=GREY) -> str:
    x, y = place
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill}" stroke="{edge}"/>'


def box(x, y, width, height, fill="none", edge=GREY, corner=3) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="{corner}" '
        f'fill="{fill}" stroke="{edge}" stroke-width="1.5"/>'
    )


def word(place, text, color, size) -> str:
    x, y = place
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" stroke="none" font-size="{size}" '
        f'font-family="sans-serif" text-anchor="middle" dominant-baseline="central">{text}</text>'
    )


def around(n, center, radius, start=0.0) -> list[tuple[float, float]]:
    turns = [start + 2 * math.pi * i / n for i in range(n)]
    return [(center[0] + radius * math.cos(t), center[1] + radius * math.sin(t)) for t in turns]


def drawn(edges, places, fills, radius=8.0) -> str:
    lines = "".join(line(places[i], places[j]) for i, j in edges)
    return lines + "".join(
        dot(place, radius, fill) for place, fill in zip(places, fills, strict=True)
    )


def graph(edges, n) -> Data:
    both = torch.tensor([*edges, *((j, i) for i, j in edges)]).T
    return Data(x=torch.zeros(n, 1, dtype=torch.int64), edge_index=both)


def eigenvector(edges, n, number) -> list[float]:
    """Entries from -1 to 1 of the eigenvector with this number, from 1."""
    u = AddLaplacianEigenvectors(n)(graph(edges, n)).laplacian_eigenvectors[:, number - 1]
    # Rounded: the sign of what should be 0 is noise, and would choose a colour.
    return [round(entry, 4) + 0.0 for entry in (u / u.abs().max()).tolist()]


def signed(values) -> list[str]:
    return [to_hex(TWO_SIDED((value + 1) / 2)) for value in values]


def shaded(shares) -> list[str]:
    return [to_hex(PALE(share)) for share in shares]


def self_attention() -> str:
    """One word listens to two: to the first along a thick line, 0.88, to the second along a thin
    one, 0.12."""
    q, k = torch.tensor([[112.0]]), torch.tensor([[1.0], [96 / 112]])  # products 112 and 96
    weights = scaled_dot_product_attention(q, k, k, scale=1 / 8, return_attention=True)[1][0]
    ask, keys = (50, 60), [(182, 31), (182, 91)]
    parts = [dot(ask, 20, GOLD)]
    for key, weight in zip(keys, weights.tolist(), strict=True):
        parts = [line(ask, key, ORANGE, 2 + 14 * weight), *parts, dot(key, 27, SKY)]
        parts.append(word(key, f"{weight:.2f}", LETTERS, 18))
    return "".join(parts)


def transformer() -> str:
    """Two stacks of blocks: the left one reads, and each block of the right one hears what was
    read."""
    parts = []
    for level in range(3):
        y = 16 + 32 * level
        parts += [box(28, y, 64, 22, BLUE), box(148, y, 64, 22, ORANGE)]
        if level < 2:
            parts += [line((60, y + 22), (60, y + 32)), line((180, y + 22), (180, y + 32))]
        parts.append(arrow((92, 27), (146, y + 11)))
    parts.append(arrow((180, 16), (180, 3)))
    return "".join(parts)


def message_passing() -> str:
    """One graph twice. Left, a node hears its two neighbours; right, it hears all nodes."""
    edges = [(i, (i + 1) % 6) for i in range(6)]
    parts = []
    for center, heard in (((64, 60), (1, 5)), ((176, 60), range(1, 6))):
        places = around(6, center, 42, -math.pi / 2)
        parts += [line(places[i], places[j]) for i, j in edges]
        parts += [line(places[0], places[j], ORANGE, 5) for j in heard]
        fills = [GOLD if i == 0 else ORANGE if i in heard else SKY for i in range(6)]
        parts += [dot(place, 9, fill) for place, fill in zip(places, fills, strict=True)]
    return "".join(parts)


def positional_encodings() -> str:
    """A grid of nodes coloured by its second and by a late eigenvector: one changes slowly from
    side to side, the other from node to node."""
    numbers = [[4 * column + row for row in range(4)] for column in range(5)]
    edges = [(c[i], c[i + 1]) for c in numbers for i in range(3)]
    edges += [pair for a, b in itertools.pairwise(numbers) for pair in zip(a, b, strict=True)]
    parts = []
    for left, number in ((26, 2), (136, 20)):
        places = [(left + 20 * column, 24 + 24 * row) for column in range(5) for row in range(4)]
        parts.append(drawn(edges, places, signed(eigenvector(edges, 20, number)), 7.5))
    return "".join(parts)


def signnet() -> str:
    """A path of four nodes coloured by an eigenvector, and the same with exchanged colours; both
    lead to one answer."""
    edges = [(0, 1), (1, 2), (2, 3)]
    u = eigenvector(edges, 4, 2)
    parts = []
    for y, sign in ((32, 1), (88, -1)):
        places = [(24 + 32 * i, y) for i in range(4)]
        parts += [drawn(edges, places, signed([sign * entry for entry in u]), 11)]
        parts.append(arrow((140, y), (183, 60 + (y - 60) / 4)))
    return "".join([*parts, dot((205, 60), 17, PINK)])


def graphormer() -> str:
    """A graph of a ring and a tail; the farther a node is from the one that asks, the paler it
    is."""
    edges = [(i, (i + 1) % 6) for i in range(6)] + [(3, 6), (6, 7), (7, 8), (6, 9)]
    distance = AddShortestPaths()(graph(edges, 10)).distance[0]
    places = around(6, (62, 60), 40)[3:] + around(6, (62, 60), 40)[:3]
    places += [(142, 60), (172, 88), (212, 88), (172, 32)]
    return drawn(edges, places, shaded((1 - distance / distance.max()).tolist()), 11)


def egt() -> str:
    """Three nodes, all joined in pairs; on each pair stands a vector of three numbers."""
    places = [(28, 98), (120, 18), (212, 98)]
    pairs = list(itertools.combinations(range(3), 2))
    parts = [line(places[i], places[j]) for i, j in pairs]
    for (i, j), numbers in zip(pairs, ((26, 12, 20), (10, 24, 16), (18, 22, 8)), strict=True):
        x, y = ((a + b) / 2 for a, b in zip(places[i], places[j], strict=True))
        parts += [
            box(x - 16 + 11 * n, y + 8 - height, 10, height, color, corner=1)
            for n, (height, color) in enumerate(zip(numbers, (BLUE, ORANGE, GREEN), strict=True))
        ]
    return "".join([*parts, *(dot(place, 15) for place in places)])


def grpe() -> str:
    """Two joined nodes. From the edge between them three arrows lead to query, key and value."""
    left, right = (40, 30), (200, 30)
    parts = [line(left, right, RED, 5), dot(left, 15), dot(right, 15)]
    for x, name in ((60, "q"), (120, "k"), (180, "v")):
        parts += [arrow((120, 36), (x, 78), RED), box(x - 15, 81, 30, 30, GOLD)]
        parts.append(word((x, 95), name, LETTERS, 18))
    return "".join(parts)


def csa() -> str:
    """Two nodes joined by six lines of six colours and widths: one for each channel."""
    colors, widths = (BLUE, ORANGE, GREEN, PINK, GOLD, RED), (9, 2, 5, 12, 3, 7)
    parts = []
    for n, (color, width) in enumerate(zip(colors, widths, strict=True)):
        bend = 60 + 42 * (n - 2.5)
        parts.append(
            f'<path d="M38 60Q120 {bend:.1f} 202 60" stroke="{color}" stroke-width="{width}" '
            'fill="none"/>'
        )
    return "".join([*parts, dot((34, 60), 19), dot((206, 60), 19)])


def one_framework() -> str:
    """Frames within frames: each layer contains the one inside it."""
    parts = [
        box(8 + 22 * n, 6 + 13 * n, 224 - 44 * n, 108 - 26 * n, edge=color, corner=10).replace(
            'stroke-width="1.5"', 'stroke-width="4"'
        )
        for n, color in enumerate((ORANGE, PINK, GREEN, BLUE))
    ]
    return "".join([*parts, dot((105, 60), 8), line((113, 60), (127, 60)), dot((135, 60), 8)])


def what_attention_sees() -> str:
    """A lens over a molecule; under it one atom is bright and its neighbours less."""
    ring = around(6, (90, 62), 36, math.pi / 6)
    places = [*ring, (162, 24), (196, 46), (22, 24)]
    edges = [*((i, (i + 1) % 6) for i in range(6)), (5, 6), (6, 7), (3, 8)]
    G = nx.Graph(edges)
    far = [nx.shortest_path_length(G, 6, node) for node in range(9)]
    shades = shaded([math.exp(-0.7 * d) for d in far])
    lens = f'<circle cx="162" cy="40" r="34" stroke="{BLUE}" stroke-width="5" fill="none"/>'
    return drawn(edges, places, shades, 10) + lens + line((188, 66), (218, 104), BLUE, 9)


def laptop_to_cluster() -> str:
    """One machine, an arrow, and nine machines that are joined."""
    parts = [
        box(18, 38, 58, 38, SKY),
        box(10, 80, 74, 7, GREY),
        arrow((96, 62), (126, 62), width=3),
    ]
    spots = [(142 + 32 * column, 14 + 34 * row) for row in range(3) for column in range(3)]
    parts += [line((x + 11, y + 11), (187, 59)) for x, y in spots]
    return "".join([*parts, *(box(x, y, 23, 23, ORANGE) for x, y in spots)])


def data() -> str:
    """A molecule beside the histogram of ZINC's targets."""
    ring = around(6, (52, 62), 30, math.pi / 6)
    edges = [*((i, (i + 1) % 6) for i in range(6)), (5, 6)]
    fills = [SKY, SKY, SKY, GOLD, SKY, SKY, RED]
    counts = recorded_statistics()["statistics"]["target_histogram"]
    counts = [sum(counts[i : i + 2]) for i in range(0, len(counts) - 1, 2)][-10:]
    bars = [
        box(124 + 11 * n, 108 - 94 * count / max(counts), 10, 94 * count / max(counts), BLUE,
            corner=0)
        for n, count in enumerate(counts)
    ]  # fmt: skip
    return "".join(
        [drawn(edges, [*ring, (104, 26)], fills, 9), *bars, line((120, 109), (236, 109))]
    )


PICTURES = {
    "01": self_attention,
    "02": transformer,
    "03": message_passing,
    "04": positional_encodings,
    "05": signnet,
    "06": graphormer,
    "07": egt,
    "08": grpe,
    "09": csa,
    "10": one_framework,
    "11": what_attention_sees,
    "12": laptop_to_cluster,
    "data": data,
}
