"""The methods of a benchmark compute the same thing; how fast is not a matter of tests."""

import numpy as np
import pytest
import torch

from benchmarks.encodings import TASKS
from gtcourse import load_dataset


@pytest.fixture(scope="module")
def molecules():
    return load_dataset("molecules").graphs[:12]


def results(task: str, graphs) -> dict:
    return {name: method(graphs) for name, method in TASKS[task].items()}


def test_distances_agree(molecules):
    found = results("shortest paths", molecules)
    for i, graph in enumerate(found["gtcourse"]):
        expected = graph.distance.numpy()
        np.testing.assert_array_equal(found["scipy"][i], expected)
        for start, lengths in found["networkx"][i].items():
            assert [lengths[j] for j in range(len(expected))] == expected[start].tolist()


def test_paths_agree_in_length_and_in_their_bonds_where_there_is_one(molecules):
    found = results("path edges, 20", molecules)
    distances = results("shortest paths", molecules)["gtcourse"]
    bonds = 0
    for graph, theirs, measured in zip(
        found["gtcourse"], found["networkx"], distances, strict=True
    ):
        for (i, j), path in theirs.items():
            assert len(path) == min(20, measured.distance[i, j])
            if len(path) == 1:
                assert graph.path_edges[i, j, 0].tolist() == path[0]
                bonds += 1
    assert bonds == sum(graph.edge_index.shape[1] for graph in molecules)


def test_walks_agree(molecules):
    pairs, nodes = (
        results(f"random walks of {what}, 20 steps", molecules) for what in ("pairs", "nodes")
    )
    for i in range(len(molecules)):
        powers = torch.from_numpy(np.stack(pairs["numpy"][i], axis=-1)).float()
        torch.testing.assert_close(pairs["gtcourse"][i].random_walks, powers)
        torch.testing.assert_close(nodes["gtcourse"][i].rwse, nodes["PyG"][i].random_walk_pe)


def test_eigenvectors_of_simple_eigenvalues_agree_but_for_the_sign(molecules):
    found = results("Laplacian eigenvectors, k = 8", molecules)
    compared = 0
    for ours, theirs, plain in zip(*found.values(), strict=True):
        values = ours.laplacian_eigenvalues
        for m in range(1, 7):
            if min(values[m] - values[m - 1], values[m + 1] - values[m]) > 1e-3:
                expected = ours.laplacian_eigenvectors[:, m].abs()
                got = theirs.laplacian_eigenvector_pe[:, m].abs()
                torch.testing.assert_close(got, expected, rtol=0, atol=1e-4)
                got = torch.from_numpy(plain[:, m]).float().abs()
                torch.testing.assert_close(got, expected, rtol=0, atol=1e-4)
                compared += 1
    assert compared > 40


def test_rings_agree(molecules):
    found = results("rings up to 18", molecules)
    for graph, rings in zip(found["gtcourse"], found["networkx"], strict=True):
        pairs = {(i, j) for ring in rings for i in ring for j in ring if i != j}
        assert {*map(tuple, graph.ring.nonzero().tolist())} == pairs


def test_singular_values_agree(molecules):
    found = results("SVD, rank 8", molecules)
    for graph, (_, singular, _) in zip(found["gtcourse"], found["numpy"], strict=True):
        half = graph.svd[:, :8].double()
        torch.testing.assert_close(
            (half**2).sum(dim=0), torch.from_numpy(singular[:8]), rtol=0, atol=1e-5
        )
