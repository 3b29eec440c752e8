"""EGT: the paper's print, the authors' code and ours, measured on trained models."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from experiments.differs.common import batches, changed, count, molecules
from gtcourse import GraphBatch, collate
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.models import EGT, EGTConfig
from gtcourse.models.egt import EGTAttention, EGTLayer
from gtcourse.recipes import RECIPES
from gtcourse.training.leaderboard import LEADERBOARD, trained

NAME = "egt-100k"
RANGE = 5.0


def as_printed(attention: EGTAttention, *, value_of: str = "j", heard: str = "H", clip: str = "A"):
    """Replaces the attention of one layer by a form that the paper prints, or may mean.

    Args:
        value_of: whose value the sum of Eq. 6 has, "j" or, as printed, "i".
        heard: what Eq. 7 hands on, the softmax's input "H" or, for the printed H with a tilde, the
            gated weights "A".
        clip: what Eq. 5 clips, the dot product "A" or all of the softmax's input "H".
    """
    plain = attention.clip

    def forward(h: Tensor, e: Tensor, *, mask: Tensor, return_attention: bool = False):
        query, key, value = attention.qkv(h).unflatten(-1, (3, attention.num_heads, -1)).unbind(-3)
        dot = torch.einsum("bihk,bjhk->bhij", query, key) * attention.scale
        shift, gate = attention.edge_input(e).permute(0, 3, 1, 2).chunk(2, dim=1)
        if clip == "A":
            logits = dot.clamp(-plain, plain) + shift
        else:
            logits = (dot + shift).clamp(-plain, plain)
        allowed = mask[:, None]
        lowest = torch.finfo(logits.dtype).min
        weights = logits.masked_fill(~allowed, lowest).softmax(-1) * gate.sigmoid() * allowed
        sender = "bhij,bjhk->bihk" if value_of == "j" else "bhij,bihk->bihk"
        z = attention.output(torch.einsum(sender, weights, value).flatten(-2))
        z = z.masked_fill(~mask.any(-1)[..., None], 0.0)
        told = logits if heard == "H" else weights
        return z, told.permute(0, 2, 3, 1), *([weights] if return_attention else [])

    attention.forward = forward


def in_all_layers(change: Callable[[EGTAttention], None], model: nn.Module) -> None:
    for layer in model.layers:
        change(layer.attention)


def unscaled(attention: EGTAttention) -> None:
    attention.scale = 1.0


@torch.no_grad()
def clipped() -> dict:
    """How far logits go, before the clip and with the pairs' shift; and what a later clip does."""
    model, products, beyond, pairs_seen = trained(NAME), 0.0, 0, 0

    def look(attention: EGTAttention, given: tuple, options: dict, result: tuple) -> None:
        nonlocal products, beyond, pairs_seen
        h, mask = given[0], options["mask"]
        query, key, _ = attention.qkv(h).unflatten(-1, (3, attention.num_heads, -1)).unbind(-3)
        dot = torch.einsum("bihk,bjhk->bijh", query, key)[mask] * attention.scale
        products = max(products, dot.abs().max().item())
        logits = result[1][mask]
        beyond += (logits.abs() > RANGE).sum().item()
        pairs_seen += logits.numel()

    for layer in model.layers:
        layer.attention.register_forward_hook(look, with_kwargs=True)
    for batch in batches(LEADERBOARD[NAME].transforms):
        model(batch)
    later = changed(NAME, partial(in_all_layers, partial(as_printed, clip="H")))
    return {"largest": products, "beyond": beyond / pairs_seen} | later


def norms() -> dict:
    """The deviation of vectors that start within 0.05 of zero, behind a norm."""
    torch.manual_seed(0)
    start = torch.empty(1000, 64).uniform_(-0.05, 0.05)
    return {name: nn.LayerNorm(64, eps)(start).std().item()
            for name, eps in (("torch", 1e-5), ("keras", 1e-3))}  # fmt: skip


def last_layer() -> dict:
    """The 500K model for ZINC, as it is and with what nobody reads of its last layer."""
    build = RECIPES["egt-500k/zinc"].build_model
    config = build.args[0]

    def unread() -> nn.Module:
        last = EGTLayer(config.d_model, config.d_edge, config.num_heads)
        return nn.ModuleList([last.edge_output, last.edge_network, nn.LayerNorm(config.d_edge)])

    return {"ours": count(build), "with_all": count(build) + count(unread)}


def shifts() -> dict:
    """Numbers of the 500K model that its linear maps add, of which the paper prints none."""
    with torch.device("meta"):
        model = RECIPES["egt-500k/zinc"].build_model()
    linear = [m for m in model.layers.modules() if isinstance(m, nn.Linear)]
    return {
        "shifts": sum(m.bias.numel() for m in linear if m.bias is not None),
        "all": count(RECIPES["egt-500k/zinc"].build_model),
    }


@torch.no_grad()
def simple_norm() -> dict:
    """How much pairs shift the logits of a fresh EGT-Simple, with a norm before and without."""
    torch.manual_seed(0)
    config = EGTConfig(variant="simple", d_model=80, d_edge=8, svd_rank=8)
    model = EGT(config).eval()
    batch = batches(LEADERBOARD[NAME].transforms)[0]
    e = model.edge_input(batch)[batch.pair_mask]
    maps = [layer.attention.edge_input for layer in model.layers]
    plain = torch.stack([edges(e)[:, : config.num_heads] for edges in maps])
    normed = torch.stack([edges(nn.LayerNorm(8)(e))[:, : config.num_heads] for edges in maps])
    return {"plain": plain.std().item(), "normed": normed.std().item()}


def attend_to_padding(model: EGT) -> None:
    """As the later code: the mask's rows of virtual nodes leave padding in."""
    plain = model.pair_mask

    def pair_mask(batch: GraphBatch) -> Tensor:
        mask = plain(batch).clone()
        mask[:, : model.config.virtual_nodes] = True
        return mask

    model.pair_mask = pair_mask


@torch.no_grad()
def virtual_padding() -> dict:
    """How much the company of a batch moves the predictions of a fresh model with virtual nodes."""
    together, found = batches(LEADERBOARD[NAME].transforms), {}
    graphs = encode(molecules(), *LEADERBOARD[NAME].transforms)
    for whose in ("ours", "theirs"):
        torch.manual_seed(0)
        model = EGT(EGTConfig(num_layers=4, svd_rank=8, virtual_nodes=4)).eval()
        if whose == "theirs":
            attend_to_padding(model)
        in_batches = torch.cat([model(batch) for batch in together])
        alone = torch.cat([model(collate([graph])) for graph in graphs])
        found[whose] = (in_batches - alone).abs().mean().item()
    return found | {"spread": alone.std().item()}


def within_reach(distance: Tensor, k: int) -> Tensor:
    """The authors' first structure: for 1 to k steps, whether j is that near, ``[…, k]``."""
    steps = torch.arange(1, k + 1)
    return ((distance[..., None] >= 0) & (distance[..., None] <= steps)).to(torch.float32)


def masks() -> dict:
    """Pairs that their table cannot tell apart and ours can: a node itself and its neighbour."""
    graphs = encode(molecules(), AddShortestPaths())
    steps = torch.cat([graph.distance.flatten() for graph in graphs])
    theirs = within_reach(steps, 16)
    kinds = torch.unique(theirs, dim=0)
    ours = torch.unique(steps.masked_fill(steps < 0, 16).clamp(max=16))
    return {
        "theirs": len(kinds),
        "ours": len(ours),
        "alike": ((steps == 0) | (steps == 1)).double().mean().item(),
    }


MEASURES = {
    "value": partial(changed, NAME, partial(in_all_layers, partial(as_printed, value_of="i"))),
    "heard": partial(changed, NAME, partial(in_all_layers, partial(as_printed, heard="A"))),
    "clip": clipped,
    "scale": partial(changed, NAME, partial(in_all_layers, unscaled)),
    "shifts": shifts,
    "norms": norms,
    "last-layer": last_layer,
    "simple": simple_norm,
    "masks": masks,
    "virtual-padding": virtual_padding,
}
"""The rows "signs" and "objective" are about recorded runs."""
