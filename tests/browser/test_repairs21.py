"""Ways through a long page on a phone, the filter of results, two models in the explainer."""

import pytest
from playwright.sync_api import expect

from tools.chromium import PHONE

CHAPTER = "notebooks/06_graphormer.html"


@pytest.fixture
def phone(page):
    page.set_viewport_size(PHONE)
    return page


def test_a_phone_leads_on_and_back_and_offers_the_section_that_was_left(phone, book):
    phone.goto(f"{book}/{CHAPTER}", wait_until="domcontentloaded")
    phone.evaluate("window.bookReady")
    assert phone.locator(".left-off").count() == 0  # nothing is remembered yet
    phone.locator("#edges-along-the-shortest-path").evaluate("part => part.scrollIntoView()")
    bar = phone.locator("nav.where")
    title, back = bar.locator(".section"), bar.locator(".back")
    expect(title).to_contain_text("6.4 Edges along the shortest path")
    expect(back).to_be_hidden()
    bar.get_by_role("button", name="Next section").click()
    expect(title).to_contain_text("6.5")
    before = phone.evaluate("scrollY")
    title.click()
    contents = phone.locator("dialog#pst-secondary-sidebar-modal")
    contents.locator("a", has_text="6.8 Where a bias is blind").click()
    expect(contents).to_be_hidden()
    expect(title).to_contain_text("6.8")
    expect(back).to_have_accessible_name(
        "Back to where you were: 6.5 [VNode], the layer, the model"
    )
    back.click()
    expect(title).to_contain_text("6.5")
    assert phone.evaluate("scrollY") == pytest.approx(before, abs=2)
    expect(back).to_be_hidden()
    phone.locator("label.core-only input").check()  # which folds 6.4
    phone.locator("#distance-as-an-attention-bias").evaluate("part => part.scrollIntoView()")
    following = bar.get_by_role("button", name="Next section")
    expect(following).to_have_accessible_name("Next section: 6.5 [VNode], the layer, the model")
    following.click()
    phone.locator("label.core-only input").uncheck()
    phone.goto(f"{book}/{CHAPTER}?again", wait_until="domcontentloaded")
    phone.locator(".left-off a", has_text="6.5").click()
    expect(title).to_contain_text("6.5")
    assert phone.locator(".left-off").count() == 0


def test_the_filter_of_results_looks_for_a_model_in_names_first(page, book):
    page.goto(f"{book}/book/results/published.html", wait_until="domcontentloaded")
    page.evaluate("window.bookReady")
    field, count = page.get_by_label("Filter rows"), page.locator(".filter output")
    rows = page.locator("section:has(> .filter) tbody tr:visible")
    field.fill("graphormer")
    names = rows.locator("td:first-child").all_inner_texts()
    assert names
    assert [name for name in names if "graphormer" not in name.lower()] == []
    expect(count).to_have_text(f"{len(names)} of 238 rows")
    page.get_by_role("button", name="with this in another column").click()
    assert rows.count() > len(names)
    field.fill("zzz")
    expect(count).to_contain_text("No row has all of this")


def test_in_a_panel_of_two_models_the_model_is_changed_and_the_other_closed(phone, book, errors):
    phone.goto(f"{book}/book/explainer.html#model=graphormer&molecule=diazepam&beside=egt")
    host = phone.locator("#explainer")
    second = host.get_by_label("the second model", exact=True)
    second.wait_for()
    top = second.bounding_box()["y"]
    second.select_option(label="CSA")
    expect(host.locator(".panel h2").last).to_contain_text("CSA predicts")
    assert second.bounding_box()["y"] == pytest.approx(top, abs=1)
    channel = host.get_by_label("channel of the second model")
    cut_off = """menu => {
      const whole = menu.cloneNode(true);
      whole.style.flex = "none";
      menu.after(whole);
      const width = whole.getBoundingClientRect().width;
      whole.remove();
      return width - menu.getBoundingClientRect().width;
    }"""
    assert channel.evaluate(cut_off) <= 0
    host.get_by_label("the first model", exact=True).select_option(label="GRPE")
    expect(host.locator(".panel h2").first).to_contain_text("GRPE predicts")
    host.get_by_role("button", name="show one model alone").click()
    expect(host.locator(".panel")).to_have_count(0)
    closest = """smiles => {
      const { places } = gtcourse.smiles.read(smiles);
      return Math.min(...places.flatMap(([x, y], i) =>
        places.slice(0, i).map(([u, v]) => Math.hypot(x - u, y - v))));
    }"""
    ester = f"{'C' * 20}(=O)O{'C' * 22}"  # its folds are narrow
    assert phone.evaluate(closest, ester) > 0.8
