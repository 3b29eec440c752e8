"""Every malformed input that the course knows, by the boundary where it enters."""

from __future__ import annotations

from dataclasses import replace

from tests.bad_input import (
    commands,
    configs,
    encodings,
    graph_files,
    graphs_in_memory,
    runs,
    shards,
    stored_files,
)

BOUNDARIES = {
    "graph files": graph_files.CASES,
    "graphs, batches, loaders": graphs_in_memory.CASES,
    "transforms": encodings.CASES,
    "models": configs.CASES,
    "recipes and runs": runs.CASES,
    "records, weights, checkpoints": stored_files.CASES,
    "shards": shards.CASES,
    "the command line": commands.CASES,
}

CASES = [
    replace(case, boundary=boundary) for boundary, cases in BOUNDARIES.items() for case in cases
]
