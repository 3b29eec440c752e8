"""What interactive pictures hold; what they do is tested in ``browser/test_widgets.py``."""

import json
import re

import numpy as np
import pytest
import torch

from gtcourse.course import plots
from gtcourse.course.costs import StepFormula
from gtcourse.course.plots.interactive import with_unit
from gtcourse.models import Transformer, TransformerConfig

COSTS = StepFormula(4000, 4000, 8000, (10.0, 20.0, 30.0), ((100.0, 10.0, 1.0),))
MARKUP = '</script><!--<script><b>"&\u2028'


def calculator(name):
    return plots.calculator({name: COSTS}, graphs=2, nodes=10)


def attention(name):
    keys = [[2, 0], [0, 1]]
    return plots.attention_widget(keys, keys, [2**0.5, 0], names=(name, "two"))


def heads(label):
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(5, 5, 8, 2, 8, 1, 1))
    words = ["", "begin", "end", "C", "O"]
    return plots.heads_widget(model, words, pattern=".", label=label, start="CO")


def signs(label):
    path = np.eye(3, k=1) + np.eye(3, k=-1)
    places = [[0, 0], [1, 0], [2, 0]]
    answers = {label: (1.0, 2.0, 3.0, 4.0)}
    vectors = [[1, 1], [0, -2], [-1, 1]]
    return plots.signs_widget(path, places, vectors, answers, numbers=(2, 3), label=label)


WIDGETS = pytest.mark.parametrize("widget", [calculator, attention, heads, signs])


@WIDGETS
def test_widgets_load_nothing_and_are_deterministic(widget):
    html = widget("name").data
    assert html == widget("name").data
    script = html[html.index("<script>") + 8 : html.index('({"ink"')]
    assert not re.search(r"fetch|import|require|XMLHttp|src=|url\(|https?:", script)
    names = set(re.findall(r"^(?:var|let|const|function) (\w+)", script, re.M))
    assert names <= {"gtcourse"}


@WIDGETS
def test_markup_in_names_is_escaped(widget):
    html = widget(MARKUP).data
    still, script = html.split("<script>", 1)
    assert script.count("</script>") == 1
    assert "<!--" not in script
    assert "<b>" not in still
    data = json.loads(re.search(r"\((\{\"ink\".*\})\);</script>$", html, re.S)[1])
    assert MARKUP in json.dumps(data, ensure_ascii=False).replace('\\"', '"')


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
def test_numbers_have_three_digits_and_a_unit_prefix(value, unit, text):
    assert with_unit(value, unit) == text
