"""What is said of own molecules before and after training, checked by hand on a few."""

import math

import pytest
import torch

from gtcourse.graphs import GraphDataset
from gtcourse.graphs.batch import MISSING_LABEL
from gtcourse.graphs.molecules import zinc_data
from gtcourse.runs.overview import baselines, conflicts, constants, overview, table
from gtcourse.train.tasks import graph_classification, graph_multiclass, graph_regression

TRAIN = ["C", "CC", "CCC", "CCCC", "CCCCC", "CO", "CCO", "CCCO", "CCCCO", "CCCCCO"]
TEST = ["CCCCCC", "CCCCCCO"]
SMILES = [*TRAIN, "CN", *TEST]
SPLIT = torch.tensor([0] * len(TRAIN) + [1] + [2] * len(TEST))


def molecules(y, smiles=SMILES, split=SPLIT):
    graphs = [zinc_data(text) for text in smiles]
    for graph, value in zip(graphs, y, strict=True):
        graph.y = value.reshape(1, -1) if value.dim() else value.reshape(1)
    return GraphDataset("own", "own", graphs, split)


def carbons():
    """A target that is a sum over atoms: the number of carbons, and ten for an oxygen."""
    return torch.tensor([float(text.count("C") + 10 * text.count("O")) for text in SMILES])


def test_the_constant_baseline_is_the_median_and_ridge_fits_a_sum_over_atoms():
    scores = baselines(molecules(carbons()), graph_regression())
    median = sorted(carbons()[: len(TRAIN)].tolist())[4]
    expected = sum(abs(value - median) for value in (6.0, 16.0)) / 2
    assert scores["constant"] == pytest.approx([expected])
    assert scores["ridge on Morgan counts"][0] < 1
    assert [*scores] == ["constant", "ridge on Morgan counts", "boosted trees on Morgan counts"]


def test_unknown_targets_are_neither_fitted_nor_scored():
    y = torch.stack([carbons(), carbons()], dim=1)
    y[1::2, 0] = math.nan
    y[-1, 1] = math.nan
    scores = baselines(molecules(y), graph_regression())
    assert all(math.isfinite(score) for of_one in scores.values() for score in of_one)


def test_several_targets_have_a_mean_score_and_a_score_each():
    y = torch.stack([carbons(), 100 * carbons()], dim=1)
    scores = baselines(molecules(y), graph_regression())
    alone = baselines(molecules(carbons()), graph_regression())["constant"][0]
    assert scores["constant"] == pytest.approx([50.5 * alone, alone, 100 * alone])
    lines = table(scores, "mae", ["small", "large"])
    titles = [line.strip() for line in lines if "test mae" in line]
    assert titles == ["test mae, mean over targets", "test mae, small", "test mae, large"]
    assert len(lines) == 3 * (1 + len(scores))


def test_baselines_are_scored_by_auroc_for_binary_targets_and_accuracy_for_classes():
    is_alcohol = torch.tensor([float("O" in text) for text in SMILES])
    scores = baselines(molecules(is_alcohol), graph_classification())
    assert scores["constant"] == [0.5]
    assert scores["ridge on Morgan counts"] == [1.0]
    scores = baselines(molecules(is_alcohol.long()), graph_multiclass(2))
    assert scores["ridge on Morgan counts"] == [1.0]
    assert scores["constant"] == [0.5]  # one of the two test molecules


def test_repeated_molecules_with_conflicting_values_or_splits_are_counted():
    y = torch.arange(5.0)
    data = molecules(y, ["CCO", "CCO", "CC", "CC", "C"], torch.tensor([0, 0, 0, 2, 1]))
    for row in (2, 3):
        data.graphs[row].y = torch.tensor([7.0])
    lines = conflicts(data, graph_regression())
    assert lines == [
        "repeated molecules: 2, 1 with conflicting values, such as CCO (0, 1).",
        "molecules in more than one split: 1. The test error is too small.",
    ]


def test_targets_that_are_constant_or_unknown_in_a_split_are_named():
    y = torch.tensor([1.0, 1, 1, 2, math.nan])
    data = molecules(y, ["C", "CC", "CCC", "CO", "CN"], torch.tensor([0, 0, 0, 1, 2]))
    assert constants(data, graph_regression(), ["boiling point"]) == [
        "boiling point is 1 for all molecules of the split 'train'.",
        "boiling point is unknown for all molecules of the split 'test'.",
    ]


def test_a_class_that_all_molecules_of_a_split_have_is_called_by_its_name():
    classes = torch.tensor([0, 1, 0, 2, 2])
    data = molecules(classes, ["C", "CC", "CCC", "CO", "CN"], torch.tensor([0, 0, 1, 2, 2]))
    expected = [
        "no training molecule has smell = fruity: the model will not predict it.",
        "smell is fruity for all molecules of the split 'test'.",
    ]
    of_command_line = ["smell = green", "smell = musky", "smell = fruity"]
    assert constants(data, graph_multiclass(3), of_command_line) == expected


def test_a_class_without_a_training_molecule_is_named():
    y = torch.tensor([0, 1] * 5 + [0, 2, 2])
    lines = constants(molecules(y), graph_multiclass(4), ["y = a", "y = b", "y = c", "y = d"])
    assert lines[:2] == [
        "no training molecule has y = c: the model will not predict it.",
        "no training molecule has y = d: the model will not predict it.",
    ]


def test_the_overview_counts_molecules_classes_and_parameters():
    model = torch.nn.Linear(1000, 2)
    y = torch.tensor([float(i % 2) for i in range(len(SMILES))])
    y[0] = math.nan
    lines = overview(molecules(y), graph_classification(), ["toxic"], model)
    assert lines[:3] == [
        "train: 10 molecules (toxic: 5 of 9 are 1)",
        "val: 1 molecule (toxic: 0 of 1 are 1)",
        "test: 2 molecules (toxic: 1 of 2 are 1)",
    ]
    assert lines[-1].startswith("10 training molecules for 2,002 parameters")
    classes = torch.tensor([i % 2 for i in range(len(SMILES))])
    classes[0] = MISSING_LABEL
    lines = overview(molecules(classes), graph_multiclass(2), ["low", "high"], model)
    assert lines[0] == "train: 10 molecules (4 low, 5 high)"


def test_the_table_marks_the_best_score_and_explains_missing_ones():
    assert table({"constant": [2.0], "model": [1.0]}, "mae")[-1] == "model     1  (best)"
    assert table({"constant": [0.5], "model": [0.9]}, "auroc")[-1] == "model     0.9  (best)"
    assert table({"m": [math.nan]}, "auroc")[-1] == "m  none: one class in the test split"
    for metric in ("mae", "accuracy"):
        last = table({"m": [math.nan]}, metric)[-1]
        assert last == "m  none: no known target in the test split"
