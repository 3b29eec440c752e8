"""The checkers of chapter 08: each mistake is named."""

import pytest
import torch

from gtcourse.exercises import chapter08
from tests.exercises.solutions import checkers

CHECKERS = checkers(chapter08)


def ids(d, bond, E, L, *, shift=0, most=None, far=None, unreachable=None, edge=None, itself=0):
    """A right answer, but for what is given."""
    r = (d + E - 1 + shift).clamp(max=E + L + shift)
    r = torch.where(d > (L if most is None else most), E + L + shift if far is None else far, r)
    r = torch.where(d == -1, E + L + 1 + shift if unreachable is None else unreachable, r)
    r = torch.where(d == 1, 1 + bond if edge is None else edge, r)
    return torch.where(d == 0, itself, r)


RELATIONS = [
    (lambda d, b, E, L: ids(d, b, E, L, most=L - 1), "L are far already (as in"),
    (
        lambda d, b, E, L: ids(d, b, E, L, most=L - 1, far=E + L - 1, unreachable=E + L),
        "the rows after them moved up",
    ),
    (
        lambda d, b, E, L: torch.where(d > L, E + d - 1, ids(d, b, E, L)),
        "nothing is far",
    ),
    (
        lambda d, b, E, L: torch.where(d > L, E + L, ids(d, b, E, L, unreachable=E + L)),
        "nodes without a path are far",
    ),
    (
        lambda d, b, E, L: ids(d, b, E, L, far=E + L + 1, unreachable=E + L),
        "far and unreachable are exchanged",
    ),
    (lambda d, b, E, L: ids(d, b, E, L, unreachable=0), "the relation of a node with itself."),
    (lambda d, b, E, L: ids(d, b, E, L, edge=1), "all edges have the relation 1"),
    (
        lambda d, b, E, L: ids(d, b, E, L, edge=torch.where(b > 0, 1 + b, E)),
        "edges of type 0 were not seen",
    ),
    (lambda d, b, E, L: ids(d, b, E, L, edge=b), "edges begin at 0"),
    (lambda d, b, E, L: ids(d, b, E, L, itself=1), "the relation of an edge of type 0"),
    (lambda d, b, E, L: ids(d, b, E, L, shift=1), "begin one too late"),
    (
        lambda d, b, E, L: torch.where((d > 1) & (d <= L), d, ids(d, b, E, L)),
        "a distance is used as it is",
    ),
    (lambda d, b, E, L: d[0], "expected the shape"),
    (lambda d, b, E, L: 3, "expected a tensor"),
]


def by_head(answer):
    """What answers for one head, asked for each."""
    return lambda x, R, r: torch.stack([answer(x[h], R[h], r) for h in range(len(x))])


KEYS = [
    (lambda k, R, r: (k @ R.T).gather(1, r), "this is k_i"),
    (lambda k, R, r: (R @ k.T).gather(0, r.T), "the relation is that of (j, i)"),
    (lambda k, R, r: (R @ k.T).gather(0, r).T, "rows and columns are exchanged"),
    (lambda k, R, r: (R @ k.T).gather(0, r) / k.shape[1] ** 0.5, "divided by sqrt(K) already"),
    (lambda k, R, r: (k[None] * R[r]).sum(dim=2), "a vector for every pair"),
    (lambda k, R, r: torch.einsum("jk,ijk->ij", k, R[r]), "a vector for every pair"),
    (lambda k, R, r: R @ k.T, "expected the shape"),
    (lambda k, R, r: 2 * (R @ k.T).gather(0, r), "the numbers are not"),
]
ALL_HEADS = [
    (lambda k, R, r: (R[:1] @ k[:1].mT).gather(1, r[None]).expand(2, -1, -1), "of the first"),
    (lambda k, R, r: (k[:, None] * R[:, r]).sum(dim=3), "a vector for every pair"),
    (lambda k, R, r: 0.0, "expected a tensor"),
]


def bins(a, R):
    return torch.zeros(len(a), len(R))


VALUES = [
    (lambda a, R, r: bins(a, R).scatter(1, r, a) @ R, "scatter_ overwrites"),
    (lambda a, R, r: bins(a, R).scatter_add(1, r.T, a.T) @ R, "added up by column"),
    (lambda a, R, r: bins(a, R).scatter_add(1, r.T, a) @ R, "the relation is that of (j, i)"),
    (lambda a, R, r: bins(a, R).scatter_add(1, r, a.T) @ R, "the weight is that of (j, i)"),
    (lambda a, R, r: bins(a, R).scatter_add(1, r, a * 0 + 1) @ R, "counted, not weighed"),
    (lambda a, R, r: bins(a, R).scatter_add(1, r, a) @ R / len(a), "the mean over nodes"),
    (lambda a, R, r: (a[..., None] * R[r]).sum(dim=1), "a vector for every pair"),
    (lambda a, R, r: torch.einsum("ij,ijk->ik", a, R[r]), "a vector for every pair"),
    (lambda a, R, r: bins(a, R).scatter_add(1, r, a), "expected the shape"),
    (lambda a, R, r: -bins(a, R).scatter_add(1, r, a) @ R, "the numbers are not"),
]


def table(E, L, first=1, last=None, value=1.0, rows=None):
    R = torch.zeros(rows or E + L + 2, 1)
    R[first : 1 + E if last is None else last] = value
    return R


COUNTING = [
    (lambda E, L: table(E, L, first=0), "counts itself as well"),
    (lambda E, L: table(E, L, first=0, last=E), "missed the last type"),
    (lambda E, L: table(E, L, first=0, last=E + L + 2), "all nodes are counted"),
    (lambda E, L: table(E, L, last=E + L + 2), "all others are counted"),
    (lambda E, L: table(E, L, value=1 / (E + L + 2)), "the numbers are not"),
    (lambda E, L: table(E, L, rows=E + L + 3), "no row for [VNode]"),
    (lambda E, L: table(E, L)[:, 0], "not [T]"),
    (lambda E, L: table(E, L, last=2), "only edges of type 0"),
    (lambda E, L: table(3, 5), "expected the shape"),  # not a function of its arguments
    (lambda E, L: table(E, L, value=-1.0), "the numbers are not"),
    (lambda E, L: 1.0, "expected a tensor"),
]


def dial(size=30.0, first=1, rows=11):
    R = torch.zeros(rows, 8)
    R[first : first + 8] = size * torch.eye(8)
    return R


def louder(size, distances):
    R = torch.zeros(11, 8)
    R[distances] = size
    return R


DIALS = [
    (lambda: dial(10.0), "gets only"),
    (lambda: dial(18.0), "gets only 98.6% of the attention"),
    (lambda: dial(first=0), "one step too near"),
    (lambda: dial(first=2), "one step too far"),
    (lambda: dial(-30.0), "all but the right speaker"),
    (lambda: torch.zeros(11, 8), "all distances have one logit"),
    (lambda: louder(30.0, [3]), "the dial makes no difference"),
    (lambda: dial().T, "rows are relations"),
    (lambda: torch.eye(8), "expected the shape [11, 8], got [8, 8]"),
    (lambda: dial().log(), "not finite"),
    (lambda: dial() - louder(60.0, [5]) * torch.eye(8)[4], "the asker with dial 5 listens"),
    (lambda: 30.0, "expected a tensor"),
]

WRONG = [
    (name, *case)
    for name, cases in (
        ("relation_ids", RELATIONS),
        ("key_context", [(by_head(answer), message) for answer, message in KEYS] + ALL_HEADS),
        ("value_term", [(by_head(answer), message) for answer, message in VALUES]),
        ("counting_table", COUNTING),
        ("dial_table", DIALS),
    )
    for case in cases
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_named(name, answer, message):
    verdict = CHECKERS[name](answer)
    assert verdict.passed is False
    assert message in verdict.message


def test_a_context_may_be_gathered_from_the_products_of_keys_turned_over():
    def turned(k, R, r):
        return (k @ R.T).T.gather(0, r)

    def by_columns(k, R, r):
        return torch.stack([(R @ k[j])[r[:, j]] for j in range(len(k))], dim=1)

    assert chapter08.check_key_context(by_head(turned)).passed
    assert chapter08.check_key_context(by_head(by_columns)).passed


def test_weights_may_be_added_up_relation_by_relation():
    def by_masks(a, R, r):
        return sum((a * (r == t)).sum(dim=1)[:, None] * R[t] for t in range(len(R)))

    assert chapter08.check_value_term(by_head(by_masks)).passed


def test_a_dial_may_be_set_by_what_is_not_heard():
    assert chapter08.check_dial_table(lambda: dial() - 100.0).passed
    assert chapter08.check_dial_table(lambda: dial() + louder(50.0, [9, 10])).passed
