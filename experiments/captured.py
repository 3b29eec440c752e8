"""Continues a run of ``gtcourse train`` on a GPU, with every step replayed from a CUDA graph.

A step of a small model is thousands of kernels of a few microseconds each, which Python launches
more slowly than the GPU computes them. Here a whole step (gathering the batch, the model, its
gradient, clipping, the optimizer) is captured once and then replayed. For this all batches have the
same shape: each graph is padded to the size of the largest of the data set, which changes no
prediction. The order of the graphs, the learning rates and the arithmetic (float32) are those of
``gtcourse train``; random numbers come from the GPU's generator.

    python -m gtcourse train egt-100k-spe-do/zinc --data zinc12k.npz --out runs  # for an epoch
    python -m experiments.captured egt-100k-spe-do/zinc --data zinc12k.npz --out runs --minutes 9

The checkpoint is that of ``gtcourse train``, which can go on with it on any machine, and which
evaluates the test set and writes the record once all epochs are done. CSA's fused form is for the
CPU; a run that was begun with it goes on here in the recipe's own form, the same function.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR, ReduceLROnPlateau

from gtcourse import load_dataset
from gtcourse.encodings import encode
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.dataset import GraphDataset, collate
from gtcourse.graphs.io import write_tensors
from gtcourse.graphs.loader import DenseLoader
from gtcourse.recipes import Recipe, get_recipe
from gtcourse.runs.record import device_name, installed_versions, record_stem, write_json
from gtcourse.train.checkpoint import FILENAME, read_tensors
from gtcourse.train.loop import device
from gtcourse.train.tasks import Task

WARM_UP = 3
"""Steps before a capture, in which libraries allocate what they need; they are undone."""


class Step:
    """One step of an optimizer on a batch of fixed size, captured and replayed on a GPU.

    Args:
        model: in training mode, on the device of the graphs.
        task: its loss.
        graphs: all training graphs, padded to one size.
        optimizer: the model's. On a GPU it needs ``capturable=True`` and a tensor as its rate.
        grad_clip: the largest norm of the gradient, or None.
        batch_size: graphs in the batch.
    """

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        graphs: GraphBatch,
        optimizer: Optimizer,
        grad_clip: float | None,
        batch_size: int,
    ):
        self.model = model
        self.task = task
        self.graphs = graphs
        self.optimizer = optimizer
        self.grad_clip = grad_clip
        self.rows = torch.arange(batch_size, device=graphs.mask.device)
        self.total = torch.zeros((), device=graphs.mask.device)
        self.replay: Callable[[], object] = self.compute
        if graphs.mask.is_cuda:
            with unchanged(model, optimizer):
                self.replay = captured(self.compute)

    def __call__(self, rows: Tensor) -> None:
        """Trains on the graphs at ``rows``; ``total`` adds up the loss of each graph."""
        self.rows.copy_(rows)
        self.replay()

    def compute(self) -> None:
        self.optimizer.zero_grad(set_to_none=True)
        batch = self.graphs.select(self.rows)
        loss = self.task.loss(self.model(batch, **self.task.model_options), batch)
        loss.backward()
        if self.grad_clip is not None:
            nn.utils.clip_grad_norm_(self.model.parameters(), self.grad_clip)
        self.optimizer.step()
        self.total += loss.detach() * len(self.rows)


class Predictions:
    """A model's predictions for the same graphs, captured and replayed on a GPU.

    Args:
        model: whose weights may change between calls, in place.
        graphs: a batch.
    """

    def __init__(self, model: nn.Module, graphs: GraphBatch):
        self.model = model
        self.graphs = graphs
        self.values = torch.empty(0)
        self.replay: Callable[[], object] = self.compute
        if graphs.mask.is_cuda:
            self.model.eval()
            self.replay = captured(self.compute)
            self.model.train()

    def __call__(self) -> Tensor:
        self.model.eval()
        self.replay()
        self.model.train()
        return self.values

    @torch.no_grad()
    def compute(self) -> None:
        self.values = self.model(self.graphs)


def captured(function: Callable[[], object]) -> Callable[[], object]:
    """A function that replays the kernels which ``function`` launches on a GPU."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            function()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    return graph.replay


@contextmanager
def unchanged(model: nn.Module, optimizer: Optimizer) -> Iterator[None]:
    """Puts the values of model and optimizer back, in the same memory, which a graph refers to."""
    tensors = [*model.parameters(), *model.buffers()]
    for state in optimizer.state.values():
        tensors += state.values()
    saved = [tensor.detach().clone() for tensor in tensors]
    yield
    with torch.no_grad():
        for tensor, values in zip(tensors, saved, strict=True):
            tensor.copy_(values)


def order_of(loader: DenseLoader, epoch: int) -> list[Tensor]:
    """The graphs of each batch of an epoch, as the loader draws them without buckets."""
    generator = torch.Generator().manual_seed(1_000_003 * loader.seed + epoch)
    graphs = torch.randperm(loader.num_graphs, generator=generator)
    batches = graphs.split(loader.batch_size)
    return [batches[place] for place in torch.randperm(len(batches), generator=generator).tolist()]


class Run:
    """Resumes a run of ``gtcourse train``.

    Args:
        recipe: of the run.
        folder: the run's, with its checkpoint.
        data: graphs in three splits.
        seed: of the run.
        device: where it goes on.
        compile: whether ``torch.compile`` merges kernels before they are captured.
    """

    def __init__(
        self,
        recipe: Recipe,
        folder: Path,
        data: GraphDataset,
        seed: int,
        device: torch.device,
        compile: bool = False,
    ):
        if recipe.stop_below_lr is not None or recipe.steps is not None:
            raise ValueError(
                f"{recipe.name} ends at a learning rate or after a number of steps; expected a "
                "recipe that ends after its epochs."
            )
        self.recipe = recipe
        self.task = recipe.task
        self.path = folder / FILENAME
        self.saved = read_tensors(self.path)
        self.history = self.saved["history"]
        self.device = device

        graphs = encode(data, *recipe.transforms)
        self.loader = DenseLoader(graphs.train, recipe.batch_size, shuffle=True, seed=seed)
        order = self.saved["run"]["order of the graphs"]
        if order != repr(self.loader.order):
            raise ValueError(
                f"{self.path} was begun with {order}; expected {self.loader.order!r}, that is, a "
                "run without buckets, with the recipe's batch size and this seed."
            )
        if self.saved["current"] is not None:
            raise ValueError(f"{self.path} ends within an epoch; expected one between two epochs.")
        num_nodes = max(graph.num_nodes for graph in graphs.graphs)
        self.train = collate(graphs.train, num_nodes=num_nodes).to(device)
        self.val = collate(graphs.val, num_nodes=num_nodes).to(device)

        self.model = recipe.build_model().to(device)
        self.model.load_state_dict(self.saved["model"])
        self.model.train()
        # The schedule needs an optimizer to set the rate of. This one makes no steps, and the one
        # that does reads its rate from memory.
        self.rates = recipe.optimizer(self.model.parameters())
        self.schedule = recipe.schedule(self.rates, recipe.epochs * len(self.loader))
        self.rates.load_state_dict(self.saved["optimizer"])
        self.schedule.load_state_dict(self.saved["schedule"])
        self.lr = torch.zeros((), device=device)
        on_gpu = {"fused": True, "capturable": True} if device.type == "cuda" else {}
        self.optimizer = recipe.optimizer(self.model.parameters(), lr=self.lr, **on_gpu)
        for parameter, state in self.rates.state.items():
            self.optimizer.state[parameter] = {
                name: value.to(device) for name, value in state.items()
            }
        self.rates.state.clear()

        self.steps: dict[int, Step] = {}
        for size in {len(batch) for batch in order_of(self.loader, epoch=0)}:
            trained: nn.Module = self.model
            if compile and size == recipe.batch_size:  # the one smaller batch is not worth it
                trained = torch.compile(self.model, dynamic=False)
            self.steps[size] = Step(
                trained, self.task, self.train, self.optimizer, recipe.grad_clip, size
            )
        self.predict = Predictions(self.model, self.val)
        # After the captures, whose warm-up draws random numbers.
        if "cuda" in self.saved["random"] and device.type == "cuda":
            torch.cuda.set_rng_state(self.saved["random"]["cuda"][0])
        else:
            torch.manual_seed(seed + len(self.history["epochs"]))

    def rate_after(self, steps: int) -> float:
        """The learning rate of the next step."""
        if isinstance(self.schedule, LambdaLR):
            return self.schedule.base_lrs[0] * self.schedule.lr_lambdas[0](steps)
        return self.rates.param_groups[0]["lr"]

    def epoch(self) -> dict[str, float]:
        """Trains for an epoch, and returns its row of the curve."""
        start = time.perf_counter()
        number = len(self.history["epochs"])
        batches = order_of(self.loader, number)
        steps = self.history["steps"]
        lr = torch.tensor([self.rate_after(steps + step) for step in range(len(batches))])
        for step in self.steps.values():
            step.total.zero_()
        order = torch.cat(batches).to(self.device).split([len(batch) for batch in batches])
        for rate, rows in zip(lr.to(self.device), order, strict=True):
            self.lr.copy_(rate)
            self.steps[len(rows)](rows)
        self.history["steps"] += len(batches)
        total = sum(float(step.total) for step in self.steps.values())
        if not math.isfinite(total):
            raise RuntimeError(
                f"the training loss is {total} in epoch {number}; expected a finite number."
            )
        row = {
            "epoch": number,
            "lr": self.rates.param_groups[0]["lr"],
            "train_loss": total / self.loader.num_graphs,
        }
        metric = self.task.metric().to(self.device)
        self.task.update(metric, self.predict(), self.val)
        score = float(metric.compute())
        row[f"val_{self.task.monitor}"] = score
        self.move_rate(score)
        row["seconds"] = time.perf_counter() - start
        self.history["epochs"].append(row)
        best = self.history["best"]
        monitored = f"val_{self.task.monitor}"
        if self.task.improves(score, None if best is None else best[monitored]):
            self.history["best"] = row
            weights = self.model.state_dict()
            self.saved["best_weights"] = {
                name: values.detach().clone() for name, values in weights.items()
            }
        return row

    def move_rate(self, score: float) -> None:
        """Brings the schedule to the end of the epoch."""
        if isinstance(self.schedule, ReduceLROnPlateau):
            self.schedule.step(score)
            return
        state = self.schedule.state_dict()
        steps = self.history["steps"]
        rate = self.rate_after(steps)
        state |= {"last_epoch": steps, "_step_count": steps + 1, "_last_lr": [rate]}
        self.schedule.load_state_dict(state)
        self.rates.param_groups[0]["lr"] = rate

    def save(self) -> None:
        """Writes the checkpoint, as ``gtcourse train`` reads it."""
        optimizer = self.rates.state_dict()
        optimizer["state"] = {
            number: on_cpu(self.optimizer.state[parameter])
            for number, parameter in enumerate(self.model.parameters())
            if parameter in self.optimizer.state  # not of a head for other targets
        }
        random = dict(self.saved["random"])
        if self.device.type == "cuda":
            random["cuda"] = torch.cuda.get_rng_state()[None]
        content = {
            "model": on_cpu(self.model.state_dict()),
            "optimizer": optimizer,
            "schedule": self.schedule.state_dict(),
            "run": self.saved["run"],
            "random": random,
            "history": self.history,
            "current": None,
            "best_weights": on_cpu(self.saved["best_weights"]),
        }
        write_tensors(self.path, content)


def on_cpu(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().cpu() for name, tensor in tensors.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recipe", help="of the run, such as egt-100k-spe-do/zinc")
    parser.add_argument("--data", required=True, help="an .npz graph file")
    parser.add_argument("--out", type=Path, required=True, help="the folder of gtcourse train")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, required=True, help="when to stop, at the latest")
    parser.add_argument("--compile", action="store_true", help="merge kernels by torch.compile")
    parser.add_argument("--epochs", type=int, help="stop after this many epochs in all")
    arguments = parser.parse_args()

    start = time.perf_counter()
    recipe = get_recipe(arguments.recipe)
    folder = arguments.out / record_stem(recipe.name, arguments.seed)
    data = load_dataset(recipe.dataset, arguments.data)
    run = Run(recipe, folder, data, arguments.seed, device(), arguments.compile)
    print(f"{recipe.name}: ready after {time.perf_counter() - start:.0f} s", flush=True)
    begun = saved = time.perf_counter()
    first = len(run.history["epochs"])
    last = recipe.epochs if arguments.epochs is None else min(recipe.epochs, arguments.epochs)
    slowest = 0.0
    while len(run.history["epochs"]) < last:
        row = run.epoch()
        slowest = max(slowest, row["seconds"])
        now = time.perf_counter()
        if now - saved > 30:
            run.save()
            saved = now
            print(", ".join(f"{name} {value:.4g}" for name, value in row.items()), flush=True)
        if now - start + slowest > 60 * arguments.minutes - 5:
            break
    run.save()
    epochs = len(run.history["epochs"]) - first
    seconds = time.perf_counter() - begun
    note = json.loads((folder / "run.json").read_text())
    part = {"epochs": [first, first + epochs], "device": device_name()}
    part |= {"compile": arguments.compile, "seconds": round(seconds, 1)}
    note.setdefault("captured", []).append(part | {"versions": installed_versions()})
    write_json(folder / "run.json", note)
    best = run.history["best"]
    print(f"{epochs} epochs in {seconds:.0f} s, {run.history['steps']} steps in all; best {best}")


if __name__ == "__main__":
    main()
