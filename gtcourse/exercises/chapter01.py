"""Checks of chapter 01: self-attention from scratch.

Shapes: B sequences, N queries, M keys, K width of a head, V width of a value.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.exercises.checker import Missing, Mistake, checker, compare, random


@compare(
    "attention on columns is V softmax(K^T Q / sqrt(d_k)), where each column sums to one.",
    cases=[random((9, 4), (9, 4), (3, 4)), random((5, 6), (5, 6), (7, 6), seed=2)],
    mistakes={
        "the scale is missing: divide the logits by sqrt(d_k), here 3.": {"scale": 1},
        "the logits are divided by d_k; it should be its square root.": {"scale": 1 / 9},
        "the logits are divided by the root of the number of tokens; use d_k, the rows of Q.": (
            lambda Q, K, V: check_columns.reference(Q, K, V, scale=Q.shape[1] ** -0.5)
        ),
        "the logits are divided by sqrt(d_v); use d_k, the rows of Q.": lambda Q, K, V: (
            check_columns.reference(Q, K, V, scale=len(V) ** -0.5)
        ),
        "the softmax and the product run along different axes; each query has one column.": (
            lambda Q, K, V: V @ (Q.T @ K / len(Q) ** 0.5).softmax(0)
        ),
        "softmax over the wrong axis: a query is a column of K^T Q, which sums to one.": {
            "axis": 1
        },
        "V @ (Q^T K) mixes queries: transpose it.": lambda Q, K, V: V @ (Q.T @ K / 3).softmax(1),
        "these are the weights; multiply them by the values.": lambda Q, K, V: (
            K.T @ Q / 3
        ).softmax(0),
    },
)
def check_columns(Q, K, V, scale=None, axis=0):
    """``attend(Q, K, V)`` on columns: ``[K, N]``, ``[K, N]``, ``[V, N]`` to ``[V, N]``."""
    return V @ ((scale or len(Q) ** -0.5) * K.T @ Q).softmax(axis)


def _first(lengths: list[int], N: int) -> Tensor:
    return torch.arange(N) < torch.tensor(lengths)[:, None]


def _without_padded_queries(attend, q, k, v, mask):
    """Any result will do for a padded query, except in an empty sequence: zeros."""
    z = attend(q, k, v, mask)
    if not isinstance(z, Tensor) or z.shape != v.shape:
        return z
    compared = (mask | ~mask.any(dim=1, keepdim=True))[..., None]
    return torch.where(compared | z.isnan(), z, 0.0)


@compare(
    "padding gets no attention, an empty sequence gives zeros, and its gradient is finite.",
    cases=[
        (*random((3, 6, 4), (3, 6, 4), (3, 6, 5)), _first([6, 2, 0], 6)),
        (*random((2, 5, 9), (2, 5, 9), (2, 5, 7), seed=2), _first([0, 3], 5)),
    ],
    run=_without_padded_queries,
    mistakes={
        "the empty sequence gives NaN: a softmax over nothing but -inf is 0/0. Give such a row "
        "something to attend to, and set its result to zero.": {"fill": -math.inf},
        "queries attend to padding: a key mask applies to the columns of the logits.": (
            lambda q, k, v, mask: (q @ k.mT / 2).softmax(-1) * mask[..., None] @ v
        ),
        "queries attend to padding.": lambda q, k, v, mask: (q @ k.mT / 2).softmax(-1) @ v,
        "the weights of a row no longer sum to one: mask the logits, before the softmax.": (
            lambda q, k, v, mask: ((q @ k.mT / 2).softmax(-1) * mask[:, None]) @ v
        ),
        "a masked logit is set to 0, which still gets exp(0) = 1; set it to -inf.": {"fill": 0},
        "a masked logit is set to a finite number, which still gets weight; set it to -inf.": {
            "fill": -1.0
        },
        "the empty sequence gives the mean of its padding, not zeros.": {"empty": 1},
        "the scale is missing: divide by sqrt(d_k).": {"scale": 1},
    },
)
def check_masked_attention(q, k, v, mask, fill=-1e9, scale=None, empty=0):
    """``attend(Q, K, V, mask)`` with ``[B, N, K]``, ..., and the keys' mask ``[B, N]``."""
    scale = scale or q.shape[-1] ** -0.5
    z = (scale * q @ k.mT).masked_fill(~mask[:, None], fill).softmax(-1) @ v
    z = z * mask.any(dim=1)[:, None, None].to(z.dtype).clamp(min=empty)
    return _without_padded_queries(lambda *_: z, q, k, v, mask)


def _split(x, H):
    return x.unflatten(-1, (H, -1)).transpose(1, 2)


def _cut(x, H):
    return x.reshape(x.shape[0], H, x.shape[1], -1)


def _join(z):
    return z.transpose(1, 2).flatten(2)


@compare(
    "each head has its own K channels, and W_O mixes the heads.",
    cases=[
        (*random((2, 5, 12), *[(12, 12)] * 4), 3),
        (*random((3, 7, 10), *[(10, 10)] * 4, seed=2), 2),
    ],
    atol=1e-3,
    mistakes={
        "the split mixes tokens: reshape to [B, N, H, K] and swap two axes.": {"split": _cut},
        "the merge mixes tokens: bring [B, H, N, K] back to [B, N, H, K] before you flatten.": {
            "join": lambda z: z.reshape(2, 5, 12)
        },
        "the logits are divided by sqrt(d); a head is only K = d / H wide.": {"scale": 12**-0.5},
        "the scale is missing: divide the logits by sqrt(K).": {"scale": 1},
        "the logits are divided by sqrt(H); a head is K = d / H wide.": lambda *a: (
            check_multi_head.reference(*a, scale=a[-1] ** -0.5)
        ),
        "the heads are not separated: all channels were used at once.": lambda *a: (
            check_multi_head.reference(*a[:-1], 1)
        ),
        "softmax over the wrong axis: each query's weights sum to one over the keys.": {"dim": -2},
        "the heads are not mixed: multiply by W_O.": lambda h, q, k, v, o, H: (
            check_multi_head.reference(h, q, k, v, torch.eye(12), H)
        ),
        "the weights are transposed: vectors are rows, so it is h @ W.": lambda h, q, k, v, o, H: (
            check_multi_head.reference(h, q.T, k.T, v.T, o.T, H)
        ),
    },
)
def check_multi_head(
    h, W_Q, W_K, W_V, W_O, num_heads, split=_split, join=_join, scale=None, dim=-1
):
    """``attend(h, W_Q, W_K, W_V, W_O, num_heads)`` on ``[B, N, d]`` and ``[d, d]``."""
    q, k, v = (split(h @ W, num_heads) for W in (W_Q, W_K, W_V))
    logits = q @ k.mT * (scale or q.shape[-1] ** -0.5)
    return join(logits.softmax(dim) @ v) @ W_O


@checker("one head that finds the largest number, whatever the query's token.")
def check_maximum(W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> None:
    """Three matrices, each with two rows, for tokens ``(1, x)``."""
    if W_K is ... or W_V is ...:
        raise Missing
    W_Q, W_K, W_V = (torch.as_tensor(W, dtype=torch.float64) for W in (W_Q, W_K, W_V))
    for name, W in (("W_Q", W_Q), ("W_K", W_K), ("W_V", W_V)):
        if W.dim() != 2 or len(W) != 2:
            raise Mistake(f"{name} has the shape {list(W.shape)}; expected two rows.")
    if W_Q.shape != W_K.shape:
        raise Mistake("queries and keys differ in width, so they have no dot product.")
    if W_V.shape[1] != 1:
        raise Mistake(f"a value has {W_V.shape[1]} entries; expected one, the number itself.")
    for numbers in ([0.5, 4.0, -3.0, 3.5], [-5.0, -1.0, -3.0, -2.0], [3.0, 1.0, 2.0]):
        x = torch.tensor(numbers, dtype=torch.float64)
        h = torch.stack([torch.ones_like(x), x], dim=1)
        z = F.scaled_dot_product_attention(h @ W_Q, h @ W_K, h @ W_V)[:, 0]
        if (z - x.max()).abs().max() < 0.05:
            continue
        if z.std() > 0.05:
            raise Mistake(
                f"on {numbers} the tokens disagree: a query must not depend on its number."
            )
        for wrong, message in ((x.mean(), "mean: all logits are equal"), (x.min(), "minimum")):
            if abs(z[0] - wrong) < 0.05:
                raise Mistake(f"on {numbers} the result is the {message}.")
        raise Mistake(f"on {numbers} the result is {z[0]:.2f}: is the softmax too soft?")


@checker("two molecules, one bag. No model of this chapter can tell them apart.")
def check_pair(pair: tuple[str, str]) -> None:
    """Two SMILES of the same bag of atoms, whose penalised logP differs by 1 or more."""
    from rdkit import Chem, rdBase

    from gtcourse.graphs.molecules import graph_of, parse, penalized_logp

    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise Mistake("expected two SMILES strings.")
    with rdBase.BlockLogs():
        molecules = [parse(smiles) for smiles in pair]
    bags = [sorted(graph_of(m, smiles)[0]) for m, smiles in zip(molecules, pair, strict=True)]
    if len({Chem.MolToSmiles(molecule, isomericSmiles=False) for molecule in molecules}) == 1:
        raise Mistake("these are two ways of writing the same molecule.")
    if bags[0] != bags[1]:
        raise Mistake(f"the bags differ: atoms of types {bags[0]} and {bags[1]}.")
    first, second = (penalized_logp(molecule) for molecule in molecules)
    if abs(first - second) < 1:
        raise Mistake(
            f"the same bag, but the targets are close: {first:.2f} and {second:.2f}. Look at what "
            "the target punishes most: a large ring."
        )
