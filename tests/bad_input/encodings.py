"""Transforms: what they cannot be asked for, and what they cannot read."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch_geometric.data import Batch, Data

from gtcourse.encodings import (
    AddAnchorDistances,
    AddDegrees,
    AddLaplacianEigenvectors,
    AddPathEdges,
    AddPathTree,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
    AddSVD,
    encode,
    encode_batch,
)
from gtcourse.graphs import collate
from tests.bad_input.case import Case
from tests.graphs.small import three_chains

NAN = float("nan")
CHAINS = three_chains().graphs
EDGES = torch.tensor([[0, 1], [1, 0]])


def call(function: Callable, *arguments, **named) -> Callable:
    return lambda folder: lambda: function(*arguments, **named)


def graph(**attributes) -> Data:
    return Data(**{"x": torch.zeros(2, 1).long(), "edge_index": EDGES} | attributes)


ARGUMENTS = [
    Case(f"{transform.__name__} of {name} = {value!r}", call(transform, **{name: value}), says)
    for transform, name, value, says in [
        (AddShortestPaths, "max_distance", 0, "max_distance is 0; expected a whole number, 1 or"),
        (AddShortestPaths, "max_distance", "far", "max_distance is 'far'; expected a whole number"),
        (AddPathEdges, "max_length", -1, "max_length is -1; expected a whole number, 1 or more"),
        (AddPathEdges, "max_length", None, "max_length is None; expected a whole number, 1 or"),
        (AddRandomWalks, "steps", 1.5, "steps is 1.5; expected a whole number, 1 or more"),
        (AddLaplacianEigenvectors, "k", NAN, "k is nan; expected a whole number, 1 or more"),
        (AddSVD, "rank", [8], "rank is [8]; expected a whole number, 1 or more"),
        (AddRings, "max_size", 2, "max_size is 2; expected a whole number, 3 or more"),
        (AddRings, "max_size", True, "max_size is True; expected a whole number, 3 or more"),
        (AddAnchorDistances, "num_sets", 0, "num_sets is 0; expected a whole number, 1 or more"),
    ]
] + [
    Case(
        "random walks of pairs = 'no'",
        call(AddRandomWalks, 4, pairs="no"),
        "pairs is 'no'; expected True or False",
    ),
    Case(
        "SVD with self_loops = 'no'",
        call(AddSVD, 4, self_loops="no"),
        "self_loops is 'no'; expected True or False",
    ),
    Case(
        "eigenvectors of an unknown Laplacian",
        call(AddLaplacianEigenvectors, 4, normalization="odd"),
        "normalization is 'odd'; expected one of combinatorial",
    ),
    Case(
        "eigenvectors of a Laplacian in a list",
        call(AddLaplacianEigenvectors, 4, normalization=["rw"]),
        "expected one of combinatorial",
    ),
    Case(
        "anchors of a negative seed",
        call(AddAnchorDistances, 4, seed=-1),
        "seed is -1; expected a whole number from 0 to",
    ),
]

GRAPHS = [
    Case(what, call(encode, graphs, transform), says)
    for what, graphs, transform, says in [
        ("a class for a transform", CHAINS, AddDegrees, "expected transforms after the graphs, s"),
        ("a name for a transform", CHAINS, "svd", "expected transforms after the graphs, such as"),
        ("a graph for a list", CHAINS[0], AddDegrees(), "expected a list of graphs, got one Data"),
        ("a number for a list", 7, AddDegrees(), "expected a list of graphs, got one int"),
        ("None among graphs", [None], AddDegrees(), "graph 0 is a NoneType; expected a PyG Data"),
        (
            "a batch of PyG's",
            [Batch.from_data_list(CHAINS)],
            AddDegrees(),
            "graph 0 is a DataBatch; expected a PyG Data",
        ),
        (
            "no edges at all",
            [graph(edge_index=None)],
            AddDegrees(),
            "graph 0 has no edge_index of shape [2, edges]; expected one",
        ),
        (
            "edges that are floats",
            [graph(edge_index=EDGES.float())],
            AddDegrees(),
            "graph 0 has edge_index of torch.float32; expected torch.int64",
        ),
        (
            "an edge to nowhere",
            [graph(), graph(edge_index=EDGES + 1)],
            AddDegrees(),
            "graph 1 has an edge (1, 2); expected nodes 0 to 1",
        ),
        (
            "a graph without nodes",
            [Data(edge_index=EDGES[:, :0], num_nodes=0)],
            AddDegrees(),
            "graph 0 has no nodes; expected at least one",
        ),
        (
            "two numbers of nodes",
            [graph(num_nodes=5)],
            AddDegrees(),
            "graph 0 has 5 nodes; expected 2, as rows of x",
        ),
        (
            "paths without edge features",
            [graph()],
            AddPathEdges(3),
            "graph 0 has edge_attr of shape none; expected a tensor [edges, features]",
        ),
        (
            "paths with an edge feature too few",
            [graph(edge_attr=torch.ones(1, 1))],
            AddPathTree(),
            "graph 0 has 1 rows of edge_attr; expected one for each of its 2 edges",
        ),
        (
            "paths with features that int16 cannot hold",
            [graph(edge_attr=torch.full((2, 1), 40_000))],
            AddPathEdges(3),
            "expected",
        ),
    ]
] + [
    Case(
        "rings of a padded batch",
        call(encode_batch, collate(CHAINS), AddRings(6)),
        "AddRings(max_size=6) is not computed for a whole batch; expected it to be stored with",
    ),
    Case(
        "paths of a padded batch without edge features",
        call(encode_batch, collate([graph()]), AddPathTree()),
        "the graphs have no edge_attr; expected it, for the edges of paths",
    ),
]

CASES = [*ARGUMENTS, *GRAPHS]
