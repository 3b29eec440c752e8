"""The answers on the explainer's page are those of its record."""

import json
import re

import pytest

from book._ext import explainer
from experiments.explainer_answers import MOLECULES
from gtcourse.course import explorer
from gtcourse.predict import load
from tools.paths import ROOT

SPELLED = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
COUNT = len(MOLECULES)
RECORD = ROOT / "experiments/records/explainer-answers.json"


@pytest.fixture(scope="module")
def found():
    return json.loads(RECORD.read_text(encoding="utf-8"))["answers"]


@pytest.fixture(scope="module")
def page():
    return (ROOT / "book/explainer.md").read_text(encoding="utf-8").replace("−", "-")


def test_the_predictions_after_a_change_of_graphormers_bias_are_recorded(page, found):
    bias = found["raised_bias"]
    assert (
        f"falls from {bias['aspirin']:.2f} to {bias['aspirin, 2 more']:.2f} if you add 2 to the "
        f"bias, and to {bias['aspirin, 3 more']:.2f} if you add 3"
    ) in page
    assert (
        f"falls for {bias['falls, 2 more']} of the {COUNT} molecules and rises for the other "
        f"{bias['rises, 2 more']}."
    ) in page


def test_the_changes_after_flips_of_egts_singular_vectors_are_recorded(page, found):
    flips = found["flipped_pairs"]
    low = flips["aspirin, smallest"]
    high = flips["aspirin, largest"]
    assert f"changes the prediction by {low:.2f} to {high:.2f}." in page
    assert f"{flips['mean']:.2f} on average and {flips['largest']:.2f} at most" in page


def test_the_prediction_without_grpes_value_term_is_recorded(page, found):
    value = found["without_value_term"]
    assert f"rises from {value['aspirin']:.2f} to {value['aspirin, without']:.2f}." in page


def test_the_errors_without_csas_own_channels_are_recorded(page, found):
    mean = found["mean_channels"]
    assert mean["its error"] < 0.1
    assert (
        f"grows for {mean['grows']} of the {COUNT} molecules. Averaged over all {COUNT}, it grows "
        f"from {mean['mean']:.2f} to {mean['mean, averaged']:.2f}. For {mean['grows most']} it "
        f"grows the most, from less than 0.1 to {mean['its error, averaged']:.2f}. For "
        f"{' and '.join(mean['falls'])} it becomes a little smaller."
    ) in page


def test_the_contributions_of_atoms_are_recorded(page, found):
    worth = found["contributions"]
    *others, last = (f"{value:.1f}" for value in worth["salbutamol"])
    assert f"hydroxyl groups contribute {', '.join(others)} and {last}." in page
    low, high = (
        float(number)
        for number in re.search(r"contribute between (\S+) and (\S+)\.", page).groups()
    )
    inside = [low <= round(value, 1) <= high for value in worth["capsaicin"]]
    assert sum(inside) > len(inside) / 2
    assert max(worth["capsaicin"]) > high - 0.05


def test_the_changes_after_a_cut_in_graphormer_are_recorded(page, found):
    cut = found["cut_weights"]
    median = f"The median of the changes is {cut['first layer, median']:.2f}, and the largest is "
    assert f"{median}{cut['first layer, largest']:.2f}." in page
    assert cut["last layer, largest"] == 0


def test_the_errors_of_egt_and_csa_are_recorded(page, found):
    both = found["two_models"]
    assert f"larger error for {both['egt larger']} of the {COUNT} molecules" in page
    others = SPELLED[len(both["csa larger"])]
    names = re.search(rf"for the other {others}: (.+?)\.", page)[1]
    assert sorted(names.replace(" and ", ", ").split(", ")) == sorted(both["csa larger"])
    assert f"mean errors are {both['egt']:.2f} for EGT and {both['csa']:.2f} for CSA" in page


def test_the_atoms_of_the_first_page_are_in_the_ring_that_it_outlines():
    ring = explainer.outlined_ring(explainer.MOLECULES[explainer.OPENS])
    assert len(ring) == 7


@pytest.fixture(scope="module")
def home():
    (molecule,) = explorer.molecules({explainer.OPENS: explainer.MOLECULES[explainer.OPENS]})
    return explainer.first_page(molecule)


def test_the_first_page_opens_with_a_row_that_has_one_clear_answer(home):
    rows = [sorted(model["attention"][home["opens"]], reverse=True) for model in home["models"]]
    assert min(row[0] for row in rows) > 0.7
    assert min(row[0] / row[1] for row in rows) > 2.5
    (first, *_) = rows
    assert first[0] > 0.95


def test_the_first_page_shows_each_models_most_peaked_head(home):
    """A loop over all heads; of Graphormer, no mean of a layer has such a row."""
    for name, model in zip(explainer.MODELS, home["models"], strict=True):
        smiles = [explainer.MOLECULES[explainer.OPENS]]
        _, (layers,) = load(name).predict(smiles, return_attention=True)
        found = {}
        for at, layer in enumerate(layers):
            for head, rows in enumerate(layer.tolist()):
                largest = [
                    max(x for to, x in enumerate(row) if to != i) for i, row in enumerate(rows)
                ]
                found[at + 1, head + 1] = sum(largest) / len(largest)
        assert max(found, key=found.get) == (model["layer"], model["head"])
        if name == explainer.MODELS[0]:
            assert max(layer.mean(dim=0).max().item() for layer in layers) < 0.3


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HOME_OPENS", 0),
        ("WHY", {"channel": 13, "atom": "C0", "to": "C13"}),
        ("WHY", {"channel": 13, "atom": "C4", "to": "N13"}),
    ],
)
def test_an_atom_of_the_first_page_outside_the_ring_raises(monkeypatch, name, value):
    monkeypatch.setattr(explainer, name, value)
    with pytest.raises(ValueError, match="expected it to contain atom"):
        explainer.outlined_ring(explainer.MOLECULES[explainer.OPENS])
