"""Checks of chapter 02. Shapes: B sequences, M target tokens, d width, H heads, d_k = d / H."""

import math

import numpy as np
import torch
import torch.nn.functional as F

from gtcourse.course.exercises.checker import compare, integers, mistake, require, tensors
from gtcourse.course.exercises.drawing import Draw
from gtcourse.models.attention import MultiHeadAttention


def _tokens(draw: Draw):
    return [draw.numbers(draw.size(3), draw.size(4), of=(0, 1, 2, 5, 256, 65_536))]


@compare(
    [torch.tensor([[5, 3, 9, 4], [7, 2, 0, 0]])],
    [torch.tensor([[5, 1, 0, 0, 0], [7, 2, 6, 4, 0], [8, 3, 256, 9, 2], [0, 0, 5, 0, 6]])],
    drawn=_tokens,
)
@mistake("only later tokens are masked; mask padding too.", given=lambda t: (t.clamp(min=1),))
@mistake("the mask is inverted: True marks where a token may attend.", then=torch.logical_not)
@mistake(
    "tokens attend to later ones instead of earlier ones.", join=lambda seen, real: seen.T & real
)
@mistake("a token attends to itself as well.", join=lambda seen, real: seen.tril(-1) & real)
@mistake("padding is masked in the rows; mask its columns.", join=lambda seen, real: seen & real.mT)
@mistake(
    "the rows of padding are masked too; mask its columns only.",
    join=lambda seen, real: seen & real & real.mT,
)
@mistake("later tokens are not masked.", join=lambda seen, real: real.expand(-1, len(seen), -1))
@mistake(
    "in 8 bits the token 256 is 0: compare the tokens with 0 as they are.",
    given=lambda t: (t % 256,),
)
@mistake("both conditions have to hold: join them with &.", join=torch.logical_or)
@mistake(
    "padding may be anywhere: compare each token with 0.",
    join=lambda seen, real: seen & (torch.arange(len(seen)) < real.sum(dim=2, keepdim=True)),
)
@mistake(
    "tokens after the first padding are masked too; only padding is.",
    join=lambda seen, real: seen & real.cumprod(dim=2).bool(),
)
@mistake(
    "padding attends to itself in your mask; its column is masked in every row.",
    join=lambda seen, real: seen & (real | torch.eye(len(seen), dtype=torch.bool)),
)
@mistake(
    "a row that may attend to nothing is opened; it stays False everywhere.",
    then=lambda seen: seen | ~seen.any(dim=2, keepdim=True),
)
@mistake("only 0 is padding; 1 is a token.", given=lambda t: (t * (t > 1),))
@mistake(
    "this is an additive mask of 0 and -inf; return True and False instead.",
    then=lambda seen: torch.where(seen, 0.0, -torch.inf),
)
def check_decoder_mask(tokens, join=torch.logical_and):
    """Each token attends to itself and earlier tokens, and none attends to padding."""
    place = torch.arange(tokens.shape[1])
    return join(place[:, None] >= place, (tokens != 0)[:, None])


def _in_double_precision(shift_matrix, k, d):
    R = shift_matrix(k, d)
    if isinstance(R, tuple | list):  # Python's numbers have double precision
        return R
    is_double = getattr(R, "dtype", None) in (torch.float64, np.float64)
    require(is_double, f"expected float64, got {getattr(R, 'dtype', type(R).__name__)}.")
    return R


def _steps(draw: Draw):
    return draw.one_of(0, 1, 2, 3, 7, 99, 1000, 4096, 10_000), 2 * draw.number(1, 6)


@compare(
    (3, 8),
    (1, 6),
    (0, 4),
    (5000, 6),
    (250, 2),
    run=_in_double_precision,
    atol=1e-9,
    drawn=_steps,
)
@mistake("the angles are computed in single precision.", kind=torch.float32)
@mistake(
    "the cosines and sines have only single precision: compute them in float64.",
    then=lambda R: R.float().double(),
)
@mistake(
    "the angles are rounded to single precision: make them float64 tensors.", rounded=torch.float32
)
@mistake(
    "the angles are rounded to single precision before they become float64.",
    rounded=torch.float32,
    kind_of_sines=torch.float64,
)
@mistake("the angle does not depend on k.", turn=None)
@mistake(
    "your matrix places the sines of all pairs first; pair i belongs in rows and columns "
    "2i and 2i + 1.",
    then=lambda R: (
        R.unflatten(0, (-1, 2))
        .unflatten(2, (-1, 2))
        .transpose(0, 1)
        .transpose(2, 3)
        .flatten(2)
        .flatten(0, 1)
    ),
)
@mistake("this is the identity: nothing is shifted.", turn=0)
@mistake("this shifts by -k: check the signs of the sines.", turn=-1)
@mistake("every pair turns by the same angle; pair i has the frequency 10000^(-2i/d).", power=0)
@mistake("the exponent is -2i/d for pair i; yours is -i/d.", power=1)
@mistake("the exponent is -2i/d for pair i; the sign of yours is wrong.", power=-2)
@mistake("pair 0 has the frequency 1: count the pairs from 0.", first=1)
@mistake(
    "the angles are converted from degrees, but they are in radians already.", turn=math.pi / 180
)
def check_shift_matrix(
    k, d, turn=1, power=2, kind=torch.float64, first=0, rounded=torch.float64, kind_of_sines=None
):
    """One rotation for each frequency shifts every position by k."""
    times = 1 if turn is None else turn * k
    angles = (times * 10000 ** (-power * (first + torch.arange(d // 2, dtype=kind)) / d)).double()
    angles = angles.to(rounded).to(kind_of_sines or rounded)
    blocks = [torch.stack([a.cos(), a.sin(), -a.sin(), a.cos()]).view(2, 2) for a in angles]
    return torch.block_diag(*blocks).double()


class _Storyteller:
    """Logits ``[len(written), words]`` of a model that tells one story, whatever was written."""

    def __init__(self, begin: int, *story: int, least: float = 0.0, words: int = 7) -> None:
        self.begin = begin
        self.story = story
        self.least = least
        self.words = words

    def __repr__(self) -> str:
        low = f" and has logits from {self.least:g}" if self.least else ""
        return f"a model that writes {', '.join(map(str, self.story[:6]))}{low}"

    def __call__(self, written):
        written = integers(written)
        start = "`predict` takes the tokens so far, the first of which is `begin`."
        require(written[:1] == [self.begin], start)
        require(
            len(written) <= 40, "your decoder never stops: stop at `end`, or after `limit` tokens."
        )
        story = torch.tensor([*self.story, *[self.story[-1]] * 40])[: len(written)]
        return F.one_hot(story, self.words) + torch.linspace(0, 0.5, self.words) + self.least


STORY = _Storyteller(1, 5, 3, 5, 4, 2)
OTHER = _Storyteller(4, 0, 6, 1, 3)  # with other numbers for begin and end
ENDLESS = _Storyteller(1, 5, 3, 5, 4)
AT_ONCE = _Storyteller(1, 2)
LONG_WORDS = _Storyteller(9, 8, 0, 11, 7, words=12)
AGAIN = _Storyteller(1, 5, 1, 3, 2, 6, 2, 4)  # with `begin` in the middle, and more after `end`


def _stories(draw: Draw):
    """Of any tokens, the first and the last included, and with logits that are all negative."""
    words = draw.one_of(7, 3, 20)
    begin, end, *_ = draw.in_some_order(range(words))
    story = draw.several(draw.number(1, 6), range(words))
    predict = _Storyteller(begin, *story, least=draw.one_of(0, -9), words=words)
    return predict, begin, end, draw.number(0, 7)


def _stops(greedy):
    """Raises :class:`Mistake` if the decoder goes on and only its result is cut at ``end``."""
    asked = []

    def predict(written):
        asked.extend(integers(written))
        return STORY(written)

    result = integers(greedy(predict, 1, 2, 10))
    after = "`predict` is called again after `end`: stop there."
    require(result != [5, 3, 5, 4] or 2 not in asked, after)


def _of_story(got, right, predict, begin, end, limit):
    tokens = f"begin = {begin}, end = {end}, limit = {limit}"
    return f"for {predict!r} and {tokens} the result is {integers(got)}, not {right}."


@compare(
    (STORY, 1, 2, 10),
    (STORY, 1, 2, 2),
    (STORY, 1, 2, 0),
    (AT_ONCE, 1, 2, 5),
    (ENDLESS, 1, 2, 6),
    (STORY, 1, 2, 4),
    (AGAIN, 1, 2, 9),
    (OTHER, 4, 3, 9),
    (LONG_WORDS, 9, 7, 9),
    (ENDLESS, 1, 2, 35),
    once=_stops,
    view=integers,
    explain=_of_story,
    drawn=_stories,
)
@mistake("leave `begin` out of the result.", first=0)
@mistake(
    "`end` is an argument; do not hard-code its number.",
    given=lambda p, _, __, limit: (p, _, 2, limit),
)
@mistake(
    "at the limit a token is missing: `limit` counts the tokens after `begin`, and the last of "
    "them is cut off only if it is `end`.",
    shorter=1,
)
@mistake("for a limit of 0 the result is empty.", least=1)
@mistake("leave `end` out of the result.", last=None)
@mistake("the next token is in the last row of the logits, not in the first.", row=0)
@mistake(
    "your decoder continues after `end`.",
    given=lambda predict, begin, _, limit: (predict, begin, -1, limit),
)
@mistake(
    "the result has more than `limit` tokens.",
    given=lambda predict, begin, end, limit: (predict, begin, end, 30),
)
def check_greedy(predict, begin, end, limit, row=-1, first=1, last=-1, shorter=0, least=0):
    """Your decoder reads the last row, stops at `end`, and returns only the tokens in between."""
    written = [begin]
    while len(written) <= max(limit - shorter, least) and end not in written:
        written.append(int(predict(written)[row].argmax()))
    return written[first : last if end in written else None]


def _attention(B, M, d, H, dtype):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2)
        attention = MultiHeadAttention(d, H)
        for parameter in attention.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        return attention.eval().to(dtype), 2 * torch.randn(B, M, d, dtype=dtype)


def _decodings(draw: Draw):
    B, M, H, d_k = (draw.number(1, 3) for _ in range(4))
    return _attention(B, M, H * d_k, H, torch.float32)


@torch.no_grad()
def _one_after_another(step, attention, x):
    """The outputs of M steps, ``[B, M, d]``; the last step is also tried with the true keys."""
    B, H, _, K = attention.split_heads(x).shape
    keys = x.new_zeros(B, H, 0, K)
    values = x.new_zeros(B, H, 0, K)
    outputs = []
    for t, token in enumerate(x.split(1, dim=1), start=1):
        answer = step(attention, token, keys, values)
        three = isinstance(answer, tuple | list) and len(answer) == 3
        require(three, "expected three results: the output, the keys and the values.")
        grown = all(part.shape == (B, H, t, K) for part in answer[1:])
        got = [list(part.shape) for part in answer[1:]]
        wanted = f"expected keys and values [B, H, m + 1, d_k] = {[B, H, t, K]}"
        require(grown, f"{wanted} after a step with m = {t - 1}, got {got[0]} and {got[1]}.")
        output, keys, values = tensors(answer, token.shape, (B, H, t, K), (B, H, t, K))
        outputs.append(output)
    true_keys = attention.split_heads(attention.key(x))
    true_values = attention.split_heads(attention.value(x))
    again, *_ = step(attention, x[:, -1:], true_keys[..., :-1, :], true_values[..., :-1, :])
    same = torch.allclose(tensors(again, token.shape)[0], output, atol=1e-4, equal_nan=True)
    if not same:
        keys_are_values = torch.allclose(keys[..., -1, :], true_values[..., -1, :], atol=1e-4)
        values_are_keys = torch.allclose(values[..., -1, :], true_keys[..., -1, :], atol=1e-4)
        swapped = "keys and values are swapped: return the output, the keys and the values."
        require(not (keys_are_values and values_are_keys), swapped)
        require(not keys_are_values, "your keys are attention.value(x); use attention.key(x).")
        require(not values_are_keys, "your values are attention.key(x); use attention.value(x).")
    hint = "do not scale them, or change them in another way, before you return them."
    true = "keys and values are attention.key(x) and attention.value(x), split into heads"
    require(same, f"{true}: {hint}")
    return torch.cat(outputs, dim=1)


@compare(
    _attention(2, 5, 8, 2, torch.float32),
    _attention(1, 40, 6, 3, torch.float32),
    _attention(3, 4, 6, 2, torch.float64),
    run=_one_after_another,
    drawn=_decodings,
)
@mistake("the new token does not attend to itself: append its key first.", seen=slice(-1))
@mistake("only the newest token is attended to; use all keys so far.", seen=slice(-1, None))
@mistake(
    "only the first token is attended to; use all keys so far. (With a single query, "
    "`is_causal=True` hides all keys but the first.)",
    seen=slice(1),
)
@mistake("the logits are not divided by sqrt(d_k).", scale=lambda q, x: 1.0)
@mistake("the logits are divided by sqrt(d); use d_k.", scale=lambda q, x: x.shape[-1] ** -0.5)
@mistake("the softmax runs over the single query; it should run over the last axis.", axis=-2)
@mistake("the output projection is missing.", project=False)
def check_cached_step(
    attention, x, keys, values, scale=None, project=True, seen=slice(None), axis=-1
):
    """Step by step you get the outputs of causal attention, and no key is computed twice."""
    parts = (attention.query, attention.key, attention.value)
    q, k, v = (attention.split_heads(part(x)) for part in parts)
    keys = torch.cat([keys, k], dim=-2)
    values = torch.cat([values, v], dim=-2)
    scale = scale(q, x) if scale else q.shape[-1] ** -0.5
    weights = (scale * q @ keys[..., seen, :].mT).softmax(dim=axis)
    output = attention.join_heads(weights @ values[..., seen, :])
    return attention.output(output) if project else output, keys, values
