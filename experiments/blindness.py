"""The ladder of blindness: ``python -m experiments.blindness --zinc zinc12k.npz`` (half an hour).

What each representation of the chapters cannot tell apart, and the smallest possible error that
this leaves: on all connected graphs of up to 8 nodes, on the embedded molecules and on ZINC.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np

from experiments.runs import store_measurement
from gtcourse import GraphDataset, load_dataset
from gtcourse.course.blindness import (
    VIEWS,
    LabelledGraph,
    collisions,
    connected_graphs,
    error_floor,
    labelled,
    smallest_pair,
)

RECORD = Path("gtcourse/course/records/blindness.json")
LARGEST = 8

SMALL = {"1-WL": (1, 2, 3)}
MOLECULES = {
    "masked attention": (1, 2, 3),
    "1-WL": (1, 2, 3, 4),
    "1-WL with bonds": (1, 2, 3, 4),
    "distances": (1,),
    "EGT": (1, 2, 3),
    "GRPE": (1,),
    "CSA": (1,),
    "CSA with rings": (1,),
}
"""Views that are also computed for so many layers; all are computed until nothing changes."""


def rungs(deeper: dict[str, tuple[int, ...]]) -> dict:
    """Every view, and those for a number of layers, by name."""
    views = {}
    for name, view in VIEWS.items():
        for layers in deeper.get(name, ()):
            views[f"{name}, {layers} layers"] = replace(view, rounds=layers)
        views[name] = view
    return views


def small_graphs() -> dict[str, dict]:
    graphs = connected_graphs(LARGEST)
    rows = {}
    for name, view in rungs(SMALL).items():
        classes = view.classes(graphs)
        pair = smallest_pair(classes, graphs)
        rows[name] = {
            "classes": int(classes.max()) + 1,
            "pairs": collisions(classes),
            "smallest": None if pair is None else [graph6(graph) for graph in pair],
        }
        print(name, rows[name], flush=True)
    return {"graphs": len(graphs), "views": rows}


def molecules(dataset: GraphDataset) -> dict[str, dict]:
    graphs = [labelled(graph) for graph in dataset.graphs]
    y = np.array([float(graph.y) for graph in dataset.graphs])
    finest = VIEWS["CSA with rings"].classes(graphs)
    same = isomorphism_classes(graphs, finest)
    identical = collisions(same)
    rows = {}
    for name, view in rungs(MOLECULES).items():
        classes = view.classes(graphs)
        has_twin = np.bincount(classes)[classes] > np.bincount(same)[same]
        rows[name] = {
            "pairs": collisions(classes) - identical,
            "with_twin": int(has_twin.sum()),
            "floor": round(error_floor(classes, y), 5),
        }
        print(name, rows[name], flush=True)
    return {
        "graphs": len(graphs),
        "identical_pairs": identical,
        "irreducible_floor": round(error_floor(same, y), 5),
        "views": rows,
    }


def isomorphism_classes(graphs: Sequence[LabelledGraph], classes: np.ndarray) -> np.ndarray:
    """A number for each molecule, ``[G]``: equal ones are one graph with the same labels."""
    numbers = np.arange(len(graphs))
    networks = {}
    representatives: dict[int, list[int]] = {}
    for index, found in enumerate(classes.tolist()):
        known = representatives.setdefault(found, [])
        networks[index] = as_networkx(graphs[index])
        for other in known:
            if nx.is_isomorphic(
                networks[index],
                networks[other],
                node_match=lambda a, b: a["atom"] == b["atom"],
                edge_match=lambda a, b: a["bond"] == b["bond"],
            ):
                numbers[index] = numbers[other]
                break
        else:
            known.append(index)
    _, numbers = np.unique(numbers, return_inverse=True)
    return numbers


def as_networkx(graph: LabelledGraph) -> nx.Graph:
    network = nx.Graph()
    for node, atom in enumerate(graph.atoms.tolist()):
        network.add_node(node, atom=atom)
    for one, other in zip(*np.triu(graph.bonds).nonzero(), strict=True):
        network.add_edge(int(one), int(other), bond=int(graph.bonds[one, other]))
    return network


def graph6(graph: LabelledGraph) -> str:
    network = nx.from_numpy_array(graph.adjacency)
    return nx.to_graph6_bytes(network, header=False).decode().strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zinc", required=True, help="an .npz graph file of ZINC-12k")
    args = parser.parse_args()
    zinc = load_dataset("zinc", args.zinc)
    embedded = load_dataset("molecules")
    content = {
        "name": "blindness",
        "data": [zinc.provenance, embedded.provenance],
        "small graphs": small_graphs(),
        "zinc": molecules(zinc),
        "molecules": molecules(embedded),
    }
    store_measurement(
        RECORD, content, f"python -m experiments.blindness --zinc {Path(args.zinc).name}"
    )


if __name__ == "__main__":
    main()
