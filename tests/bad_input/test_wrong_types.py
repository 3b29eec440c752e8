"""Arguments of wrong types: each function raises one sentence for many of them."""

from functools import partial

import numpy as np
import pytest
import torch

from gtcourse.encodings import AddLaplacianEigenvectors
from gtcourse.graphs import DenseLoader, GraphDataset, collate
from gtcourse.graphs.arguments import check_choice
from gtcourse.graphs.molecules import (
    canonical_molecule,
    describe,
    fingerprints,
    identity,
    largest_ring,
    log_p,
    molecule_graph,
    ogb_molecule,
    own_data,
    synthetic_accessibility,
    zinc_data,
)
from gtcourse.graphs.tables import fold_split, random_split, read_csv, scaffold_split
from gtcourse.interpret import (
    attention_by_kind,
    attention_entropy,
    attention_rollout,
    gradient_times_input,
    head_similarity,
    probabilities,
    read_by_graph,
    token_mask,
)
from gtcourse.models import CGT, CGTConfig, NodeBatchNorm
from gtcourse.models.categories import CategoryEmbedding, feature_embedding
from gtcourse.predict import load, tensors_of
from gtcourse.recipes import get_recipe
from gtcourse.recipes.adapt import own_recipe, recipe_for, standardised
from gtcourse.recipes.recipe import with_form
from gtcourse.train import tasks
from gtcourse.train.costs import kept_bytes, prediction_memory, step_costs, stretched
from gtcourse.train.loop import count_parameters
from gtcourse.train.schedules import halve_on_plateau, warmup_then_cosine, warmup_then_linear
from tests.graphs.small import three_chains

CHAINS = three_chains().graphs
BATCH = collate(CHAINS)
SMILES = ["CCO", "c1ccccc1"] * 5
MASK = torch.ones(1, 3, dtype=torch.bool)
ROWS = torch.full((1, 3, 3), 1 / 3)
MODEL = torch.nn.Linear(2, 1)
OPTIMIZER = torch.optim.SGD(MODEL.parameters(), lr=0.1)
REGRESSION = tasks.graph_regression()

ARRAY = np.zeros((2, 2))
OBJECTS = (None, 2.5, [], {}, ("a", 1), ARRAY, torch.zeros(2, 2), object())
"""Values that are no text, no whole number and neither True nor False."""

WHOLE_NUMBER = "a whole number, "
TRUE_OR_FALSE = "True or False."
MOLECULE = "one of RDKit, as Chem.MolFromSmiles(smiles) returns"
MODEL_OF_TORCH = "a model, such as GIN(GINConfig())."
TASK = "a Task, such as tasks.graph_regression()."
OPTIMIZER_OF_TORCH = "one of PyTorch, such as AdamW(model.parameters())."
A_BATCH = "a GraphBatch, such as collate(graphs) returns."


def call(function, *arguments, **named):
    """Takes the value of one more argument, which stands where ``...`` is given."""

    def of(value):
        placed = [value if each is ... else each for each in arguments]
        return function(
            *placed, **{key: value if each is ... else each for key, each in named.items()}
        )

    return of


LOADER = DenseLoader(CHAINS, 2)
CALLS = [
    (
        "the device of a batch",
        call(BATCH.to, ...),
        "'cpu', or an accelerator",
        ({}, [], 2.5, ARRAY),
    ),
    ("the name of an encoding", call(BATCH.encoding, ...), "a string.", OBJECTS),
    (
        "target of collate",
        call(collate, CHAINS, target=...),
        "'graph', 'node' or 'edge'",
        OBJECTS[1:],
    ),
    ("world", call(LOADER.shard, 0, ..., even=True), WHOLE_NUMBER, OBJECTS),
    ("rank", call(LOADER.shard, ..., 1, even=True), WHOLE_NUMBER, OBJECTS),
    ("even", call(LOADER.shard, 0, 1, even=...), TRUE_OR_FALSE, OBJECTS),
    ("epoch", call(LOADER.graphs_of_batches, ...), WHOLE_NUMBER, OBJECTS),
    (
        "a vocabulary",
        call(GraphDataset, "a", "b", CHAINS, torch.zeros(3), ...),
        "a list of strings, or None.",
        ([5], [None], b"CN", {}, torch.zeros(2, 2)),
    ),
    *(
        (f"the molecule of {function.__name__}", call(function, ...), MOLECULE, OBJECTS)
        for function in (identity, largest_ring, log_p, synthetic_accessibility)
    ),
    *(
        (f"the molecule of {function.__name__}", call(function, "CCO", ...), MOLECULE, OBJECTS[1:])
        for function in (molecule_graph, ogb_molecule, own_data, zinc_data)
    ),
    ("a choice of pieces", call(canonical_molecule, "CCO", ...), TRUE_OR_FALSE, OBJECTS),
    (
        "molecules",
        call(fingerprints, ...),
        "a list of molecules.",
        (None, 5, "CCO", b"CCO", {"CCO": 1}, object()),
    ),
    *(
        (name, call(split, ..., *others), "a list of SMILES.", (None, 5, "CCO", {"CCO": 1}))
        for name, split, others in (
            ("molecules to split by scaffold", scaffold_split, (0,)),
            (
                "molecules to split into folds",
                partial(fold_split, seed=0, by_scaffold=True),
                (0, 3),
            ),
        )
    ),
    ("a data set to describe", call(describe, ...), "a GraphDataset.", OBJECTS),
    ("the seed of a random split", call(random_split, 20, ...), WHOLE_NUMBER, OBJECTS),
    ("the seed of a scaffold split", call(scaffold_split, SMILES, ...), WHOLE_NUMBER, OBJECTS),
    (
        "the seed of folds",
        call(fold_split, SMILES, 0, 3, seed=..., by_scaffold=False),
        WHOLE_NUMBER,
        OBJECTS,
    ),
    (
        "folds by scaffold",
        call(fold_split, SMILES, 0, 3, seed=0, by_scaffold=...),
        TRUE_OR_FALSE,
        OBJECTS,
    ),
    (
        "features of a table",
        call(read_csv, "t.csv", "smiles", ["y"], "regression", features=...),
        "one of any, zinc, ogb.",
        OBJECTS,
    ),
    ("the task of a table", call(read_csv, "t.csv", "s", ["y"], ...), "one of regression", OBJECTS),
    (
        "a Laplacian",
        call(AddLaplacianEigenvectors, 2, normalization=...),
        "one of 'combinatorial'",
        OBJECTS,
    ),
    (
        "a choice",
        call(check_choice, "form", ..., ("dot", None)),
        "one of 'dot', None.",
        OBJECTS[1:],
    ),
    ("channels of batch norm", call(NodeBatchNorm, ...), WHOLE_NUMBER, OBJECTS),
    ("the width of vectors", call(CategoryEmbedding, (3,), ...), WHOLE_NUMBER, OBJECTS),
    (
        "sizes of columns",
        call(CategoryEmbedding, ..., 4),
        "a number above 0 for each",
        (None, 2.5, [], {}, ARRAY, torch.zeros(2, 2), object()),
    ),
    ("a size of a column", call(CategoryEmbedding, ..., 4), WHOLE_NUMBER, (("a", 1), [2.5])),
    (
        "what has features",
        call(feature_embedding, ..., (3,), 0, 4),
        "one of 'node', 'edge'.",
        OBJECTS,
    ),
    ("a seed of a model", lambda seed: load("csa/zinc", seed=seed), WHOLE_NUMBER, OBJECTS),
    ("graphs to export", call(tensors_of, ..., ["C"]), "a Predictor, as load('csa/zinc')", OBJECTS),
    (
        "share",
        call(attention_entropy, ROWS[:, None, None], MASK, share=...),
        TRUE_OR_FALSE,
        OBJECTS,
    ),
    (
        "the mean of vectors",
        call(gradient_times_input, CGT(CGTConfig((3,))), BATCH, from_mean=...),
        TRUE_OR_FALSE,
        OBJECTS,
    ),
    ("a task of one's own", call(own_recipe, "csa/zinc", ..., ["y"]), "one of regression", OBJECTS),
    (
        "a level",
        call(own_recipe, "csa/zinc", "regression", ["y"], level=...),
        "one of graph, node, edge.",
        OBJECTS,
    ),
    (
        "features",
        call(own_recipe, "csa/zinc", "regression", ["y"], ...),
        "one of any, zinc, ogb.",
        OBJECTS[1:],
    ),
    (
        "largest_fragment",
        call(own_recipe, "csa/zinc", "regression", ["y"], largest_fragment=...),
        TRUE_OR_FALSE,
        OBJECTS,
    ),
    (
        "a scale",
        call(own_recipe, "csa/zinc", "regression", ["y"], scale=...),
        "mean and sd, each with 1 number(s).",
        OBJECTS[1:],
    ),
    (
        "vocabularies",
        call(own_recipe, "csa/zinc", "regression", ["y"], vocabularies=...),
        "two, of nodes and of edges.",
        OBJECTS[1:],
    ),
    (
        "categories",
        call(own_recipe, "csa/zinc", "regression", ["y"], None, num_node_types=...),
        "a tuple",
        (None, 2.5, {}, object()),
    ),
    ("a level of targets", call(recipe_for, "csa/zinc", CHAINS, ...), "one of regression", OBJECTS),
    (
        "a recipe to scale",
        call(standardised, ..., three_chains()),
        "a Recipe, or the name",
        OBJECTS,
    ),
    ("data to scale", call(standardised, "csa/zinc", ...), "a GraphDataset.", OBJECTS),
    ("a recipe with a form", call(with_form, ..., "direct"), "a Recipe.", OBJECTS),
    ("a form", call(with_form, get_recipe("csa/zinc"), ...), "one of factorised", OBJECTS),
    (
        "means",
        call(tasks.Scale, ..., (1.0,)),
        "a tuple of numbers each.",
        (None, ["a"], [None], "a"),
    ),
    ("sizes of classes", call(tasks.node_classification, 2, ...), "a list of sizes", (5, "ab", {})),
    (
        "a size of a class",
        call(tasks.node_classification, 2, ...),
        WHOLE_NUMBER,
        (["a", 1], [-1, 1]),
    ),
    ("a task with distances", call(tasks.with_distances, ..., 2, 0.1), TASK, OBJECTS),
    (
        "the weight of distances",
        call(tasks.with_distances, REGRESSION, 2, ...),
        "a number above 0.",
        (None, [], "a", ARRAY, -1.0, float("nan"), True),
    ),
    (
        "the reduction of distances",
        call(tasks.with_distances, REGRESSION, 2, 0.1, ...),
        "one of 'sum', 'mean'.",
        OBJECTS,
    ),
    ("the model of a step", call(step_costs, ..., REGRESSION, BATCH), MODEL_OF_TORCH, OBJECTS),
    ("the task of a step", call(step_costs, MODEL, ..., BATCH), TASK, OBJECTS),
    (
        "the model of a forward pass",
        call(kept_bytes, ..., REGRESSION, BATCH),
        MODEL_OF_TORCH,
        OBJECTS,
    ),
    ("the task of a forward pass", call(kept_bytes, MODEL, ..., BATCH), TASK, OBJECTS),
    ("the model of a prediction", call(prediction_memory, ..., BATCH), MODEL_OF_TORCH, OBJECTS),
    ("the batch of a prediction", call(prediction_memory, MODEL, ...), A_BATCH, OBJECTS),
    ("a batch to stretch", call(stretched, ..., 1, 1), A_BATCH, OBJECTS),
    ("graphs of a stretched batch", call(stretched, BATCH, ..., 1), WHOLE_NUMBER, OBJECTS),
    ("a model to count", call(count_parameters, ...), MODEL_OF_TORCH, OBJECTS),
    *(
        (
            f"the optimizer of {schedule.func.__name__}",
            call(schedule, ..., 10),
            OPTIMIZER_OF_TORCH,
            OBJECTS,
        )
        for schedule in (
            partial(warmup_then_linear, warmup=2),
            partial(warmup_then_cosine, warmup=2),
            partial(halve_on_plateau, patience=2, mode="min"),
        )
    ),
    ("steps", call(warmup_then_linear, OPTIMIZER, ..., warmup=0), WHOLE_NUMBER, OBJECTS),
    (
        "a warm-up",
        call(warmup_then_linear, OPTIMIZER, 10, warmup=...),
        "a number of steps, or a share of them.",
        (None, [], "a", True, float("nan"), float("inf"), ARRAY),
    ),
    (
        "the last rate",
        call(warmup_then_linear, OPTIMIZER, 10, warmup=0, end=...),
        "a number, 0 or more.",
        (None, [], "a", True, -1.0, float("nan"), float("inf"), ARRAY),
    ),
    (
        "quarter",
        call(warmup_then_cosine, OPTIMIZER, 9, warmup=0, quarter=...),
        TRUE_OR_FALSE,
        OBJECTS,
    ),
    (
        "mode",
        call(halve_on_plateau, OPTIMIZER, 9, patience=2, mode=...),
        "one of 'min', 'max'.",
        OBJECTS,
    ),
]


@pytest.mark.parametrize(
    ("function", "expected", "values"), [row[1:] for row in CALLS], ids=[row[0] for row in CALLS]
)
def test_an_argument_of_a_wrong_type_raises_one_sentence(function, expected, values):
    for value in values:
        with pytest.raises(ValueError, match="expected") as raised:
            function(value)
        sentence = str(raised.value)
        assert f"expected {expected}" in sentence
        assert "\n" not in sentence
        assert len(sentence) < 500


NUMBER = torch.tensor(0.5)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (
            partial(probabilities, NUMBER, MASK),
            "attention has shape [] and mask [1, 3]; expected [B",
        ),
        (partial(attention_rollout, NUMBER, MASK), "attention has shape [] and mask [1, 3]; expec"),
        (partial(head_similarity, NUMBER, ROWS, MASK), "attention has shape [] and mask [1, 3]; e"),
        (partial(attention_by_kind, NUMBER, NUMBER, MASK), "attention has shape [] and mask [1, 3"),
        (partial(token_mask, NUMBER, 1), "mask is torch.float32 []; expected torch.bool [B, N]."),
        (
            partial(token_mask, ROWS, 1),
            "mask is torch.float32 [1, 3, 3]; expected torch.bool [B, N]",
        ),
        (
            partial(read_by_graph, ROWS, NUMBER),
            "mask is torch.float32 []; expected torch.bool [B, N",
        ),
        (
            partial(load("csa/zinc").predict, NUMBER),
            "graphs is of type Tensor; expected a list of S",
        ),
        (
            partial(load("csa/zinc").seconds_of, 5),
            "sizes is of type int; expected a list of numbers",
        ),
    ],
)
def test_tensors_without_the_axes_expected_raise_one_sentence(function, says):
    with pytest.raises(ValueError, match="expected") as raised:
        function()
    assert says in str(raised.value)


@pytest.mark.parametrize("key", [None, "abc", b"x", [None], ["abc"], [[0], [1, 2]], 2.5])
def test_a_selection_of_graphs_that_is_none_raises(key):
    with pytest.raises((KeyError, TypeError), match="expected"):
        three_chains()[key]
