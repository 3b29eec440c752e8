"""Interactive pictures: the calculator, a query with its keys, a model's heads, and signs.

Each is one self-contained piece of HTML, which works in the built book, in Colab's output frame and
offline. If scripts do not run, it shows a still picture or a table.

Shapes: B graphs of N nodes.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.colors import to_hex
from numpy.typing import ArrayLike
from scipy.special import softmax

from gtcourse.course.plots.figures import COLORS, PAGE_INK, TWO_SIDED, table

if TYPE_CHECKING:
    from gtcourse.course.costs import StepFormula
    from gtcourse.models import Transformer


def script(name: str) -> str:
    """A script of this folder, as text."""
    return (files("gtcourse.course.plots") / f"{name}.js").read_text(encoding="utf-8")


WIDGET = ("explainer/layers", "explainer/guess", "widget")  #: what every widget uses, in order
KINDS = ("attention", "calculator", "heads", "signs")  #: of widgets; the book knows them as well


def code(kind: str) -> str:
    """The script of a kind of widget, without its data."""
    return "".join(map(script, WIDGET)) + script(kind).strip()


def _html(kind: str, data: dict, still: str):
    """The HTML of a widget.

    Args:
        kind: The name of the script that draws it, ``kind``.js.
        data: The arguments of the script.
        still: The HTML that is shown without scripts.

    Raises:
        ValueError: The kind is none of ``KINDS``.
    """
    from IPython.display import HTML

    if kind not in KINDS:
        raise ValueError(f"{kind!r} is no kind of widget; expected one of {', '.join(KINDS)}.")
    data = {"ink": PAGE_INK, "mark": COLORS["blue"], **data}
    data["key"] = sha256(json.dumps(data).encode()).hexdigest()[:12]
    call = f"({as_script(data)});"
    return HTML(
        f'<div data-{kind}="{data["key"]}">{still}</div><script>{code(kind)}{call}</script>'
    )


def as_script(data: object) -> str:
    """JSON inside a script. Only what could end the script is escaped; drawings have many a <."""
    return json.dumps(data, separators=(",", ":")).replace("</", "<\\/").replace("<!", "\\u003c!")


def calculator(
    formulas: Mapping[str, StepFormula], *, graphs: int = 64, nodes: int = 32, gigabytes: float = 16
):
    """A calculator of the memory and arithmetic of a training step, for any B and N.

    Args:
        formulas: The costs of each model, by its name.
        graphs: The initial number of graphs B.
        nodes: The initial number of nodes N.
        gigabytes: The initial memory of the device.
    """
    data = {
        "other": COLORS["orange"],
        "start": {"graphs": graphs, "nodes": nodes, "gigabytes": gigabytes},
        "largest": {"graphs": 100_000, "nodes": 100_000},
        "models": [{"name": name, **asdict(costs)} for name, costs in formulas.items()],
    }
    rows = [
        [
            name,
            f"{costs.parameters // 4:,}",  # of 4 bytes each
            with_unit(costs.memory(graphs, nodes), "B"),
            with_unit(costs.products(graphs, nodes), "FLOP"),
        ]
        for name, costs in formulas.items()
    ]
    still = table(["model", "parameters", "memory", "matrix products"], rows)._repr_html_()
    words = (
        f"{graphs} graphs of {nodes} nodes, one training step. If JavaScript is on, you can choose "
        "the model, the number of graphs and nodes, and the memory here."
    )
    return _html("calculator", data, still + _paragraph(words))


def with_unit(value: float, unit: str) -> str:
    """Three digits and a prefix: of bytes by 1024, "1.50 MiB", of others by 1000, "2.30 G"."""
    step = 1000
    prefixes = ("", "k", "M", "G", "T", "P", "E")
    if unit == "B":
        step = 1024
        prefixes = ("", "Ki", "Mi", "Gi", "Ti", "Pi")
    power = 0
    while value >= 999.5 and power < len(prefixes) - 1:
        value /= step
        power += 1
    digits = 2
    if power == 0 or value >= 99.95:
        digits = 0
    elif value >= 9.995:
        digits = 1
    return f"{value:.{digits}f} {prefixes[power]}{unit}".strip()


def attention_widget(
    keys: ArrayLike, values: ArrayLike, query: ArrayLike, names: Sequence[str] | None = None
):
    """A query ``[2]`` that can be dragged among N keys in the plane, which have values and names.

    A slider changes what logits are divided by.
    """
    keys = np.asarray(keys, dtype=float)
    values = np.asarray(values, dtype=float)
    query = np.asarray(query, dtype=float)
    names = names or [chr(ord("A") + j) for j in range(len(keys))]
    reach = float(np.ceil(1.2 * np.abs([*keys, *values, query]).max()))  # of the axes
    logits = keys @ query / np.sqrt(2)
    weights = softmax(logits)
    rows = [[*row] for row in zip(names, logits.tolist(), weights.tolist(), strict=True)]
    x, y = weights @ values
    words = (
        f"The query {(*query.tolist(),)} gives the output z = ({x:.2f}, {y:.2f}). "
        "With scripts enabled, you can move the query."
    )
    still = table(["key", "logit", "weight"], rows)._repr_html_() + _paragraph(words)
    points = {"keys": keys.tolist(), "values": values.tolist(), "query": query.tolist()}
    data = {"other": COLORS["orange"], "names": list(names), "reach": reach, **points}
    return _html("attention", data, still)


def heads_widget(
    model: Transformer,
    words: Sequence[str],
    *,
    pattern: str,
    label: str,
    start: str,
    begin: int = 1,
    end: int = 2,
    longest: int = 40,
):
    """The attention of each head of an encoder-decoder, which runs in the page on typed text.

    The layers of the model have post-norm and ReLUs. The page has its weights in 8 bits.

    Args:
        model: The encoder-decoder.
        words: The vocabulary, in the order of the token numbers.
        pattern: A regular expression that finds one word in the typed text.
        label: The label of the text field.
        start: The initial text in the field.
        begin: The number of the token that begins a sequence.
        end: The number of the token that ends one; the words after it can be typed.
        longest: The largest number of words that can be typed.
    """
    config = model.config
    weights = {name: weight.cpu().numpy() for name, weight in model.state_dict().items()}
    scales, numbers = (
        b64encode(b"".join(part.tobytes() for part in parts)).decode()
        for parts in zip(*map(eight_bits, weights.values()), strict=True)
    )
    data = {
        "label": label,
        "words": list(words),
        "pattern": pattern,
        "start": start,
        "begin": begin,
        "end": end,
        "longest": longest,
        "heads": config.num_heads,
        "layers": [config.num_encoder_layers, config.num_decoder_layers],
        "shapes": {name: list(weight.shape) for name, weight in weights.items()},
        "scales": scales,
        "numbers": numbers,
    }
    words = "With scripts enabled, you can type a text here, and the model runs on it."
    return _html("heads", data, _paragraph(words))


def eight_bits(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A scale for each row, and the row divided by its scale and rounded, from -127 to 127."""
    scale = np.abs(weight).max(axis=-1, keepdims=True).clip(1e-12).astype("<f4") / np.float32(127)
    return scale, np.round(weight / scale).astype(np.int8)


def signs_widget(
    adjacency: ArrayLike,
    positions: ArrayLike,
    vectors: ArrayLike,
    answers: Mapping[str, ArrayLike],
    *,
    numbers: Sequence[int],
    label: str,
    colors: Mapping[str, str] | None = None,
    exact: float | None = None,
):
    """Buttons that flip the signs of a graph's eigenvectors, and what the models then predict.

    Args:
        adjacency: ``[N, N]``; positions: ``[N, 2]``, where the nodes are drawn.
        vectors: ``[N, k]``; numbers: of the k eigenvectors, as in u_2, u_3.
        answers: of each model, by name, ``[2^k]`` for every choice of signs, the first changing
            last: as ``itertools.product((1, -1), repeat=k)`` counts.
        label: of the axis of answers; colors: of the models.
        exact: the right answer, where it is known.
    """
    vectors = np.asarray(vectors, dtype=float)
    places = np.asarray(positions, dtype=float)
    by_model = {name: np.asarray(each, dtype=float).round(4) for name, each in answers.items()}
    edges = np.argwhere(np.triu(np.asarray(adjacency), 1))
    lengths = np.linalg.norm(places[edges[:, 0]] - places[edges[:, 1]], axis=1)
    scaled = vectors / np.abs(vectors).max(axis=0).clip(1e-12)
    colors = colors or dict(zip(answers, COLORS.values(), strict=False))
    radius = max(0.3 * np.median(lengths), np.ptp(places, axis=0).max() / 60)
    models = [
        {"name": name, "color": colors[name], "answers": each.tolist()}
        for name, each in by_model.items()
    ]
    data = {
        "shades": [*map(to_hex, TWO_SIDED([0.0, 0.5, 1.0]))],
        "label": label,
        "numbers": [*map(int, numbers)],
        "places": (places * [1, -1]).round(3).tolist(),
        "radius": round(float(radius), 3),
        "edges": edges.tolist(),
        "vectors": scaled.T.round(2).tolist(),
        "models": models,
        "exact": exact,
    }
    rows = [[name, each[0], each.min(), each.max()] for name, each in by_model.items()]
    if exact is not None:
        rows.append(["right answer", exact, None, None])
    still = table([label, "no sign flipped", "lowest", "highest"], rows)._repr_html_()
    words = "With scripts enabled, you can choose the sign of each eigenvector here."
    return _html("signs", data, still + _paragraph(words))


def _paragraph(words: str) -> str:
    return f'<p style="color:{PAGE_INK};text-align:center">{words}</p>'
