"""The checkers of chapter 05: each mistake is named."""

import pytest
import torch

from gtcourse.exercises import chapter05
from tests.exercises.solutions import checkers

CHECKERS = checkers(chapter05)


def coins(*shape, low=-1):
    return torch.where(torch.rand(shape) < 0.5, low, 1)


def repeated(vectors):
    return vectors * (
        2 * torch.randint(0, 2, (len(vectors), 1, vectors.shape[2]), generator=fixed()) - 1
    )


def fixed():
    return torch.Generator().manual_seed(0)


def both(phi, column):
    return phi(column) + phi(-column)


def columns(U):
    return [U[:, m : m + 1] for m in range(U.shape[1])]


def spaces(L, tolerance=1e-4):
    values, vectors = torch.linalg.eigh(L.double())
    groups = []
    for m, value in enumerate(values):
        if m and value - values[m - 1] < tolerance:
            groups[-1].append(m)
        else:
            groups.append([m])
    return torch.stack([vectors[:, g] @ vectors[:, g].T for g in groups])


def equal_to_the_last_digit(L):
    values, vectors = torch.linalg.eigh(L)
    groups = [vectors[:, values == value] for value in values.unique()]
    return torch.stack([V @ V.T for V in groups])


WRONG = [
    ("random_signs", lambda v: v * coins(len(v), 1, v.shape[2], low=0), "not 1 and 0"),
    ("random_signs", lambda v: v * torch.randn(len(v), 1, v.shape[2]), "lengths have changed"),
    ("random_signs", lambda v: v * coins(*v.shape), "the nodes of one graph have different signs"),
    ("random_signs", lambda v: -v, "every sign is the same"),
    ("random_signs", lambda v: v * coins(1, 1, v.shape[2]), "all graphs of the batch share"),
    ("random_signs", lambda v: v * coins(len(v), 1, 1), "all eigenvectors of a graph share"),
    ("random_signs", repeated, "do not fix the seed"),
    (
        "random_signs",
        lambda v: v * torch.where(torch.rand(len(v), 1, v.shape[2]) < 0.2, -1, 1),
        "expected about half",
    ),
    ("random_signs", lambda v: v[0], "expected a tensor"),
    ("even", lambda phi, u: phi(u) - phi(-u), "it is odd"),
    ("even", lambda phi, u: torch.cat([phi(u), phi(-u)], -1), "as the printed comma has it"),
    ("even", lambda phi, u: phi(u.abs()), "this is phi(|u|)"),
    ("even", lambda phi, u: phi(u), "phi(-u) is missing"),
    ("even", lambda phi, u: phi(u) + phi(u), "this is 2 phi(u)"),
    ("even", lambda phi, u: phi(u) * phi(-u), "this is the product"),
    ("even", lambda phi, u: (phi(u) + phi(-u)) / 2, "this is half of it"),
    ("even", lambda phi, u: phi(u) + -phi(u), "the minus is before phi"),
    ("signnet_sum", lambda phi, rho, U: rho(sum(both(phi, c) for c in columns(U))), "2 phi(0)"),
    ("signnet_sum", lambda phi, rho, U: rho(both(phi, U.sum(1, keepdim=True))), "before phi"),
    ("signnet_sum", lambda phi, rho, U: rho(sum(phi(c) for c in columns(U)[:2])), "phi(-u) is"),
    (
        "signnet_sum",
        lambda phi, rho, U: rho(sum(both(phi, c) for c in columns(U)[:2]) / 2),
        "mean over the real eigenvectors",
    ),
    (
        "signnet_sum",
        lambda phi, rho, U: rho(sum(both(phi, c) for c in columns(U)) / 3),
        "mean over all columns",
    ),
    (
        "signnet_sum",
        lambda phi, rho, U: sum(rho(both(phi, c)) for c in columns(U)[:2]),
        "apply it once",
    ),
    (
        "signnet_sum",
        lambda phi, rho, U: sum(both(phi, c) for c in columns(U)[:2]),
        "rho is missing",
    ),
    (
        "signnet_sum",
        lambda phi, rho, U: torch.cat([both(phi, c) for c in columns(U)[:2]], 1),
        "stand beside each other",
    ),
    ("projectors", lambda L: spaces(L, tolerance=-1), "a matrix for each eigenvector"),
    ("projectors", lambda L: spaces(L)[1:], "eigenvalue 0 is missing"),
    ("projectors", lambda L: spaces(L).flip(0), "from large to small"),
    ("projectors", lambda L: spaces(L).sum(0), "gives the identity"),
    ("projectors", lambda L: torch.linalg.eigh(L).eigenvectors, "expected the shape"),
    ("projectors", lambda L: 3, "expected a tensor"),
    ("projectors", equal_to_the_last_digit, "you took them for different ones"),
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_named(name, answer, message):
    verdict = CHECKERS[name](answer)
    assert verdict.passed is False
    assert message in verdict.message


def test_projectors_may_come_as_a_list_or_in_double_precision():
    star = spaces
    assert chapter05.check_projectors(lambda L: list(star(L))).passed


def test_an_error_in_the_answer_is_reported():
    verdict = chapter05.check_even(lambda phi, u: phi(u)[7])
    assert verdict.passed is False
    assert "IndexError" in verdict.message
