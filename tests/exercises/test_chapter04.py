"""The checkers of chapter 04: each mistake is named."""

import pytest
import torch
import torch.nn.functional as F

from gtcourse.exercises import chapter04
from tests.exercises.solutions import checkers, folded_solutions

CHECKERS = checkers(chapter04)


def solutions() -> dict:
    return folded_solutions("04_positional_encodings", torch=torch)


def test_any_sign_of_an_eigenvector_passes():
    rows = solutions()["laplacian_rows"]
    flipped = chapter04.check_laplacian_rows(
        lambda A, k: rows(A, k) * torch.tensor([1.0, -1, 1, -1, 1])[:k]
    )
    assert flipped.passed, flipped


def test_signs_that_belong_together_pass():
    rows = solutions()["svd_rows"]
    flipped = chapter04.check_svd_rows(lambda A, r: rows(A, r) * torch.tensor([1.0, -1, 1] * 2))
    assert flipped.passed, flipped


def walk(A, dim=1):
    return A.float() / A.sum(dim=dim, keepdim=True).clamp(min=1)


def staying(A):
    P = walk(A)
    return P + torch.diag((P.sum(dim=1) == 0).float())


def squares(u, e):
    return ((u[e[0]] - u[e[1]]) ** 2).sum()


def nearest(distance, members, of=torch.amin, fill=99):
    known = distance.masked_fill(distance < 0, fill)
    found = torch.stack([of(known[:, chosen], 1) for chosen in members], dim=1)
    return found.masked_fill(found.abs() == 99, -1)


def eigenvectors(A):
    A = A.double()
    return torch.linalg.eigh(A.sum(dim=1).diag() - A).eigenvectors


def padded(vectors, k, left=0):
    missing = max(0, k - len(vectors))
    return F.pad(vectors[:, :k], (missing, 0) if left else (0, missing))


def symmetric(A):
    root = A.sum(dim=1).double().rsqrt()
    return torch.eye(len(A)) - root[:, None] * A * root


def halves(A, r, power=0.5, loops=True, transposed=True, kept=None):
    U, S, Vt = torch.linalg.svd(A.double() + loops * torch.eye(len(A)))
    kept = kept or slice(r)
    scale = S**power
    right = Vt.T if transposed else Vt
    return torch.cat([(U * scale)[:, kept], (right * scale)[:, kept]], dim=1)


WRONG = [
    ("walk_matrix", lambda A: A.float() / A.sum(dim=1, keepdim=True), "0/0, NaN"),
    ("walk_matrix", lambda A: A / A.sum(1), "along the wrong axis"),
    ("walk_matrix", lambda A: A / A.sum(1).clamp(min=1), "along the wrong axis"),
    ("walk_matrix", lambda A: walk(A, 0), "divide each row by its own sum"),
    ("walk_matrix", lambda A: walk(A).T, "rows and columns are exchanged"),
    ("walk_matrix", lambda A: A.float(), "the edges themselves"),
    ("walk_matrix", lambda A: walk(A | A.T), "this graph is directed"),
    ("walk_matrix", staying, "stays there"),
    ("walk_matrix", lambda A: walk(A | torch.eye(4).bool()), "self-loops were added"),
    (
        "walk_matrix",
        lambda A: A / (A.sum(1).clamp(min=1)[:, None] * A.sum(0)).sqrt(),
        "the symmetric form",
    ),
    ("walk_matrix", lambda A: A.tolist(), "expected a tensor"),
    ("rayleigh_quotient", lambda u, e: squares(u, e) / (u**2).sum(), "counts twice"),
    ("rayleigh_quotient", lambda u, e: squares(u, e) / 2, "divide by the sum of the squares of u."),
    ("rayleigh_quotient", lambda u, e: squares(u, e), "and count every edge once"),
    ("rayleigh_quotient", lambda u, e: squares(u, e) / 2 / u.norm(), "the length of u"),
    ("rayleigh_quotient", lambda u, e: squares(u, e) / u.norm(), "and every edge counts twice"),
    (
        "rayleigh_quotient",
        lambda u, e: (u[e[0]] - u[e[1]]).abs().sum() / 2 / (u**2).sum(),
        "square them",
    ),
    (
        "rayleigh_quotient",
        lambda u, e: squares(u, e) / e.shape[1] / (u**2).sum(),
        "a mean over the edges",
    ),
    ("rayleigh_quotient", lambda u, e: squares(u, e) / 2 / (u**2).mean(), "divide by their sum"),
    ("rayleigh_quotient", lambda u, e: u[e[0]] - u[e[1]], "expected the shape"),
    (
        "anchor_distances",
        lambda d, s: torch.stack([d[:, m].amin(1) for m in s], 1),
        "-1 wins as the smallest",
    ),
    ("anchor_distances", lambda d, s: nearest(d.T, s), "from the anchors to the node"),
    ("anchor_distances", lambda d, s: nearest(d, s, torch.amax, -99), "the nearest counts"),
    (
        "anchor_distances",
        lambda d, s: nearest(d, s, fill=5),
        "where no member can be reached stands a large number",
    ),
    ("anchor_distances", lambda d, s: nearest(d, s).T, "the shape is turned"),
    ("laplacian_rows", lambda A, k: eigenvectors(A)[:, 1 : k + 1], "keep the first"),
    ("laplacian_rows", lambda A, k: eigenvectors(A)[:, -k:], "the smallest k are wanted"),
    ("laplacian_rows", lambda A, k: eigenvectors(A).flip(1)[:, :k], "in falling order"),
    ("laplacian_rows", lambda A, k: eigenvectors(A).T[:, :k], "in each column"),
    (
        "laplacian_rows",
        lambda A, k: torch.linalg.eigh(A.double()).eigenvectors[:, :k],
        "take them of D - A",
    ),
    (
        "laplacian_rows",
        lambda A, k: torch.linalg.eigh(symmetric(A)).eigenvectors[:, :k],
        "symmetric Laplacian",
    ),
    ("laplacian_rows", lambda A, k: eigenvectors(A)[:, :k], "2 columns of zeros at the end"),
    ("laplacian_rows", lambda A, k: padded(eigenvectors(A), k, left=1), "belong at the end"),
    ("laplacian_rows", lambda A, k: eigenvectors(A), "expected the shape [7, 4]"),
    ("svd_rows", lambda A, r: halves(A, r, loops=False), "decompose A + I"),
    ("svd_rows", lambda A, r: halves(A | A.T, r), "this graph is directed"),
    ("svd_rows", lambda A, r: halves(A, r, power=0), "the singular values are missing"),
    ("svd_rows", lambda A, r: halves(A, r, power=1), "each gets the root"),
    ("svd_rows", lambda A, r: halves(A, r, transposed=False), "the vectors are its rows"),
    ("svd_rows", lambda A, r: halves(A, r).roll(r, 1), "the halves are exchanged"),
    ("svd_rows", lambda A, r: halves(A, r)[:, :r].repeat(1, 2), "both halves are U"),
    ("svd_rows", lambda A, r: halves(A, r, kept=slice(-r, None)), "the largest r are wanted"),
    ("svd_rows", lambda A, r: halves(A, r)[:, :r], "side by side"),
    (
        "svd_rows",
        lambda A, r: halves(A, r) * torch.tensor([-1.0] + [1] * (2 * r - 1)),
        "changed apart",
    ),
    ("svd_rows", lambda A, r: halves(A, r + 1), "expected the shape [7, 6]"),
]


@pytest.mark.parametrize(("name", "answer", "message"), WRONG)
def test_a_wrong_answer_is_named(name, answer, message):
    verdict = CHECKERS[name](answer)
    assert verdict.passed is False
    assert message in verdict.message


def test_an_error_in_the_answer_is_reported():
    verdict = chapter04.check_walk_matrix(lambda A: A[7])
    assert verdict.passed is False
    assert "IndexError" in verdict.message
