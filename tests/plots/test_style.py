import re

import torch
from matplotlib import pyplot as plt

from gtcourse import plots

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
    assert abs(smallest - 0.6 * largest) <= 1
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
    assert "max-width:440px" in opening


def test_a_graph_with_one_way_edges_gets_arrows():
    one_way, both_ways = torch.tensor([[0, 1], [0, 0]]), torch.tensor([[0, 1], [1, 0]])
    arrows = [len(plots.draw_graph(adjacency).patches) for adjacency in (one_way, both_ways)]
    plt.close("all")
    assert arrows == [1, 0]
