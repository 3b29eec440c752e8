"""What a training step costs, counted and not timed: products, operations, allocations, bytes.

On ``meta`` tensors, which have shapes and no numbers, nothing is computed or held: a step can be
counted at any size, on any machine, in less than a second. What a GPU may do in one fused kernel,
``scaled_dot_product_attention``, is counted there step by step, its N² weights held.

The counts are polynomials (:class:`StepFormula`): what is held for a graph of N nodes is
a + b N + c N² bytes at every moment of the step, and the peak is the largest of these moments.

Shapes: B graphs, N nodes (padded).
"""

from __future__ import annotations

import copy
import json
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import AdamW, Optimizer
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from gtcourse.graphs.batch import GraphBatch
from gtcourse.training.tasks import Task


@dataclass(frozen=True)
class StepCosts:
    """The costs of one training step; memory in bytes.

    Attributes:
        flops: of products of matrices, forward and backward; a multiplication and an addition are
            two. Others (a softmax, a sum, a lookup) are not in it.
        operations: calls of PyTorch's operators, about as many as a GPU gets kernels.
        allocations: tensors for which memory is asked.
        parameters, gradients: of the model; optimizer: of its state.
        kept: what the forward pass leaves for the backward pass.
        activations: the most that is held at a time besides the other three: ``kept`` and what is
            in work. Memory that an operator takes and gives back inside itself is not seen.
    """

    flops: int
    operations: int
    allocations: int
    parameters: int
    gradients: int
    optimizer: int
    kept: int
    activations: int

    @property
    def memory(self) -> int:
        """All together."""
        return self.parameters + self.gradients + self.optimizer + self.activations


def step_costs(
    model: nn.Module, task: Task, batch: GraphBatch, optimizer: type[Optimizer] = AdamW
) -> StepCosts:
    """Counts one training step: forward, loss, backward and the optimiser's move.

    Args:
        model: left as it is; a copy takes the step, on the batch's device.
        batch: on any device; for "meta", a model that works on lists of edges (GIN, GAT, GatedGCN,
            SignNet, EGT where it predicts of edges) or of paths (Graphormer with ``path_tree``)
            cannot be counted, because how many there are is a number.
        optimizer: its class.

    Raises:
        NotImplementedError: the model asks for numbers of ``meta`` tensors.
    """
    model = copy.deepcopy(model).to(batch.mask.device).train()
    moves = optimizer(model.parameters())
    with FlopCounterMode(display=False) as flops, _Ledger() as ledger:
        loss = task.loss(model(batch, **task.asks), batch)
        kept = ledger.held
        loss.backward()
        moves.step()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    state = [leaf for leaf in tree_leaves(moves.state_dict()["state"]) if _is_tensor(leaf)]
    return StepCosts(
        flops=flops.get_total_flops(),
        operations=ledger.operations,
        allocations=ledger.allocations,
        parameters=_bytes(model.parameters()),
        gradients=_bytes(gradients),
        optimizer=_bytes(state),
        kept=kept,
        activations=ledger.peak_without([*gradients, *state]),
    )


def stretched(batch: GraphBatch, graphs: int, nodes: int) -> GraphBatch:
    """A batch on ``meta`` with the fields of this one, but of B graphs of N nodes."""

    def stretch(tensor: Tensor, node_axes: int) -> Tensor:
        shape = (graphs, *[nodes] * node_axes, *tensor.shape[1 + node_axes :])
        return torch.empty(shape, dtype=tensor.dtype, device="meta")

    return batch._map(stretch)


def against_nodes(
    model: nn.Module, task: Task, batch: GraphBatch, nodes: Sequence[int], graphs: int = 1
) -> list[StepCosts]:
    """The step's costs for graphs of several sizes, none of which is ever made.

    Args:
        batch: one that the model takes, for its fields; nodes: values of N; graphs: B.
    """
    return [step_costs(model, task, stretched(batch, graphs, N)) for N in nodes]


@dataclass(frozen=True)
class StepFormula:
    """The costs of one training step for B graphs of N nodes, in single precision.

    Attributes:
        parameters, gradients, optimizer: bytes, whatever B and N.
        flops: a, b, c of the products' a + b N + c N², for a graph.
        activations: of several moments a, b, c each, in bytes for a graph.
    """

    parameters: int
    gradients: int
    optimizer: int
    flops: tuple[float, float, float]
    activations: tuple[tuple[float, float, float], ...]

    def held(self, graphs: int, nodes: int) -> float:
        """Bytes held for the graphs at the worst moment."""
        return graphs * max(_at(moment, nodes) for moment in self.activations)

    def memory(self, graphs: int, nodes: int) -> float:
        """Bytes, all together."""
        return self.parameters + self.gradients + self.optimizer + self.held(graphs, nodes)

    def products(self, graphs: int, nodes: int) -> float:
        """Floating-point operations in products of matrices."""
        return graphs * _at(self.flops, nodes)


def recorded_formulas() -> dict[str, StepFormula]:
    """Those of the leaderboard's dense models, by name (``python -m experiments.chapter12``)."""
    text = (files("gtcourse") / "recorded" / "step-formulas.json").read_text(encoding="utf-8")
    return {
        name: StepFormula(**stored | {"activations": tuple(map(tuple, stored["activations"]))})
        for name, stored in json.loads(text)["formulas"].items()
    }


class _Ledger(TorchDispatchMode):
    """Follows the memory of every tensor that operators make, from its first use to its last."""

    def __init__(self):
        super().__init__()
        self.operations = self.allocations = self.held = 0
        self._alive: dict[int, int] = {}  # a storage's address to the number of its allocation
        self._changes: list[tuple[int, int]] = []  # number of the allocation, bytes more or less

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        for tensor in filter(_is_tensor, tree_leaves((args, kwargs))):
            if tensor.untyped_storage()._cdata not in self._alive:
                self._watch(tensor, stood_before=True)
        result = func(*args, **kwargs)
        self.operations += 1
        for tensor in filter(_is_tensor, tree_leaves(result)):
            if tensor.untyped_storage()._cdata not in self._alive:
                self._watch(tensor, stood_before=False)
        return result

    def _watch(self, tensor: Tensor, stood_before: bool) -> None:
        storage = tensor.untyped_storage()
        if stood_before:
            number, size = -1, 0
        else:
            number, size = self.allocations, storage.nbytes()
            self.allocations += 1
        self._alive[storage._cdata] = number
        self._change(number, size)
        weakref.finalize(storage, self._release, storage._cdata, size).atexit = False

    def _release(self, address: int, size: int) -> None:
        self._change(self._alive.pop(address), -size)

    def _change(self, number: int, size: int) -> None:
        self.held += size
        self._changes.append((number, size))

    def peak_without(self, tensors: Sequence[Tensor]) -> int:
        """The most bytes held at a time, these tensors' own left out; they have to live still."""
        left_out = {self._alive.get(tensor.untyped_storage()._cdata) for tensor in tensors}
        sizes = [size for number, size in self._changes if number not in left_out]
        return int(max(np.cumsum(sizes), default=0))


def _is_tensor(value: object) -> bool:
    return isinstance(value, Tensor)


def _bytes(tensors) -> int:
    return sum(tensor.nbytes for tensor in tensors)


def _at(polynomial: tuple[float, float, float], nodes: int) -> float:
    a, b, c = polynomial
    return a + b * nodes + c * nodes**2
