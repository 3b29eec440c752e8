"""A page of the book for each trained model, up to date, to which the command line points."""

from gtcourse.names import MODEL_CARDS
from gtcourse.predict import available, available_models
from tests.process import gtcourse as call
from tools import model_cards
from tools.pages import stale
from tools.paths import ROOT, slug


def test_the_pages_say_what_the_records_say():
    assert stale(model_cards.pages()) == []


def test_each_picture_shows_the_predictions_of_the_shipped_weights():
    assert model_cards.old_pictures() == []


def test_a_page_has_the_property_the_data_the_sizes_the_error_and_the_limits():
    for card in available_models():
        text = model_cards.page(card)
        for part in (card.target, card.name, f"{card.test_error:.3f}", "## Limits", "to 37 atoms"):
            assert part in text


def test_the_command_line_points_to_the_pages_and_the_books_contents_have_them():
    assert MODEL_CARDS in call("models")
    page = MODEL_CARDS.partition(f"{slug()}/blob/main/")[2]
    assert (ROOT / page).is_file()
    contents = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    for name in available():
        assert f"book/models/{name.replace('/', '-')}\n" in contents
