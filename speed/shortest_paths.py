"""Distances and the edges of paths, beside SciPy and the authors' way: ``speed.shortest_paths``.

``python -m speed.shortest_paths``, on one thread, with Cython and a C compiler installed:

1. molecules and larger graphs like them: distances and the edges of paths, by this package (as a
   user calls it, and the computation alone, from dense matrices), by the form that it has for GPUs,
   and by the way of Graphormer's authors (``floyd_warshall.pyx``); SciPy finds distances alone;
2. rings of 1,000 and 5,000 nodes: distances, by this package and by SciPy;
3. what rings hold in memory at their peak, above the process itself.

They take turns in one process, and their distances are compared. Times are of the processor, which
other work on the machine does not lengthen as much. A ratio is of medians.
"""

import multiprocessing
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from torch import Tensor
from torch_geometric.data import Data

from gtcourse import load_dataset
from gtcourse.encodings import AddPathEdges, AddShortestPaths, encode
from gtcourse.encodings import paths as forms
from gtcourse.encodings.transform import PAIRS_AT_ONCE
from gtcourse.graphs import collate
from gtcourse.graphs.io import require
from speed.measure import Step, in_turn, run

LONGEST = 20
KINDS = 4
AUTHORS = "the authors' way, in Cython"
ENCODE = "gtcourse"
ALONE = "gtcourse, computation alone"
PRODUCTS = "gtcourse, form for GPUs"
SCIPY = "SciPy, distances alone"
RINGS = (1000, 5000)
RING_ROUNDS = 3
"""At most: an encoding of the larger ring takes seconds."""


def compiled() -> ModuleType:
    """The module ``floyd_warshall.pyx``."""
    pyximport = require("pyximport", "cython")
    pyximport.install(build_dir=tempfile.mkdtemp(), setup_args={"include_dirs": np.get_include()})
    from speed import floyd_warshall

    return floyd_warshall


def like_a_molecule(n: int, seed: int) -> Data:
    """A random tree with short branches, a tenth as many edges more, and ``KINDS`` of edges."""
    random = np.random.default_rng(seed)
    child = np.arange(1, n)
    parent = np.array([random.integers(max(0, node - 6), node) for node in child])
    more = random.integers(0, n, (2, n // 10))
    ends = np.concatenate([np.stack([child, parent]), more[:, more[0] != more[1]]], axis=1)
    ends = np.unique(np.sort(ends, axis=0), axis=1)  # an edge once
    kind = random.integers(0, KINDS, ends.shape[1])
    both = np.concatenate([ends, ends[::-1]], axis=1)
    return Data(
        x=torch.zeros(n, 1, dtype=torch.int64),
        edge_index=torch.from_numpy(both.copy()),
        edge_attr=torch.from_numpy(np.concatenate([kind, kind]))[:, None],
    )


def ring(n: int) -> Data:
    i = torch.arange(n)
    following = (i + 1) % n
    edges = torch.stack([torch.cat([i, following]), torch.cat([following, i])])
    attributes = torch.ones(2 * n, 1, dtype=torch.int64)
    return Data(x=torch.zeros(n, 1, dtype=torch.int64), edge_index=edges, edge_attr=attributes)


def stacks(graphs: list[Data]) -> list[tuple[Tensor, Tensor]]:
    """Adjacency ``[B, n, n]`` and features ``[B, n, n, F]`` of graphs of one size each."""
    found = []
    for n in sorted({graph.num_nodes for graph in graphs}):
        same = [graph for graph in graphs if graph.num_nodes == n]
        portion = max(1, PAIRS_AT_ONCE // n**2)
        for start in range(0, len(same), portion):
            batch = collate(same[start : start + portion])
            found.append((batch.adjacency, batch.edge_attr.short()))
    return found


def scipy_distances(graphs: list[Data]) -> list[np.ndarray]:
    distances = []
    for graph in graphs:
        ones = np.ones(graph.num_edges)
        ends = tuple(graph.edge_index.numpy())
        matrix = csr_array((ones, ends), shape=(graph.num_nodes, graph.num_nodes))
        distances.append(shortest_path(matrix, unweighted=True))
    return distances


def paths_by(
    given: list[tuple[Tensor, Tensor]],
    distances: Callable[[Tensor], Tensor],
    tree: Callable[[Tensor, Tensor, Tensor], Tensor],
    edges: Callable[[Tensor, Tensor, Tensor, int], Tensor],
) -> Step:
    """One of the forms of :mod:`gtcourse.encodings.paths`, on stacks of graphs."""

    def step() -> None:
        for adjacency, edge_attr in given:
            distance = distances(adjacency)
            edges(tree(adjacency, edge_attr, distance), edge_attr, distance, LONGEST)

    return step


def authors(graphs: list[Data], module: ModuleType) -> Step:
    """As their data set does: as many places for edges as the longest path has."""
    dense = [collate([graph]) for graph in graphs]
    dense = [(each.adjacency[0].numpy(), each.edge_attr[0].numpy()) for each in dense]

    def step() -> list[np.ndarray]:
        distances = []
        for adjacency, edge_attr in dense:
            distance, middle = module.floyd_warshall(adjacency)
            module.path_edges(int(distance.max()), middle, edge_attr)
            distances.append(distance)
        return distances

    return step


def compare(graphs: list[Data], rounds: int, module: ModuleType) -> list[dict]:
    given = stacks(graphs)
    encodings = (AddShortestPaths(), AddPathEdges(LONGEST))
    steps = {
        AUTHORS: authors(graphs, module),
        SCIPY: lambda: scipy_distances(graphs),
        PRODUCTS: paths_by(
            given, forms.distances_by_products, forms.tree_by_scatter, forms.edges_by_index
        ),
        ENCODE: lambda: encode(graphs, *encodings),
        ALONE: paths_by(given, forms.shortest_paths, forms.path_tree, forms.path_edges),
    }
    results = zip(encode(graphs, encodings[0]), steps[AUTHORS](), steps[SCIPY](), strict=True)
    for graph, by_authors, by_scipy in results:
        assert (graph.distance.numpy() == np.where(by_authors == 510, -1, by_authors)).all()
        assert (graph.distance.numpy() == np.where(np.isinf(by_scipy), -1, by_scipy)).all()
    times = in_turn(steps, rounds, warm_up=1)
    return [
        {
            "method": name,
            **times[name],
            "graphs_per_second": round(1000 * len(graphs) / times[name]["ms"], 1),
            "times_the_authors": round(times[AUTHORS]["ms"] / times[name]["ms"], 1),
        }
        for name in steps
    ]


def compare_rings(n: int, rounds: int) -> list[dict]:
    graphs = [ring(n)]
    steps = {
        SCIPY: lambda: scipy_distances(graphs),
        ENCODE: lambda: encode(graphs, AddShortestPaths()),
    }
    assert (steps[ENCODE]()[0].distance.numpy() == steps[SCIPY]()[0]).all()
    times = in_turn(steps, rounds, warm_up=0)
    return [{"method": name, **times[name]} for name in steps]


def grown_mb(n: int, paths: bool) -> int:
    """What a process that encodes a ring holds at its peak, above what it held before."""
    graphs = [ring(n)]
    encode([ring(10)], AddShortestPaths(), AddPathEdges(1))  # what is imported at first use
    before = memory_mb("VmRSS")
    encode(graphs, *[AddShortestPaths(), AddPathEdges(LONGEST)][: 1 + paths])
    return memory_mb("VmHWM") - before


def memory_mb(name: str) -> int:
    """This process's memory as Linux counts it: "VmRSS" now, "VmHWM" at its peak."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(rf"{name}:\s*(\d+) kB", status)[1]) // 1024


def memory(n: int) -> dict:
    """Of distances alone, and with the edges of paths."""
    found = {}
    for name, paths in (("distances", False), ("distances and path edges", True)):
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            found[name] = pool.apply(grown_mb, (n, paths))
    return found


def measure(rounds: int, graphs: int) -> dict:
    module = compiled()
    subjects = {
        "molecules": load_dataset("molecules").train[:graphs],
        "100 nodes": [like_a_molecule(100, seed) for seed in range(10)],
        "500 nodes": [like_a_molecule(500, seed) for seed in range(2)],
    }
    return {
        "longest_path_kept": LONGEST,
        "rows": {name: compare(of, rounds, module) for name, of in subjects.items()},
        "rings": {n: compare_rings(n, min(rounds, RING_ROUNDS)) for n in RINGS},
        "peak_mb_of_rings": {n: memory(n) for n in RINGS},
    }


if __name__ == "__main__":
    run("shortest_paths", measure, rounds=7, graphs=500)
