r"""One form for every layer of the course: a logit, a message, a normaliser, and the pairs' share.

.. math::
    z_{ic} = \sum_j a_{ijc}\, m_{ijc}, \qquad
    a_{i \cdot c} = \operatorname{normaliser}(s_{i \cdot c}) \cdot \text{gate}, \qquad
    m_{ij} = v_j + v_{ij}

:mod:`gtcourse.models.frame_models` reads the terms from the package's own layers.

Shapes: B graphs, N nodes (padded), d width, C weights of a pair: 1, H heads or d channels. Channel
c of a message is weighed by weight c // (d / C).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


@dataclass(frozen=True)
class Terms:
    """What one layer puts into the form for one batch.

    Attributes:
        content: ``[B, C, N, N]``, the logits as far as the two nodes make them; row i receives.
        value: ``[B, N, d]``, the value of node j.
        structure: ``[B, C, N, N]``, what the pair adds to the logits, or multiplies node content
            with; None where it adds nothing.
        pair_value: ``[B, d, N, N]``, what the pair adds to the value; None for nothing.
        gate: ``[B, C, N, N]``, what the pair multiplies the weights by after the normaliser; None
            for nothing.
        mask: bool, broadcast to ``[B, C, N, N]``, True where i attends to j; None for all pairs.
        normaliser: a name in ``NORMALISERS``.
    """

    content: Tensor
    value: Tensor
    structure: Tensor | None = None
    pair_value: Tensor | None = None
    gate: Tensor | None = None
    mask: Tensor | None = None
    normaliser: str = "softmax"

    @property
    def logits(self) -> Tensor:
        r"""The sum, ``[B, C, N, N]``, and :math:`-\infty` where i does not attend to j."""
        logits = self.content if self.structure is None else self.content + self.structure
        return logits if self.mask is None else logits.masked_fill(~self.mask, -math.inf)


def attend(terms: Terms) -> tuple[Tensor, Tensor]:
    """What each node gathers, ``[B, N, d]``, and the weights, ``[B, C, N, N]``.

    A node that attends to none gathers zeros. What a layer does with the sum (an output
    projection, a node's own vector beside it) is not part of the form:
    :class:`gtcourse.models.frame_models.Frame` has it as ``after``.
    """
    weights = NORMALISERS[terms.normaliser](terms.logits)
    if terms.gate is not None:
        weights = weights * terms.gate
    shape = (weights.shape[1], -1)  # C groups of d / C channels
    value = terms.value.mT.unflatten(1, shape)  # [B, C, K, N]
    z = torch.einsum("bcij,bckj->bcki", weights, value)
    if terms.pair_value is not None:
        pair_value = terms.pair_value.unflatten(1, shape)  # [B, C, K, N, N]
        z = z + torch.einsum("bcij,bckij->bcki", weights, pair_value)
    return z.flatten(1, 2).mT, weights


def softmax(logits: Tensor) -> Tensor:
    """Weights that sum to one over j; zeros for a node that attends to none."""
    alive = (logits > -math.inf).any(dim=-1, keepdim=True)
    return logits.masked_fill(~alive, 0.0).softmax(dim=-1).masked_fill(~alive, 0.0)


def total(logits: Tensor) -> Tensor:
    r""":math:`e^s`, divided by nothing: logits of 0 make a sum over those attended to."""
    return logits.exp()


def gates(logits: Tensor) -> Tensor:
    r""":math:`\sigma(s)` over the sum of all attended to and :math:`10^{-6}` (GatedGCN)."""
    opened = logits.sigmoid()
    return opened / (opened.sum(dim=-1, keepdim=True) + 1e-6)


NORMALISERS: dict[str, Callable[[Tensor], Tensor]] = {
    "softmax": softmax,
    "sum": total,
    "gates": gates,
}
r"""All of them take :math:`-\infty` for "masked", and give it no weight."""


class SpecialCase(NamedTuple):
    """``general`` contains ``special`` under a condition, ``when``; file and name of the proof.

    A layer contains another if with some of its weights, or of its inputs, it computes the same.
    """

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
