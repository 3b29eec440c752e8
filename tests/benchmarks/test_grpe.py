"""What the benchmark compares is comparable; how fast is not a matter of tests, memory is."""

import pytest
import torch

from benchmarks.costs import peak_mb, traced
from benchmarks.grpe import (
    MEMORY_BAR,
    METHODS,
    Case,
    a_vector_for_each_pair,
    check_equal,
    gathered,
    kernel,
    learned_bias,
)
from gtcourse import load_dataset
from gtcourse.models.grpe import RelationTables


def case_of(nodes, graphs):
    torch.manual_seed(0)
    return Case(load_dataset("molecules"), nodes, graphs)


def test_a_vector_for_each_pair_is_the_same_function_with_the_same_gradients():
    check_equal(case_of(40, 2))


@pytest.mark.parametrize("name", ["key", "query", "value", "relation"])
def test_a_difference_is_seen(name, monkeypatch):
    case = case_of(20, 2)

    def other(case):
        changed = getattr(case, name).clone()
        changed[0, 0] = (changed[0, 0] + 1) % 12
        given = {**dict(case.named_parameters()), "relation": case.relation, name: changed}
        tables = RelationTables(given["key"], given["query"], given["value"])
        return case.attention(case.x, given["relation"], tables)

    monkeypatch.setattr("benchmarks.grpe.gathered", other)
    with pytest.raises(AssertionError):
        check_equal(case)


def test_the_learned_bias_is_grpes_with_scalars_alone():
    case = case_of(40, 2).double()
    only = case.attention(case.x, case.relation, RelationTables(bias=case.bias))
    torch.testing.assert_close(learned_bias(case), only, rtol=1e-9, atol=1e-9)


def test_every_method_gives_what_it_uses_a_gradient():
    case = case_of(12, 1)
    names = [name for name, _ in case.named_parameters()]
    tables = {"key", "query", "value"}
    for method in METHODS.values():
        used = {
            name
            for name, gradient in zip(names, case.step(method)()[1:], strict=True)
            if gradient is not None
        }
        layer = "plain" if method is learned_bias else "attention"
        assert {name.split(".")[0] for name in used} == (
            {"x", "bias", "plain"} if method is learned_bias else {"x", "attention"} | tables
        )
        assert len([name for name in used if name.startswith(layer)]) == 8


def test_grpe_takes_hardly_more_memory_than_a_learned_bias():
    """Bytes of tensors are the same on every machine."""
    case = case_of(512, 1)
    bias, ours = (traced(case.step(method)) for method in (learned_bias, gathered))
    assert peak_mb(ours) <= MEMORY_BAR * peak_mb(bias)
    # A bias that is learned has no fused kernel on a CPU.
    assert kernel(bias) == "aten::_scaled_dot_product_attention_math"


def test_a_vector_for_each_pair_takes_ten_times_as_much():
    case = case_of(128, 2)
    ours, vectors = (traced(case.step(m)) for m in (gathered, a_vector_for_each_pair))
    assert peak_mb(vectors) > 10 * peak_mb(ours)
