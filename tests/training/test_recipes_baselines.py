"""Message passing and SignNet on ZINC: what is printed, and how the sizes come about."""

import json

import pytest
import torch
from torch.optim import Adam
from torch.optim.lr_scheduler import ReduceLROnPlateau

from gtcourse.training.fit import count_parameters
from gtcourse.training.recipes import get_recipe
from gtcourse.training.recipes_baselines import BASELINES
from gtcourse.training.recipes_signnet import SIGNNET

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
SETTINGS = {
    "gin-100k/zinc": (4, 110, "sum", None, 0),
    "gat-100k/zinc": (4, 8 * 18, "mean", None, 0),
    "gatedgcn-100k/zinc": (4, 70, "mean", 4, 0),
    "gin/zinc": (16, 124, "sum", None, 0),
    "gat/zinc": (16, 8 * 22, "mean", None, 0),
    "gatedgcn/zinc": (16, 78, "mean", 4, 0),
    "gatedgcn-pe/zinc": (16, 78, "mean", 4, 8),
    "signnet/zinc": (16, 68, "mean", 4, 8),
    "signnet-all/zinc": (16, 67, "mean", 4, 37),
    "signnet-no-pe/zinc": (16, 77, "mean", 4, 0),
}


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


@pytest.mark.parametrize("name", PRINTED)
def test_the_settings_are_those_of_the_authors_files(name):
    recipe, config = get_recipe(name), model_of(name).config
    layers, width, readout, edge_types, eigenvectors = SETTINGS[name]
    assert (config.num_layers, config.d_model, config.readout) == (layers, width, readout)
    assert getattr(config, "num_edge_types", None) == edge_types
    assert (config.num_node_types, config.num_node_features) == (28, 0)
    transform = f"AddLaplacianEigenvectors(k={eigenvectors}, normalization='symmetric', "
    expected = [transform + "skip_first=True)"] if eigenvectors else []
    assert [*map(repr, recipe.transforms)] == expected

    assert (recipe.dataset, recipe.epochs, recipe.batch_size) == ("zinc", 1000, 128)
    assert (recipe.steps, recipe.grad_clip, recipe.flag) == (None, None, None)
    optimizer = recipe.optimizer([torch.nn.Parameter(torch.ones(1))])
    assert type(optimizer) is Adam
    defaults = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0}
    assert {key: optimizer.defaults[key] for key in defaults} == defaults
    schedule = recipe.schedule(optimizer, 1)
    assert type(schedule) is ReduceLROnPlateau
    patience, stop = (25, 1e-6) if name.startswith("signnet") else (10, 1e-5)
    assert (schedule.mode, schedule.factor, schedule.patience) == ("min", 0.5, patience)
    assert recipe.stop_below_lr == stop
    assert recipe.task.name == "graph regression"
    assert json.loads(json.dumps(recipe.config()))["epochs"] == 1000


def test_the_eigenvectors_cost_a_linear_map_and_have_random_signs_in_training():
    with_pe, without = PRINTED["gatedgcn-pe/zinc"][2], PRINTED["gatedgcn/zinc"][2]
    assert with_pe - without == linear(8, 78)
    assert model_of("gatedgcn-pe/zinc").input.encoding.flip_signs
    assert "a deviation of 0.013" in get_recipe("gatedgcn-pe/zinc").notes


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
