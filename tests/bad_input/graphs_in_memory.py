"""Graphs in memory, and what batches, loaders and datasets are made of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch_geometric.data import Batch, Data

from gtcourse.graphs import DenseLoader, GraphDataset, collate, load_dataset, write_graphs
from gtcourse.graphs.batch import check_vocabulary
from tests.bad_input.case import Case
from tests.graphs.small import three_chains

NAN, INF = float("nan"), float("inf")


def spoil(name: str, value: object) -> Callable:
    return lambda graph: graph.update({name: value})


# Graph 1 of three_chains() is the one that is spoiled.
SPOILED = {
    "no nodes": (
        lambda g: g.update(
            {"x": g.x[:0], "edge_index": g.edge_index[:, :0], "edge_attr": g.edge_attr[:0]}
        ),
        "graph 1 has no nodes; expected at least one",
    ),
    "no x": (spoil("x", None), "graph 1 has x = None; expected a tensor"),
    "x a list": (spoil("x", [0, 0, 2]), "graph 1 has x = a list; expected a tensor"),
    "x in three dimensions": (
        spoil("x", torch.zeros(3, 1, 1).long()),
        "graph 1 has x of shape [3, 1, 1]; expected [nodes, features]",
    ),
    "x of another dtype": (
        spoil("x", torch.zeros(3, 1)),
        "graph 1 has x with the dtype torch.float32; expected torch.int64",
    ),
    "x of another width": (
        spoil("x", torch.zeros(3, 2).long()),
        "graph 1 has x with rows of shape [2]; expected [1]",
    ),
    "a negative category": (
        spoil("x", torch.tensor([[0], [-3], [2]])),
        "graph 1 has x[1, 0] = -3; expected a category, 0 or more",
    ),
    "an edge to a node that does not exist": (
        spoil("edge_index", torch.tensor([[0, 1, 1, 2], [1, 0, 3, 1]])),
        "graph 1 has an edge (1, 3); expected nodes 0 to 2",
    ),
    "edges of another dtype": (
        spoil("edge_index", torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]).int()),
        "graph 1 has edge_index of torch.int32; expected torch.int64",
    ),
    "edges in rows": (
        spoil("edge_index", torch.tensor([[0, 1], [1, 0], [1, 2], [2, 1]])),
        "graph 1 has edge_index of shape [4, 2]; expected [2, edges]",
    ),
    "an edge feature too few": (
        spoil("edge_attr", torch.ones(3, 1).long()),
        "graph 1 has 3 rows of edge_attr; expected one an edge, 4",
    ),
    "an infinite target": (
        spoil("y", torch.tensor([-INF])),
        "graph 1 has y[0] = -inf; expected a finite number",
    ),
    "edge features in a list": (
        spoil("edge_attr", [1, 1, 1, 1]),
        "graph 1 has edge_attr = a list; expected a tensor",
    ),
    "edge features in three dimensions": (
        spoil("edge_attr", torch.ones(4, 1, 1).long()),
        "graph 1 has edge_attr of shape [4, 1, 1]; expected [edges, features]",
    ),
    "no edge features where others have them": (
        spoil("edge_attr", None),
        "graph 1 has edge_attr = None; expected a tensor with a row axis",
    ),
    "edges that are floats": (
        spoil("edge_index", torch.tensor([[0.0, 1, 1, 2], [1, 0, 2, 1]])),
        "graph 1 has edge_index of torch.float32; expected torch.int64",
    ),
    "a target without an axis": (
        spoil("y", torch.tensor(1.0)),
        "graph 1 has y = a tensor of shape []; expected a tensor with a row axis",
    ),
    "no target where others have one": (
        spoil("y", None),
        "graph 1 has y = None; expected a tensor with a row axis",
    ),
    "two targets where others have one": (
        spoil("y", torch.zeros(1, 2)),
        "graph 1 has y with rows of shape [2]; expected []",
    ),
    "another number of nodes than rows of x": (
        spoil("num_nodes", 7),
        "graph 1 has num_nodes = 7; expected 3, the rows of x",
    ),
    "sparse features": (
        spoil("x", torch.tensor([[0], [0], [2]]).to_sparse()),
        "graph 1 has x as torch.sparse_coo; expected a dense tensor",
    ),
    "features on no device": (
        spoil("x", torch.zeros(3, 1, device="meta").long()),
        "graph 1 has x on meta; expected it on the CPU",
    ),
    "features without a column": (
        spoil("x", torch.zeros(3, 0).long()),
        "graph 1 has x of shape [3, 0]; expected [nodes, features]",
    ),
}

# The same fault in every graph.
ALL_SPOILED = {
    "true and false as features": (
        lambda g: g.update({"x": g.x.bool()}),
        "graph 0 has x of torch.bool; expected integers or floats",
    ),
    "complex features": (
        lambda g: g.update({"x": g.x + 0j}),
        "graph 0 has x of torch.complex64; expected integers or floats",
    ),
    "features of 64 unsigned bits": (
        lambda g: g.update({"x": g.x.to(torch.uint64)}),
        "graph 0 has x of torch.uint64; expected integers or floats",
    ),
    "NaN features": (
        lambda g: g.update({"x": torch.full(g.x.shape, NAN)}),
        "graph 0 has x[0, 0] = nan; expected a finite number",
    ),
    "distances of other graphs": (
        lambda g: g.update({"distance": torch.zeros(2, 2).long()}),
        "graph 1 has distance of shape [2, 2]; expected [3, 3]",
    ),
    "a NaN encoding": (
        lambda g: g.update({"svd": torch.full((g.num_nodes, 4), NAN)}),
        "graph 0 has svd[0, 0] = nan; expected a finite number",
    ),
    "an encoding that is a number": (
        lambda g: g.update({"ring": torch.tensor(1)}),
        "graph 0 has ring = a tensor of shape []; expected a tensor with 2 axes or more",
    ),
}


def entering(change: Callable, which: Sequence[int], enter: Callable) -> Callable:
    def make(folder: Path) -> Callable:
        dataset = three_chains()
        for index in which:
            change(dataset.graphs[index])
        return lambda: enter(dataset, folder)

    return make


def into_a_batch(dataset: GraphDataset, folder: Path) -> None:
    collate(dataset.graphs)


def into_a_file(dataset: GraphDataset, folder: Path) -> None:
    write_graphs(folder / "a.npz", dataset)


def call(function: Callable, *arguments, **named) -> Callable:
    return lambda folder: lambda: function(*arguments, **named)


CHAINS = three_chains().graphs
LABELLED = [Data(x=g.x, edge_index=g.edge_index, y=torch.zeros(5)) for g in CHAINS]


def dataset(**changes) -> GraphDataset:
    given = {"name": "chains", "source": "a test", "graphs": CHAINS, "split": [0, 1, 2]}
    return GraphDataset(**given | changes)


BATCHES = [
    Case("no graphs", call(collate, []), "expected at least one graph, got an empty list"),
    Case("a graph for a list", call(collate, CHAINS[0]), "expected a list of graphs, got one Data"),
    Case("a generator", call(collate, iter(CHAINS)), "expected a list of graphs, got one list_it"),
    Case("None among graphs", call(collate, [*CHAINS, None]), "graph 3 is a NoneType; expected a"),
    Case("a dictionary for a graph", call(collate, [{}]), "graph 0 is a dict; expected a PyG Data"),
    Case(
        "a batch of PyG's",
        call(collate, [Batch.from_data_list(CHAINS)]),
        "graph 0 is a DataBatch; expected a PyG Data",
    ),
    Case("too few places", call(collate, CHAINS, num_nodes=2), "graph 1 has 3 nodes; expected at "),
    Case(
        "no places", call(collate, CHAINS, num_nodes=0), "num_nodes is 0; expected a whole number"
    ),
    Case("places in words", call(collate, CHAINS, num_nodes="9"), "num_nodes is '9'; expected a "),
    Case(
        "half a place", call(collate, CHAINS, num_nodes=3.5), "num_nodes is 3.5; expected a whole"
    ),
    Case(
        "a target of pairs", call(collate, CHAINS, target="pair"), "target is 'pair'; expected 'gr"
    ),
    Case(
        "a target in a list", call(collate, CHAINS, target=["node"]), "target is ['node']; expecte"
    ),
    Case(
        "targets of nodes that are of graphs",
        call(collate, CHAINS, target="node"),
        "graph 0 has 1 targets y, 2 nodes and 2 edges; expected one target for each node",
    ),
    Case("targets of nothing", call(collate, LABELLED), "graph 0 has 5 targets y, 2 nodes and 2 "),
    Case(
        "a category beyond the vocabulary",
        call(collate, CHAINS, num_node_types=2),
        "graph 1 has x[2, 0] = 2; expected 0 to 1",
    ),
    Case(
        "a vocabulary of nothing",
        call(check_vocabulary, CHAINS, "x", 0),
        "the number of x's categories is 0; expected a whole number, 1 or more",
    ),
]

LOADERS = [
    Case(f"{name} {value!r}", call(DenseLoader, CHAINS, **{"batch_size": 2, name: value}), says)
    for name, value, says in [
        ("batch_size", 0, "batch_size is 0; expected a whole number, 1 or more"),
        ("batch_size", -1, "batch_size is -1; expected a whole number, 1 or more"),
        ("batch_size", 2.5, "batch_size is 2.5; expected a whole number, 1 or more"),
        ("batch_size", "8", "batch_size is '8'; expected a whole number, 1 or more"),
        ("batch_size", True, "batch_size is True; expected a whole number, 1 or more"),
        ("batch_size", NAN, "batch_size is nan; expected a whole number, 1 or more"),
        ("buckets", 0, "buckets is 0; expected a whole number, 1 or more"),
        ("seed", -1, "seed is -1; expected a whole number from 0 to 4294967295"),
        ("seed", 0.5, "seed is 0.5; expected a whole number from 0 to 4294967295"),
        ("seed", 2**64, "seed is 18446744073709551616; expected a whole number from 0 to"),
        ("shuffle", "no", "shuffle is 'no'; expected True or False"),
        ("device", "gpu", "device is 'gpu'; expected one that this machine has: cpu"),
        ("device", "cuda:99", "device is 'cuda:99'; expected one that this machine has: cpu"),
    ]
]

DATASETS = [
    Case(
        "a split too few", call(dataset, split=[0, 1]), "has 3 graphs and split of shape [2]; exp"
    ),
    Case("a fourth split", call(dataset, split=[0, 1, 3]), "graph 2 has split = 3; expected 0"),
    Case(
        "half a split", call(dataset, split=[0, 0.5, 1]), "has a split of torch.float32; expected"
    ),
    Case(
        "a split of truths", call(dataset, split=[True] * 3), "has a split of torch.bool; expected"
    ),
    Case(
        "an unknown target", call(dataset, target="pair"), "has the target 'pair'; expected 'graph"
    ),
    Case(
        "an unknown name", call(load_dataset, "zink"), "there is no dataset 'zink'; expected one of"
    ),
    Case("a number for a name", call(load_dataset, 5), "there is no dataset 5; expected one of"),
    Case(
        "no name", call(load_dataset, None), "there is no dataset None; expected one of molecules"
    ),
    Case(
        "a download of what is in the package",
        call(load_dataset, "molecules", "download"),
        "there is nothing to download for 'molecules'; expected one of",
    ),
    Case(
        "a publisher's folder that is empty",
        lambda folder: lambda: load_dataset("zinc", folder),
        "{folder} has no raw/train.pickle",
        FileNotFoundError,
    ),
    Case(
        "a file for the folder of data sets",
        lambda folder: (
            (folder / "root").touch(),
            lambda: load_dataset("csl", root=folder / "root"),
        )[1],
        "root is {folder}/root, a file; expected a folder for data sets",
    ),
    Case(
        "a split's name that is none",
        lambda folder: lambda: three_chains()["valid"],
        "'valid' is no split; expected an integer, train, val, test",
        KeyError,
    ),
]

CASES = [
    *(
        Case(what, entering(change, [1], into_a_batch), sentence)
        for what, (change, sentence) in SPOILED.items()
    ),
    *(
        Case(f"{what}, on the way to a file", entering(change, [1], into_a_file), sentence)
        for what, (change, sentence) in SPOILED.items()
    ),
    *(
        Case(what + " in all graphs", entering(change, [0, 1, 2], into_a_batch), sentence)
        for what, (change, sentence) in ALL_SPOILED.items()
    ),
    *BATCHES,
    *LOADERS,
    *DATASETS,
]
