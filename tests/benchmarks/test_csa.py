"""What the benchmark compares is comparable; how fast is not a matter of tests, memory is."""

from dataclasses import replace

import pytest
import torch

from benchmarks import csa
from benchmarks.costs import peak_mb_of
from benchmarks.csa import (
    CHUNKED_BAR,
    CONFIG,
    DEVICE,
    FORMS,
    MEMORY_BAR,
    OF_ONE_LAYER,
    WRITTEN,
    Case,
    check_equal,
    models,
    molecules,
    training_step,
)
from gtcourse import load_dataset
from gtcourse.models import csa_kernel as csa_filters


@pytest.fixture(scope="module")
def batch():
    return molecules(load_dataset("molecules")).to(DEVICE)


def case_of(nodes, graphs):
    torch.manual_seed(0)
    return Case(load_dataset("molecules"), nodes, graphs).to(DEVICE)


def steps_in_float64(batch):
    """Of two layers, on a large molecule and two that are padded."""
    given, few = (
        models(replace(CONFIG, num_layers=2)),
        batch.select(torch.tensor([0, 30, 31], device=DEVICE)),
    )
    return {name: training_step(model.to(DEVICE).double(), few) for name, model in given.items()}


def test_the_batch_is_of_the_largest_molecules_that_are_small_enough(batch):
    assert batch.num_graphs == 32
    assert batch.mask.shape[1] == int(batch.sizes.max()) == 37
    assert int(batch.sizes.min()) >= 32
    with_rings = batch.encodings["ring"].flatten(1).any(dim=1)
    assert with_rings.sum() > 16


def test_all_forms_of_the_model_are_the_same_function_with_the_same_gradients(batch, monkeypatch):
    monkeypatch.setattr(csa_filters, "CHUNK", 2**14)
    monkeypatch.setattr(csa_filters, "BLOCK", {"cpu": 2**15, "cuda": 2**15})
    steps = steps_in_float64(batch)
    assert [*steps] == [*FORMS, *WRITTEN]
    check_equal(steps)


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("left_out", ["values", "keep"])
def test_a_difference_is_seen(name, left_out, batch, monkeypatch):
    terms, gather = WRITTEN[name]

    def other(scores, value, terms, keep):
        if left_out == "values":
            terms = terms._replace(values=0 * terms.values)
        return gather(scores, value, terms, None if left_out == "keep" else keep)

    monkeypatch.setitem(csa.WRITTEN, name, csa.Written(terms, other))
    steps = steps_in_float64(batch)
    with pytest.raises(AssertionError):
        check_equal({"direct": steps["direct"], name: steps[name]})


def test_all_forms_of_one_attention_are_the_same_function_with_the_same_gradients():
    case = case_of(20, 2).double()
    steps = {form: case.step(form) for form in (*OF_ONE_LAYER, *WRITTEN)}
    check_equal(steps)
    z, *gradients = steps["direct"]()
    assert z.shape == (2, 20, 64)
    assert len(gradients) == len([*case.parameters()])


def test_the_filters_cost_ten_layers_no_more_than_half_of_directs_memory(batch):
    """Bytes of tensors are the same on every machine."""
    given, some = models(), batch.select(torch.arange(6, device=DEVICE))
    direct, ours = (
        peak_mb_of(training_step(given[form].to(DEVICE), some), DEVICE)
        for form in ("direct", "factorised")
    )
    assert ours <= MEMORY_BAR * direct


@pytest.mark.slow
def test_chunks_cost_a_long_graph_less_than_an_eighth_of_directs_memory():
    case = case_of(512, 1)
    direct, chunked = (peak_mb_of(case.step(form), DEVICE) for form in ("direct", "chunked"))
    assert chunked < CHUNKED_BAR * direct
