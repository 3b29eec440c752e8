"""What an attention is tried on: random graphs of any size, and a function of tensors.

Shapes: B graphs, N nodes (padded), H heads, d width, d_e width of the pairs.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.func import functional_call

RELATIONS = 5
"""Kinds of pairs."""


class Graphs:
    """Random graphs: some nodes, half of the pairs, and numbers of unit size.

    Node 0 of the first graph hears one node and node 1 none.

    Args:
        sizes: nodes of each graph; d, heads, d_edge: the widths.
    """

    def __init__(self, sizes=(4, 3), d=4, heads=2, d_edge=3, seed=0):
        self.generator = torch.Generator().manual_seed(seed)
        self.d, self.heads, self.d_edge = d, heads, d_edge
        self.B, self.N = len(sizes), max(sizes)
        self.mask = torch.arange(self.N) < torch.tensor(sizes)[:, None]
        real = self.mask[:, :, None] & self.mask[:, None, :]
        self.pairs = real & (torch.rand(real.shape, generator=self.generator) < 0.5)
        self.pairs[0, :2] = False
        self.pairs[0, 0, 0] = True
        self.relation = torch.randint(0, RELATIONS, real.shape, generator=self.generator)

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self.generator, dtype=torch.float64)

    def nodes(self) -> Tensor:
        return self.normal(self.B, self.N, self.d)

    def of_pairs(self, width: int) -> Tensor:
        return self.normal(self.B, width, self.N, self.N)

    def channels_last(self, width: int) -> Tensor:
        return self.normal(self.B, self.N, self.N, width)

    def heads_of_nodes(self) -> Tensor:
        return self.normal(self.B, self.heads, self.N, self.d // self.heads)

    @property
    def flat_pairs(self) -> Tensor:
        """``[2, P]``, the nodes of all graphs numbered with their padding."""
        graph, i, j = self.pairs.nonzero(as_tuple=True)
        return torch.stack([graph * self.N + i, graph * self.N + j])


def tables(g: Graphs) -> list[Tensor]:
    """What relations say to queries, keys and values, and to logits."""
    return [*(g.normal(RELATIONS, g.d) for _ in range(3)), g.normal(RELATIONS, g.heads)]


class Case(nn.Module):
    """An attention and its inputs, all in float64.

    Args:
        function: of the module and the inputs, to a tensor or several.
        once: why there is no second derivative, as the error says; None where there is one.
    """

    def __init__(
        self, module: nn.Module, function: Callable, *inputs: Tensor, once: str | None = None
    ):
        super().__init__()
        self.module, self.function = module.double(), function
        self.inputs, self.once = inputs, once

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        outputs = self.function(self.module, *inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return tuple(part for part in outputs if part is not None)


def differentiable(case: Case) -> tuple[Callable, list[Tensor]]:
    """The case as a function of its inputs and its parameters, and all of them."""
    names, parameters = (
        zip(*case.named_parameters(), strict=True) if [*case.parameters()] else ((), ())
    )
    generator = torch.Generator().manual_seed(1)
    # A little aside of the zeros that biases start with, where activations have their kinks.
    moved = [p + 0.1 * torch.randn(p.shape, generator=generator).double() for p in parameters]
    given = [t.detach().clone().requires_grad_() for t in (*case.inputs, *moved)]
    count = len(case.inputs)

    def function(*tensors):
        weights = dict(zip(names, tensors[count:], strict=True))
        return functional_call(case, weights, tensors[:count])

    return function, given
