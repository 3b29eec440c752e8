"""Checks of chapter 12. Shapes: B graphs, N nodes (padded), H heads, d width."""

import math

import torch

from gtcourse.course.exercises.checker import adjacency, compare, integers, mistake


@compare(([2, 6, 3, 5, 4], 2), ([2, 3, 4, 5, 6], 2), ([4, 4, 4], 3), atol=1e-6)
@mistake("the graphs were sorted; take them in order.", given=lambda sizes, b: (sorted(sizes), b))
@mistake("this counts nodes; a batch has N² pairs for each graph.", power=1)
@mistake("a batch is padded to its own largest graph.", given=lambda sizes, b: (sizes, len(sizes)))
@mistake("this is the share of real pairs; return padding's.", then=lambda share: 1 - share)
def check_padding_share(sizes, batch_size, power=2):
    """Padding is counted in pairs, and batches of similar sizes waste less."""
    batches = [sizes[start : start + batch_size] for start in range(0, len(sizes), batch_size)]
    held = sum(len(batch) * max(batch) ** power for batch in batches)
    return 1 - sum(n**power for n in sizes) / held


@compare((3, 7, 6, 30), (5, 4, 2, 14), parts=["weights", "filters"])
@mistake("this counts numbers; each has 4 bytes.", size=1)
@mistake("each of the B graphs has its own pairs.", given=lambda B, N, H, d: (1, N, H, d))
@mistake("a graph has N² pairs.", power=1)
def check_pair_bytes(B, N, H, d, size=4, power=2):
    """H numbers per pair for weights, d for filters."""
    return size * B * N**power * H, size * B * N**power * d


# A path one way; a ring one way, and a way into it; there and back, and nodes alone.
DIRECTED = torch.stack([
    adjacency(6, (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), directed=True),
    adjacency(6, (0, 1), (1, 2), (2, 0), (3, 1), directed=True),
    adjacency(6, (0, 1), (1, 0), directed=True),
])  # fmt: skip
REAL = torch.arange(6) < torch.tensor([[6], [4], [3]])


@compare((DIRECTED, REAL), (DIRECTED[1:, :5, :5], REAL[1:, :5]))
@mistake("row i has the steps from i to j.", then=lambda D: D.mT)
@mistake("a pair without a path has -1, not 0.", never=0)
@mistake("padding has -1 everywhere.", given=lambda A, mask: (A, mask | True))
@mistake("it stops one step early: the longest path has N - 1.", steps=4)
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
@mistake("n // b + 1 is one batch too many where b divides n.", rounded=lambda x: math.floor(x) + 1)
@mistake("each epoch has its own order.", given=lambda order, *rest: (lambda _: order(0), *rest))
@mistake("the epoch restarts, so graphs are seen twice.", again=True)
@mistake("the last batch of an epoch is not full, but it is a step.", rounded=math.floor)
def check_next_batch(order, steps, num_graphs, batch_size, again=False, rounded=math.ceil):
    """Seed, epoch and position are all that a run needs to store about its order."""
    epoch, place = divmod(steps, rounded(num_graphs / batch_size))
    start = 0 if again else place * batch_size
    return order(epoch)[start : start + batch_size].tolist()
