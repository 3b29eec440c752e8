"""Every malformed input that the course knows, by the boundary where it enters."""

from __future__ import annotations

from dataclasses import replace

from tests.bad_input import (
    commands,
    encodings,
    graph_arrays,
    graph_files,
    graphs_in_memory,
    records,
    runs,
    shards,
    tensor_files,
)

BOUNDARIES = {
    "arrays of graph files": graph_arrays.CASES,
    "graph files": graph_files.CASES,
    "graphs, batches, loaders": graphs_in_memory.CASES,
    "transforms": encodings.CASES,
    "recipes and runs": runs.CASES,
    "records": records.CASES,
    "weights and checkpoints": tensor_files.CASES,
    "shards": shards.CASES,
    "the command line": commands.CASES,
}

CASES = [
    replace(case, boundary=boundary) for boundary, cases in BOUNDARIES.items() for case in cases
]
