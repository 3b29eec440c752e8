"""Checks of chapter 12: padding, bytes of pairs, shortest paths by products, a place to go on.

Shapes: B graphs, N nodes (padded), H heads, d width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from gtcourse.exercises.verdict import Mistake, checker, expect


@checker("of the pairs of a batch; and alike sizes side by side waste less.")
def check_padding_share(padding_share: Callable[[list[int], int], float]) -> None:
    """``padding_share(sizes, batch_size)`` to a number from 0 to 1."""
    for sizes, batch_size in (([2, 6, 3, 5, 4], 2), ([2, 3, 4, 5, 6], 2), ([4, 4, 4], 3)):
        got = padding_share(list(sizes), batch_size)
        if isinstance(got, Tensor) and got.numel() == 1:
            got = got.item()
        if not isinstance(got, int | float):
            raise Mistake(f"expected a number, got a {type(got).__name__}.")
        right = _padding(sizes, batch_size)
        if abs(got - right) < 1e-6:
            continue
        for message, wrong in _other_paddings(sizes, batch_size).items():
            if abs(got - wrong) < 1e-6:
                raise Mistake(message)
        raise Mistake(
            f"for sizes {sizes} in batches of {batch_size} the share is {right:.4f}, got {got:.4f}."
        )


@checker("H numbers for a pair, or d of them.")
def check_pair_bytes(pair_bytes: Callable[[int, int, int, int], tuple[int, int]]) -> None:
    """``pair_bytes(B, N, H, d)`` to the bytes of attention weights and of CSA's filters."""
    B, N, H, d = 3, 7, 6, 30
    got = pair_bytes(B, N, H, d)
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Mistake("expected two numbers of bytes: of attention weights and of filters.")
    pairs = B * N * N
    mistakes = {
        "weights": {
            "these are numbers; one has 4 bytes.": pairs * H,
            "a number in single precision has 4 bytes, not 2.": 2 * pairs * H,
            "a number in single precision has 4 bytes, not 8.": 8 * pairs * H,
            "these are bits; 8 of them are a byte.": 32 * pairs * H,
            "each of the B graphs has its own pairs.": 4 * N * N * H,
            "each head has its own weights.": 4 * pairs,
            "a graph has N² pairs.": 4 * B * N * H,
            "the width is no part of it: a head has one weight for a pair.": 4 * pairs * d,
        },
        "filters": {
            "these are numbers; one has 4 bytes.": pairs * d,
            "a number in single precision has 4 bytes, not 2.": 2 * pairs * d,
            "a number in single precision has 4 bytes, not 8.": 8 * pairs * d,
            "these are bits; 8 of them are a byte.": 32 * pairs * d,
            "each of the B graphs has its own pairs.": 4 * N * N * d,
            "a filter has a number for each channel, not for each head.": 4 * pairs * H,
            "the channels of all heads together are d, not d for each head.": 4 * pairs * d * H,
            "these are the channels of one head; a filter has all d.": 4 * pairs * (d // H),
            "a graph has N² pairs.": 4 * B * N * d,
        },
    }
    rights = {"weights": 4 * pairs * H, "filters": 4 * pairs * d}
    for (name, right), count in zip(rights.items(), got, strict=True):
        if count == right:
            continue
        for message, wrong in mistakes[name].items():
            if count == wrong:
                raise Mistake(f"{name}: {message}")
        raise Mistake(
            f"{name}: for B = {B}, N = {N}, H = {H}, d = {d} it is {right} bytes, got {count}."
        )


@checker("a pair's distance is the first power of A that reaches it, for all graphs at once.")
def check_distances(distances: Callable[[Tensor, Tensor], Tensor]) -> None:
    """``distances(A, mask)``: ``[B, N, N]`` and ``[B, N]`` bool to ``[B, N, N]`` int64."""
    graphs = (
        [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],  # a path one way
        [(0, 1), (1, 2), (2, 0), (3, 1)],  # a ring one way, and a way into it
        [],  # a single node
        [(0, 1), (1, 0)],  # there and back, and two alone
    )
    sizes, N = (6, 4, 1, 4), 6
    A, mask = torch.zeros(len(sizes), N, N).bool(), torch.zeros(len(sizes), N).bool()
    for b, (edges, size) in enumerate(zip(graphs, sizes, strict=True)):
        mask[b, :size] = True
        for i, j in edges:
            A[b, i, j] = True
    steps = [_steps(edges, size) for edges, size in zip(graphs, sizes, strict=True)]

    def table(of: Callable[[int | None], int], padding: int = -1) -> Tensor:
        """The distances with ``of`` of each, and at padding off the diagonal -1."""
        D = torch.full((len(sizes), N, N), -1)
        for b, size in enumerate(sizes):
            for i in range(N):
                D[b, i, i] = padding if i >= size else -1
            for i in range(size):
                for j in range(size):
                    D[b, i, j] = of(steps[b][i][j])
        return D

    right = table(lambda n: -1 if n is None else n)
    got = distances(A, mask)
    if isinstance(got, Tensor) and got.dtype is torch.bool:
        raise Mistake("these are true and false; a distance is a number of steps.")
    expect(
        got,
        right,
        {
            "the way is the wrong one: row i has the steps from i to j.": right.mT,
            "a node is 0 steps from itself.": right - torch.diag_embed(mask.long()),
            "padding is no node: -1, on the diagonal too.": table(
                lambda n: -1 if n is None else n, padding=0
            ),
            "a pair without a path has -1, not 0.": table(lambda n: n or 0) * _pairs(mask)
            - (~_pairs(mask)).long(),
            "a pair without a path has -1, not 0, and so has padding.": table(
                lambda n: n or 0
            ).clamp(min=0),
            "it stops after one step.": table(lambda n: n if n is not None and n <= 1 else -1),
            "it stops after two steps.": table(lambda n: n if n is not None and n <= 2 else -1),
            "it stops one step early: the longest path has N - 1.": table(
                lambda n: n if n is not None and n < N - 1 else -1
            ),
            "each distance is one too large.": table(lambda n: -1 if n is None else n + 1),
            "each distance but 0 is one too small.": table(
                lambda n: -1 if n is None else max(n - 1, 0)
            ),
            "it has the last step at which a pair is joined by a walk; it is the first.": (
                _last_walks(A, mask)
            ),
        },
    )


@checker("seed, epoch and place in it are all that a run has to remember of its order.")
def check_next_batch(
    next_batch: Callable[[Callable[[int], Tensor], int, int, int], Tensor],
) -> None:
    """``next_batch(order, steps, num_graphs, batch_size)`` to the numbers of the graphs."""
    num_graphs, batch_size, cases = 7, 3, (0, 1, 2, 3, 5, 7)

    def numbers(epoch: int) -> list[int]:
        return [((3 + epoch) * i + 5 * epoch + 2) % num_graphs for i in range(num_graphs)]

    def right(steps: int, batches: int = 3) -> list[int]:
        epoch, place = divmod(steps, batches)
        return numbers(epoch)[batch_size * place : batch_size * (place + 1)]

    def stream(steps: int) -> list[int]:
        at = batch_size * steps
        everything = [n for epoch in range(5) for n in numbers(epoch)]
        return everything[at : at + batch_size]

    mistakes = {
        "it is always the order of epoch 0; each epoch has its own.": lambda steps: numbers(0)[
            batch_size * (steps % 3) : batch_size * (steps % 3 + 1)
        ],
        "the epoch begins anew: graphs that it has seen are seen again.": lambda steps: numbers(
            steps // 3
        )[:batch_size],
        "this is the batch of the last step; the next one is wanted.": lambda steps: right(
            max(steps - 1, 0)
        ),
        "one batch is left out: after `steps` steps the next has the number `steps`, counted from "
        "0.": lambda steps: right(steps + 1),
        "the last batch of an epoch is not full, but a step as well.": lambda steps: right(
            steps, batches=num_graphs // batch_size
        ),
        "a step is a batch, not a graph.": lambda steps: numbers(steps // num_graphs)[
            steps % num_graphs : steps % num_graphs + batch_size
        ],
        "the last batch is filled up from the next epoch; it stays short.": stream,
        "these are places in the order; the graphs at these places are wanted.": lambda steps: list(
            range(num_graphs)
        )[batch_size * (steps % 3) : batch_size * (steps % 3 + 1)],
        "these graphs come in ascending order; they come in that of the epoch.": lambda steps: (
            sorted(right(steps))
        ),
    }
    got = []
    for steps in cases:
        answer = next_batch(
            lambda epoch: torch.tensor(numbers(int(epoch))), steps, num_graphs, batch_size
        )
        if not isinstance(answer, Tensor | list | tuple):
            raise Mistake(f"expected a tensor of graphs' numbers, got a {type(answer).__name__}.")
        got.append([int(n) for n in answer])
    for message, wrong in mistakes.items():
        if got == [wrong(steps) for steps in cases]:
            raise Mistake(message)
    for steps, answer in zip(cases, got, strict=True):
        if answer != right(steps):
            raise Mistake(
                f"after {steps} steps with batches of {batch_size} of {num_graphs} graphs the next "
                f"are {right(steps)}, got {answer}."
            )


def _batches(sizes: Sequence[int], batch_size: int) -> list[Sequence[int]]:
    return [sizes[start : start + batch_size] for start in range(0, len(sizes), batch_size)]


def _padding(sizes: Sequence[int], batch_size: int, power: int = 2) -> float:
    batches = _batches(sizes, batch_size)
    held = sum(len(batch) * max(batch) ** power for batch in batches)
    return 1 - sum(n**power for n in sizes) / held


def _other_paddings(sizes: Sequence[int], batch_size: int) -> dict[str, float]:
    batches, share = _batches(sizes, batch_size), _padding(sizes, batch_size)
    real = sum(n * n for n in sizes)
    each = [1 - sum(n * n for n in batch) / (len(batch) * max(batch) ** 2) for batch in batches]
    full = [batch for batch in batches if len(batch) == batch_size]
    of_full = [n for batch in full for n in batch]
    return {
        "these are nodes; a batch holds N² pairs for each of its graphs.": _padding(
            sizes, batch_size, power=1
        ),
        "a batch is as wide as its own largest graph, not as the largest of all.": 1
        - real / (len(sizes) * max(sizes) ** 2),
        "this is the share that is real; padding is the rest.": 1 - share,
        "this is padding over real pairs; it is over all pairs that are held.": share / (1 - share),
        "this is the mean of the batches' shares; a wide batch counts for more.": sum(each)
        / len(each),
        "the last batch has fewer graphs than the others.": 1
        - real / sum(batch_size * max(batch) ** 2 for batch in batches),
        "the last batch is missing.": _padding(of_full, batch_size) if of_full else 0.0,
        "the graphs are put in order of size; they come as they are given.": _padding(
            sorted(sizes), batch_size
        ),
    }


def _steps(edges: Sequence[tuple[int, int]], size: int) -> list[list[int | None]]:
    """How many steps it is from each node to each, breadth first; None where there is no way."""
    steps = []
    for start in range(size):
        known, border = {start: 0}, [start]
        while border:
            found = []
            for node in border:
                for i, j in edges:
                    if i == node and j not in known:
                        known[j] = known[node] + 1
                        found.append(j)
            border = found
        steps.append([known.get(j) for j in range(size)])
    return steps


def _pairs(mask: Tensor) -> Tensor:
    return mask[:, :, None] & mask[:, None]


def _last_walks(A: Tensor, mask: Tensor) -> Tensor:
    """What is left when a later walk overwrites an earlier one."""
    D, walks = torch.full(A.shape, -1), torch.diag_embed(mask).float()
    for step in range(A.shape[-1]):
        D[walks > 0] = step
        walks = ((walks @ A.float()) > 0).float()
    return D
