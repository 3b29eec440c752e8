"""What a relation of its own for each pair costs: ``python -m benchmarks.grpe``.

Forward and backward of one attention module, in time and in memory:

1. GRPE's, which gathers T numbers of each query, or key, and scatters its weights;
2. the same function as Eqs. 6, 7 and 9 read, with a vector of width d for every pair;
3. plain attention with a learned bias: a scalar of each relation and head, looked up for every
   pair, as Graphormer has it.

On chains of molecules of 32, 128 and 512 atoms, in batches with equally many pairs. 1 and 2 have
the same weights and, which is checked first, give the same numbers and gradients. The methods take
turns, so that whatever else the machine does meets all of them. Memory is that of tensors, all that
PyTorch's allocator gives out during the pass, at its highest.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from benchmarks.costs import milliseconds, peak_mb, rows, traced
from benchmarks.encodings import chain
from benchmarks.report import command_line, provenance, store
from gtcourse import GraphDataset, collate, load_dataset
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.models import GraphormerAttention, GRPEAttention
from gtcourse.models.grpe import Relations, RelationTables

SIZES, PAIRS = (32, 128, 512), 512**2
D_MODEL, HEADS, MAX_DISTANCE, EDGE_TYPES = 64, 8, 5, (4,)
THREADS = 1
ROUNDS = 9
MEMORY_BAR, TIME_BAR = 1.3, 5.0
"""At 512 atoms: at most this share of the memory of 3, at least so many times faster than 2."""


class Case(nn.Module):
    """One attention module, its tables, and a batch to run it on; what all methods share.

    Attributes:
        x, direction: ``[B, N, d]``, the input and what the output's gradient is;
        relation: ``[B, N, N]``; key, query, value: ``[T, d]``; bias: ``[T, H]``.
    """

    def __init__(self, data: GraphDataset, nodes: int, graphs: int):
        super().__init__()
        batch = collate(encode([chain(data.graphs, nodes)] * graphs, AddShortestPaths()))
        relations = Relations(EDGE_TYPES, None, MAX_DISTANCE, virtual_node=False)
        T = relations.num_relations
        self.attention = GRPEAttention(D_MODEL, HEADS)
        self.plain = GraphormerAttention(D_MODEL, HEADS)
        self.plain.load_state_dict(self.attention.state_dict())
        self.x = nn.Parameter(torch.randn(graphs, nodes, D_MODEL))
        self.key, self.query, self.value = (nn.Parameter(torch.randn(T, D_MODEL)) for _ in "kqv")
        self.bias = nn.Parameter(torch.randn(T, HEADS))
        self.register_buffer("relation", relations(batch))
        self.register_buffer("direction", torch.randn(graphs, nodes, D_MODEL))

    def step(self, method: Method) -> Callable[[], tuple[Tensor | None, ...]]:
        """Forward and backward; the step returns the output and the gradient of each parameter."""
        parameters = [*self.parameters()]

        def run() -> tuple[Tensor | None, ...]:
            z = method(self)
            return z, *torch.autograd.grad(z, parameters, self.direction, allow_unused=True)

        return run


Method = Callable[[Case], Tensor]


def learned_bias(case: Case) -> Tensor:
    bias = F.embedding(case.relation, case.bias).permute(0, 3, 1, 2)  # [B, H, N, N]
    return case.plain(case.x, bias)


def gathered(case: Case) -> Tensor:
    tables = RelationTables(case.key, case.query, case.value)
    return case.attention(case.x, case.relation, tables)


def a_vector_for_each_pair(case: Case) -> Tensor:
    """Eqs. 6 to 9 on ``[B, N, N, H, K]``."""
    layer = case.attention
    q, k, v = (
        layer.split_heads(linear(case.x)) for linear in (layer.query, layer.key, layer.value)
    )
    R_key, R_query, R_value = (
        F.embedding(case.relation, table).unflatten(-1, (HEADS, -1))
        for table in (case.key, case.query, case.value)
    )
    logits = q @ k.transpose(-2, -1)
    logits = logits + torch.einsum("bhik,bijhk->bhij", q, R_key)
    logits = logits + torch.einsum("bhjk,bijhk->bhij", k, R_query)
    attention = (logits / q.shape[-1] ** 0.5).softmax(dim=-1)
    z = attention @ v + torch.einsum("bhij,bijhk->bhik", attention, R_value)
    return layer.output(layer.join_heads(z))


METHODS: dict[str, Method] = {
    "a learned bias": learned_bias,
    "GRPE, gathered": gathered,
    "GRPE, a vector for each pair": a_vector_for_each_pair,
}


def check_equal(case: Case) -> None:
    """Both forms of GRPE are one function, with the same gradients, in float64."""
    case = copy.deepcopy(case).double()
    results = (case.step(method)() for method in (gathered, a_vector_for_each_pair))
    for one, other in zip(*results, strict=True):
        assert (one is None) == (other is None)  # of the other method's weights
        if one is not None:
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


def kernel(trace: list[dict]) -> str:
    """Which of PyTorch's kernels F.scaled_dot_product_attention chose."""
    (name,) = {
        event["name"]
        for event in trace
        if str(event.get("name")).startswith("aten::_scaled_dot_product")
    }
    return name


def compare(data: GraphDataset, nodes: int, rounds: int) -> dict:
    torch.manual_seed(0)
    case = Case(data, nodes, PAIRS // nodes**2)
    check_equal(case)
    steps = {name: case.step(method) for name, method in METHODS.items()}
    compared = rows(milliseconds(steps, rounds))
    traces = [traced(step) for step in steps.values()]
    for row, trace in zip(compared, traces, strict=True):
        row["peak_mb"] = peak_mb(trace)
    return {
        "nodes": nodes,
        "graphs": len(case.x),
        "relations": len(case.bias),
        "kernel_of_the_bias": kernel(traces[0]),
        "compared": compared,
    }


def measure(rounds: int, sizes: tuple[int, ...]) -> dict:
    torch.set_num_threads(THREADS)
    data = load_dataset("molecules")
    results = []
    for nodes in sizes:
        results.append(compare(data, nodes, rounds))
        show(results[-1])
    return {
        "name": "grpe-benchmark",
        "data": data.provenance,
        "sizes": results,
        "d_model": D_MODEL,
        "heads": HEADS,
        "precision": "float32",
        "rounds": rounds,
        "threads": THREADS,
    } | provenance("grpe")


def show(result: dict) -> None:
    print(f"{result['nodes']} atoms, {result['graphs']} graphs, {result['relations']} relations")
    for row in result["compared"]:
        print(f"  {row['method']:32}{row['ms']:8.1f} ms{row['peak_mb']:9.1f} MB", flush=True)
    bias, ours, vectors = result["compared"]
    print(
        f"  {ours['peak_mb'] / bias['peak_mb']:.2f} of the bias' memory (at 512: at most "
        f"{MEMORY_BAR}), {vectors['ratio'] / ours['ratio']:.1f} x faster than vectors (at 512: at "
        f"least {TIME_BAR:g})",
        flush=True,
    )


def main() -> None:
    parser = command_line(__doc__, ROUNDS, SIZES)
    args = parser.parse_args()
    content = measure(args.rounds, tuple(args.sizes))
    store(content, args.out)


if __name__ == "__main__":
    main()
