r"""A bias looked up inside the kernel, or written out first: ``python -m speed.flex``.

The forward pass of Graphormer's attention between its projections, without gradients, one thread:
the bias ``[B, H, N, N]`` looked up by distance, then ``F.scaled_dot_product_attention`` with it;
and FlexAttention (Dong et al., 2024), compiled, with the lookup as its *score modifier*, a function
of one logit's place. Memory then holds a small integer for each pair, and neither logits nor bias.

On chains of molecules of 32, 128, 512 and 1024 atoms, in batches with equally many pairs, or one
graph. Both ways give the same numbers, which is checked. On a CPU, PyTorch 2.13 has the forward
pass of FlexAttention alone, and compiles each size for itself (``dynamic=False``): for several
sizes it writes invalid C++.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention
from torch_geometric.data import Data

from gtcourse import collate, load_dataset
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.graphs.batch import UNREACHABLE
from gtcourse.models import SpatialEncoding, scaled_dot_product_attention
from speed.measure import compare_compiled, run

SIZES = (32, 128, 512, 1024)
PAIRS = 512**2
D_MODEL = 64
HEADS = 8
MAX_DISTANCE = 20
WRITTEN = "bias written out"
INSIDE = "FlexAttention"


def graphormer_flex(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    distance: Tensor,
    table: Tensor,
    mask: Tensor,
    *,
    virtual: Tensor | None = None,
    edges: Tensor | None = None,
    attend: Callable = flex_attention,
) -> Tensor:
    r"""Attention under Graphormer's biases, never written out (Graphormer, Eqs. 6 and 7).

    .. math:: A_{ij} = q_i \cdot k_j / \sqrt K + b_{\phi(i, j)} + c_{ij}

    The same as :class:`~gtcourse.models.graphormer.GraphormerAttention` between its projections.

    Args:
        table: :math:`b`, the scalars' weight of ``SpatialEncoding``.
        mask: False is never attended to. A row without keys gives zeros.
        virtual: [VNode]'s scalars, where token 0 is [VNode] and the other N tokens are the nodes.
        edges: :math:`c`, where there is one; it is read from memory.
        attend: ``flex_attention``, or what ``torch.compile`` returns for it.

    Shapes:
        query, key, value: ``[B, H, N, K]``, or N + 1 tokens with ``virtual``
        distance: ``[B, N, N]`` integers (of 8 bits where they fit), -1 for unreachable
        table: ``[D + 2, H]``: unreachable, 0, 1, …, D and farther
        mask: ``[B, N]``; virtual: ``[H]``; edges: ``[B, H, N, N]``, of nodes alone
    """
    last = len(table) - 1

    def nodes(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        row = (distance[b, i, j].to(torch.int32) - UNREACHABLE).clamp(max=last)
        score = score + table[row, h]
        if edges is not None:
            score = score + edges[b, h, i, j]
        return torch.where(mask[b, j], score, -torch.inf)

    def tokens(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        node = (j - 1).clamp(min=0)
        of_nodes = nodes(score, b, h, (i - 1).clamp(min=0), node)
        with_virtual = torch.where((j == 0) | mask[b, node], score + virtual[h], -torch.inf)
        return torch.where((i == 0) | (j == 0), with_virtual, of_nodes)

    return attend(query, key, value, score_mod=nodes if virtual is None else tokens)


def chain(molecules: list[Data], size: int) -> Data:
    """Molecules bonded in a row, cut off at ``size`` atoms."""
    edges = []
    n = 0
    for molecule in molecules:
        if n >= size:
            break
        edges += [molecule.edge_index + n, *([torch.tensor([[n - 1, n], [n, n - 1]])] if n else [])]
        n += molecule.num_nodes
    ends = torch.cat(edges, dim=1)
    ends = ends[:, (ends < size).all(dim=0)]
    attr = torch.ones(ends.shape[1], 1, dtype=torch.long)
    return Data(x=torch.zeros(size, 1).long(), edge_index=ends, edge_attr=attr)


@torch.no_grad()
def of_size(molecules: list[Data], nodes: int, rounds: int, inside: Callable) -> dict:
    torch.manual_seed(0)
    graphs = [chain(molecules, nodes)] * max(1, PAIRS // nodes**2)
    batch = collate(encode(graphs, AddShortestPaths()))
    query, key, value = torch.randn(3, len(graphs), HEADS, nodes, D_MODEL // HEADS)
    distance = batch.encodings["distance"]
    spatial = SpatialEncoding(HEADS, MAX_DISTANCE)
    small = distance.clamp(max=MAX_DISTANCE + 1).to(torch.int8)

    def written() -> Tensor:
        mask = batch.mask[:, None, None]
        return scaled_dot_product_attention(query, key, value, bias=spatial.of(distance), mask=mask)

    arguments = query, key, value, small, spatial.scalars.weight, batch.mask
    steps = {WRITTEN: written, INSIDE: partial(graphormer_flex, *arguments, attend=inside)}
    steps = {name: torch.no_grad()(step) for name, step in steps.items()}
    rows, results = compare_compiled(steps, rounds)
    torch.testing.assert_close(results[INSIDE], results[WRITTEN], rtol=1e-3, atol=1e-4)
    return {"model": "graphormer", "nodes": nodes, "graphs": len(graphs), "compared": rows}


def measure(rounds: int) -> dict:
    molecules = load_dataset("molecules").graphs
    inside = torch.compile(flex_attention, dynamic=False)
    sizes = [of_size(molecules, nodes, rounds, inside) for nodes in SIZES]
    return {"sizes": sizes, "d_model": D_MODEL, "heads": HEADS}


if __name__ == "__main__":
    run("flex", measure, rounds=9)
