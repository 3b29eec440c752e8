"""The checkers of chapter 07: each mistake is named."""

import pytest
import torch
import torch.nn.functional as F

from gtcourse.exercises import chapter07
from tests.exercises.solutions import checkers

CHECKERS = checkers(chapter07)


def looped(A):
    return A | torch.eye(len(A), dtype=torch.bool)


def structure(A, t):
    return t[looped(A).long()]


def features(A, bond, x, m):
    return torch.where(A[..., None], x[bond], m)


def without(diagonal_of):
    """Zeros on the diagonal of ``[N, N, d]``."""
    return diagonal_of * ~torch.eye(len(diagonal_of), dtype=torch.bool)[..., None]


FIRST_PAIRS = [
    (lambda A, bond, t, x, m: t[A.long()] + features(A, bond, x, m), "itself has theta_0"),
    (lambda A, bond, t, x, m: structure(A, t) + x[bond], "took the embedding of type 0"),
    (
        lambda A, bond, t, x, m: structure(A, t) + x[bond] * A[..., None],
        "where there is no edge nothing was added",
    ),
    (
        lambda A, bond, t, x, m: structure(A, t) + without(features(A, bond, x, m)),
        "itself has no masking vector",
    ),
    (
        lambda A, bond, t, x, m: structure(A, t) + features(looped(A), bond, x, m),
        "itself has the embedding of type 0",
    ),
    (
        lambda A, bond, t, x, m: structure(A, t) + x[bond] * A[..., None] + m,
        "edges have the masking vector as well",
    ),
    (
        lambda A, bond, t, x, m: structure(A, t) + features(bond > 0, bond, x, m),
        "edges of type 0 were taken for no edge",
    ),
    (lambda A, bond, t, x, m: features(A, bond, x, m), "the structure is missing"),
    (lambda A, bond, t, x, m: structure(A, t), "the features are missing"),
    (
        lambda A, bond, t, x, m: structure(A, t.flip(0)) + features(A, bond, x, m),
        "theta_0 and theta_1 are exchanged",
    ),
    (
        lambda A, bond, t, x, m: structure(A.T, t) + features(A.T, bond.T, x, m),
        "rows and columns are exchanged",
    ),
    (lambda A, bond, t, x, m: m, "expected the shape"),
    (lambda A, bond, t, x, m: 3, "expected a tensor"),
]


def shut(logits, real):
    return logits.masked_fill(~real, -torch.inf)


def clipped(dots):
    return dots.clamp(-5, 5)


def softmax(logits, real):
    return shut(logits, real).softmax(dim=1)


def renormalised(dots, b, g, real):
    a = softmax(clipped(dots) + b, real) * g.sigmoid()
    return a / a.sum(dim=1, keepdim=True)


GATED = [
    (lambda d, b, g, real: (clipped(d) + b).softmax(1) * g.sigmoid(), "attend to padding"),
    (
        lambda d, b, g, real: (clipped(d) + b).softmax(1) * g.sigmoid() * real,
        "set to zero after the softmax",
    ),
    (lambda d, b, g, real: softmax(d + b, real) * g.sigmoid(), "nothing is clipped"),
    (lambda d, b, g, real: softmax(clipped(d + b), real) * g.sigmoid(), "the bias was clipped"),
    (lambda d, b, g, real: softmax(d.clamp(max=5) + b, real) * g.sigmoid(), "above but not below"),
    (lambda d, b, g, real: softmax(clipped(d), real) * g.sigmoid(), "the bias is missing"),
    (lambda d, b, g, real: softmax(clipped(d) + b, real), "the gate is missing"),
    (lambda d, b, g, real: softmax(clipped(d) + b, real) * g, "g itself is multiplied"),
    (lambda d, b, g, real: softmax((clipped(d) + b) * g.sigmoid(), real), "applied to the logits"),
    (lambda d, b, g, real: softmax(clipped(d) + b + g, real), "a second bias"),
    (renormalised, "made to sum to one again"),
    (
        lambda d, b, g, real: shut(clipped(d) + b, real).exp() / (clipped(d) + b)[:3].exp().sum(0)
        * g.sigmoid(),
        "over the wrong axis",
    ),
    (lambda d, b, g, real: softmax(clipped(d) + b, real)[:3], "expected a tensor of shape"),
    (lambda d, b, g, real: 1, "expected a tensor of shape"),
    (
        lambda d, b, g, real: (clipped(d) + b).masked_fill(real, -torch.inf).softmax(1).log() * 0,
        "not a number",
    ),
    (lambda d, b, g, real: softmax(clipped(d) + b, real) * g.sigmoid() ** 2, "the numbers are not"),
]  # fmt: skip


def framed(e, virtual, between=lambda x, y: (x + y) / 2, row=1.0, column=1.0):
    n, N = len(virtual), len(e)
    whole = torch.zeros(n + N, n + N, e.shape[2])
    whole[:n, :n] = between(virtual[:, None], virtual)
    whole[:n, n:], whole[n:, :n], whole[n:, n:] = row * virtual[:, None], column * virtual, e
    return whole


def behind(e, virtual):
    return framed(e, virtual).roll((-len(virtual),) * 2, dims=(0, 1))


def alone(e, virtual):
    whole = framed(e, virtual)
    for i in range(len(virtual)):
        whole[i, i] = 0
    return whole


VIRTUAL = [
    (behind, "the virtual nodes came last"),
    (lambda e, v: framed(e, v, lambda x, y: x + y), "take half of it"),
    (lambda e, v: framed(e, v, lambda x, y: 0.0), "there is nothing"),
    (lambda e, v: framed(e, v, lambda x, y: x.expand(3, 3, 2)), "the vector of the first"),
    (lambda e, v: framed(e, v, lambda x, y: y.expand(3, 3, 2)), "the vector of the second"),
    (lambda e, v: framed(e, v, lambda x, y: x * y), "their product"),
    (alone, "a virtual node with itself has nothing"),
    (lambda e, v: framed(e, v, column=0.0), "the columns are missing"),
    (lambda e, v: framed(e, v, row=0.0), "the rows are missing"),
    (lambda e, v: e, "expected the shape"),
]


def cross_entropy(logits, classes, reduction="sum"):
    return F.cross_entropy(logits.flatten(0, 1), classes.flatten(), reduction=reduction)


def asked(distance, nu, *extra):
    """The classes, -100 where nothing is asked; ``extra`` are (where, class)."""
    classes = distance.masked_fill((distance < 0) | (distance > nu), -100)
    for where, label in extra:
        classes = classes.masked_fill(where, label)
    return classes


def upper(distance):
    return torch.ones_like(distance).triu().bool()


DISTANCES = [
    (lambda x, far, nu: cross_entropy(x, asked(far, nu), "mean"), "this is the mean over pairs"),
    (
        lambda x, far, nu: cross_entropy(x, asked(far, nu, (far < 0, nu))),
        "pairs without a path were counted;",
    ),
    (
        lambda x, far, nu: cross_entropy(x, asked(far, nu, (far < 0, 0))),
        "counted as distance 0",
    ),
    (lambda x, far, nu: cross_entropy(x, asked(far, nu, (far > nu, nu))), "were counted as nu"),
    (
        lambda x, far, nu: cross_entropy(x, far.masked_fill(far < 0, nu).clamp(max=nu)),
        "or without a path, were counted as nu",
    ),
    (lambda x, far, nu: cross_entropy(x, asked(far, nu - 1)), "at the distance nu were left out"),
    (
        lambda x, far, nu: cross_entropy(x, asked(far, nu, (far == 0, -100))),
        "distance 0 is a class too",
    ),
    (
        lambda x, far, nu: cross_entropy(x, asked(far, nu, (~upper(far), -100))),
        "counted once for both directions",
    ),
    (lambda x, far, nu: cross_entropy(x, asked(far, nu)) / len(far), "the number of nodes"),
    (lambda x, far, nu: torch.tensor(torch.nan), "not a number"),
    (lambda x, far, nu: 0.0, "the numbers are not"),
    (lambda x, far, nu: x, "expected the shape"),
    (lambda x, far, nu: cross_entropy(x, far), "used as a class that is none"),
]


def counting(b=lambda A: 0.0 * A, g=lambda A: 40.0 * A - 20):
    return lambda A: (b(A.float()), g(A.float()))


def eye(A):
    return torch.eye(len(A))


COUNTING = [
    (counting(lambda A: 30 * A - 15, lambda A: 40.0 * A - 20), "this is the mean over the neigh"),
    (counting(g=lambda A: 40 * (A + eye(A)) - 20), "a node hears itself too"),
    (counting(g=lambda A: 0 * A + 20), "the gates do nothing"),
    (counting(g=lambda A: 20 - 40 * A), "the gates are exchanged"),
    (counting(g=lambda A: A), "zeros and ones before the sigmoid"),
    (counting(g=lambda A: 20 * A), "0 where they are to be shut"),
    (counting(g=lambda A: 20 * A - 20), "half open at the neighbours"),
    (counting(g=lambda A: 0 * A), "all gates are half open"),
    (counting(lambda A: A), "does not give all nodes alike"),
    (counting(g=lambda A: 2 * A - 20), "the numbers are not"),
    (counting(lambda A: A.log()), "b has an entry that is not finite"),
    (lambda A: 0.0 * A, "expected two things"),
    (lambda A: (torch.zeros(3), torch.zeros(3)), "expected b of shape"),
    (lambda A: counting()(A.new_zeros(6, 6)), "the numbers are not"),
]

WRONG = [
    (name, *case)
    for name, cases in (
        ("first_pairs", FIRST_PAIRS),
        ("gated_attention", GATED),
        ("with_virtual_pairs", VIRTUAL),
        ("distance_objective", DISTANCES),
        ("counting_head", COUNTING),
    )
    for case in cases
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_named(name, answer, message):
    verdict = CHECKERS[name](answer)
    assert verdict.passed is False
    assert message in verdict.message


def test_a_head_may_count_with_a_bias_that_the_gates_undo():
    def lazy(A):  # the same number in all of a row is no bias
        return torch.full(A.shape, 3.0), torch.where(A, 12.0, -12.0)

    assert chapter07.check_counting_head(lazy).passed


def test_the_padded_row_is_nobodys_affair():
    def rows_masked_too(dots, b, g, real):
        s = (clipped(dots) + b).masked_fill(~(real & real[:, None]), torch.finfo(b.dtype).min)
        return (s.softmax(dim=1) * g.sigmoid()).masked_fill(~real[:, None], 7.0)

    assert chapter07.check_gated_attention(rows_masked_too).passed


def test_a_number_that_is_no_tensor_will_do_for_the_objective():
    def plain(logits, distance, nu):
        return float(cross_entropy(logits, asked(distance, nu)))

    assert chapter07.check_distance_objective(plain).passed
