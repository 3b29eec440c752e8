"""Several processes for one run: each has its share of every batch, and together the same gradient.

DDP takes the mean of the processes' gradients, and a loss is a mean over graphs or known targets.
Each process weighs its loss by its share of these, or the mean of the means would differ.
"""

from __future__ import annotations

import os

import torch
from torch import Tensor

from gtcourse.graphs.arguments import at_least, one_of
from gtcourse.graphs.batch import GraphBatch
from gtcourse.training.tasks import Task

PRECISIONS = ("32-true", "bf16-mixed")


def launch(accelerator: str, devices: int, precision: str):
    """A Fabric whose processes run; those beside this one run the same program from its start.

    Under ``torchrun`` its processes are taken, on however many machines.

    Args:
        accelerator: "cuda", "mps" or "cpu"; devices: processes on this machine; precision: one of
            ``PRECISIONS``.

    Raises:
        ValueError: ``devices`` is below 1, or more than there are; ``precision`` is none of ours.
    """
    at_least(1, devices=devices)
    one_of(PRECISIONS, precision=precision)
    if accelerator == "cuda" and devices > torch.cuda.device_count():
        raise ValueError(
            f"devices is {devices}; expected at most {torch.cuda.device_count()}, as many as this "
            "machine has."
        )
    from lightning_fabric import Fabric  # seconds to import, and only training needs it
    from lightning_fabric.strategies import DDPStrategy

    devices, machines = processes(devices)
    several = devices * machines > 1
    fabric = Fabric(
        accelerator=accelerator,
        devices=devices,
        num_nodes=machines,
        # GatedGCN's last edges are read by nobody, and so is what EGT has for an absent objective.
        strategy=DDPStrategy(find_unused_parameters=True) if several else "auto",
        precision=precision,
    )
    if several:
        fabric.launch()
    return fabric


def processes(devices: int) -> tuple[int, int]:
    """A run's processes on this machine, and its machines; ``torchrun``'s numbers if it started it.

    Args:
        devices: processes on this machine otherwise.
    """
    names = {"LOCAL_WORLD_SIZE": devices, "GROUP_WORLD_SIZE": 1}
    here, machines = (int(os.environ.get(name, number)) for name, number in names.items())
    return here, machines


def is_first_process() -> bool:
    """Whether this is the process that writes, of one or of several."""
    return int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", 0))) == 0


def take_own_gpu() -> None:
    """Makes "cuda" this process's own GPU; until then all would put their data on the first."""
    number = int(os.environ.get("LOCAL_RANK", 0))
    if 0 < number < torch.cuda.device_count():
        torch.cuda.set_device(number)


def weight_among_processes(fabric, task: Task, batch: GraphBatch) -> Tensor | float:
    """What this process multiplies its loss by, so that the mean of all is the loss of the batch.

    .. math:: w_r = W \\frac{s_r}{\\sum_{r'} s_{r'}}

    with W processes and :math:`s_r` the size of process r's share (:attr:`Task.size`).
    """
    if fabric.world_size == 1:
        return 1.0
    own = torch.zeros((), dtype=torch.float64, device=fabric.device) + task.size(batch)
    of_all = fabric.all_reduce(own.clone(), reduce_op="sum")
    return own * fabric.world_size / of_all.clamp(min=torch.finfo(own.dtype).tiny)


def sums_over_processes(fabric, total: Tensor | float, count: int) -> tuple[float, int]:
    """``total`` and ``count``, each summed over the processes."""
    if fabric.world_size == 1:
        return float(total), count
    own = torch.zeros(2, dtype=torch.float64, device=fabric.device)
    own[0] += total
    own[1] += count
    total, count = fabric.all_reduce(own, reduce_op="sum").tolist()
    return total, round(count)
