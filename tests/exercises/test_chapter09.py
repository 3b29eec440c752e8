"""The checkers of chapter 09: each mistake is named."""

import pytest
import torch

from gtcourse.exercises import chapter09
from tests.exercises.solutions import checkers

CHECKERS = checkers(chapter09)


def pair_rows(A, bond, T, *, no_edge=None, itself=None, edge=None):
    """A right answer, but for what is given."""
    rows = torch.full_like(bond, T if no_edge is None else no_edge)
    rows.fill_diagonal_(T + 1 if itself is None else itself)
    return torch.where(A, bond if edge is None else edge, rows)


ROWS = [
    (lambda A, b, T: pair_rows(A, b, T).fill_diagonal_(T + 1), "a loop among the edges"),
    (lambda A, b, T: pair_rows(A, b, T, itself=T), "a row of its own, T + 1"),
    (lambda A, b, T: pair_rows(A, b, T, no_edge=T + 1, itself=T), "are exchanged"),
    (lambda A, b, T: pair_rows(A & (b > 0), b, T), "edges of type 0 were not seen"),
    (lambda A, b, T: pair_rows(A, b, T, no_edge=0), "theirs is T"),
    (lambda A, b, T: b, "and nodes themselves, have the row of type 0"),
    (lambda A, b, T: pair_rows(A, b + 1, T, no_edge=T + 1, itself=T + 2), "types begin at 1"),
    (lambda A, b, T: pair_rows(A, b, T).T, "the pair is (j, i)"),
    (lambda A, b, T: pair_rows(A, b, T)[0], "expected the shape"),
    (lambda A, b, T: -pair_rows(A, b, T), "the numbers are not"),
    (lambda A, b, T: 3, "expected a tensor"),
]


def laplacian(A):
    return torch.diag(A.sum(dim=1)) - A


def heat(A, t):
    return torch.matrix_exp(-t * laplacian(A)).log()


HEAT = [
    (lambda A, t: heat(A, t).exp(), "the kernel itself"),
    (lambda A, t: (-t * laplacian(A)).exp().log(), "not of each entry"),
    (lambda A, t: heat(A, -t), "heat grows"),
    (lambda A, t: torch.matrix_exp(-t * A).log(), "this is exp(-t A)"),
    (lambda A, t: torch.matrix_exp(-2 * t * A).log(), "NaN, a logarithm of a negative number"),
    (lambda A, t: heat(A, -t)[0], "NaN, a logarithm of a negative number"),
    (lambda A, t: torch.matrix_exp(t * A).log(), "this is exp(t A)"),
    (
        lambda A, t: torch.matrix_exp(-t * (torch.eye(len(A)) - A / A.sum(1, True))).log(),
        "the Laplacian of the random walk",
    ),
    (
        lambda A, t: torch.matrix_exp(
            t * A / (A.sum(0) * A.sum(1, True)).sqrt() - t * torch.eye(len(A))
        ).log(),
        "the normalised Laplacian",
    ),
    (lambda A, t: heat(A, 1.0), "t is missing"),
    (lambda A, t: heat(A, t)[0], "expected the shape"),
    (lambda A, t: 2 * heat(A, t), "the numbers are not"),
    (lambda A, t: 0.0, "expected a tensor"),
]


def pairs_of(rings, N, itself=False):
    bound = torch.zeros(N, N, dtype=torch.bool)
    for ring in rings:
        bound[torch.tensor(ring)[:, None], torch.tensor(ring)] = True
    return bound if itself else bound & ~torch.eye(N, dtype=torch.bool)


def followers(rings, N, closed):
    bound = torch.zeros(N, N, dtype=torch.bool)
    for ring in rings:
        for i, j in zip(ring, ring[1:] + ring[:1] * closed, strict=False):
            bound[i, j] = bound[j, i] = True
    return bound


def closure(rings, N):
    bound = pairs_of(rings, N, itself=True).float()
    return (torch.matrix_power(bound, N) > 0) & ~torch.eye(N, dtype=torch.bool)


RINGS = [
    (lambda rings, N: pairs_of(rings, N, itself=True), "a node is bound to itself"),
    (lambda rings, N: followers(rings, N, closed=True), "all nodes of a ring are."),
    (lambda rings, N: followers(rings, N, closed=False), "the ring does not close"),
    (lambda rings, N: pairs_of(rings, N).triu(), "in one direction only"),
    (closure, "taken as one; the relation is not transitive"),
    (
        lambda rings, N: pairs_of([[n for ring in rings for n in ring]], N),
        "all nodes that are on any ring",
    ),
    (lambda rings, N: pairs_of(rings[-1:], N), "only the last ring"),
    (lambda rings, N: pairs_of(rings[:1], N), "only the first ring"),
    (lambda rings, N: sum(pairs_of([ring], N).int() for ring in rings), "counted twice"),
    (lambda rings, N: ~pairs_of(rings, N), "the numbers are not"),
    (lambda rings, N: pairs_of(rings, N)[0], "expected the shape"),
    (lambda rings, N: rings, "expected a tensor"),
]


def logits(q, k, H, scale=None):
    """One dot product for each head, ``[H, N, N]``."""
    q, k = (x.unflatten(1, (H, -1)).transpose(0, 1) for x in (q, k))
    return q @ k.mT * (q.shape[2] ** -0.5 if scale is None else scale)


def filters(q, k, E, H, scale=None, dim=-1):
    return (logits(q, k, H, scale).repeat_interleave(len(E) // H, dim=0) + E).softmax(dim=dim)


def first_of_head(E, H):
    return E[:: len(E) // H].repeat_interleave(len(E) // H, dim=0)


FILTERS = [
    (lambda q, k, E, H: filters(q, k, E, H, dim=1), "over the nodes that listen"),
    (lambda q, k, E, H: filters(q, k, E, H, dim=0), "over the channels; each channel"),
    (
        lambda q, k, E, H: (logits(q, k, H).repeat_interleave(3, dim=0) + E).exp(),
        "nothing is normalised",
    ),
    (lambda q, k, E, H: filters(q, k, E, H, scale=1.0), "not divided by sqrt(K)"),
    (lambda q, k, E, H: filters(q, k, E, H, scale=6**-0.5), "divided by sqrt(d)"),
    (lambda q, k, E, H: (logits(q, k, H).repeat(3, 1, 1) + E).softmax(-1), "take turns"),
    (
        lambda q, k, E, H: filters(
            *(x.unflatten(1, (3, 2)).transpose(1, 2).flatten(1) for x in (q, k)),
            E.unflatten(0, (3, 2)).transpose(0, 1).flatten(0, 1),
            H,
        ).unflatten(0, (2, 3)).transpose(0, 1).flatten(0, 1),
        "channel c is in head c % H",
    ),
    (lambda q, k, E, H: filters(q, k, E, 1, scale=3**-0.5), "of the whole width"),
    (lambda q, k, E, H: filters(q, k, E, 6), "as if H were d"),
    (lambda q, k, E, H: filters(k, q, E, H), "the query is that of i"),
    (lambda q, k, E, H: filters(q, k, 0 * E, H), "E is missing"),
    (lambda q, k, E, H: filters(q, k, E[:1].expand_as(E), H), "the first one's E"),
    (lambda q, k, E, H: filters(q, k, first_of_head(E, H), H), "this is monochrome"),
    (lambda q, k, E, H: logits(q, k, H).softmax(dim=-1), "expected the shape"),
    (lambda q, k, E, H: 1 - filters(q, k, E, H), "the numbers are not"),
    (lambda q, k, E, H: 1.0, "expected a tensor"),
]  # fmt: skip


def backward(a, m, keep, g, *, z=None, of_s=None):
    """A right answer, but for what is given."""
    kept = keep * m
    z = (a * kept).sum(dim=-1) if z is None else z
    of_E = a * g[..., None] * (kept - z[..., None])
    return of_E, of_E.sum(dim=0) if of_s is None else of_s(of_E)


def pooled(a, m, keep=1.0):
    return (a * keep * m).sum(dim=-1)


def of_first(gradient):
    """An answer of which only the first part is looked at."""
    return lambda a, m, f, g: (gradient(a, m, f, g, pooled(a, m, f)), None)


BACKWARD = [
    (lambda a, m, f, g: backward(a, m, 0 * f + 1, g), "of E: keep is missing"),
    (
        of_first(lambda a, m, f, g, z: a * g[..., None] * f * (m - z[..., None])),
        "a silenced pair has",
    ),
    (
        lambda a, m, f, g: (a * g[..., None] * f * (m - pooled(a, m)[..., None]), None),
        "keep stands before (m - z)",
    ),
    (lambda a, m, f, g: backward(a, m, f, g, z=pooled(a, m)), "of E: z is without keep"),
    (
        of_first(lambda a, m, f, g, z: a * g[..., None] * (m - z[..., None])),
        "of E: m is without keep",
    ),
    (lambda a, m, f, g: backward(a, m, f, g, z=0 * g), "of E: z is missing"),
    (
        of_first(lambda a, m, f, g, z: a * g[..., None] * f),
        "of E: this is the gradient of the messages",
    ),
    (lambda a, m, f, g: backward(a, m, f, 0 * g + 1), "of E: g is missing"),
    (of_first(lambda a, m, f, g, z: g[..., None] * (f * m - z[..., None])), "of E: a is missing"),
    (of_first(lambda a, m, f, g, z: g[..., None] * f * m), "as if it were no softmax"),
    (lambda a, m, f, g: backward(a, m, f, -g), "of E: the sign is turned"),
    (
        of_first(lambda a, m, f, g, z: a * g[:, None] * (f * m - z[:, None])),
        "g and z are those of j",
    ),
    (
        of_first(lambda a, m, f, g, z: a * g[:, None] * (f * m - z[..., None])),
        "of E: g is that of j",
    ),
    (
        of_first(lambda a, m, f, g, z: a * g[..., None] * (f * m - z[:, None])),
        "of E: z is that of j",
    ),
    (lambda *x: backward(*x, of_s=lambda E: E), "of s: it is that of E again"),
    (lambda *x: backward(*x, of_s=lambda E: E.mean(dim=0)), "of s: this is a mean"),
    (lambda *x: backward(*x, of_s=lambda E: E.sum(dim=1)), "nodes that listen"),
    (lambda *x: backward(*x, of_s=lambda E: E.sum(dim=2)), "of s: the sum runs over j"),
    (lambda *x: backward(*x, of_s=lambda E: E[0]), "the first channel's alone"),
    (lambda *x: backward(*x, of_s=lambda E: -E.sum(dim=0)), "of s: the shape is right"),
    (lambda a, m, f, g: backward(a, m, f, 2 * g), "of E: the shape is right"),
    (lambda *x: backward(*x)[0], "expected two tensors"),
    (lambda *x: (1.0, 2.0), "of E: expected a tensor"),
]

WRONG = [
    (name, *case)
    for name, cases in (
        ("pair_rows", ROWS),
        ("heat_bias", HEAT),
        ("ring_bound", RINGS),
        ("attention_filters", FILTERS),
        ("backward", BACKWARD),
    )
    for case in cases
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_named(name, answer, message):
    verdict = CHECKERS[name](answer)
    assert verdict.passed is False
    assert message in verdict.message


def test_rows_of_pairs_may_be_written_by_masks():
    def by_masks(A, bond, T):
        itself = torch.eye(len(A), dtype=torch.bool) & ~A
        return A * bond + (~A & ~itself) * T + itself * (T + 1)

    assert chapter09.check_pair_rows(by_masks).passed


def test_heat_may_spread_in_a_million_small_steps():
    def by_steps(A, t):
        step = torch.eye(len(A)) - t / 2**20 * laplacian(A)
        return torch.matrix_power(step, 2**20).log()

    assert chapter09.check_heat_bias(by_steps).passed


def test_bound_pairs_may_be_zeros_and_ones():
    assert chapter09.check_ring_bound(lambda rings, N: pairs_of(rings, N).long()).passed
    assert chapter09.check_ring_bound(lambda rings, N: pairs_of(rings, N).double()).passed


def test_filters_may_be_two_factors():
    def two_factors(q, k, E, H):
        product = logits(q, k, H).exp().repeat_interleave(len(E) // H, dim=0) * E.exp()
        return product / product.sum(dim=-1, keepdim=True)

    assert chapter09.check_attention_filters(two_factors).passed


def test_gradients_may_be_those_of_autograd():
    def by_autograd(a, m, keep, g):
        E, s = a.log().requires_grad_(), torch.zeros_like(a[0], requires_grad=True)
        z = ((s + E).softmax(dim=-1) * keep * m).sum(dim=-1)
        return torch.autograd.grad(z, (E, s), g)

    assert chapter09.check_backward(by_autograd).passed
