"""Message passing and SignNet on ZINC: what is printed, and how the sizes come about."""

import pytest
import torch

from gtcourse.recipes import get_recipe
from gtcourse.recipes.baselines import BASELINES, SIGNNET
from gtcourse.training.fit import count_parameters

# Parameters as printed, mean and deviation; as built. EGT prints "≈100K" and "≈500K".
PRINTED = {
    "gin-100k/zinc": (100_000, (0.387, 0.015), 103_079),
    "gat-100k/zinc": (100_000, (0.475, 0.007), 102_385),
    "gatedgcn-100k/zinc": (100_000, (0.375, 0.003), 105_875),
    "gin/zinc": (509_549, (0.526, 0.051), 509_549),
    "gat/zinc": (531_345, (0.384, 0.007), 531_345),
    "gatedgcn/zinc": (500_000, (0.282, 0.015), 504_309),
    "gatedgcn-pe/zinc": (505_011, (0.214, 0.006), 505_011),
    "signnet/zinc": (494_815, (0.121, None), 489_027),
    "signnet-all/zinc": (491_138, (0.102, None), 481_587),
    "signnet-no-pe/zinc": (491_597, (0.252, None), 491_597),
}
BY_GRAPHORMER = {"gin/zinc", "gat/zinc", "gatedgcn-pe/zinc"}

# Layers, width, read-out, edge types, eigenvectors of the authors' files.


def model_of(name):
    with torch.device("meta"):
        return get_recipe(name).build_model()


def linear(width, out):
    return width * out + out


def test_these_are_all():
    assert [recipe.name for recipe in (*BASELINES, *SIGNNET)] == [*PRINTED]


@pytest.mark.parametrize("name", PRINTED)
def test_sizes_and_results_are_those_that_are_printed(name):
    recipe, (printed, result, built) = get_recipe(name), PRINTED[name]
    assert (recipe.paper_parameters, recipe.paper_result) == (printed, {"test_mae": result})
    assert count_parameters(model_of(name)) == built
    if printed != built:
        assert recipe.notes.startswith(f"{built:,} parameters, ")
    if name.startswith("signnet"):
        assert recipe.source.startswith("Lim et al., 2023, README of GraphPrediction; settings of ")
    else:
        citing = "Ying et al., 2021, Table 4" if name in BY_GRAPHORMER else "Hussain et al., 2021, "
        assert recipe.source.startswith(f"Dwivedi et al., 2020, as {citing}")


@pytest.mark.parametrize(
    ("name", "k", "width", "phi_out", "rho"),
    [("signnet/zinc", 8, 68, 4, "mlp"), ("signnet-all/zinc", 37, 67, 67, "sum")],
)
def test_signnet_is_the_authors_but_for_how_it_enters(name, k, width, phi_out, rho):
    config = model_of(name).input.encoding.config
    assert (config.phi, config.rho, config.phi_out) == ("gin", rho, phi_out)
    assert config.k == (k if rho == "mlp" else None)
    assert (config.phi_layers, config.rho_layers) == (8, 8)
    assert (config.phi_hidden, config.rho_hidden, config.d_model) == (width,) * 3
    printed, _, built = PRINTED[name]
    theirs = [linear(width, k), linear(k, width), linear(2 * width, width)]
    assert built - linear(width, width) + sum(theirs) == printed
    for number in (*theirs, linear(width, width), printed, built):
        assert f"{number:,}" in get_recipe(name).notes
