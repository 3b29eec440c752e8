"""What a training step costs, counted with tensors that have shapes but no values.

Such tensors are on the device "meta". A step is counted at any size, on any machine, in less than a
second. ``scaled_dot_product_attention`` is counted by its formula, which stores N² weights. On a
GPU, a fused kernel may need less.

Shapes:
    B: graphs in a batch
    N: nodes of a graph
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import AdamW
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from gtcourse.graphs.arguments import TARGET_AXES, whole_number
from gtcourse.graphs.batch import GraphBatch, node_axes
from gtcourse.graphs.check import check_batch
from gtcourse.train.tasks import Task, check_model, check_task


@dataclass(frozen=True)
class StepCosts:
    """The costs of one training step.

    Attributes:
        flops: floating-point operations of the matrix products, forward and backward. A
            multiplication and an addition are two.
        operations: calls of PyTorch's operators, about as many as kernels started on a GPU.
        allocations: the number of tensors that the operators allocate.
        parameters: bytes of the model's parameters.
        gradients: bytes of their gradients.
        optimizer: bytes of AdamW's state.
        kept: bytes that the forward pass stores for the backward pass.
        activations: the largest number of bytes allocated at any one time, in addition to
            parameters, gradients and optimizer. What an operator allocates and frees internally is
            not counted.
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
        """The largest number of bytes in use at any one time."""
        return self.parameters + self.gradients + self.optimizer + self.activations


def step_costs(model: nn.Module, task: Task, batch: GraphBatch) -> StepCosts:
    """Counts one training step of a copy of the model: forward, loss, backward and AdamW's step.

    Raises:
        NotImplementedError: the batch is on "meta", but the model needs the values in it: lists of
            edges (message passing, SignNet, EGT with edge targets) or of paths (Graphormer with
            ``path_tree``). Nor can a model with ``form="fused"`` be counted, whose loops
            numba compiles.
    """
    check_model(model)
    check_task(task)
    check_batch(batch, "step_costs")
    model = copy.deepcopy(model).to(batch.mask.device).train()
    optimizer = AdamW(model.parameters())
    with FlopCounterMode(display=False) as flops, _Ledger() as ledger:
        loss = task.loss(model(batch, **task.model_options), batch)
        kept = ledger.held
        loss.backward()
        optimizer.step()
    gradients = [each.grad for each in model.parameters() if each.grad is not None]
    leaves = tree_leaves(optimizer.state_dict()["state"])
    state = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    return StepCosts(
        flops=flops.get_total_flops(),
        operations=ledger.operations,
        allocations=ledger.allocations,
        parameters=bytes_of(model.parameters()),
        gradients=bytes_of(gradients),
        optimizer=bytes_of(state),
        kept=kept,
        activations=ledger.peak_without([*gradients, *state]),
    )


def kept_bytes(model: nn.Module, task: Task, batch: GraphBatch) -> int:
    """:attr:`StepCosts.kept` alone, in a third of the time: only the forward pass is counted.

    Raises:
        NotImplementedError: as :func:`step_costs`.
    """
    check_model(model)
    check_task(task)
    check_batch(batch, "kept_bytes")
    model = copy.deepcopy(model).to(batch.mask.device).train()
    with _Ledger() as ledger:
        loss = task.loss(model(batch, **task.model_options), batch)
        kept = ledger.held
    del loss  # until here it holds what the backward pass would read
    return kept


def bytes_of(tensors: Iterable[Tensor]) -> int:
    """The total size of these tensors in bytes."""
    return sum(tensor.nbytes for tensor in tensors)


@torch.no_grad()
def prediction_memory(model: nn.Module, batch: GraphBatch) -> int:
    """Bytes of one forward pass: the parameters, the batch, and the peak of all other tensors.

    Raises:
        NotImplementedError: as :func:`step_costs`.
    """
    check_model(model)
    check_batch(batch, "prediction_memory")
    model = copy.deepcopy(model).to(batch.mask.device).eval()
    fields = [value for value in vars(batch).values() if isinstance(value, Tensor)]
    given = bytes_of([*fields, *batch.encodings.values(), *model.parameters()])
    with _Ledger() as ledger:
        model(batch)
    return given + ledger.peak_without([])


def stretched(batch: GraphBatch, graphs: int, nodes: int) -> GraphBatch:
    """A batch on "meta" with the fields and encodings of this one, but of another size.

    Args:
        batch: a batch with the same fields and encodings.
        graphs: the number of graphs B in the new batch.
        nodes: the number of nodes N in the new batch.

    Raises:
        ValueError: this is no batch, or a number is no whole number above 0.
    """
    check_batch(batch, "stretched")
    graphs = whole_number("graphs", graphs, 1)
    nodes = whole_number("nodes", nodes, 1)

    def stretch(tensor: Tensor, num_axes: int) -> Tensor:
        """A tensor ``[B, N, …]`` of the new size; ``num_axes`` of its axes are those of nodes."""
        shape = (graphs, *[nodes] * num_axes, *tensor.shape[1 + num_axes :])
        return torch.empty(shape, dtype=tensor.dtype, device="meta")

    edge_attr = None if batch.edge_attr is None else stretch(batch.edge_attr, 2)
    y = None if batch.y is None else stretch(batch.y, TARGET_AXES[batch.target])
    encodings = {
        name: stretch(values, node_axes(name, values)) for name, values in batch.encodings.items()
    }
    return replace(
        batch,
        x=stretch(batch.x, 1),
        adjacency=stretch(batch.adjacency, 2),
        edge_attr=edge_attr,
        mask=stretch(batch.mask, 1),
        y=y,
        encodings=encodings,
    )


class _Ledger(TorchDispatchMode):
    """Follows the memory of each tensor that an operator makes, until the tensor is freed."""

    def __init__(self) -> None:
        super().__init__()
        self.operations = 0
        self.allocations = 0
        self.held = 0
        self._alive: dict[int, int] = {}  # a storage's address to the number of its allocation
        self._changes: list[tuple[int, int]] = []  # number of the allocation, bytes more or less

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        self._watch((args, kwargs), existed=True)
        result = func(*args, **kwargs)
        self.operations += 1
        self._watch(result, existed=False)
        return result

    def _watch(self, tree: object, existed: bool) -> None:
        """Follows the tensors that are not followed yet; those that existed before count as 0."""
        for tensor in tree_leaves(tree):
            if not isinstance(tensor, Tensor):
                continue
            storage = tensor.untyped_storage()
            if storage._cdata in self._alive:
                continue
            number = -1
            size = 0
            if not existed:
                number = self.allocations
                size = storage.nbytes()
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
        """The most bytes held at a time besides these tensors, which must not be freed yet."""
        left_out = {self._alive.get(tensor.untyped_storage()._cdata) for tensor in tensors}
        sizes = [size for number, size in self._changes if number not in left_out]
        return int(max(np.cumsum(sizes), default=0))
