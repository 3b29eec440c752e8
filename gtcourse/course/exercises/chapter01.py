"""Checks of chapter 01. Shapes: B sequences, N queries, M keys, d_k and d_v: widths in a head."""

import math

import torch
import torch.nn.functional as F

from gtcourse.course.exercises.checker import (
    Missing,
    Mistake,
    checker,
    compare,
    in_one_go,
    mistake,
    random,
    require,
    tensors,
)
from gtcourse.course.exercises.drawing import WIDE, Draw

LARGE = [30 * x for x in random((9, 4), (9, 4), (3, 4), seed=5)]  # exp of a logit overflows


def _columns(draw: Draw):
    N, d_k, d_v = (draw.size(4) for _ in range(3))
    return draw.numbers(d_k, N, of=WIDE), draw.numbers(d_k, N, of=WIDE), draw.numbers(d_v, N)


@compare(
    random((9, 4), (9, 4), (3, 4)),
    LARGE,
    random((3, 64), (3, 64), (2, 64), seed=7),
    random((5, 6), (5, 6), (7, 6), seed=2),
    drawn=_columns,
)
@mistake("the scale is missing: divide the logits by sqrt(d_k).", over=lambda Q, V: 1)
@mistake("the logits are divided by d_k; use its square root.", over=lambda Q, V: len(Q))
@mistake(
    "the logits are divided by sqrt(d_v); use d_k, the number of rows of Q.",
    over=lambda Q, V: len(V) ** 0.5,
)
@mistake(
    "the logits are divided by sqrt(N); use d_k, the number of rows of Q.",
    over=lambda Q, V: Q.shape[1] ** 0.5,
)
@mistake("the logits are multiplied by sqrt(d_k); divide them.", over=lambda Q, V: len(Q) ** -0.5)
@mistake(
    "divide the logits by sqrt(d_k), before the softmax.",
    lambda Q, K, V: V @ (K.T @ Q).softmax(0) / len(Q) ** 0.5,
)
@mistake(
    "the softmax is over the wrong axis: each column of softmax(K^T Q / sqrt(d_k)) has to sum to "
    "one.",
    axis=1,
)
@mistake(
    "the weights are transposed: column i has to hold the weights of query i.",
    lambda Q, K, V: V @ (Q.T @ K / len(Q) ** 0.5).softmax(1),
)
def check_columns(Q, K, V, over=lambda Q, V: len(Q) ** 0.5, axis=0):
    """Attention on columns is V softmax(K^T Q / sqrt(d_k)), where each column sums to one."""
    return V @ (K.T @ Q / over(Q, V)).softmax(axis)


LOW = [sign * (5 + random((2, 4, 4), seed=3)[0]) for sign in (1, -1)]
ALL_BUT_ONE = torch.arange(4) < torch.tensor([[3], [4]])
LOWEST = (  # logits of about -20,000, whose differences need double precision
    torch.tensor([[[200.0, 1, 0, 2], [200, 0, 1, 1], [200, 2, 1, 0]]]).double(),
    torch.tensor([[[-200.0, 1, 2, 0], [-200, 0, 1, 2], [0, 1, 1, 1]]]).double(),
    torch.tensor([[[1.0, 2], [4, 3], [9, 7]]]).double(),
    torch.tensor([[True, True, False]]),
)
BETWEEN = torch.tensor([[False, True, False, True], [False, False, True, False]])
HIGH = torch.where(ALL_BUT_ONE[..., None], LOW[1], -LOW[1])  # the keys of padding alone fit LOW[0]


def _sequences(draw: Draw):
    """With padding in any place."""
    B, N, d_k, d_v = (draw.size(3) for _ in range(4))
    q, k = (draw.numbers(B, N, d_k, of=WIDE) for _ in range(2))
    return q, k, draw.numbers(B, N, d_v), draw.flags(B, N)


# Any result will do for a padded query, except in an empty sequence: zeros.
@compare(
    (*random((3, 6, 4), (3, 6, 4), (3, 6, 5)), torch.arange(6) < torch.tensor([[6], [2], [0]])),
    # Logits far below 0, so that a fill of -10 or -20 gets weight.
    (*LOW, torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(4)), ALL_BUT_ONE),
    # A logit of padding far above all others, so that subtracting 10 from it is not enough.
    (LOW[0], HIGH, torch.randn(2, 4, 3, generator=torch.Generator().manual_seed(4)), ALL_BUT_ONE),
    LOWEST,
    (*random((2, 4, 3), (2, 4, 3), (2, 4, 2), seed=6), BETWEEN),
    (*random((2, 5, 9), (2, 5, 9), (2, 5, 7)), torch.arange(5) < torch.tensor([[0], [3]])),
    view=lambda z, q, k, v, mask: z.masked_fill(~(mask | ~mask.any(1, True))[..., None], 0.0),
    gradients=True,
    drawn=_sequences,
)
@mistake(
    "a number such as -10,000 gets weight where the other logits are lower: set the logits of "
    "padding to -inf.",
    fill=-1e4,
)
@mistake("the empty sequence gives NaN: a softmax over nothing but -inf is 0/0.", fill=-math.inf)
@mistake("queries attend to padding: a key mask applies to the columns of the logits.", axis=2)
@mistake("the weights no longer sum to one: mask the logits, before the softmax.", late=True)
@mistake("the empty sequence gives the mean of its padding, not zeros.", empty=1)
@mistake("the scale is missing: divide by sqrt(d_k).", scale=1)
@mistake(
    "subtracting a number is not enough if the logit of padding is large: set it to -inf, or to a "
    "large negative number.",
    lambda q, k, v, m: (
        (q @ k.mT * q.shape[-1] ** -0.5 - 10 * (~m)[:, None].to(q)).softmax(-1)
        @ v
        * m.any(1)[:, None, None]
    ),
)
@mistake(
    "a logit of 0 still gets weight: set the logits of padding to -inf, or to a large negative "
    "number.",
    lambda q, k, v, m: (
        (q @ k.mT * q.shape[-1] ** -0.5 * m[:, None]).softmax(-1) @ v * m.any(1)[:, None, None]
    ),
)
@mistake(
    "padding may be anywhere: read the mask itself, not only the number of real tokens.",
    given=lambda q, k, v, m: (q, k, v, torch.arange(m.shape[1]) < m.sum(dim=1, keepdim=True)),
)
@mistake(
    "your code looks only at the first token; a sequence is empty if all its tokens are padding.",
    lambda q, k, v, m: check_masked_attention.reference(q, k, v, m) * m[:, :1, None],
)
@mistake(
    "the logits are divided by sqrt(d_v), the width of `V`; use d_k, that of `Q` and `K`.",
    given=lambda q, k, v, m: (q * (q.shape[-1] / v.shape[-1]) ** 0.5, k, v, m),
)
@mistake(
    "exp of a logit far below 0 is 0, and all weights vanish: use softmax, or first subtract the "
    "largest logit of the real tokens.",
    lambda q, k, v, m: _from_exponentials(q @ k.mT * q.shape[-1] ** -0.5, m) @ v,
)
@mistake(
    "the largest logit may be that of padding: mask the logits before you subtract it.",
    lambda q, k, v, m: _from_exponentials(_below_zero(q @ k.mT * q.shape[-1] ** -0.5), m) @ v,
)
@mistake(
    "the mask is inverted: it is True for real tokens.",
    lambda q, k, v, m: (
        (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(m[:, None], -1e9).softmax(-1)
        @ v
        * m.any(1)[:, None, None]
    ),
)
def check_masked_attention(Q, K, V, mask, fill=-1e9, scale=None, empty=0, axis=1, late=False):
    """Padding gets no attention, an empty sequence gives zeros, and its gradient is finite."""
    logits = (scale or Q.shape[-1] ** -0.5) * Q @ K.mT
    keys = mask.unsqueeze(axis)
    a = logits.softmax(-1) * keys if late else logits.masked_fill(~keys, fill).softmax(-1)
    return a @ V * mask.any(dim=1)[:, None, None].to(V.dtype).clamp(min=empty)


def _from_exponentials(logits, mask):
    """A softmax over the real tokens in which no logit is subtracted before exp."""
    exponentials = logits.exp() * mask[:, None]
    return exponentials / exponentials.sum(dim=-1, keepdim=True).clamp(min=1e-9)


def _below_zero(logits):
    """The logits minus the largest of each row, which may be that of padding."""
    return logits - logits.amax(dim=-1, keepdim=True)


def _without_loop(answer):
    arguments = random((2, 5, 24), *[(24, 24)] * 4)
    in_one_go(answer, (*arguments, 2), (*arguments, 12), what="heads")


def _heads(draw: Draw):
    B, N, H, d_k = (draw.number(1, 3) for _ in range(4))
    d = H * d_k
    return draw.numbers(B, N, d), *(draw.numbers(d, d) for _ in range(4)), H


def _width(h):
    return h.shape[-1]


def _transposed(h, W_Q, W_K, W_V, W_O, num_heads):
    return h, W_Q.T, W_K.T, W_V.T, W_O.T, num_heads


def _alternating(h, W_Q, W_K, W_V, W_O, num_heads):
    """The channels in an order in which neighbours belong to different heads."""
    order = torch.arange(len(W_Q)).view(-1, num_heads).T.flatten()
    return h, W_Q[:, order], W_K[:, order], W_V[:, order], W_O, num_heads


def _alternating_and_merged(h, W_Q, W_K, W_V, W_O, num_heads):
    """Heads that have every H-th channel, and whose merge puts the channels back in order."""
    order = torch.arange(len(W_Q)).view(-1, num_heads).T.flatten()
    return h, W_Q[:, order], W_K[:, order], W_V[:, order], W_O[order], num_heads


@compare(
    (*random((2, 5, 12), *[(12, 12)] * 4), 3),
    (*random((3, 7, 10), *[(10, 10)] * 4, seed=2), 2),
    once=_without_loop,
    atol=1e-3,
    drawn=_heads,
)
@mistake("the split mixes tokens: reshape to [B, N, H, d_k] and swap two axes.", mixed=True)
@mistake(
    "split and merge mix tokens: a reshape to [B, H, N, d_k] cannot swap two axes.",
    mixed=True,
    merge=(1, 1),
)
@mistake("the merge mixes tokens: swap heads and tokens before you flatten.", merge=(1, 1))
@mistake("the logits are divided by sqrt(d); a head is only d_k = d / H wide.", of=_width)
@mistake("the scale is missing: divide the logits by sqrt(d_k).", scale=1)
@mistake("the softmax runs over the queries; it should run over the last axis.", axis=-2)
@mistake("the softmax runs over the heads; it should run over the last axis.", axis=1)
@mistake("vectors are rows here: multiply them as h @ W, not as h @ W.T.", given=_transposed)
@mistake(
    "the channels are split in the wrong order: the first d_k belong to the first head.",
    given=_alternating,
)
@mistake(
    "head n has every H-th channel; the first d_k channels belong to the first head, the next d_k "
    "to the second.",
    given=_alternating_and_merged,
)
@mistake(
    "the keys are used as values.",
    given=lambda h, Q, K, V, *rest: (h, Q, K, K, *rest),
)
@mistake(
    "W_V is missing: the values are h @ W_V.",
    given=lambda h, Q, K, V, *rest: (h, Q, K, torch.eye(len(V)).to(V), *rest),
)
@mistake("W_O is missing.", given=lambda *a: (*a[:4], torch.eye(len(a[4])).to(a[4]), a[5]))
def check_multi_head(
    h, W_Q, W_K, W_V, W_O, num_heads, mixed=False, merge=(1, 2), scale=None, of=None, axis=-1
):
    """Each head has its own d_k channels, and W_O mixes the heads."""
    heads = [(h @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2) for W in (W_Q, W_K, W_V)]
    q, k, v = [(h @ W).view_as(heads[0]) for W in (W_Q, W_K, W_V)] if mixed else heads
    logits = q @ k.mT * (scale or (of(h) if of else q.shape[-1]) ** -0.5)
    z = logits.softmax(dim=axis) @ v
    return z.transpose(*merge).reshape(h.shape) @ W_O


@checker
def check_maximum(W_Q, W_K, W_V):
    """The head finds the largest number, whichever token the query belongs to."""
    if W_K is ... or W_V is ...:
        raise Missing
    W_Q, W_K, W_V = (W.double() for W in tensors((W_Q, W_K, W_V), *[(2, 1)] * 3))
    finite = all(W.isfinite().all() for W in (W_Q, W_K, W_V))
    require(finite, "use finite numbers; an infinite logit makes the softmax NaN.")
    close = [0.5 * n for n in range(-12, 20)]  # 0.5 apart, and many of them
    for numbers in (
        [0.5, 4.0, -3.0, 3.5],
        [-5.0, -1.0, -3.0, -2.0],
        [3.0, 1.0, 2.0],
        close,
        [100.0, 99.5, -100.0],
        [-0.5, -1.0, -1.5],
        [1e6, 1e6 - 0.5, -1e6],
        [-1e6, -1e6 - 0.5],
        [7.0],
    ):
        x = torch.tensor(numbers, dtype=torch.float64)
        h = torch.stack([torch.ones_like(x), x], dim=1)
        shown = numbers if len(numbers) < 8 else f"{len(numbers)} numbers from -6 to 9.5"
        z = F.scaled_dot_product_attention(h @ W_Q, h @ W_K, h @ W_V)[:, 0]
        logits = (h @ W_Q).float() @ (h @ W_K).float().T
        require(logits.isfinite().all(), "the logits overflow: use smaller numbers.")
        picked = F.scaled_dot_product_attention(h @ W_Q, h @ W_K, x[:, None])[:, 0]
        agree = picked.max() - picked.min() <= 0.05
        require(agree, f"on {shown} the tokens disagree: a query must not depend on x_i.")
        if len(x) > 1:
            is_mean = abs(picked[0] - x.mean()) < 0.05
            require(not is_mean, f"on {shown} all weights are equal, so they give the mean.")
            is_minimum = abs(picked[0] - x.min()) < 0.05
            require(not is_minimum, f"on {shown} the weights pick the minimum.")
        if (picked - x.max()).abs().max() < 0.05:
            right = (z - x.max()).abs().max() < 0.05
            value = f"the head returns {z[0]:.6g}: is a token's value its number?"
            require(right, f"on {shown} the weights pick the maximum, but {value}")
        else:
            soft = f"on {shown} the weighted mean of the numbers is {picked[0]:.2f}"
            raise Mistake(f"{soft}: the softmax is too soft.")
    constant = W_Q[1] == 0 or W_K[1] == 0
    require(constant, "for larger numbers the tokens disagree: a query must not depend on x_i.")


@checker
def check_pair(pair):
    """Both molecules have the same bag, so no model of this chapter can tell them apart."""
    from rdkit import Chem, rdBase

    from gtcourse.graphs.molecules import molecule_graph, parse, penalized_logp

    require(isinstance(pair, tuple | list) and len(pair) == 2, "expected two SMILES strings.")
    with rdBase.BlockLogs():
        one, other = map(parse, pair)
    for smiles, molecule in zip(pair, (one, other), strict=True):
        parts = len(Chem.GetMolFrags(molecule))
        require(parts == 1, f"{smiles!r} consists of {parts} molecules; expected one.")
    names = [Chem.MolToSmiles(molecule) for molecule in (one, other)]
    require(names[0] != names[1], "these are two ways of writing the same molecule.")
    flat = {Chem.MolToSmiles(molecule, isomericSmiles=False) for molecule in (one, other)}
    require(
        len(flat) == 2,
        "these molecules differ only in isotopes or in the directions of their bonds in space.",
    )
    bags = [sorted(molecule_graph(smiles)[0]) for smiles in pair]
    require(
        bags[0] == bags[1], f"the bags differ: the atoms have the types {bags[0]} and {bags[1]}."
    )
    distance = abs(penalized_logp(one) - penalized_logp(other))
    require(distance >= 1, f"the bags agree, but the targets differ by only {distance:.2f}.")
