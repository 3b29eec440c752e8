"""Continues runs of ``gtcourse train`` on a GPU, with every step replayed from a CUDA graph.

A step of a small model is thousands of kernels of a few microseconds each, which Python launches
more slowly than the GPU computes them. Here a whole step (gathering the batch, the model, its
gradient, clipping, the optimizer) is captured once and then replayed. For this all batches have the
same shape: each graph is padded to the size of the largest of the data set, which changes no
prediction. The order of the graphs, the learning rates and the arithmetic (float32) are those of
``gtcourse train``; random numbers come from the GPU's generator.

    python -m gtcourse train csa-rings/zinc --seed 1 --data zinc12k.npz --out runs  # for an epoch
    python -m experiments.captured csa-rings/zinc:1 --data zinc12k.npz --out runs --minutes 9

The checkpoint is that of ``gtcourse train``, which can go on with it on any machine, and which
evaluates the test set and writes the record once all epochs are done. CSA's fused form is for the
CPU; a run that was begun with it goes on here in the recipe's own form, the same function, or, with
``--triton``, in that of :mod:`experiments.csa_triton`. Several such runs take turns, a stream each:
a single one leaves most of the GPU idle.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

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
from gtcourse.models import CGTConfig
from gtcourse.recipes import Recipe, get_recipe
from gtcourse.runs.record import device_name, installed_versions, record_stem, write_json
from gtcourse.train.checkpoint import FILENAME, read_tensors
from gtcourse.train.loop import device
from gtcourse.train.tasks import Task

T = TypeVar("T")

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
        generator: of the random numbers; by default PyTorch's own.
    """

    def __init__(
        self,
        model: nn.Module,
        task: Task,
        graphs: GraphBatch,
        optimizer: Optimizer,
        grad_clip: float | None,
        batch_size: int,
        generator: torch.Generator | None = None,
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
                self.replay = captured(self.compute, generator)

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


def captured(
    function: Callable[[], object], generator: torch.Generator | None = None
) -> Callable[[], object]:
    """A function that replays the kernels which ``function`` launches on a GPU.

    Args:
        function: has no arguments, and never waits for the GPU.
        generator: of the random numbers that it draws, if it is not PyTorch's own.
    """
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_UP):
            function()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    if generator is not None:
        graph.register_generator_state(generator)
    with torch.cuda.graph(graph):
        function()
    return graph.replay


@contextmanager
def unchanged(model: nn.Module, optimizer: Optimizer) -> Iterator[None]:
    """Restores the values of model and optimizer in place, since a graph refers to the memory."""
    tensors = [*model.parameters(), *model.buffers()]
    for state in optimizer.state.values():
        tensors += state.values()
    saved = [tensor.detach().clone() for tensor in tensors]
    yield
    with torch.no_grad():
        for tensor, values in zip(tensors, saved, strict=True):
            tensor.copy_(values)


class PaddedData:
    """The training and validation graphs of a recipe on a device, padded to one size.

    Runs of one recipe can share them.

    Args:
        recipe: whose model reads the graphs.
        data: graphs in three splits.
        device: where they are to be.
        use_triton: whether they are for the model of :mod:`experiments.csa_triton`.
    """

    def __init__(
        self, recipe: Recipe, data: GraphDataset, device: torch.device, use_triton: bool = False
    ):
        self.device = device
        self.use_triton = use_triton
        self.graphs = encode(data, *recipe.transforms)
        readable = recipe.build_model()
        for split in (self.graphs.train, self.graphs.val):
            DenseLoader(split, recipe.batch_size).check_features(readable)
        num_nodes = max(graph.num_nodes for graph in self.graphs.graphs)
        self.train = collate(self.graphs.train, num_nodes=num_nodes).to(device)
        self.val = collate(self.graphs.val, num_nodes=num_nodes).to(device)
        if use_triton:
            from experiments.csa_triton import with_features  # needs Triton

            model = csa_on_gpu(recipe).to(device)
            first = torch.arange(min(recipe.batch_size, self.train.num_graphs), device=device)
            check_triton(model, recipe.task, self.train.select(first))
            self.train = with_features(model, self.train)
            self.val = with_features(model, self.val)


class Run:
    """Resumes a run of ``gtcourse train``.

    Args:
        recipe: of the run.
        folder: the run's, with its checkpoint.
        data: the recipe's graphs, where the run is to go on.
        seed: of the run.
        compile: whether ``torch.compile`` merges kernels before they are captured.
    """

    def __init__(
        self, recipe: Recipe, folder: Path, data: PaddedData, seed: int, compile: bool = False
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
        self.device = data.device
        self.train = data.train
        self.val = data.val

        self.loader = DenseLoader(data.graphs.train, recipe.batch_size, shuffle=True, seed=seed)
        order = self.saved["run"]["order of the graphs"]
        if order != repr(self.loader.order):
            raise ValueError(
                f"{self.path} was begun with {order}; expected {self.loader.order!r}, that is, a "
                "run without buckets, with the recipe's batch size and this seed."
            )
        if self.saved["current"] is not None:
            raise ValueError(f"{self.path} ends within an epoch; expected one between two epochs.")

        self.generator: torch.Generator | None = None
        self.model = recipe.build_model()
        if data.use_triton:
            self.generator = torch.Generator(self.device)
            self.model = csa_on_gpu(recipe, self.generator, compile)
        self.model.to(self.device)
        self.model.load_state_dict(self.saved["model"])
        self.model.train()
        # The schedule needs an optimizer to set the rate of. This one makes no steps, and the one
        # that does reads its rate from memory.
        self.scheduled = recipe.optimizer(self.model.parameters())
        self.schedule = recipe.schedule(self.scheduled, recipe.epochs * len(self.loader))
        if not isinstance(self.schedule, LambdaLR | ReduceLROnPlateau):
            raise ValueError(
                f"{recipe.name} has the schedule {type(self.schedule).__name__}; expected LambdaLR "
                "or ReduceLROnPlateau."
            )
        self.scheduled.load_state_dict(self.saved["optimizer"])
        self.schedule.load_state_dict(self.saved["schedule"])
        self.lr = torch.zeros((), device=self.device)
        on_gpu = {"fused": True, "capturable": True} if self.device.type == "cuda" else {}
        self.optimizer = recipe.optimizer(self.model.parameters(), lr=self.lr, **on_gpu)
        for parameter, state in self.scheduled.state.items():
            self.optimizer.state[parameter] = {
                name: value.to(self.device) for name, value in state.items()
            }
        self.scheduled.state.clear()

        self.steps: dict[int, Step] = {}
        for size in {len(batch) for batch in self.loader.graphs_of_batches(epoch=0)}:
            trained: nn.Module = self.model
            # The one smaller batch is not worth it; Triton's model compiles its parts itself.
            if compile and not data.use_triton and size == recipe.batch_size:
                trained = torch.compile(self.model, dynamic=False)
            self.steps[size] = Step(
                trained,
                self.task,
                self.train,
                self.optimizer,
                recipe.grad_clip,
                size,
                self.generator,
            )
        self.predict = Predictions(self.model, self.val)
        # After the captures, whose warm-up draws random numbers.
        random_seed = seed + len(self.history["epochs"])
        if "cuda" in self.saved["random"] and self.device.type == "cuda":
            self.set_random_state(self.saved["random"]["cuda"][0])
        elif self.generator is not None:
            self.generator.manual_seed(random_seed)
        else:
            torch.manual_seed(random_seed)

    def random_state(self) -> Tensor:
        """The state of the GPU's random numbers."""
        return torch.cuda.get_rng_state() if self.generator is None else self.generator.get_state()

    def set_random_state(self, state: Tensor) -> None:
        """Goes on with random numbers from a state."""
        if self.generator is None:
            torch.cuda.set_rng_state(state)
        else:
            self.generator.set_state(state)

    def rate_after(self, steps: int) -> float:
        """The learning rate after so many steps; one that depends on the score keeps its value."""
        if isinstance(self.schedule, LambdaLR):
            return self.schedule.base_lrs[0] * self.schedule.lr_lambdas[0](steps)
        return self.scheduled.param_groups[0]["lr"]

    def steps_of_epoch(self) -> Iterator[None]:
        """Trains for an epoch, a step at a time, and adds its row to the curve.

        Raises:
            FloatingPointError: the training loss is not finite; the model is then of no use.
        """
        start = time.perf_counter()
        number = len(self.history["epochs"])
        batches = self.loader.graphs_of_batches(number)
        steps = self.history["steps"]
        lr = torch.tensor([self.rate_after(steps + step) for step in range(len(batches))])
        for step in self.steps.values():
            step.total.zero_()
        order = torch.cat(batches).to(self.device).split([len(batch) for batch in batches])
        for rate, rows in zip(lr.to(self.device), order, strict=True):
            self.lr.copy_(rate)
            self.steps[len(rows)](rows)
            yield
        self.history["steps"] += len(batches)
        total = sum(float(step.total) for step in self.steps.values())
        if not math.isfinite(total):
            raise FloatingPointError(
                f"the training loss is {total} in epoch {number}; expected a finite number."
            )
        row = {
            "epoch": number,
            "lr": self.scheduled.param_groups[0]["lr"],
            "train_loss": total / self.loader.num_graphs,
        }
        metric = self.task.metric().to(self.device)
        self.task.update(metric, self.predict(), self.val)
        score = float(metric.compute())
        monitored = f"val_{self.task.monitor}"
        row[monitored] = score
        self.step_schedule(score)
        row["seconds"] = time.perf_counter() - start
        self.history["epochs"].append(row)
        best = self.history["best"]
        if self.task.improves(score, None if best is None else best[monitored]):
            self.history["best"] = row
            weights = self.model.state_dict()
            self.saved["best_weights"] = {
                name: values.detach().clone() for name, values in weights.items()
            }

    def step_schedule(self, score: float) -> None:
        """Brings the schedule to the end of the epoch."""
        if isinstance(self.schedule, ReduceLROnPlateau):
            self.schedule.step(score)
            return
        state = self.schedule.state_dict()
        steps = self.history["steps"]
        rate = self.rate_after(steps)
        state |= {"last_epoch": steps, "_step_count": steps + 1, "_last_lr": [rate]}
        self.schedule.load_state_dict(state)
        self.scheduled.param_groups[0]["lr"] = rate

    def save(self) -> None:
        """Writes the checkpoint, as ``gtcourse train`` reads it."""
        optimizer = self.scheduled.state_dict()
        optimizer["state"] = {
            number: on_cpu(self.optimizer.state[parameter])
            for number, parameter in enumerate(self.model.parameters())
            if parameter in self.optimizer.state  # not of a head for other targets
        }
        random = dict(self.saved["random"])
        if self.device.type == "cuda":
            random["cuda"] = self.random_state()[None]
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


def csa_on_gpu(
    recipe: Recipe, generator: torch.Generator | None = None, compile: bool = False
) -> nn.Module:
    """The recipe's model of CSA, with Triton kernels."""
    from experiments.csa_triton import CGTOnGPU  # needs Triton

    config = recipe.build_model().config
    if not isinstance(config, CGTConfig):
        raise ValueError(f"{recipe.name} was asked for with Triton; expected a recipe of CSA.")
    model = CGTOnGPU(config)
    model.generator = generator
    model.compile_parts = compile
    return model


def check_triton(model: nn.Module, task: Task, graphs: GraphBatch) -> None:
    """Compares the gradient of Triton's kernels with that of the readable form.

    Both are without ablation, whose random numbers would differ.

    Args:
        model: of :class:`experiments.csa_triton.CGTOnGPU`.
        task: its loss.
        graphs: some graphs, with the encodings that the readable form reads.

    Raises:
        RuntimeError: the difference has more than a thousandth of the gradient's norm.
    """
    from experiments.csa_triton import with_features  # needs Triton

    twin = type(model)(replace(model.config, edge_ablation=0.0)).to(graphs.mask.device).train()
    twin.load_state_dict(model.state_dict())
    gradients = []
    for batch in (graphs, with_features(twin, graphs)):
        twin.zero_grad()
        task.loss(twin(batch, **task.model_options), batch).backward()
        gradients.append(torch.cat([p.grad.flatten() for p in twin.parameters()]))
    expected, found = gradients
    difference = float((found - expected).norm() / expected.norm())
    if not difference < 1e-3:  # nor if it is NaN
        raise RuntimeError(
            f"the gradient of the Triton kernels is off by {difference:.2g}; expected 1e-3 or less."
        )


def run_until(
    run: Run, name: str, epochs: int, end: float, highest: float = math.inf
) -> Generator[None, None, dict[str, object]]:
    """Trains, a step at a time, until so many epochs are done in all or the time is over.

    Args:
        run: to go on with.
        name: for its lines of progress.
        epochs: at most, in all.
        end: of the time, by ``time.perf_counter``.
        highest: training loss at which a run is given up, once it has been below.

    Returns:
        The part's epochs, seconds and, if the loss became NaN or too high, the error.
    """
    first = len(run.history["epochs"])
    begun = saved = time.perf_counter()
    slowest = 0.0
    error = None
    is_finite = True
    while len(run.history["epochs"]) < epochs and time.perf_counter() + slowest < end:
        try:
            yield from run.steps_of_epoch()
        except FloatingPointError as failure:
            error = str(failure)
            is_finite = False  # the checkpoint stays what it was at the last save
            break
        row = run.history["epochs"][-1]
        slowest = max(slowest, row["seconds"])
        lowest_loss = min(other["train_loss"] for other in run.history["epochs"])
        if lowest_loss < highest < row["train_loss"]:
            error = f"the training loss rose to {row['train_loss']:.4g}"
            break
        if time.perf_counter() - saved > 30:
            run.save()
            saved = time.perf_counter()
            line = ", ".join(f"{column} {value:.4g}" for column, value in row.items())
            print(f"{name}: {line}", flush=True)
    if is_finite:
        run.save()
    part: dict[str, object] = {"epochs": [first, len(run.history["epochs"])]}
    part["seconds"] = round(time.perf_counter() - begun, 1)
    if error is not None:
        part["error"] = error
    return part


def take_turns(work: Mapping[str, Generator[None, None, T]], at_a_time: int) -> dict[str, T]:
    """Does several pieces of work a step at a time, in turn, each in a stream of its own on a GPU.

    A step only launches kernels, so that those of several pieces overlap.

    Args:
        work: generators by name.
        at_a_time: how many are under way; the others wait until one has ended.

    Returns:
        What each of them returns.
    """
    waiting = list(work)
    streams: dict[str, AbstractContextManager[object]] = {}  # of the pieces that are under way
    results: dict[str, T] = {}
    while waiting or streams:
        while waiting and len(streams) < at_a_time:
            streams[waiting.pop(0)] = new_stream()
        for name in list(streams):
            with streams[name]:
                try:
                    next(work[name])
                except StopIteration as end:
                    results[name] = end.value
                    del streams[name]
    return results


def new_stream() -> AbstractContextManager[object]:
    """A stream of a GPU that waits for what was launched before; nothing without a GPU."""
    if not torch.cuda.is_available():
        return nullcontext()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.default_stream())
    return torch.cuda.stream(stream)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("runs", nargs="+", help="recipe:seed, such as egt-100k-spe-do/zinc:0")
    parser.add_argument("--data", required=True, help="an .npz graph file")
    parser.add_argument("--out", type=Path, required=True, help="the folder of gtcourse train")
    parser.add_argument("--minutes", type=float, required=True, help="when to stop, at the latest")
    parser.add_argument("--compile", action="store_true", help="merge kernels by torch.compile")
    parser.add_argument("--triton", action="store_true", help="CSA's kernels of csa_triton")
    parser.add_argument("--epochs", type=int, help="stop after this many epochs in all")
    parser.add_argument("--at-a-time", type=int, default=1, help="others wait until one ends")
    parser.add_argument("--highest", type=float, default=math.inf, help="give up at this loss")
    arguments = parser.parse_args()
    if len(arguments.runs) > 1 and not arguments.triton:
        parser.error("several runs were given; expected one, or --triton.")
    if arguments.at_a_time < 1:
        parser.error(f"--at-a-time is {arguments.at_a_time}; expected 1 or more.")

    start = time.perf_counter()
    data: dict[str, PaddedData] = {}  # of each recipe
    runs: dict[str, Run] = {}
    for name in arguments.runs:
        recipe_name, _, seed = name.partition(":")
        if not seed.isdecimal():
            parser.error(f"{name!r} was given; expected a recipe, a colon and a seed.")
        recipe = get_recipe(recipe_name)
        folder = arguments.out / record_stem(recipe.name, int(seed))
        if recipe.name not in data:
            graphs = load_dataset(recipe.dataset, arguments.data)
            data[recipe.name] = PaddedData(recipe, graphs, device(), arguments.triton)
        runs[name] = Run(recipe, folder, data[recipe.name], int(seed), arguments.compile)
        print(f"{name}: ready after {time.perf_counter() - start:.0f} s", flush=True)

    end = start + 60 * arguments.minutes - 5
    work = {}
    for name, run in runs.items():
        epochs = run.recipe.epochs
        if arguments.epochs is not None:
            epochs = min(epochs, arguments.epochs)
        work[name] = run_until(run, name, epochs, end, arguments.highest)
    parts = take_turns(work, arguments.at_a_time)
    for name, run in runs.items():
        part = parts[name] | {"device": device_name(), "runs at a time": arguments.at_a_time}
        part |= {"compile": arguments.compile, "triton": arguments.triton}
        path = run.path.parent / "run.json"
        note = json.loads(path.read_text())
        note.setdefault("captured", []).append(part | {"versions": installed_versions()})
        write_json(path, note)
        print(f"{name}: {part}, {run.history['steps']} steps in all; best {run.history['best']}")


if __name__ == "__main__":
    main()
