"""Pre-training on ZINC, fine-tuning on HIV inhibition: ``python -m experiments.pretraining``.

GSA-Tiny learns the target of the 10,000 training molecules of ZINC. Its weights but for the head
then start a model of HIV inhibition that sees 500 molecules of ogbg-molhiv, beside the same model
from scratch. A seed decides on the 500 molecules, the weights that start anew and the order.
"""

import argparse
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from rdkit import Chem
from torch import Tensor

from experiments.runs import Run, store, train
from gtcourse import load_dataset
from gtcourse.course.records import RECORDS
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.graphs.molecules import FEATURES, canonical_graph
from gtcourse.models import GRPE, GRPEConfig
from gtcourse.recipes.adapt import read_csv
from gtcourse.runs.overview import baselines
from gtcourse.runs.record import read_record, read_weights, write_record
from gtcourse.train.tasks import graph_classification

FEATURIZE, ATOMS, BONDS = FEATURES["any"]  # ZINC's own have no place for HIV's molecules
CONFIG = GRPEConfig(
    num_node_types=ATOMS, num_edge_types=BONDS, d_model=64, num_heads=8, num_layers=4
)  # Table 1
PRE_TRAINING = Run(partial(GRPE, CONFIG), asdict(CONFIG), epochs=6, batch_size=64)
FINE_TUNING = Run(
    partial(GRPE, CONFIG),
    asdict(CONFIG),
    task=graph_classification,
    epochs=20,
    batch_size=32,
    peak=1e-3,
)
FEW = 500
"""Training molecules drawn from ogbg-molhiv; for validation and test, all are used."""
LARGEST = 30
"""Atoms of the largest molecules that are used: the time of a batch grows with their square."""
NAME = "grpe-tiny/zinc-pretraining"


def start_from(weights: dict[str, Tensor]) -> GRPE:
    """A model with trained weights, but for its head."""
    model = GRPE(CONFIG)
    head = {name: value for name, value in model.state_dict().items() if name.startswith("head.")}
    model.load_state_dict(weights | head)
    return model


def zinc_molecules(path: Path) -> GraphDataset:
    """ZINC's training and validation molecules with features that every molecule has."""
    zinc = load_dataset("zinc", source=path)
    graphs = []
    for graph in zinc:
        again, _ = canonical_graph(graph.smiles, FEATURIZE)
        again.y = graph.y
        graphs.append(again)
    return encode(replace(zinc, graphs=graphs), AddShortestPaths())


def num_atoms(smiles: str) -> int:
    """Atoms of a molecule; 0 if RDKit cannot read it, as it cannot a few with metals."""
    molecule = Chem.MolFromSmiles(smiles)
    return 0 if molecule is None else molecule.GetNumAtoms()


def drawn(path: Path, seed: int) -> GraphDataset:
    """Molecules of ogbg-molhiv of up to ``LARGEST`` atoms; a seed draws those for training."""
    table = pd.read_csv(path)
    table["atoms"] = table["smiles"].map(num_atoms)
    table = table[table["atoms"].between(1, LARGEST)]
    parts = [
        part.sample(FEW, random_state=seed) if name == "train" else part
        for name, part in table.groupby("split")
    ]
    with TemporaryDirectory() as folder:
        chosen = Path(folder, f"molhiv-{FEW}.csv")
        pd.concat(parts).sort_values("atoms").to_csv(chosen, index=False)  # padded less
        return read_csv(chosen, "smiles", ["HIV_active"], "binary", split="split")[0]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--zinc", type=Path, required=True, help="ZINC-12k as a graph file")
    parser.add_argument("--molhiv", type=Path, required=True, help="ogbg-molhiv as a CSV file")
    parser.add_argument("--seeds", nargs="*", type=int, default=[0, 1, 2])
    parser.add_argument(
        "--weights",
        type=Path,
        default=Path("runs/pretraining"),
        help="folder for the trained weights, read if they are there",
    )
    parser.add_argument("--out", type=Path, default=RECORDS / "pretraining.jsonl")
    args = parser.parse_args()
    command = f"python -m experiments.pretraining --zinc {args.zinc.name} --molhiv …"
    args.weights.mkdir(parents=True, exist_ok=True)
    file = args.weights / "record.json"
    if not file.exists():
        data = zinc_molecules(args.zinc)
        found = train(NAME, PRE_TRAINING, data, 0, command, weights=args.weights)
        write_record(found, file)
        store(replace(found, weights=""), args.out)
    weights = read_weights(read_record(file), args.weights)
    for seed in args.seeds:
        few = drawn(args.molhiv, seed)
        simple = baselines(few, graph_classification())
        few = encode(few, AddShortestPaths())
        started = replace(FINE_TUNING, build=partial(start_from, weights))
        for start, run in (("scratch", FINE_TUNING), ("pretrained", started)):
            found = train(f"grpe-tiny-{start}/molhiv-500", run, few, seed, command)
            found.config["simple_predictors_auroc"] = simple
            store(found, args.out)
