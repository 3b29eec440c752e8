"""Which layer contains which: each case with the test that proves it.

A layer contains another if with some of its weights, or of its inputs, it computes the same.
"""

from typing import NamedTuple


class SpecialCase(NamedTuple):
    """``general`` contains ``special`` under a condition, ``when``; file and name of the proof."""

    general: str
    special: str
    when: str
    file: str
    test: str


HERE = "test_special_cases.py"
SPECIAL_CASES = (
    SpecialCase(
        "Graphormer", "Transformer", "no bias",
        HERE, "test_graphormer_without_a_bias_is_multi_head_attention",
    ),
    SpecialCase(
        "Graphormer", "neighbours", "a bias of −∞ off the edges",
        HERE, "test_a_bias_of_minus_infinity_leaves_the_neighbours",
    ),
    SpecialCase(
        "neighbours", "mean", "queries and keys that all nodes share",
        HERE, "test_equal_logits_on_neighbours_make_their_mean",
    ),
    SpecialCase(
        "Graphormer", "GIN", "a whole layer, by explicit weights, with the degree in the nodes",
        "test_facts.py", "test_gin_equals_pyg",
    ),
    SpecialCase(
        "EGT-U", "Graphormer", "no clip, and pairs that are rows of a table",
        HERE, "test_egt_without_gate_and_clip_is_graphormers_bias",
    ),
    SpecialCase(
        "EGT", "EGT-U", "gates that are open, σ(g) = 1",
        HERE, "test_egt_with_open_gates_is_egt_u",
    ),
    SpecialCase(
        "GRPE", "Graphormer", "one channel of each head set aside: query 1, key 0",
        HERE, "test_grpe_with_a_channel_of_each_head_set_aside_is_graphormer",
    ),
    SpecialCase(
        "GRPE", "bias + value", "a number and a vector for each relation, no contexts",
        HERE, "test_csa_with_vectors_of_relations_is_grpe_without_contexts",
    ),
    SpecialCase(
        "CSA", "bias + value", "numbers for heads, and edge values, made of a pair's relation",
        HERE, "test_csa_with_vectors_of_relations_is_grpe_without_contexts",
    ),
    SpecialCase(
        "CSA", "Graphormer", "the same number in all channels of a head, no edge values",
        "test_csa.py", "test_logits_constant_on_a_heads_channels_are_graphormers_bias",
    ),
    SpecialCase(
        "CSA", "GraphiT", "the logarithm of a kernel in all channels",
        "test_csa.py", "test_the_logarithm_of_a_kernel_is_graphit",
    ),
)  # fmt: skip
