"""Checks of chapter 02: the Transformer.

Shapes: B sequences, M target tokens, V words, d width, H heads, K = d / H.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.exercises.checker import Mistake, compare
from gtcourse.models.attention import MultiHeadAttention


@compare(
    "each token attends to itself and earlier tokens, and none attends to padding.",
    cases=[
        (torch.tensor([[5, 3, 9, 4], [7, 2, 0, 0]]),),
        (torch.tensor([[5, 1, 0, 0, 0], [7, 2, 6, 4, 0], [8, 3, 3, 9, 2]]),),
    ],
    dtype=torch.bool,
    mistakes={
        "only later tokens are masked; mask padding too.": {
            "join": lambda causal, real: causal | (real & False)
        },
        "only padding is masked; mask later tokens too.": {
            "join": lambda causal, real: real | (causal & False)
        },
        "True means may attend, not False.": {"join": lambda causal, real: ~(causal & real)},
        "the triangle is transposed: your tokens attend to later ones.": {
            "join": lambda causal, real: causal.T & real
        },
        "a token attends to itself: the diagonal is True.": {
            "join": lambda causal, real: causal.tril(-1) & real
        },
        "padding is masked in the rows, not columns.": {
            "join": lambda causal, real: causal & real.mT
        },
        "only padding is masked, in rows and columns; mask later tokens too.": {
            "join": lambda causal, real: real & real.mT
        },
        "the conditions are combined with `or`; both have to hold.": {"join": torch.logical_or},
    },
)
def check_decoder_mask(tokens, join=torch.logical_and):
    """``decoder_mask(tokens)``: ``[B, M]``, padding 0, to ``[B, M, M]``, True where m sees n."""
    place = torch.arange(tokens.shape[1])
    return join(place[:, None] >= place, (tokens != 0)[:, None])


@compare(
    "one rotation for each frequency shifts every position by k.",
    cases=[(3, 8), (1, 6)],
    atol=1e-6,
    mistakes={
        "this shifts by -k: check the signs of the sines.": {"turn": -1},
        "every pair turns by the same angle; pair i has the frequency 10000^(-2i/d).": {"power": 0},
        "the exponent is -2i/d for pair i; yours is -i/d.": {"power": 1},
        "this shifts by 1; the angle is k times the frequency.": {"turn": 1 / 3},
        "sines and cosines are in separate halves; they alternate: sin, cos, sin, cos.": {
            "apart": True
        },
    },
)
def check_shift_matrix(k, d, turn=1, power=2, apart=False):
    """``shift_matrix(k, d)``, ``[d, d]`` float64, with ``R @ p[t] == p[t + k]``."""
    angles = turn * k * 10000 ** (-power * torch.arange(d // 2, dtype=torch.float64) / d)
    blocks = [torch.stack([a.cos(), a.sin(), -a.sin(), a.cos()]).view(2, 2) for a in angles]
    order = [*range(0, d, 2), *range(1, d, 2)] if apart else list(range(d))
    return torch.block_diag(*blocks)[order][:, order]


STORY = [5, 3, 5, 4]  # what the checker's model wants to write


def _storyteller(written: list[int]) -> Tensor:
    """Logits ``[len(written), 6]`` of a model that tells STORY, whatever was written."""
    written = _as_list(written)
    if not written or written[0] != 1:
        raise Mistake("`predict` takes the tokens so far, the first of which is `begin`.")
    if len(written) > 40:
        raise Mistake("it never stops: end at `end`, or after `limit` tokens.")
    following = [*STORY, *[2] * len(written)][: len(written)]
    return F.one_hot(torch.tensor(following), 6).float()


def _as_list(tokens: object) -> list[int]:
    if isinstance(tokens, Tensor):
        return tokens.flatten().tolist()
    if not isinstance(tokens, list | tuple):
        raise Mistake(f"expected a list of token numbers, got a {type(tokens).__name__}.")
    return [int(token) for token in tokens]


@compare(
    "it reads the last row, stops at `end`, and returns only the tokens.",
    cases=[(_storyteller, 1, 2, 10), (_storyteller, 1, 2, 2)],
    view=_as_list,
    mistakes={
        "the result starts after `begin`.": {"first": 0},
        "the result stops before `end`.": {"keep_end": True},
        "return what is between `begin` and `end`.": {"first": 0, "keep_end": True},
        "the next token is in the last row of the logits, not in the first.": {"row": 0},
        "it goes on after `end`: stop as soon as the likeliest token is `end`.": {"stops": False},
        "it writes more tokens than `limit`.": {"longest": 10},
    },
)
def check_greedy(
    predict, begin, end, limit, row=-1, first=1, keep_end=False, stops=True, longest=None
):
    """``greedy(predict, begin, end, limit)`` to the tokens between ``begin`` and ``end``."""
    written = [begin]
    while len(written) <= (longest or limit):
        token = int(predict(written)[row].argmax())
        if token != end or keep_end or not stops:
            written.append(token)
        if token == end and stops:
            break
    return written[first:]


def _small_attention() -> tuple[MultiHeadAttention, Tensor]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        attention = MultiHeadAttention(8, 2)
        for bias in (attention.query.bias, attention.value.bias, attention.output.bias):
            torch.nn.init.normal_(bias)
        return attention.eval(), 2 * torch.randn(2, 5, 8)


@torch.no_grad()
def _one_after_another(step: Callable, attention: MultiHeadAttention, x: Tensor) -> Tensor:
    """The outputs of five steps, ``[B, 5, d]``."""
    keys = values = x.new_zeros(2, 2, 0, 4)
    outputs = []
    for t in range(1, 6):
        answer = step(attention, x[:, t - 1 : t], keys, values)
        if not isinstance(answer, tuple | list) or len(answer) != 3:
            raise Mistake("return three things: the output, the keys and the values.")
        output, keys, values = answer
        if not isinstance(output, Tensor) or output.shape != (2, 1, 8):
            raise Mistake("the output of one step is [B, 1, d], here [2, 1, 8].")
        if keys.shape != (2, 2, t, 4) or values.shape != (2, 2, t, 4):
            raise Mistake(f"after {t} tokens keys and values are [B, H, {t}, K]: return them all.")
        outputs.append(output)
    return torch.cat(outputs, dim=1)


def _step(scale=0.5, project=True, seen=slice(None)) -> Callable:
    def step(attention, x, keys, values):
        q, k, v = (
            attention.split_heads(part(x))
            for part in (attention.query, attention.key, attention.value)
        )
        keys, values = torch.cat([keys, k], dim=-2), torch.cat([values, v], dim=-2)
        weights = (scale * q @ keys[..., seen, :].mT).softmax(dim=-1)
        output = attention.join_heads(weights @ values[..., seen, :])
        return attention.output(output) if project else output, keys, values

    return step


@compare(
    "one token at a time equals the causal mask, and no key is computed twice.",
    cases=[_small_attention()],
    run=_one_after_another,
    gradients=False,  # decoding needs none
    mistakes={
        "the new token does not attend to itself: append its key and value first.": _step(
            seen=slice(-1)
        ),
        "the logits are not divided by sqrt(K).": _step(scale=1.0),
        "the logits are divided by sqrt(d); a head is K = d / H wide.": _step(scale=8**-0.5),
        "the output projection is missing.": _step(project=False),
        "only the newest token is attended to; use all keys so far.": _step(seen=slice(-1, None)),
    },
)
def check_cached_step(attention, x):
    """``step(attention, x, keys, values)`` to the output ``[B, 1, d]`` and the longer memory."""
    return attention(x, mask=torch.ones(1, 5, 5, dtype=torch.bool).tril())
