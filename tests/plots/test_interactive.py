"""Pictures to look around in: what they hold and, in a browser, what they do."""

import json
import re
import subprocess

import numpy as np
import pytest
import torch

from gtcourse import plots
from gtcourse.models import Transformer, TransformerConfig
from gtcourse.plots.interactive import eight_bits, with_unit
from gtcourse.training.costs import StepFormula
from tools import chromium

BROWSER = chromium.executable()
in_a_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")

LARGE = StepFormula(
    4 * 10**6, 4 * 10**6, 8 * 10**6, (0.0, 0.0, 1000.0), ((0.0, 1000.0, 4.0), (5000.0, 0.0, 64.0))
)
FORMULAS = {
    "small": StepFormula(4000, 4000, 8000, (10.0, 20.0, 30.0), ((100.0, 10.0, 1.0),)),
    "large": LARGE,
}


def calculator(**options):
    return plots.calculator(FORMULAS, **options).data


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
        plots.calculator({mean: LARGE}).data,
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
    for text in ("small", "1,000", "16.2 KiB", "6.42 kFLOP", "large", "1,000,000"):
        assert f">{text}<" in table


def test_without_scripts_a_widget_shows_its_start():
    still = {page: page().split("<script>")[0] for page in WIDGETS}
    # Logits 2 and 0: weights 0.88 and 0.12 of the keys (2, 0) and (0, 1).
    assert "gives (1.76, 0.12). With scripts, it moves." in still[attention]
    assert "With scripts, the model runs here on what you type (SMILES)." in still[heads]
    assert re.findall(r">(\d\.\d+)<", still[signs]) == ["1.000", "1.000", "4.000"]
    assert "With scripts, the sign of each eigenvector can be chosen here." in still[signs]


def test_a_row_in_eight_bits_is_off_by_half_a_step_at_most():
    weight = np.random.default_rng(0).normal(size=(5, 64)).astype("f4")
    scale, numbers = eight_bits(weight)
    assert numbers.dtype == np.int8
    assert (
        abs(scale * numbers - weight) <= 0.501 * abs(weight).max(axis=1, keepdims=True) / 127
    ).all()


def test_a_widget_names_what_it_cannot_show():
    with pytest.raises(ValueError, match="norm_first=True"):
        heads(norm_first=True)
    with pytest.raises(ValueError, match="3 answers of logP; expected 4"):
        signs(answers=(1, 2, 3))


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


def seen_in_browser(tmp_path, pages, script, *flags):
    """What the script notes in the body's data, the pages being in shadow roots ``a`` and ``b``."""
    path = tmp_path / "page.html"
    path.write_text(
        f"<!doctype html><meta charset=utf-8><body>{pages}<script>const note = "
        "document.body.dataset; const [a, b] = [...document.body.children].filter((host) => "
        f"host.shadowRoot).map((host) => host.shadowRoot);{script}</script>"
    )
    dom = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000",
         *flags, "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    return dict(re.findall(r'data-(\w+)="([^"]*)"', re.search(r"<body[^>]*>", dom)[0]))


@in_a_browser
def test_the_calculator_calculates_what_the_formulas_do(tmp_path):
    said = seen_in_browser(tmp_path, calculator(), """
      const type = (name, value) => {
        const input = a.querySelector(`input[name=${name}]`);
        input.value = value;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      };
      a.querySelector("button[data-model='1']").click();
      [["graphs", 100], ["nodes", 200], ["gigabytes", 0.25]].forEach(([n, v]) => type(n, v));
      note.rows = [...a.querySelectorAll("tr")].map((row) =>
        [...row.children].map((cell) => cell.textContent).join("|")).join(" / ");
      note.said = a.querySelector("p").textContent;
      type("nodes", "1.5");
      note.refused = a.querySelector("p").textContent;""")  # fmt: skip
    for text in (
        "parameters|1,000,000|3.81 MiB",
        f"activations||{with_unit(LARGE.held(100, 200), 'B')}",
        f"memory||{with_unit(LARGE.memory(100, 200), 'B')}",
        f"products||{with_unit(LARGE.products(100, 200), 'FLOP')}",
    ):
        assert text in said["rows"]
    assert "100 graphs of 200 nodes do not fit into 0.25 GiB" in said["said"]
    pattern = r"up to ([\d,]+) nodes each; of this size, ([\d,]+) at"
    wide, many = (int(n.replace(",", "")) for n in re.search(pattern, said["said"]).groups())
    assert LARGE.memory(100, wide) <= 2**28 < LARGE.memory(100, wide + 1)
    assert LARGE.memory(many, 200) <= 2**28 < LARGE.memory(many + 1, 200)
    assert "whole number from 1 to 100,000" in said["refused"]
