"""Every exercise: the folded solution passes, so do other right answers, and the stub waits."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from gtcourse.exercises import (
    chapter01,
    chapter04,
    chapter05,
    chapter06,
    chapter07,
    chapter08,
    chapter09,
    chapter10,
    chapter11,
    chapter12,
)
from gtcourse.models import sinusoidal_encoding
from tests.exercises.test_texts import CHECKERS, EXERCISES, MODULES, TEXTS, folded_solutions

GIVEN = {"math": math, "torch": torch, "F": F, "nn": nn}
"""What the solutions use of what the page has imported."""

OF_VALUES = ("check_maximum", "check_pair")


@pytest.mark.parametrize(("stem", "exercise"), EXERCISES)
def test_the_folded_solution_passes(stem, exercise):
    names = folded_solutions(TEXTS[stem], **GIVEN) | {"chapter" + stem[:2]: MODULES[stem]}
    names[exercise.checker] = CHECKERS[stem[:2], exercise.checker]
    result = eval(exercise.stub.splitlines()[-1], names)
    assert result.passed, result


@pytest.mark.parametrize("check", CHECKERS.values())
def test_the_stub_is_not_attempted_yet(check):
    if check.__name__ not in OF_VALUES:
        assert check(lambda *arguments: None).passed is None
    assert check(*[...] * (3 if check.__name__ == "check_maximum" else 1)).passed is None


def test_a_value_that_is_missing_is_not_attempted_yet():
    assert chapter01.check_maximum(torch.eye(2), torch.eye(2), ...).passed is None


def test_the_solutions_matrix_moves_every_place():
    matrix = folded_solutions(TEXTS["02_transformer"], **GIVEN)["shift_matrix"](7, 32)
    places = sinusoidal_encoding(40, 32).double()
    torch.testing.assert_close(places[:-7] @ matrix.T, places[7:], atol=1e-5, rtol=0)


def flip_every_other_pair(rows):
    return rows * (-1) ** torch.arange(rows.shape[1] // 2).repeat(2)


def cleared(q, k, v, mask):  # the padded queries as well
    logits = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~mask[:, None], -1e9)
    return logits.softmax(-1) @ v * mask[..., None]


def head_with_large_negatives(d):
    return [-12.0, math.log(2), 0.0, -12.0], 0 * torch.eye(d), torch.eye(d), torch.eye(d)


def numbered_backwards(colours, A):
    return 100 - 3 * np.array(chapter06.check_refine.reference(colours, A))


def shifted_rows(A):  # the same number in a row is no bias
    return torch.full(A.shape, 3.0), torch.where(A, 12.0, -12.0)


def rows_masked_too(dots, b, g, real):
    s = (dots.clamp(-5, 5) + b).masked_fill(~(real & real[:, None]), torch.finfo(b.dtype).min)
    return (s.softmax(dim=1) * g.sigmoid()).masked_fill(~real[:, None], 7.0)


def by_masks(a, R, relation):  # relation by relation
    return sum((a * (relation == t)).sum(2)[..., None] * R[:, t, None] for t in range(R.shape[1]))


def dial():
    return torch.cat([torch.zeros(1, 8), 30 * torch.eye(8), torch.zeros(2, 8)]) - 100.0


def by_steps(A, t):
    L = torch.diag(A.sum(dim=1)) - A
    return torch.matrix_power(torch.eye(len(A)) - t / 2**20 * L, 2**20).log()


def two_factors(q, k, E, H):
    q, k = (x.unflatten(1, (H, -1)).transpose(0, 1) for x in (q, k))
    K = q.shape[-1]
    product = (q @ k.mT / K**0.5).exp().repeat_interleave(K, dim=0) * E.exp()
    return product / product.sum(dim=-1, keepdim=True)


def backward_by_autograd(a, m, keep, g):
    E, s = a.log().requires_grad_(), torch.zeros_like(a[0], requires_grad=True)
    z = ((s + E).softmax(dim=-1) * keep * m).sum(dim=-1)
    return torch.autograd.grad(z, (E, s), g)


def by_maximum(receiver, sender, A):
    x = receiver[:, None] + sender[None]
    return torch.maximum(x, 0.2 * x) + A.T.float().log()


def by_dividing(s, v):
    a = s.softmax(dim=0)[:, None]
    return a / (1 - a) * (v - (a * v).sum(dim=0))


def gradient_by_autograd(a, v, g):
    s = a.log().requires_grad_()
    return torch.autograd.grad(s.softmax(dim=-1) @ v, s, g)[0]


def chained(attention):
    steps = (attention.mean(dim=1) + torch.eye(attention.shape[-1]).to(attention)) / 2
    return torch.linalg.multi_dot(list(steps.flip(0)))


def by_detours(A, mask):  # Floyd and Warshall, as floats
    D = torch.where(torch.diag_embed(mask), 0.0, torch.where(A, 1.0, torch.inf))
    for n in range(A.shape[-1]):
        D = torch.minimum(D, D[:, :, n, None] + D[:, n, None])
    return torch.where(D.isinf(), -1.0, D)


def read_off(B, N, H, d):
    return torch.zeros(B, H, N, N).nbytes, torch.zeros(B, H, d // H, N, N).nbytes


def after(check, change):
    """The reference's answer, changed to one that is as right."""
    return check, lambda *arguments: change(check.reference(*arguments))


@pytest.mark.parametrize(
    ("check", "answer"),
    [
        (chapter01.check_masked_attention, cleared),
        after(chapter04.check_laplacian_rows, torch.neg),
        after(chapter04.check_svd_rows, flip_every_other_pair),
        after(chapter05.check_projectors, list),
        (chapter06.check_mean_head, head_with_large_negatives),
        (chapter06.check_refine, numbered_backwards),
        after(chapter06.check_refine, torch.tensor),
        (chapter07.check_counting_head, shifted_rows),
        (chapter07.check_gated_attention, rows_masked_too),
        after(chapter07.check_distance_objective, torch.tensor),
        (chapter08.check_value_term, by_masks),
        (chapter08.check_dial_table, dial),
        (chapter09.check_heat_bias, by_steps),
        after(chapter09.check_ring_bound, torch.Tensor.double),
        (chapter09.check_attention_filters, two_factors),
        (chapter09.check_backward, backward_by_autograd),
        (chapter10.check_gat_logits, by_maximum),
        (chapter10.check_gate_as_bias, lambda s, g: (s + F.logsigmoid(g)).log_softmax(dim=-1)),
        (chapter10.check_gate_as_bias, lambda s, g: s + g.double().sigmoid().log()),
        after(chapter10.check_ahead_of, lambda pairs: [list(pair) for pair in pairs]),
        (chapter11.check_leave_out, by_dividing),
        (chapter11.check_logit_gradient, gradient_by_autograd),
        (chapter11.check_rollout, chained),
        after(chapter12.check_padding_share, torch.tensor),
        after(chapter12.check_next_batch, torch.tensor),
        (chapter12.check_distances, by_detours),
        (chapter12.check_pair_bytes, read_off),
    ],
)  # fmt: skip
def test_another_right_answer_passes(check, answer):
    assert check(answer).passed, check(answer)
