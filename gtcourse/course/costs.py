"""What a training step costs: counted by tensors without numbers, and measured on this machine.

On ``meta`` tensors, which have shapes and no numbers, a step is counted at any size, on any
machine, in less than a second; ``scaled_dot_product_attention``, which a GPU may fuse, step by
step, its N² weights held. What is held for a graph of N nodes is a + b N + c N² bytes at every
moment of the step (:class:`StepFormula`), and the peak is the largest of these moments.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import AdamW
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode

from gtcourse.course.records import measurement
from gtcourse.graphs.batch import TARGET_AXES, GraphBatch, node_axes
from gtcourse.graphs.dataset import GraphDataset
from gtcourse.recipes.recipe import Recipe
from gtcourse.runs.record import device_name
from gtcourse.runs.run import loaders
from gtcourse.train.loop import compiled, device, launch, train_step
from gtcourse.train.tasks import Task


@dataclass(frozen=True)
class StepCosts:
    """The costs of one training step; memory in bytes.

    Attributes:
        flops: of matrix products, forward and backward; a multiplication and an addition are two.
        operations: calls of PyTorch's operators, about as many as a GPU gets kernels.
        kept: what the forward pass keeps for the backward pass.
        activations: the most that is held at a time besides parameters, gradients and optimizer,
            without what an operator allocates and frees within itself.
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
        return self.parameters + self.gradients + self.optimizer + self.activations


def step_costs(model: nn.Module, task: Task, batch: GraphBatch) -> StepCosts:
    """Counts one training step, of a copy of the model: forward, loss, backward and AdamW's step.

    Raises:
        NotImplementedError: the batch is on "meta", and the model reads values: lists of edges
            (GIN, GAT, GatedGCN, SignNet, EGT with edge targets) or of paths (Graphormer with
            ``path_tree``).
    """
    model = copy.deepcopy(model).to(batch.mask.device).train()
    optimizer = AdamW(model.parameters())
    with FlopCounterMode(display=False) as flops, _Ledger() as ledger:
        loss = task.loss(model(batch, **task.model_options), batch)
        kept = ledger.held
        loss.backward()
        optimizer.step()
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    state = [*filter(torch.is_tensor, tree_leaves(optimizer.state_dict()["state"]))]
    parts = ([*model.parameters()], gradients, state)
    return StepCosts(
        flops.get_total_flops(), ledger.operations, ledger.allocations,
        *(sum(tensor.nbytes for tensor in part) for part in parts),
        kept=kept, activations=ledger.peak_without([*gradients, *state]),
    )  # fmt: skip


def stretched(batch: GraphBatch, graphs: int, nodes: int) -> GraphBatch:
    """A batch on ``meta`` with the fields of this one, but of B graphs of N nodes."""

    def stretch(tensor: Tensor, num_axes: int) -> Tensor:
        shape = (graphs, *[nodes] * num_axes, *tensor.shape[1 + num_axes :])
        return torch.empty(shape, dtype=tensor.dtype, device="meta")

    axes = {"x": 1, "mask": 1, "adjacency": 2, "edge_attr": 2, "y": TARGET_AXES[batch.target]}
    fields = {n: stretch(t, axes[n]) for n, t in vars(batch).items() if isinstance(t, Tensor)}
    encodings = {n: stretch(t, node_axes(n, t)) for n, t in batch.encodings.items()}
    return replace(batch, **fields, encodings=encodings)


def against_nodes(
    model: nn.Module, task: Task, batch: GraphBatch, nodes: Sequence[int], graphs: int = 1
) -> list[StepCosts]:
    """The step's costs for ``graphs`` graphs like those of ``batch``, at several sizes."""
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
        return graphs * max(float(np.polyval(abc[::-1], nodes)) for abc in self.activations)

    def memory(self, graphs: int, nodes: int) -> float:
        return self.parameters + self.gradients + self.optimizer + self.held(graphs, nodes)

    def products(self, graphs: int, nodes: int) -> float:
        """Floating-point operations in products of matrices."""
        return graphs * float(np.polyval(self.flops[::-1], nodes))


def recorded_formulas() -> dict[str, StepFormula]:
    """Those of the leaderboard's dense models, by name (``python -m experiments.chapter12``)."""
    formulas = measurement("step-formulas")["formulas"]
    return {name: StepFormula(**formula) for name, formula in formulas.items()}


class _Ledger(TorchDispatchMode):
    """Follows the memory of every tensor that operators make, from its first use to its last."""

    def __init__(self):
        super().__init__()
        self.operations = self.allocations = self.held = 0
        self._alive: dict[int, int] = {}  # a storage's address to the number of its allocation
        self._changes: list[tuple[int, int]] = []  # number of the allocation, bytes more or less

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        self._watch((args, kwargs), existed=True)
        result = func(*args, **kwargs)
        self.operations += 1
        self._watch(result, existed=False)
        return result

    def _watch(self, tree, existed: bool) -> None:
        """Follows the tensors that are not followed yet; those that existed take no memory."""
        for tensor in filter(torch.is_tensor, tree_leaves(tree)):
            storage = tensor.untyped_storage()
            if storage._cdata in self._alive:
                continue
            number, size = (-1, 0) if existed else (self.allocations, storage.nbytes())
            self.allocations += not existed
            self._alive[storage._cdata] = number
            self._change(number, size)
            weakref.finalize(storage, self._release, storage._cdata, size).atexit = False

    def _release(self, address: int, size: int) -> None:
        self._change(self._alive.pop(address), -size)

    def _change(self, number: int, size: int) -> None:
        self.held += size
        self._changes.append((number, size))

    def peak_without(self, tensors: Sequence[Tensor]) -> int:
        """The most bytes held at a time without these tensors, which have to be alive still."""
        left_out = {self._alive.get(tensor.untyped_storage()._cdata) for tensor in tensors}
        sizes = [size for number, size in self._changes if number not in left_out]
        return int(max(np.cumsum(sizes), default=0))


def measure(
    recipe: Recipe,
    data: GraphDataset,
    *,
    steps: int = 20,
    precision: str = "32-true",
    compile: bool = False,
    buckets: int = 1,
) -> dict[str, str]:
    """Means of ``steps`` training steps and forward passes after as many to warm up, with units.

    Both include making the batch. On a CPU, memory is counted for one batch (:func:`step_costs`),
    in float32 and not compiled.
    """
    train, *_ = loaders(recipe, data, 0, buckets, static_shapes=compile)
    fabric = launch(device().type, 1, precision)
    model, optimizer, schedule = recipe.start(recipe.build_model(), len(train))
    model, optimizer = fabric.setup(compiled(model, compile), optimizer)
    batches = chain.from_iterable(repeat(train))

    def step() -> None:
        rest = optimizer, schedule, recipe.grad_clip, recipe.flag
        train_step(fabric, model, recipe.task, next(batches), *rest)

    @torch.no_grad()
    def forward() -> None:
        model(next(batches))

    trained = _seconds(step, steps)
    model.eval()
    predicted = _seconds(forward, steps)
    if device().type == "cuda":
        memory = f"{torch.cuda.max_memory_allocated() / 2**20:,.0f} MiB"
    else:
        counted = step_costs(recipe.build_model(), recipe.task, next(batches))
        held = f"{counted.activations / 2**20:,.0f} of it for the step alone"
        memory = f"{counted.memory / 2**20:,.0f} MiB, {held} (counted)"
    epochs = recipe.steps / len(train) if recipe.steps else recipe.epochs
    return {
        "device": device_name(),
        "step": f"{1000 * trained:.2f} ms of {recipe.batch_size} graphs",
        "forward": f"{1000 * predicted:.2f} ms",
        "graphs per second": f"{recipe.batch_size / trained:,.0f}",
        "epoch": f"{trained * len(train):.2f} s of {len(train)} steps",
        "whole recipe": f"{trained * len(train) * epochs / 3600:.2f} hours",
        "peak memory": memory,
    }


def _seconds(step: Callable[[], None], steps: int) -> float:
    threads = torch.get_num_threads()
    timer = Timer("step()", globals={"step": step}, num_threads=threads)
    timer.timeit(steps)
    return timer.timeit(steps).mean
