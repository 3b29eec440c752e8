"""The models that run in the explainer's page are those of the package, unchanged and changed."""

import copy

import pytest
import torch

from gtcourse.course import explorer
from gtcourse.course.plots.figures import MEANING
from gtcourse.encodings import encode
from gtcourse.graphs import collate
from gtcourse.interpret import leave_one_out
from gtcourse.predict import load

SMILES = ["CC(=O)Oc1ccccc1C(=O)O", "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc12", "C", "CCO"]
MODELS = [f"{name}-100k/molecules" for name in ("graphormer", "egt", "grpe", "csa")]
MODELS += ["egt-100k-spe-do/zinc", "grpe-small/zinc", "csa/zinc", "csa-rings/zinc"]
RUN = """([model, molecule, changes]) => {
  for (const name of ["removed", "closed", "flips", "off"]) {
    if (name in changes) changes[name] = new Set(changes[name]);
  }
  const found = gtcourse.models.run(model, molecule, changes);
  return [found.prediction, found.first, found.layers.map((layer) => [...layer.attention])];
}"""


@pytest.fixture(scope="module")
def computed(browser):
    """Prediction, tokens before the atoms and attention of a model in the browser."""
    page = browser.new_page()
    page.set_content(f"<script>{explorer.code()[0]}</script>")
    yield lambda *given: page.evaluate(RUN, list(given))
    page.close()


@pytest.mark.parametrize("name", MODELS)
def test_predictions_and_attention_are_those_of_pytorch(computed, name):
    predictor = load(name)
    model = explorer.model(predictor)
    values, attentions = predictor.predict(SMILES, return_attention=True)
    drawn = explorer.molecules({text: text for text in SMILES})
    for molecule, value, attention in zip(drawn, values, attentions, strict=True):
        prediction, first, layers = computed(model, molecule, {})
        tokens = len(molecule["x"]) + first
        maps = torch.tensor(layers, dtype=torch.float32).reshape(len(layers), -1, tokens, tokens)
        assert prediction == pytest.approx(value.item(), abs=1e-4)
        torch.testing.assert_close(maps[..., first:, first:], attention, atol=1e-4, rtol=0)


def shift(model):
    model.bias.encodings[0].scalars.weight[3] += 1.5  # distance 2


def close(model):
    for layer, head in ((0, 1), (3, 7)):
        gates = model.layers[layer].attention.edge_input
        gates.weight[8 + head] = 0
        gates.bias[8 + head] = -100


def flip(model):
    weight = model.node_encodings[0].projection.weight
    weight[:, [2, 10]] *= -1  # pair 2 in U and in V


def switch_off(term):
    def change(model):
        for part in model.tables[term].parameters():
            part.zero_()

    return change


def per_head(model):
    for part in model.edge_maps[0].logits.parameters():
        heads = part.unflatten(0, (model.config.num_heads, -1))
        part.copy_(heads.mean(dim=1, keepdim=True).expand_as(heads).flatten(0, 1))


@pytest.mark.parametrize(
    ("name", "changes", "change"),
    [
        ("graphormer", {"shift": {"2": 1.5}}, shift),
        ("egt", {"closed": ["0,1", "3,7"]}, close),
        ("egt", {"flips": [2]}, flip),
        # Queries meet the table of the keys (Eq. 6), keys that of the queries (Eq. 7).
        ("grpe", {"off": ["query"]}, switch_off("key")),
        ("grpe", {"off": ["key"]}, switch_off("query")),
        ("grpe", {"off": ["value"]}, switch_off("value")),
        ("csa", {"perHead": True}, per_head),
    ],
)
def test_a_change_is_the_same_change_of_the_weights(computed, name, changes, change):
    predictor = copy.copy(load(f"{name}-100k/molecules"))
    model, before = explorer.model(predictor), predictor.predict(SMILES[:2])
    with torch.no_grad():
        change(predictor.model)
    for text, value, old in zip(SMILES, predictor.predict(SMILES[:2]), before, strict=False):
        prediction = computed(model, explorer.molecules({text: text})[0], changes)[0]
        assert prediction == pytest.approx(value.item(), abs=1e-4)
        assert abs(value - old) > 1e-3


@pytest.mark.parametrize("name", MODELS[:4])
def test_an_atom_that_is_removed_is_masked(computed, name):
    predictor = load(name)
    molecule = explorer.molecules({"": SMILES[0]})[0]
    batch = collate(encode([predictor.featurize(SMILES[0])], *predictor.transforms))
    with torch.inference_mode():
        expected = (predictor.model(batch) - leave_one_out(predictor.model, batch)[0, 5]).item()
    prediction = computed(explorer.model(predictor), molecule, {"removed": [5]})[0]
    assert prediction == pytest.approx(expected, abs=1e-4)


def test_the_page_has_the_colours_of_the_figures():
    view = explorer.code()[1]
    for name in ("node", "edge", "bias", "gate", "value"):
        assert f'{name}: "{MEANING[name]}"' in view


def test_the_page_goes_from_the_model_to_one_weight_and_back(page, book):
    errors = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(f"{book}/book/explainer.html")
    host = page.locator("#explainer")
    before = host.locator(".prediction b").inner_text()
    assert host.locator("[data-molecule]").count() >= 20
    host.locator("[data-layer]").nth(1).click()
    host.locator("[data-channel]").nth(2).click()
    matrix = host.locator(".matrix")
    matrix.focus()
    equation = host.locator(".equation").inner_text()
    page.keyboard.press("ArrowRight")
    assert host.locator(".equation").inner_text() != equation
    host.locator(".molecule .atom").nth(4).click()
    host.locator("[data-act=remove]").click()
    assert host.locator(".prediction b").inner_text() != before
    host.locator("[data-act=reset]").click()
    assert host.locator(".prediction b").inner_text() == before
    assert not errors


def test_the_tour_goes_by_key_through_three_models_and_undoes_its_changes(page, book):
    page.goto(f"{book}/book/explainer.html")
    tour = page.locator("#explainer .tour")
    tour.get_by_role("button").press("Enter")
    for words in ("penalised logP: 1.07", "from 1.07 to 0.59", "instead of 1.28", "4 of 4"):
        tour.get_by_text(words).wait_for()
        page.keyboard.press("Enter")
    tour.get_by_text("Take a tour").wait_for()
    assert "by your changes" not in page.locator("#explainer .prediction").inner_text()
