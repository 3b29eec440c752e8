"""A page of the book for each trained model, up to date, to which the command line points."""

from gtcourse.graphs.molecules import ATOM_TYPES, zinc_data
from gtcourse.names import MODEL_CARDS
from gtcourse.predict import available, available_models, load
from tests.process import gtcourse as call
from tools import model_cards
from tools.pages import stale
from tools.paths import ROOT, slug


def test_model_pages_agree_with_the_records():
    assert stale(model_cards.pages()) == []


def test_each_picture_shows_the_predictions_of_the_shipped_weights():
    assert model_cards.old_pictures() == []


def test_a_model_page_states_target_data_sizes_error_and_limits():
    for card in available_models():
        text = model_cards.page(card)
        for part in (card.target, card.name, f"{card.test_error:.3f}", "## Limits", "to 37 atoms"):
            assert part in text


def test_model_pages_are_linked_from_the_command_line_and_in_the_contents():
    assert MODEL_CARDS in call("models")
    page = MODEL_CARDS.partition(f"{slug()}/blob/main/")[2]
    assert (ROOT / page).is_file()
    contents = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    for name in available():
        assert f"book/models/{name.replace('/', '-')}\n" in contents


def test_a_card_says_whether_the_ridge_regression_on_colours_beats_the_network():
    better = "each of the three networks beats the regression"
    level = "so we call the two level"
    expected = {
        "csa-100k/molecules": better,
        "signnet-100k/molecules": better,
        "egt-100k/molecules": level,
        "grpe-100k/molecules": level,
        "graphormer-100k/molecules": "the regression beats each of the three networks",
    }
    for card in available_models():
        sentence = expected.get(card.name, "The network's error is")
        assert sentence in " ".join(model_cards.page(card).split()), card.name


def test_only_the_card_of_a_transformer_names_memory_that_grows_with_the_square():
    for card in available_models():
        is_transformer = not card.name.startswith("signnet")
        text = " ".join(model_cards.page(card).split())
        assert ("grows with the square of the number of atoms" in text) == is_transformer


def test_only_the_cards_of_the_recipe_that_diverged_say_so():
    diverged = {card.name for card in available_models() if "diverged" in model_cards.page(card)}
    assert diverged == {"csa-rings/zinc", "csa-rings-bounded/zinc"}


def test_a_stereocentre_that_is_marked_is_of_another_type_and_mirror_images_are_not():
    """What the cards say of stereochemistry."""
    left, right, unmarked = "C[C@H](N)O", "C[C@@H](N)O", "CC(N)O"
    types = {
        text: [ATOM_TYPES[i] for i in zinc_data(text).x[:, 0].tolist()]
        for text in (left, right, unmarked)
    }
    assert types[left] == types[right] == ["C", "C H1", "N", "O"]
    assert types[unmarked] == ["C", "C", "N", "O"]
    values = load("csa-rings/zinc").predict([left, right, unmarked]).tolist()
    assert values[0] == values[1]
    assert abs(values[0] - values[2]) > 0.01
