"""Checks of chapter 02. Shapes: B sequences, M target tokens, d width, H heads, d_k = d / H."""

import numpy as np
import torch
import torch.nn.functional as F

from gtcourse.course.exercises.checker import compare, integers, mistake, require, tensors
from gtcourse.models.attention import MultiHeadAttention


@compare(
    [torch.tensor([[5, 3, 9, 4], [7, 2, 0, 0]])],
    [torch.tensor([[5, 1, 0, 0, 0], [7, 2, 6, 4, 0], [8, 3, 3, 9, 2]])],
)
@mistake("only later tokens are masked; mask padding too.", given=lambda t: (t.clamp(min=1),))
@mistake("the mask is inverted: True marks where a token may attend.", then=torch.logical_not)
@mistake("your tokens attend to later ones.", join=lambda seen, real: seen.T & real)
@mistake("a token attends to itself as well.", join=lambda seen, real: seen.tril(-1) & real)
@mistake("padding is masked in the rows; mask its columns.", join=lambda seen, real: seen & real.mT)
def check_decoder_mask(tokens, join=torch.logical_and):
    """Each token attends to itself and earlier tokens, and none attends to padding."""
    place = torch.arange(tokens.shape[1])
    return join(place[:, None] >= place, (tokens != 0)[:, None])


def _in_double_precision(shift_matrix, k, d):
    R = shift_matrix(k, d)
    is_double = getattr(R, "dtype", None) in (torch.float64, np.float64)
    require(is_double, f"expected float64, got {getattr(R, 'dtype', type(R).__name__)}.")
    return R


@compare((3, 8), (1, 6), (0, 4), (250, 2), run=_in_double_precision, atol=1e-6)
@mistake("this shifts by -k: check the signs of the sines.", turn=-1)
@mistake("every pair turns by the same angle; pair i has the frequency 10000^(-2i/d).", power=0)
@mistake("the exponent is -2i/d for pair i; yours is -i/d.", power=1)
@mistake("this shifts by 1; the angle is k times the frequency.", turn=1 / 3)
def check_shift_matrix(k, d, turn=1, power=2):
    """One rotation for each frequency shifts every position by k."""
    angles = turn * k * 10000 ** (-power * torch.arange(d // 2, dtype=torch.float64) / d)
    blocks = [torch.stack([a.cos(), a.sin(), -a.sin(), a.cos()]).view(2, 2) for a in angles]
    return torch.block_diag(*blocks)


def _storyteller(written):
    """Logits ``[len(written), 6]`` of a model that tells one story, whatever was written."""
    written = integers(written)
    require(written[:1] == [1], "`predict` takes the tokens so far, the first of which is `begin`.")
    require(len(written) <= 40, "it never stops: end at `end`, or after `limit` tokens.")
    return F.one_hot(torch.tensor([5, 3, 5, 4, *[2] * 40])[: len(written)], 6).float()


@compare((_storyteller, 1, 2, 10), (_storyteller, 1, 2, 2), (_storyteller, 1, 2, 0), view=integers)
@mistake("the result starts after `begin`.", first=0)
@mistake("the result stops before `end`.", last=None)
@mistake("the next token is in the last row of the logits, not in the first.", row=0)
@mistake("it goes on after `end`.", given=lambda predict, _, end, limit: (predict, 1, -1, limit))
@mistake("it writes more tokens than `limit`.", given=lambda predict, *ends: (predict, 1, 2, 10))
def check_greedy(predict, begin, end, limit, row=-1, first=1, last=-1):
    """It reads the last row, stops at `end`, and returns only the tokens."""
    written = [begin]
    while len(written) <= limit and end not in written:
        written.append(int(predict(written)[row].argmax()))
    return written[first : last if end in written else None]


def _attention(B, M, d, H, dtype):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        attention = MultiHeadAttention(d, H)
        for parameter in attention.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        return attention.eval().to(dtype), 2 * torch.randn(B, M, d, dtype=dtype)


@torch.no_grad()
def _one_after_another(step, attention, x):
    """The outputs of M steps, ``[B, M, d]``."""
    B, H, _, K = attention.split_heads(x).shape
    keys = values = x.new_zeros(B, H, 0, K)
    outputs = []
    for t, token in enumerate(x.split(1, dim=1), start=1):
        answer = step(attention, token, keys, values)
        output, keys, values = tensors(answer, token.shape, (B, H, t, K), (B, H, t, K))
        outputs.append(output)
    return torch.cat(outputs, dim=1)


@compare(
    _attention(2, 5, 8, 2, torch.float32),
    _attention(3, 4, 6, 2, torch.float64),
    run=_one_after_another,
)
@mistake("the new token does not attend to itself: append its key first.", seen=slice(-1))
@mistake("only the newest token is attended to; use all keys so far.", seen=slice(-1, None))
@mistake("the logits are not divided by sqrt(d_k).", scale=1.0)
@mistake("the output projection is missing.", project=False)
def check_cached_step(attention, x, keys, values, scale=None, project=True, seen=slice(None)):
    """Step by step you get the outputs of causal attention, and no key is computed twice."""
    parts = (attention.query, attention.key, attention.value)
    q, k, v = (attention.split_heads(part(x)) for part in parts)
    keys, values = torch.cat([keys, k], dim=-2), torch.cat([values, v], dim=-2)
    weights = ((scale or q.shape[-1] ** -0.5) * q @ keys[..., seen, :].mT).softmax(dim=-1)
    output = attention.join_heads(weights @ values[..., seen, :])
    return attention.output(output) if project else output, keys, values
