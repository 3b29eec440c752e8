"""Checks of chapter 12. Shapes: B graphs, N nodes (padded), H heads, d width."""

import math

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gtcourse.course.exercises.checker import (
    Mistake,
    adjacency,
    compare,
    integers,
    mistake,
    random,
)


@compare(([2, 6, 3, 5, 4], 2), ([2, 3, 4, 5, 6], 2), ([4, 4, 4], 3), atol=1e-6)
@mistake("the graphs were sorted; take them in order.", given=lambda sizes, b: (sorted(sizes), b))
@mistake("this counts nodes; a batch has N² pairs for each graph.", power=1)
@mistake("a batch is padded to its own largest graph.", given=lambda sizes, b: (sizes, len(sizes)))
@mistake("this is the share of real pairs; return that of padding.", then=lambda share: 1 - share)
def check_padding_share(sizes, batch_size, power=2):
    """Padding is counted in pairs, and batches of similar sizes waste less."""
    batches = [sizes[start : start + batch_size] for start in range(0, len(sizes), batch_size)]
    held = sum(len(batch) * max(batch) ** power for batch in batches)
    return 1 - sum(n**power for n in sizes) / held


class _AtMost(TorchDispatchMode):
    """Refuses tensors of more than ``limit`` numbers."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for part in tree_leaves(result):
            if isinstance(part, Tensor) and part.numel() > self.limit:
                shape = list(part.shape)
                limit = f"expected at most {self.limit} numbers, N · size or N · d"
                raise Mistake(f"a tensor of shape {shape} holds {part.numel()} numbers; {limit}.")
        return result


def _in_blocks(attention_in_blocks, q, k, v, scalars, size):
    with _AtMost(max(len(q) * size, q.numel(), v.numel())):
        return attention_in_blocks(q, k, v, scalars, size)


def _block_case(N, d, D, size, scale):
    q, k, v, scalars = random((N, d), (N, d), (N, d + 1), (D + 1,), seed=N)
    return [scale * q, scale * k, v, scalars, size]


@compare(
    _block_case(12, 3, 4, 5, scale=1),
    _block_case(11, 4, 2, 3, scale=8),  # exp of these logits is infinite
    _block_case(9, 2, 20, 4, scale=1),  # more scalars than distances
    run=_in_blocks,
)
@mistake("when the largest logit grows, what was summed before has to shrink.", shrinks=False)
@mistake("the largest logit has to be subtracted before exp, or it overflows.", shift=0)
@mistake("each block was divided by its own sum; divide once, at the end.", local=True)
@mistake("distances count from the node's own number, not from its place in the block.", first=1)
@mistake("the last block may be smaller than the others, but it counts.", whole=True)
@mistake("divide the dot products by √d.", power=0)
def check_attention_in_blocks(
    q, k, v, scalars, size, shrinks=True, shift=1, local=False, first=0, whole=False, power=0.5
):
    """The softmax of all keys, from blocks, with numbers in proportion to N."""
    N, d = q.shape
    largest = q.new_full((N, 1), -math.inf)
    total = q.new_zeros(N, 1)
    z = torch.zeros_like(v)
    for start in range(0, N // size * size if whole else N, size):
        keys = slice(start, start + size)
        place = torch.arange(N)[keys] - first * start
        away = (torch.arange(N)[:, None] - place).abs().clamp(max=len(scalars) - 1)
        logits = q @ k[keys].T / d**power + scalars[away]  # [N, size]
        new = torch.maximum(largest, logits.amax(1, keepdim=True))
        weights = (logits - shift * new).exp()
        earlier = (largest - new).exp() if shrinks and shift else torch.ones_like(total)
        if local:
            weights = weights / weights.sum(1, keepdim=True)
            earlier = torch.ones_like(total)
        total = earlier * total + weights.sum(1, keepdim=True)
        z = earlier * z + weights @ v[keys]
        largest = new
    return z / total


# A path one way; a ring one way, and a way into it; there and back, and nodes alone.
DIRECTED = torch.stack([
    adjacency(6, (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), directed=True),
    adjacency(6, (0, 1), (1, 2), (2, 0), (3, 1), directed=True),
    adjacency(6, (0, 1), (1, 0), directed=True),
])  # fmt: skip
REAL = torch.arange(6) < torch.tensor([[6], [4], [3]])


@compare((DIRECTED, REAL), (DIRECTED[1:, :5, :5], REAL[1:, :5]))
@mistake("row i holds the steps from i to j, not from j to i.", then=lambda D: D.mT)
@mistake("a pair without a path has -1, not 0.", never=0)
@mistake("padding has -1 everywhere.", given=lambda A, mask: (A, mask | True))
@mistake("it stops one step early: a path can have N - 1 steps.", steps=4)
def check_distances(A, mask, steps=5, never=-1):
    """A pair's distance is the first power of A that reaches it, for all graphs at once."""
    reached = torch.diag_embed(mask)
    D = torch.where(reached, 0, never)
    for step in range(1, steps + 1):
        further = reached | (reached.float() @ A.float() > 0)
        D[further & ~reached] = step
        reached = further
    return D


def _order(epoch):
    """Seven graphs, in another order in each epoch."""
    return torch.tensor([((3 + int(epoch)) * i + 5 * int(epoch) + 2) % 7 for i in range(7)])


def _order_of_six(epoch):
    """Six graphs, in another order in each epoch."""
    return torch.tensor([0, 4, 2, 5, 1, 3]).roll(int(epoch))


@compare(
    *[(_order, s, 7, 3) for s in (0, 2, 1, 3, 5, 7)],
    (_order_of_six, 4, 6, 2),
    view=integers,
)
@mistake("n // b + 1 is one batch too many if b divides n.", rounded=lambda x: math.floor(x) + 1)
@mistake(
    "each epoch has its own order; pass its number.",
    given=lambda order, *rest: (lambda _: order(0), *rest),
)
@mistake("this is the epoch's first batch; skip those that were taken.", again=True)
@mistake("the last batch of an epoch is not full, but it is a step.", rounded=math.floor)
def check_next_batch(order, steps, num_graphs, batch_size, again=False, rounded=math.ceil):
    """Seed, epoch and position are all that a run needs to store about its order."""
    epoch, place = divmod(steps, rounded(num_graphs / batch_size))
    start = 0 if again else place * batch_size
    return order(epoch)[start : start + batch_size].tolist()
