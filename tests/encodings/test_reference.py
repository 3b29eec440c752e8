"""The encodings beside the values of the published implementations."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gtcourse.encodings import (
    AddLaplacianEigenvectors,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
    AddSVD,
)
from tests.models.small import encoded

REFERENCE = np.load(Path(__file__).parents[1] / "reference" / "encodings.npz")
SIZES = REFERENCE["n"].tolist()


def expected(name: str, graph: int, axes: int = 2) -> torch.Tensor:
    return torch.from_numpy(REFERENCE[name][graph])[(slice(SIZES[graph]),) * axes]


def with_encodings(*encodings) -> list[Data]:
    edges = [expected("adjacency", i).nonzero().T.contiguous() for i in range(len(SIZES))]
    graphs = [Data(x=torch.zeros(n, 1), edge_index=e) for n, e in zip(SIZES, edges, strict=True)]
    return encoded(*graphs, encodings=encodings)


def assert_close(got: torch.Tensor, wanted: torch.Tensor) -> None:
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-9)


def test_random_walks_equal_the_authors_code():
    for i, graph in enumerate(with_encodings(AddRandomWalks(8), AddRandomWalks(8, pairs=False))):
        assert_close(graph.random_walks, expected("edge_rwse_steps1_8", i))
        assert_close(graph.rwse, expected("rwse_diag_steps1_8", i, axes=1))


def test_distances_equal_the_authors_code():
    for i, graph in enumerate(with_encodings(AddShortestPaths())):
        assert torch.equal(graph.distance, expected("spd_true", i).long())


@pytest.mark.parametrize("size", [6, 18])
def test_rings_equal_the_authors_code(size):
    for i, graph in enumerate(with_encodings(AddRings(size))):
        assert torch.equal(graph.ring, expected(f"ring_pairs_max{size}", i).bool())


def test_svd_of_rank_4_reconstructs_as_the_authors_code():
    compared = 0
    for i, graph in enumerate(with_encodings(AddSVD(4))):
        singular = expected("svd_singular_values_A_plus_I", i, axes=1)
        if len(singular) > 4 and singular[3] - singular[4] > 1e-6:  # else it is not unique
            assert_close(
                graph.svd[:, :4] @ graph.svd[:, 4:].T, expected("svd_rank4_reconstruction", i)
            )
            compared += 1
    assert compared > 10


@pytest.mark.parametrize(
    ("normalization", "name"),
    [("combinatorial", "none"), ("symmetric", "sym"), ("random_walk", "rw")],
)
def test_eigenvalues_and_projectors_equal_the_authors_code(normalization, name):
    for i, graph in enumerate(with_encodings(AddLaplacianEigenvectors(12, normalization))):
        n = SIZES[i]
        wanted = expected(f"lap_eigvals_{name}", i, axes=1)
        assert_close(graph.laplacian_eigenvalues[:n], wanted)
        if normalization == "random_walk":
            continue
        got = graph.laplacian_eigenvectors
        vectors = expected(f"lap_eigvecs_{name}_signfixed", i)
        for value in wanted:
            same = (wanted - value).abs() < 1e-6
            assert_close(
                got[:, :n][:, same] @ got[:, :n][:, same].T, vectors[:, same] @ vectors[:, same].T
            )
