"""Checks of chapter 12: padding, bytes of pairs, shortest paths by products, a place to go on.

Shapes: B graphs, N nodes (padded), H heads, d width.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from gtcourse.exercises.checker import Mistake, compare


def _mean_of_batches(sizes: list[int], batch_size: int) -> float:
    batches = [sizes[start : start + batch_size] for start in range(0, len(sizes), batch_size)]
    return sum(check_padding_share.reference(batch, batch_size) for batch in batches) / len(batches)


@compare(
    "padding is counted in pairs, and batches of similar sizes waste less.",
    cases=[([2, 6, 3, 5, 4], 2), ([2, 3, 4, 5, 6], 2), ([4, 4, 4], 3)],
    atol=1e-6,
    mistakes={
        "the graphs were sorted; take them in the given order.": lambda sizes, b: (
            check_padding_share.reference(sorted(sizes), b)
        ),
        "this counts nodes; a batch has N² pairs for each graph.": {"power": 1},
        "a batch is padded to its own largest graph, not to the largest of all.": (
            lambda sizes, batch_size: check_padding_share.reference(sizes, len(sizes))
        ),
        "this is the share of real pairs; return that of padding.": lambda *a: (
            1 - check_padding_share.reference(*a)
        ),
        "this is the mean of the batches' shares; larger batches count for more.": _mean_of_batches,
        "the last batch has fewer graphs than the others.": {"full": True},
    },
)
def check_padding_share(sizes, batch_size, power=2, full=False):
    """``padding_share(sizes, batch_size)`` to a number from 0 to 1."""
    held = 0
    for start in range(0, len(sizes), batch_size):
        batch = sizes[start : start + batch_size]
        held += (batch_size if full else len(batch)) * max(batch) ** power
    return 1 - sum(n**power for n in sizes) / held


@compare(
    "H numbers per pair for weights, d for filters.",
    cases=[(3, 7, 6, 30), (5, 4, 2, 14)],
    parts=["weights", "filters"],
    mistakes={
        "this counts numbers; each has 4 bytes.": {"size": 1},
        "a number in single precision has 4 bytes, not 2.": {"size": 2},
        "a number in single precision has 4 bytes, not 8.": {"size": 8},
        "this counts bits; a byte has 8.": {"size": 32},
        "each of the B graphs has its own pairs.": {"graphs": 1},
        "a graph has N² pairs.": {"power": 1},
        "weights and filters are swapped: a filter has one number per channel.": (
            lambda B, N, H, d: (4 * B * N * N * d, 4 * B * N * N * H)
        ),
    },
)  # fmt: skip
def check_pair_bytes(B, N, H, d, size=4, graphs=None, power=2):
    """``pair_bytes(B, N, H, d)`` to the bytes of attention weights and of CSA's filters."""
    pairs = (graphs or B) * N**power
    return size * pairs * H, size * pairs * d


def _batch(sizes: list[int], graphs: list[list[tuple[int, int]]]) -> tuple[Tensor, Tensor]:
    A = torch.zeros(len(sizes), max(sizes), max(sizes), dtype=torch.bool)
    for b, edges in enumerate(graphs):
        for i, j in edges:
            A[b, i, j] = True
    return A, torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]


# A path one way; a ring one way, and a way into it; a single node; there and back, and two alone.
DIRECTED = _batch(
    [6, 4, 1, 4],
    [[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], [(0, 1), (1, 2), (2, 0), (3, 1)], [],
     [(0, 1), (1, 0)]],
)  # fmt: skip


def _changed(change: Callable) -> Callable:
    """A mistake that changes the distances D by ``change(D, mask)``."""
    return lambda A, mask: change(check_distances.reference(A, mask), mask)


@compare(
    "a pair's distance is the first power of A that reaches it, for all graphs at once.",
    cases=[DIRECTED, (DIRECTED[0][1:3, :5, :5], DIRECTED[1][1:3, :5])],
    mistakes={
        "the direction is wrong: row i has the steps from i to j.": _changed(lambda D, m: D.mT),
        "a node is 0 steps from itself.": _changed(lambda D, m: D - torch.diag_embed(m.long())),
        "a pair without a path has -1, not 0.": _changed(lambda D, m: D.clamp(min=0)),
        "padding has -1 everywhere: only real nodes are 0 steps from themselves.": (
            _changed(lambda D, m: torch.where(torch.eye(D.shape[1]).bool(), 0, D))
        ),
        "it stops after one step.": {"steps": 1},
        "it stops one step early: the longest path has N - 1.": {"steps": 4},
        "this is the last step at which a walk joins a pair; take the first.": {"last": True},
    },
)
def check_distances(A, mask, steps=5, last=False):
    """``distances(A, mask)``: ``[B, N, N]`` and ``[B, N]`` bool to ``[B, N, N]`` int64."""
    walks = torch.diag_embed(mask)
    D = torch.where(walks, 0, -1)
    for step in range(1, steps + 1):
        walks = walks.float() @ A.float() > 0
        D[walks if last else walks & (D < 0)] = step
    return D


def _order(epoch: int) -> Tensor:
    """Seven graphs, in another order in each epoch."""
    return torch.tensor([((3 + int(epoch)) * i + 5 * int(epoch) + 2) % 7 for i in range(7)])


def _numbers(batch: object) -> list[int]:
    if not isinstance(batch, Tensor | list | tuple):
        raise Mistake(f"expected a tensor of graph indices, got a {type(batch).__name__}.")
    return [int(n) for n in batch]


@compare(
    "seed, epoch and position are all that a run needs to store about its order.",
    cases=[(_order, steps, 7, 3) for steps in (0, 2, 1, 3, 5, 7)] + [(_order, 4, 6, 2)],
    view=_numbers,
    mistakes={
        "an epoch has ceil(n / b) batches; n // b + 1 is one too many where b divides n.": {
            "rounded": lambda batches: math.floor(batches) + 1
        },
        "this always uses the order of epoch 0; each epoch has its own.": lambda order, *rest: (
            check_next_batch.reference(lambda epoch: order(0), *rest)
        ),
        "the epoch restarts, so graphs are seen twice.": {"again": True},
        "this is the batch of the last step; return the next one.": {"shift": -1},
        "the last batch of an epoch is not full, but it is a step.": {"rounded": math.floor},
        "one batch is skipped: steps and batches are numbered from 0.": {"shift": 1},
    },
)
def check_next_batch(order, steps, num_graphs, batch_size, shift=0, again=False, rounded=math.ceil):
    """``next_batch(order, steps, num_graphs, batch_size)`` to the numbers of the graphs."""
    epoch, place = divmod(max(0, steps + shift), rounded(num_graphs / batch_size))
    start = 0 if again else place * batch_size
    return order(epoch)[start : start + batch_size].tolist()
