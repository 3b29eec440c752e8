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


def test_the_label_of_all_panels_stands_below_both_columns():
    plots.use_style()
    figure, axes = plt.subplots(1, 3, figsize=(5.7, 2.2))
    for ax in axes:
        ax.plot([0, 1])
    figure.supxlabel("layer")
    laid = panels.in_columns(plots.show(figure, alt="Three rising lines.").data)
    *of_panels, below_last, below_second = moves(laid)
    assert len(of_panels) == 3
    assert below_last[0] < below_second[0]
    assert below_second[1] < below_last[1]
    assert laid.count('<g class="of-row">') == 1
    assert len(set(panels.NAME.findall(laid))) == len(panels.NAME.findall(laid))


def test_texts_grow_on_a_phone_away_from_what_is_beside_them():
    plots.use_style()
    figure, ax = plt.subplots(figsize=(4.0, 2.2))
    ax.plot([0, 1], label="in the legend")
    ax.annotate("the end of this line", (1.0, 1.0), xytext=(5, 0), textcoords="offset points")
    ax.set(xlabel="the axis", xlim=(0, 1))
    ax.legend()
    html = plots.show(figure, alt="One line that rises.").data
    html = plots.show(figure, alt="One line that rises.").data
    drawing = panels.with_larger_texts(html)
    assert drawing.count(' class="t') == len(panels.TEXT.findall(html))
    assert drawing.count(' class="t of-end">') == 1
    assert drawing.count(' class="t of-legend">') == 1
    legend = drawing.index('<g id="legend_1">')
    assert drawing.index(' class="t of-legend">') > legend


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
