"""Malformed input: one table, and one test that each row raises one sentence and leaves no file."""

import bz2
import gzip
import io
import json
import pickle
import re
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, replace
from functools import cache, partial
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
import torch
from pandas import DataFrame
from safetensors.torch import save_file
from torch.optim.lr_scheduler import OneCycleLR
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform, Compose, ToUndirected

from gtcourse import budget, load_dataset
from gtcourse.course import explorer, plots
from gtcourse.course.blindness import from_graph6
from gtcourse.course.commands import main
from gtcourse.course.costs import measure
from gtcourse.course.leaderboard import line_to_beat
from gtcourse.course.records import recorded
from gtcourse.course.tasks import (
    build_cluster,
    build_cycles,
    build_pattern,
    build_tsp,
    pixel_graph,
)
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
    shortest_paths,
)
from gtcourse.encodings.prepare import prepare, process_pool
from gtcourse.encodings.spectral import laplacian, laplacian_eigenvectors
from gtcourse.encodings.transform import Pairs
from gtcourse.graphs import (
    MISSING_LABEL,
    DenseLoader,
    GraphBatch,
    GraphDataset,
    collate,
    open_graphs,
    read_graphs,
    unbatch,
    write_graphs,
)
from gtcourse.graphs.dataset import RaggedGraphs
from gtcourse.graphs.io import file_sha256, read_npz, write_arrays
from gtcourse.graphs.molecules import (
    describe,
    fingerprints,
    molecule_graph,
    ogb_data,
    ogb_molecule,
    penalized_logp,
    zinc_data,
)
from gtcourse.graphs.tables import fold_split, read_table
from gtcourse.interpret import (
    ablated,
    attention_by_hop,
    attention_by_kind,
    attention_entropy,
    attention_rollout,
    attention_times_gradient,
    between_nodes,
    gradient_times_input,
    head_similarity,
    leave_one_out,
    pair_kinds,
    probabilities,
    read_by_graph,
    token_mask,
)
from gtcourse.models import (
    CGT,
    EGT,
    GIN,
    GRPE,
    BagTransformer,
    BagTransformerConfig,
    CentralityEncoding,
    CGTConfig,
    ChromaticSelfAttention,
    CSALayer,
    EdgeEncoding,
    EGTAttention,
    EGTConfig,
    GATConfig,
    GINConfig,
    Graphormer,
    GraphormerConfig,
    GraphormerLayer,
    GRPEConfig,
    GRPELayer,
    LaplacianEncoding,
    MultiHeadAttention,
    NodeBatchNorm,
    SignNet,
    SpatialEncoding,
    SVDEncoding,
    Transformer,
    TransformerConfig,
    TransformerEncoder,
    WalkEncoding,
)
from gtcourse.models.attention import complete_edge_index, scaled_dot_product_attention
from gtcourse.models.categories import CategoryEmbedding
from gtcourse.models.graphormer import PairBias
from gtcourse.models.mlp import mlp
from gtcourse.predict import (
    Ensemble,
    export,
    fine_tuned,
    load,
    load_ensemble,
    save_onnx,
    tensors_of,
)
from gtcourse.recipes import get_recipe
from gtcourse.recipes.adapt import own_data, own_recipe, read_csv, recipe_for, scaffold_split
from gtcourse.runs.record import Record, read_record, read_results, read_weights, write_weights
from gtcourse.runs.run import FINGERPRINTS, at_budget, claim, data_for, train
from gtcourse.train import tasks
from gtcourse.train.costs import step_costs
from gtcourse.train.flag import Flag
from gtcourse.train.loop import evaluate, fit
from gtcourse.train.schedules import warmup_then_linear
from tests.graphs.small import three_chains
from tests.train.small_run import run, small_model
from tests.train.tiny_data import tiny, tiny_zinc_file

NAN = float("nan")
INF = float("inf")
CHAINS = three_chains().graphs
RECIPE = get_recipe("gin-100k/zinc")
EXPECTED = re.compile(r"\b([Ee]xpect(ed|s)|install|valid graph file|RDKit can read)\b")
OF_TYPER = ("Invalid value for", "Missing ", "No such ")

Make = Callable[[Path], Callable[[], object]]
"""Prepares files in an empty folder and returns the call that has to raise."""


def call(function: Callable, *arguments, **named) -> Make:
    return lambda folder: partial(function, *arguments, **named)


class Payload:
    """Unpickled, it creates the file ``marker``."""

    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self):
        return (Path.touch, (self.marker,))


# Arrays of a graph file. The file of three_chains(): nodes 0 1 | 0 0 2 | 0, edges 2 + 4 + 0.


def put(values: np.ndarray, place: object, value: float) -> np.ndarray:
    values = values.copy()
    values[place] = value
    return values


def without(arrays: dict, *names: str) -> dict:
    return {name: values for name, values in arrays.items() if name not in names}


def bare(arrays: dict) -> dict:
    """Without vocabularies: features are numbers, not types."""
    return without(arrays, "node_vocabulary", "edge_vocabulary")


def changed(change: Callable[[dict], dict]) -> Make:
    def make(folder: Path) -> Callable:
        path = folder / "chains.npz"
        write_graphs(path, three_chains())
        np.savez(path, **change(read_npz(path)))
        return lambda: read_graphs(path)

    return make


ARRAYS = [
    (f"a graph file: {what}", changed(change), "chains.npz is not a valid graph file: " + says)
    for what, change, says in [
        ("no nodes", lambda a: a | {"num_nodes": np.array([2, 4, 0])}, "graph 2 has x without row"),
        (
            "negative edges",
            lambda a: a | {"num_edges": np.array([2, 5, -1])},
            "num_edges has the value -1; expected 0 or more.",
        ),
        (
            "counts that are floats",
            lambda a: a | {"num_nodes": np.array([2.5, 2.5, 1.0])},
            "num_nodes is torch.float32 [3]; expected whole numbers, one for each graph.",
        ),
        ("counts that do not add up", lambda a: bare(a) | {"num_edges": np.array([2, 4, 2])}, ""),
        (
            "an edge to a node that does not exist",
            lambda a: a | {"edge_index": put(a["edge_index"], (1, 3), 3)},
            "graph 1 has edge_index with values from 0 to 3; expected 0 to 2",
        ),
        (
            "an unsigned node that wraps round",
            lambda a: a | {"edge_index": put(a["edge_index"].astype("u8"), (0, 0), 2**64 - 1)},
            "edge_index has the value 18446744073709551615; expected at most 9223372036854775807.",
        ),
        (
            "an unknown atom type",
            lambda a: a | {"x": put(a["x"], (4, 0), 28)},
            "graph 1 has 28 in x; expected categories from 0 to 27",
        ),
        (
            "an edge feature too few",
            lambda a: a | {"edge_attr": a["edge_attr"][1:]},
            "edge_attr has 5 rows; expected one for each of 3 graphs, 6 edges, 6 nodes",
        ),
        (
            "a feature beyond float32",
            lambda a: bare(a) | {"x": put(a["x"].astype(float), (2, 0), 1e300)},
            "graph 1 has x with NaN or infinity; expected finite numbers",
        ),
        (
            "complex features",
            lambda a: bare(a) | {"x": a["x"].astype(complex)},
            "x is complex128; expected integers or floats",
        ),
        ("a target too many", lambda a: a | {"y": np.zeros(4)}, "y has 4 rows; expected one for e"),
        (
            "a fourth split",
            lambda a: a | {"split": np.array([0, 1, 3])},
            "dataset 'chains' has 3 graphs and a split of shape [3] and type torch.",
        ),
        (
            "targets that are words",
            lambda a: a | {"y": np.array(["low", "high", "low"])},
            "y is <U4; expected integers or floats.",
        ),
        (
            "edges in rows",
            lambda a: a | {"edge_index": a["edge_index"].T},
            "edge_index has shape [6, 2]; expected [2, 6], the sum of num_edges.",
        ),
        (
            "sizes in a table",
            lambda a: a | {"num_nodes": a["num_nodes"][:, None]},
            "num_nodes is torch.int64 [3, 1]; expected whole numbers, one for each graph.",
        ),
        ("no split", lambda a: without(a, "split"), "there is no array split; expected num_nodes,"),
        (
            "a SMILES too few",
            lambda a: a | {"smiles_utf8": np.frombuffer(b"CO\nCC", dtype=np.uint8)},
            "smiles has 2 rows; expected one for each of 3 graphs",
        ),
        (
            "SMILES that are no text",
            lambda a: a | {"smiles_utf8": np.array([255, 10, 10], dtype=np.uint8)},
            "smiles_utf8 is not UTF-8; expected the bytes of one SMILES a line.",
        ),
        (
            "nodes that are floats",
            lambda a: a | {"edge_index": a["edge_index"] + 0.5},
            "edge_index holds floats; expected the numbers of nodes, as integers.",
        ),
        (
            "a target that is 0 in single precision",
            lambda a: a | {"y": np.array([0.0, 1e-60, 1.0])},
            "y has the value 1e-60, which is 0 in single precision; expected 0, or larger ",
        ),
        (
            "two arrays of node features",
            lambda a: a | {"atom_type": a["x"]},
            "it has both atom_type and x; expected one of the two.",
        ),
        (
            "a mask for a split",
            lambda a: a | {"split": np.array([True, True, False])},
            "split is bool; expected integers or floats.",
        ),
        (
            "the name of an array that is missing",
            lambda a: a | {"node_attributes": np.array(["x", "position"])},
            "node_attributes names position, which is no array; expected one.",
        ),
        (
            "edge features among those of nodes",
            lambda a: (
                a
                | {
                    "node_attributes": np.array(["edge_attr"]),
                    "edge_attributes": np.array([], dtype=str),
                }
            ),
            "node_attributes names edge_attr; expected it in edge_attributes.",
        ),
        (
            "distances among the attributes of nodes",
            lambda a: a | {"distance": np.zeros(6, int), "node_attributes": np.array(["distance"])},
            "node_attributes names distance; expected no encoding of pairs in a graph file.",
        ),
        (
            "one name for graphs and for nodes",
            lambda a: (
                a
                | {"extra": np.zeros(6, int)}
                | {f"{level}_attributes": np.array(["extra"]) for level in ("graph", "node")}
            ),
            "graph_attributes and node_attributes both name extra; expected it in one of them.",
        ),
        (
            "a name in a list",
            lambda a: a | {"name": np.array(["a", "b"])},
            "name is array(['a', 'b'], dtype='<U1'); expected a text.",
        ),
        (
            "a vocabulary that is one word",
            lambda a: a | {"node_vocabulary": np.array("C")},
            "node_vocabulary has shape []; expected a list of words.",
        ),
        (
            "a target of unknown level",
            lambda a: a | {"target": np.array("pair")},
            "target is 'pair'; expected 'graph', 'node' or 'edge'",
        ),
    ]
]


# Files that are no graph files, or that were made to do harm.


def written(write: Callable[[Path], object]) -> Make:
    def make(folder: Path) -> Callable:
        write(folder / "graphs.npz")
        return lambda: read_graphs(folder / "graphs.npz")

    return make


def archive(name: str, content: bytes) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        with zipfile.ZipFile(path, "w") as file:
            file.writestr(name, content)

    return write


def cut(path: Path) -> None:
    write_graphs(path, three_chains())
    path.write_bytes(path.read_bytes()[:-400])


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def last_bit(path: Path) -> None:
    """Of the tensors, which follow the names and the record."""
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def flipped_graphs(path: Path) -> None:
    write_graphs(path, three_chains())
    content = bytearray(path.read_bytes())
    content[content.find(b"edge_index.npy") + 200] ^= 1  # in the numbers of an array
    path.write_bytes(content)


def two_of_one_name(path: Path) -> None:
    """Two members with the node features, of which NumPy would read the second."""
    write_graphs(path, three_chains())
    content = io.BytesIO()
    np.save(content, np.ones((6, 1)))
    with zipfile.ZipFile(path, "a") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        file.writestr("x.npy", content.getvalue())


def object_array(path: Path) -> None:
    np.savez(path, num_nodes=np.array([Payload(path.parent / "executed")], dtype=object))


HUGE = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000000000,), }".ljust(117) + b"\n"
FILES = [
    (f"a file: {what}", written(write), "{folder}/graphs.npz cannot be read (" + says)
    for what, write, says in [
        ("two arrays of one name", two_of_one_name, "it has two members of one name); expected an"),
        ("text", lambda path: path.write_bytes(b"no archive"), "it is not a zip archive, or only "),
        ("nothing", lambda path: path.write_bytes(b""), "it is not a zip archive, or only "),
        ("without its end", cut, "it is not a zip archive, or only the beginning of one"),
        ("one bit less", flipped_graphs, ""),
        ("pickled objects", object_array, "Object arrays cannot be loaded when allow_pickle=False"),
        ("another member", archive("readme.txt", b"hello"), "it has members that are not arrays"),
        ("no array", archive("x.npy", b"hello"), ""),
        ("80 gigabytes by its header", archive("x.npy", b"\x93NUMPY\x01\x00v\x00" + HUGE), ""),
    ]
] + [
    (
        "a file that is not there",
        lambda folder: lambda: load_dataset("zinc", folder / "lost.npz"),
        "there is no file {folder}/lost.npz; expected an .npz graph file",
        FileNotFoundError,
    ),
    (
        "a folder for a file",
        lambda folder: lambda: read_graphs(folder),
        "{folder} is a folder; expected",
    ),
]


# Graphs in memory: graph 1 of three_chains() is changed on its way to a batch or a file.


def spoiled(which: tuple[int, ...], enter: Callable, **changes) -> Make:
    def make(folder: Path) -> Callable:
        dataset = three_chains()
        for index in which:
            for name, value in changes.items():
                graph = dataset.graphs[index]
                graph[name] = value(graph) if callable(value) else value
        return lambda: enter(dataset, folder)

    return make


def into_a_batch(dataset: GraphDataset, folder: Path) -> None:
    collate(dataset.graphs)


def into_a_file(dataset: GraphDataset, folder: Path) -> None:
    write_graphs(folder / "a.npz", dataset)


def edge_twice(**changes) -> list[Data]:
    """Two graphs; the second has the edges 0 → 1, 1 → 0 and 0 → 1 again."""
    edge_index = torch.tensor([[0, 1, 0], [1, 0, 1]])
    fields = {"edge_attr": torch.tensor([[1], [2], [1]]), "y": torch.tensor([0.5, 1.0, 0.5])}
    one = Data(x=zeros(2, 1), edge_index=edge_index, **fields)
    return [one, Data(x=zeros(2, 1), edge_index=edge_index, **(fields | changes))]


def to_a_file(graphs: list[Data]) -> Make:
    dataset = GraphDataset("a", "b", graphs, [0, 1], target="edge")
    return lambda folder: partial(write_graphs, folder / "a.npz", dataset)


def to_a_folder(graphs: list[Data]) -> Make:
    dataset = GraphDataset("a", "b", graphs, [0, 1], target="edge")
    return lambda folder: partial(prepare, dataset, folder / "new", progress=False)


def untargeted() -> GraphDataset:
    dataset = three_chains()
    for graph in dataset.graphs:
        del graph.y
    return dataset


def zeros(*shape: int) -> torch.Tensor:
    return torch.zeros(*shape, dtype=torch.int64)


ONE = [
    (
        "no nodes",
        {"x": zeros(0, 1), "edge_index": zeros(2, 0), "edge_attr": zeros(0, 1)},
        "has x without rows; expected at least one node",
    ),
    ("no x", {"x": None}, "has x = NoneType; expected a dense tensor on the CPU"),
    ("x a list", {"x": [0, 0, 2]}, "has x = list; expected a dense tensor on the CPU"),
    (
        "another dtype",
        {"x": torch.zeros(3, 1)},
        "has x of torch.float32 [3, 1]; expected torch.int64 [3, 1], as in graph 0",
    ),
    ("another width", {"x": zeros(3, 2)}, "has x of torch.int64 [3, 2]; expected torch.int64 [3,"),
    (
        "a negative category",
        {"x": torch.tensor([[0], [-3], [2]])},
        "has x with the value -3; expected categories, 0 or more",
    ),
    ("sparse features", {"x": lambda g: g.x.to_sparse()}, "has x = torch.sparse.LongTensor; expec"),
    (
        "an edge to a node that does not exist",
        {"edge_index": torch.tensor([[0, 1, 1, 2], [1, 0, 3, 1]])},
        "has edge_index with values from 0 to 3; expected 0 to 2",
    ),
    ("edges in rows", {"edge_index": zeros(4, 2)}, "has edge_index of torch.int64 [4, 2]; expecte"),
    ("edges that are floats", {"edge_index": torch.zeros(2, 4)}, "has edge_index of torch.float32"),
    ("an edge feature too few", {"edge_attr": zeros(3, 1)}, "has edge_attr of torch.int64 [3, 1];"),
    ("no edge features", {"edge_attr": None}, "has edge_attr = NoneType; expected"),
    ("an infinite target", {"y": torch.tensor([-INF])}, "has y with NaN or infinity; expected fin"),
    ("no target", {"y": None}, "has y = NoneType; expected"),
    (
        "features in three axes",
        {"x": zeros(3, 1, 2)},
        "has x of shape [3, 1, 2]; expected a row of",
    ),
    (
        "no column of features",
        {"x": zeros(3, 0)},
        "has x of shape [3, 0]; expected a row of one or",
    ),
    ("two sizes", {"num_nodes": 7}, "has x of torch.int64 [3, 1]; expected torch.int64 [7, 1]"),
]
ALL = [
    ("true and false", {"x": lambda g: g.x.bool()}, "graph 0 has x of torch.bool; expected"),
    ("NaN", {"x": lambda g: g.x + NAN}, "graph 0 has x with NaN or infinity; expected finite"),
    ("others' distances", {"distance": zeros(2, 2)}, "graph 1 has distance of torch.int64 [2, 2];"),
    (
        "distances that are floats",
        {"distance": lambda g: torch.zeros(g.num_nodes, g.num_nodes)},
        "graph 0 has distance of torch.float32; expected integers.",
    ),
    (
        "a degree below 0",
        {"in_degree": lambda g: torch.full((g.num_nodes,), -1)},
        "graph 0 has in_degree with the value -1; expected 0 or more.",
    ),
    (
        "degrees that are true or false",
        {"in_degree": lambda g: torch.ones(g.num_nodes).bool()},
        "graph 0 has in_degree of torch.bool; expected integers.",
    ),
    (
        "distances that are true or false",
        {"distance": lambda g: torch.ones(g.num_nodes, g.num_nodes).bool()},
        "graph 0 has distance of torch.bool; expected integers.",
    ),
    (
        "sizes of rings",
        {"ring": lambda g: torch.full((g.num_nodes, g.num_nodes), 6)},
        "graph 0 has ring with the value 6; expected True where two nodes share a ring, or 1.",
    ),
    ("a NaN encoding", {"svd": lambda g: torch.full((g.num_nodes, 4), NAN)}, "graph 0 has svd wit"),
]
TYPES = {1: torch.float32, 2: torch.float32, 3: torch.float64}
"""Of the graphs of three_chains(), by their nodes."""


def rows_of_nodes(graph: Data) -> torch.Tensor:
    return torch.ones(graph.num_nodes, 4)


def rows_of_pairs(graph: Data) -> torch.Tensor:
    return torch.ones(graph.num_nodes, graph.num_nodes, 2)


GRAPHS = [
    *((f"a graph: {w}", spoiled((1,), into_a_batch, **c), f"graph 1 {says}") for w, c, says in ONE),
    (
        "a list to write",
        lambda f: partial(write_graphs, f / "a.npz", CHAINS),
        "dataset is of type l",
    ),
    (
        "a folder to write to",
        lambda folder: partial(write_graphs, folder, three_chains()),
        "{folder} is a folder; expected the name of a file.",
    ),
    (
        "graphs to write without targets",
        lambda folder: partial(into_a_file, untargeted(), folder),
        "the graphs have no targets y; expected one for each",
    ),
    (
        "a target to write beyond float32",
        spoiled((0, 1, 2), into_a_file, y=torch.tensor([1e40], dtype=torch.float64)),
        "y holds 1e+40; expected numbers within the range of float32, 3.4e+38.",
    ),
    (
        "writing a dtype that NumPy does not have",
        spoiled((0, 1, 2), into_a_file, noise=lambda g: torch.zeros(g.num_nodes, 2).bfloat16()),
        "noise is torch.bfloat16; expected torch.float32 to be stored.",
    ),
    (
        "two lines of SMILES to write",
        spoiled((0, 1, 2), into_a_file, smiles="C\nC"),
        "graph 0 has smiles 'C\\nC'; expected a string of one line.",
    ),
    (
        "an attribute to write with the name of a file's",
        spoiled((0, 1, 2), into_a_file, target=torch.zeros(1)),
        "graph 0 has an attribute 'target', a name that is reserved in graph files; expected",
    ),
    ("a graph to write", spoiled((1,), into_a_file, x=None), "graph 1 has x = NoneType; expected"),
    (
        "pairs to write",
        spoiled((0, 1, 2), into_a_file, distance=lambda g: (g.x - g.x.T).abs()),
        "graph 0 has distance of shape [2, 2]; expected one",
    ),
    *((f"all graphs: {w}", spoiled((0, 1, 2), into_a_batch, **c), says) for w, c, says in ALL),
    *(
        (f"some graphs: {what}", spoiled(which, enter, mine=values), says)
        for what, which, enter, values, says in [
            (
                "a custom encoding that graph 1 lacks",
                (0, 2),
                into_a_batch,
                rows_of_nodes,
                "graph 1 has no 'mine', which graph 0 has; expected it in all graphs or in none.",
            ),
            (
                "a custom encoding that only the last graph has",
                (2,),
                into_a_batch,
                rows_of_nodes,
                "graph 0 has no 'mine', which graph 2 has; expected it in all graphs or in none.",
            ),
            (
                "a custom pair encoding",
                (0, 1),
                into_a_batch,
                rows_of_pairs,
                "graph 2 has no 'mine', which graph 0 has; expected it in all graphs or in none.",
            ),
            (
                "writing a custom encoding",
                (0,),
                into_a_file,
                rows_of_nodes,
                "graph 1 has no 'mine', which graph 0 has; expected it in all graphs or in none.",
            ),
            (
                "a weight for each edge, on its way to a file",
                (1,),
                into_a_file,
                lambda g: torch.zeros(g.num_edges),
                "graph 0 has no 'mine', which graph 1 has; expected it in all graphs or in none.",
            ),
            (
                "a custom encoding of different widths",
                (0, 1, 2),
                into_a_batch,
                lambda g: torch.zeros(g.num_nodes, 1 + g.num_edges),
                "graph 1 has mine of torch.float32 [3, 5]; expected torch.float32 [3, 3], as in",
            ),
            (
                "a custom encoding of different dtypes",
                (0, 1, 2),
                into_a_batch,
                lambda g: torch.zeros(g.num_nodes, 2, dtype=TYPES[g.num_nodes]),
                "graph 1 has mine of torch.float64 [3, 2]; expected torch.float32 [3, 2], as in",
            ),
            (
                "a sparse custom encoding",
                (0, 1, 2),
                into_a_batch,
                lambda g: torch.zeros(g.num_nodes, 2).to_sparse(),
                "graph 0 has mine = torch.sparse.FloatTensor; expected a dense tensor.",
            ),
        ]
    ),
    *(
        (f"an edge given twice with other {name}: {where}", enter, says)
        for name, values, says in [
            (
                "edge_attr",
                torch.tensor([[1], [2], [3]]),
                "graph 1 has the edge from 0 to 1 twice, with the features [1] and [3]; expected",
            ),
            (
                "y",
                torch.tensor([0.5, NAN, NAN]),
                "graph 1 has the edge from 0 to 1 twice, with the targets 0.5 and nan; expected",
            ),
        ]
        for where, enter in [
            ("a batch", call(collate, edge_twice(**{name: values}), target="edge")),
            ("a file", to_a_file(edge_twice(**{name: values}))),
            ("a folder", to_a_folder(edge_twice(**{name: values}))),
        ]
    ),
    *(
        (f"{name} for a list of graphs", call(collate, given), f"got {says}.")
        for name, given, says in [
            ("a generator", (graph for graph in CHAINS), "an object of type generator"),
            ("None", None, "an object of type NoneType"),
            ("an array", np.array([*CHAINS[:2], None], dtype=object), "an object of type ndarray"),
        ]
    ),
    (
        "node numbers of 32 bits",
        spoiled((0, 1, 2), into_a_batch, edge_index=lambda g: g.edge_index.int()),
        "graph 0 has edge_index of torch.int32 [2, 2]; expected torch.int64 [2, 2].",
    ),
    (
        "a target without an axis",
        spoiled((0, 1, 2), into_a_batch, y=torch.tensor(1.0)),
        "graph 0 has y of torch.float32 []; expected torch.float32 [1].",
    ),
    (
        "SMILES for graphs of a data set",
        call(GraphDataset, "a", "b", [*CHAINS, "CCO"], [0, 1, 2, 2]),
        "dataset 'a': graph 3 is of type str; expected a PyG Data.",
    ),
]


# Batches, loaders, data sets and transforms.

EDGES = torch.tensor([[0, 1], [1, 0]])


def floats_in_prepared_folder(folder: Path) -> Callable:
    prepare(three_chains(), folder)
    values = np.load(folder / "x.npy")
    np.save(folder / "x.npy", values + 0.5)
    return lambda: open_graphs(folder)


def prepared_folder(content: str, enter: Callable[[Path], object] = open_graphs) -> Make:
    def make(folder: Path) -> Callable:
        (folder / "graphs.json").write_text(content)
        return lambda: enter(folder)

    return make


def chain(length: int) -> Data:
    """A path of so many edges, in both directions."""
    node = torch.arange(length)
    ends = torch.stack([node, node + 1])
    edge_index = torch.cat([ends, ends.flip(0)], dim=1)
    return Data(x=zeros(length + 1, 1), edge_index=edge_index, edge_attr=zeros(2 * length, 1))


def replaced_atom(category: int) -> Data:
    """A path of two bonds, whose first atom has this category."""
    graph = chain(2)
    graph.x[0] = category
    return graph


def small_models() -> list[torch.nn.Module]:
    """One of each way in which a model reads its batch first."""
    sizes = {"d_model": 8, "num_heads": 2, "num_layers": 1}
    csa = CGTConfig(**sizes, node_steps=2, d_position=2, relative_steps=2)
    return [
        Graphormer(GraphormerConfig(**sizes)),
        EGT(EGTConfig(**sizes, d_edge=4)),
        GRPE(GRPEConfig(**sizes)),
        CGT(csa),
        BagTransformer(BagTransformerConfig(num_node_types=(28,), **sizes)),
    ]


def small_transformer() -> torch.nn.Module:
    return Transformer(TransformerConfig(7, 5, d_model=8, num_heads=2, d_hidden=8))


def on_paths(*transforms: BaseTransform) -> Make:
    """Graphormer, which reads three edges of a path, on a chain of two edges and one of four."""
    config = GraphormerConfig(d_model=8, num_heads=2, num_layers=1, max_path_length=3)

    def predicted() -> torch.Tensor:
        return Graphormer(config)(collate(encode([chain(2), chain(4)], AddDegrees(), *transforms)))

    return lambda folder: predicted


def encoded_twice(before: BaseTransform, after: BaseTransform) -> Make:
    """Two calls, on a graph of one edge and a chain of four."""

    def enter() -> None:
        encode(encode([chain(1), chain(4)], before), after)

    return lambda folder: enter


def batch_encoded_twice(before: BaseTransform, after: BaseTransform) -> Make:
    batch = collate([chain(1), chain(4)])
    return lambda folder: lambda: encode_batch(encode_batch(batch, before), after)


def distance_loss(transform: AddShortestPaths) -> torch.Tensor:
    """Of EGT, which predicts distances to 3, on a chain of five edges."""
    model = EGT(EGTConfig(d_model=8, d_edge=4, num_heads=2, num_layers=1, distance_hops=3))
    batch = replace(collate(encode([chain(5)], transform)), y=torch.zeros(1))
    task = tasks.with_distances(tasks.graph_regression(), 3, 0.1)
    return task.loss(model(batch, return_distances=True), batch)


PAIR = Data(x=zeros(2, 1), edge_index=EDGES)
BATCHES = [
    (
        "categories that are floats in a prepared folder",
        floats_in_prepared_folder,
        "x.npy is missing or damaged (it holds float64, not int64); expected what `gtcourse prepar",
    ),
    ("a damaged list of arrays", prepared_folder('{"columns": 3}'), "graphs.json is missing or"),
    ("no graphs", call(collate, []), "expected a list of at least one graph, got []"),
    ("a graph for a list", call(collate, CHAINS[0]), "expected a list of at least one graph, got"),
    ("None among graphs", call(collate, [*CHAINS, None]), "graph 3 is of type NoneType; expected"),
    (
        "a list of batches",
        call(collate, [Batch.from_data_list(CHAINS)]),
        "graph 0 is of type DataBatch",
    ),
    (
        "too little padding for the largest graph",
        call(collate, CHAINS, num_nodes=2),
        "graph 1 has 3 nodes; expected at most",
    ),
    (
        "a fractional padded size",
        call(collate, CHAINS, num_nodes=5.5),
        "num_nodes is 5.5; expected a whole",
    ),
    (
        "another target than the data set's",
        call(collate, three_chains(), target="node"),
        "y has [1, 1, 1] rows in the first graphs; expected one for each node.",
    ),
    (
        "another target than that of graphs end to end",
        call(collate, RaggedGraphs.from_data(CHAINS, "graph"), target="node"),
        "target is 'node', but the targets y of these graphs belong to each graph; expecte",
    ),
    (
        "a mask of numbers",
        lambda folder: lambda: replace(collate(CHAINS), mask=collate(CHAINS).mask.float()),
        "mask is torch.float32 [3, 3]; expected a bool tensor [B, N].",
    ),
    (
        "an adjacency of numbers",
        lambda folder: lambda: replace(collate(CHAINS), adjacency=zeros(3, 3, 3)),
        "adjacency is torch.int64 [3, 3, 3]; expected a bool tensor [B, N, N].",
    ),
    (
        "a device that does not exist",
        call(DenseLoader, CHAINS, 2, device="gpu"),
        "device is 'gpu', which cannot be used here (",
    ),
    (
        "text for a function",
        call(DenseLoader, CHAINS, 2, then="encode"),
        "then is 'encode'; expecte",
    ),
    (
        "a function of two batches",
        call(DenseLoader, CHAINS, 2, then=lambda batch, other: batch),
        "which takes other arguments (missing a required argument: 'other'); expected a function o",
    ),
    (
        "a function that returns nothing",
        lambda folder: lambda: list(DenseLoader(CHAINS, 2, then=lambda batch: None)),
        "then returned None; expected a GraphBatch.",
    ),
    (
        "words for a split",
        call(GraphDataset, "a", "b", CHAINS, ["train", "val", "test"]),
        "a split t",
    ),
    (
        "a mask for a split",
        call(GraphDataset, "a", "b", CHAINS, [True, False, True]),
        "a split of sh",
    ),
    (
        "no list of graphs",
        call(GraphDataset, "a", "b", iter(CHAINS), [0, 1, 2]),
        "graphs of type lis",
    ),
    (
        "a data set of pairs",
        call(GraphDataset, "a", "b", CHAINS, [0, 1, 2], target="pair"),
        "target is 'pair'; expected",
    ),
    (
        "two and a half graphs",
        lambda folder: lambda: three_chains().first(2.5),
        "is 2.5; expected a wh",
    ),
    (
        "a truth value for a number",
        call(AddLaplacianEigenvectors, True),
        "k is True; expected a whole",
    ),
    (
        "distances of numbers",
        call(shortest_paths, torch.ones(1, 2, 2)),
        "adjacency is torch.float32 [1, 2, 2]; expected a bool tensor [B, n, n]",
    ),
    ("a target of pairs", call(collate, CHAINS, target="pair"), "target is 'pair'; expected"),
    (
        "node targets in place of graph targets",
        call(collate, CHAINS, target="node"),
        "y has [1, 1, 1] rows in the first",
    ),
    *(
        (
            f"a loader of {name} {value}",
            call(DenseLoader, CHAINS, **{"batch_size": 2} | {name: value}),
            f"{name} is {value!r}; expected a whole number, {least} or more.",
        )
        for name, value, least in [
            ("batch_size", 0, 1),
            ("batch_size", 2.5, 1),
            ("batch_size", True, 1),
            ("buckets", 0, 1),
            ("buckets", 1.5, 1),
            ("seed", -1, 0),
            ("seed", 0.5, 0),
        ]
    ),
    *(
        (
            f"a loader with {name} {value!r}",
            call(DenseLoader, CHAINS, 2, **{name: value}),
            f"{name} is {value!r}; expected True or False.",
        )
        for name, value in [("shuffle", "yes"), ("drop_last", "no"), ("static_shapes", 1)]
    ),
    *(
        (f"a pass from {given}", call(DenseLoader(CHAINS, 2).set_epoch, *given), says)
        for given, says in [
            ((-1,), "epoch is -1; expected a whole number, 0 or more."),
            ((0.5,), "epoch is 0.5; expected a whole number, 0 or more."),
            ((0, -1), "first_batch is -1; expected a whole number, 0 or more."),
            ((0, 3), "first_batch is 3; expected at most 2, the number of batches."),
        ]
    ),
    (
        "a function that returns a list of batches",
        lambda folder: lambda: list(DenseLoader(CHAINS, 2, then=lambda batch: [batch])),
        "then returned a list; expected a GraphBatch.",
    ),
    *(
        (
            f"a batch with another {name}",
            lambda folder, name=name, change=change: (
                lambda: replace(collate(CHAINS), **{name: change(collate(CHAINS))})
            ),
            says,
        )
        for name, change, says in [
            ("x", lambda b: b.x[..., 0], "x is [3, 3] and mask is [3, 3]; expected x [3, 3, F]."),
            (
                "adjacency",
                lambda b: b.adjacency[:, :2],
                "adjacency is [3, 2, 3] and mask is [3, 3]; expected adjacency [3, 3, 3].",
            ),
            (
                "edge_attr",
                lambda b: b.edge_attr[:2],
                "edge_attr is [2, 3, 3, 1] and mask is [3, 3]; expected edge_attr [3, 3, 3, F].",
            ),
            ("mask", lambda b: b.mask[:2], "x is [3, 3, 1] and mask is [2, 3]; expected x [2, 3,"),
            ("y", lambda b: b.y[:2], "y is [2] and mask is [3, 3]; expected y [3]."),
            (
                "encodings",
                lambda b: {"in_degree": zeros(3, 4)},
                "the encoding 'in_degree' is [3, 4] and mask is [3, 3]; expected [3, 3, …].",
            ),
            (
                "encodings",
                lambda b: collate(encode(CHAINS[:2], AddShortestPaths())).encodings,
                "the encoding 'distance' is [2, 3, 3] and mask is [3, 3]; expected [3, 3, 3, …].",
            ),
            (
                "encodings",
                lambda b: {"mine": torch.zeros(3, 2, 4)},
                "the encoding 'mine' is [3, 2, 4] and mask is [3, 3]; expected [3, 3, …].",
            ),
            ("target", lambda b: "pair", "target is 'pair'; expected 'graph', 'node' or 'edge'."),
        ]
    ),
    *(
        (f"{type(given).__name__} for a batch: {type(model).__name__}", call(model, given), says)
        for model in (small_model(), *small_models())
        for given, says in [
            (CHAINS, "the model is given a list; expected a GraphBatch, such as collate(graphs)"),
            (Batch.from_data_list(CHAINS), "the model is given a DataBatch; expected a GraphBatch"),
        ]
    ),
    *(
        (f"paths that are cut: {what}", on_paths(*transforms), says)
        for what, transforms, says in [
            (
                "distances to 2",
                (AddShortestPaths(2), AddPathEdges(3)),
                "AddShortestPaths(max_distance=2) was given with AddPathEdges(max_length=3); "
                "expected distances that are exact up to 3, or AddShortestPaths().",
            ),
            (
                "distances to 1, trees",
                (AddShortestPaths(1), AddPathTree()),
                "AddShortestPaths(max_distance=1) was given with AddPathTree(); expected exact ",
            ),
            (
                "two edges of three, distances to 2",
                (AddShortestPaths(2), AddPathEdges(2)),
                "graph 1 of the batch has a path of more than 2 edges, of which path_edges holds "
                "the first 2; expected the first 3, as AddPathEdges(3) stores.",
            ),
            (
                "two edges of three",
                (AddShortestPaths(), AddPathEdges(2)),
                "graph 1 of the batch has a path of 4 edges, of which path_edges holds the first "
                "2; expected the first 3, as AddPathEdges(3) stores.",
            ),
        ]
    ),
    *(
        (
            f"{name} with {before!r}, then {after!r}",
            make(before, after),
            f"{says}its edges, and {where}",
        )
        for before, after, where in [
            (AddShortestPaths(2), AddPathEdges(3), "paths of up to 3 edges beside them; expected "),
            (AddPathEdges(3), AddShortestPaths(2), "paths of up to 3 edges beside them; expected "),
            (AddShortestPaths(3), AddPathTree(), "paths of up to 5 edges beside them; expected di"),
            (AddPathTree(), AddShortestPaths(3), "paths of up to 5 edges beside them; expected di"),
        ]
        for name, make, says in [
            ("graphs", encoded_twice, "graph 1 has distances that are not those along "),
            ("a batch", batch_encoded_twice, "the batch has distances that are not those along "),
        ]
    ),
    *(
        (f"{what} for tokens", call(small_transformer(), source, zeros(1, 2)), says)
        for what, source, says in [
            ("a word too many", zeros(1, 3) + 7, "tokens contain 7; expected 0 to 6."),
            ("a negative number", zeros(1, 3) - 1, "tokens contain -1; expected 0 to 6."),
            ("floats", torch.zeros(1, 3), "tokens are torch.float32 [1, 3]; expected whole numb"),
            ("one sequence", zeros(3), "tokens are torch.int64 [3]; expected whole numbers [B, N]"),
        ]
    ),
    (
        "fewer positions on a path than edges that are read",
        call(GraphormerConfig, path_positions=5),
        "there are 5 positions on a path and 20 of its edges are read; expected at least as many",
    ),
    (
        "distances to predict that are lowered",
        lambda folder: lambda: distance_loss(AddShortestPaths(3)),
        "distances are lowered to 3 or less, and distances up to 3 are predicted; expected exact",
    ),
    (
        "a split with too few entries",
        call(GraphDataset, "a", "b", CHAINS, [0, 1]),
        "dataset 'a' has 3 graphs a",
    ),
    (
        "a fractional split",
        call(GraphDataset, "a", "b", CHAINS, [0, 0.5, 1]),
        "dataset 'a' has 3 graphs",
    ),
    ("an unknown name", call(load_dataset, "zink"), "there is no dataset 'zink'; expected one of"),
    ("no name", call(load_dataset, None), "there is no dataset None; expected one of molecules"),
    ("nothing to download", call(load_dataset, "molecules", "download"), "there is nothing to dow"),
    (
        "an empty folder",
        lambda folder: lambda: load_dataset("zinc", folder),
        "zinc could not be read from {folder}/raw (FileNotFoundError: ",
        RuntimeError,
    ),
    (
        "an unknown split",
        lambda folder: lambda: three_chains()["valid"],
        "'valid' is not a split; expected train, val, test",
        KeyError,
    ),
    ("graphs without twins", call(build_cycles, (3, 1, 2)), "split_sizes is (3, 1, 2); expected"),
    (
        "an atom that ZINC lacks",
        call(molecule_graph, "C[Si](C)(C)C"),
        "has the atom type 'Si'; expected one of ZINC's: C, O",
    ),
    (
        "a bond that ZINC lacks",
        call(zinc_data, "C$C"),
        "'C$C' has the bond type 'QUADRUPLE'; expected one of ZINC's: NONE, SINGLE",
    ),
    ("an unreadable molecule", call(ogb_data, "C1CC", 7), "molecule 7 is 'C1CC', which ogb"),
    ("distances up to 0", call(AddShortestPaths, 0), "max_distance is 0; expected a whole number"),
    ("eigenvectors of NaN", call(AddLaplacianEigenvectors, NAN), "k is nan; expected a whole numb"),
    (
        "an unknown Laplacian",
        call(AddLaplacianEigenvectors, 4, normalization="odd"),
        "normalization is 'odd'; expected one of 'combinatorial'",
    ),
    ("anchors of a negative seed", call(AddAnchorDistances, 4, seed=-1), "seed is -1; expected a"),
    ("a class for a transform", call(encode, CHAINS, AddDegrees), "expected transforms after the"),
    ("a graph to encode", call(encode, CHAINS[0], AddDegrees()), "expected a list of graphs, got"),
    (
        "encoding an edge to a node that does not exist",
        call(encode, [Data(x=PAIR.x, edge_index=EDGES + 1)], AddDegrees()),
        "graph 0 has edge_index with values from 1 to 2; expected 0 to 1",
    ),
    (
        "paths without edge features",
        call(encode, [PAIR], AddPathEdges(3)),
        "the graphs have no edge_attr; expected the features",
    ),
    (
        "eigenvectors of a padded batch",
        call(encode_batch, collate(CHAINS), AddLaplacianEigenvectors(2)),
        "is not computed for a whole batch; expected it",
    ),
    (
        "paths of a padded batch without features",
        call(encode_batch, collate([PAIR]), AddPathTree()),
        "the graphs have no edge_attr; expected the features",
    ),
]


# Recipes and runs.


def fitted(folder: Path, y: float = 0.0, **options) -> None:
    graphs = [graph.clone() for graph in CHAINS]
    for graph in graphs:
        graph.y = graph.y + y
    loader = DenseLoader(graphs, 2)
    given = {"epochs": 1, "progress": False, "out": folder, "val": loader}
    fit(small_model(), tasks.graph_regression(), loader, **given | options)


def scored(prediction: torch.Tensor, targets: list | None) -> Make:
    batch = replace(collate(CHAINS[:2]), y=None if targets is None else torch.tensor(targets))
    return call(tasks.graph_multiclass(3).loss, prediction, batch)


def trained(change: Callable, name: str = "zinc", recipe: str = "gin-100k/zinc", **options) -> Make:
    """A run on data of which something is changed."""

    def make(folder: Path) -> Callable:
        data = tiny(name, 6)
        change(data)
        chosen = get_recipe(recipe).at(epochs=1, batch_size=4)
        return lambda: train(chosen, data, command="none", out=folder / "run", **options)

    return make


def sgd(lr: float = 0.1) -> torch.optim.Optimizer:
    return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=lr)


def evaluated(task: tasks.Task, *targets: list) -> Make:
    """A model that predicts one number is scored on targets of another kind."""
    graphs = [graph.clone() for graph in CHAINS]
    for graph, y in zip(graphs, targets, strict=True):
        graph.y = torch.tensor(y)
    return call(evaluate, small_model(), task, DenseLoader(graphs, 3))


def fitted_with(**options) -> Make:
    return lambda folder: partial(fitted, folder / "run", **options)


MASKED = (
    "the graphs have train_mask, val_mask, which training and evaluation do not read; expected g"
)


def with_masks(data: GraphDataset) -> None:
    """Adds what PyG's data sets of one graph have."""
    for graph in data.graphs:
        graph.train_mask = torch.ones(graph.num_nodes, dtype=torch.bool)
        graph.val_mask = ~graph.train_mask


def masked_loader() -> DenseLoader:
    data = three_chains()
    with_masks(data)
    for graph in data.graphs:
        graph.y = torch.zeros(graph.num_nodes)
    return DenseLoader(data.graphs, 3, target="node")


PLATEAU = torch.optim.lr_scheduler.ReduceLROnPlateau(sgd())
RUNS = [
    ("an unknown recipe", call(get_recipe, "gin/zync"), "there is no recipe 'gin/zync'; expecte"),
    (
        "an atom without a row",
        trained(lambda data: data.graphs[2].x.fill_(28)),
        "zinc does not fit gin-100k/zinc: graph 2: x has category 28 in column 0; expected 0 to "
        "27.",
    ),
    (
        "node targets in place of graph targets",
        trained(lambda data: None, name="pattern"),
        "pattern does not fit gin-100k/zinc: the model predicts [1] and the node",
    ),
    (
        "no validation graphs",
        trained(lambda data: data.split.masked_fill_(data.split == 1, 0)),
        "has no graphs in its split 'val'; expected one or more in each",
    ),
    *(
        (f"a loss of {shape}", scored(torch.zeros(shape), targets), says)
        for shape, targets, says in [
            ((2,), [2, 0], "predicts [2] and the graph targets are [2]"),
            ((2, 4), [2, 0], "expected predictions [2, 3] and integer"),
            ((2, 3), [2.0, 0.0], "of torch.float32; expected"),
            ((2, 3), None, "the graphs have no targets y"),
        ]
    ),
    *(
        (f"targets {targets}", call(task.check, torch.tensor(targets)), says)
        for task, targets, says in [
            (
                tasks.graph_classification(),
                [0.5, 1.0],
                "a target is 0.5; expected classes, 0 to 1.",
            ),
            (tasks.graph_multiclass(3), [0, 3], "a target is 3; expected classes, 0 to 2."),
            (tasks.graph_multiclass(3), [MISSING_LABEL], "all targets are missing"),
        ]
    ),
    *(
        (f"a task: {what}", call(make, *arguments), says)
        for what, make, arguments, says in [
            (
                "one class",
                tasks.graph_multiclass,
                (1,),
                "num_classes is 1; expected a whole number",
            ),
            (
                "no target",
                tasks.graph_classification,
                (0,),
                "num_tasks is 0; expected a whole numb",
            ),
            (
                "sizes of two of three classes",
                tasks.node_classification,
                (3, [1, 2]),
                "class_sizes is [1, 2]; expected the number of targets of each of 3 classes.",
            ),
            (
                "distances to 0 hops",
                tasks.with_distances,
                (tasks.graph_regression(), 0, 0.1),
                "hops is 0; expected a whole number, 1 or more.",
            ),
            (
                "distances that count less than nothing",
                tasks.with_distances,
                (tasks.graph_regression(), 3, -0.1),
                "weight is -0.1; expected a number above 0.",
            ),
            (
                "an unknown reduction",
                tasks.with_distances,
                (tasks.graph_regression(), 3, 0.1, "avg"),
                "reduction is 'avg'; expected one of 'sum', 'mean'.",
            ),
        ]
    ),
    *(
        (f"perturbations: {given}", call(Flag, **{"steps": 3, "step_size": 0.1} | given), says)
        for given, says in [
            ({"steps": 0}, "steps is 0; expected a number above 0."),
            ({"step_size": -0.1}, "step_size is -0.1; expected a number above 0."),
            ({"bound": -1.0}, "bound is -1.0; expected a number that is 0 or more."),
        ]
    ),
    *(
        (f"a recipe with {changes}", call(RECIPE.at, **changes), says)
        for changes, says in [
            ({"epochs": 0}, "epochs is 0; expected a number above 0."),
            ({"epochs": 2.5}, "epochs is 2.5; expected a whole number above 0."),
            ({"batch_size": -1}, "batch_size is -1; expected a number above 0."),
            ({"grad_clip": -1}, "grad_clip is -1; expected a number above 0."),
            ({"optimizer": "adam"}, "optimizer is 'adam'; expected a function."),
            ({"task": "mae"}, "task is 'mae'; expected a Task."),
            (
                {"epoch": 3},
                "a recipe has no setting epoch; expected one of name, build_model, dataset,",
            ),
        ]
    ),
    *(
        (
            f"a budget with {given}",
            lambda folder, given=given: lambda: at_budget(RECIPE, tiny("zinc", 6), **given),
            says,
        )
        for given, says in [
            ({"graphs": 0}, "the number of training graphs is 0; expected a whole number, 1 or"),
            ({"graphs": -3}, "the number of training graphs is -3; expected a whole number, 1"),
            ({"learning_rate": -1.0}, "learning_rate is -1.0; expected a number above 0."),
            ({"budget": "smok"}, "budget is 'smok'; expected one of paper, short, smoke."),
            ({"budget": ["smoke"]}, "budget is ['smoke']; expected one of paper, short, smoke."),
            ({"cosine": "no"}, "cosine is 'no'; expected True or False."),
            ({"grad_clip": 1.0}, "there is no size grad_clip; expected epochs or batch_size."),
        ]
    ),
    *(
        (
            f"no known target in {split}",
            trained(
                lambda data, number=number: [
                    graph.y.fill_(NAN)
                    for graph, part in zip(data.graphs, data.split, strict=True)
                    if part == number
                ]
            ),
            f"all targets of the split '{split}' of zinc are missing; expected",
        )
        for number, split in enumerate(("train", "val"))
    ),
    (
        "a run without a folder to resume",
        trained(lambda data: None, resume=True),
        "holds no run to resume; expected the folder of a run",
    ),
    *(
        (f"graphs of which nodes are in several splits, {what}", make, MASKED)
        for what, make in (
            ("scored", call(evaluate, small_model(), tasks.graph_regression(), masked_loader())),
            ("fitted", lambda folder: partial(fitted, folder / "run", val=masked_loader())),
            ("trained", trained(with_masks, name="pattern")),
        )
    ),
    ("no known target", lambda folder: lambda: fitted(folder, y=NAN), "all targets are missing;"),
    (
        "two columns to score",
        evaluated(tasks.graph_regression(), *[[[0.0, 1.0]]] * 3),
        "the model predicts [3] and the graph targets are [3, 2] of torch.float32; expected",
    ),
    (
        "classes to score",
        evaluated(tasks.graph_multiclass(3), [0], [1], [2]),
        "the model predicts [3] and the graph targets are [3] of torch.int64; expected predictions",
    ),
    (
        "integers to rank",
        evaluated(tasks.graph_classification(), [0], [1], [1]),
        "the graph targets are [3] of torch.int64; expected predictions [3] and float targets.",
    ),
    (
        "fewer targets than the task has",
        lambda folder: lambda: tasks.graph_classification(3).loss(torch.zeros(3), collate(CHAINS)),
        "the graphs have 1 target(s) each, and the task has 3; expected graph_classification(1).",
    ),
    (
        "a scale of two for one",
        call(tasks.Scale, (0.0, 1.0), (1.0,)),
        "mean is (0.0, 1.0) and sd is",
    ),
    (
        "a scale of zero",
        call(tasks.Scale, (0.0,), (0.0,)),
        "sd is (0.0,); expected numbers above 0.",
    ),
    (
        "two targets' scale for one",
        call(tasks.Scale((0.0, 1.0), (1.0, 1.0)).standardised, torch.zeros(2)),
        "the values have the shape [2], and the scale has 2 targets; expected [..., 2].",
    ),
    (
        "no target of any class",
        call(tasks.node_classification, 2, [0, 0]),
        "class_sizes is [0, 0]; ex",
    ),
    (
        "fitting with the name of a task",
        lambda folder: lambda: fit(small_model(), "mae", DenseLoader(CHAINS, 2), epochs=1),
        "task is 'mae'; expected a Task, such as tasks.graph_regression().",
    ),
    (
        "a list for a loader",
        lambda folder: lambda: fit(small_model(), tasks.graph_regression(), CHAINS, epochs=1),
        "train is of type list; expected a DenseLoader",
    ),
    (
        "a loader without a full batch",
        fitted_with(val=DenseLoader(CHAINS, 4, drop_last=True)),
        "val has no batches; expected one or more",
    ),
    (
        "a class for an optimizer",
        fitted_with(optimizer=torch.optim.Adam),
        "expected an object of type ",
    ),
    (
        "text for a hook",
        fitted_with(on_epoch_end="print"),
        "on_epoch_end is 'print'; expected a func",
    ),
    (
        "a learning rate at which a run stops",
        fitted_with(stop_below_lr=1.0),
        "the learning rate is 0.001 and stop_below_lr is 1, at which the run would stop before its",
    ),
    (
        "a folder below a file for a run",
        lambda folder: (
            (folder / "file").touch()
            or partial(train, RECIPE, tiny("zinc", 6), command="", out=folder / "file" / "run")
        ),
        "{folder}/file is a file; expected a folder for the run.",
    ),
    (
        "a path of no graphs",
        call(data_for, RECIPE, Path("nowhere.npz")),
        "data is 'nowhere.npz'; expected 'embedded', 'real', the path of an .npz graph file",
    ),
    (
        "a folder for a graph file",
        lambda folder: partial(load_dataset, "csl", folder),
        "{folder} is a folder; expected an .npz graph file.",
    ),
    (
        "a hook of the model alone",
        fitted_with(on_epoch_end=lambda model: None),
        "which takes other arguments (too many positional arguments); expected a function of the m",
    ),
    (
        "a hook of the model alone, for a run",
        lambda folder: (
            lambda: train(
                RECIPE,
                tiny("zinc", 6),
                command="",
                out=folder / "run",
                on_epoch_end=lambda model: None,
            )
        ),
        "which takes other arguments (too many positional arguments); expected a function of the m",
    ),
    (
        "perturbed nodes of a model that takes none",
        fitted_with(flag=Flag(steps=2, step_size=0.1)),
        "flag perturbs the embeddings of nodes, which",
    ),
    (
        "an infinite gradient norm",
        fitted_with(grad_clip=INF),
        "grad_clip is inf; expected a number above 0.",
    ),
    ("a seed of more than 63 bits", fitted_with(seed=2**70), "expected a number below 2**63."),
    (
        "a file in place of the folder of a fit",
        lambda folder: partial(fitted, a_file(folder)),
        "is a file; expected a folder for the run.",
    ),
    *(
        (
            f"a fit with the model {type(model).__name__}",
            call(fit, model, tasks.graph_regression(), DenseLoader(CHAINS, 2), epochs=1),
            "expected a model, such as GIN(GINConfig()).",
        )
        for model in (None, Graphormer)
    ),
    *(
        (
            f"a fit with the folder {out!r}",
            lambda folder, out=out: partial(fitted, out),
            f"out is {out!r}; expected the path of a folder, or None.",
        )
        for out in ("", 5)
    ),
    (
        "a misspelt setting",
        fitted_with(progres=True),
        "fit has no argument 'progres'; expected one of epochs, lr,",
        TypeError,
    ),
    (
        "an attribute of the recipe as an option",
        trained(lambda data: None, epochs=3),
        "epochs is an attribute of the recipe; expected recipe.at(epochs=…).",
    ),
    (
        "a seed below 0",
        trained(lambda data: None, seed=-1),
        "seed is -1; expected a number that is 0 or more.",
    ),
    (
        "a list of graphs to train on",
        call(train, RECIPE, CHAINS, command="none"),
        "data is of type li",
    ),
    (
        "no data source",
        call(data_for, RECIPE, None),
        "data is None; expected 'embedded', 'real', a",
    ),
    (
        "a learning rate of zero",
        call(warmup_then_linear, sgd(0.0), 10, warmup=2),
        "the learning rate is 0.0; e",
    ),
    (
        "a plateau schedule without validation data",
        lambda folder: lambda: fitted(folder, val=None, schedule=PLATEAU),
        "ReduceLROnPlateau needs validation data",
    ),
    (
        "no such budget",
        call(patch.dict("os.environ", GTCOURSE_BUDGET="huge")(budget), cpu=1, gpu=2),
        "GTCOURSE_BUDGET is 'huge'; expected one of cpu, gpu",
    ),
    (
        "nothing embedded",
        call(data_for, get_recipe("csa-small/pcqm4mv2"), "embedded"),
        "no embedded data set stands in for 'pcqm4mv2'; expected",
    ),
    (
        "a warm-up of all steps",
        call(warmup_then_linear, sgd(), 10, warmup=10),
        "warmup is 10, and the schedule has 10 steps; expected fewer, or a share",
    ),
]


# Records, weights and checkpoints.


def a_record(**changes) -> Record:
    given = {
        "name": "gin-100k/zinc",
        "config": {"epochs": 2},
        "seed": 0,
        "seconds": 1.5,
        "data": {"name": "zinc", "source": "test", "checksum": "0"},
        "parameters": 10,
        "curve": [{"epoch": 0, "train_loss": 1.0}],
        "result": {"test_mae": 0.5},
        "command": "none",
        "commit": "0",
        "device": "CPU",
        "versions": {"python": "3"},
        "date": "2026-01-01",
    }
    return Record(**given | changes)


def record_file(content: str | bytes) -> Make:
    def make(folder: Path) -> Callable:
        path = folder / "r-seed0.json"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return lambda: read_record(path)

    return make


def text_of(**changes) -> str:
    return json.dumps(asdict(a_record()) | changes)


def weights(change: Callable[[Path], object]) -> Make:
    """A run's file of weights, changed."""

    def make(folder: Path) -> Callable:
        record = a_record()
        path = folder / record.weights_filename
        write_weights(record, {"w": torch.arange(9.0)}, path)
        change(path)
        return lambda: read_weights(record, folder)

    return make


def earlier_weights(change: Callable[[Path], object], signed: bool = True) -> Make:
    """A file as release 0.2 wrote it, changed; ``signed`` records the changed file's checksum."""

    def make(folder: Path) -> Callable:
        record = a_record()
        path = (folder / record.weights_filename).with_suffix(".pt")
        path.parent.mkdir()
        torch.save({"w": torch.arange(9.0)}, path)
        record.weights = file_sha256(path)
        change(path)
        if signed:
            record.weights = file_sha256(path)
        return lambda: read_weights(record, folder)

    return make


@cache
def a_checkpoint() -> bytes:
    """Of a small run's first epoch."""
    with tempfile.TemporaryDirectory() as folder:
        run(folder, epochs=1)
        return (Path(folder) / "last.ckpt").read_bytes()


def checkpoint(change: Callable[[Path], object]) -> Make:
    """The checkpoint of a run, changed before the run continues."""

    def make(folder: Path) -> Callable:
        (folder / "last.ckpt").write_bytes(a_checkpoint())
        change(folder / "last.ckpt")
        return lambda: run(folder, epochs=2)

    return make


DO_NOT_FIT = "is damaged (its parts do not fit this model); expected a checkpoint of this run."
NO_RUN = "is damaged (it describes no run); expected a checkpoint of this run. Remove this file to"


def lacking(*names: str) -> Callable[[Path], None]:
    """Removes parts of a checkpoint."""

    def change(path: Path) -> None:
        content = torch.load(path, weights_only=True)
        torch.save({name: part for name, part in content.items() if name not in names}, path)

    return change


def with_part(name: str, part: object) -> Callable[[Path], None]:
    """Replaces a part of a checkpoint."""

    def change(path: Path) -> None:
        torch.save(torch.load(path, weights_only=True) | {name: part}, path)

    return change


def plain_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps(Payload(path.parent / "executed")))


def torch_pickle(path: Path) -> None:
    torch.save({"w": Payload(path.parent / "executed")}, path)


def old_torch_pickle(path: Path) -> None:
    torch.save({"w": Payload(path.parent / "executed")}, path, _use_new_zipfile_serialization=False)


def folder_of_records(*seeds: int) -> Make:
    """A folder with the records of runs, without their weights."""

    def make(folder: Path) -> Callable:
        for seed in seeds:
            record = a_record(seed=seed)
            (folder / record.filename).write_text(json.dumps(asdict(record)))
        return lambda: load(folder)

    return make


def weights_alone(folder: Path) -> Callable:
    record = a_record()
    path = folder / record.weights_filename
    write_weights(record, {"w": torch.arange(9.0)}, path)
    last_bit(path)
    return lambda: load(path)


def own_settings(own_data: object) -> Callable[[Path], None]:
    """Writes a run with these settings of own data, and with weights of no model."""

    def write(folder: Path) -> None:
        record = a_record(name="a/b", config={"changed": {"own_data": own_data}})
        write_weights(record, {"w": torch.arange(9.0)}, folder / record.weights_filename)
        (folder / record.filename).write_text(json.dumps(asdict(record)))

    return write


def own_fingerprints(arrays: dict[str, np.ndarray]) -> Callable[[Path], None]:
    """Writes a run on own data beside these arrays in the file of its fingerprints."""

    def write(folder: Path) -> None:
        recipe = own_recipe("csa/zinc", "regression", ["y"])
        record = a_record(name="a/b", config={"changed": recipe.changed})
        model = recipe.build_model()
        write_weights(record, model.state_dict(), folder / record.weights_filename)
        (folder / record.filename).write_text(json.dumps(asdict(record)))
        write_arrays(folder / FINGERPRINTS, arrays)

    return write


def run_on_own_data(write: Callable[[Path], None]) -> Make:
    def make(folder: Path) -> Callable:
        write(folder)
        return lambda: load(folder)

    return make


WHAT = {"config": {"epochs": 3}, "data": {"name": "zinc"}, "seed": 0}


def run_folder(content: str) -> Make:
    def make(folder: Path) -> Callable:
        (folder / "run.json").write_text(content)
        (folder / "last.ckpt").touch()
        return lambda: claim(folder, WHAT, "1", resume=True)

    return make


RECORDS = [
    *(
        (f"a record: {what}", record_file(content), "{folder}/r-seed0.json " + says)
        for what, content, says in [
            ("half of it", text_of()[:99], "is not a record of a run ("),
            ("a list", "[1]", "is not a record of a run ("),
            ("no UTF-8", b"\xff\xfe{", "is not a record of a run ('utf-8' codec"),
            ("brackets without end", "[" * 100_000, "is not a record of a run ("),
            (
                "another field",
                text_of(accuracy=1),
                "is not a record of a run (missing or unknown: acc",
            ),
            (
                "data without a name",
                text_of(data={"source": "test"}),
                "is not a record of a run (data without name or source); expected the JSON",
            ),
            *(
                (
                    f"{name} = {value}",
                    text_of(**{name: value}),
                    f"is not a record of a run (values of a wrong type: {name}); expected the JSON",
                )
                for name, value in [
                    ("config", None),
                    ("config", {"changed": []}),
                    ("data", ["zinc"]),
                    ("name", 5),
                    ("result", None),
                    ("seed", "0"),
                    ("parameters", True),
                    ("curve", {}),
                ]
            ),
        ]
    ),
    *(
        (
            f"a record with the result {value}",
            record_file(text_of(result={"test_mae": value})),
            f"is not a record of a run (the result test_mae is {value!r}); expected the JSON of a ",
        )
        for value in (None, "0.5", [0.5], True)
    ),
    (
        "a folder with the name of a record",
        lambda folder: partial(read_record, folder),
        "{folder} cannot be read (Is a directory); expected the JSON of a record.",
    ),
    *(
        (f"the settings of a run: {what}", run_on_own_data(change), says)
        for what, change, says in [
            ("none", own_settings([]), "the record of a/b has own_data = []; expected settings w"),
            (
                "no task",
                own_settings({"recipe": "csa/zinc", "targets": ["y"], "features": "any"}),
                "expected settings with recipe, task, targets, features.",
            ),
            (
                "another model's weights",
                own_settings(
                    {
                        "recipe": "csa/zinc",
                        "targets": ["y"],
                        "features": "any",
                        "task": "regression",
                    }
                ),
                "the weights of a/b do not fit its model, CGT: ",
            ),
            (
                "fingerprints without their name",
                own_fingerprints({"bits": np.zeros((2, 256), dtype=np.uint8)}),
                "fingerprints.safetensors has no array morgan; expected morgan as uint8 [molec",
            ),
            (
                "fingerprints of another width",
                own_fingerprints({"morgan": np.zeros((2, 16), dtype=np.uint8)}),
                "fingerprints.safetensors has uint8 [2, 16]; expected morgan as uint8 [molecules, ",
            ),
            (
                "fingerprints that are floats",
                own_fingerprints({"morgan": np.zeros((2, 256), dtype=np.float32)}),
                "fingerprints.safetensors has float32 [2, 256]; expected morgan as uint8 [molecul",
            ),
            (
                "fingerprints of no molecules",
                own_fingerprints({"morgan": np.zeros((0, 256), dtype=np.uint8)}),
                "fingerprints.safetensors has uint8 [0, 256]; expected morgan as uint8 [molecules",
            ),
        ]
    ),
    (
        "a file of weights by itself: one bit less",
        weights_alone,
        "is damaged: its weights are not those that were saved; expected the file as gtcourse",
    ),
    (
        "a run that is not recorded",
        call(recorded, "no/where"),
        "no run called 'no/where'",
        KeyError,
    ),
    (
        "another run in the folder",
        run_folder(json.dumps(WHAT | {"commit": "0", "seed": 7})),
        "{folder} holds another run, different in seed; expected the same, or another folder",
    ),
    (
        "a run's description cut off",
        run_folder('{"commit": "0", "con'),
        "{folder}/run.json is missing or damaged (JSONDecodeError); expected a description of",
    ),
    (
        "a run's description of something else",
        run_folder("[1]"),
        "{folder}/run.json is missing or damaged (TypeError); expected a description of the run",
    ),
    ("weights: one bit less", weights(last_bit), "is damaged: its weights are not those that were"),
    (
        "earlier weights: one bit less",
        earlier_weights(flipped, signed=False),
        "is missing or damaged",
    ),
    *(
        (f"{age}: {write.__name__}", make(write), "cannot be read (")
        for age, make in (("weights", weights), ("earlier weights", earlier_weights))
        for write in (plain_pickle, torch_pickle, old_torch_pickle)
    ),
    *(
        (f"a checkpoint: {what}", checkpoint(change), "{folder}/last.ckpt " + says)
        for what, change, says in [
            ("half of it", lambda p: p.write_bytes(p.read_bytes()[:5000]), "cannot be read ("),
            ("plain pickle", plain_pickle, "cannot be read ("),
            ("torch's pickle", torch_pickle, "cannot be read ("),
            ("weights alone", lambda p: torch.save({"w": torch.ones(1)}, p), NO_RUN),
            ("a list", lambda p: torch.save([1, 2], p), NO_RUN),
            ("numbers in place of a run's texts", with_part("run", {"terms": 3}), NO_RUN),
            ("no weights", lacking("model"), "is damaged (without model); expected a checkpoint"),
            (
                "no optimizer and no random numbers",
                lacking("optimizer", "random"),
                "is damaged (without optimizer, random); expected a checkpoint of this run. Remove",
            ),
            ("another model's weights", with_part("model", {}), DO_NOT_FIT),
            ("another history", with_part("history", {"a": 1}), DO_NOT_FIT),
            ("random numbers cut off", with_part("random", {}), DO_NOT_FIT),
        ]
    ),
]


# Trained models, and data of one's own.


def own_csv(content: str, **options) -> Make:
    def make(folder: Path) -> Callable:
        (folder / "my.csv").write_text(content)
        given = {"smiles": "smiles", "targets": ["y"], "task": "regression"}
        return partial(read_csv, folder / "my.csv", **given | options)

    return make


def binary_csv(content: bytes) -> Make:
    def make(folder: Path) -> Callable:
        (folder / "my.csv").write_bytes(content)
        return partial(read_table, folder / "my.csv", "smiles")

    return make


def for_labels(task: str, y: torch.Tensor | None) -> Make:
    """A recipe for two graphs with the same target."""
    graphs = [Data(x=zeros(2, 1), edge_index=EDGES, y=y) for _ in range(2)]
    return call(recipe_for, get_recipe("csa/zinc"), graphs, task)


def predicted(entries: object, **options) -> Make:
    return lambda folder: partial(load("csa/zinc").predict, entries, **options)


def a_file(folder: Path) -> Path:
    path = folder / "run"
    path.write_text("no folder")
    return path


def explored(folder: Path) -> Callable:
    predictor = load("csa/zinc")
    predictor.featurize = own_data
    return partial(explorer.model, predictor)


def explored_with_mean_readout(folder: Path) -> Callable:
    predictor = load("csa/zinc")
    predictor.model.config = replace(predictor.model.config, readout="mean")
    return partial(explorer.model, predictor)


def for_floats(name: str, level: str) -> Make:
    graph = Data(x=torch.randn(2, 3), edge_index=EDGES, edge_attr=zeros(2, 1))
    graph.y = zeros(1 if level == "graph" else 2)
    return call(recipe_for, get_recipe(name), [graph], "classes", level)


def two_runs(
    task: str = "regression",
    other: str | None = None,
    targets: str = "y",
    others: str | None = None,
    source: str = "file: my.csv",
    other_source: str | None = None,
) -> Make:
    """An ensemble of two finished runs on molecules, in the folders a and b."""

    def make(folder: Path) -> Callable:
        runs = {
            "a": (task, targets, source),
            "b": (other or task, others or targets, other_source or source),
        }
        for name, (its_task, its_targets, its_source) in runs.items():
            recipe = own_recipe("gin-100k/zinc", its_task, [its_targets])
            record = a_record(
                config={"changed": recipe.changed},
                data={"name": "my", "source": its_source, "checksum": "0"},
            )
            (folder / name).mkdir()
            stem = Path(record.weights_filename).stem
            weights_of_run = dict(recipe.build_model().state_dict())
            write_weights(record, weights_of_run, folder / name / record.weights_filename)
            (folder / name / f"{stem}.json").write_text(json.dumps(asdict(record)))
        return partial(load_ensemble, folder)

    return make


def folder_of_runs(folder: Path) -> Callable[[], object]:
    """What loads a folder in which there is the folder of one run."""
    run = folder / "csa-on-mine-seed0"
    run.mkdir()
    (run / "csa-on-mine-seed0.json").write_text("{}")
    return lambda: load(folder)


OWN = [
    ("molecules: one unreadable", predicted(["CCO", "CCX"]), "entry 1: 'CCX' is not a molecule"),
    ("molecules: an unknown atom", predicted(["[U]"]), "entry 0: '[U]' has the atom type 'U'"),
    ("molecules: no atoms", predicted([""]), "entry 0: '' has no atoms"),
    ("molecules: none", predicted([]), "graphs is []; expected a list"),
    ("molecules: text for a list", predicted("CCO"), "graphs is 'CCO'; expected a list"),
    ("an unknown model", call(load, "csa/znic"), "expected one of csa"),
    (
        "a seed for the folder of a run",
        lambda folder: lambda: load(folder, seed=1),
        "seed is 1, which has no effect on {folder}, a run of one seed; expected the path of the ",
    ),
    (
        "a folder with the folders of runs",
        folder_of_runs,
        "{folder} holds folders of runs, 1 of them finished; expected one of these folders, such ",
    ),
    (
        "a folder without a model",
        lambda folder: lambda: load(folder),
        "is not a trained model, because the folder holds no records of finished runs; expected",
    ),
    *(
        (f"a folder with {len(seeds)} records", folder_of_records(*seeds), says)
        for seeds, says in [
            ((0,), "because the folder lacks the weights of the run in gin-100k-zinc-seed0.json; "),
            ((0, 1), "is not a trained model, because the folder holds 2 records of finished runs"),
        ]
    ),
    ("a model of other graphs", explored, "csa/zinc cannot be explored; expected Graphormer"),
    (
        "a CSA with another read-out",
        explored_with_mean_readout,
        "csa/zinc cannot be explored: readout is 'mean' instead of 'sum'; expected Graphormer",
    ),
    (
        "a column that is not among thousands",
        own_csv(",".join(["smiles", *map(str, range(5000))]) + "\nCCO" + ",1" * 5000),
        "… (5,001 in all).",
    ),
    *(
        (f"a table: {what}", own_csv(content, **options), "{folder}/my.csv" + says)
        for what, content, says, options in [
            (
                "no column",
                "smiles,y\nCCO,1\n",
                " has no column 'SMILES' (similar: 'smiles'); expected smiles (--smiles) to be one "
                "of smiles, y.",
                {"smiles": "SMILES"},
            ),
            (
                "a misspelt split",
                "smiles,y\nCCO,1\n",
                " has no column 'Random' (similar: the split 'random'); expected one of smiles, y.",
                {"split": "Random"},
            ),
            (
                "a cell as long as a text",
                "smiles,y\nCCO," + "l" * 5000,
                f", line 2, column 'y' has '{'l' * 199}…; expected a number, or an empty cell",
                {},
            ),
            (
                "columns between bars",
                "smiles|y\nCCO|1\n",
                " has no column 'smiles'; expected smiles (--smiles) to be one of smiles|y (columns"
                " are separated by commas, semicolons or tabs).",
                {},
            ),
            (
                "a column with a character that cannot be seen",
                "smiles,y\u200b\nCCO,1\n",
                r" has no column 'y' (similar: 'y\u200b'); expected one of smiles, y",
                {},
            ),
            (
                "parts of rows that are left out",
                "smiles,y,part\nCCO name,1,val\nCCO,1,train\nCCN,2,test\n",
                ": column 'part' of 2 molecules, beside 1 rows left out (line 2: 'CCO name' has a ",
                {"split": "part"},
            ),
            (
                "a column twice",
                "smiles,y,y\nCCO,1,2\n",
                " has more than one column 'y'; expecte",
                {},
            ),
            (
                "text for a target",
                "smiles,y\nCCN,1\nCCO,high\n",
                ", line 3, column 'y' has 'high'; expected a number",
                {},
            ),
            (
                "an infinite target",
                'name,smiles,y\n"two\nlines",C,1\n\nx,CCO,-inf\n',
                ", line 5, column 'y' has '-inf'; expected a number",
                {},
            ),
            (
                "a target beyond float32",
                "smiles,y\nCCO,1e39\n",
                ", line 2, column 'y' has '1e39'; expected a number",
                {},
            ),
            (
                "a target that is 0 in float32",
                "smiles,y\nCCO,1e-60\n",
                ", line 2, column 'y' has '1e-60'; expected 0, or a number that is not 0 in single",
                {},
            ),
            (
                "two spellings of a number for a class",
                "smiles,y\nCCO,1\nCCN,1.0\nC,0\n",
                ", column 'y' has the classes '1' and '1.0'; expected one spelling of a class.",
                {"task": "classes"},
            ),
            *(
                (
                    f"one class and {cell}",
                    f"smiles,y\nCCO,a\nCCN,{cell}\n",
                    ", column 'y' has 1 classes (a); expected two or more.",
                    {"task": "classes"},
                )
                for cell in ("#N/A", "<NA>")
            ),
            (
                "a binary target that is always 1",
                "smiles,y,part\nC,1,train\nCC,1,val\nCO,,test\nCN,1,test\n",
                " has only 1 in y for the molecules that can be read; expected 0 and 1.",
                {"task": "binary", "split": "part"},
            ),
            *(
                (f"{cell} for a number", f"smiles;y\nCCO;{cell}\n", says, {})
                for cell, says in [
                    (
                        "\u22123.5",
                        ", line 2, column 'y' has '\u22123.5'; expected the minus sign of the "
                        "keyboard (-3.5).",
                    ),
                    (
                        "\u20133.5",
                        ", line 2, column 'y' has '\u20133.5'; expected the minus sign of the "
                        "keyboard (-3.5).",
                    ),
                    ("12%", ", line 2, column 'y' has '12%'; expected a number, or an empty cell"),
                    (">10", ", line 2, column 'y' has '>10'; expected a number, or an empty cell"),
                    (
                        "1 234",
                        ", line 2, column 'y' has '1 234'; expected a number, or an empty cell",
                    ),
                    (
                        "1'234",
                        ", line 2, column 'y' has \"1'234\"; expected a number, or an empty cell",
                    ),
                    (
                        "1_234",
                        ", line 2, column 'y' has '1_234'; expected a number, or an empty cell",
                    ),
                    (
                        "1,234",
                        ", line 2, column 'y' has '1,234'; expected a decimal point (1.234), and "
                        "no other separator (1234, if the comma separates thousands).",
                    ),
                ]
            ),
            (
                "words for a binary target",
                "smiles,y\nCCO,yes\n",
                ", line 2, column 'y' has 'yes'; expected 0 or 1, or true or false.",
                {"task": "binary"},
            ),
            (
                "two codings of an accent in a class",
                "smiles,y\nCCO,m\u00e9\nCCN,me\u0301\nC,no\n",
                r", column 'y' has the classes 'me\u0301' and 'm\xe9'; expected one spelling of a ",
                {"task": "classes"},
            ),
            (
                "two spaces in a class",
                "smiles,y\nCCO,a b\nCCN,a  b\nC,no\n",
                ", column 'y' has the classes 'a  b' and 'a b'; expected one spelling of a class.",
                {"task": "classes"},
            ),
            (
                "two spellings of a class",
                "smiles,y\nCCO,Yes\nCCN,yes\nC,no\n",
                ", column 'y' has the classes 'Yes' and 'yes'; expected one spelling of a class.",
                {"task": "classes"},
            ),
            (
                "numbers for classes",
                "smiles,y\n" + "".join(f"{'C' * n},{n / 7:.3f}\n" for n in range(1, 13)),
                ", column 'y' has 12 classes in 12 rows; expected several rows of each class, or "
                "--task regression for numbers.",
                {"task": "classes"},
            ),
            (
                "a decimal comma",
                "smiles;y\nCCO;3,5\n",
                ", line 2, column 'y' has '3,5'; expected a decimal point (3.5)",
                {},
            ),
            (
                "a decimal comma between commas",
                "smiles,y\nCCO,3,5\n",
                ", line 2 has 3 cells; expected 2, one for each column of the header (smiles, y): "
                "a cell that contains the separator has to be in quotation marks, and a number has "
                "a",
                {},
            ),
            (
                "2 for a class",
                "smiles,y\nCCO,2\n",
                ", line 2, column 'y' has '2'; expected 0 or 1, or true or false, because the ",
                {"task": "binary"},
            ),
            (
                "one class",
                "smiles,y\nCCO,a\nCCN,a\n",
                ", column 'y' has 1 classes (a); expected two",
                {"task": "classes"},
            ),
            (
                "no molecule",
                "smiles,y\nCCX,1\n",
                " has no row with a molecule that RDKit can read in",
                {},
            ),
            (
                "an unknown split",
                "smiles,y,part\nCCO,1,train\nCCN,1,holdout\n",
                ", line 3, column 'part' has 'holdout'; expected train, val or test.",
                {"split": "part"},
            ),
            (
                "one scaffold",
                "smiles,y\n" + "C,1\n" * 20,
                ": the scaffold split of 20 molecules leaves none for validation (molecules with "
                "equal ring systems stay together, as do those without rings); expected more "
                "molecules, --split random,",
                {},
            ),
            (
                "two molecules for a random split",
                "smiles,y\nC,1\nCC,2\n",
                ": the random split of 2 molecules leaves none for training; expected",
                {"split": "random"},
            ),
            (
                "a target without a value for training",
                "smiles,y,z,part\nC,1,,train\nCC,2,,train\nCO,3,4,val\nCN,5,6,test\n",
                ", column 'z' has no value for the 2 molecules for training; expected one or more.",
                {"targets": ["y", "z"], "split": "part"},
            ),
            (
                "a comma too many",
                "smiles,y\nCCO,1,\nCCN,2,\n",
                ", line 2 has 3 cells; expected 2, one for each column of the header (smiles, y): "
                "the "
                "line ends in a comma.",
                {},
            ),
            (
                "a cell too few",
                "smiles,y\nCCO\n",
                ", line 2 has 1 cell; expected 2, one for eac",
                {},
            ),
            (
                "a quotation mark too few",
                'smiles,y\n"CCO,1\nC,2\n',
                ", line 2: unexpected end of data; expected quotation marks only around a cell",
                {},
            ),
            ("nothing in it", "", " is empty; expected a header and a row for each molecule.", {}),
        ]
    ),
    *(
        (f"a table: {what}", binary_csv(content), "{folder}/my.csv" + says)
        for what, content, says in [
            (
                "another encoding",
                "smiles,name\nCCO,éthanol\n".encode("latin-1"),
                ", line 2: byte 0xe9 is not UTF-8, so the text has another encoding; expected "
                "UTF-8",
            ),
            (
                "a column in capitals",
                b"SMILES\nCCO\n",
                " has no column 'smiles' (similar: 'SMILES'); expected smiles (--smiles) to be one",
            ),
            (
                "a column after a space",
                b"name, smiles\na,CCO\n",
                " has no column 'smiles' (similar: ' smiles'); expected smiles (--smiles) to be",
            ),
            ("a page of a web site", b"<html>log in</html>", " has no column 'smiles'; expected"),
            (
                "UTF-16",
                "smiles\nCCO\n".encode("utf-16"),
                " is UTF-16 text; expected UTF-8: in Excel",
            ),
            (
                "a workbook",
                b"PK\x03\x04\x14\0",
                " is an Excel workbook or a zip archive; expected a",
            ),
            (
                "a gzip file with another byte",
                bytes([*gzip.compress(b"smiles\nCCO\n")[:10], 7]),
                " is compressed and damaged ",
            ),
            (
                "one line without an end",
                b"x" * 200_000,
                " has no column 'smiles'; expected smiles (--smiles) to be one of xxx",
            ),
            (
                "half a gzip file",
                gzip.compress(b"smiles\nCCO\n")[:-9],
                " is compressed and damaged ",
            ),
            (
                "half a bzip2 file",
                bz2.compress(b"smiles\nCCO\n")[:-5],
                " is compressed and damaged (Compressed data ended before the end-of-stream marker",
            ),
            (
                "an array",
                b"\x93NUMPY\x01\0smiles",
                " is not a text file (it has zero bytes); expected a CSV",
            ),
        ]
    ),
    *(
        (f"a table with {given}", own_csv("smiles,y\nCCO,1\n", **given), says)
        for given, says in [
            (
                {"task": "regresion"},
                "task is 'regresion'; expected one of regression, binary, class",
            ),
            ({"features": "zink"}, "features is 'zink'; expected one of "),
            ({"targets": []}, "targets is []; expected one or more different columns."),
            (
                {"targets": ["smiles"], "task": "classes"},
                "targets is ['smiles']; expected columns other than that of the SMILES.",
            ),
            ({"max_atoms": 0}, "max_atoms is 0; expected a whole number, 1 or more."),
            ({"max_atoms": "30"}, "max_atoms is '30'; expected a whole number, 1 or more."),
            ({"seed": -1}, "seed is -1; expected a whole number, 0 or more."),
            ({"seed": "a"}, "seed is 'a'; expected a whole number, 0 or more."),
            ({"fold": 3}, "fold is 3; expected a pair: the fold, counted from 0, "),
            ({"fold": (0.0, 3)}, "fold is 0.0; expected a whole number, 0 or more."),
            ({"fold": (0, 2)}, "folds is 2; expected a whole number, 3 or more."),
            ({"largest_fragment": "no"}, "largest_fragment is 'no'; expected True or False."),
            (
                {"targets": ["y", "y"]},
                "targets is ['y', 'y']; expected one or more different colu",
            ),
        ]
    ),
    (
        "folds beside a column of parts",
        own_csv("smiles,y,part\nCCO,1,train\n", split="part", fold=(0, 3)),
        "split is the column 'part', which has no effect together with fold; expected 'scaffold' "
        "or",
    ),
    ("a table that is not there", call(read_table, "lost.csv", "smiles"), "there is no file lost."),
    (
        "four folds of three",
        call(fold_split, ["C"] * 9, 3, 3, seed=0, by_scaffold=False),
        "fold is 3, and folds is 3; expected a fold from 0 to 2.",
    ),
    ("several molecules in one string", predicted(["CCO CCN"]), "entry 0: 'CCO CCN' has a space"),
    *(
        (f"a prediction with {given}", predicted(["CCO"], **given), says)
        for given, says in [
            ({"batch_size": 0}, "batch_size is 0; expected a whole number, 1 or more."),
            ({"batch_size": 2.5}, "batch_size is 2.5; expected a whole number, 1 or more."),
            ({"batch_size": "64"}, "batch_size is '64'; expected a whole number, 1 or more."),
            ({"logits": "no"}, "logits is 'no'; expected True or False."),
            ({"return_attention": 1}, "return_attention is 1; expected True or False."),
        ]
    ),
    *(
        (f"molecules: a {type(given).__name__}", predicted(given), says)
        for given, says in [
            ((text for text in ["CCO"]), "graphs is of type generator; expected a list of SMILES"),
            ({"CCO", "CCN"}, "graphs is of type set; expected a list of SMILES or PyG graphs."),
            ({"CCO": 1.0}, "graphs is of type dict; expected a list of SMILES or PyG graphs."),
            (collate(CHAINS), "graphs is of type GraphBatch; expected a list of SMILES or PyG"),
            (Batch.from_data_list(CHAINS), "graphs is of type DataBatch; expected a list of"),
            (
                [collate(CHAINS)],
                "entry 0 is an object of type GraphBatch; expected a SMILES string",
            ),
            ([b"CCO"], "entry 0 is b'CCO'; expected a SMILES string or a PyG Data."),
            (
                DataFrame({"smiles": ["CCO"], "name": ["ethanol"]}),
                "graphs is of type DataFrame; expected a list of SMILES or PyG graphs.",
            ),
            (np.array([["CCO"]]), "graphs is of type ndarray; expected a list of SMILES or PyG"),
        ]
    ),
    *(
        (
            f"rows with {given}",
            lambda folder, given=given: partial(load("csa/zinc").predict_rows, **given),
            says,
        )
        for given, says in [
            ({"smiles": None}, "smiles is of type NoneType; expected a list of SMILES."),
            ({"smiles": {"CCO"}}, "smiles is of type set; expected a list of SMILES."),
            ({"smiles": ["C"], "max_atoms": 0}, "max_atoms is 0; expected a whole number, 1 or"),
            ({"smiles": ["C"], "logits": "no"}, "logits is 'no'; expected True or False."),
        ]
    ),
    (
        "None as the name of a model",
        call(load, None),
        "the model is None; expected its name, or the folder",
    ),
    (
        "None as the folder of an ensemble",
        call(load_ensemble, None),
        "None is not a folder; expected one that hold",
    ),
    ("an ensemble of nobody", call(Ensemble, []), "members has 0 predictor(s); expected two or mo"),
    (
        "an ensemble of two models",
        lambda folder: lambda: Ensemble([load("csa/zinc"), load("csa-100k/molecules")]),
        "members 0 and 1 cannot be one ensemble, because their data is ",
    ),
    (
        "an atom to export that the model does not know",
        lambda folder: lambda: tensors_of(load("csa/zinc"), [replaced_atom(99)]),
        "graph 0: x has category 99 in column 0; expected 0 to 27.",
    ),
    (
        "a table of pandas",
        lambda folder: partial(
            read_csv, "my.csv", "smiles", ["y"], "regression", table=DataFrame()
        ),
        "table is of type DataFrame; expected a TextTable, as read_text_table returns, or None.",
    ),
    (
        "a seed beside a column of parts",
        call(read_csv, "my.csv", "smiles", ["y"], "regression", "part", seed=1),
        "seed is 1, which has no effect with the column 'part' as the split; expected split 'scaf",
    ),
    (
        "the largest fragment of graphs",
        lambda folder: partial(
            own_recipe,
            *("csa/zinc", "regression", ["y"], None),
            largest_fragment=True,
            num_node_types=(3,),
        ),
        "largest_fragment is True and features is None, which is for graphs that are no molecules;",
    ),
    (
        "targets that are all unknown",
        for_labels("regression", torch.tensor([NAN])),
        "y is unknown (NaN) in all graphs; expected one known target or more.",
    ),
    (
        "targets in three axes",
        for_labels("regression", torch.zeros(1, 2, 2)),
        "graph 0 has y of shape [1, 2, 2]; expected one axis, or two for several targets.",
    ),
    (
        "an ensemble of a model with one seed",
        call(load_ensemble, "csa-rings/zinc"),
        "csa-rings/zinc comes with one seed; expected a model that comes with several, or a folder",
    ),
    (
        "None as the path of a table to read",
        call(read_table, None, "smiles"),
        "the table is None; expected the path",
    ),
    (
        "a folder for a table",
        lambda folder: partial(read_table, folder, "smiles"),
        "{folder} is a folder; expected a CSV file.",
    ),
    (
        "runs of two tasks for an ensemble",
        two_runs(task="regression", other="binary"),
        "/a and {folder}/b cannot be one ensemble, because their kind of prediction is value in "
        "the first and probability in the second; expected the seeds or folds of one run.",
    ),
    (
        "runs of two targets for an ensemble",
        two_runs(targets="y", others="z"),
        "/a and {folder}/b cannot be one ensemble, because their list of targets is y in the "
        "first and z in the second; expected the seeds or folds of one run.",
    ),
    (
        "runs on two tables for an ensemble",
        two_runs(source="file: my.csv", other_source="file: other.csv"),
        "because their data is file: my.csv in the first and file: other.csv in the second; e",
    ),
    (
        "unknown features",
        call(own_recipe, "csa/zinc", "regression", ["y"], "zink"),
        "features is 'zink'; expected one of any, zinc, ogb.",
    ),
    (
        "targets of pairs",
        call(own_recipe, "csa/zinc", "regression", ["y"], level="pair"),
        "level is 'pair'; expected one of graph, node, edge.",
    ),
    (
        "an unknown size in a recipe for own graphs",
        call(own_recipe, "csa/zinc", "regression", ["y"], None, num_node_type=(3,)),
        "there is no size num_node_type; expected one of num_node_types, num_edge_types,",
    ),
    (
        "accumulating zero batches",
        lambda folder: partial(train, RECIPE, tiny("zinc", 6), command="none", accumulate=0),
        "accumulate is 0; expected a number above 0.",
    ),
    (
        "a file for the folder of a run",
        lambda folder: partial(train, RECIPE, tiny("zinc", 6), command="none", out=a_file(folder)),
        "run is a file; expected a folder for the run.",
    ),
    (
        "a folder for an ONNX file",
        lambda folder: partial(save_onnx, load("csa/zinc"), folder),
        "is a folder; expected the name of a file.",
    ),
    ("a missing value of a table", predicted(["CCO", NAN]), "entry 1 is nan; expected a SMILES st"),
    (
        "one string for the rows of a table",
        lambda folder: partial(load("csa/zinc").predict_rows, "CCO"),
        "smiles is 'CCO'; expected a list of SMILES.",
    ),
    (
        "attention of a GatedGCN",
        lambda folder: partial(
            load("signnet-100k/molecules").predict, ["CCO"], return_attention=True
        ),
        "has no attention to return, because it passes messages along edges",
    ),
    (
        "an export of single atoms",
        lambda folder: partial(export, load("csa/zinc"), ["C", "N"]),
        "all examples have one node, and one node would become the fixed size of the exported mod",
    ),
    (
        "an export of one example",
        lambda folder: partial(export, load("csa/zinc"), ["CCO"]),
        "graphs has 1 example(s); expected two or more",
    ),
    ("labels below 0", for_labels("classes", torch.tensor([-1])), "graph 0 has y = -1; expected c"),
    (
        "a label that is neither 0 nor 1",
        for_labels("binary", torch.tensor([2.0])),
        "graph 0 has y = 2; expected 0 or 1.",
    ),
    (
        "classes that are floats",
        for_labels("classes", torch.tensor([1.0])),
        "graph 0 has y of torch.float32; expected integers, 0 or more for classes.",
    ),
    (
        "integers for a regression",
        for_labels("regression", torch.tensor([1])),
        "graph 0 has y of torch.int64; expected floats for regression.",
    ),
    (
        "one class of graphs",
        for_labels("classes", torch.tensor([1])),
        "the targets y have only one class (1); expected two or more classes.",
    ),
    (
        "a misspelt task",
        for_labels("regresion", torch.tensor([1.0])),
        "task is 'regresion'; expected",
    ),
    (
        "a number for a class",
        for_labels("classes", torch.tensor([10**9])),
        "graph 0 has y = 1e+09; ex",
    ),
    (
        "columns of classes",
        for_labels("classes", torch.tensor([[0, 1]])),
        "y has 2 columns of classes",
    ),
    (
        "a text for the targets",
        call(own_recipe, "csa/zinc", "regression", "logp"),
        "targets is 'logp'; expected a list of one or more different names.",
    ),
    (
        "a scale for classes",
        call(own_recipe, "csa/zinc", "binary", ["y"], scale={"mean": [0.0], "sd": [1.0]}),
        "scale has no effect on the task 'binary'; expected the task regression.",
    ),
    (
        "a scale without standard deviations",
        call(own_recipe, "csa/zinc", "regression", ["y"], scale={"mean": [0.0]}),
        "scale is {'mean': [0.0]}; expected mean and sd, each with 1 number(s).",
    ),
    (
        "vocabularies of nodes alone",
        call(own_recipe, "csa/zinc", "regression", ["y"], vocabularies=[(28,)]),
        "vocabularies is [(28,)]; expected two, of nodes and of edges.",
    ),
    ("graphs without targets", for_labels("regression", None), "the graphs have no targets y; exp"),
    (
        "graphs without one of two targets",
        for_labels("regression", torch.tensor([[1.0, NAN]])),
        "column 1 of y is unknown (NaN) in all graphs; expected one known target or more.",
    ),
    (
        "a class beyond the recipe's",
        trained(lambda data: data.graphs[7].y.fill_(2), name="cycles", recipe="gin-pe/cycles"),
        "graph 7 has y = 2; expected classes, 0 to 1.",
    ),
    ("edges for Graphormer", for_floats("graphormer-slim/zinc", "edge"), "no targets of edges"),
    ("edges for CSA", for_floats("csa/zinc", "edge"), "no targets of edges; expected a recipe of"),
    (
        "a recipe for one data set",
        call(own_recipe, get_recipe("gin/cycles"), "binary", ["y"]),
        "only for its own data set",
    ),
    ("an unknown task", call(own_recipe, RECIPE, "ranking", ["y"]), "expected one of regress"),
]


# What is given is of another kind, or fits nothing else.

STEPS = CGTConfig(d_model=8, num_heads=2, num_layers=1, node_steps=2, d_position=2)
SMALL_SIZES = {"d_model": 8, "num_heads": 2, "num_layers": 1}
ATTENTION = torch.full((1, 1, 2, 3, 3), 1 / 3)
ONE_MASK = torch.ones(1, 3, dtype=torch.bool)


def with_gap() -> GraphBatch:
    """A batch whose first graph has its padding before its nodes."""
    batch = collate(CHAINS)
    return replace(batch, mask=batch.mask.flip(1), adjacency=batch.adjacency.flip(1, 2))


def without_head(heads: list) -> None:
    with ablated(load("csa/zinc").model, heads):
        pass


def partial_batch(**fields) -> Make:
    """A batch in which some fields have other values."""
    return lambda folder: partial(replace, collate(CHAINS), **fields)


def trained_with(**options) -> Make:
    return trained(lambda data: None, **options)


ALL_TWO = torch.ones(1, 2, dtype=torch.bool)
WITHOUT_GRADIENTS = "torch.inference_mode() is on, or was on when the model or the data were made,"


def in_inference_mode(function: Callable) -> Make:
    """The call of a function with a small CSA and its batch, in PyTorch's inference mode."""

    def enter() -> None:
        model = CGT(CGTConfig((3,)))
        with torch.inference_mode():
            function(model, collate(CHAINS))

    return lambda folder: enter


def fit_small(model: torch.nn.Module, batch: GraphBatch) -> None:
    fit(model, tasks.graph_regression(), DenseLoader(CHAINS, 2), epochs=1, progress=False)


def fit_of_inference_tensors() -> None:
    with torch.inference_mode():
        model = small_model()
    fit_small(model, collate(CHAINS))


def gradient_of_inference_batch() -> None:
    with torch.inference_mode():
        batch = collate(CHAINS)
    gradient_times_input(CGT(CGTConfig((3,))), batch)


def three_steps(
    kind: type[torch.optim.Optimizer] = torch.optim.Adam,
    task: tasks.Task | None = None,
    steps_of_schedule: int | None = None,
) -> Make:
    """Three epochs of one step each, with a schedule if its number of steps is given."""

    def enter() -> None:
        model = GIN(GINConfig(num_node_types=3, num_node_features=0, num_layers=1))
        optimizer = kind(model.parameters(), lr=0.1)
        schedule = None
        if steps_of_schedule is not None:
            schedule = OneCycleLR(optimizer, max_lr=0.1, total_steps=steps_of_schedule)
        fit(
            model,
            task or tasks.graph_regression(),
            DenseLoader(CHAINS, 3),
            epochs=3,
            optimizer=optimizer,
            schedule=schedule,
            progress=False,
        )

    return lambda folder: enter


def changed_batch(**attributes: torch.Tensor) -> Batch:
    """A batch of PyG with other attributes than its graphs had when they were joined."""
    batch = Batch.from_data_list(CHAINS)
    for name, values in attributes.items():
        batch[name] = values
    return batch


class OwnRings(AddRings):
    """An encoding of a reader, whose values are for another number of nodes than a batch has."""

    def compute(self, pairs: Pairs) -> dict[str, torch.Tensor]:
        ring = super().compute(pairs)["ring"]
        return {"ring": torch.nn.functional.pad(ring, (0, 4, 0, 4))}


class OwnWalks(AddRandomWalks):
    """An encoding of a reader with a field that is none of the dataclass."""

    def __init__(self, power: int):
        super().__init__(2)
        self.power = power

    def compute(self, pairs: Pairs) -> dict[str, torch.Tensor]:
        return {"random_walks": super().compute(pairs)["random_walks"] ** self.power}


class Computes(AddRings):
    """An encoding of a reader that computes something else than a dictionary of tensors."""

    def __init__(self, computed: object):
        super().__init__(6)
        self.computed = computed

    def compute(self, pairs: Pairs) -> object:
        return self.computed


class Makes(BaseTransform):
    """A transform that makes something else than a graph of a graph."""

    def __init__(self, made: object):
        self.made = made

    def forward(self, graph: Data) -> object:
        return self.made


KINDS = [
    *(
        (f"a PyG batch with {what}", call(collate, changed_batch(**attributes)), says)
        for what, attributes, says in [
            (
                "more rows than its graphs have",
                {"x": zeros(8, 1)},
                "the PyG Batch has x of length 8, and that of its graphs is 6 in all; expected ",
            ),
            (
                "an attribute that its graphs had not",
                {"rwse": torch.zeros(6, 2)},
                "the PyG Batch has rwse, which was set after its graphs were joined; expected ",
            ),
            (
                "nodes in another order",
                {"batch": torch.tensor([1, 0, 0, 1, 1, 2])},
                "the PyG Batch has another graph of each node (batch) than its sizes (ptr) say",
            ),
        ]
    ),
    (
        "one encoding under two names",
        call(
            collate,
            [
                Data(
                    x=zeros(2, 1),
                    edge_index=EDGES,
                    rwse=torch.zeros(2, 3),
                    random_walk_pe=torch.ones(2, 3),
                )
            ],
        ),
        "the graphs have both random_walk_pe and rwse, which are names of the same encoding; expe",
    ),
    (
        "floats of 8 bits",
        call(collate, [Data(x=torch.zeros(2, 1).to(torch.float8_e5m2), edge_index=EDGES)]),
        "graph 0 has x of torch.float8_e5m2; expected integers or floats.",
    ),
    (
        "nodes in a nested tensor",
        call(
            collate,
            [
                Data(
                    x=torch.nested.nested_tensor(
                        [torch.zeros(2), torch.zeros(3)], layout=torch.jagged
                    ),
                    edge_index=EDGES,
                    num_nodes=2,
                )
            ],
        ),
        "graph 0 has x = a nested tensor; expected a dense tensor on the CPU.",
    ),
    (
        "an edge at padding",
        call(
            replace, collate(CHAINS), mask=collate(CHAINS).mask & torch.tensor([True, False, False])
        ),
        "graph 0 of the batch has an edge from 0 to 1, of which one is no node (mask); expected e",
    ),
    (
        "distances that are floats in a batch",
        call(replace, collate(CHAINS), encodings={"distance": torch.zeros(3, 3, 3)}),
        "the encoding 'distance' is torch.float32; expected integers.",
    ),
    *(
        (
            f"degrees of {dtype} in a batch",
            call(
                replace,
                collate(CHAINS),
                encodings={"in_degree": torch.zeros(3, 3, dtype=dtype)},
            ),
            f"the encoding 'in_degree' is {dtype}; expected integers.",
        )
        for dtype in (torch.bool, torch.complex64)
    ),
    (
        "targets on another device",
        call(replace, collate(CHAINS), y=torch.zeros(3, device="meta")),
        "y is on meta, and x is on cpu; expected all on one device.",
    ),
    (
        "a checksum that is a number",
        call(GraphDataset, "a", "b", CHAINS, [0, 1, 2], checksum=5),
        "the checksum of the data set is 5; expected a string, or None.",
    ),
    (
        "two encodings for one attribute",
        call(encode, CHAINS, AddRings(6), AddRings(8)),
        "AddRings(max_size=6) and AddRings(max_size=8) both set ring of a graph, which can hold on",
    ),
    (
        "two encodings for one attribute, with another transform between them",
        call(encode, CHAINS, AddRings(6), ToUndirected(), AddRings(8)),
        "AddRings(max_size=6) and AddRings(max_size=8) both set ring of a graph, which can hold on",
    ),
    (
        "two encodings for one attribute of a batch",
        call(encode_batch, collate(CHAINS), AddShortestPaths(), AddShortestPaths(max_distance=2)),
        "both set distance of a graph, which can hold one of them; expected one of the two.",
    ),
    (
        "two classes of encodings for one attribute",
        call(encode, CHAINS, AddRings(6), OwnRings(6)),
        "OwnRings(max_size=6) both set ring of a graph, which can hold one of them; expected one ",
    ),
    (
        "two encodings for one attribute, in a Compose of PyG",
        call(encode, CHAINS, Compose([AddRings(6), AddRings(8)])),
        "AddRings(max_size=6) and AddRings(max_size=8) both set ring of a graph, which can hold on",
    ),
    (
        "two encodings for one attribute, one of them in a Compose of PyG",
        call(encode, CHAINS, AddRings(6), Compose([Compose([AddRings(8)])])),
        "AddRings(max_size=6) and AddRings(max_size=8) both set ring of a graph, which can hold on",
    ),
    (
        "two encodings for one attribute that differ in a field without a place in their text",
        call(encode, CHAINS, OwnWalks(1), OwnWalks(2)),
        "both set random_walks of a graph, which can hold one of them; expected one of the two.",
    ),
    *(
        (
            f"a transform that makes {made!r}",
            call(encode, CHAINS, Makes(made)),
            f"Makes() returns an object of type {type(made).__name__} for a graph; expected a tra",
        )
        for made in (None, (CHAINS[0], CHAINS[1]))
    ),
    *(
        (f"an own encoding that computes {what}", call(encode, CHAINS[:1], Computes(made)), says)
        for what, made, says in (
            ("no dictionary", torch.zeros(1), "computes an object of type Tensor; expected a dict"),
            ("an array", {"mine": np.zeros(1)}, "computes mine of type ndarray; expected a tensor"),
            (
                "rows of two",
                {"mine": torch.zeros(2)},
                "computes mine [2]; expected a tensor [1, …]",
            ),
            ("a number for a name", {3: torch.zeros(1)}, "an attribute with the name 3; expected "),
        )
    ),
    (
        "an encoding of a name that is not in the graphs",
        call(collate(CHAINS).encoding, "mine"),
        "the graphs have no encoding 'mine'; expected a tensor of this name in each graph, [n, k]",
    ),
    (
        "an own encoding of another number of nodes",
        call(encode_batch, collate(CHAINS), OwnRings(6)),
        "the encoding 'ring' is [3, 7, 7] and mask is [3, 3]; expected [3, 3, 3, …].",
    ),
    (
        "two encodings for one file of a folder",
        lambda folder: partial(
            prepare, three_chains(), folder / "new", stored=[AddRings(6), AddRings(8)]
        ),
        "both set ring of a graph, which can hold one of them; expected one of the two.",
    ),
    ("a weight without a name", call(AddSVD, 2, weight=""), "weight is ''; expected a name, or No"),
    (
        "weights whose sum is infinite",
        call(
            AddRandomWalks(2, weight="w"),
            Data(x=zeros(2, 1), edge_index=EDGES, w=torch.full((2,), 1e308, dtype=torch.float64)),
        ),
        "w has weights whose sum is inf; expected at most 3.4e+38, in another unit for instance.",
    ),
    (
        "a category that is a number",
        call(
            CGTConfig.from_graphs,
            [Data(x=torch.tensor([[1, 0], [2, 10**7]]), edge_index=EDGES, edge_attr=zeros(2, 1))],
        ),
        "x has the value 10000000 in column 1, and a model has a vector for each category from 0",
    ),
    (
        "one run twice",
        lambda folder: partial(Ensemble, [load("csa/zinc"), load("csa/zinc")]),
        "members 0 and 1 are the same run, whose predictions would count twice; expected each run",
    ),
    (
        "a bond of the second molecule in one direction",
        predicted(
            [
                Data(x=zeros(2, 1), edge_index=edges, edge_attr=zeros(edges.shape[1], 1) + 1)
                for edges in (EDGES, EDGES[:, :1])
            ]
        ),
        "graph 1 has a bond from 0 to 1 and none from 1 to 0; expected both directions of every ",
    ),
    (
        "no bond at an edge",
        predicted([Data(x=zeros(2, 1), edge_index=EDGES, edge_attr=zeros(2, 1))]),
        "graph 0: edge_attr has category 0 at an edge, which means no bond in ZINC's graphs; expe",
    ),
    (
        "no bond at an edge of the second molecule",
        predicted(
            [Data(x=zeros(2, 1), edge_index=EDGES, edge_attr=zeros(2, 1) + kind) for kind in (1, 0)]
        ),
        "graph 1: edge_attr has category 0 at an edge, which means no bond in ZINC's graphs; expe",
    ),
    *(
        (f"a budget that is {value!r}", call(budget, cpu=1, gpu=value), says)
        for value, says in [
            ([1], "gpu is [1]; expected a whole number, a tuple of them, or a dictionary."),
            ({"epochs": None}, "gpu['epochs'] is None; expected a whole number, a tuple of them, "),
        ]
    ),
    (
        "an atom type to describe",
        call(
            describe,
            GraphDataset(
                "a",
                "b",
                [Data(x=torch.full((2, 1), 28), edge_index=EDGES, y=torch.zeros(1))],
                [0],
            ),
        ),
        "graph 0 has 28 in x; expected ZINC's atom types, 0 to 27.",
    ),
    (
        "a schedule that ends before the training",
        three_steps(steps_of_schedule=2),
        "schedule ends after 2 steps, and 3 epochs have 3; expected OneCycleLR with total_steps=3",
    ),
    (
        "a task that needs another model",
        three_steps(task=tasks.with_distances(tasks.graph_regression(), hops=2, weight=0.1)),
        "calls the model with return_distances, which GIN does not take; expected a model whose f",
    ),
    (
        "an optimizer that computes the loss itself",
        three_steps(torch.optim.LBFGS),
        "optimizer is LBFGS, which computes the loss several times in a step; expected one that s",
    ),
    *(
        (f"{reader.__name__} of {path!r}", call(reader, path), f"{name} is {path!r}; expected the ")
        for reader, name in [(read_graphs, "the graph file"), (open_graphs, "the folder")]
        for path in (None, 5, "")
    ),
    ("no path to write", call(write_graphs, None, three_chains()), "the graph file is None; expec"),
    (
        "a table to write graphs to",
        lambda folder: partial(write_graphs, folder / "a.csv", three_chains()),
        "a.csv; expected a name that ends in .npz or .safetensors.",
    ),
    ("a number for a source", call(load_dataset, "zinc", 5), "source is 5; expected 'download', o"),
    ("a number for a root", call(load_dataset, "csl", root=5), "root is 5; expected the path of a"),
    ("a data set without a name", call(GraphDataset, None, "b", CHAINS, [0, 1, 2]), "is None; ex"),
    *(
        (
            f"a vocabulary that is {words!r}",
            call(GraphDataset, "a", "b", CHAINS, [0, 1, 2], **{name: words}),
            f"{name} is {words!r}; expected a list of strings, or None.",
        )
        for name, words in [("node_vocabulary", 28), ("edge_vocabulary", "CNO")]
    ),
    ("a data set without a source", call(GraphDataset, "a", 1, CHAINS, [0, 1, 2]), "is 1; expect"),
    (
        "a fractional graph index",
        call(collate(CHAINS).select, torch.tensor([0.5])),
        "index is torch.float32 [1]; expected the numbers of graphs, or a mask [3].",
    ),
    (
        "a mask of fewer graphs",
        call(collate(CHAINS).select, torch.tensor([True, False])),
        "index is torch.bool [2]; expected the numbers of graphs, or a mask [3].",
    ),
    (
        "graphs in a list",
        call(collate(CHAINS).select, [0]),
        "index is of type list; expected a tensor.",
    ),
    *(
        (
            f"graph {number} of three",
            call(collate(CHAINS).select, torch.tensor([0, number])),
            f"there is no graph {number}; expected one of 3 graphs.",
        )
        for number in (3, -4)
    ),
    (
        "distances beside paths in a row",
        call(
            encode,
            [Data(x=zeros(2, 1), edge_index=EDGES, path_edges=zeros(4))],
            AddShortestPaths(max_distance=1),
        ),
        "graph 0 has path_edges of shape [4]; expected those of AddPathEdges(max_length), [n, n, ",
    ),
    (
        "a PyG batch with pairs",
        call(collate(encode(CHAINS, AddShortestPaths())).to_pyg),
        "the batch has encodings of pairs (distance), which a PyG batch cannot hold; expected a ",
    ),
    (
        "a PyG batch that was put together by hand",
        call(collate, Batch(x=zeros(3, 1), edge_index=EDGES, batch=torch.tensor([0, 0, 1]))),
        "the graphs are a PyG Batch that was put together by hand; expected one of Batch.from_dat",
    ),
    (
        "an array for a form",
        call(CGTConfig, form=np.array(["direct", "fused"])),
        "form is array(['direct', 'fused'], dtype='<U6'); expected one of 'factorised', ",
    ),
    (
        "an atom beyond PyG's vocabulary",
        call(own_data, "[Fe+12]"),
        "'[Fe+12]' has an atom or a bond with a charge, a number of hydrogens or another property",
    ),
    (
        "an atom with two charges",
        call(zinc_data, "[O-2]"),
        "'[O-2]' has the atom type 'O -2'; expected one of ZINC's: C, O,",
    ),
    (
        "graphs to take apart",
        call(unbatch, CHAINS),
        "batch is of type list; expected a GraphBatch.",
    ),
    (
        "padding before a node",
        call(unbatch, with_gap()),
        "graph 0 of the batch has padding before a node; expected the nodes of a graph before its",
    ),
    ("nothing to encode", call(encode, None, AddDegrees()), "graphs is of type NoneType; expected"),
    (
        "graphs to encode as a batch",
        call(encode_batch, CHAINS, AddDegrees()),
        "encode_batch is given a list; expected a GraphBatch, such as collate(graphs) returns.",
    ),
    (
        "a batch to encode as a graph",
        call(AddShortestPaths(), Batch.from_data_list(CHAINS)),
        "graph 0 is of type DataBatch; expected a PyG Data.",
    ),
    ("rings of two nodes", call(AddRings, 2), "max_size is 2; expected a whole number, 3 or more."),
    (
        "weights in a list",
        call(encode, [Data(x=zeros(2, 1), edge_index=EDGES, w=[1, 2])], AddSVD(2, weight="w")),
        "graph 0 has w of type list; expected a tensor with a weight for each edge.",
    ),
    (
        "an adjacency that is no square",
        call(shortest_paths, torch.ones(1, 2, 3, dtype=torch.bool)),
        "adjacency is torch.bool [1, 2, 3]; expected a bool tensor [B, n, n]",
    ),
    *(
        (
            f"an unknown Laplacian: {function.__name__}",
            call(function, torch.ones(1, 2, 2, dtype=torch.bool), "odd"),
            "normalization is 'odd'; expected one of 'combinatorial', 'symmetric', 'random_walk'.",
        )
        for function in (laplacian, laplacian_eigenvectors)
    ),
    *(
        (
            f"{model.__name__} of {given!r}"[:60],
            call(model, given),
            f"config is {says}; expected it",
        )
        for model, given, says in [
            (EGT, {"d_model": 8}, "of type dict for the model EGT"),
            (EGT, CGTConfig(), "of type CGTConfig for the model EGT"),
            (CGT, "csa/zinc", "'csa/zinc' for the model CGT"),
            (GRPE, GRPEConfig, "of type type for the model GRPE"),
            (Graphormer, None, "of type NoneType for the model Graphormer"),
            (GIN, GATConfig(), "of type GATConfig for the model GIN"),
            (SignNet, GINConfig(), "of type GINConfig for the model SignNet"),
            (Transformer, EGTConfig(), "of type EGTConfig for the model Transformer"),
            (BagTransformer, GINConfig(), "of type GINConfig for the model BagTransformer"),
        ]
    ),
    (
        "walks of other lengths",
        lambda folder: lambda: CGT(STEPS)(collate(encode(CHAINS, AddRandomWalks(4)))),
        "rwse has 4 columns; expected 2.",
    ),
    (
        "a term that does not exist",
        call(GRPEConfig, terms=("query_context", "qery")),
        "terms is ('query_context', 'qery'); expected each entry to be one of 'query_context', ",
    ),
    (
        "a fractional number of categories",
        call(GraphormerConfig, num_node_types=(28.5,)),
        "num_node_types is (28.5,); expected each entry to be a whole number above 0.",
    ),
    (
        "sequences of two batches",
        call(small_transformer(), zeros(1, 3), zeros(2, 3)),
        "source is [1, 3] and target [2, 3]; expected equally many sequences.",
    ),
    (
        "a mask of numbers for attention",
        call(MultiHeadAttention(8, 2), torch.zeros(2, 3, 8), mask=torch.ones(2, 3)),
        "mask is torch.float32; expected torch.bool, True where attention is allowed.",
    ),
    (
        "a mask of numbers for the function of attention",
        call(
            scaled_dot_product_attention,
            *(torch.zeros(2, 3, 4) for _ in range(3)),
            mask=torch.ones(3, 3),
        ),
        "mask is torch.float32; expected torch.bool, True where attention is allowed.",
    ),
    (
        "a mask of other heads for attention",
        call(MultiHeadAttention(8, 2), torch.zeros(2, 3, 8), mask=torch.ones(2, 4, 3, 3) > 0),
        "mask has shape [2, 4, 3, 3]; expected [2, 2, 3, 3], or what is broadcast to it.",
    ),
    *(
        (
            f"a bias of {dtype} for attention",
            call(
                MultiHeadAttention(8, 2), torch.zeros(2, 3, 8), bias=torch.ones(3, 3, dtype=dtype)
            ),
            f"bias is {dtype}; expected floats, which are added to the logits, or mask=….",
        )
        for dtype in (torch.bool, torch.int64)
    ),
    *(
        (
            f"a dropout of {dropout!r} for attention",
            call(MultiHeadAttention, 8, 2, dropout=dropout),
            f"dropout is {dropout!r}; expected a number from 0 to 1.",
        )
        for dropout in (-1, 1.5, NAN, True)
    ),
    *(
        (
            f"nothing between the linear maps of {layer.__name__}",
            call(layer, 8, 2, 0),
            "expected",
        )
        for layer in (GraphormerLayer, GRPELayer, CSALayer)
    ),
    *(
        (
            f"a bound of {clip} for EGT's attention",
            call(EGTAttention, 8, 4, 2, clip=clip),
            f"clip is {clip}; expected a number above 0, or infinity for none.",
        )
        for clip in (-1.0, 0.0, NAN)
    ),
    (
        "a mask of each head for EGT's attention",
        call(
            EGTAttention(8, 4, 2),
            torch.zeros(1, 3, 8),
            torch.zeros(1, 3, 3, 4),
            mask=torch.ones(1, 2, 3, 3) > 0,
        ),
        "mask has shape [1, 2, 3, 3]; expected [1, 1, 3, 3], or what is broadcast to it.",
    ),
    (
        "an ablation of more than all pairs",
        call(ChromaticSelfAttention, 8, 2, edge_ablation=2.0),
        "edge_ablation is 2.0; expected a number from 0 to 1.",
    ),
    *(
        (
            f"an encoding of no {name}",
            call(encoding, 0, 8),
            f"the number of columns of {name} is 0; expected a whole number, 1 or more.",
        )
        for encoding, name in (
            (LaplacianEncoding, "laplacian_eigenvectors"),
            (SVDEncoding, "svd"),
            (WalkEncoding, "rwse"),
        )
    ),
    (
        "an encoder without layers",
        call(TransformerEncoder, 0, 8, 2, 8),
        "num_layers is 0; expected a whole number, 1 or more.",
    ),
    ("pairs of -1 nodes", call(complete_edge_index, -1), "num_nodes is -1; expected a whole numb"),
    (
        "a table of distances without a row",
        call(SpatialEncoding, 2, -2),
        "max_distance is -2; expected a whole number, 0 or more.",
    ),
    (
        "a table of degrees without a row",
        call(CentralityEncoding, -1, 3, 8),
        "max_in_degree is -1; expected a whole number, 0 or more.",
    ),
    (
        "paths of no edge",
        call(EdgeEncoding, 2, 4, 3, 0),
        "max_length is 0; expected a whole number, 1 or more.",
    ),
    (
        "a layer of Graphormer without the batch that its edges are in",
        call(GraphormerLayer(8, 2, num_edge_types=(4,)), torch.zeros(1, 3, 8)),
        "a layer with vectors of edges is given a NoneType; expected a GraphBatch, such as colla",
    ),
    (
        "a bias of no encodings",
        call(PairBias, 2, []),
        "encodings is empty; expected one encoding of pairs, or more.",
    ),
    (
        "one module in place of a list",
        call(Graphormer, GraphormerConfig(**SMALL_SIZES), SpatialEncoding(2, 3)),
        "node_encodings is of type SpatialEncoding; expected a list of modules.",
    ),
    (
        "a function in place of a module",
        call(EGT, EGTConfig(**SMALL_SIZES, d_edge=4), [len]),
        "an entry of node_encodings is of type builtin_function_or_method; expected a module.",
    ),
    *(
        (
            f"a list of encodings for {model.__name__}",
            call(model, config, [SpatialEncoding(2, 3)]),
            "node_encoding is of type list; expected a module.",
        )
        for model, config in ((GIN, GINConfig()), (BagTransformer, BagTransformerConfig()))
    ),
    (
        "a perturbation of other nodes",
        call(
            Graphormer(GraphormerConfig(**SMALL_SIZES)),
            collate(encode(CHAINS, AddDegrees(), AddShortestPaths(), AddPathEdges(20))),
            perturbation=torch.zeros(3, 1, 8),
        ),
        "perturbation is [3, 1, 8] and the embeddings of the nodes are [3, 3, 8]; expected the sa",
    ),
    (
        "categories of edges for the width of a type",
        call(
            GRPE(GRPEConfig(**SMALL_SIZES, num_edge_types=(11,), edge_step=0.1)),
            collate(encode(CHAINS, AddShortestPaths())),
        ),
        "edge_attr has dtype torch.int64; expected floats, of which edge_step, 0.1, is the width ",
    ),
    (
        "a mask of other nodes for batch norm",
        call(NodeBatchNorm(4), torch.zeros(2, 3, 4), torch.ones(2, 4, dtype=torch.bool)),
        "mask is [2, 4] for rows [2, 3, 4]; expected [2, 3].",
    ),
    (
        "more virtual nodes than tokens",
        call(between_nodes, ATTENTION, 3),
        "virtual_nodes is 3, and there are 3 tokens; expected fewer",
    ),
    (
        "distances of other graphs",
        call(attention_by_hop, ATTENTION, zeros(1, 2, 2), ONE_MASK, 2),
        "distance is torch.int64 [1, 2, 2]; expected torch.int64 [1, 3, 3].",
    ),
    (
        "distances that are floats, for attention",
        call(attention_by_hop, ATTENTION, torch.zeros(1, 3, 3), ONE_MASK, 2),
        "distance is torch.float32 [1, 3, 3]; expected torch.int64 [1, 3, 3].",
    ),
    (
        "distances in a list",
        call(attention_by_hop, ATTENTION, [[0]], ONE_MASK, 2),
        "distance is of type list; expected a tensor.",
    ),
    *(
        (
            f"{function.__name__} of one layer",
            call(function, ATTENTION[:, 0], *others, ONE_MASK, *more),
            "attention has shape [1, 2, 3, 3] and mask [1, 3]; expected [B, L, H, T, T] and [B, T]",
        )
        for function, others, more in [
            (attention_by_hop, (zeros(1, 3, 3),), (2,)),
            (attention_by_kind, (zeros(1, 3, 3),), ()),
            (attention_entropy, (), ()),
            (attention_rollout, (), ()),
        ]
    ),
    (
        "heads of all layers to compare",
        call(head_similarity, ATTENTION, ATTENTION, ONE_MASK),
        "attention has shape [1, 1, 2, 3, 3] and mask [1, 3]; expected [B, H, T, T] and [B, T]",
    ),
    (
        "attention of a single graph",
        call(probabilities, ATTENTION[0, 0, 0], ONE_MASK),
        "attention has shape [3, 3] and mask [1, 3]; expected [B, ..., T, T] and [B, T]",
    ),
    (
        "shares of tokens without the virtual nodes",
        call(read_by_graph, ATTENTION[:, 0, 0], ONE_MASK, 1),
        "tokens is [1, 3, 3] for 1 virtual nodes and a mask of 3 nodes; expected [1, 4, 4].",
    ),
    (
        "a mask of numbers for attention to interpret",
        call(attention_entropy, ATTENTION, ONE_MASK.long()),
        "mask is torch.int64; expected torch.bool, True at real tokens.",
    ),
    (
        "attention in an array",
        call(attention_entropy, ATTENTION.numpy(), ONE_MASK),
        "attention is of type ndarray; expected a tensor.",
    ),
    *(
        (
            f"kinds from {kind}",
            call(attention_by_kind, torch.full((1, 1, 1, 2, 2), 0.5), torch.tensor(kind), ALL_TWO),
            f"kind has values from {min(kind[0][0])} to {max(kind[0][0])}; expected 0 to 4, as",
        )
        for kind in ([[[0, 9], [9, 0]]], [[[-1, 0], [0, -1]]])
    ),
    *(
        (
            f"a weight of {weight} for attention",
            call(probabilities, torch.full((1, 2, 2), weight), ALL_TWO),
            f"attention has the weight {weight:.3g}; expected the weights that a model returns, 0",
        )
        for weight in (-0.5, NAN)
    ),
    *(
        (
            f"{function.__name__} in inference mode",
            in_inference_mode(function),
            WITHOUT_GRADIENTS,
        )
        for function in (gradient_times_input, attention_times_gradient)
    ),
    (
        "a gradient for a batch that was made in inference mode",
        lambda folder: gradient_of_inference_batch,
        WITHOUT_GRADIENTS,
    ),
    (
        "fitting in inference mode",
        in_inference_mode(fit_small),
        WITHOUT_GRADIENTS,
    ),
    (
        "fitting a model that was made in inference mode",
        lambda folder: fit_of_inference_tensors,
        WITHOUT_GRADIENTS,
    ),
    (
        "kinds of fewer pairs",
        call(attention_by_kind, ATTENTION, zeros(1, 2, 2), ONE_MASK),
        "kind is torch.int64 [1, 2, 2]; expected torch.int64 [1, 3, 3].",
    ),
    (
        "kinds of pairs of a list of graphs",
        call(pair_kinds, CHAINS),
        "pair_kinds is given a list; expected a GraphBatch, such as collate(graphs) returns.",
    ),
    (
        "a head of a layer that updates no nodes",
        lambda folder: (
            ablated(
                EGT(EGTConfig(d_model=8, d_edge=4, num_heads=2, num_layers=1, target="edge")),
                [(0, 0)],
            ).__enter__
        ),
        "layer 0 of EGT updates no nodes; expected a layer before it.",
    ),
    (
        "kinds of pairs by distances that are lowered",
        lambda folder: (
            lambda: pair_kinds(
                collate(encode([chain(6)], AddShortestPaths(2), AddRings(3))), near=3
            )
        ),
        "distances are lowered to 2 or less, and nodes up to 3 hops apart are near; expected exact",
    ),
    *(
        (f"heads that are {str(heads)[:20]!r}", call(without_head, heads), says)
        for heads, says in [
            ([3], "heads is [3]; expected pairs of a layer and a head, such as [(0, 3)]."),
            (3, "heads is 3; expected pairs of a layer and a head, such as [(0, 3)]."),
            (None, "heads is None; expected pairs of a layer and a head, such as [(0, 3)]."),
            ([(0, 1, 2)], "heads is [(0, 1, 2)]; expected pairs of a layer and a head, such as"),
            ([(0.0, 1.0)], "heads is [(0.0, 1.0)]; expected pairs of a layer and a head, such a"),
            (["03"], "heads is ['03']; expected pairs of a layer and a head, such as [(0, 3)]."),
            (torch.ones(2, 2), "heads is tensor([[1., 1.], [1., 1.]]); expected pairs of a laye"),
            (np.array(3), "heads is array(3); expected pairs of a layer and a head, such as [(0"),
        ]
    ),
    *(
        (f"a character that no SMILES has: {text!a}", predicted(["CCO", text]), says)
        for text, says in [
            (
                "CCO\0",
                "(U+0000), which no SMILES contains; expected ASCII letters, digits and signs.",
            ),
            ("C\u0421", "(U+0421), which no SMILES contains; expected ASCII letters, digits and"),
            ("C\u2212C", "(U+2212), which no SMILES contains; expected ASCII letters, digits and"),
            ("CC\u200bO", "(U+200B), which no SMILES contains; expected ASCII letters, digits and"),
        ]
    ),
    (
        "logits of values",
        predicted(["C"], logits=True),
        "logits has no effect on csa/zinc, which predicts v",
    ),
    (
        "rows of logits of values",
        lambda folder: partial(load("csa/zinc").predict_rows, ["C"], logits=True),
        "logits has no effect on csa/zinc, which predicts values; expected a classifier.",
    ),
    (
        "an empty name of a model",
        call(load, ""),
        "the model is ''; expected its name, or the folder of",
    ),
    (
        "memory of a negative number of nodes",
        lambda folder: partial(load("csa/zinc").memory_of, -1),
        "nodes is -1; expected a whole number, 1 or more.",
    ),
    (
        "exporting a model in place of a predictor",
        lambda folder: partial(export, load("csa/zinc").model),
        "predictor is of type CGT; expected a Predictor, as load('csa/zinc') returns.",
    ),
    (
        "None as the path of an ONNX file",
        lambda folder: partial(save_onnx, load("csa/zinc"), None),
        "the ONNX file is None; expected the path of a file.",
    ),
    (
        "a string in place of a list of models",
        call(explorer.page, "csa/zinc", ["C"]),
        "models is 'csa/zinc'; expecte",
    ),
    (
        "no molecules to explore",
        call(explorer.page, ["csa/zinc"], []),
        "smiles is empty; expected a list of one or more.",
    ),
    *(
        (
            f"models to explore: {models!r}",
            call(explorer.page, models, smiles),
            says,
        )
        for models, smiles, says in [
            (5, ["C"], "models is of type int; expected a list of one or more."),
            ([5], ["C"], "the model is 5; expected its name, or the folder of its run."),
            (["csa/zinc"], None, "smiles is of type NoneType; expected a list of one or more."),
            (["csa/zinc"], {"C"}, "smiles is of type set; expected a list of one or more."),
            (["csa/zinc"], (text for text in "CO"), "smiles is of type generator; expected a lis"),
            (["csa/zinc"], [None], "the SMILES is None; expected a text."),
        ]
    ),
    *(
        (
            f"a name to explore by {function.__name__}",
            call(function, "csa/zinc", *others),
            "predictor is of type str; expected a Predictor, as load('csa/zinc') returns.",
        )
        for function, others in [(explorer.model, ()), (explorer.effects, (["C"],))]
    ),
    (
        "one molecule whose effects are to be shown",
        lambda folder: partial(explorer.effects, load("csa/zinc"), "CC"),
        "smiles is 'CC'; expected a list of SMILES.",
    ),
    *(
        (f"{function.__name__} of {given!r}", call(function, given), says)
        for function in (zinc_data, molecule_graph, ogb_molecule)
        for given, says in [
            (None, "the SMILES is None; expected a text."),
            (5, "the SMILES is 5; expected a text."),
            (b"C", "the SMILES is b'C'; expected a text."),
        ]
    ),
    ("fingerprints of what is no molecule", call(fingerprints, ["CCX"]), "'CCX' is not a molecule"),
    ("fingerprints of a missing value", call(fingerprints, [None]), "the SMILES is None; expected"),
    ("no fingerprints", call(fingerprints, []), "there are no molecules; expected one or more."),
    *(
        (
            f"the penalised logP of {molecule!r}",
            call(penalized_logp, molecule),
            f"molecule is {molecule!r}; expected one of RDKit, as Chem.MolFromSmiles(smiles) ret",
        )
        for molecule in (None, "CCO")
    ),
    (
        "no list to split",
        call(scaffold_split, None, 0),
        "smiles is of type NoneType; expected a list of SMILES",
    ),
    (
        "a missing value to split",
        call(scaffold_split, [None], 0),
        "the SMILES is None; expected a text.",
    ),
    *(
        (f"a batch with {name} in a list", partial_batch(**{name: values}), says)
        for name, values, says in [
            ("x", [[0]], "x is of type list; expected a tensor."),
            ("mask", [True], "mask is of type list; expected a tensor."),
            ("adjacency", None, "adjacency is of type NoneType; expected a tensor."),
            ("edge_attr", [[0]], "edge_attr is of type list; expected a tensor."),
            ("y", [1.0], "y is of type list; expected a tensor."),
            ("encodings", None, "encodings is of type NoneType; expected a dict of tensors by na"),
            ("encodings", {"distance": [0]}, "the encoding 'distance' is of type list; expected"),
            ("target", ["graph"], "target is ['graph']; expected 'graph', 'node' or 'edge'."),
        ]
    ),
    (
        "an adjacency that is none",
        call(shortest_paths, None),
        "adjacency is of type NoneType; expected a tensor.",
    ),
    *(
        (f"{function.__name__} of {given!r:.30}", call(function, given), says)
        for function in (laplacian, laplacian_eigenvectors)
        for given, says in [
            ([[0]], "adjacency is of type list; expected a tensor."),
            (torch.zeros(2), "adjacency is [2]; expected [B, n, n]."),
            (torch.zeros(1, 2, 3), "adjacency is [1, 2, 3]; expected [B, n, n]."),
            (-torch.ones(1, 2, 2), "adjacency has the weight -1; expected finite weights, 0 or mo"),
            (torch.full((1, 2, 2), NAN), "adjacency has the weight nan; expected finite weights"),
            (
                torch.ones(1, 2, 2, dtype=torch.complex64),
                "adjacency is torch.complex64; expected real weights, or bool.",
            ),
        ]
    ),
    (
        "an adjacency of one graph",
        call(laplacian_eigenvectors, torch.zeros(2, 2)),
        "adjacency is [2, 2]; expected [B, n, n], such as adjacency[None] of one graph.",
    ),
    *(
        (
            f"a folder to finish that holds {content}",
            prepared_folder(content, lambda folder: prepare(three_chains(), folder)),
            "graphs.json is missing or damaged (its format is not",
        )
        for content in ("[]", "{}")
    ),
    (
        "encodings to store that are none",
        lambda folder: partial(prepare, three_chains(), folder / "new", stored=None),
        "stored is None; expected a list of encodings of this package.",
    ),
    (
        "workers for an executor",
        lambda folder: partial(prepare, three_chains(), folder / "new", executor=2),
        "executor is 2; expected one of concurrent.futures, such as process_pool(2), or None.",
    ),
    *(
        (
            f"a pool of {workers!r}",
            call(process_pool, workers),
            f"workers is {workers!r}; expected a whole number, 1 or more.",
        )
        for workers in (0, "2")
    ),
    *(
        (
            f"{d_model!r} channels and {num_heads!r} heads",
            call(MultiHeadAttention, d_model, num_heads),
            f"d_model is {d_model!r} and num_heads is {num_heads!r}; expected a d_model that is a",
        )
        for d_model, num_heads in [("8", 2), (8, None), (8, 0), (7, 2)]
    ),
    *(
        (f"a list for {function.__name__}", call(function, [[1.0]], 0), says)
        for function, says in [
            (token_mask, "mask is of type list; expected a tensor."),
            (between_nodes, "attention is of type list; expected a tensor."),
        ]
    ),
    (
        "attention of fewer queries than keys",
        call(between_nodes, ATTENTION[..., :2, :], 0),
        "attention has shape [1, 1, 2, 2, 3]; expected [..., T, T].",
    ),
    (
        "shares of tokens in a list",
        call(read_by_graph, [[1.0]], ONE_MASK),
        "tokens is of type list; expected a tensor.",
    ),
    *(
        (
            f"categories of sizes {sizes!r}",
            call(CategoryEmbedding, sizes, 8),
            says,
        )
        for sizes, says in (
            ("28", "a size is '2'; expected a whole number, 1 or more."),
            ((2.5,), "a size is 2.5; expected a whole number, 1 or more."),
            ((True,), "a size is True; expected a whole number, 1 or more."),
            ((), "sizes is (); expected a number above 0 for each column."),
        )
    ),
    (
        "a number for a scale",
        call(tasks.graph_regression, 5),
        "scale is 5; expected a Scale of the targets, or None.",
    ),
    (
        "the scale of a single number",
        call(tasks.Scale, 1.0, 2.0),
        "mean is 1.0 and sd is 2.0; expected a tuple of numbers each.",
    ),
    (
        "no path of a record",
        call(read_record, None),
        "the record is None; expected the path of a f",
    ),
    *(
        (f"results of {folders!r}", call(read_results, folders), says)
        for folders, says in [
            (None, "folders is None; expected a list of folders."),
            ("runs", "folders is 'runs'; expected a list of folders."),
            ([None], "a folder of runs is None; expected the path of a folder."),
        ]
    ),
    (
        "the costs of a list of graphs",
        call(step_costs, small_transformer(), tasks.graph_regression(), CHAINS),
        "step_costs is given a list; expected a GraphBatch, such as collate(graphs) returns.",
    ),
    ("a network without widths", call(mlp, 8), "a network has the widths (8,); expected two or m"),
    (
        "a share in words",
        call(attention_rollout, ATTENTION, ONE_MASK, residual="half"),
        "residual is 'half'; expected a number from 0 to 1.",
    ),
    (
        "a truth value for a share",
        call(attention_rollout, ATTENTION, ONE_MASK, residual=True),
        "residual is True; expected a number from 0 to 1.",
    ),
    (
        "a predictor without its model, to leave nodes out",
        lambda folder: partial(leave_one_out, load("csa/zinc"), collate(CHAINS)),
        "model is of type Predictor; expected a model, such as load('csa/zinc').model.",
    ),
    (
        "no model to evaluate",
        call(evaluate, None, tasks.graph_regression(), DenseLoader(CHAINS, 2)),
        "model is None; expected a model, such as GIN(GINConfig()).",
    ),
    *(
        (f"{function.__name__} of {recipe!r}", call(function, recipe, *others), says)
        for function, recipe, others, says in [
            (data_for, None, ("embedded",), "recipe is None; expected a Recipe, or the name of o"),
            (at_budget, None, (three_chains(),), "recipe is None; expected a Recipe, or the name"),
            (fine_tuned, None, ("csa/zinc",), "recipe is None; expected a Recipe, or the name of"),
            (measure, 5, (three_chains(),), "recipe is 5; expected a Recipe, or the name of one."),
            (data_for, "gin", ("embedded",), "there is no recipe 'gin'; expected one such as"),
        ]
    ),
    *(
        (
            f"a list of graphs for {function.__name__}",
            call(function, RECIPE, CHAINS),
            "data is of type list; expected a GraphDataset, graphs in three splits.",
        )
        for function in (at_budget, measure)
    ),
    (
        "errors that nobody recorded",
        call(line_to_beat, "molecules", 7),
        "no errors of simple predictors are recorded for 'molecules, 7 molecules'; expected one of",
    ),
    *(
        (
            f"a graph in graph6: {text!r}",
            call(from_graph6, text),
            f"{text!r} is no graph in graph6; expected one such as 'Bw'.",
        )
        for text in ("", None, "é", "B")
    ),
    *(
        (f"{build.__name__} of {sizes!r}", call(build, sizes), says)
        for build in (build_pattern, build_cluster, build_tsp, build_cycles)
        for sizes, says in [
            ([], "split_sizes is []; expected three numbers of graphs: train, val, test."),
            (None, "split_sizes is None; expected three numbers of graphs: train, val, test."),
            ("abc", "split_sizes is 'abc'; expected three numbers of graphs: train, val, test."),
            ([-2, 2, 2], "a size of split_sizes is -2; expected a whole number, 0 or more."),
            ([0, 0, 0], "split_sizes is [0, 0, 0]; expected one graph or more."),
        ]
    ),
    *(
        (f"a picture: {says[:30]}", call(draw, *given, **named), says)
        for draw, given, named, says in [
            (plots.molecules, ("CCO",), {"alt": "a"}, "smiles is 'CCO'; expected a list of one SM"),
            (plots.molecules, ([],), {"alt": "a"}, "smiles is []; expected a list of one SMILES o"),
            (
                plots.molecules,
                (["CCX"],),
                {"alt": "a"},
                "'CCX' is not a molecule that RDKit can re",
            ),
            (
                plots.molecules,
                (["CO", "C"],),
                {"alt": "a", "legends": ["one"]},
                "legends has 1 lines; expected one for each molecule.",
            ),
            (
                plots.molecules,
                (["CO", "C"],),
                {"alt": "a", "values": [[1.0, 2.0], [1.0, 2.0]]},
                "values has [2, 2] numbers; expected one for each atom, [2, 1].",
            ),
            (
                plots.molecules,
                (["CO"],),
                {"alt": "a", "outlined": [0]},
                "outlined is [0]; expected an atom or None for each molecule, and values.",
            ),
            (plots.draw_graph, (torch.ones(2, 3),), {}, "adjacency is [2, 3]; expected [2, 2]."),
            (
                plots.draw_graph,
                (torch.ones(2, 2),),
                {"labels": ["a"]},
                "labels has 1 entries; expected one for each of 2 nodes.",
            ),
            (
                plots.draw_graph,
                (torch.ones(2, 2),),
                {"values": [1, 2], "colors": "red"},
                "colors has no effect beside values; expected one of the two.",
            ),
            (
                plots.draw_graph,
                (torch.ones(2, 2),),
                {"limits": (0, 1)},
                "limits has no effect without values; expected values as well.",
            ),
            (
                plots.draw_graph,
                (torch.ones(2, 2),),
                {"values": [1.0]},
                "values is [1]; expected [2].",
            ),
            (
                plots.draw_graph,
                (torch.ones(2, 2),),
                {"positions": np.ones((1, 2))},
                "positions is [1, 2]; expected [2, 2].",
            ),
            (
                plots.attention_map,
                (ATTENTION,),
                {},
                "weights is [1, 1, 2, 3, 3]; expected a tensor",
            ),
            (
                plots.attention_map,
                ([[1.0]],),
                {},
                "weights is list; expected a tensor [N, M], of o",
            ),
            (
                plots.table,
                (["a", "b"], [[1]]),
                {},
                "the row ['1'] has 1 cells; expected 2, one for",
            ),
            (plots.model_color, (None,), {}, "the model is None; expected a name that begins with"),
        ]
    ),
    (
        "no patterns",
        call(build_pattern, [1, 1, 1], 0),
        "num_patterns is 0; expected a whole number",
    ),
    (
        "no image",
        call(pixel_graph, None),
        "image is NoneType; expected a NumPy array [height, width",
    ),
    (
        "a row of pixels",
        call(pixel_graph, np.ones(5)),
        "image is (5,); expected a NumPy array [heig",
    ),
    *(
        (f"a table by {given}", own_csv("smiles,y\nCCO,1\n", **given), says)
        for given, says in [
            ({"smiles": None}, "the name of a column is None; expected a string."),
            ({"targets": None}, "targets is None; expected a list of columns."),
            ({"targets": [0]}, "the name of a column is 0; expected a string."),
            ({"split": 3}, "the name of a column is 3; expected a string."),
        ]
    ),
    (
        "None as the path of a table",
        call(read_csv, None, "smiles", ["y"], "regression"),
        "the table is None; expected",
    ),
    (
        "one molecule to split",
        call(scaffold_split, "CCO", 0),
        "smiles is 'CCO'; expected a list of",
    ),
    (
        "molecules to split without an order",
        call(scaffold_split, {"CCO"}, 0),
        "smiles is of type set; expected a list of",
    ),
    (
        "an unreadable molecule to split",
        call(scaffold_split, ["CCX"], 0),
        "'CCX' is not a molecule",
    ),
    (
        "evaluating with the name of a task",
        evaluated("mae", [0.0], [1.0], [0.0]),
        "task is 'mae'; expec",
    ),
    *(
        (f"a run with {options}", trained_with(**options), says)
        for options, says in [
            ({"buckets": 0}, "buckets is 0; expected a whole number, 1 or more."),
            ({"buckets": "8"}, "buckets is '8'; expected a whole number, 1 or more."),
            ({"resume": "yes"}, "resume is 'yes'; expected True, False or None."),
        ]
    ),
    *(
        (
            f"a run in {out!r}",
            lambda folder, out=out: partial(train, RECIPE, tiny("zinc", 6), command="", out=out),
            f"out is {out!r}; expected the path of a folder, or None.",
        )
        for out in ("", 5)
    ),
    (
        "None as the command of a run",
        lambda folder: partial(train, RECIPE, tiny("zinc", 6), command=None, out=folder / "run"),
        "command is None; expected a string.",
    ),
    (
        "None as the recipe of a run",
        lambda folder: partial(train, None, tiny("zinc", 6), command="", out=folder / "run"),
        "recipe is None; expected a Recipe, or the name of one.",
    ),
    (
        "a learning rate as text",
        lambda folder: lambda: at_budget(RECIPE, tiny("zinc", 6), learning_rate="0.1"),
        "learning_rate is '0.1'; expected a number above 0.",
    ),
    (
        "a dict in place of a recipe",
        call(own_recipe, {}, "regression", ["y"]),
        "recipe is {}; expected a",
    ),
    *(
        (
            f"the targets {targets!r}",
            call(own_recipe, "csa/zinc", "regression", targets),
            f"targets is {targets!r}; expected a list of one or more different names.",
        )
        for targets in (None, [1], {"y"})
    ),
    (
        "results of a folder that does not exist",
        lambda folder: partial(read_results, [folder / "lost"]),
        "lost is not a folder; expected one with runs.",
    ),
]


# The command line: the message is on stderr, the exit status is not 0, there is no traceback.


class CommandError(Exception):
    """What the command wrote to stderr, in one line."""


def typed(*words: str) -> Make:
    """``gtcourse WORDS``; a word that begins with @ is a path in the folder."""

    def make(folder: Path) -> Callable:
        tiny_zinc_file(folder)
        (folder / "file").write_text("no graph file")
        (folder / "my.csv").write_text("smiles,y\nCCO,1\nCCN,2\n")
        save_file({"w": torch.ones(1)}, folder / "weights.safetensors")
        return lambda: command([str(folder / w[1:]) if w.startswith("@") else w for w in words])

    return make


def on_cluster(content: str | None) -> Make:
    """``gtcourse prepare`` on a cluster of Dask with such a scheduler file, or without one."""

    def make(folder: Path) -> Callable:
        path = folder / "scheduler.json"
        if content is not None:
            path.write_text(content)
        words = ["prepare", "csl", "--out", str(folder / "out"), "--scheduler", str(path)]

        def enter() -> None:
            with patch("gtcourse.cli.DASK_SECONDS", 0.2):
                command(words)

        return enter

    return make


def command(words: list[str]) -> None:
    stderr = StringIO()
    status = 0
    with (
        patch.object(sys, "argv", ["gtcourse", *words]),
        patch.dict("os.environ", {"COLUMNS": "5000", "TERM": "dumb"}),
        redirect_stderr(stderr),
        redirect_stdout(StringIO()),
    ):
        try:
            main()
        except SystemExit as stop:
            status = stop.code
    assert status not in (0, None)
    lines = [line.strip(" │|") for line in stderr.getvalue().splitlines()]
    frame = ("Usage:", "Try ", "╭", "╰", "+")
    raise CommandError(" ".join(line for line in lines if line and not line.startswith(frame)))


TRAIN = ("train", "gin-100k/zinc", "--data", "@zinc.npz", "--out", "@runs")
COMMANDS = [
    (f"gtcourse {' '.join(words)}"[:99], typed(*words), says, CommandError)
    for words, says in [
        (("dance",), "No such command 'dance'."),
        (("recipes", "csa"), "there is no recipe 'csa'; expected one such as"),
        (("data", "zink"), "there is no dataset 'zink'; expected one of molecules,"),
        (("data", "zinc", "--source", "@file"), "/file cannot be read ("),
        (("train",), "Missing argument"),
        ((*TRAIN[:2], "--data", "nowhere"), "data is 'nowhere'; expected 'embedded', 'real', the"),
        ((*TRAIN, "--budget", "huge"), "Invalid value for '--budget'"),
        ((*TRAIN, "--epochs", "0"), "Invalid value for '--epochs'"),
        ((*TRAIN, "--seed", "9" * 20), "Invalid value for '--seed'"),
        *(
            ((*TRAIN, option, value), f"{option} has no effect without --csv; expected --csv with")
            for option, value in [
                ("--target", "y"),
                ("--task", "binary"),
                ("--split", "part"),
                ("--smiles", "s"),
                ("--folds", "5"),
                ("--max-atoms", "50"),
            ]
        ),
        (
            (*TRAIN, "--start", "csa/zinc"),
            "csa/zinc (CGT) cannot start a model of the recipe gin-100k/zinc (GIN)",
        ),
        ((*TRAIN, "--largest-fragment"), "--largest-fragment has no effect without --csv; expecte"),
        ((*TRAIN, "--csv", "@file", "--target", "y"), "--data has no effect with --csv; expected "),
        ((*TRAIN, "--fold", "1"), "--fold has no effect without --folds; expected --folds as well"),
        ((*TRAIN, "--jobs", "2"), "--jobs has no effect on a single run; expected several --seed"),
        ((*TRAIN, "--resume", "--auto-resume"), "--resume and --auto-resume are both given; expec"),
        ((*TRAIN[:2], "--csv", "@file"), "--csv needs a column to predict; expected --target NAME"),
        (
            (*TRAIN[:2], "--csv", "@file", "--target", "y", "--task", "classification"),
            "Invalid value for '--task'",
        ),
        (
            (*TRAIN[:2], "--csv", "@my.csv", "--target", "y", "--start", "egt-100k/molecules"),
            "egt-100k/molecules (EGT) cannot start a model of the recipe gin-100k/zinc (GIN)",
        ),
        (
            (
                "train",
                "egt-100k/zinc",
                "--csv",
                "@my.csv",
                "--target",
                "y",
                "--start",
                "egt-100k/molecules",
                "--out",
                "@runs",
            ),
            "d_model is 56, not 48",
        ),
        (
            (
                *("train", "csa-rings-1-head/zinc", "--csv", "@my.csv", "--target", "y"),
                *("--start", "csa-rings/zinc", "--out", "@runs"),
            ),
            "csa-rings/zinc (CGT) cannot start a model of the recipe csa-rings-1-head/zinc (CGT): "
            "num_heads is 8, not 1; expected a trained model of the same configuration.",
        ),
        (("recipes", "csa/zinc", "--dataset", "zinc"), "--dataset has no effect on one recipe"),
        (("data", "--source", "download"), "--source has no effect on the list; expected a data"),
        (("predict", "csa/zinc"), "there is no molecule; expected SMILES or --csv FILE."),
        (("predict", "csa/zinc", "C", "--smiles", "s"), "--smiles has no effect without --csv"),
        (
            ("predict", "csa/zinc", "C", "--logits"),
            "--logits has no effect on csa/zinc, which predicts values; expected a classifier.",
        ),
        (
            ("predict", "csa/zinc", "CCX"),
            "there is no prediction: 'CCX' is not a molecule that RDKit",
        ),
        (("predict", "csa/zinc", ""), "there is no prediction: '' has no atoms; expected at least"),
        (
            ("predict", "csa/zinc", "CCX", "[U]", "--out", "@out.csv"),
            "none of 2 rows has a prediction; the reason for the first: 'CCX' is not a molecule",
        ),
        (
            ("predict", "csa/zinc", "CCO", "CCN", "--max-atoms", "2"),
            "the reason for the first: it has 3 atoms; expected at most 2.",
        ),
        (
            ("predict", "csa/zinc", "--csv", "@my.csv", "--out", "@my.csv"),
            "my.csv, the file of --csv; expected the name of another file.",
        ),
        (
            ("predict", "csa/zinc", "CCO", "--out", "@out.csv.gz"),
            "out.csv.gz, but the table is written as CSV; expected a name that ends in .csv, .tsv",
        ),
        (
            ("predict", "csa/zinc", "CCO", "--out", "@file/out.csv"),
            "file, a file; expected a folder to write to.",
        ),
        (("predict", "@weights.safetensors", "CCO"), "holds no record of a run beside its weights"),
        (
            ("explore", "csa/zinc", "CCO", "--out", "@file/page.html"),
            "file, a file; expected a folder to write to.",
        ),
        (
            ("prepare", "csl", "--out", "@file"),
            "file, a file; expected a folder to write to.",
        ),
        ((*TRAIN[:-1], "@file"), "file, a file; expected a folder to write to."),
        ((*TRAIN, "--learning-rate", "inf"), "--learning-rate is inf; expected a number above 0."),
        ((*TRAIN, "--learning-rate", "0"), "--learning-rate is 0; expected a number above 0."),
        (
            (*TRAIN[:2], "--data", "@my.csv"),
            "my.csv, a table; expected --csv with its path, or the path of an .npz graph file.",
        ),
        (
            (*TRAIN[:2], "--csv", "@my.csv", "--target", "y", "--folds", "3", "--split", "y"),
            "--split is the column 'y', which has no effect with --folds; expected scaffold or",
        ),
        (
            (*TRAIN[:2], "--csv", "@my.csv", "--target", "z", "--seed", "0", "--seed", "1"),
            "has no column 'z'; expected one of smiles, y.",
        ),
        (("recipes", "--dataset", "zink"), "there is no dataset 'zink'; expected one of molecules"),
        (
            ("recipes", "--dataset", "csl"),
            "there is no published recipe for 'csl'; expected one of",
        ),
        (("results", "@"), "there is no finished run in "),
        (
            ("results", "@", "--all", "--dataset", "zink"),
            "there is no dataset 'zink'; expected one",
        ),
        (
            ("explore", "csa/zinc", "C", "--out", "@page.csv"),
            "page.csv; expected the name of a web",
        ),
        ((*TRAIN, "--form", "fused"), "form is 'fused' for gin-100k/zinc; expected a recipe "),
        *(
            ((*words, "--out", ""), "Invalid value for '--out': the path is empty; expected the n")
            for words in [
                TRAIN[:2],
                ("predict", "csa/zinc", "C"),
                ("explore", "csa/zinc", "C"),
                ("prepare", "csl"),
            ]
        ),
        *(
            ((*words, "--csv", ""), "Invalid value for '--csv': the path is empty; expected the n")
            for words in [(*TRAIN[:2], "--target", "y"), ("predict", "csa/zinc")]
        ),
        (
            ("explore", "csa/zinc, egt", "C", "--out", "@page.html"),
            "egt is not a trained model; expected one of",
        ),
        ((*TRAIN, "--accumulate", "0"), "Invalid value for '--accumulate'"),
        ((*TRAIN, "--resume"), "holds no run to resume; expected the folder of a run"),
        *(
            (
                (*words, "--data", "csl"),
                "csl does not fit csa/zinc: graph 0: x has dtype torch.float32; expected whole num",
            )
            for words in [("bench", "csa/zinc"), ("costs", "csa/zinc")]
        ),
        (("results", "@nowhere"), "Invalid value for 'folders'"),
        (("costs", "gin-100k/zinc", "--nodes", "0"), "Invalid value for '--nodes'"),
        (("prepare", "zink", "--out", "@out"), "there is no dataset 'zink'; expected one of"),
        (("prepare", "csl", "--out", "@out", "--workers", "0"), "Invalid value for '--workers'"),
        (
            ("prepare", "csl", "--out", "@out", "--scheduler", ""),
            "--scheduler is '', which cannot be reached (missing port number in address '')",
        ),
        (
            ("prepare", "csl", "--out", "@out", "--root", "@file"),
            "/file is a file; expected a folder for data sets.",
        ),
        (
            ("prepare", "csl", "--out", "@out", "--workers", "2", "--scheduler", "tcp://a:1"),
            "--workers has no effect with --scheduler; expected one of the two.",
        ),
    ]
]

COMMANDS += [
    (f"a scheduler file with {content}", on_cluster(content), says, CommandError)
    for content, says in [
        (None, "scheduler.json', which cannot be reached (there was no such file for 0.2 seconds)"),
        ('{"address"', "scheduler.json', which cannot be reached (the file holds no address); exp"),
        ('{"workers": 2}', "scheduler.json', which cannot be reached (the file holds no address)"),
        ("[]", "scheduler.json', which cannot be reached (the file holds no address); expected th"),
    ]
]

TABLE = [*ARRAYS, *FILES, *GRAPHS, *BATCHES, *RUNS, *RECORDS, *OWN, *KINDS, *COMMANDS]


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_invalid_input_raises_one_sentence_and_leaves_no_file(tmp_path, row):
    _, make, says, error = (*row, ValueError)[:4]
    enter = make(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(error) as raised:
        enter()
    assert contents(tmp_path) == before  # a pickle that is executed leaves a file
    sentence = str(raised.value.args[0])
    assert says.replace("{folder}", str(tmp_path)) in sentence
    assert "\n" not in sentence
    if not sentence.startswith(OF_TYPER):
        assert sentence.endswith(".")
        assert EXPECTED.search(sentence)


def test_the_payload_would_run_if_it_were_unpickled(tmp_path):
    pickle.loads(pickle.dumps(Payload(tmp_path / "executed")))
    assert (tmp_path / "executed").exists()
