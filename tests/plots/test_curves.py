from matplotlib import pyplot as plt

from gtcourse import plots


def test_a_run_has_the_colour_it_is_given_and_the_others_the_next_of_the_style():
    ax = plots.learning_curve({"a": [2, 1], "b": [3, 1]}, colors={"b": "#123456"})
    assert [line.get_color() for line in ax.lines] == [plots.COLORS["blue"], "#123456"]
    plt.close("all")


def test_several_seeds_are_their_mean_and_a_band():
    ax = plots.learning_curve({"a": [[2, 1], [4, 3]]})
    assert ax.lines[0].get_ydata().tolist() == [3, 2]
    assert len(ax.collections) == 1
    plt.close("all")
