"""Checks of chapter 05: signs, even functions, SignNet with a sum, projectors.

Shapes: B graphs, N nodes, k eigenvectors, C channels.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from gtcourse.exercises.checker import Mistake, checker, compare, random


@checker("each eigenvector of each graph has its own sign, shared by all nodes.")
def check_random_signs(random_signs: Callable[[Tensor], Tensor]) -> None:
    """``random_signs(vectors)``: ``[B, N, k]`` to the same shape."""
    vectors = torch.arange(1.0, 5)[None, :, None].repeat(200, 1, 3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        drawn, again = random_signs(vectors.clone()), random_signs(vectors.clone())
    if not isinstance(drawn, Tensor) or drawn.shape != vectors.shape:
        raise Mistake(f"expected a tensor of shape {list(vectors.shape)}.")
    factors = drawn / vectors
    if not torch.allclose(factors.abs(), torch.ones_like(factors)):
        raise Mistake("multiply by 1 or -1 and by nothing else.")
    signs = factors[:, 0].round()  # [B, k]
    for wrong, message in (
        (factors.round() != signs[:, None], "the nodes of one graph have different signs: that is "
         "no longer the same eigenvector. Draw [B, 1, k] signs."),
        ((signs == signs[0, 0]).all(), "every sign is the same; draw them at random."),
        ((signs == signs[:1]).all(), "all graphs of the batch share their signs."),
        ((signs == signs[:, :1]).all(), "all eigenvectors of a graph share one sign."),
        ((drawn == again).all(), "the second call gives the same signs; do not fix the seed."),
        (signs.mean().abs() > 0.2, "expected about as many positive signs as negative ones."),
    ):  # fmt: skip
        if wrong.any():
            raise Mistake(message)


def _phi(u: Tensor) -> Tensor:
    return (u @ u.new_tensor([[1.0, -2.0, 0.5], [0.5, 1.0, -1.0]]) + 0.25).relu() ** 2


@compare(
    "the result is even for any phi, and every even function has this form.",
    cases=[(_phi, torch.tensor([[0.5, -1.0], [2.0, 3.0], [0.0, -0.25]])), (_phi, *random((5, 2)))],
    mistakes={
        "this is the difference, which is odd. Add the two.": (lambda phi, u: phi(u) - phi(-u)),
        "the two are concatenated, so swapping them changes the result. Add them.": (
            lambda phi, u: torch.cat([phi(u), phi(-u)], -1)
        ),
        "this is the product; add phi(u) and phi(-u).": lambda phi, u: phi(u) * phi(-u),
        "this is phi(|u|), which loses which signs agree.": (lambda phi, u: phi(u.abs())),
        "this is phi(u) alone; phi(-u) is missing.": lambda phi, u: phi(u),
        "the minus belongs inside: phi(-u), not -phi(u).": lambda phi, u: phi(u) + -phi(u),
    },
)
def check_even(phi, u):
    """``even(phi, u)``: the even function that phi makes, at u."""
    return phi(u) + phi(-u)


def _of_entries(entries: Tensor) -> Tensor:  # [..., 1] to [..., 2]
    return (entries @ entries.new_tensor([[1.0, -2.0]]) + entries.new_tensor([0.3, 0.1])).relu()


def _rho(h: Tensor) -> Tensor:  # [..., 2] to [..., 2]
    return h @ h.new_tensor([[1.0, 0.5], [-1.0, 2.0]]) + h**2


VECTORS = torch.tensor([[0.5, 0.2, 0.0], [-0.5, 0.4, 0.0], [0.1, -0.3, 0.0], [0.0, 0.6, 0.0]])


@compare(
    "padding adds nothing, and order and signs of the eigenvectors do not matter.",
    cases=[(_of_entries, _rho, VECTORS), (_of_entries, _rho, F.pad(*random((6, 3)), (0, 2)))],
    gradients=False,  # a column of zeros is recognized by its value
    mistakes={
        "the column of zeros adds 2 phi(0); leave padding out.": {"real": 3},
        "the eigenvectors are added before phi; apply phi to each, then add.": lambda phi, rho, U: (
            rho(phi(U.sum(1, keepdim=True)) + phi(-U.sum(1, keepdim=True)))
        ),
        "phi(-u) is missing.": lambda phi, rho, U: rho(phi(U[:, :1]) + phi(U[:, 1:2])),
        "a fixed number of columns is read; padding is any column of zeros.": {"real": 1},
        "this is the mean over the real eigenvectors; take the sum.": {"factor": 1 / 2},
        "rho is applied to each eigenvector; apply it once, to the sum.": lambda phi, rho, U: sum(
            rho(phi(u) + phi(-u)) for u in (U[:, :1], U[:, 1:2])
        ),
        "rho is missing.": lambda phi, rho, U: check_signnet_sum.reference(phi, lambda h: h, U),
    },
)
def check_signnet_sum(phi, rho, U, real=None, factor=1):
    """``signnet_sum(phi, rho, U)``: ``[N, k]``, zero columns being padding, to ``[N, d]``."""
    return rho(
        factor
        * sum(phi(u[:, None]) + phi(-u[:, None]) for u in U.T[: real or int(U.any(dim=0).sum())])
    )


def _equal_to_the_last_digit(L: Tensor) -> Tensor:
    values, vectors = torch.linalg.eigh(L)
    groups = [vectors[:, values == value] for value in values.unique()]
    return torch.stack([V @ V.T for V in groups])


def _stacked(projectors: Callable, L: Tensor) -> object:
    """A list of matrices as one tensor; anything else as it is."""
    got = projectors(L)
    if isinstance(got, list | tuple) and got and all(isinstance(P, Tensor) for P in got):
        return torch.stack(list(got))
    return got


STAR = torch.tensor([[3.0, -1, -1, -1], [-1, 1, 0, 0], [-1, 0, 1, 0], [-1, 0, 0, 1]])
RING = 2 * torch.eye(6) - torch.eye(6).roll(1, dims=0) - torch.eye(6).roll(-1, dims=0)


@compare(
    "every basis gives the same matrices.",
    cases=[(STAR,), (RING,)],
    run=_stacked,
    gradients=False,  # an eigenvector of a repeated eigenvalue has none
    mistakes={
        "this has a matrix for each eigenvector; return one for each eigenvalue.": {
            "tolerance": -1
        },
        "the projector of eigenvalue 0 is missing.": lambda L: check_projectors.reference(L)[1:],
        "the order is descending; eigenvalues should ascend.": lambda L: check_projectors.reference(
            L
        ).flip(0),
        "this is the identity: all eigenspaces were added, or it is V^T V.": lambda L: torch.eye(
            len(L)
        ),
        "equal eigenvalues may differ in their last digits; compare with a tolerance.": (
            _equal_to_the_last_digit
        ),
    },
)
def check_projectors(L, tolerance=1e-4):
    """``projectors(L)``: ``[N, N]`` to ``[S, N, N]``, one for each of S distinct eigenvalues."""
    values, vectors = torch.linalg.eigh(L.double())
    spaces = []
    for m, value in enumerate(values):
        P = torch.outer(vectors[:, m], vectors[:, m])
        if m and value - values[m - 1] < tolerance:
            spaces[-1] = spaces[-1] + P
        else:
            spaces.append(P)
    return torch.stack(spaces)
