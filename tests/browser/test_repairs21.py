"""Two models in the explainer."""

import pytest
from playwright.sync_api import expect

from tools.chromium import PHONE


@pytest.fixture
def phone(page):
    page.set_viewport_size(PHONE)
    return page


def test_in_a_panel_of_two_models_the_model_is_changed_and_the_other_closed(phone, book, errors):
    phone.goto(f"{book}/book/explainer.html#model=graphormer&molecule=diazepam&beside=egt")
    host = phone.locator("#explainer")
    second = host.get_by_label("the second model", exact=True)
    second.wait_for()
    top = second.bounding_box()["y"]
    second.select_option(label="CSA")
    expect(host.locator(".panel h2").last).to_contain_text("CSA predicts")
    assert second.bounding_box()["y"] == pytest.approx(top, abs=1)
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
