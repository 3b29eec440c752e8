"""The checkers of chapter 01: each mistake is named."""

import math

import pytest
import torch
import torch.nn.functional as F

from gtcourse.exercises import chapter01
from tests.exercises.solutions import checkers, folded_solutions


def solutions() -> dict:
    return folded_solutions("01_self_attention", math=math, torch=torch)


def test_the_folded_values_pass():
    answers = solutions()
    verdicts = [
        chapter01.check_maximum(*(answers[name] for name in ("W_Q", "W_K", "W_V"))),
        chapter01.check_pair(answers["pair"]),
    ]
    assert all(verdict.passed for verdict in verdicts), verdicts


def test_missing_values_are_not_attempted_yet():
    assert chapter01.check_maximum(..., ..., ...).passed is None
    assert chapter01.check_maximum(torch.eye(2), torch.eye(2), ...).passed is None
    assert chapter01.check_pair(...).passed is None


def columns(q, k, v, *, scale=True, axis=0):
    logits = k.T @ q / (math.sqrt(len(q)) if scale else 1)
    return v @ logits.softmax(axis)


COLUMNS = [
    (lambda q, k, v: columns(q, k, v, scale=False), "scale is missing"),
    (lambda q, k, v: v @ (k.T @ q / len(q)).softmax(0), "square root"),
    (lambda q, k, v: v @ (k.T @ q / q.shape[1] ** 0.5).softmax(0), "number of tokens"),
    (lambda q, k, v: columns(q, k, v, axis=1), "wrong axis"),
    (lambda q, k, v: v @ (q.T @ k / len(q) ** 0.5).softmax(1), "wrong side"),
    (lambda q, k, v: v @ (q.T @ k / len(q) ** 0.5).softmax(0), "query is a row"),
    (lambda q, k, v: columns(q, k, v).T, "lie in rows"),
    (lambda q, k, v: (k.T @ q / len(q) ** 0.5).softmax(0), "multiply them with the values"),
    (lambda q, k, v: F.scaled_dot_product_attention(q, k, v), "raised RuntimeError"),
]


def masked(q, k, v, mask, *, fill=-math.inf, scale=2):
    logits = (q @ k.mT / scale).masked_fill(~mask[:, None, :], fill)
    return logits.softmax(-1) @ v


def hidden_nan(q, k, v, mask):
    forbidden = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)[:, None, :]
    return (q @ k.mT / 2 + forbidden).softmax(-1).nan_to_num(0.0) @ v


MASKED = [
    (masked, "gives NaN"),
    (hidden_nan, "gradient is NaN"),
    (lambda *a: masked(*a, fill=-1e9), "mean of its padding"),
    (lambda q, k, v, m: (q @ k.mT / 2).softmax(-1) @ v, "also by the empty"),
    (lambda q, k, v, m: ((q @ k.mT / 2).softmax(-1) * m[..., None]) @ v, "to the keys"),
    (lambda q, k, v, m: ((q @ k.mT / 2).softmax(-1) * m[:, None]) @ v, "no longer sum to one"),
    (lambda q, k, v, m: masked(q, k, v, m, fill=0) * m[..., None], "set to 0"),
    (lambda q, k, v, m: masked(q, k, v, ~m).nan_to_num(0.0), "wrong way round"),
    (lambda *a: masked(*a, fill=-1e9, scale=1) * a[3][..., None], "scale is missing"),
    (lambda q, k, v, m: masked(q, k, v, m, fill=-1e9).mean(1), "expected the shape"),
]


def test_masked_attention_may_clear_the_padded_queries():
    def cleared(q, k, v, mask):
        return masked(q, k, v, mask, fill=-1e9) * mask[..., None]

    assert chapter01.check_masked_attention(cleared).passed


def multi_head(h, W_Q, W_K, W_V, W_O, heads, *, split=None, join=None, scale=None):
    split = split or (lambda x: x.unflatten(-1, (heads, -1)).transpose(1, 2))
    join = join or (lambda z: z.transpose(1, 2).flatten(2))
    q, k, v = split(h @ W_Q), split(h @ W_K), split(h @ W_V)
    return join(F.scaled_dot_product_attention(q, k, v, scale=scale)) @ W_O


def cut(x):
    return x.reshape(2, 3, 5, 4)


def uncut(z):
    return z.reshape(2, 5, 12)


def one_head(h, W_Q, W_K, W_V, W_O, heads):
    return F.scaled_dot_product_attention(h @ W_Q, h @ W_K, h @ W_V) @ W_O


MULTI_HEAD = [
    (lambda *a: multi_head(*a, split=cut), "the split mixes"),
    (lambda *a: multi_head(*a, join=uncut), "the merge mixes"),
    (lambda *a: multi_head(*a, split=cut, join=uncut), "both mix"),
    (lambda *a: multi_head(*a, scale=12**-0.5), r"sqrt(d)"),
    (lambda *a: multi_head(*a, scale=1 / 3), "number of heads"),
    (lambda *a: multi_head(*a, scale=1.0), "scale is missing"),
    (lambda h, q, k, v, o, n: multi_head(h, q, k, v, torch.eye(12), n), "not mixed"),
    (lambda h, q, k, v, o, n: multi_head(h, q.T, k.T, v.T, o.T, n), "transposed"),
    (one_head, "one head"),
    (
        lambda *a: multi_head(
            *a,
            split=lambda x: x.unflatten(-1, (-1, 3)).permute(0, 3, 1, 2),
            join=lambda z: z.permute(0, 2, 3, 1).flatten(2),
        ),
        "every H-th channel",
    ),
]


def column(*entries):
    return torch.tensor(entries)[:, None]


MAXIMUM = [
    ((column(0.0, 0.0), column(0.0, 1.0), column(0.0, 1.0)), "is the mean"),
    ((column(-50.0, 0.0), column(0.0, 1.0), column(0.0, 1.0)), "is the minimum"),
    ((column(0.0, 50.0), column(0.0, 1.0), column(0.0, 1.0)), "must not depend"),
    ((column(1.0, 0.0), column(0.0, 1.0), column(0.0, 1.0)), "too soft"),
    ((column(50.0, 0.0), column(0.0, 1.0), column(1.0, 0.0)), "the result is 1"),
    ((column(50.0, 0.0), column(0.0, 1.0), torch.eye(2)), "a value has 2 entries"),
    ((column(50.0, 0.0), torch.eye(2), column(0.0, 1.0)), "differ in width"),
    ((torch.ones(3, 1), column(0.0, 1.0), column(0.0, 1.0)), "expected two rows"),
]


PAIR = [
    (("CCO", "OCC"), "two ways of writing"),
    (("CCO", "CO"), "3 atoms and 2 atoms"),
    (("CCO", "CCN"), "not of the same types"),
    (("CCO", "COC"), "targets are close"),
    (("CCO", "C(C"), "no molecule that RDKit can read"),
    ("CCO", "expected two"),
]

CHECKERS = checkers(chapter01) | {
    "maximum": lambda weights: chapter01.check_maximum(*weights),
    "pair": chapter01.check_pair,
}
WRONG = [
    (name, *case)
    for name, cases in (
        ("attend_columns", COLUMNS),
        ("masked_attention", MASKED),
        ("multi_head", MULTI_HEAD),
        ("maximum", MAXIMUM),
        ("pair", PAIR),
    )
    for case in cases
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_named(name, answer, message):
    verdict = CHECKERS[name](answer)
    assert verdict.passed is False
    assert message in verdict.message
