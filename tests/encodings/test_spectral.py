import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from gtcourse.encodings import AddLaplacianEigenvectors, AddSVD
from gtcourse.encodings.spectral import NORMALIZATIONS, laplacian
from tests.encodings.graphs import of_edges, of_networkx
from tests.graphs.random_graphs import graphs
from tests.loops.encodings import edges_of, laplacian_loop

normalizations = st.sampled_from(NORMALIZATIONS)


@pytest.mark.holds("CS224W, S10")
@given(graphs(), normalizations)
def test_the_laplacian_equals_the_loop_over_pairs(graph, normalization):
    adjacency = torch.zeros(len(graph.x), len(graph.x)).bool()
    adjacency[graph.edge_index[0], graph.edge_index[1]] = True
    got = laplacian(adjacency[None], normalization)[0]
    torch.testing.assert_close(got, laplacian_loop(graph, normalization), rtol=0, atol=1e-12)


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


def test_the_normalised_laplacians_have_a_1_where_a_node_has_no_edge():
    graph = of_edges(3, [(0, 1)])
    for normalization in ("symmetric", "random_walk"):
        values = AddLaplacianEigenvectors(3, normalization)(graph).laplacian_eigenvalues
        assert values.tolist() == pytest.approx([0, 1, 2], abs=1e-6)


def test_skipping_the_first_leaves_the_others():
    graph = of_networkx(nx.path_graph(5))
    whole, rest = (
        AddLaplacianEigenvectors(5)(graph),
        AddLaplacianEigenvectors(5, skip_first=True)(graph),
    )
    assert torch.equal(rest.laplacian_eigenvectors[:, :4], whole.laplacian_eigenvectors[:, 1:])
    assert torch.equal(rest.laplacian_eigenvalues[:4], whole.laplacian_eigenvalues[1:])
    assert rest.laplacian_eigenvectors[:, 4].abs().sum() == rest.laplacian_eigenvalues[4] == 0


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
