"""Checks of chapter 05. Shapes: B graphs, N nodes, k eigenvectors, C channels."""

import math
from itertools import accumulate, combinations, combinations_with_replacement, product

import numpy as np
import torch
import torch.nn.functional as F

from gtcourse.course.exercises.checker import (
    HALF,
    Mistake,
    checker,
    compare,
    mistake,
    random,
    require,
    tensors,
)
from gtcourse.course.exercises.drawing import Draw


@checker
def check_random_signs(random_signs):
    """Each eigenvector of each graph has its own sign, shared by all nodes."""
    for B, N, k in ((200, 4, 3), (300, 1, 5), (200, 200, 2)):
        vectors = (torch.arange(1.0, N + 1) / 7)[None, :, None].repeat(B, 1, k)
        given = vectors.clone()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            [drawn] = tensors(random_signs(given), vectors.shape)
            require(torch.equal(given, vectors), "`vectors` has been changed in place.")
            [again] = tensors(random_signs(given), vectors.shape)
        half = f"expected single or double precision, got {drawn.dtype}, which has three digits."
        require(drawn.dtype not in HALF, half)
        signs = drawn / vectors
        require(torch.allclose(signs.abs(), torch.ones_like(signs)), "multiply by 1 or -1 only.")
        first = signs[:, :1].round()  # [B, 1, k]
        require(
            (signs.round() == first).all(),
            "the nodes of a graph have different signs; each eigenvector has one sign for all.",
        )
        require((first != first[0, 0, 0]).any(), "every sign is the same; draw them at random.")
        require((first != first[:1]).any(), "all graphs of the batch share their signs.")
        require((first != first[..., :1]).any(), "all eigenvectors of a graph share one sign.")
        require((drawn != again).any(), "a second call gives the same signs; do not fix the seed.")
        for m, positive in enumerate((first > 0).float().mean(dim=(0, 1)).tolist()):
            alone = f"the sign of eigenvector {m} is positive in {positive:.0%} of the graphs"
            require(abs(positive - 0.5) < 0.2, f"{alone}; expected about half of them.")
        share = (first > 0).float().mean()
        both = f"{share:.0%} of the signs are positive; expected about half of them."
        require(abs(share - 0.5) < 0.1, both)
        for lag in range(1, B // 2 + 1):
            equal = (first[lag:] == first[:-lag]).float().mean()
            apart = f"graphs whose places in the batch are {lag} apart have equal signs"
            require(abs(equal - 0.5) < 0.2, f"{apart} in {equal:.0%} of the cases; draw anew.")
        for m, n in combinations(range(k), 2):
            equal = (first[..., m] == first[..., n]).float().mean()
            alike = f"eigenvectors {m} and {n} have the same sign in {equal:.0%} of the graphs"
            require(abs(equal - 0.5) < 0.2, f"{alike}; draw each sign on its own.")
    seen = set()
    for _ in range(200):
        [drawn] = tensors(random_signs(torch.ones(1, 4, 3)), (1, 4, 3))
        seen.add(tuple(drawn[0, 0].int().tolist()))
    for signs in product((1, -1), repeat=3):
        never = f"in 200 calls, the three signs of a single graph are never {signs}"
        require(signs in seen, f"{never}; draw each sign on its own.")


def _phi(u):  # [..., n] to [..., 2n]
    require(isinstance(u, torch.Tensor), f"phi or rho got {u!r}: was every column left out?")
    return torch.cat([u + 0.25, 0.1 - 2 * u], dim=-1).relu() ** 2


def _phi_of_all(U):  # [N, k] to [N, 2]; every entry depends on all k columns and on two rows
    weights = torch.arange(1, U.shape[1] + 1).to(U) / 2
    h = (U @ weights)[:, None]
    h = h + h.roll(1, 0) / 2
    return torch.cat([h + 0.25, 0.1 - 2 * h], dim=-1).relu() ** 2


def _phi_of_rows(U):  # [N, k] to [N, 3], with negative values
    return torch.cat([U[:, :1] - 1, U.sum(dim=1, keepdim=True) ** 3, U.prod(1, True)], dim=1)


def _identity(U):  # an answer that adds to its result changes U
    return U


def _all_together(draw: Draw):
    phi = draw.one_of(_phi_of_rows, _phi_of_all, _identity)
    return phi, draw.numbers(draw.number(1, 3), draw.number(1, 4))


def _one_at_a_time(phi, U):
    flipped = 1 - 2 * torch.eye(U.shape[1]).to(U)  # row m has the sign -1 in column m
    return phi(U) + sum(phi(U * signs) for signs in flipped)


@compare(
    (_phi_of_all, *random((4, 2))),
    (_phi_of_all, *random((5, 3))),
    (_phi_of_all, *random((3, 1))),
    drawn=_all_together,
)
@mistake(
    "this is phi(U) + phi(-U), in which all signs change together; take every choice of signs.",
    lambda phi, U: phi(U) + phi(-U),
)
@mistake(
    "only one sign at a time is changed; take every choice of signs.",
    _one_at_a_time,
)
@mistake(
    "each eigenvector goes through phi alone; phi reads all of them together.",
    lambda phi, U: sum(phi(u[:, None]) + phi(-u[:, None]) for u in U.T),
)
@mistake(
    "each row of U has a sign of its own; the eigenvectors are the columns.",
    lambda phi, U: sum(
        phi(U * torch.tensor(signs)[:, None]) for signs in product((1, -1), repeat=len(U))
    ),
)
@mistake(
    "absolute values do not show which entries differ in sign; change the signs of whole columns.",
    lambda phi, U: phi(U.abs()),
)
@mistake(
    "only an even number of signs is changed; take every choice of signs.",
    lambda phi, U: sum(
        phi(U * torch.tensor(signs))
        for signs in product((1, -1), repeat=U.shape[1])
        if math.prod(signs) == 1
    ),
)
@mistake("the first sign is always 1; each eigenvector has two signs.", fixed=1)
@mistake(
    "the choices in which the first sign is -1 do not give the same values as the others: "
    "evaluate phi for all 2^k.",
    fixed=1,
    times=2,
)
@mistake(
    "1, -1 and -1, 1 are two choices; your code takes only one of them.",
    lambda phi, U: sum(
        phi(U * torch.tensor(signs)) for signs in combinations_with_replacement((1, -1), U.shape[1])
    ),
)
@mistake(
    "the signs of earlier choices remain in U; multiply the given U in each choice.",
    lambda phi, U: sum(
        phi(U * torch.tensor(signs))
        for signs in accumulate(product((1, -1), repeat=U.shape[1]), _multiplied)
    ),
)
@mistake(
    "the other eigenvectors are set to 0; phi reads all of them together.",
    lambda phi, U: sum(phi(sign * U * one) for one in torch.eye(U.shape[1]) for sign in (1, -1)),
)
@mistake("0 is not a sign; multiply each eigenvector by 1 or -1.", signs=(1, 0))
@mistake("this is phi(U) alone; add its values for the other signs.", lambda phi, U: phi(U))
@mistake("this is the mean over the choices of signs; take the sum.", mean=True)
def check_sum_over_signs(phi, U, mean=False, signs=(1, -1), fixed=0, times=1):
    """The sum contains each of the 2^k choices of signs once, so no sign changes it."""
    choices = product(*[(1,)] * fixed, *[signs] * (U.shape[1] - fixed))
    values = torch.stack([phi(U * torch.tensor(choice)) for choice in choices])
    return values.mean(dim=0) if mean else times * values.sum(dim=0)


def _multiplied(one, other):
    return tuple(a * b for a, b in zip(one, other, strict=True))


def _with_padding(draw: Draw):
    """With rows of zeros, and columns of zeros in any place; at least one column is real."""
    N, k = draw.size(4), draw.size(4)
    U = draw.numbers(N, k) * draw.flags(k)
    U = U if U.any() else U + F.pad(torch.ones(N, 1), (0, k - 1))
    twice = torch.cat([U, U[:, :1]], dim=1)  # two equal columns
    return _phi, _phi, draw.one_of(U, U, twice)


def _one_by_one(signnet_sum, phi, rho, U):
    """The result, if phi is given only what it takes: one eigenvector of all nodes."""

    def of_graph(u):
        if isinstance(u, torch.Tensor):
            takes = f"phi takes one eigenvector at a time, [N, 1] = {[len(U), 1]}"
            require(u.shape[-2:] == (len(U), 1), f"{takes}; it got the shape {list(u.shape)}.")
        return phi(u)

    return signnet_sum(of_graph, rho, U)


def _mean(values):
    return sum(values) / len(values)


def _largest(values):
    return torch.stack(values).amax(dim=0)


@compare(
    (_phi, _phi, F.pad(*random((4, 2)), (0, 1))),
    (_phi, _phi, torch.tensor([[0.5, 0.5, -0.5, -0.5], [0.0, 0.8, 0, -0.6], [0] * 4]).T),
    (_phi, _phi, F.pad(*random((6, 3)), (0, 2))),
    # Each but the constant one adds up to zero, as the eigenvectors of a connected graph do.
    (_phi, _phi, torch.tensor([[-0.5] * 4, [0.7, 0, -0.7, 0], [0.5, 0.5, -0.5, -0.5], [0] * 4]).T),
    (_phi, _phi, torch.tensor([[0.6] * 3, [0, 0, 0], [0.6, 0, 0.8], [0, 0, 0]]).T),  # in between
    (_phi, _phi, torch.tensor([[0.6, -0.8], [0.6, -0.8], [0, 1], [1, 0], [0, 0]]).T),  # two equal
    (_phi, _phi, torch.cat([*random((4, 1)), random((4, 1), seed=2)[0] / 1e5], dim=1)),
    (_phi, _phi, F.pad(random((9, 2))[0] / 50, (1, 1))),  # small entries, and padding at both ends
    run=_one_by_one,
    drawn=_with_padding,
)
@mistake("a column of zeros adds 2 phi(0); leave padding out.", real=lambda u: True)
@mistake("phi(-u) is missing.", signs=(1,))
@mistake(
    "a column is padding if all its entries are zero; your code looks only at its sum.",
    real=lambda u: abs(float(u.sum())) > 1e-6,
)
@mistake(
    "a column is padding if all its entries are zero; your code looks only at its first entry.",
    real=lambda u: bool(u[0]),
)
@mistake(
    "a column with a single zero is left out; a column is padding if all its entries are zero.",
    real=torch.all,
)
@mistake(
    "the values of phi at single zeros are left out; only a column of zeros is padding.",
    lambda phi, rho, U: rho(
        sum((phi(u[:, None]) + phi(-u[:, None])) * (u[:, None] != 0) for u in U.T)
    ),
)
@mistake(
    "two equal columns are added once; add every column that is not padding.",
    given=lambda phi, rho, U: (phi, rho, U.unique(dim=1)),
)
@mistake(
    "the constant eigenvector is left out; only a column of zeros is padding.",
    real=lambda u: bool((u != u[0]).any()),
)
@mistake(
    "a column of small numbers is left out; a column is padding if all its entries are zero.",
    real=lambda u: u.abs().max() > 1e-3,
)
@mistake(
    "the code stops at the first column of zeros; padding need not come last.",
    given=lambda phi, rho, U: (phi, rho, U[:, U.any(dim=0).cumprod(0) > 0]),
)
@mistake(
    "padding need not come last: look for the columns of zeros.",
    given=lambda phi, rho, U: (phi, rho, U[:, : int(U.any(dim=0).sum())]),
    real=lambda u: True,
)
@mistake("this is the mean over the real eigenvectors; take the sum.", add=_mean)
@mistake("this is the maximum over the eigenvectors; take the sum.", add=_largest)
@mistake(
    "this is the difference phi(u) - phi(-u), which changes its sign with u; add the two.",
    lambda phi, rho, U: rho(
        sum((phi(u[:, None]) - phi(-u[:, None]) for u in U.T if u.any()), 0 * phi(U[:, :1]))
    ),
)
@mistake("rho is missing.", given=lambda phi, rho, U: (phi, lambda h: h, U))
@mistake(
    "rho is applied to each eigenvector; apply it once, to the sum.",
    lambda phi, rho, U: sum(rho(phi(u[:, None]) + phi(-u[:, None])) for u in U.T if u.any()),
)
@mistake(
    "the eigenvectors are added before phi; add the values of phi.",
    lambda phi, rho, U: rho(phi(U.sum(1, keepdim=True)) + phi(-U.sum(1, keepdim=True))),
)
@mistake(
    "absolute values do not show which entries differ in sign; use phi(u) + phi(-u).",
    lambda phi, rho, U: rho(sum(phi(u[:, None].abs()) for u in U.T if u.any())),
)
def check_signnet_sum(phi, rho, U, real=torch.any, signs=(1, -1), add=sum):
    """Padding adds nothing, and the order and signs of the eigenvectors do not matter."""
    columns = [u[:, None] for u in U.T if real(u)]
    values = [sum(phi(sign * u) for sign in signs) for u in columns]
    return rho(add(values) if values else torch.zeros_like(phi(U[:, :1])))


STAR = torch.tensor([[3.0, -1, -1, -1], [-1, 1, 0, 0], [-1, 0, 1, 0], [-1, 0, 0, 1]])
RING = 2 * torch.eye(6) - torch.eye(6).roll(1, 0) - torch.eye(6).roll(-1, 0)
LONG = torch.diag(torch.tensor([1.0, *[2] * 28, 1]))  # a path, whose eigenvalues are 0.01 apart
LONG -= torch.eye(30).roll(1, 0).tril() + torch.eye(30).roll(-1, 0).triu()
COMPLETE = 5 * torch.eye(5) - torch.ones(5, 5)
EDGE = torch.tensor([[1.0, -1], [-1, 1]])
# Eigenvalues 0 (four times), 1.0002, 1.0004, 10 and 10.0005: no tolerance but 1e-4 will do.
CLOSE = torch.block_diag(0.5001 * EDGE, 0.5002 * EDGE, 5 * EDGE, 5.00025 * EDGE)
# Two eigenvalues that repeat, and whose computed copies are rounded up and down.
HALFWAY = torch.block_diag(
    2.00005 * (torch.eye(5) - torch.ones(5, 5) / 5),
    3.000005 * (torch.eye(6) - torch.ones(6, 6) / 6),
)


def _laplacian(draw: Draw):
    A = draw.adjacency(draw.number(1, 5), directed=False).float()
    return [A.sum(dim=1).diag() - A]


def _stacked(projectors, L):
    """The projectors, of which there have to be as many as distinct eigenvalues."""
    answer = projectors(L)
    several = isinstance(answer, tuple | list | np.ndarray | torch.Tensor) and len(answer)
    require(several, f"expected matrices of shape {list(L.shape)}, got {answer!r:.60}.")
    got = [tensors(P, L.shape)[0] for P in answer]
    values = torch.linalg.eigvalsh(L.double())
    count = 1 + int((values.diff() > 1e-4).sum())
    number = f"{len(got)} {'matrix' if len(got) == 1 else 'matrices'}"
    start = f"for a Laplacian with the eigenvalues {_listed(values)} the result holds {number}"
    if len(got) > count:
        repeated = "equal eigenvalues share one projector, even if their last digits differ"
        raise Mistake(f"{start}; expected {count}: {repeated}.")
    if len(got) < count and not torch.allclose(
        sum(got).double(), torch.eye(len(L)).double(), atol=1e-3
    ):
        raise Mistake(f"{start}; expected {count}: some eigenvalue has no projector.")
    if len(got) < count:
        raise Mistake(f"{start}; expected {count}: different eigenvalues were treated as equal.")
    return torch.stack(got)


def _listed(values):
    shown = [f"{round(abs(value), 5):g}" for value in values.tolist()]
    return ", ".join(shown if len(shown) < 9 else [*shown[:3], "…", shown[-1]])


def _of_spaces(got, right, L):
    """The first wrong matrix, and what it is."""
    m = next(m for m, P in enumerate(got) if not torch.allclose(P, right[m].to(P), atol=1e-4))
    P = got[m].double()
    values = torch.linalg.eigvalsh(L.double())
    distinct = values[F.pad(values.diff() > 1e-4, (1, 0), value=True)]
    start = f"for a Laplacian with the eigenvalues {_listed(values)}, matrix {m}"
    if not torch.allclose(P @ P, P, atol=1e-3):
        form = "V V^T, where the columns of V are orthonormal eigenvectors, as eigh returns them"
        return f"{start} is not a projector, since P P differs from P: take {form}."
    if not torch.allclose(L.double() @ P, distinct[m] * P, atol=1e-3):
        space = f"eigenvectors of the eigenvalue {_listed(distinct[m : m + 1])}"
        return f"{start} should project onto {space}, which are columns of what eigh returns."
    return f"{start} projects onto only a part of the eigenspace."


# An eigenvector of a repeated eigenvalue has no gradient.
# Two pairs of eigenvalues, 2e-5 apart, on both sides of a number with three and with four digits.
NEAR = torch.block_diag(0.50002 * EDGE, 0.50003 * EDGE, 1.5002 * EDGE, 1.50021 * EDGE)
# Two eigenvalues 0.8e-4 apart, on both sides of a number with four digits, and two 1.2e-4 apart.
AROUND = torch.block_diag(0.500015 * EDGE, 0.500055 * EDGE, EDGE, 1.00006 * EDGE)


@compare(
    [STAR],
    [COMPLETE],
    [LONG],
    [RING],
    [CLOSE],
    [HALFWAY],
    [NEAR],
    [AROUND],
    [torch.zeros(1, 1)],
    run=_stacked,
    explain=_of_spaces,
    drawn=_laplacian,
)
@mistake(
    "the projectors are in descending order of their eigenvalues; the smallest comes first.",
    then=lambda P: P.flip(0),
)
@mistake(
    "these project onto one eigenvector of each eigenvalue; use all of them.",
    columns=lambda V: V[:, :1],
)
@mistake(
    "each projector is multiplied by its eigenvalue.",
    scaled=lambda values: values.mean(),
)
def check_projectors(L, columns=lambda V: V, scaled=lambda values: 1):
    """Every basis of an eigenspace gives the same projector."""
    values, vectors = torch.linalg.eigh(L.double())
    starts = (values.diff() > 1e-4).nonzero().flatten() + 1
    spaces = zip(vectors.tensor_split(starts, dim=1), values.tensor_split(starts), strict=True)
    return torch.stack([scaled(own) * columns(V) @ columns(V).T for V, own in spaces])
