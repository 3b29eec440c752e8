"""Checks of chapter 12. Shapes: B graphs, N nodes (padded), H heads, d width."""

import math
from itertools import pairwise, product
from weakref import finalize

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
    require,
)
from gtcourse.course.exercises.drawing import HUNDREDS, PLAIN, Draw


def _batches(sizes, batch_size):
    return [sizes[start : start + batch_size] for start in range(0, len(sizes), batch_size)]


def _held(batch):
    return len(batch) * max(batch) ** 2


def _share(batch):
    return 1 - sum(n**2 for n in batch) / _held(batch)


def _in_16_bits(n):
    return (n + 2**15) % 2**16 - 2**15


def _sizes(draw: Draw):
    return draw.several(draw.size(9), (1, 2, 3, 7, 5, 30, 300, 50_000)), draw.size(10)


@compare(
    ([2, 6, 3, 5, 4], 2),
    ([2, 3, 4, 5, 6], 2),
    ([4, 4, 4], 3),
    ([1, 7, 2, 2], 9),
    ([300, 200, 20], 2),
    ([5, 1, 3], 1),
    atol=1e-6,
    drawn=_sizes,
)
@mistake(
    "this is the mean over the batches; add them up before you divide.",
    lambda sizes, b: sum(map(_share, _batches(sizes, b))) / len(_batches(sizes, b)),
)
@mistake(
    "the square of 300 overflows in 16 bits: use Python's integers, or 64 bits.",
    lambda sizes, b: (
        1
        - sum(_in_16_bits(n**2) for n in sizes)
        / sum(len(batch) * _in_16_bits(max(batch) ** 2) for batch in _batches(sizes, b))
    ),
)
@mistake(
    "the last batch is left out; it counts even if it has fewer graphs.",
    given=lambda sizes, b: (sizes[: len(sizes) // b * b] or sizes, b),
)
@mistake(
    "the last batch has only the graphs that are left, not batch_size of them.",
    lambda sizes, b: (
        1 - sum(n**2 for n in sizes) / sum(b * max(batch) ** 2 for batch in _batches(sizes, b))
    ),
)
@mistake(
    "this is the number of padded pairs; divide it by the number of all pairs.",
    lambda sizes, b: sum(_held(batch) for batch in _batches(sizes, b)) - sum(n * n for n in sizes),
)
@mistake(
    "a batch is padded to its largest graph, which need not be its first.",
    lambda sizes, b: (
        1
        - sum(n**2 for n in sizes) / sum(len(batch) * batch[0] ** 2 for batch in _batches(sizes, b))
    ),
)
@mistake("this is in percent; return a share from 0 to 1.", then=lambda share: 100 * share)
@mistake(
    "padding is divided by the number of real pairs; divide it by that of all pairs.",
    then=lambda share: share / (1 - share),
)
@mistake("this is rounded to two digits.", then=lambda share: round(share, 2))
@mistake("// rounds down to a whole number; use /.", then=lambda share: math.ceil(share))
@mistake(
    "the sizes were added up before they were squared; square each size first.",
    lambda sizes, b: (
        1 - sum(sizes) ** 2 / sum((len(batch) * max(batch)) ** 2 for batch in _batches(sizes, b))
    ),
)
@mistake("the graphs were sorted; take them in order.", given=lambda sizes, b: (sorted(sizes), b))
@mistake("this counts nodes; a batch has N² pairs for each graph.", power=1)
@mistake(
    "all batches are padded to one size; pad each to its own largest graph.",
    given=lambda sizes, b: (sizes, len(sizes)),
)
@mistake("this is the share of real pairs; return that of padding.", then=lambda share: 1 - share)
def check_padding_share(sizes, batch_size, power=2):
    """Padding is counted in pairs, and batches of similar sizes waste less."""
    held = sum(len(batch) * max(batch) ** power for batch in _batches(sizes, batch_size))
    return 1 - sum(n**power for n in sizes) / held


class _AtMost(TorchDispatchMode):
    """Raises at a tensor of more than ``limit`` numbers, or at a product that sums over N keys."""

    def __init__(self, limit: int, keys: int | None) -> None:
        super().__init__()
        self.limit = limit
        self.keys = keys

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for part in tree_leaves(result):
            if isinstance(part, Tensor) and part.numel() > self.limit:
                shape = list(part.shape)
                limit = f"expected at most {self.limit} numbers, N · size or N · d"
                raise Mistake(f"a tensor of shape {shape} holds {part.numel()} numbers; {limit}.")
        if func.overloadpacket in PRODUCTS and args[-1].shape[-2:][0] == self.keys:
            raise Mistake("a product sums over all N keys at once; process `size` keys at a time.")
        if func.overloadpacket in SUMS and self.keys in _summed_sizes(*args):
            raise Mistake("a sum runs over all N keys at once; process `size` keys at a time.")
        return result


PRODUCTS = {torch.ops.aten.mm, torch.ops.aten.bmm, torch.ops.aten.mv, torch.ops.aten.dot}
SUMS = {torch.ops.aten.sum, torch.ops.aten._softmax, torch.ops.aten.logsumexp}


def _summed_sizes(x, axes=None, *_):
    """The sizes of the axes that a sum runs over.

    There are none for the sum of all entries of a matrix, which is no sum over keys.
    """
    if axes is None:
        return x.shape if x.dim() == 1 else ()
    return [x.shape[axis] for axis in (axes if isinstance(axes, list | tuple) else [axes])]


class _Held(TorchDispatchMode):
    """Raises if ``limit`` floats or more are held at a time, in tensors of at most ``largest``."""

    def __init__(self, limit: int, largest: int) -> None:
        super().__init__()
        self.limit = limit
        self.largest = largest
        self.held = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for part in tree_leaves(result):
            is_new = isinstance(part, Tensor) and part.is_floating_point() and part._base is None
            if is_new and part.numel() <= self.largest:
                self.hold(part)
        require(
            self.held < self.limit,
            "the weights of earlier blocks are still held, for example in a list: of each block, "
            "keep only the sums.",
        )
        return result

    def hold(self, part: Tensor) -> None:
        count = part.numel()
        self.held += count
        finalize(part, self.release, count)

    def release(self, count: int) -> None:
        self.held -= count


def _few_at_a_time(attention_in_blocks):
    """Raises if an answer keeps the weights of all its blocks, which are N² numbers.

    One that keeps two sums and a maximum of each block has far fewer.
    """
    N = 128
    size = 8
    q, k, v, scalars = random((N, 2), (N, 2), (N, 1), (5,))
    with _Held(N * N, largest=N * size):
        attention_in_blocks(q, k, v, scalars, size)


def _in_blocks(attention_in_blocks, q, k, v, scalars, size):
    N = len(q)
    keys = N if 1 < size < N else None  # of size 1 there are N blocks, over which a sum may run
    with _AtMost(max(N * size, q.numel(), v.numel()), keys):
        return attention_in_blocks(q, k, v, scalars, size)


def _block_case(N, d, D, size, scale, shift=0):
    q, k, v, scalars = random((N, d), (N, d), (N, d + 1), (D + 1,), seed=N)
    if abs(shift) > 500:  # single precision is too coarse for the differences
        q, k, v, scalars = (x.double() for x in (q, k, v, scalars))
    return [scale * q, scale * k, v, scalars + shift, size]


def _any_blocks(draw: Draw):
    """With blocks that need not divide N, and may be larger; d is not N, and B has few rows."""
    N = draw.number(1, 7)
    d = draw.one_of(*(width for width in (1, 2, 3) if width != N))
    size = draw.number(1, N + 1)
    q, k = (draw.numbers(N, d) for _ in range(2))
    scalars = draw.numbers(draw.number(1, N), of=draw.one_of(PLAIN, HUNDREDS))
    return q, k, draw.numbers(N, draw.number(1, 3)), scalars, size


@compare(
    _block_case(12, 3, 4, 5, scale=1),
    _block_case(11, 4, 2, 3, scale=8),  # exp of these logits is infinite
    _block_case(9, 2, 20, 4, scale=1),  # more scalars than distances
    _block_case(7, 2, 3, 3, scale=1, shift=-300),  # exp of these logits is 0
    _block_case(8, 2, 3, 3, scale=1, shift=900),
    _block_case(1, 2, 3, 4, scale=1),
    _block_case(6, 3, 0, 1, scale=4),  # one scalar for all distances
    once=_few_at_a_time,
    run=_in_blocks,
    drawn=_any_blocks,
)
@mistake("distances beyond D read the last scalar, which has the index D.", last=2)
@mistake("the distance |i - j| has no direction: use abs().", sided=True)
@mistake("the dot products are divided by d; use √d.", power=1)
@mistake(
    "the largest logit so far starts too high, so that a row of very negative logits gets 0/0; "
    "start at -inf.",
    least=0.0,
)
@mistake(
    "√d comes from the width of v; d is the width of q and k.",
    given=lambda q, k, v, *rest: (q * (q.shape[1] / v.shape[1]) ** 0.5, k, v, *rest),
)
@mistake(
    "the bias is divided by √d as well; divide only the products.",
    given=lambda q, k, v, scalars, size: (q, k, v, scalars / q.shape[1] ** 0.5, size),
)
@mistake("the bias is missing.", given=lambda q, k, v, scalars, size: (q, k, v, 0 * scalars, size))
@mistake("this is the mean of the blocks' softmaxes; all keys share one softmax.", mean=True)
@mistake(
    "when the largest logit grows, the sums over earlier blocks have to shrink with it.",
    shrinks=False,
)
@mistake(
    "when the largest logit grows, z has to shrink with it, not only the sum of the weights.",
    of_z=False,
)
@mistake("the largest logit has to be subtracted before exp, or it overflows.", shift=0)
@mistake("each block was divided by its own sum; divide once, at the end.", local=True)
@mistake(
    "compute distances from a node's number in the graph, not from its place in the block.", first=1
)
@mistake("the last block is left out; it counts even if it is smaller than the others.", whole=True)
@mistake("the dot products are not divided by √d.", power=0)
def check_attention_in_blocks(
    q,
    k,
    v,
    scalars,
    size,
    shrinks=True,
    shift=1,
    local=False,
    first=0,
    whole=False,
    power=0.5,
    last=1,
    sided=False,
    mean=False,
    least=-math.inf,
    of_z=True,
):
    """The softmax over all keys is built block by block, with memory in proportion to N."""
    N, d = q.shape
    largest = q.new_full((N, 1), least)
    total = q.new_zeros(N, 1)
    z = torch.zeros_like(v)
    for start in range(0, N // size * size if whole else N, size):
        keys = slice(start, start + size)
        place = torch.arange(N)[keys] - first * start
        away = torch.arange(N)[:, None] - place
        away = (away if sided else away.abs()).clamp(0, max(len(scalars) - last, 0))
        logits = q @ k[keys].mT / d**power + scalars[away]  # [N, size]
        if mean:
            z = z + logits.softmax(dim=1) @ v[keys]
            total = total + 1
            continue
        new = torch.maximum(largest, logits.amax(1, keepdim=True))
        weights = (logits - shift * new).exp()
        earlier = (largest - new).exp() if shrinks and shift else torch.ones_like(total)
        if local:
            weights = weights / weights.sum(1, keepdim=True)
            earlier = torch.ones_like(total)
        total = earlier * total + weights.sum(1, keepdim=True)
        z = (earlier if of_z else 1) * z + weights @ v[keys]
        largest = new
    return z / total


ONE_WAY_PATH = adjacency(6, (0, 1), (1, 2), (2, 3), (3, 4), (4, 5), directed=True)
ONE_WAY_RING = adjacency(6, (0, 1), (1, 2), (2, 0), (3, 1), directed=True)  # 3 leads into it
THERE_AND_BACK = adjacency(6, (0, 1), (1, 0), directed=True)  # all other nodes are alone
DIRECTED = torch.stack([ONE_WAY_PATH, ONE_WAY_RING, THERE_AND_BACK])
REAL = torch.arange(6) < torch.tensor([[6], [4], [3]])


LAYERS = [[0], [*range(1, 17)], [*range(17, 33)], [33]]  # 256 paths lead from the first to the last
STEPS = [pair for one, other in pairwise(LAYERS) for pair in product(one, other)]
LONG_PATH = [(i, i + 1) for i in range(14)]
# 4 to the power of 32 paths lead from node 0 to node 129, which overflows in 64 bits. The other
# graph is a path of 103 steps.
WIDE = [[0], *[[*range(n, n + 4)] for n in range(1, 129, 4)], [129]]
MANY_PATHS = [pair for one, other in pairwise(WIDE) for pair in product(one, other)]
LONGEST_PATH = [(i, i + 1) for i in range(103)]
LONG = torch.stack([adjacency(130, *edges, directed=True) for edges in (MANY_PATHS, LONGEST_PATH)])
MIDDLES = range(1, 257)  # two steps lead from node 0 to node 257, along 256 paths
FAN = adjacency(258, *((0, n) for n in MIDDLES), *((n, 257) for n in MIDDLES), directed=True)
# In single precision, the numbers of walks among the first 16 nodes become infinite before the end
# of the path is reached.
TAIL = [*product(range(16), range(16)), *((n, n + 1) for n in range(15, 54))]
LOLLIPOP = adjacency(55, *TAIL).fill_diagonal_(False)
# The same among the first 70 nodes in double precision.
LONG_TAIL = [*product(range(70), range(70)), *((n, n + 1) for n in range(69, 257))]
LONG_LOLLIPOP = adjacency(258, *LONG_TAIL).fill_diagonal_(False)
LARGE = torch.stack([adjacency(34, *edges, directed=True) for edges in (STEPS, LONG_PATH)])


def _batch(draw: Draw):
    """Graphs of several sizes, padded at the end or anywhere."""
    B, N = draw.size(3), draw.size(6)
    real = torch.arange(N) < draw.numbers(B, 1, of=range(1, N + 1))
    if draw.one_of(False, True):
        real = draw.flags(B, N)
    graphs = torch.stack([draw.adjacency(N) for _ in range(B)])
    return graphs & real[:, None] & real[..., None], real


@compare(
    (DIRECTED, REAL),
    (DIRECTED[:2], REAL[:2]),
    (LARGE, torch.arange(34) < torch.tensor([[34], [15]])),
    (LOLLIPOP[None], torch.ones(1, 55, dtype=torch.bool)),
    (LONG, torch.arange(130) < torch.tensor([[130], [104]])),
    (torch.stack([FAN, LONG_LOLLIPOP]), torch.ones(2, 258, dtype=torch.bool)),
    (DIRECTED[1:, :5, :5], REAL[1:, :5]),
    drawn=_batch,
)
@mistake(
    "the number of paths is taken modulo 256, and 256 paths count as none: 8 bits are too few.",
    lambda A, mask: _by_numbers_of_paths(A, mask, torch.uint8),
)
@mistake(
    "the number of paths overflows, and 65,536 paths count as none: 16 bits are too few.",
    lambda A, mask: _by_numbers_of_paths(A, mask, torch.int16),
)
@mistake(
    "the number of paths overflows, and 2³² paths count as none: keep only whether there is one.",
    lambda A, mask: _by_numbers_of_paths(A, mask, torch.int32),
)
@mistake(
    "the number of paths overflows, and 2⁶⁴ paths count as none: keep only whether there is one.",
    lambda A, mask: _by_numbers_of_paths(A, mask, torch.int64),
)
@mistake(
    "in half precision 65,536 paths are infinite, and inf * 0 is NaN: keep only whether there is "
    "a path.",
    lambda A, mask: _by_numbers_of_paths(A, mask, torch.float16),
)
@mistake(
    "the number of walks becomes infinite, and inf * 0 is NaN: keep only whether there is one.",
    lambda A, mask: _by_numbers_of_paths(A, mask, torch.float32),
)
@mistake(
    "the number of walks becomes infinite in double precision as well, and inf * 0 is NaN: keep "
    "only whether there is one.",
    lambda A, mask: _by_numbers_of_paths(A, mask, torch.float64),
)
@mistake(
    "256 nodes that are reached lead to one node, and in 8 bits their number is 0: 8 bits are too "
    "few.",
    lambda A, mask: _by_steps(A, mask, torch.uint8),
)
@mistake("row i holds the steps from i to j, not from j to i.", then=lambda D: D.mT)
@mistake("a pair without a path gets -1, not 0.", never=lambda N: 0)
@mistake("a pair without a path gets -1, not N.", never=lambda N: N)
@mistake(
    "a pair without a path gets -1, not infinity.", then=lambda D: torch.where(D < 0, torch.inf, D)
)
@mistake(
    "padding gets -1 everywhere, on the diagonal as well.", given=lambda A, mask: (A, mask | True)
)
@mistake(
    "your loop stops one step early: a path can have N - 1 steps.", steps=lambda N, mask: N - 2
)
@mistake(
    "your loop stops at the size of the smallest graph; the largest graph decides.",
    steps=lambda N, mask: int(mask.sum(dim=1).min()) - 1,
)
@mistake("the number of steps is fixed; it depends on N.", steps=lambda N, mask: 3)
@mistake("a later power overwrites the first one that reached a pair.", again=True)
@mistake(
    "padding gets -1, not 0.",
    lambda A, mask: check_distances.reference(A, mask) * (mask[:, :, None] & mask[:, None]),
)
@mistake(
    "a pair of real nodes without a path gets -1, not N.",
    lambda A, mask: check_distances.reference(A, mask, never=lambda N: N).where(
        mask[:, :, None] & mask[:, None], -1
    ),
)
@mistake(
    "padding can be at any position: use `mask`, not the number of real nodes.",
    given=lambda A, mask: (A, torch.arange(A.shape[-1]) < mask.sum(dim=1, keepdim=True)),
)
@mistake(
    "these are the edges alone; continue with more steps.", lambda A, mask: torch.where(A, 1, -1)
)
@mistake("every distance but 0 is one too large.", then=lambda D: torch.where(D > 0, D + 1, D))
@mistake(
    "the diagonal is -1, but a node is 0 steps from itself.",
    then=lambda D: torch.where(D == 0, -1, D),
)
def check_distances(A, mask, steps=lambda N, mask: N - 1, never=lambda N: -1, again=False):
    """A pair's distance is the first power of A that reaches it, for all graphs at once."""
    N = A.shape[-1]
    reached = torch.diag_embed(mask)
    D = torch.where(reached, 0, never(N))
    if again:
        power = reached.float()
        for step in range(1, N):
            power = power @ A.float()
            D = torch.where(power > 0, step, D)
        return D
    for step in range(1, steps(N, mask) + 1):
        further = reached | (reached.float() @ A.float() > 0)
        if torch.equal(further, reached):  # no later step reaches another pair
            break
        D[further & ~reached] = step
        reached = further
    return D


def _by_steps(A, mask, dtype):
    """Counts only the nodes that lead to a node."""
    reached = torch.diag_embed(mask)
    D = torch.where(reached, 0, -1)
    for step in range(1, A.shape[-1]):
        further = reached | (reached.to(dtype) @ A.to(dtype) > 0)
        if torch.equal(further, reached):
            break
        D[further & ~reached] = step
        reached = further
    return D


def _by_numbers_of_paths(A, mask, dtype):
    walks = torch.diag_embed(mask).to(dtype)
    D = torch.where(walks > 0, 0, -1)
    for step in range(1, A.shape[-1]):
        walks = walks @ A.to(dtype)
        if not walks.any():
            break
        D[(walks > 0) & (D < 0)] = step
    return D


def _whole(epoch):
    """The number of an epoch, which may be a floating-point number without a fraction."""
    require(int(epoch) == epoch, f"order(epoch) was called with {epoch:g}; epochs are 0, 1, 2, …")
    return int(epoch)


def _order(epoch):
    """Seven graphs, in another order in each epoch."""
    n = _whole(epoch)
    return torch.tensor([((3 + n) * i + 5 * n + 2) % 7 for i in range(7)])


def _order_of_six(epoch):
    """Six graphs, in another order in each epoch."""
    return torch.tensor([0, 4, 2, 5, 1, 3]).roll(_whole(epoch))


class _Orders:
    """A rotation of some order in each epoch."""

    def __init__(self, first: list[int]) -> None:
        self.first = first

    def __repr__(self) -> str:
        return f"orders {_few(self.first)}, {_few(integers(self(1)))}, …"

    def __call__(self, epoch):
        return torch.tensor(self.first).roll(_whole(epoch))


def _few(graphs: list[int]) -> str:
    return f"{graphs}" if len(graphs) < 16 else f"{len(graphs)} graphs"


def _resumed(draw: Draw):
    n = draw.size(7)
    order = _Orders(draw.in_some_order(range(n)))
    return order, draw.number(0, 20), n, draw.size(8)


@compare(
    *[(_order, s, 7, 3) for s in (0, 2, 1, 3, 5, 7)],
    (_order_of_six, 4, 6, 2),
    (_order_of_six, 9, 6, 1),
    (_order, 3001, 7, 3),
    (_order, 3, 7, 10),  # one batch an epoch
    (_order, 2, 7, 5),  # batches of 5 and 2
    (_Orders([*range(4001)]), 5, 4001, 2000),  # the last of three batches holds one graph
    drawn=_resumed,
    view=integers,
    explain=lambda got, right, order, steps, num_graphs, batch_size: (
        f"after {steps} steps with {num_graphs} graphs in batches of {batch_size} you return "
        f"{_few(integers(got))}, not {_few(right)}."
    ),
)
@mistake(
    "these are the graphs' places in the order; return order(epoch) at these places.",
    given=lambda order, *rest: (lambda epoch: torch.arange(len(order(epoch))), *rest),
)
@mistake("after `steps` steps the next batch has the number `steps`, counted from 0.", later=-1)
@mistake(
    "the epoch is one too large; the first is epoch 0.",
    given=lambda order, *rest: (lambda epoch: order(epoch + 1), *rest),
)
@mistake(
    "`steps` counts over all epochs; each epoch begins again with its first batch.",
    lambda order, steps, n, b: order(0)[steps * b : steps * b + b].tolist(),
)
@mistake("batch p begins at place p; it should begin at place p * batch_size.", factor=1)
@mistake(
    "the last batch of an epoch is smaller; do not fill it up from the start of the order.",
    wraps=True,
)
@mistake(
    "an epoch does not end in the middle of a batch: count batches, not graphs.",
    lambda order, s, n, b: order(s * b // n)[s * b % n : s * b % n + b].tolist(),
)
@mistake("this is all that is left of the epoch; take batch_size graphs.", size=None)
@mistake("these are batch_size + 1 graphs; a slice ends before its second number.", size=1)
@mistake("the batch is in reverse order.", then=lambda batch: batch[::-1])
@mistake("the batch is sorted; keep the order of the graphs.", then=sorted)
@mistake("n // b + 1 is one batch too many if b divides n.", rounded=lambda x: math.floor(x) + 1)
@mistake(
    "each epoch has its own order; pass its number.",
    given=lambda order, *rest: (lambda _: order(0), *rest),
)
@mistake("this is the epoch's first batch; skip the batches that were already read.", again=True)
@mistake(
    "the last batch of an epoch may be smaller, but it also counts as a step.",
    rounded=lambda x: max(1, math.floor(x)),
)
@mistake(
    "the last batch of an epoch is smaller; do not fill it up from the next epoch.",
    lambda order, steps, n, b: torch.cat(
        [order(steps // -(-n // b))[steps % -(-n // b) * b :], order(steps // -(-n // b) + 1)]
    )[:b].tolist(),
)
@mistake(
    "batches are consecutive slices of batch_size graphs; only the last one is smaller.",
    lambda order, steps, n, b: (
        order(steps // -(-n // b)).tensor_split(-(-n // b))[steps % -(-n // b)].tolist()
    ),
)
def check_next_batch(
    order,
    steps,
    num_graphs,
    batch_size,
    again=False,
    rounded=math.ceil,
    later=0,
    factor=None,
    wraps=False,
    size=0,
):
    """A run can resume its order of graphs from the seed, the epoch and the position alone."""
    epoch, place = divmod(max(steps + later, 0), rounded(num_graphs / batch_size))
    start = 0 if again else place * (factor or batch_size)
    graphs = order(epoch).repeat(2) if wraps else order(epoch)
    end = None if size is None else start + batch_size + size
    return graphs[start:end].tolist()
