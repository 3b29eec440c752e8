"""What a pair costs: ``python -m benchmarks.egt``.

1. Forward and backward of the 500K model for molecules on batches of 64, beside the straightforward
   version below, which computes every pair of the padded batch: in time, and in time for each real
   pair of nodes.
2. Where the time goes, by part of the layer.

Both versions have the same weights and give the same numbers; they take turns, so that whatever
else the machine does meets both.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from benchmarks.costs import milliseconds, rows
from benchmarks.graphormer import plain_step
from benchmarks.report import command_line, provenance, store
from gtcourse import GraphBatch, GraphDataset, collate, load_dataset
from gtcourse.encodings import AddSVD, encode
from gtcourse.models import EGT, EGTConfig
from gtcourse.models.egt_layers import EGTAttention, EGTLayer
from gtcourse.models.heads import mean_pool
from gtcourse.models.pairs import Pairs

BATCH, BATCHES, THREADS = 64, 3, 2
ROUNDS = 7
CONFIG = EGTConfig(num_layers=10, d_model=64, d_edge=64, svd_rank=8)


class PaddedEGT(nn.Module):
    """The same function, written as the equations read: every padded pair is computed.

    Args:
        model: whose weights are used, and shared; a graph target, no virtual nodes.
    """

    def __init__(self, model: EGT):
        super().__init__()
        self.model = model

    def forward(self, batch: GraphBatch) -> Tensor:
        model, everything = self.model, Pairs(torch.ones_like(batch.pair_mask))
        h, e = model.embed(batch), everything.unpack(model.edge_input(batch, everything))
        mask = (batch.pair_mask[..., None].to(e.dtype) - 1) * 1e9  # 0, or -1e9 at padding
        for layer in model.layers:
            h, e = padded_layer(layer, h, e, mask)
        return model.head(mean_pool(model.node_norm(h), batch.mask)).squeeze(-1)


def padded_layer(layer: EGTLayer, h: Tensor, e: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Eqs. 4 to 7 on ``[B, N, d]``, ``[B, N, N, d_e]`` and the mask ``[B, N, N, 1]``."""
    z, logits = padded_attention(layer.attention, layer.node_norm(h), layer.edge_norm(e), mask)
    h = h + z
    h = h + layer.node_network(h)
    if layer.update_edges:
        e = e + layer.edge_output(logits)
        e = e + layer.edge_network(e)
    return h, e


def padded_attention(
    attention: EGTAttention, h: Tensor, e: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor]:
    H = attention.num_heads
    query, key, value = attention.qkv(h).unflatten(-1, (3, H, -1)).unbind(-3)  # [B, N, H, K]
    weight, bias = attention.edge_input.weight, attention.edge_input.bias
    shift, gate = linear(e, weight[:H], bias[:H]), linear(e, weight[H:], bias[H:])
    dot = torch.einsum("bihk,bjhk->bijh", query, key) * attention.scale
    logits = dot.clamp(-attention.clip, attention.clip) + shift
    weights = (logits + mask).softmax(dim=2) * (gate + mask).sigmoid()
    gathered = torch.einsum("bijh,bjhk->bihk", weights, value)
    return attention.output(gathered.flatten(-2)), logits


def batches(data: GraphDataset, seed: int = 0) -> list[GraphBatch]:
    """Random batches of training molecules, as a loader without buckets makes them."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(len(data.train), generator=generator).split(BATCH)[:BATCHES]
    train = data.train
    return [collate(encode([train[int(i)] for i in part], AddSVD(8))) for part in order]


def passes(model: nn.Module, given: list[GraphBatch]) -> Callable[[], None]:
    """Forward and backward on each batch."""
    steps = [plain_step(model, batch) for batch in given]

    def run() -> None:
        for step in steps:
            step()

    return run


def parts(model: EGT, batch: GraphBatch) -> dict[str, Callable[[], None]]:
    """Forward and backward of each part of one layer, alone, on vectors of size one."""
    layer, pairs = model.layers[0], model.pairs(batch)
    h, e = (torch.randn(*shape, requires_grad=True) for shape in sizes(model, batch, pairs))
    logits = torch.randn(*pairs.mask.shape, model.config.num_heads, requires_grad=True)
    return {
        "pairs: network": lambda: backward(layer.edge_network(e)),
        "pairs: norm": lambda: backward(layer.edge_norm(e)),
        "pairs: heard from the logits": lambda: backward(layer.edge_output(pairs.pack(logits))),
        "attention, with bias and gate": lambda: backward(layer.attention(h, e, pairs=pairs)[0]),
        "nodes: norms and network": lambda: backward(layer.node_network(layer.node_norm(h))),
    }


def sizes(model: EGT, batch: GraphBatch, pairs: Pairs) -> tuple[tuple[int, ...], tuple[int, ...]]:
    config = model.config
    return (*batch.mask.shape, config.d_model), (len(pairs.index), config.d_edge)


def backward(output: Tensor) -> None:
    output.sum().backward()


def measure(rounds: int) -> dict:
    torch.set_num_threads(THREADS)
    data = load_dataset("molecules")
    given = batches(data)
    torch.manual_seed(0)
    model = EGT(CONFIG)
    pairs = sum(int(batch.sizes.square().sum()) for batch in given)
    methods = {
        "every padded pair": passes(PaddedEGT(model), given),
        "pairs as rows": passes(model, given),
    }
    compared = rows(milliseconds(methods, rounds))
    for row in compared:
        row["ns_per_pair"] = round(1e6 * row["ms"] / pairs)
    return {
        "name": "egt-benchmark",
        "data": data.provenance,
        "compared": compared,
        "parts": rows(milliseconds(parts(model, given[0]), rounds)),
        "batches": [
            {
                "graphs": batch.num_graphs,
                "padded_to": batch.mask.shape[1],
                "pairs": int(batch.sizes.square().sum()),
                "padded_pairs": batch.pair_mask.numel(),
            }
            for batch in given
        ],
        "rounds": rounds,
        "threads": THREADS,
        "layers": CONFIG.num_layers,
    } | provenance("egt")


def show(content: dict) -> None:
    for row in content["compared"]:
        print(f"{row['method']:32} {row['ms']:8.0f} ms {row['ns_per_pair']:6} ns a pair")
    faster = 1 / content["compared"][1]["ratio"]
    padding = sum(b["padded_pairs"] for b in content["batches"])
    padding /= sum(b["pairs"] for b in content["batches"])
    print(f"{faster:.2f} x faster; {padding:.2f} padded pairs for each real one")
    for row in content["parts"]:
        print(f"{row['method']:32} {row['ms']:8.1f} ms")


def main() -> None:
    parser = command_line(__doc__, ROUNDS)
    args = parser.parse_args()
    content = measure(args.rounds)
    show(content)
    store(content, args.out)


if __name__ == "__main__":
    main()
