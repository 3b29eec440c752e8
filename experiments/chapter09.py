"""Chapter 09: ``python -m experiments.chapter09``, about two CPU hours.

The Chromatic Graph Transformer on molecules: relative encodings with and without rings (Table 4),
colour and edge values (Table 5), heads (Table 7), and what the paper mentions and does not measure.
A model of one head and 16 channels, whose channels are looked at (Figure 3).
"""

from dataclasses import asdict, replace
from functools import cache, partial

import torch
from torch import nn

from experiments.runs import Run, first_graphs, main
from gtcourse import DenseLoader, load_dataset
from gtcourse.encodings import AddRandomWalks, AddRings, AddShortestPaths, encode
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.graphs.molecules import largest_ring, parse
from gtcourse.interpret import attention_by_kind, pair_kinds
from gtcourse.models import CGT, CGTConfig

TRAIN_MOLECULES = 4000
STEPS = 20
RING_SIZE = 18

WALKS = CGTConfig(d_model=48, d_position=16, num_heads=8, num_layers=4, edge_ablation=0.0)
RINGS = replace(WALKS, rings="categorical")
"""The model of all tables but for what they vary."""

CHANNELS = replace(RINGS, d_model=16, d_position=8, num_heads=1)
SHORTEST = {"relative": "distances", "relative_steps": 8}
MONO = {"chromatic": False}
CONFIGS = {
    "csa-rings": RINGS,
    "csa": WALKS,
    "csa-distances": replace(WALKS, **SHORTEST),
    "csa-rings-distances": replace(RINGS, **SHORTEST),
    "csa-rings-distances-alone": replace(RINGS, **SHORTEST, node_steps=0, d_position=0),
    "csa-distances-alone": replace(WALKS, **SHORTEST, node_steps=0, d_position=0),
    "csa-rings-additive": replace(RINGS, rings="additive"),
    "csa-rings-mono": replace(RINGS, **MONO),
    "csa-rings-no-value": replace(RINGS, edge_values=False),
    "csa-rings-mono-no-value": replace(RINGS, **MONO, edge_values=False),
    "csa-rings-1-head": replace(RINGS, num_heads=1),
    "csa-rings-mono-1-head": replace(RINGS, **MONO, num_heads=1),
    "csa-rings-48-heads": replace(RINGS, num_heads=48),
    "csa-rings-add-scores": replace(RINGS, score="additive"),
    "csa-rings-edge-ablation": replace(RINGS, edge_ablation=0.5),
    "csa-16-channels": CHANNELS,
}


@cache
def load(name: str) -> GraphDataset:
    """Molecules with all that any of the runs reads."""
    data = first_graphs(load_dataset(name), TRAIN_MOLECULES)
    return encode(data, AddRandomWalks(STEPS), AddRings(RING_SIZE), AddShortestPaths())


@torch.no_grad()
def scores(model: nn.Module, test: DenseLoader) -> dict[str, object]:
    """The error on molecules with a ring of more than 6 atoms, and on the others; the channels'."""
    large = torch.tensor([largest_ring(parse(g.smiles)) > 6 for g in load("molecules").test])
    model.eval()
    error = torch.cat([(model(batch) - batch.y).abs() for batch in test]).cpu()
    result = {}
    for name, chosen in {"large_rings": large, "other": ~large}.items():
        result[f"test_mae_{name}"] = float(error[chosen].mean())
        result[f"test_median_{name}"] = float(error[chosen].median())
    if model.config.d_model == CHANNELS.d_model:
        batch = next(iter(test))  # what each channel of each layer looks at
        _, attention = model(batch, return_attention=True)
        shares, even = attention_by_kind(attention, pair_kinds(batch), batch.mask)
        result["attention_by_kind"] = shares.double().round(decimals=5).tolist()
        result["even_by_kind"] = even.double().round(decimals=5).tolist()
    return result


RUNS = {
    f"{name}/molecules": Run(partial(CGT, config), asdict(config), batch_size=64, scores=scores)
    for name, config in CONFIGS.items()
}

if __name__ == "__main__":
    main("chapter09", RUNS, load)
