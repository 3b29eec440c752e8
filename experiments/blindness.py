"""The ladder of blindness: ``python -m experiments.blindness --zinc zinc12k.npz`` (a few minutes).

What each representation of the chapters cannot tell apart, and the smallest possible error that
this leaves: on all connected graphs of up to 8 nodes, on the embedded molecules and on ZINC.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np

from experiments.runs import store_measurement
from gtcourse import GraphDataset, load_dataset
from gtcourse.course.blindness import (
    VIEWS,
    LabelledGraph,
    best_accuracy,
    collisions,
    connected_graphs,
    error_floor,
    labelled,
    smallest_pair,
    unlabelled,
)

RECORD = Path("gtcourse/course/records/blindness.json")
LARGEST = 8

RING_ROUNDS = (0, 1, 2, 3, 4)
TRAIN = 0
TEST = 2
CYCLES = 2000

SMALL = {"1-WL": (1, 2, 3)}
MOLECULES = {
    "masked attention": (1, 2, 3),
    "GAT": (1, 2, 3, 4),
    "1-WL": (1, 2, 3, 4),
    "1-WL with bonds": (1, 2, 3, 4),
    "distances": (1,),
    "EGT": (1, 2, 3),
    "GRPE": (1,),
    "CSA": (1,),
    "CSA with rings": (1,),
}
"""Views that are also computed for so many layers; all are computed until nothing changes."""


def rungs(
    graphs: Sequence[LabelledGraph], deeper: dict[str, tuple[int, ...]]
) -> Iterator[tuple[str, np.ndarray]]:
    """The classes of every view, and those for a number of layers, by name."""
    for name, view in VIEWS.items():
        begin = time.time()
        layers = deeper.get(name, ())
        *by_round, stable = view.classes_by_round(graphs, max(layers, default=0))
        print(f"{name}: {time.time() - begin:.1f} s", flush=True)
        for rounds in layers:
            yield f"{name}, {rounds} layers", by_round[rounds]
        yield name, stable


def small_graphs() -> dict[str, dict]:
    graphs = connected_graphs(LARGEST)
    rows = {}
    for name, classes in rungs(graphs, SMALL):
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
    for name, classes in rungs(graphs, MOLECULES):
        has_twin = np.bincount(classes)[classes] > np.bincount(same)[same]
        rows[name] = {
            "pairs": collisions(classes) - identical,
            "with_twin": int(has_twin.sum()),
            "floor": round(error_floor(classes, y), 5),
        }
        print(name, rows[name], flush=True)
    return {
        "data": dataset.provenance,
        "graphs": len(graphs),
        "identical_pairs": identical,
        "irreducible_floor": round(error_floor(same, y), 5),
        "views": rows,
    }


def ring_atoms(dataset: GraphDataset) -> list[dict]:
    """Whether an atom is in a ring, by the rounds of 1-WL with bonds.

    The floor is the share of atoms that every function of the colour gets wrong, at best. A colour
    is known if an atom of a training molecule has it.
    """
    graphs = [labelled(graph) for graph in dataset.graphs]
    in_ring = np.concatenate([on_a_cycle(graph) for graph in graphs])
    sizes = [len(graph.atoms) for graph in graphs]
    split = np.repeat(dataset.split, sizes)
    rows = []
    for rounds in RING_ROUNDS:
        view = replace(VIEWS["1-WL with bonds"], rounds=rounds)
        colours = np.concatenate(view.colours(graphs))
        known = np.isin(colours[split == TEST], np.unique(colours[split == TRAIN]))
        row = {
            "rounds": rounds,
            "colours": int(colours.max()) + 1,
            "floor": round(1 - best_accuracy(colours, in_ring), 6),
            "known": round(float(known.mean()), 5),
        }
        rows.append(row)
        print("atoms in rings", row, flush=True)
    return rows


def on_a_cycle(graph: LabelledGraph) -> np.ndarray:
    """True for the nodes of a cycle: those with an edge that is no bridge, ``[n]``."""
    network = nx.from_numpy_array(graph.adjacency)
    network.remove_edges_from(list(nx.bridges(network)))
    return np.array([degree > 0 for _, degree in sorted(network.degree)])


def cycles() -> dict[str, float]:
    """The best possible accuracy on CYCLES, on its first test graphs."""
    dataset = load_dataset("cycles")
    graphs = [unlabelled(labelled(graph).adjacency) for graph in dataset.test[:CYCLES]]
    y = np.array([int(graph.y) for graph in dataset.test[:CYCLES]])
    views = {"GAT": VIEWS["GAT"]}
    for rounds in (1, 2, 3, 4):
        views[f"1-WL, {rounds} layers"] = replace(VIEWS["1-WL"], rounds=rounds)
    views["bag of return walks, 8 steps"] = VIEWS["bag of return walks, 8 steps"]
    views["distances, 1 layers"] = replace(VIEWS["distances"], rounds=1)
    found = {name: round(best_accuracy(view.classes(graphs), y), 5) for name, view in views.items()}
    print("cycles", found, flush=True)
    return {"graphs": len(graphs), "best_accuracy": found}


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
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--zinc", help="an .npz graph file of ZINC-12k, for the part of that name")
    args = parser.parse_args()
    parts = args.parts or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        parser.error(f"there is no part {unknown[0]!r}; expected {', '.join(PARTS)}.")
    if {"atoms", "zinc"} & {*parts} and args.zinc is None:
        parser.error("the parts atoms and zinc need --zinc, the graph file of ZINC-12k.")
    for part in parts:
        found = PARTS[part](args.zinc)
        content = json.loads(RECORD.read_text()) if RECORD.exists() else {"name": "blindness"}
        content[part] = found
        command = "python -m experiments.blindness --zinc zinc12k.npz"
        store_measurement(RECORD, content, command)


PARTS = {
    "small": lambda zinc: small_graphs(),
    "cycles": lambda zinc: cycles(),
    "atoms": lambda zinc: ring_atoms(load_dataset("zinc", zinc)),
    "molecules": lambda zinc: molecules(load_dataset("molecules")),
    "zinc": lambda zinc: molecules(load_dataset("zinc", zinc)),
}
"""What the record has, each written as soon as it is computed."""


if __name__ == "__main__":
    main()
