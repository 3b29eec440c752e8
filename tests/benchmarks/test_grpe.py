"""What the benchmark compares is comparable; how fast is not a matter of tests, memory is."""

import torch

from benchmarks.costs import peak_mb, traced
from benchmarks.grpe import (
    MEMORY_BAR,
    Case,
    a_vector_for_each_pair,
    check_equal,
    gathered,
    kernel,
    learned_bias,
)
from gtcourse import load_dataset


def case_of(nodes, graphs):
    torch.manual_seed(0)
    return Case(load_dataset("molecules"), nodes, graphs)


def test_a_vector_for_each_pair_is_the_same_function_with_the_same_gradients():
    check_equal(case_of(40, 2))


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
