"""EGT's recipes: the paper's tables, the authors' parameter counts, the settings."""

import pytest
import torch
from torch.optim import Adam
from torch.optim.lr_scheduler import ReduceLROnPlateau

from gtcourse.recipes import RECIPES, get_recipe
from gtcourse.recipes.egt import EGT_RECIPES
from gtcourse.training.fit import count_parameters

NAMES = [recipe.name for recipe in EGT_RECIPES]

OFFICIAL = {
    "egt-100k/zinc": 112_337,
    "egt-100k-spe/zinc": 113_153,
    "egt-100k-spe-do/zinc": 124_665,
    "egt-500k/zinc": 506_977,
    "egt-500k-spe/zinc": 508_065,
    "egt-500k-spe-do/zinc": 528_149,
    "egt-500k-ungated/zinc": 501_777,
    "egt-500k-simple/zinc": 528_857,
    "egt-500k-simple-spe/zinc": 530_217,
    "egt-500k-constrained/zinc": 506_977,
    "egt-500k-simple/zinc-full": 528_857,
    "egt-100k/pattern": 138_674,
    "egt-100k-spe/pattern": 139_762,
    "egt-500k/pattern": 546_674,
    "egt-500k-spe/pattern": 547_762,
    "egt-500k/cluster": 546_998,
    "egt-500k-spe/cluster": 548_086,
    "egt-100k/mnist": 138_826,
    "egt-100k-spe/mnist": 139_914,
    "egt-100k-spe-do/mnist": 141_182,
    "egt-100k/cifar10": 138_954,
    "egt-100k-spe/cifar10": 140_042,
    "egt-100k-spe-do/cifar10": 141_310,
    "egt-100k/tsp": 116_226,
    "egt-100k-spe/tsp": 117_314,
    "egt-500k/tsp": 524_226,
    "egt-500k-spe/tsp": 525_314,
    "egt-small/pcqm4m": 11_073_921,
    "egt-base/pcqm4m": 48_469_249,
    "egt-base-simple/pcqm4m": 48_053_633,
}
"""What the authors' own models count."""

# Results of each table, a few of each kind; epochs, patience, batch size of Table 5.
RESULTS = {
    "egt-100k/pattern": {"test_accuracy": (0.86798, 0.00032)},
    "egt-100k-epe/zinc": {"test_mae": (0.336, 0.029)},
    "egt-100k-spe-do/cifar10": {"test_accuracy": (0.67004, 0.00624)},
    "egt-100k/tsp": {"test_f1": (0.807, 0.004)},
    "egt-500k/cluster": {"test_accuracy": (0.7708, 0.00361)},
    "egt-500k-epe/cluster": {"test_accuracy": (0.76952, 0.00337)},
    "egt-500k-spe/tsp": {"test_f1": (0.844, 0.002)},
    "egt-500k-spe/cluster": {"test_accuracy": (0.77909, 0.00245)},
    "egt-500k-spe-do/zinc": {"test_mae": (0.154, 0.011)},
    "egt-500k/zinc-full": {"test_mae": (0.051, 0.002)},
    "egt-100k-simple/mnist": {"test_accuracy": (0.9794, 0.00192)},
    "egt-500k-simple-spe/zinc-full": {"test_mae": (0.049, 0.002)},
    "egt-500k-constrained/pattern": {"test_accuracy": (0.84267, 0.00555)},
    "egt-500k-constrained-spe/tsp": {"test_f1": (0.846, 0.001)},
    "egt-500k-constrained-spe/zinc": {"test_mae": (0.174, 0.004)},
    "egt-100k-ungated/cifar10": {"test_accuracy": (0.61275, 0.00966)},
    "egt-500k-ungated/zinc": {"test_mae": (0.371, 0.020)},
    "egt-500k-spe-augmented/pattern": {"test_accuracy": (0.85624, 0.00642)},
    "egt-500k-spe-augmented/zinc-full": {"test_mae": (0.046, 0.001)},
    "egt-100k-spe-unaugmented/mnist": {"test_accuracy": (0.96675, 0.00314)},
    "egt-500k-spe-unaugmented/tsp": {"test_f1": (0.844, 0.001)},
    "egt-500k-spe-unaugmented/zinc": {"test_mae": (0.520, 0.008)},
    "egt-small/pcqm4m": {"train_mae": (0.0728, None), "val_mae": (0.1299, None)},
    "egt-base/pcqm4m": {"train_mae": (0.0270, None), "val_mae": (0.1263, None)},
    "egt-base-simple/pcqm4m": {"val_mae": (0.1276, None)},
    "egt-base-constrained/pcqm4m": {"val_mae": (0.1328, None)},
}
TABLE_5 = {
    "pattern": (200, 10, 128),
    "cluster": (200, 10, 128),
    "mnist": (200, 10, 128),
    "cifar10": (200, 10, 128),
    "tsp": (100, 5, 8),
    "zinc": (600, 20, 128),
    "zinc-full": (200, 5, 128),
}
AUGMENTED = {"mnist", "cifar10", "tsp", "zinc"}


def config_of(name):
    return get_recipe(name).build_model.args[0]


def split(name):
    """The model's size and variants, and the data set."""
    model, dataset = name.split("/")
    size, _, variants = model.removeprefix("egt-").partition("-")
    return size, variants, dataset


def test_the_recipes_are_every_result_that_the_paper_prints_for_egt():
    assert len({*NAMES}) == len(NAMES) == 74
    of = {dataset: {n.split("/")[0] for n in NAMES if n.endswith(f"/{dataset}")}
          for dataset in (*TABLE_5, "pcqm4m")}  # fmt: skip
    at_500k = {f"egt-500k{v}" for v in ("", "-spe", "-simple", "-simple-spe", "-constrained",
                                        "-constrained-spe")}  # fmt: skip
    at_100k = {name.replace("500k", "100k") for name in at_500k}
    ungated = {"egt-500k-ungated"}
    assert of["zinc-full"] == at_500k | {"egt-500k-spe-augmented"}
    assert of["zinc"] == at_500k | ungated | {
        "egt-500k-epe", "egt-500k-spe-do", "egt-500k-spe-unaugmented",
        "egt-100k", "egt-100k-epe", "egt-100k-spe", "egt-100k-spe-do",
    }  # fmt: skip
    assert of["pattern"] == at_500k | ungated | {
        "egt-500k-epe", "egt-500k-spe-augmented", "egt-100k", "egt-100k-epe", "egt-100k-spe",
    }  # fmt: skip
    assert of["cluster"] == at_500k | ungated | {"egt-500k-epe", "egt-500k-spe-augmented"}
    assert of["tsp"] == at_500k | ungated | {"egt-500k-spe-unaugmented", "egt-100k", "egt-100k-spe"}
    for images in ("mnist", "cifar10"):
        assert of[images] == at_100k | {
            "egt-100k-ungated", "egt-100k-spe-do", "egt-100k-spe-unaugmented",
        }  # fmt: skip
    assert of["pcqm4m"] == {"egt-small", "egt-base", "egt-base-simple", "egt-base-constrained"}


@pytest.mark.parametrize("name", NAMES)
def test_the_notes_say_how_many_parameters_there_are(name):
    recipe = get_recipe(name)
    with torch.device("meta"):  # counted without a number of it in memory
        count = count_parameters(recipe.build_model())
    assert recipe.notes.startswith(f"{count:,} parameters")
    if name in OFFICIAL:
        assert count == OFFICIAL[name]
        assert recipe.notes.startswith(f"{count:,} parameters, as in the authors' code; ")
    assert recipe.changed == {}
    assert RECIPES[name] is recipe


@pytest.mark.parametrize("name", RESULTS)
def test_the_results_are_the_papers(name):
    assert get_recipe(name).paper_result == RESULTS[name]


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("pcqm4m")])
def test_the_settings_are_those_of_tables_4_and_5(name):
    recipe, (size, variant, dataset) = get_recipe(name), split(name)
    epochs, patience, batch_size = TABLE_5[dataset]
    assert (recipe.dataset, recipe.epochs, recipe.batch_size) == (dataset, epochs, batch_size)
    optimizer = recipe.optimizer([torch.nn.Parameter(torch.ones(1))])
    assert type(optimizer) is Adam
    expected = {"lr": 5e-4, "betas": (0.9, 0.999), "eps": 1e-7, "weight_decay": 0}
    assert {k: optimizer.defaults[k] for k in expected} == expected
    schedule = recipe.schedule(optimizer, 100)
    assert type(schedule) is ReduceLROnPlateau
    assert (schedule.mode, schedule.factor, schedule.patience + 1) == (
        recipe.task.mode,
        0.5,
        patience,
    )

    config = config_of(name)
    widths = (4, 64, 8) if size == "100k" else (16, 64, 8)
    if dataset.startswith("zinc"):
        widths = (4, 48, 48) if size == "100k" else (10, 64, 64)
        widths = (10, 80, 8) if "simple" in variant else widths
    assert (config.num_layers, config.d_model, config.d_edge) == widths
    assert (config.num_heads, config.node_multiplier, config.edge_multiplier) == (8, 2.0, 2.0)
    assert (config.structure, config.virtual_nodes, config.head_widths) == ("adjacency", 0, None)
    assert (config.node_dropout, config.edge_dropout, config.attention_dropout) == (0.0, 0.0, 0.0)
    assert (config.random_mask, config.degree_scaler, config.scaled) == (0.0, False, True)
    assert (config.clip, config.norm_eps) == (5.0, 1e-3)


@pytest.mark.parametrize("name", NAMES)
def test_a_models_name_says_what_is_in_it(name):
    recipe, config, (_, variant, dataset) = get_recipe(name), config_of(name), split(name)
    parts = variant.split("-")
    spe, do = "spe" in parts, "do" in parts
    limited = [part for part in parts if part in ("simple", "constrained")] or ["full"]
    assert config.variant == limited[0]
    assert config.gated == ("ungated" not in parts)
    assert config.svd_rank == (8 if spe else 0)
    assert config.distance_hops == (3 if do else 0)
    flipped = (dataset in AUGMENTED) != ("augmented" in parts or "unaugmented" in parts)
    assert config.flip_signs == ("pairs" if spe and flipped else None)
    assert recipe.task.asks == ({"return_distances": True} if do else {})
    transforms = ["AddSVD(rank=8, self_loops=True)"] if spe else []
    if "epe" in parts:
        k = {"pattern": 2, "cluster": 20, "zinc": 8}[dataset]
        transforms.append(
            f"AddLaplacianEigenvectors(k={k}, normalization='symmetric', skip_first=True)"
        )
        encoding = recipe.build_model().node_encodings[0]
        assert (encoding.projection.in_features, encoding.flip_signs) == (k, True)
    if do or dataset == "pcqm4m":
        transforms.append("AddShortestPaths(max_distance=None)")
    assert [*map(repr, recipe.transforms)] == transforms
    table = {"ungated": "7", "spe-augmented": "8", "spe-unaugmented": "8"}.get(variant)
    if table is None:
        table = "3" if limited != ["full"] or dataset == "zinc-full" else "1"
        table = "2" if dataset == "pcqm4m" and limited == ["full"] else table
    assert recipe.source.startswith(f"Hussain et al., 2021, Table {table}; settings of Table")


@pytest.mark.parametrize(
    ("name", "published"),
    [
        # layers, d, virtual nodes, batch size
        ("egt-small/pcqm4m", (6, 512, 4, 128)),
        ("egt-base/pcqm4m", (12, 768, 8, 512)),
        ("egt-base-simple/pcqm4m", (12, 768, 8, 512)),
        ("egt-base-constrained/pcqm4m", (12, 768, 8, 512)),
    ],
)
def test_the_settings_on_molecules_are_those_of_table_6(name, published):
    recipe, config = get_recipe(name), config_of(name)
    layers, width, virtual, batch_size = published
    assert (config.num_layers, config.d_model, config.virtual_nodes) == (layers, width, virtual)
    assert (config.d_edge, config.num_heads, config.head_widths) == (128, 32, (width, width))
    assert (config.node_multiplier, config.edge_multiplier) == (1.0, 1.0)
    assert (config.structure, config.max_distance) == ("distance", 16)
    assert (config.node_dropout, config.edge_dropout, config.attention_dropout) == (0.1, 0.0, 0.0)
    assert (sum(config.num_node_types), sum(config.num_edge_types)) == (93, 9)
    assert (recipe.dataset, recipe.batch_size, recipe.steps) == ("pcqm4mv2", batch_size, 10**6)
    assert recipe.epochs * (3_378_606 // batch_size) > recipe.steps  # the steps come first
    optimizer = recipe.optimizer([torch.nn.Parameter(torch.ones(1))])
    expected = {"lr": 2e-4, "betas": (0.9, 0.999), "eps": 1e-7}
    assert {k: optimizer.defaults[k] for k in expected} == expected
    rate = recipe.schedule(optimizer, recipe.total_steps(6599)).lr_lambdas[0]
    # A third of the quarter circle after a third of the decay: cos 30°, where a half has 3/4.
    shares = [rate(step - 1) for step in (1, 60_000, 60_000 + 313_333, 10**6)]
    assert shares == pytest.approx([1 / 60_000, 1.0, 3**0.5 / 2, 0.0], abs=1e-6)
