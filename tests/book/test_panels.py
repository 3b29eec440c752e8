"""Small multiples that a phone shows in two columns."""

import matplotlib.pyplot as plt
import pytest

from book._ext import panels
from gtcourse.course import plots

SMILES = "CCO"


@pytest.fixture
def row():
    """Draws a row of panels, of which the first alone has labels at its left."""
    plots.use_style()

    def draw(count: int, *, bar: bool = False) -> str:
        figure, axes = plt.subplots(1, count, figsize=(5.7, 2.2), sharey=True)
        for ax in axes:
            image = ax.imshow([[0, 1], [1, 0]])
        if bar:
            figure.colorbar(image, ax=axes)
        return plots.show(figure, alt="A row of small pictures.").data

    return draw


def moves(drawing: str) -> list[tuple[float, float]]:
    found = panels.re.findall(r'class="panel" style="--x:([-\d.]+)px;--y:([-\d.]+)px"', drawing)
    return [(float(x), float(y)) for x, y in found]


def test_four_panels_stand_in_two_rows_and_the_second_has_labels(row):
    laid = panels.in_columns(row(4))
    first, second, third, fourth = moves(laid)
    assert first[1] == second[1] < third[1] == fourth[1]
    assert third[0] < 0  # to the left edge
    assert laid.count('class="of-row"') == 1
    assert 'class="panels" style="--of:' in laid


def test_a_colour_bar_stands_beside_the_panels(row):
    laid = panels.in_columns(row(3, bar=True))
    assert len(moves(laid)) == 4
    assert moves(laid)[3][0] < 0


def test_two_panels_stay_in_a_row(row):
    assert panels.in_columns(row(2)) is None


@pytest.mark.parametrize(("count", "rows"), [(3, 2), (6, 3)])
def test_molecules_stand_in_two_columns_and_the_last_alone_in_the_middle(count, rows):
    names = [f"number {n}" for n in range(count)]
    html = plots.molecules([SMILES] * count, legends=names, alt="Some small molecules.").data
    laid = panels.in_columns(html)
    assert f"--of:360/{165 * rows}" in laid
    assert laid.count("<ellipse") == html.count("<ellipse")
    if count == 3:
        assert moves(laid)[-1] == (-270, 165)


def test_the_words_of_a_legend_are_told_from_other_texts():
    figure, ax = plt.subplots()
    ax.plot([0, 1], label="one")
    ax.plot([1, 0], label="other")
    ax.legend()
    ax.set_xlabel("layer")
    drawing = panels.with_letters_marked(plots.show(figure, alt="Two lines.").data)
    assert drawing.count('class="t beside"') == 2
    assert drawing.count('class="t"') == drawing.count('<g id="text_') - 2
