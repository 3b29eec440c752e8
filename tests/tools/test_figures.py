import pytest
from matplotlib import pyplot as plt
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from gtcourse import plots
from tools import figures

ALT = "A line that rises from zero to one."


def drawn(size=(5.7, 3.0), fontsize=10, alt=ALT):
    plots.use_style()
    figure, ax = plt.subplots(figsize=size)
    ax.plot([0, 1])
    ax.set_xlabel("a label", fontsize=fontsize)
    return plots.show(figure, alt=alt).data


def faults(html, after="*What to see.*"):
    output = new_output("display_data", data={"text/html": html})
    cells = [new_code_cell("plots.show(…)", outputs=[output])]
    return figures.faults(new_notebook(cells=[*cells, new_markdown_cell(after)]))


def test_the_widest_figure_with_the_smallest_letters_has_no_fault():
    assert faults(drawn()) == []
    assert faults(plots.molecules(["CCO"] * 3, alt="Three times ethanol, drawn.").data) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"size": (6.4, 3.0)}, "px wide; 570 fit"),
        ({"fontsize": 8}, "letters of 6.4 px on a phone"),
        ({"alt": ""}, "has no description"),
        ({"alt": "A plot"}, "has no description, or hardly one"),
    ],
)
def test_what_a_phone_or_an_ear_cannot_use_is_a_fault(given, said):
    assert any(said in fault for fault in faults(drawn(**given)))


@pytest.mark.parametrize("after", ["## A heading", "", "+++"])
def test_a_figure_without_a_sentence_after_it_is_a_fault(after):
    assert faults(drawn(), after) == ["cell 1: a figure has no caption or sentence after it"]


def test_a_bitmap_is_a_fault():
    output = new_output("display_data", data={"image/png": "iVBORw0KGgo="})
    nb = new_notebook(
        cells=[new_code_cell("ax.plot()", outputs=[output]), new_markdown_cell("*x*")]
    )
    assert figures.faults(nb) == ["cell 1: a figure is a bitmap; end the cell with plots.show"]
