"""Checks of chapter 01: self-attention from scratch.

Shapes: B sequences, N queries, M keys, K width of a head, V width of a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.exercises.verdict import Missing, Mistake, checker, expect


@checker("Columns attend as rows do: V softmax(K^T Q / sqrt(d_k)), each column summing to one.")
def check_columns(attend: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """``attend(Q, K, V)`` on columns: ``[K, N]``, ``[K, N]``, ``[V, N]`` to ``[V, N]``."""
    query, key, value = _random((9, 4), (9, 4), (3, 4))
    logits = key.T @ query  # entry (j, i): key j against query i
    right = value @ (logits / 3).softmax(dim=0)
    expect(
        attend(query, key, value),
        right,
        {
            "the scale is missing: divide the logits by sqrt(d_k), here 3.": (
                value @ logits.softmax(dim=0)
            ),
            "the logits are divided by d_k; it should be its square root.": (
                value @ (logits / 9).softmax(dim=0)
            ),
            "the logits are divided by the root of the number of tokens; d_k is the length of a "
            "column of Q.": value @ (logits / 2).softmax(dim=0),
            "softmax over the wrong axis: in K^T Q a query is a column, so each column has to sum "
            "to one.": value @ (logits / 3).softmax(dim=1),
            "in Q^T K a query is a row: normalise along the row, and multiply V with the "
            "transpose.": value @ (logits.T / 3).softmax(dim=0),
            "these are the right weights on the wrong side: V @ (Q^T K) mixes queries. Transpose "
            "the weights.": value @ (logits.T / 3).softmax(dim=1),
            "the numbers are right and lie in rows; the lecture's tokens are columns.": right.T,
            "these are the weights; multiply them with the values.": (logits / 3).softmax(dim=0),
        },
    )


@checker("padding is never heard, an empty sequence gives zeros, and its gradient is finite.")
def check_masked_attention(attend: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    """``attend(Q, K, V, mask)`` with ``[B, N, K]``, ..., and the keys' mask ``[B, N]``."""
    sizes = torch.tensor([4, 2, 0])
    mask = torch.arange(4) < sizes[:, None]
    inputs = _random((3, 4, 4), (3, 4, 4), (3, 4, 5))
    # What a padded query gets is nobody's business, except in the empty sequence: zeros.
    judged = mask | (sizes == 0)[:, None]
    query = inputs[0].clone().requires_grad_()
    got = attend(query, *inputs[1:], mask)
    if isinstance(got, Tensor) and got.shape == inputs[2].shape:
        if got[2].isnan().any():
            raise Mistake(
                "the empty sequence gives NaN: a softmax over nothing but -inf is 0/0. Give such "
                "a row something to attend to, and set its result to zero."
            )
        expect(got[judged], _masked(inputs, mask)[judged], _masked_mistakes(inputs, mask, judged))
        got.sum().backward()
        if not query.grad.isfinite().all():
            raise Mistake(
                "the output is right, but its gradient is NaN: replacing NaN after the softmax "
                "hides it from the forward pass only. Mend the row before the softmax."
            )
    else:
        expect(got, inputs[2], {})  # for its sentence on types and shapes


def _masked_mistakes(inputs: list[Tensor], mask: Tensor, judged: Tensor) -> dict[str, Tensor]:
    query, key, value = inputs
    logits = query @ key.transpose(1, 2) / 2
    keys = mask[:, None, :]
    alive = mask.any(dim=1)[:, None, None]
    mistakes = {
        "the padding is heard: False in the mask has to give a weight of zero. The mask belongs "
        "to the keys, which are the columns of the logits.": logits.softmax(-1) * alive @ value,
        "the padding is heard, also by the empty sequence.": logits.softmax(-1) @ value,
        "the mask is the wrong way round: True says that a key may be attended to.": _masked(
            inputs, ~mask
        ),
        "the weights of a row no longer sum to one: mask the logits, before the softmax.": (
            logits.softmax(-1) * keys @ value
        ),
        "a masked logit is set to 0, which still gets exp(0) = 1; set it to -inf.": (
            (logits * keys).softmax(-1) * alive @ value
        ),
        "the empty sequence gives the mean of its padding; zeros were asked for.": (
            logits.masked_fill(~keys, -1e9).softmax(-1) @ value
        ),
        "the scale is missing: divide by sqrt(d_k).": _masked([2 * query, key, value], mask),
    }
    return {message: wrong[judged] for message, wrong in mistakes.items()}


def _masked(inputs: list[Tensor], mask: Tensor) -> Tensor:
    """A sequence at a time, on its real keys alone."""
    query, key, value = inputs
    rows = [
        F.scaled_dot_product_attention(q, k[m], v[m]) if m.any() else torch.zeros_like(v)
        for q, k, v, m in zip(query, key, value, mask, strict=True)
    ]
    return torch.stack(rows)


@checker("each head has its own K channels, and W_O mixes what they found.")
def check_multi_head(attend: Callable[..., Tensor]) -> None:
    """``attend(h, W_Q, W_K, W_V, W_O, num_heads)`` on ``[B, N, d]`` and ``[d, d]``."""
    batch, tokens, d, heads, width = 2, 5, 12, 3, 4
    h, *weights = _random((batch, tokens, d), *[(d, d)] * 4)

    def split(x: Tensor) -> Tensor:
        return x.reshape(batch, tokens, heads, width).transpose(1, 2)

    def join(z: Tensor) -> Tensor:
        return z.transpose(1, 2).flatten(2)

    def cut(x: Tensor) -> Tensor:
        return x.reshape(batch, heads, tokens, width)

    def uncut(z: Tensor) -> Tensor:
        return z.reshape(batch, tokens, d)

    def interleave(x: Tensor) -> Tensor:
        return x.reshape(batch, tokens, width, heads).permute(0, 3, 1, 2)

    def result(weights, split=split, join=join, scale=width**-0.5) -> Tensor:
        query, key, value = (split(h @ w) for w in weights[:3])
        return join(F.scaled_dot_product_attention(query, key, value, scale=scale)) @ weights[3]

    expect(
        attend(h, *weights, heads),
        _one_head_after_another(h, *weights, heads),
        {
            "the split mixes tokens: reshape [B, N, d] to [B, N, H, K] and exchange two axes; a "
            "reshape to [B, H, N, K] cuts through the tokens.": result(weights, split=cut),
            "the merge mixes tokens: bring [B, H, N, K] back to [B, N, H, K] before you "
            "flatten.": result(weights, join=uncut),
            "split and merge both mix tokens: a reshape does not exchange axes.": result(
                weights, split=cut, join=uncut
            ),
            "the logits are divided by sqrt(d); a head is only K = d / H wide.": result(
                weights, scale=1 / math.sqrt(d)
            ),
            "the logits are divided by the number of heads; it should be sqrt(K).": result(
                weights, scale=1 / heads
            ),
            "the scale is missing: divide the logits by sqrt(K).": result(weights, scale=1),
            "the heads are not mixed: multiply with W_O.": result([*weights[:3], torch.eye(d)]),
            "a head takes every H-th channel; here head 1 has the first K, head 2 the next K.": (
                result(weights, interleave, lambda z: z.permute(0, 2, 3, 1).flatten(2))
            ),
            "this is one head as wide as the model: make the logits a head at a time.": result(
                weights, lambda x: x, lambda z: z, scale=1 / math.sqrt(d)
            ),
            "the weights are transposed: vectors are rows, so it is h @ W. (nn.Linear stores the "
            "transpose.)": result([w.T for w in weights]),
        },
        atol=1e-3,
    )


def _one_head_after_another(h, W_Q, W_K, W_V, W_O, heads: int) -> Tensor:
    width = h.shape[-1] // heads
    outputs = []
    for head in range(heads):
        columns = slice(head * width, (head + 1) * width)
        query, key, value = (h @ w[:, columns] for w in (W_Q, W_K, W_V))
        weights = (query @ key.mT / math.sqrt(width)).softmax(dim=-1)
        outputs.append(weights @ value)
    return torch.cat(outputs, dim=-1) @ W_O


@checker("one head that finds the largest number, whatever token asks.")
def check_maximum(W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> None:
    """Three matrices, each with two rows, for tokens ``(1, x)``."""
    if W_K is ... or W_V is ...:
        raise Missing
    W_Q, W_K, W_V = (torch.as_tensor(w, dtype=torch.float64) for w in (W_Q, W_K, W_V))
    for name, matrix in (("W_Q", W_Q), ("W_K", W_K), ("W_V", W_V)):
        if matrix.dim() != 2 or len(matrix) != 2:
            raise Mistake(f"{name} has the shape {list(matrix.shape)}; expected two rows.")
    if W_Q.shape != W_K.shape:
        raise Mistake("queries and keys differ in width; no dot product joins them.")
    if W_V.shape[1] != 1:
        raise Mistake(f"a value has {W_V.shape[1]} entries; expected one, the number itself.")
    for numbers in ([0.5, 4.0, -3.0, 3.5], [-5.0, -1.0, -3.0, -2.0], [3.0, 1.0, 2.0]):
        _judge_maximum(torch.tensor(numbers, dtype=torch.float64), W_Q, W_K, W_V)


def _judge_maximum(x: Tensor, W_Q: Tensor, W_K: Tensor, W_V: Tensor) -> None:
    h = torch.stack([torch.ones_like(x), x], dim=1)
    z = F.scaled_dot_product_attention(h @ W_Q, h @ W_K, h @ W_V)[:, 0]
    shown = f"[{', '.join(f'{number:g}' for number in x)}]"
    if (z - x.max()).abs().max() < 0.05:
        return
    if z.std() > 0.05:
        raise Mistake(
            f"on {shown} the tokens disagree: {[round(float(number), 2) for number in z]}. The "
            "query must not depend on the token's own number: a negative one turns the search "
            "round."
        )
    for message, value in (
        (f"on {shown} the result is the mean, {x.mean():g}: all logits are equal.", x.mean()),
        (f"on {shown} the result is the minimum: turn the sign of the logits.", x.min()),
        ("the result is 1: the value is the constant entry of the token, not its number.", 1.0),
    ):
        if abs(float(z[0] - value)) < 0.05:
            raise Mistake(message)
    raise Mistake(
        f"on {shown} the result is {float(z[0]):.2f}, not {float(x.max()):g}. If it lies between "
        "mean and maximum, the softmax is too soft: make the logits larger."
    )


@checker("two molecules, one bag. No model of this chapter will ever tell them apart.")
def check_pair(pair: tuple[str, str]) -> None:
    """Two SMILES of the same bag of atoms, whose penalised logP differs by 1 or more."""
    from rdkit import Chem, rdBase

    from gtcourse.graphs.chemistry import graph_of, parse, penalized_logp

    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise Mistake("expected two SMILES strings.")
    with rdBase.BlockLogs():
        molecules = [parse(smiles) for smiles in pair]
    bags = [
        sorted(graph_of(molecule, smiles)[0])
        for molecule, smiles in zip(molecules, pair, strict=True)
    ]
    if len({Chem.MolToSmiles(molecule, isomericSmiles=False) for molecule in molecules}) == 1:
        raise Mistake("these are two ways of writing the same molecule.")
    if len(bags[0]) != len(bags[1]):
        raise Mistake(f"the bags differ: {len(bags[0])} atoms and {len(bags[1])} atoms.")
    if bags[0] != bags[1]:
        raise Mistake("as many atoms, but not of the same types: the bags differ.")
    targets = [penalized_logp(molecule) for molecule in molecules]
    if abs(targets[0] - targets[1]) < 1:
        raise Mistake(
            f"the same bag, but the targets are close: {targets[0]:.2f} and {targets[1]:.2f}. "
            "Look at what the target punishes most: a large ring."
        )


def _random(*shapes: tuple[int, ...]) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(*shape, generator=generator) for shape in shapes]
