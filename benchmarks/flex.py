"""A bias looked up inside the kernel, or written out first: ``python -m benchmarks.flex``.

The forward pass of Graphormer's attention between its projections, without gradients, one thread:
the bias ``[B, H, N, N]`` looked up by distance, then ``F.scaled_dot_product_attention`` with it;
and FlexAttention, compiled, with the lookup as its score modifier.

On chains of molecules of 32, 128, 512 and 1024 atoms, in batches with equally many pairs, or one
graph. Both ways give the same numbers, which is checked. The compiler's work is timed apart, with
an empty cache. On a CPU FlexAttention has no backward pass.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention
from torch_geometric.data import Data

from benchmarks.compiling import compare
from benchmarks.flex_forms import graphormer_flex
from benchmarks.report import command_line, provenance, store
from gtcourse import GraphBatch, GraphDataset, collate, load_dataset
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.models import SpatialEncoding, scaled_dot_product_attention

SIZES, PAIRS = (32, 128, 512, 1024), 512**2
D_MODEL, HEADS, MAX_DISTANCE = 64, 8, 20
THREADS = 1
ROUNDS = 9
WRITTEN, INSIDE = "bias written out", "FlexAttention"


class Case:
    """Queries, keys and values of one batch ``[B, H, N, K]``, and its distances ``[B, N, N]``."""

    def __init__(self, batch: GraphBatch):
        B, N = batch.mask.shape
        self.mask = batch.mask
        self.query, self.key, self.value = torch.randn(3, B, HEADS, N, D_MODEL // HEADS)
        self.distance = batch.encodings["distance"]
        self.spatial = SpatialEncoding(HEADS, MAX_DISTANCE).requires_grad_(False)

    def steps(self, inside: Callable) -> dict[str, Callable[[], Tensor]]:
        """Both ways; ``inside`` is ``flex_attention``, compiled or not."""
        small = self.distance.clamp(max=MAX_DISTANCE + 1).to(torch.int8)
        given = self.query, self.key, self.value, small, self.spatial.scalars.weight, self.mask
        by_flex = partial(graphormer_flex, *given, attend=inside)
        return {WRITTEN: torch.no_grad()(self.written), INSIDE: torch.no_grad()(by_flex)}

    def written(self) -> Tensor:
        bias, mask = self.spatial.of(self.distance), self.mask[:, None, None]
        return scaled_dot_product_attention(self.query, self.key, self.value, bias=bias, mask=mask)


def case(data: GraphDataset, nodes: int) -> Case:
    torch.manual_seed(0)
    graphs = [chain(data.graphs, nodes)] * max(1, PAIRS // nodes**2)
    return Case(collate(encode(graphs, AddShortestPaths())))


def chain(molecules: list[Data], size: int) -> Data:
    """Molecules bonded in a row, cut off at ``size`` atoms."""
    edges, kinds, n = [], [], 0
    for molecule in molecules:
        if n >= size:
            break
        edges.append(molecule.edge_index + n)
        kinds.append(molecule.edge_attr)
        if n:
            edges.append(torch.tensor([[n - 1, n], [n, n - 1]]))
            kinds.append(torch.ones(2, 1).long())
        n += molecule.num_nodes
    ends, kind = torch.cat(edges, dim=1), torch.cat(kinds)
    inside = (ends < size).all(dim=0)
    return Data(x=torch.zeros(size, 1).long(), edge_index=ends[:, inside], edge_attr=kind[inside])


def of_size(given: Case, rounds: int, inside: Callable) -> dict:
    B, _, N, _ = given.query.shape
    steps = given.steps(inside)
    compared, results = compare(steps, given.query.shape, rounds)
    torch.testing.assert_close(results[INSIDE], results[WRITTEN], rtol=1e-3, atol=1e-4)
    return {"model": "graphormer", "nodes": N, "graphs": B, "compared": compared}


def measure(rounds: int, sizes: tuple[int, ...], inside: Callable | None = None) -> dict:
    torch.set_num_threads(THREADS)
    # One graph for each size: what it writes for several is no valid C++ in PyTorch 2.13.
    inside = inside or torch.compile(flex_attention, dynamic=False)
    data = load_dataset("molecules")
    results = []
    for given in (case(data, nodes) for nodes in sizes):
        results.append(of_size(given, rounds, inside))
        show(results[-1])
    return {
        "name": "flex-benchmark",
        "data": data.provenance,
        "sizes": results,
        "d_model": D_MODEL,
        "heads": HEADS,
        "precision": "float32",
        "rounds": rounds,
        "threads": THREADS,
    } | provenance("flex")


def show(result: dict) -> None:
    print(f"{result['model']}, {result['nodes']} atoms, {result['graphs']} graphs")
    for row in result["compared"]:
        print(
            f"  {row['method']:18}{row['ms']:8.1f} ms × {row['ratio']:.2f}{row['peak_mb']:9.2f} MB"
            f"; first call {row['first_seconds']} s",
            flush=True,
        )


def main() -> None:
    args = command_line(__doc__, ROUNDS, SIZES).parse_args()
    content = measure(args.rounds, tuple(args.sizes))
    store(content, args.out)


if __name__ == "__main__":
    main()
