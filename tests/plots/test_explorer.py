"""The molecule explorer: what it holds, what it must not hold, and, in a browser, what it does."""

import base64
import json
import re
import subprocess

import numpy as np
import pytest
import torch

from gtcourse import plots
from gtcourse.plots.explorer import packed
from tools import chromium

SMILES = ["CCO", "c1ccccc1Br"]
ATOMS = [3, 7]
BROWSER = chromium.executable()


def attentions(seed=0, models=("first", "second"), heads=(2, 3)):
    generator = torch.Generator().manual_seed(seed)
    return {
        model: [torch.rand(2, H, n, n, generator=generator).softmax(dim=-1) for n in ATOMS]
        for model, H in zip(models, heads, strict=True)
    }


def page(**options):
    return plots.explorer(SMILES, attentions(), **options).data


def data_of(html):
    """What the script is called with."""
    text = html[html.index("</div><script>") :]
    return json.loads(re.search(r"\((\{\"ink\".*\})\);</script>$", text, re.S)[1])


def test_what_it_holds_is_the_attention_it_was_given():
    data = data_of(page(names=["ethanol", "bromobenzene"]))
    assert data["models"] == ["first", "second"]
    assert [m["name"] for m in data["molecules"]] == ["ethanol", "bromobenzene"]
    assert data["molecules"][0]["atoms"] == ["C", "C", "O"]
    for number, model in enumerate(data["models"]):
        for at, n in enumerate(ATOMS):
            given = attentions()[model][at].numpy()
            L, H, *texts = data["molecules"][at]["attention"][number]
            shares, largest = (
                np.frombuffer(base64.b64decode(text), dtype=kind)
                for text, kind in zip(texts, ("u1", "<u2"), strict=True)
            )
            got = shares.reshape(L, H, n, n) / 255 * largest.reshape(L, H, n, 1) / 65535
            assert np.abs(got - given).max() < 1 / 255 * given.max()
            # A 255th of the row's own largest, so that small rows are read as well as large ones.
            assert (np.abs(got - given) <= given.max(axis=-1, keepdims=True) / 500).all()


def test_rows_of_zeros_and_ones_are_kept():
    L, H, shares, largest = packed(np.stack([np.zeros((1, 2, 2)), np.eye(2)[None]]))
    assert (L, H) == (2, 1)
    assert [*base64.b64decode(shares)] == [0, 0, 0, 0, 255, 0, 0, 255]
    assert [*base64.b64decode(largest)] == [0, 0, 0, 0, 255, 255, 255, 255]


def test_nothing_is_loaded_and_no_name_is_global():
    html = page()
    assert not re.search(r"https?://(?!www\.w3\.org|xml\.rdkit\.org|www\.rdkit\.org)", html)
    assert "require" not in html
    assert " id=" not in html
    script = html[html.index("<script>") + 8 :]
    assert re.sub(r"//.*\n", "", script).lstrip().startswith("(function (data)")


def test_names_are_text_and_not_markup():
    mean = '</script><b>"&\u2028'
    html = plots.explorer(SMILES[:1], {mean: [torch.eye(3)[None, None]]}, names=[mean]).data
    assert html.count("</script>") == 1
    assert "<b>" not in html
    assert "\u2028" not in html[html.index("<script>") :]
    assert data_of(html)["models"] == [mean]
    assert data_of(html)["molecules"][0]["name"] == mean


def test_every_atom_can_be_chosen_and_has_a_name():
    drawing = data_of(page())["molecules"][1]["drawing"]
    assert re.findall(r"data-atom='(\d+)'", drawing) == [str(i) for i in range(7)]
    assert "aria-label='atom 6, Br'" in drawing
    assert drawing.count("class='disc'") == 7


def test_without_scripts_there_is_a_picture_with_words():
    still = page().split("<script>")[0]
    assert 'role="img" aria-label="CCO, 2 times' in still
    assert "first, layer 1, atom 0" in still


def test_the_same_attention_gives_the_same_bytes_and_other_attention_another_key():
    assert page() == page()
    other = plots.explorer(SMILES, attentions(seed=1)).data
    assert data_of(other)["key"] != data_of(page())["key"]


def test_what_does_not_fit_is_refused_in_a_sentence():
    one = torch.eye(3)[None, None]
    for given, words in (
        ([one, one], "2 arrays; expected one for each molecule"),
        ([one[0]], r"shape \[1, 3, 3\] for a molecule of 3 atoms"),
        ([torch.eye(4)[None, None]], r"expected \[L, H, 3, 3\]"),
        ([2 * one], "outside of 0 to 1"),
        ([one * float("nan")], "outside of 0 to 1"),
    ):
        with pytest.raises(ValueError, match=words):
            plots.explorer(["CCO"], {"model": given})


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_in_a_browser_an_atom_a_head_and_a_molecule_are_chosen(tmp_path):
    act = """<script>
      const say = (host) => host.shadowRoot.querySelector("p").textContent;
      const hosts = [...document.querySelectorAll("[data-explorer]")];
      const inside = hosts[0].shadowRoot;
      const pick = (name, value) => {
        const select = inside.querySelector(`select[name=${name}]`);
        select.value = value;
        select.dispatchEvent(new Event("change"));
      };
      pick("molecule", 1);
      pick("model", 1);
      pick("layer", 1);
      pick("head", 2);
      inside.querySelector(".atom[data-atom='6']").dispatchEvent(
        new MouseEvent("click", { bubbles: true }));
      document.body.dataset.first = say(hosts[0]);
      document.body.dataset.second = say(hosts[1]);
      pick("molecule", 0);  // where there is no atom 6
      document.body.dataset.after = say(hosts[0]);
    </script>"""
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{page()}{page()}{act}")
    dom = subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip
    said = {name: re.search(rf'data-{name}="([^"]*)"', dom)[1]
            for name in ("first", "second", "after")}  # fmt: skip
    row = attentions()["second"][1][1, 2, 6]
    most = int(row.argmax())
    assert said["first"].startswith(f"Atom 6 (Br) looks most at atom {most} (")
    assert f") {row.max():.2f}," in said["first"]
    row = attentions()["first"][0][0, 0, 0]
    for name in ("second", "after"):
        assert said[name].startswith("Atom ")
    assert said["second"].startswith(f"Atom 0 (C) looks most at atom {int(row.argmax())} (")
    assert said["after"].startswith("Atom 2 (O) looks most at atom ")
