"""CSA: the paper's print, the authors' code and ours, measured on trained models."""

from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn

from experiments.differs.common import (
    batches,
    changed,
    count,
    few_molecules,
    molecules,
    over_heads,
    predictions,
    short_training,
)
from gtcourse.encodings import AddRandomWalks, AddRings, AddShortestPaths, encode
from gtcourse.models import CGT, CGTConfig
from gtcourse.recipes import RECIPES
from gtcourse.training.leaderboard import LEADERBOARD, trained

NAME = "csa-100k"
WITH_DISTANCES = CGTConfig(
    d_model=48,
    num_heads=4,
    num_layers=4,
    d_position=16,
    relative="distances",
    relative_steps=8,
    edge_ablation=0.0,
)


def stored_lengths(distance: Tensor) -> Tensor:
    """What the authors' code stores as the length of a shortest path.

    Its loop changes the matrix that it multiplies with: after the round that stores 3, each round
    reaches twice as far as the one before. Distances 1, 2, 3, 4, 5 to 8, 9 to 16 are stored as
    1, 2, 3, 3, 4, 5.
    """
    doubled = distance.clamp(min=1).double().log2().ceil().long() + 1
    return torch.where(distance > 2, doubled, distance)


class AddStoredLengths(AddShortestPaths):
    """``distance`` as the authors' code has it."""

    def compute(self, *given) -> dict[str, Tensor]:
        return {"distance": stored_lengths(super().compute(*given)["distance"].long())}


def lengths() -> dict:
    """How many pairs get another's vector, and what training makes of it."""
    steps = torch.cat([g.distance.flatten() for g in encode(molecules(), AddShortestPaths())])
    others = steps[steps > 0].long()
    within = others[others <= 8]
    true = few_molecules((AddShortestPaths(), AddRandomWalks(20)))
    stored = few_molecules((AddStoredLengths(), AddRandomWalks(20)))
    build = partial(CGT, WITH_DISTANCES)
    return {
        "pairs": (stored_lengths(within) != within).double().mean().item(),
        "lengths": len(within.unique()),
        "kept": len(stored_lengths(within).unique()),
        "true": short_training("true lengths", build, true),
        "stored": short_training("stored lengths", build, stored),
    }


def too_far() -> dict:
    """Pairs that have no walk of at most p steps, for which the code has a zero vector."""
    steps = torch.cat([g.distance.flatten() for g in encode(molecules(), AddShortestPaths())])
    others = steps[steps != 0]
    return {f"beyond_{p}": ((others > p) | (others < 0)).double().mean().item() for p in (8, 10)}


@torch.no_grad()
def shift_of_walks() -> dict:
    """The shift of the walks' map, taken out and put into the maps to logits and values."""
    model = trained(NAME)
    given = batches(LEADERBOARD[NAME].transforms)
    before = predictions(model, given)
    fold_shift(model)
    return {"moved": (predictions(model, given) - before).abs().max().item()}


@torch.no_grad()
def fold_shift(model: CGT) -> None:
    """Takes the shift of the walks' map, which Eq. 12 has not, without changing the model."""
    projection = model.edge_encoding.relative.projection
    for maps in model.edge_maps:
        for linear in (maps.logits, maps.values):
            linear.bias += linear.weight[:, -projection.out_features :] @ projection.bias
    projection.bias.zero_()


@torch.no_grad()
def ablated_rows() -> dict:
    """What is left of the sums of a trained model's rows when pairs are silenced, p = 1/2."""
    torch.manual_seed(0)
    model = trained(NAME)
    batch = batches(LEADERBOARD[NAME].transforms)[0]
    _, attention = model(batch, return_attention=True)
    pairs = nn.functional.dropout(torch.ones_like(attention[:, :1, :1]), 0.5)
    sums = (attention * pairs).sum(dim=-1).permute(0, 3, 1, 2)[batch.mask].flatten()
    low, high = sums.quantile(torch.tensor([0.05, 0.95])).tolist()
    return {"mean": sums.mean().item(), "low": low, "high": high}


@torch.no_grad()
def queries() -> dict:
    """With an additive score, what other queries change."""
    torch.manual_seed(0)
    model = CGT(replace(WITH_DISTANCES, score="additive")).eval()
    given = batches((AddShortestPaths(), AddRandomWalks(20)))[:2]
    before = predictions(model, given)
    for layer in model.layers:
        layer.attention.query.weight.normal_()
    return {"moved": (predictions(model, given) - before).abs().max().item()}


def unused_norms() -> dict:
    """The model for ZINC, and the parameters of a norm in each layer that nothing reads."""
    config = RECIPES["csa/zinc"].build_model.args[0]
    ours = count(RECIPES["csa-rings/zinc"].build_model)
    unread = 2 * config.d_model * config.num_layers
    return {"ours": ours, "unread": unread, "with_them": ours + unread}


def layers() -> dict:
    """The small model for PCQM4Mv2 with the five layers of the code and the sixteen of Table 6."""
    config = RECIPES["csa-small/pcqm4mv2"].build_model.args[0]
    return {
        name: count(partial(CGT, replace(config, num_layers=number)))
        for name, number in (("five", 5), ("sixteen", 16))
    }


def heads() -> dict:
    config = RECIPES["csa-rings/zinc"].build_model.args[0]
    return {
        name: count(partial(CGT, replace(config, num_heads=number)))
        for name, number in (("four", 4), ("eight", 8))
    }


def rings() -> dict:
    """Pairs of atoms on a common ring, with a bond and without."""
    bound = bonds = pairs = 0
    for graph in encode(molecules(), AddRings(18)):
        ring = graph.ring.bool()
        bound += ring.sum().item()
        bonds += ring[tuple(graph.edge_index)].sum().item()
        pairs += ring.numel() - len(ring)
    return {"bound": bound / pairs, "without_bond": 1 - bonds / bound}


MEASURES = {
    "scale": lambda: changed(NAME, over_heads(NAME)),
    "lengths": lengths,
    "too-far": too_far,
    "shift": shift_of_walks,
    "ablation": ablated_rows,
    "additive": queries,
    "rings": rings,
    "heads": heads,
    "layers": layers,
    "unread": unused_norms,
}
