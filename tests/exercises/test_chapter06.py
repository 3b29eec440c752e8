"""The checkers of chapter 06: each mistake is named."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from gtcourse.exercises import chapter06
from tests.exercises.solutions import checkers

CHECKERS = checkers(chapter06)


def looked_up(scalars, rows):
    return scalars[rows].permute(2, 0, 1)


def far_left_out(scalars, distance):
    bias = looked_up(scalars, (distance + 1).clamp(max=len(scalars) - 1))
    return bias * (distance <= len(scalars) - 2)


def far_as_unreachable(scalars, distance):
    row = distance + 1
    return looked_up(scalars, torch.where(row < len(scalars), row, 0))


def unreachable_left_out(scalars, distance):
    return looked_up(scalars, (distance + 1).clamp(max=len(scalars) - 1)) * (distance >= 0)


def terms(table, path):
    return table[torch.arange(len(table)), path]


def on_path(table, distance):
    return torch.arange(len(table)) < distance[..., None]


def summed(table, path, distance):
    return (terms(table, path) * on_path(table, distance)).sum(dim=-1)


def framed(bias, t, corner=1.0, row=1.0, column=1.0, inner=0.0):
    whole = F.pad(bias + inner * t[:, None, None], (1, 0, 1, 0))
    whole[:, 0, 1:] = row * t[:, None]
    whole[:, 1:, 0] = column * t[:, None]
    whole[:, 0, 0] = corner * t
    return whole


def behind(bias, t):
    whole = F.pad(bias, (0, 1, 0, 1))
    whole[:, -1], whole[:, :, -1] = t[:, None], t[:, None]
    return whole


TWICE = math.log(2)


def mean_head(b=(-99.0, TWICE, 0.0, -99.0), q=0.0, v=1.0):
    def answer(d):
        eye = torch.eye(d)
        return torch.tensor(b), q * eye, eye, v * eye

    return answer


def refined(sign):
    """Number the signs that ``sign(own, neighbours' colours)`` makes."""

    def refine(colours, A):
        hears = [[colours[j] for j in A[i].nonzero().flatten().tolist()] for i in range(len(A))]
        signs = [sign(own, heard) for own, heard in zip(colours, hears, strict=True)]
        return [sorted(set(signs)).index(s) for s in signs]

    return refine


WRONG = [
    ("spatial_bias", lambda s, d: s[(d + 1).clamp(max=len(s) - 1)], "the heads are the last axis"),
    ("spatial_bias", lambda s, d: looked_up(s, d.clamp(max=3)), "-1 was read as the last row"),
    ("spatial_bias", lambda s, d: looked_up(s, d.clamp(0, 3)), "looked up in row k"),
    (
        "spatial_bias",
        lambda s, d: looked_up(s, (d + 1).clamp(1, 3)),
        "have the scalar of distance 0",
    ),
    ("spatial_bias", unreachable_left_out, "got nothing; they have a learned scalar too"),
    ("spatial_bias", far_left_out, "distances beyond D got nothing"),
    ("spatial_bias", far_as_unreachable, "the scalar of pairs without a path"),
    ("spatial_bias", lambda s, d: looked_up(s, d + 1), "IndexError"),
    ("spatial_bias", lambda s, d: 3, "expected a tensor"),
    ("edge_bias", lambda t, p, d: summed(t, p, d) / len(t), "divided by L"),
    ("edge_bias", lambda t, p, d: terms(t, p).sum(-1) / d.clamp(1, 3), "counted as edges of type"),
    ("edge_bias", lambda t, p, d: terms(t, p).mean(-1), "the mean is over all L"),
    ("edge_bias", summed, "this is the sum"),
    ("edge_bias", lambda t, p, d: summed(t, p, d) / d.clamp(min=1), "divided by its whole length"),
    (
        "edge_bias",
        lambda t, p, d: summed(t[:1].expand_as(t), p, d) / d.clamp(1, 3),
        "looked up at the first place",
    ),
    (
        "edge_bias",
        lambda t, p, d: (summed(t, p, d) / d.clamp(1, 3)).T,
        "rows and columns are exchanged",
    ),
    ("edge_bias", lambda t, p, d: summed(t, p, d) / d.clamp(max=3), "a mean over no edges"),
    ("edge_bias", lambda t, p, d: t, "expected the shape"),
    ("with_virtual_node", behind, "[VNode] came last"),
    ("with_virtual_node", lambda b, t: framed(b, t, corner=0), "pair with itself has nothing"),
    ("with_virtual_node", lambda b, t: framed(b, t, corner=2), "has t twice"),
    ("with_virtual_node", lambda b, t: framed(b, t, column=0), "the column is missing"),
    ("with_virtual_node", lambda b, t: framed(b, t, row=0), "the row is missing"),
    ("with_virtual_node", lambda b, t: F.pad(b, (1, 0, 1, 0)), "they hold t"),
    ("with_virtual_node", lambda b, t: framed(b, t, inner=1.0), "added to the pairs of nodes"),
    ("with_virtual_node", lambda b, t: framed(b, t[:1].expand(2)), "one t for all"),
    ("with_virtual_node", lambda b, t: b, "expected the shape"),
    (
        "edge_bias",
        lambda t, p, d: (terms(t, p) * (p != 0)).sum(-1) / d.clamp(1, 3),
        "0 is a type",
    ),
    (
        "edge_bias",
        lambda t, p, d: (terms(t, p) * (torch.arange(3) <= d[..., None])).sum(-1) / d.clamp(1, 3),
        "one place too many",
    ),
    ("mean_head", mean_head((-99.0, 0.0, 0.0, -99.0)), "counts as much as a neighbour"),
    ("mean_head", mean_head((-99.0, -99.0, 0.0, -99.0)), "does not hear itself"),
    ("mean_head", mean_head((-99.0, 2.0, 0.0, -99.0)), "not once each"),
    ("mean_head", mean_head((-99.0, TWICE, 0.0, 0.0)), "also attends to nodes farther off"),
    ("mean_head", mean_head((0.0, TWICE, 0.0, -99.0)), "nodes that it cannot reach"),
    ("mean_head", mean_head(q=0.1), "features have no say"),
    ("mean_head", mean_head(v=0.0), "the values are zero"),
    ("mean_head", mean_head(v=2.0), "the numbers are not"),
    ("mean_head", mean_head((-torch.inf,) * 4), "attends to nothing"),
    ("mean_head", lambda d: torch.eye(d), "expected four things"),
    ("mean_head", lambda d: (torch.zeros(3), *[torch.eye(d)] * 3), "expected scalars"),
    ("mean_head", lambda d: mean_head()(3), "for d = 4"),
    ("refine", refined(lambda own, heard: tuple(sorted(heard))), "a node's own colour counts"),
    ("refine", refined(lambda own, heard: (own, *sorted(set(heard)))), "repetitions count"),
    ("refine", refined(lambda own, heard: (own, *heard)), "order does not count"),
    ("refine", refined(lambda own, heard: (own, sum(heard))), "a sum forgets"),
    ("refine", refined(lambda own, heard: (own, sum(heard) / len(heard))), "as in a mean"),
    ("refine", lambda colours, A: colours[:3], "expected a list"),
    ("refine", lambda colours, A: [f"{c}" for c in colours], "no whole numbers"),
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_named(name, answer, message):
    verdict = CHECKERS[name](answer)
    assert verdict.passed is False
    assert message in verdict.message


def test_colours_may_come_as_a_tensor_and_have_any_numbers():
    refine = refined(lambda own, heard: (own, *sorted(heard)))
    assert chapter06.check_refine(lambda c, A: 100 - 3 * torch.tensor(refine(c, A))).passed
    assert chapter06.check_refine(lambda c, A: np.array(refine(c, A))).passed
    assert chapter06.check_refine(lambda c, A: [*np.array(refine(c, A))]).passed


def test_two_nodes_that_came_out_alike_by_accident_are_named():
    right = refined(lambda own, heard: (own, *sorted(heard)))

    def merged(colours, A):
        new = right(colours, A)
        return [new[1] if colour == new[2] else colour for colour in new]

    verdict = chapter06.check_refine(merged)
    assert verdict.passed is False
    assert "came out alike" in verdict.message


@pytest.mark.parametrize("far", [-99.0, -12.0])
def test_large_negative_scalars_do_for_minus_infinity_and_a_list_for_a_tensor(far):
    assert chapter06.check_mean_head(mean_head((far, TWICE, 0.0, far))).passed
    eye = torch.eye
    assert chapter06.check_mean_head(
        lambda d: ([far, TWICE, 0.0, far], 0 * eye(d), eye(d), eye(d))
    ).passed
