import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.encodings import AddLaplacianEigenvectors, AddSVD
from gtcourse.encodings.spectral import NORMALIZATIONS
from tests.graphs.random_graphs import graphs
from tests.loops.encodings import edges_of

normalizations = st.sampled_from(NORMALIZATIONS)


@given(graphs(), st.sampled_from(["combinatorial", "symmetric"]))
def test_columns_are_orthonormal(float64, graph, normalization):
    n = len(graph.x)
    vectors = AddLaplacianEigenvectors(n, normalization)(graph).laplacian_eigenvectors
    torch.testing.assert_close(vectors.T @ vectors, torch.eye(n), rtol=0, atol=1e-10)


@given(graphs(), normalizations)
def test_the_largest_entry_of_a_column_is_positive(float64, graph, normalization):
    n = len(graph.x)
    vectors = AddLaplacianEigenvectors(n, normalization)(graph).laplacian_eigenvectors
    for column in vectors.T:
        first = next(i for i in range(n) if column[i].abs() >= column.abs().max() - 1e-8)
        assert column[first] > 0


@pytest.mark.holds("EGT, Eqs. 8 and 9")
@given(graphs(), st.integers(1, 9))
def test_svd_is_the_best_approximation_of_its_rank(float64, graph, rank):
    """Eckart and Young: what is left of A + I has the remaining singular values as its norm."""
    n = len(graph.x)
    A = torch.eye(n)
    for i, j in edges_of(graph):
        A[i, j] = 1
    svd = AddSVD(rank)(graph).svd
    assert svd.shape == (n, 2 * rank)
    left, right = svd[:, :rank], svd[:, rank:]
    singular = np.sqrt(np.clip(np.sort(np.linalg.eigvalsh((A.T @ A).numpy()))[::-1], 0, None))
    error = (A - left @ right.T).norm()
    assert error == pytest.approx(np.sqrt((singular[rank:] ** 2).sum()), abs=1e-6)
    expected = torch.zeros(rank)
    expected[: min(rank, n)] = torch.tensor(singular[:rank].copy())
    for half in (left, right):  # √Σ is shared out evenly, and the columns are orthogonal
        torch.testing.assert_close(half.T @ half, expected.diag(), rtol=0, atol=1e-6)
