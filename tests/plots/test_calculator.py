"""The calculator: what it holds, what it must not hold, and, in a browser, what it calculates."""

import json
import re
import subprocess

import pytest

from gtcourse import plots
from gtcourse.plots.calculator import with_unit
from gtcourse.training.costs import StepFormula
from tools import chromium

BROWSER = chromium.executable()

FORMULAS = {
    "small": StepFormula(4000, 4000, 8000, (10.0, 20.0, 30.0), ((100.0, 10.0, 1.0),)),
    "large": StepFormula(
        4 * 10**6, 4 * 10**6, 8 * 10**6, (0.0, 0.0, 1000.0),
        ((0.0, 1000.0, 4.0), (5000.0, 0.0, 64.0)),
    ),
}  # fmt: skip


def page(formulas=FORMULAS, **options):
    return plots.calculator(formulas, **options).data


def data_of(html):
    """What the script is called with."""
    return json.loads(re.search(r"\((\{\"ink\".*\})\);</script>$", html, re.S)[1])


def test_what_it_holds_is_the_formulas_it_was_given():
    data = data_of(page(graphs=3, nodes=5, gigabytes=2))
    assert data["start"] == {"graphs": 3, "nodes": 5, "gigabytes": 2}
    assert [model["name"] for model in data["models"]] == ["small", "large"]
    assert data["models"][1]["activations"] == [[0, 1000, 4], [5000, 0, 64]]
    assert data["models"][0]["flops"] == [10, 20, 30]
    assert data["models"][0]["optimizer"] == 8000


def test_nothing_is_loaded_and_no_name_is_global():
    html = page()
    assert not re.search(r"https?://", html)
    assert "require" not in html
    assert " id=" not in html
    script = html[html.index("<script>") + 8 :]
    assert re.sub(r"//.*\n", "", script).lstrip().startswith("(function (data)")


def test_names_are_text_and_not_markup():
    mean = '</script><b>"&'
    html = page({mean: FORMULAS["small"]})
    assert html.count("</script>") == 1
    assert "<b>" not in html
    assert data_of(html)["models"][0]["name"] == mean


def test_without_scripts_there_is_a_table_of_all_models():
    still = page(graphs=2, nodes=10).split("<script>")[0]
    # 16,000 of the model, and 2 (100 + 10 * 10 + 100) held; 2 (10 + 200 + 3000) multiplied.
    for text in ("small", "1,000", "16.2 KiB", "6.42 kFLOP", "large", "1,000,000"):
        assert f">{text}<" in still
    assert "2 graphs of 10 nodes" in still


def test_the_same_formulas_give_the_same_bytes_and_others_another_key():
    assert page() == page()
    assert data_of(page())["key"] != data_of(page(nodes=33))["key"]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0, "B", "0 B"),
        (999, "B", "999 B"),
        (1000, "B", "0.98 KiB"),
        (1536, "B", "1.50 KiB"),
        (20 * 2**30, "B", "20.0 GiB"),
        (123 * 2**20, "B", "123 MiB"),
        (9.996 * 2**20, "B", "10.0 MiB"),
        (2.3e9, "FLOP", "2.30 GFLOP"),
        (1e21, "FLOP", "1000 EFLOP"),
    ],
)
def test_a_number_has_three_digits_and_a_prefix(value, unit, text):
    assert with_unit(value, unit) == text


def test_what_cannot_be_meant_is_refused_in_a_sentence():
    for options, words in (
        ({"graphs": 0}, "graphs is 0; expected 1 to"),
        ({"nodes": 10**6}, "nodes is 1000000; expected 1 to"),
        ({"gigabytes": 0}, "gigabytes is 0; expected more"),
    ):
        with pytest.raises(ValueError, match=words):
            page(**options)
    with pytest.raises(ValueError, match="no formulas"):
        page({})


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_in_a_browser_it_calculates_what_the_formulas_do(tmp_path):
    act = """<script>
      const hosts = [...document.querySelectorAll("[data-calculator]")];
      const inside = hosts[0].shadowRoot;
      const rows = (root) => [...root.querySelectorAll("tr")].map((row) =>
        [...row.children].map((cell) => cell.textContent).join("|")).join(" / ");
      const said = (root) => root.querySelector("p").textContent;
      const type = (name, value) => {
        const input = inside.querySelector(`input[name=${name}]`);
        input.value = value;
        input.dispatchEvent(new Event("input", { bubbles: true }));
      };
      inside.querySelector("button[data-model='1']").click();
      type("graphs", 100);
      type("nodes", 200);
      type("gigabytes", 0.25);
      document.body.dataset.rows = rows(inside);
      document.body.dataset.said = said(inside);
      type("gigabytes", 1e-6);
      document.body.dataset.none = said(inside);
      type("nodes", "1.5");
      document.body.dataset.refused = said(inside);
      document.body.dataset.second = rows(hosts[1].shadowRoot);
      document.body.dataset.bars = inside.querySelectorAll(".over").length;
    </script>"""
    path = tmp_path / "page.html"
    two = page(graphs=2, nodes=10)
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{two}{two}{act}")
    dom = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    found = {name: re.search(rf'data-{name}="([^"]*)"', dom)[1]
             for name in ("rows", "said", "none", "refused", "second", "bars")}  # fmt: skip
    large = FORMULAS["large"]
    for text in (
        "parameters|1,000,000|3.81 MiB",
        f"activations||{with_unit(large.held(100, 200), 'B')}",
        f"memory||{with_unit(large.memory(100, 200), 'B')}",
        f"products||{with_unit(large.products(100, 200), 'FLOP')}",
    ):
        assert text in found["rows"]
    assert "100 graphs of 200 nodes do not fit into 0.25 GiB" in found["said"]
    pattern = r"up to ([\d,]+) nodes each; of this size, ([\d,]+) at"
    wide, many = (int(n.replace(",", "")) for n in re.search(pattern, found["said"]).groups())
    limit = 2**28
    assert large.memory(100, wide) <= limit < large.memory(100, wide + 1)
    assert large.memory(many, 200) <= limit < large.memory(many + 1, 200)
    assert "As many would fit at no size; of this size, not a single one." in found["none"]
    assert "whole number from 1 to 100,000" in found["refused"]
    assert "memory||16.2 KiB" in found["second"]
    assert found["bars"] == "2"
