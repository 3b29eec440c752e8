"""The checkers of chapter 02: each mistake is named."""

import pytest
import torch

from gtcourse.exercises import chapter02
from gtcourse.models import sinusoidal_encoding
from tests.exercises.solutions import checkers, folded_solutions


def solutions() -> dict:
    return folded_solutions("02_transformer", torch=torch)


def test_the_solutions_matrix_moves_every_place():
    matrix = solutions()["shift_matrix"](7, 32)
    places = sinusoidal_encoding(40, 32).double()
    torch.testing.assert_close(places[:-7] @ matrix.T, places[7:], atol=1e-5, rtol=0)


def mask_from(joined):
    """A decoder mask from ``joined(causal [M, M], real [B, M])``."""

    def decoder_mask(tokens):
        place = torch.arange(tokens.shape[1])
        return joined(place[:, None] >= place, tokens != 0)

    return decoder_mask


MASKS = [
    (lambda causal, real: causal, "padding is still heard"),
    (lambda causal, real: causal.expand(2, 4, 4), "padding is still heard"),
    (lambda causal, real: real[:, None].expand(2, 4, 4), "hides padding alone"),
    (lambda causal, real: ~(causal & real[:, None]), "other way round"),
    (lambda causal, real: causal.T & real[:, None], "triangle is turned"),
    (lambda causal, real: causal.tril(-1) & real[:, None], "include the diagonal"),
    (lambda causal, real: causal & real[:, :, None], "masked in the rows"),
    (lambda causal, real: causal | real[:, None], "both conditions"),
    (lambda causal, real: (causal & real[:, None]).float(), "mask of bool"),
]


def rotations(k, d, *, turn=1, frequency=lambda i, d: 10000 ** (-2 * i / d)):
    angles = torch.tensor([turn * k * frequency(i, d) for i in range(d // 2)]).double()
    blocks = [torch.tensor([[a.cos(), a.sin()], [-a.sin(), a.cos()]]).double() for a in angles]
    return torch.block_diag(*blocks)


def halves(k, d):
    order = [*range(0, d, 2), *range(1, d, 2)]
    return rotations(k, d)[order][:, order]


SHIFTS = [
    (lambda k, d: rotations(k, d).T, "back"),
    (lambda k, d: rotations(k, d, turn=-1), "back"),
    (lambda k, d: rotations(k, d, frequency=lambda i, d: 1.0), "same angle"),
    (lambda k, d: rotations(k, d, frequency=lambda i, d: 10000 ** (-i / d)), "exponent"),
    (lambda k, d: rotations(1, d), "one step ahead"),
    (halves, "alternate"),
    (lambda k, d: rotations(k, 2), "shape"),
]


def decoding(*, row=-1, keep_begin=False, keep_end=False, stops=True, limited=True, start=None):
    def greedy(predict, begin, end, limit):
        written = [begin if start is None else start]
        while len(written) <= (limit if limited else 10):
            token = int(predict(written)[row].argmax())
            if token != end or keep_end or not stops:
                written.append(token)
            if token == end and stops:
                break
        return written if keep_begin else written[1:]

    return greedy


def endless(predict, begin, end, limit):
    written = [begin]
    while written[-1] != end:
        written.append(int(predict(written)[0].argmax()))
    return written


DECODING = [
    (decoding(row=0), "last row"),
    (decoding(keep_begin=True), "`begin` is where it starts"),
    (decoding(keep_end=True), "`end` says stop"),
    (decoding(keep_begin=True, keep_end=True), "what is between"),
    (decoding(stops=False), "goes on after `end`"),
    (decoding(limited=False), "limit = 2"),
    (decoding(start=3), "the first of which is `begin`"),
    (endless, "never stops"),
    (lambda *_: 7, "list of token numbers"),
]


def cached(*, scale=0.5, project=True, own=True, grow=True, newest=False):
    def step(attention, x, keys, values):
        query, key, value = (
            attention.split_heads(part(x))
            for part in (attention.query, attention.key, attention.value)
        )
        longer = torch.cat([keys, key], dim=-2), torch.cat([values, value], dim=-2)
        seen = (key, value) if newest else longer if own else (keys, values)
        weights = (query @ seen[0].transpose(-1, -2) * scale).softmax(dim=-1)
        output = attention.join_heads(weights @ seen[1])
        return attention.output(output) if project else output, *(longer if grow else seen)

    return step


STEPS = [
    (cached(scale=1.0), "not divided by sqrt(K)"),
    (cached(scale=8**-0.5), "divided by sqrt(d)"),
    (cached(project=False), "output projection is missing"),
    (cached(own=False), "does not attend to itself"),
    (cached(newest=True), "only the newest token"),
    (cached(newest=True, grow=False), "Return the longer ones"),
    (lambda attention, x, keys, values: x, "return three things"),
    (lambda attention, x, keys, values: (x[:, 0], keys, values), "the output of one step"),
]

CHECKERS = checkers(chapter02)
WRONG = [
    (name, *case)
    for name, cases in (
        ("decoder_mask", [(mask_from(joined), words) for joined, words in MASKS]),
        ("shift_matrix", SHIFTS),
        ("greedy", DECODING),
        ("cached_step", STEPS),
    )
    for case in cases
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_named(name, answer, message):
    verdict = CHECKERS[name](answer)
    assert verdict.passed is False
    assert message in verdict.message
