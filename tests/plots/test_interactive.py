"""What interactive pictures hold; what they do is tested in ``browser/test_widgets.py``."""

import json
import re

import numpy as np
import pytest
import torch

from gtcourse import plots
from gtcourse.models import Transformer, TransformerConfig
from gtcourse.plots.interactive import with_unit
from gtcourse.training.costs import StepFormula

SMALL = StepFormula(4000, 4000, 8000, (10.0, 20.0, 30.0), ((100.0, 10.0, 1.0),))


def calculator(name="small", **options):
    return plots.calculator({name: SMALL}, **options).data


def attention(names=("one", "two")):
    keys = [[2, 0], [0, 1]]
    return plots.attention_widget(keys, keys, [2**0.5, 0], names=names).data


def heads(label="SMILES", **options):
    config = TransformerConfig(5, 5, 8, 2, 8, 1, 1, **options)
    words = ["", "begin", "end", "C", "O"]
    return plots.heads_widget(Transformer(config), words, pattern=".", label=label, start="CO").data


def signs(label="logP", answers=(1.0, 2.0, 3.0, 4.0)):
    path, places = np.eye(3, k=1) + np.eye(3, k=-1), [[0, 0], [1, 0], [2, 0]]
    vectors = [[1, 1], [0, -2], [-1, 1]]
    return plots.signs_widget(
        path, places, vectors, {label: answers}, numbers=(2, 3), label=label
    ).data


WIDGETS = (attention, heads, signs)


def data_of(html):
    """What the script is called with."""
    return json.loads(re.search(r"\((\{\"ink\".*\})\);</script>$", html, re.S)[1])


@pytest.mark.parametrize("page", [calculator, *WIDGETS])
def test_nothing_is_loaded_and_the_same_data_give_the_same_bytes(page):
    torch.manual_seed(0)
    html = page()
    torch.manual_seed(0)
    assert html == page()
    script = html[html.index("<script>") + 8 : html.index('({"ink"')]
    assert not re.search(r"fetch|import|require|XMLHttp|src=|url\(|https?:", script)
    names = set(re.findall(r"^(?:var|let|const|function) (\w+)", script, re.M))
    assert names <= {"gtcourse"}


def test_words_are_text_and_not_markup():
    mean = '</script><!--<script><b>"&\u2028'
    for html in (
        calculator(mean),
        attention(names=(mean, "two")),
        heads(mean),
        signs(mean),
    ):
        still, script = html.split("<script>", 1)
        assert script.count("</script>") == 1
        assert "<!--" not in script
        assert "<b>" not in still
        assert mean in json.dumps(data_of(html), ensure_ascii=False).replace('\\"', '"')


def test_without_scripts_there_is_a_table():
    table = calculator(graphs=2, nodes=10).split("<script>")[0]
    # 16,000 of the model, and 2 (100 + 10 * 10 + 100) held; 2 (10 + 200 + 3000) multiplied.
    for text in ("small", "1,000", "16.2 KiB", "6.42 kFLOP"):
        assert f">{text}<" in table


def test_without_scripts_a_widget_shows_its_start():
    still = {page: page().split("<script>")[0] for page in WIDGETS}
    # Logits 2 and 0: weights 0.88 and 0.12 of the keys (2, 0) and (0, 1).
    assert "gives (1.76, 0.12). With scripts, it moves." in still[attention]
    assert "With scripts, the model runs here on what you type (SMILES)." in still[heads]
    assert re.findall(r">(\d\.\d+)<", still[signs]) == ["1.000", "1.000", "4.000"]
    assert "With scripts, the sign of each eigenvector can be chosen here." in still[signs]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "B", "0 B"),
        (999, "B", "999 B"),
        (1000, "B", "0.98 KiB"),
        (1536, "B", "1.50 KiB"),
        (9.996 * 2**20, "B", "10.0 MiB"),
        (2.3e9, "FLOP", "2.30 GFLOP"),
        (1e21, "FLOP", "1000 EFLOP"),
    ],
)
def test_a_number_has_three_digits_and_a_prefix(value, unit, text):
    assert with_unit(value, unit) == text
