"""The widgets of the chapters react to keys, clicks and typing, and say where an input is wrong."""

import re

import pytest
import torch
from playwright.sync_api import expect

from gtcourse.course import plots
from gtcourse.course.costs import StepFormula
from gtcourse.course.plots.interactive import eight_bits, with_unit
from gtcourse.models import Transformer, TransformerConfig
from tests.browser.visit import COME_NEAR

WORDS = ["", "begin", "end", "C", "O", "(", ")"]


@pytest.fixture
def shown(page, errors):
    """Shows a widget alone on a page."""

    def show(widget):
        page.set_content(f"<!doctype html><html lang=en><title>widget</title>{widget.data}")
        return page

    return show


def test_weights_follow_the_query_and_the_divisor_when_changed_by_keyboard(shown):
    keys = torch.tensor([[2.0, 0], [1, 1.5], [-2, -0.5]])
    query = torch.tensor([1.5, 1])
    page = shown(plots.attention_widget(keys, keys, query))
    handle = page.locator(".handle")
    divisor = page.locator("input")
    handle.press("ArrowRight")  # a twentieth of the axis, which ends at 3
    handle.press("ArrowDown")
    for _ in range(4):
        divisor.press("ArrowRight")  # four steps double it
    weights = (keys @ torch.tensor([1.65, 0.85]) / 8**0.5).softmax(0)
    cells = page.locator(".rows .number").all_inner_texts()
    assert [float(text) for text in cells[7::4]] == pytest.approx(weights.tolist(), abs=0.006)
    assert "(1.65, 0.85)" in page.locator("[role=status]").inner_text()


def test_the_heads_equal_pytorchs_with_rounded_weights(shown):
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(7, 7, 16, 4, 32, 2, 2, dropout=0.0)).eval()
    rounded = {}
    for name, weight in model.state_dict().items():
        scale, numbers = eight_bits(weight.numpy())
        rounded[name] = torch.from_numpy(scale * numbers)
    model.load_state_dict(rounded)
    page = shown(
        plots.heads_widget(model, WORDS, pattern=".", label="text", start="C(O)C", longest=6)
    )
    source = torch.tensor([[3, 5, 4, 6, 3, 2]])
    target = torch.tensor([[1]])
    while target.shape[1] <= 6 and target[0, -1] != 2:
        target = torch.cat([target, model(source, target)[:, -1:].argmax(-1)], dim=1)
    _, weights = model(source, target[:, :-1], return_attention=True)
    written = page.locator(".tokens label")
    assert written.all_inner_texts() == [WORDS[word] for word in target[0, 1:]]
    for row in range(len(written.all())):
        titles = page.locator(".word").evaluate_all("words => words.map((word) => +word.title)")
        expected = weights[0, -1, :, row].flatten().tolist()
        assert titles == pytest.approx(expected, abs=6e-4)
        page.locator(":checked[name=word]").press("ArrowRight")
    field = page.get_by_label("text")
    field.fill("CXC")
    page.get_by_text("The model has never read “X”").wait_for()
    assert field.get_attribute("aria-invalid") == "true"
    field.fill("OO")
    page.locator("[aria-invalid=false]").wait_for()
    assert page.locator("select option").count() == 6


def test_each_choice_of_signs_shows_its_prediction(shown):
    vectors = torch.tensor([[1.0, 1], [0, -2], [-1, 1]])
    path = torch.tensor([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    answers = {"plain": [1.0, 2.0, 3.0, 4.0], "SignNet": [2.5] * 4}
    places = [[0, 0], [1, 0], [2, 0]]
    options = {"numbers": (2, 3), "label": "logP", "exact": 5.0}
    page = shown(plots.signs_widget(path, places, vectors, answers, **options))
    assert "right answer, 5.000" in page.locator("[role=status]").inner_text()
    assert page.locator(".track u").first.get_attribute("style") == "left:100%"
    second = page.locator("[data-sign]").nth(1)
    for press, first in ((second, 2.0), (page.locator("[data-sign]").first, 4.0), (second, 3.0)):
        press.focus()
        page.keyboard.press("Enter")
        numbers = page.locator(".model .number").all_inner_texts()
        assert [float(number) for number in numbers] == [first, 2.5]
    page.get_by_text("all signs +").click()
    assert page.locator(".model .number").first.inner_text() == "1.000"


def test_the_calculator_evaluates_the_formulas(shown):
    formula = StepFormula(
        4 * 10**6, 4 * 10**6, 8 * 10**6, (0.0, 0.0, 1000.0), ((0.0, 1000.0, 4.0), (5000.0, 0, 64.0))
    )
    page = shown(plots.calculator({"one": formula, "other": formula}))
    page.locator("button[data-model='1']").click()
    for name, value in (("graphs", "100"), ("nodes", "200"), ("gigabytes", "0.25")):
        page.locator(f"input[name={name}]").fill(value)
    for name, text in (
        ("parameters", "3.81 MiB"),
        ("activations", with_unit(formula.held(100, 200), "B")),
        ("memory", with_unit(formula.memory(100, 200), "B")),
        ("matrix products", with_unit(formula.products(100, 200), "FLOP")),
    ):
        assert any(name in row and text in row for row in page.locator("tr").all_inner_texts())
    assert page.locator("th[scope=row]").count() == 6
    steps = page.locator("[data-of]").evaluate_all("all => all.map((one) => one.ariaValueText)")
    assert steps == ["100 graphs", "200 nodes", "0.25 GiB"]
    said = page.locator("[role=status]").inner_text()
    assert "100 graphs of 200 nodes do not fit into 0.25 GiB" in said
    page.locator("input[name=nodes]").fill("0")
    assert page.locator("#nodes-error").inner_text() != ""
    opacity = "results => getComputedStyle(results).opacity"
    assert page.locator(".results").evaluate(opacity) == "0.4"  # those of the last valid number
    page.get_by_role("button", name="Guess about larger graphs").click()
    page.get_by_role("button", name="about 3 times as much").click()
    assert page.locator("#nodes-error").inner_text() == ""
    assert page.locator(".results").evaluate(opacity) == "1"
    limits = re.search(r"Limits: 100 graphs of ([\d,]+) nodes, or ([\d,]+) of 200", said)
    wide, many = (int(number.replace(",", "")) for number in limits.groups())
    assert formula.memory(100, wide) <= 2**28 < formula.memory(100, wide + 1)
    assert formula.memory(many, 200) <= 2**28 < formula.memory(many + 1, 200)
    page.locator("input[name=nodes]").fill("1.5")
    assert "whole number from 1 to 100,000" in page.locator("#nodes-error").inner_text()
    page.locator("[data-of=nodes]").press("Home")
    assert page.locator("input[name=nodes]").input_value() == "1"


def test_in_dark_mode_the_sliders_and_the_marks_of_the_widgets_can_be_told_from_the_page(
    page, book
):
    page.emulate_media(color_scheme="dark")
    page.goto(f"{book}/notebooks/12_from_a_laptop_to_a_cluster.html")
    page.locator("[data-calculator]").evaluate(COME_NEAR)
    page.locator("[data-calculator] input[type=range]").first.wait_for()
    for slider in page.locator("[data-calculator] input[type=range]").all():
        expect(slider).to_have_css("accent-color", "rgb(122, 180, 238)")
    page.goto(f"{book}/notebooks/04_positional_encodings.html")
    page.locator("[data-signs]").evaluate(COME_NEAR)
    page.locator("[data-signs] .track i").first.wait_for(state="attached")
    colours = page.locator("[data-signs] .track i").evaluate_all(
        "all => [...new Set(all.map((mark) => getComputedStyle(mark).backgroundColor))]"
    )
    assert len(colours) == 3  # of three models
    for colour in colours:
        shares = [float(share) for share in re.findall(r"[\d.]+", colour)]
        assert contrast(shares, [18 / 255] * 3) > 4.5


def contrast(one: list[float], other: list[float]) -> float:
    """Of two colours, whose parts are from 0 to 1, as WCAG 2 defines it."""
    light, dark = sorted(map(luminance, (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: list[float]) -> float:
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def test_a_widget_says_what_to_do_and_covers_the_answer_of_its_guess(shown):
    vectors = torch.tensor([[1.0, 1], [0, -2], [-1, 1]])
    path = torch.tensor([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    answers = {"plain": [1.0, 2.0, 3.0, 4.0], "SignNet": [2.5] * 4}
    places = [[0, 0], [1, 0], [2, 0]]
    page = shown(plots.signs_widget(path, places, vectors, answers, numbers=(2, 3), label="logP"))
    assert page.get_by_text("Flip the signs.").is_visible()
    marks = page.locator(".track i")
    assert not any(mark.is_visible() for mark in marks.all())
    page.locator("[data-answer='1']").click()  # SignNet, which no flip changes
    assert "Not quite: plain." in page.locator(".ask").inner_text()
    assert all(mark.is_visible() for mark in marks.all())
    assert page.locator(".model .number").first.inner_text() == "4.000"  # farthest from the first


def test_the_weights_become_more_equal_after_the_guess_about_the_divisor(shown):
    keys = torch.tensor([[2.0, 0], [1, 1.5], [-2, -0.5]])
    query = torch.tensor([1.5, 1])
    page = shown(plots.attention_widget(keys, keys, query))
    page.locator("[data-answer='0']").click()
    assert page.locator(".ask").inner_text().startswith("Right.")
    weights = (keys @ query / (4 * 2**0.5)).softmax(0)
    cells = page.locator(".rows .number").all_inner_texts()
    assert [float(text) for text in cells[7::4]] == pytest.approx(weights.tolist(), abs=0.006)
