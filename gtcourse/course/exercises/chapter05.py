"""Checks of chapter 05. Shapes: B graphs, N nodes, k eigenvectors, C channels."""

import torch
import torch.nn.functional as F

from gtcourse.course.exercises.checker import checker, compare, mistake, random, require


@checker
def check_random_signs(random_signs):
    """Each eigenvector of each graph has its own sign, shared by all nodes."""
    vectors = torch.arange(1.0, 5)[None, :, None].repeat(200, 1, 3)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        drawn, again = random_signs(vectors.clone()), random_signs(vectors.clone())
    require(getattr(drawn, "shape", 0) == vectors.shape, "expected a tensor [B, N, k].")
    signs = drawn / vectors
    require(torch.allclose(signs.abs(), signs.new_ones(())), "multiply by 1 or -1, nothing else.")
    first = signs[:, :1].round()  # [B, 1, k]
    require((signs.round() == first).all(), "nodes of a graph have different signs.")
    require((first != first[0, 0, 0]).any(), "every sign is the same; draw them at random.")
    require((first != first[:1]).any(), "all graphs of the batch share their signs.")
    require((first != first[..., :1]).any(), "all eigenvectors of a graph share one sign.")
    require((drawn != again).any(), "the second call gives the same signs; do not fix the seed.")
    require(first.mean().abs() < 0.2, "expected about as many positive signs as negative ones.")


def _phi(u):  # [..., n] to [..., 2n]
    return torch.cat([u + 0.25, 0.1 - 2 * u], dim=-1).relu() ** 2


def _phi_with_bias(u):  # [..., n] to [..., n]
    return (1.5 * u - 0.4).tanh() + 0.3 * u


@checker
def check_even(even):
    """The result is even, and it depends on phi and on u."""
    u, other = random((3, 2), (3, 2))
    for phi in (_phi, _phi_with_bias):
        at_u, at_minus_u = even(phi, u), even(phi, -u)
        shape = list(phi(u).shape)
        require(isinstance(at_u, torch.Tensor), "expected a tensor, as phi returns.")
        require(
            list(at_u.shape) == shape,
            f"expected phi's shape {shape}, got {list(at_u.shape)}: add the two values of phi; do "
            "not concatenate.",
        )
        require(
            not torch.allclose(at_u, phi(u), atol=1e-4),
            "this is phi(u) alone; phi(-u) is missing.",
        )
        require(
            not torch.allclose(at_u, phi(u) - phi(-u), atol=1e-4),
            "this is the difference, which is odd; add the two.",
        )
        require(
            not torch.allclose(at_u, even(phi, other), atol=1e-4),
            "the value is the same for every u: the minus belongs inside, phi(-u), not -phi(u).",
        )
        require(torch.allclose(at_u, at_minus_u, atol=1e-4), "the values at u and -u differ.")
    first, second = (even(phi, u).sum() for phi in (lambda u: u**2, lambda u: 3 + u**4))
    require(not torch.isclose(first, second), "the value is the same for two functions phi.")


@compare(
    (_phi, _phi, F.pad(*random((4, 2)), (0, 1))),
    (_phi, _phi, torch.tensor([[0.0, 0.6, 0], [0.8, 0, 0], [0, -0.8, 0], [-0.6, 0, 0]])),
    (_phi, _phi, F.pad(*random((6, 3)), (0, 2))),
)
@mistake("the column of zeros adds 2 phi(0); leave padding out.", real=3)
@mistake("phi(-u) is missing.", signs=(1,))
@mistake("this is the mean over the real eigenvectors; take the sum.", factor=1 / 2)
@mistake("rho is missing.", given=lambda phi, rho, U: (phi, lambda h: h, U))
def check_signnet_sum(phi, rho, U, real=None, factor=1, signs=(1, -1)):
    """Padding adds nothing, and order and signs of the eigenvectors do not matter."""
    columns = U.T[: real or int(U.any(dim=0).sum())]
    return rho(factor * sum(phi(sign * u[:, None]) for u in columns for sign in signs))


STAR = torch.tensor([[3.0, -1, -1, -1], [-1, 1, 0, 0], [-1, 0, 1, 0], [-1, 0, 0, 1]])
RING = 2 * torch.eye(6) - torch.eye(6).roll(1, 0) - torch.eye(6).roll(-1, 0)
LONG = torch.diag(torch.tensor([1.0, *[2] * 28, 1]))  # a path, whose eigenvalues are 0.01 apart
LONG -= torch.eye(30).roll(1, 0).tril() + torch.eye(30).roll(-1, 0).triu()
COMPLETE = 5 * torch.eye(5) - torch.ones(5, 5)


# An eigenvector of a repeated eigenvalue has no gradient.
@compare([STAR], [COMPLETE], [LONG], [RING], run=lambda answer, L: torch.stack([*answer(L)]))
@mistake(
    "that is one matrix for each eigenvector; eigenvalues less than 1e-4 apart are equal.",
    tolerance=-1,
)
@mistake("the projector of eigenvalue 0 is missing.", then=lambda P: P[1:])
@mistake("the order is descending; eigenvalues should ascend.", then=lambda P: P.flip(0))
@mistake(
    "this is the identity: did you add all projectors, or compute V^T V?",
    lambda L: torch.eye(len(L)),
)
def check_projectors(L, tolerance=1e-4):
    """Every basis gives the same matrices."""
    values, vectors = torch.linalg.eigh(L.double())
    starts = (values.diff() > tolerance).nonzero().flatten() + 1
    return torch.stack([V @ V.T for V in vectors.tensor_split(starts, dim=1)])
