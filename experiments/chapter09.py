"""The recorded runs of chapter 09: ``python -m experiments.chapter09``, about two CPU hours.

The Chromatic Graph Transformer on molecules: relative encodings with and without rings (Table 4),
colour and edge values (Table 5), heads (Table 7), and what the paper mentions and does not measure.
A model of one head and 16 channels, whose channels are looked at (Figure 3).
"""

from dataclasses import asdict, replace
from functools import partial

import torch
from torch import Tensor, nn

from experiments.chapter07 import first_training
from experiments.runs import command_line, record_all, record_run
from gtcourse import DenseLoader, load_dataset
from gtcourse.analysis import attention_by_kind, pair_kinds
from gtcourse.encodings import AddRandomWalks, AddRings, AddShortestPaths, encode
from gtcourse.graphs.molecules import largest_ring, parse
from gtcourse.graphs.ragged import GraphDataset
from gtcourse.models import CGT, CGTConfig
from gtcourse.training.records import Record

TRAIN_MOLECULES = 4000
EPOCHS, BATCH_SIZE = 20, 64
STEPS, RING_SIZE = 20, 18

WALKS = CGTConfig(d_model=48, d_position=16, num_heads=8, num_layers=4, edge_ablation=0.0)
RINGS = replace(WALKS, rings="categorical")
"""The model of all tables but for what they vary."""

CHANNELS = replace(RINGS, d_model=16, d_position=8, num_heads=1)
SHORTEST = {"relative": "distances", "relative_steps": 8}
MONO = {"chromatic": False}
RUNS = {
    "csa-rings/molecules": RINGS,
    "csa/molecules": WALKS,
    "csa-distances/molecules": replace(WALKS, **SHORTEST),
    "csa-rings-distances/molecules": replace(RINGS, **SHORTEST),
    "csa-rings-additive/molecules": replace(RINGS, rings="additive"),
    "csa-rings-mono/molecules": replace(RINGS, **MONO),
    "csa-rings-no-value/molecules": replace(RINGS, edge_values=False),
    "csa-rings-mono-no-value/molecules": replace(RINGS, **MONO, edge_values=False),
    "csa-rings-1-head/molecules": replace(RINGS, num_heads=1),
    "csa-rings-mono-1-head/molecules": replace(RINGS, **MONO, num_heads=1),
    "csa-rings-48-heads/molecules": replace(RINGS, num_heads=48),
    "csa-rings-add-scores/molecules": replace(RINGS, score="additive"),
    "csa-rings-edge-ablation/molecules": replace(RINGS, edge_ablation=0.5),
    "csa-16-channels/molecules": CHANNELS,
}


def load() -> GraphDataset:
    """Molecules with all that any of the runs reads."""
    data = first_training(load_dataset("molecules"), TRAIN_MOLECULES)
    return encode(data, AddRandomWalks(STEPS), AddRings(RING_SIZE), AddShortestPaths())


def scores(model: nn.Module, test: DenseLoader, large: Tensor) -> dict[str, object]:
    """The error on molecules with a ring of more than 6 atoms, and on the others; the channels'.

    Args:
        large: ``[graphs]``, whether a test molecule has such a ring.
    """
    model.eval()
    with torch.no_grad():
        error = torch.cat([(model(batch) - batch.y).abs() for batch in test]).cpu()
    result = {}
    for name, chosen in {"large_rings": large, "other": ~large}.items():
        result[f"test_mae_{name}"] = float(error[chosen].mean())
        result[f"test_median_{name}"] = float(error[chosen].median())
    if model.config.d_model == CHANNELS.d_model:
        result |= channels(model, test)
    return result


@torch.no_grad()
def channels(model: nn.Module, test: DenseLoader) -> dict[str, list]:
    """What each channel of each layer looks at, over the first test molecules."""
    batch = next(iter(test))
    _, attention = model(batch, return_attention=True)
    shares, even = attention_by_kind(attention, pair_kinds(batch), batch.mask)
    return {"attention_by_kind": rounded(shares), "even_by_kind": rounded(even)}


def rounded(shares: Tensor) -> list:
    """Nested lists of five digits."""
    if shares.dim():
        return [rounded(part) for part in shares]
    return round(float(shares), 5)


def record(name: str, seed: int, epochs: int, data: GraphDataset) -> Record:
    large = torch.tensor([largest_ring(parse(graph.smiles)) > 6 for graph in data.test])
    return record_run(
        name,
        partial(CGT, RUNS[name]),
        data,
        config=asdict(RUNS[name]),
        seed=seed,
        epochs=epochs,
        batch_size=BATCH_SIZE,
        more_scores=partial(scores, large=large),
        command=f"python -m experiments.chapter09 {name} --seeds {seed} --epochs {epochs}",
    )


def main() -> None:
    args = command_line(__doc__.splitlines()[0], RUNS, EPOCHS).parse_args()
    data = load()
    record_all(args, lambda name, seed: record(name, seed, args.epochs, data))


if __name__ == "__main__":
    main()
