"""Checks of chapter 01. Shapes: B sequences, N queries, M keys, d_k and d_v: widths in a head."""

import math

import torch
import torch.nn.functional as F

from gtcourse.course.exercises.checker import (
    Missing,
    checker,
    compare,
    mistake,
    random,
    require,
    tensors,
)

LARGE = [30 * x for x in random((9, 4), (9, 4), (3, 4), seed=5)]  # exp of a logit overflows


@compare(random((9, 4), (9, 4), (3, 4)), LARGE, random((5, 6), (5, 6), (7, 6), seed=2))
@mistake("the scale is missing: divide the logits by sqrt(d_k), here 3.", scale=1)
@mistake("the logits are divided by d_k; it should be its square root.", scale=1 / 9)
@mistake("the logits are divided by sqrt(d_v); use d_k, the number of rows of Q.", scale=3**-0.5)
@mistake(
    "the softmax is over the wrong axis: each column of K^T Q has to sum to one.",
    axis=1,
)
def check_columns(Q, K, V, scale=None, axis=0):
    """Attention on columns is V softmax(K^T Q / sqrt(d_k)), where each column sums to one."""
    return V @ ((scale or len(Q) ** -0.5) * K.T @ Q).softmax(axis)


# Any result will do for a padded query, except in an empty sequence: zeros.
@compare(
    (*random((3, 6, 4), (3, 6, 4), (3, 6, 5)), torch.arange(6) < torch.tensor([[6], [2], [0]])),
    (*random((2, 5, 9), (2, 5, 9), (2, 5, 7)), torch.arange(5) < torch.tensor([[0], [3]])),
    view=lambda z, q, k, v, mask: z[mask | ~mask.any(dim=1, keepdim=True)],
    gradients=True,
)
@mistake("the empty sequence gives NaN: a softmax over nothing but -inf is 0/0.", fill=-math.inf)
@mistake("queries attend to padding: a key mask applies to the columns of the logits.", axis=2)
@mistake("the weights no longer sum to one: mask the logits, before the softmax.", late=True)
@mistake("the empty sequence gives the mean of its padding, not zeros.", empty=1)
@mistake("the scale is missing: divide by sqrt(d_k).", scale=1)
def check_masked_attention(q, k, v, mask, fill=-1e9, scale=None, empty=0, axis=1, late=False):
    """Padding gets no attention, an empty sequence gives zeros, and its gradient is finite."""
    logits, keys = (scale or q.shape[-1] ** -0.5) * q @ k.mT, mask.unsqueeze(axis)
    a = logits.softmax(-1) * keys if late else logits.masked_fill(~keys, fill).softmax(-1)
    return a @ v * mask.any(dim=1)[:, None, None].to(v.dtype).clamp(min=empty)


@compare(
    (*random((2, 5, 12), *[(12, 12)] * 4), 3),
    (*random((3, 7, 10), *[(10, 10)] * 4, seed=2), 2),
    atol=1e-3,
)
@mistake("the split mixes tokens: reshape to [B, N, H, d_k] and swap two axes.", mixed=True)
@mistake("the merge mixes tokens: swap heads and tokens before you flatten.", merge=(1, 1))
@mistake("the logits are divided by sqrt(d); a head is only d_k = d / H wide.", scale=12**-0.5)
@mistake("the scale is missing: divide the logits by sqrt(d_k).", scale=1)
@mistake("W_O is missing.", given=lambda *a: (*a[:4], torch.eye(12), a[5]))
def check_multi_head(h, W_Q, W_K, W_V, W_O, num_heads, mixed=False, merge=(1, 2), scale=None):
    """Each head has its own d_k channels, and W_O mixes the heads."""
    heads = [(h @ W).unflatten(-1, (num_heads, -1)).transpose(1, 2) for W in (W_Q, W_K, W_V)]
    q, k, v = [(h @ W).view_as(heads[0]) for W in (W_Q, W_K, W_V)] if mixed else heads
    logits = q @ k.mT * (scale or q.shape[-1] ** -0.5)
    return (logits.softmax(dim=-1) @ v).transpose(*merge).reshape(h.shape) @ W_O


@checker
def check_maximum(W_Q, W_K, W_V):
    """The head finds the largest number, whichever token asks."""
    if W_K is ... or W_V is ...:
        raise Missing
    W_Q, W_K, W_V = (W.float() for W in tensors((W_Q, W_K, W_V), *[(2, 1)] * 3))
    close = [0.5 * n for n in range(-12, 20)]  # 0.5 apart, and many of them
    for numbers in (
        [0.5, 4.0, -3.0, 3.5],
        [-5.0, -1.0, -3.0, -2.0],
        [3.0, 1.0, 2.0],
        close,
        [100.0, 99.5, -100.0],
        [-0.5, -1.0, -1.5],
    ):
        x = torch.tensor(numbers)
        h = torch.stack([torch.ones_like(x), x], dim=1)
        z = F.scaled_dot_product_attention(h @ W_Q, h @ W_K, h @ W_V)[:, 0]
        require(z.std() <= 0.05, "the tokens disagree: a query must not depend on its number.")
        require(abs(z[0] - x.mean()) >= 0.05, f"on {numbers} the result is the mean.")
        require(abs(z[0] - x.min()) >= 0.05, f"on {numbers} the result is the minimum.")
        is_maximum = (z - x.max()).abs().max() < 0.05
        require(is_maximum, f"on {numbers} the result is {z[0]:.2f}: is the softmax too soft?")


@checker
def check_pair(pair):
    """Both molecules are the same bag, so no model of this chapter can tell them apart."""
    from rdkit import Chem, rdBase

    from gtcourse.graphs.molecules import molecule_graph, parse, penalized_logp

    require(isinstance(pair, tuple | list) and len(pair) == 2, "expected two SMILES strings.")
    with rdBase.BlockLogs():
        one, other = map(parse, pair)
    names = {Chem.MolToSmiles(molecule, isomericSmiles=False) for molecule in (one, other)}
    require(len(names) == 2, "these are two ways of writing the same molecule.")
    bags = [sorted(molecule_graph(smiles)[0]) for smiles in pair]
    require(bags[0] == bags[1], f"the bags differ: atoms of types {bags[0]} and {bags[1]}.")
    distance = abs(penalized_logp(one) - penalized_logp(other))
    require(distance >= 1, f"the bags agree, but the targets are close: {distance:.2f} apart.")
