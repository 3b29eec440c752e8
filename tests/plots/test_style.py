import re

import pytest
import torch
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb

from gtcourse import plots
from gtcourse.plots.molecules import LETTERS
from gtcourse.plots.style import luminance

HANDLE = re.compile(r'<div style="overflow-x:auto"><svg [^>]*>')


def test_a_figure_is_an_svg_with_a_name_and_limits_of_size():
    plots.use_style()
    figure, ax = plt.subplots(figsize=(4, 2))
    ax.plot([0, 1])
    html = plots.show(figure, alt='A line from 0 to 1, called "rise" & shown').data
    opening = HANDLE.match(html).group()
    assert 'aria-label="A line from 0 to 1, called &quot;rise&quot; &amp; shown"' in opening
    assert 'role="img"' in opening
    largest, smallest = (
        float(re.search(rf"{m}-width:(\d+)pt", opening)[1]) for m in ("max", "min")
    )
    assert 200 < largest < 320  # four inches of 72 points, cut to the ink
    assert abs(smallest - 0.59 * largest) <= 1
    assert not plt.get_fignums()


def test_the_same_figure_gives_the_same_bytes():
    def picture():
        plots.use_style()
        return plots.show(plots.attention_map(torch.eye(3)).figure, alt="identity").data

    assert picture() == picture()


def test_molecules_are_one_svg_with_a_name():
    html = plots.molecules(["CCO", "COC"], legends=["ethanol", "ether"], alt="two").data
    opening = HANDLE.match(html).group()
    assert 'aria-label="two"' in opening
    assert "max-width:360px" in opening


def test_a_graph_with_one_way_edges_gets_arrows():
    one_way, both_ways = torch.tensor([[0, 1], [0, 0]]), torch.tensor([[0, 1], [1, 0]])
    arrows = [len(plots.draw_graph(adjacency).patches) for adjacency in (one_way, both_ways)]
    plt.close("all")
    assert arrows == [1, 0]


def test_ink_is_what_the_page_says_and_grey_where_it_says_nothing():
    drawn = plots.show(plots.attention_map(torch.eye(2)).figure, alt="x").data
    molecule = plots.molecules(["CCO"], values=[[0.0, 1.0, 2.0]], alt="x").data
    for html in (drawn, molecule):
        assert f"var(--gtcourse-ink, {plots.INK})" in html
        bare = html.replace(f"var(--gtcourse-ink, {plots.INK})", "")
        assert plots.INK not in bare.lower()


def test_no_end_of_the_discs_colours_is_near_white_or_too_dark_for_letters():
    for colors in (plots.molecules.__kwdefaults__["cmap"], plots.TWO_SIDED):
        for place in (0.0, 0.25, 0.5, 0.75, 1.0):
            light = luminance(colors(place))
            assert light < 0.55
            assert (light + 0.05) / (luminance(to_rgb(LETTERS)) + 0.05) >= 4.5


def test_names_of_nodes_are_black_on_light_discs_and_white_on_dark_ones():
    ax = plots.draw_graph(torch.tensor([[0, 1], [1, 0]]), colors=["#ffffff", "#101010"])
    assert [text.get_color() for text in ax.texts] == ["black", "white"]
    one = plots.draw_graph(torch.tensor([[0, 1], [1, 0]]), colors="#fafafa")
    assert [text.get_color() for text in one.texts] == ["black", "black"]
    assert [luminance((x, x, x)) for x in (0, 1)] == [0, pytest.approx(1)]
    plt.close("all")


def test_numbers_in_a_table_read_on_every_colour():
    ax = plots.attention_map(torch.linspace(0, 1, 8)[None])
    shades = ax.images[0].to_rgba(ax.images[0].get_array())[0]
    for text, shade in zip(ax.texts, shades, strict=True):
        light, dark = sorted((luminance(to_rgb(text.get_color())), luminance(shade)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5
    assert {text.get_color() for text in ax.texts} == {"white", "black"}
    plt.close("all")
