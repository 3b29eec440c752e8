"""Checks of chapter 02: the Transformer.

Shapes: B sequences, M target tokens, V words, d width, H heads, K = d / H.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from gtcourse.exercises.verdict import Mistake, checker, expect
from gtcourse.models.attention import MultiHeadAttention


@checker("each token sees itself and what came before, and nobody sees padding.")
def check_decoder_mask(decoder_mask: Callable[[Tensor], Tensor]) -> None:
    """``decoder_mask(tokens)``: ``[B, M]``, padding 0, to ``[B, M, M]``, True where m sees n."""
    tokens = torch.tensor([[5, 3, 9, 4], [7, 2, 0, 0]])
    lengths = (4, 2)
    right = torch.zeros(2, 4, 4, dtype=torch.bool)
    causal, real = right.clone(), right.clone()
    for b in range(2):
        for m in range(4):
            for n in range(4):
                causal[b, m, n] = n <= m
                real[b, m, n] = n < lengths[b]
    right = causal & real
    got = decoder_mask(tokens)
    if isinstance(got, Tensor) and got.dtype != torch.bool:
        raise Mistake(f"expected a mask of bool, got {str(got.dtype)[6:]}.")
    expect(
        got,
        right,
        {
            "this is the mask for later tokens alone; padding is still heard.": causal,
            "later tokens alone, without an axis for the sequences; padding is still heard.": (
                causal[0]
            ),
            "this hides padding alone; later tokens are still seen.": real,
            "True means may attend; yours is the other way round.": ~right,
            "the triangle is turned: your tokens see what comes after them.": (
                causal.transpose(1, 2) & real
            ),
            "a token has to see itself, or the first one sees nobody: include the diagonal.": (
                right & ~torch.eye(4, dtype=torch.bool)
            ),
            "padding is masked in the rows; it is the columns that are listened to.": (
                causal & real.transpose(1, 2)
            ),
            "joined with `or`; both conditions have to hold.": causal | real,
        },
    )


@checker("one rotation for each frequency carries every place k places ahead.")
def check_shift_matrix(shift_matrix: Callable[[int, int], Tensor]) -> None:
    """``shift_matrix(k, d)``, ``[d, d]`` float64, with ``R @ p[t] == p[t + k]``."""
    expect(
        shift_matrix(3, 8),
        _rotations(3, 8),
        {
            "this steps k places back: it is the transpose; look at the signs of the sines.": (
                _rotations(-3, 8)
            ),
            "every pair turns by the same angle; pair i turns by k times its own frequency, "
            "10000^(-2i/d).": _rotations(3, 8, exponent=0),
            "the exponent is -2i/d for pair i; yours is -i/d.": _rotations(3, 8, exponent=1),
            "this is one step ahead; the angle is k times the frequency.": _rotations(1, 8),
            "the four sines stand apart from the four cosines; here they alternate, sin, cos, "
            "sin, cos.": _sines_first(_rotations(3, 8)),
        },
        atol=1e-6,
    )
    expect(shift_matrix(1, 6), _rotations(1, 6), {}, atol=1e-6)


def _rotations(k: int, d: int, exponent: float = 2) -> Tensor:
    matrix = torch.zeros(d, d, dtype=torch.float64)
    for i in range(d // 2):
        angle = k * 10000 ** (-exponent * i / d)
        matrix[2 * i, 2 * i] = matrix[2 * i + 1, 2 * i + 1] = math.cos(angle)
        matrix[2 * i, 2 * i + 1], matrix[2 * i + 1, 2 * i] = math.sin(angle), -math.sin(angle)
    return matrix


def _sines_first(matrix: Tensor) -> Tensor:
    order = [*range(0, len(matrix), 2), *range(1, len(matrix), 2)]
    return matrix[order][:, order]


BEGIN, END = 1, 2
STORY = [5, 3, 5, 4]  # what the checker's model wants to write


@checker("it reads the last row, stops at the end, and gives back the tokens alone.")
def check_greedy(greedy: Callable[..., list[int]]) -> None:
    """``greedy(predict, begin, end, limit)`` to the tokens between ``begin`` and ``end``."""
    got = _as_list(greedy(_storyteller, BEGIN, END, 10))
    mistakes = (
        ([BEGIN, *STORY], "`begin` is where it starts, not part of what is written."),
        ([*STORY, END], "`end` says stop; it is not part of what is written."),
        ([BEGIN, *STORY, END], "`begin` and `end` are signs to the model; return what is between."),
        ([5] * 10, "the first row speaks of the first token for ever; the next token is in the "
                   "last row of the logits."),
    )  # fmt: skip
    for wrong, message in mistakes:
        if got == wrong:
            raise Mistake(message)
    if END in got[:-1]:
        raise Mistake("it goes on after `end`: stop as soon as the likeliest token is `end`.")
    if got != STORY:
        raise Mistake(f"the model wants to write {STORY} and then `end`; you wrote {got}.")
    short = _as_list(greedy(_storyteller, BEGIN, END, 2))
    if short != STORY[:2]:
        raise Mistake(f"with limit = 2 the answer has two tokens, {STORY[:2]}; you wrote {short}.")


def _storyteller(written: list[int]) -> Tensor:
    """Logits ``[len(written), 6]`` of a model that tells STORY, whatever was written."""
    written = _as_list(written)
    if not written or written[0] != BEGIN:
        raise Mistake("`predict` wants the tokens written so far, the first of which is `begin`.")
    if len(written) > 40:
        raise Mistake("it never stops: end at `end`, or after `limit` tokens.")
    following = [*STORY, *[END] * len(written)][: len(written)]
    return torch.nn.functional.one_hot(torch.tensor(following), 6).float()


def _as_list(tokens: object) -> list[int]:
    if isinstance(tokens, Tensor):
        return tokens.flatten().tolist()
    if not isinstance(tokens, list | tuple):
        raise Mistake(f"expected a list of token numbers, got a {type(tokens).__name__}.")
    return [int(token) for token in tokens]


@checker("one token at a time gives what the causal mask gives, and no key is computed twice.")
def check_cached_step(step: Callable[..., tuple[Tensor, Tensor, Tensor]]) -> None:
    """``step(attention, x, keys, values)`` to the output ``[B, 1, d]`` and the longer memory."""
    attention, x = _small_attention()
    causal = torch.ones(1, 5, 5, dtype=torch.bool).tril()
    with torch.no_grad():
        right = attention(x, mask=causal)  # [B, 5, d]
        outputs, keys, values = _run(step, attention, x)
        if keys.shape != (2, 2, 5, 4) or values.shape != (2, 2, 5, 4):
            raise Mistake(
                "after 5 tokens keys and values are [B, H, 5, K], here [2, 2, 5, 4]; yours are "
                f"{list(keys.shape)} and {list(values.shape)}. Return the longer ones."
            )
        expect(
            outputs,
            right,
            {
                "the new token does not attend to itself: append its key and value first.": (
                    _strictly_before(attention, x)
                ),
                "the logits are not divided by sqrt(K).": _cached(attention, x, scale=1.0),
                "the logits are divided by sqrt(d); a head is K = d / H wide.": _cached(
                    attention, x, scale=8**-0.5
                ),
                "the output projection is missing.": _cached(attention, x, project=False),
                "only the newest token is attended to; use all keys so far.": attention.output(
                    attention.value(x)
                ),
            },
        )


def _small_attention() -> tuple[MultiHeadAttention, Tensor]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        attention = MultiHeadAttention(8, 2)
        for bias in (attention.query.bias, attention.value.bias, attention.output.bias):
            torch.nn.init.normal_(bias)
        return attention.eval(), 2 * torch.randn(2, 5, 8)


def _run(step: Callable, attention: MultiHeadAttention, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    keys = values = torch.zeros(2, 2, 0, 4)
    outputs = []
    for t in range(5):
        answer = step(attention, x[:, t : t + 1], keys, values)
        if not isinstance(answer, tuple | list) or len(answer) != 3:
            raise Mistake("return three things: the output, the keys and the values.")
        output, keys, values = answer
        if not isinstance(output, Tensor) or output.shape != (2, 1, 8):
            shape = list(output.shape) if isinstance(output, Tensor) else type(output).__name__
            raise Mistake(f"the output of one step is [B, 1, d], here [2, 1, 8]; got {shape}.")
        outputs.append(output)
    return torch.cat(outputs, dim=1), keys, values


def _cached(
    attention: MultiHeadAttention, x: Tensor, *, scale: float = 0.5, project: bool = True
) -> Tensor:
    """Causal attention of all tokens at once, with a scale of choice."""
    query, key, value = (
        attention.split_heads(part(x)) for part in (attention.query, attention.key, attention.value)
    )
    later = torch.ones(5, 5, dtype=torch.bool).triu(1)
    logits = (query @ key.transpose(-1, -2) * scale).masked_fill(later, -math.inf)
    output = attention.join_heads(logits.softmax(dim=-1) @ value)
    return attention.output(output) if project else output


def _strictly_before(attention: MultiHeadAttention, x: Tensor) -> Tensor:
    """The first token attends to nobody: an empty sum of values."""
    return attention(x, mask=torch.ones(1, 5, 5, dtype=torch.bool).tril(-1))
