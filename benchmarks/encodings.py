"""The encodings beside their obvious peers, in one run: ``python -m benchmarks.encodings``.

One thread. Every method computes for the same graphs: 12,000 molecules, then chains of molecules of
25, 100 and 400 atoms, once, to see how each grows. Methods take turns. A peer goes through the
graphs one at a time, as its documentation does.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles

import networkx as nx
import numpy as np
import torch
import torch_geometric.transforms as T
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path
from torch_geometric.data import Data

from benchmarks.report import command_line, provenance, store
from gtcourse import GraphDataset, load_dataset
from gtcourse.encodings import (
    AddAnchorDistances,
    AddDegrees,
    AddLaplacianEigenvectors,
    AddPathEdges,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
    AddSVD,
    Encoding,
    encode,
)
from gtcourse.encodings.structure import _cycles_of_block
from gtcourse.training.records import device_name

Method = Callable[[list[Data]], object]
SIZES = (25, 100, 400)
CHAINS = 20
ROUNDS = 3


def ours(transform: Encoding) -> Method:
    return lambda graphs: encode(graphs, transform)


def one_by_one(function: Callable[[Data], object]) -> Method:
    return lambda graphs: [function(graph) for graph in graphs]


def networkx_graph(data: Data) -> nx.Graph:
    graph = nx.empty_graph(data.num_nodes)
    graph.add_edges_from(data.edge_index.T.tolist())
    return graph


def networkx_distances(data: Data) -> dict:
    return dict(nx.all_pairs_shortest_path_length(networkx_graph(data)))


def networkx_path_edges(data: Data) -> dict:
    """The bond types along a shortest path, up to 20 of them, for each pair."""
    pairs = zip(data.edge_index.T.tolist(), data.edge_attr.tolist(), strict=True)
    bond = {(i, j): kind for (i, j), kind in pairs}
    return {
        (i, j): [bond[step] for step in [*pairwise(path)][:20]]
        for i, paths in nx.all_pairs_shortest_path(networkx_graph(data))
        for j, path in paths.items()
    }


def networkx_rings(data: Data) -> list:
    return [*nx.chordless_cycles(networkx_graph(data), length_bound=18)]


def dense(data: Data) -> np.ndarray:
    A = np.zeros((data.num_nodes, data.num_nodes))
    A[data.edge_index[0], data.edge_index[1]] = 1
    return A


def scipy_distances(data: Data) -> np.ndarray:
    ends = data.edge_index.numpy()
    shape = (data.num_nodes, data.num_nodes)
    matrix = csr_array((np.ones(ends.shape[1]), ends), shape=shape)
    return shortest_path(matrix, method="D", unweighted=True)


def numpy_walks(data: Data) -> list[np.ndarray]:
    A = dense(data)
    walk = A / np.maximum(A.sum(axis=1, keepdims=True), 1)
    powers = [walk]
    for _ in range(19):
        powers.append(powers[-1] @ walk)
    return powers


def numpy_eigenvectors(data: Data) -> np.ndarray:
    A = dense(data)
    scale = np.maximum(A.sum(axis=1), 1) ** -0.5
    L = np.eye(data.num_nodes) - scale[:, None] * A * scale
    return np.linalg.eigh(L)[1][:, 1:9]


def numpy_svd(data: Data) -> tuple:
    return np.linalg.svd(dense(data) + np.eye(data.num_nodes))


TASKS: dict[str, dict[str, Method]] = {
    "shortest paths": {
        "gtcourse": ours(AddShortestPaths()),
        "networkx": one_by_one(networkx_distances),
        "scipy": one_by_one(scipy_distances),
    },
    "path edges, 20": {
        "gtcourse": ours(AddPathEdges(20)),
        "networkx": one_by_one(networkx_path_edges),
    },
    "random walks of pairs, 20 steps": {
        "gtcourse": ours(AddRandomWalks(20)),
        "numpy": one_by_one(numpy_walks),
    },
    "random walks of nodes, 20 steps": {
        "gtcourse": ours(AddRandomWalks(20, pairs=False)),
        "PyG": one_by_one(T.AddRandomWalkPE(20)),
    },
    "Laplacian eigenvectors, k = 8": {
        "gtcourse": ours(AddLaplacianEigenvectors(8, "symmetric", skip_first=True)),
        "PyG": one_by_one(T.AddLaplacianEigenvectorPE(8, is_undirected=True)),
        "numpy": one_by_one(numpy_eigenvectors),
    },
    "SVD, rank 8": {"gtcourse": ours(AddSVD(8)), "numpy": one_by_one(numpy_svd)},
    "rings up to 18": {
        "gtcourse": ours(AddRings(18)),
        "networkx": one_by_one(networkx_rings),
    },
    "anchor distances, 8 sets": {"gtcourse": ours(AddAnchorDistances(8))},
    "degrees": {"gtcourse": ours(AddDegrees())},
}


def chain(molecules: list[Data], size: int) -> Data:
    """Molecules bonded in a row, cut off at ``size`` atoms."""
    edges, kinds, n = [], [], 0
    for molecule in molecules:
        if n >= size:
            break
        edges.append(molecule.edge_index + n)
        kinds.append(molecule.edge_attr)
        if n:
            edges.append(torch.tensor([[n - 1, n], [n, n - 1]]))
            kinds.append(torch.ones(2, 1).long())
        n += molecule.num_nodes
    ends, kind = torch.cat(edges, dim=1), torch.cat(kinds)
    inside = (ends < size).all(dim=0)
    return Data(x=torch.zeros(size, 1).long(), edge_index=ends[:, inside], edge_attr=kind[inside])


def seconds(method: Method, graphs: list[Data]) -> float:
    gc.collect()
    _cycles_of_block.cache_clear()  # or the chains would find the molecules' rings solved
    start = time.perf_counter()
    method(graphs)
    return time.perf_counter() - start


def in_turn(methods: dict[str, Method], graphs: list[Data], rounds: int) -> dict[str, list[float]]:
    """Seconds of each method, ``rounds`` times."""
    for method in methods.values():
        method(graphs[:20])  # imports and caches are not what is measured
    times = {name: [] for name in methods}
    for _ in range(rounds):
        for name, method in methods.items():
            times[name].append(seconds(method, graphs))
    return times


def measure(data: GraphDataset, rounds: int) -> dict:
    molecules = data.graphs
    chains = {n: [chain(molecules[20 * i :], n) for i in range(CHAINS)] for n in SIZES}
    results = []
    for task, methods in TASKS.items():
        for name, times in in_turn(methods, molecules, rounds).items():
            row = {
                "encoding": task,
                "method": name,
                "seconds": round(median(times), 2),
                "quartiles": [round(q, 2) for q in quantiles(times)[::2]],
            }
            growth = {n: seconds(methods[name], graphs) / CHAINS for n, graphs in chains.items()}
            row["ms_a_graph"] = {str(n): round(1000 * value, 3) for n, value in growth.items()}
            results.append(row)
            print(f"{task:34}{name:10}{row['seconds']:8.2f} s   {row['ms_a_graph']}", flush=True)
    return {
        "name": "encoding-benchmark",
        "data": data.provenance,
        "graphs": len(molecules),
        "rows": results,
        "rounds": rounds,
        "threads": 1,
    } | provenance("encodings", networkx=nx.__version__)


def main() -> None:
    parser = command_line(__doc__, ROUNDS)
    parser.add_argument("--zinc", type=Path, help="ZINC-12k as a graph file; else the molecules")
    args = parser.parse_args()
    torch.set_num_threads(1)
    data = load_dataset("zinc", source=args.zinc) if args.zinc else load_dataset("molecules")
    print(
        f"{len(data)} graphs, {data.source}; {device_name()}; then {CHAINS} chains a size, ms each"
    )
    content = measure(data, args.rounds)
    store(content, args.out)


if __name__ == "__main__":
    main()
