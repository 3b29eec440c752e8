"""Checks of chapter 05: signs, even functions, SignNet with a sum, projectors.

Shapes: B graphs, N nodes, k eigenvectors, C channels.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from gtcourse.exercises.verdict import Mistake, checker, expect

Network = Callable[[Tensor], Tensor]


@checker("each eigenvector of each graph has a sign of its own, and all its nodes share it.")
def check_random_signs(random_signs: Callable[[Tensor], Tensor]) -> None:
    """``random_signs(vectors)``: ``[B, N, k]`` to the same shape."""
    B, N, k = 200, 4, 3
    vectors = torch.arange(1.0, N + 1)[None, :, None].repeat(B, 1, k)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        drawn, again = random_signs(vectors.clone()), random_signs(vectors.clone())
    if not isinstance(drawn, Tensor) or drawn.shape != vectors.shape:
        got = list(drawn.shape) if isinstance(drawn, Tensor) else type(drawn).__name__
        raise Mistake(f"expected a tensor {list(vectors.shape)}, got {got}.")
    signs = drawn / vectors
    if (signs == 0).any():
        raise Mistake("some entries became zero; the factors are 1 and -1, not 1 and 0.")
    if not torch.allclose(signs.abs(), torch.ones_like(signs)):
        raise Mistake("the lengths have changed; multiply by 1 or -1 and by nothing else.")
    signs = signs.round()
    if (signs != signs[:, :1]).any():
        raise Mistake(
            "the nodes of one graph have different signs: that makes another vector, not the same "
            "eigenvector with the other sign. Draw [B, 1, k] signs."
        )
    signs = signs[:, 0]
    if (signs == signs[0, 0]).all():
        raise Mistake("every sign is the same; draw them at random.")
    if (signs == signs[:1]).all():
        raise Mistake("all graphs of the batch share their signs; draw some for each graph.")
    if (signs == signs[:, :1]).all():
        raise Mistake("all eigenvectors of a graph share one sign; draw one for each.")
    if torch.equal(drawn, again):
        raise Mistake("the second call gives the same signs as the first; do not fix the seed.")
    if not 0.4 < (signs > 0).float().mean() < 0.6:
        share = float((signs > 0).float().mean())
        raise Mistake(f"{share:.0%} of the signs are positive; expected about half of them.")


@checker("whatever phi is, the result is even, and every even function is one of these.")
def check_even(even: Callable[[Network, Tensor], Tensor]) -> None:
    """``even(phi, u)``: the even function that phi makes, at u."""
    u = torch.tensor([[0.5, -1.0], [2.0, 3.0], [0.0, -0.25]])
    weight = torch.tensor([[1.0, -2.0, 0.5], [0.5, 1.0, -1.0]])

    def phi(u: Tensor) -> Tensor:
        return (u @ weight + 0.25).relu() ** 2

    plus, minus = phi(u), phi(-u)
    expect(
        even(phi, u),
        plus + minus,
        {
            "this is the difference, which changes its sign with u: it is odd. Add the two.": (
                plus - minus
            ),
            "the two are side by side, as the printed comma has it; exchanging them changes the "
            "result. Add them.": torch.cat([plus, minus], dim=-1),
            "this is phi(|u|), which takes the sign from each entry on its own and forgets which "
            "entries agree in sign.": phi(u.abs()),
            "this is phi(u) alone; phi(-u) is missing.": plus,
            "this is 2 phi(u); one of the two takes -u.": 2 * plus,
            "this is the product: even as well, but not every even function is one (it is zero "
            "wherever phi(u) is). Add the two.": plus * minus,
            "this is half of it: the sum is meant, not the mean.": (plus + minus) / 2,
            "the minus is before phi, phi(-u), not -phi(u).": torch.zeros_like(plus),
        },
    )


@checker("padding adds nothing, and neither order nor signs of the eigenvectors matter.")
def check_signnet_sum(signnet_sum: Callable[[Network, Network, Tensor], Tensor]) -> None:
    """``signnet_sum(phi, rho, U)``: ``[N, k]``, zero columns being padding, to ``[N, d]``."""
    U = torch.tensor([[0.5, 0.2, 0.0], [-0.5, 0.4, 0.0], [0.1, -0.3, 0.0], [0.0, 0.6, 0.0]])
    weight = torch.tensor([[1.0, -2.0]])
    bias = torch.tensor([0.3, 0.1])

    def phi(entries: Tensor) -> Tensor:  # [..., 1] to [..., 2]
        return (entries @ weight + bias).relu()

    def rho(h: Tensor) -> Tensor:  # [..., 2] to [..., 2]
        return h @ torch.tensor([[1.0, 0.5], [-1.0, 2.0]]) + h**2

    def even(m: int) -> Tensor:
        column = U[:, m : m + 1]
        return phi(column) + phi(-column)

    real = even(0) + even(1)
    total = U.sum(dim=1, keepdim=True)
    expect(
        signnet_sum(phi, rho, U.clone()),
        rho(real),
        {
            "the column of zeros has added 2 phi(0), which is not zero; leave padding out.": rho(
                real + even(2)
            ),
            "the eigenvectors are added before phi; add what phi makes of each.": rho(
                phi(total) + phi(-total)
            ),
            "phi(-u) is missing.": rho(phi(U[:, :1]) + phi(U[:, 1:2])),
            "this is the mean over the real eigenvectors; take the sum.": rho(real / 2),
            "this is the mean over all columns; take the sum over the real ones.": rho(
                (real + even(2)) / 3
            ),
            "rho is applied to each eigenvector; apply it once, to the sum.": rho(even(0))
            + rho(even(1)),
            "rho is missing.": real,
            "the results stand beside each other; add them up before rho.": torch.cat(
                [even(0), even(1)], dim=1
            ),
        },
    )


@checker("the same matrices come out of every basis.")
def check_projectors(projectors: Callable[[Tensor], Tensor]) -> None:
    """``projectors(L)``: ``[N, N]`` to ``[S, N, N]``, one for each of S distinct eigenvalues."""
    leaves = torch.zeros(4, 4)
    leaves[1:, 1:] = torch.eye(3) - 1 / 3
    top = torch.tensor([3.0, -1, -1, -1]) / 12**0.5
    right = torch.stack([torch.full((4, 4), 0.25), leaves, torch.outer(top, top)])
    star = torch.tensor([[3.0, -1, -1, -1], [-1, 1, 0, 0], [-1, 0, 1, 0], [-1, 0, 0, 1]])
    got = _stacked(projectors(star.clone()))
    expect(
        got,
        right,
        {
            "the projector of eigenvalue 0 is missing.": right[1:],
            "the order is from large to small; eigenvalues rise.": right.flip(0),
            "all spaces are added up, which gives the identity.": right.sum(dim=0),
            "this is V^T V, which is the identity in any basis; the projector is V V^T.": torch.eye(
                4
            ),
        }
        | _one_for_each_vector(got, right),
    )
    eye = torch.eye(6)
    ring = 2 * eye - eye.roll(1, dims=0) - eye.roll(-1, dims=0)
    gap = (torch.arange(6)[:, None] - torch.arange(6)) * torch.pi / 3
    waves = torch.stack([c / 6 * (m * gap).cos() for m, c in enumerate((1, 2, 2, 1))])
    got = _stacked(projectors(ring))
    if isinstance(got, Tensor) and got.ndim == 3 and len(got) > len(waves):
        raise Mistake(
            "right on a star; on a ring of six equal eigenvalues differ in the last digits, and "
            "you took them for different ones."
        )
    expect(got, waves, {})


def _stacked(got: object) -> object:
    """A list of matrices as one tensor, in single precision; anything else as it is."""
    if isinstance(got, list | tuple) and got and all(isinstance(P, Tensor) for P in got):
        got = torch.stack(list(got))
    return got.float() if isinstance(got, Tensor) else got


def _one_for_each_vector(got: object, right: Tensor) -> dict[str, Tensor]:
    """Four matrices of rank one, of which two add up to the projector of the double eigenvalue."""
    if not isinstance(got, Tensor) or got.shape != (4, 4, 4):
        return {}
    grouped = torch.stack([got[0], got[1] + got[2], got[3]]).to(right)
    if not torch.allclose(grouped, right, atol=1e-4):
        return {}
    return {
        "there is a matrix for each eigenvector; eigenvalue 1 occurs twice here, but for rounding, "
        "and the two belong together.": got.to(right)
    }
