"""Estimates of the time and memory of a run."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from gtcourse.encodings import encode
from gtcourse.graphs import GraphDataset, collate
from gtcourse.models import CGT
from gtcourse.recipes import get_recipe
from gtcourse.recipes.recipe import with_form
from gtcourse.runs.estimate import estimate, in_words, memory_of, work_of
from gtcourse.train.costs import step_costs, stretched
from tests.graphs.small import chain
from tests.train.tiny_data import tiny

COMPLETE = get_recipe("csa-rings/zinc")
SMALL = replace(COMPLETE.build_model.args[0], num_layers=2)
RECIPE = COMPLETE.at(epochs=3, batch_size=4, build_model=partial(CGT, SMALL))


def test_memory_is_estimated_for_a_batch_of_the_largest_graphs():
    data = tiny("zinc", 6)
    model = RECIPE.build_model()
    memory, largest = memory_of(RECIPE, model, data, 4)
    assert largest == 7
    graphs = [graph for graph in data if graph.num_nodes == 7][:1] * 4
    batch = collate(encode(graphs, *RECIPE.transforms))
    assert memory == step_costs(model, RECIPE.task, batch).memory


def test_time_is_estimated_for_all_batches_without_changing_the_random_state():
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    found = estimate(RECIPE, tiny("zinc", 6))
    assert torch.rand(3).equal(expected)
    assert found.seconds == found.encoding + 3 * 2 * found.batch
    assert found.batch > 0
    assert "for 3 epochs of 2 steps" in found.sentence()
    assert "with the largest graph (7 nodes)" in found.sentence()


def test_the_time_of_a_padded_batch_grows_with_its_largest_graph():
    data = tiny("zinc", 6)
    model = RECIPE.build_model()
    work = work_of(RECIPE, model, data)
    sample = collate(encode(data.train[:2], *RECIPE.transforms))
    for widths in ([5, 7, 40], [300]):
        nodes = torch.tensor(widths)
        padded = stretched(sample, len(widths), max(widths))
        counted = step_costs(model, RECIPE.task, padded).kept
        assert abs(work(nodes, nodes) - counted) < 0.2 * counted


def test_the_time_of_a_list_of_edges_grows_with_nodes_and_edges():
    recipe = get_recipe("gin-100k/zinc")
    work = work_of(recipe, recipe.build_model(), tiny("zinc", 6))
    assert work(torch.tensor([5, 300]), torch.tensor([8, 600])) == 913


def test_a_larger_graph_makes_the_estimate_of_an_epoch_longer():
    chains = [chain(0, 1, 2, 3) for _ in range(15)]
    with_large = [*chains[:-1], chain(*[0] * 60)]
    split = torch.arange(3).repeat(5).sort().values.flip(0)  # the last is for training
    ordinary, longer = (
        estimate(RECIPE, GraphDataset("chains", "made here", graphs, split))
        for graphs in (chains, with_large)
    )
    assert longer.batch > 2 * ordinary.batch


def test_accumulation_reduces_the_steps_but_not_the_estimated_time():
    found = estimate(RECIPE.at(batch_size=1), tiny("zinc", 6), accumulate=4)
    assert found.seconds == pytest.approx(found.encoding + 3 * 6 * found.batch)
    assert "for 3 epochs of 2 steps" in found.sentence()
    counted_in_steps = RECIPE.at(batch_size=1, epochs=100, steps=5)
    assert estimate(counted_in_steps, tiny("zinc", 6), accumulate=4).epochs == 3


def test_memory_is_not_estimated_for_models_on_edge_lists():
    found = estimate(get_recipe("gin-100k/zinc").at(epochs=1, batch_size=4), tiny("zinc", 6))
    assert found.memory is None
    assert "GiB" not in found.sentence()


def test_the_fused_form_of_csa_has_an_estimate_of_time_but_not_of_memory():
    recipe = with_form(get_recipe("csa/zinc").at(epochs=1, batch_size=4), "fused")
    found = estimate(recipe, tiny("zinc", 6))
    assert found.memory is None
    assert found.batch > 0


def test_a_time_is_given_in_the_unit_that_suits_it():
    words = [in_words(seconds) for seconds in (0.2, 80, 600, 7200, 560_000)]
    assert words == [
        "about 1 s",
        "about 80 s",
        "about 10 minutes",
        "about 2 hours",
        "about 156 hours",
    ]
