"""What the fused forms save in a training step on a CPU: ``python -m speed.fused``.

A recipe of CSA, one of EGT and one of GRPE, in batches of the recipe's size or of ``--batch``
molecules, one thread:

1. where the time of a step goes in the default form, by kind of operator and by what the operators
   read: the attention, the vectors of pairs, or the nodes;
2. a step in the default form and one in the fused form, which needs numba. They take turns on the
   same batches. The ratio of a round is that of the two steps on one batch.

The batches are drawn from all molecules, as the recipes train. A second measurement has molecules
of one size, without padding, which shows what the fused form gains beside leaving out padding.
Times are CPU times, because other programs share most machines.
"""

import statistics
from collections import Counter
from collections.abc import Iterable

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch_geometric.data import Data

from gtcourse import DenseLoader, GraphBatch, load_dataset
from gtcourse.encodings import encode
from gtcourse.recipes import Recipe, get_recipe
from gtcourse.recipes.recipe import with_form
from gtcourse.train.loop import count_parameters
from speed.measure import Step, milliseconds, run, summary
from speed.profile import OPTIMISER, PYTHON, kind_of, outermost
from speed.subjects import PHASES

RECIPES = ("csa-rings/zinc", "egt-100k-spe-do/zinc", "grpe-small/zinc")
BATCHES = 4
"""Different batches, of which one is used in each round."""

WARM_UP = 2
PROFILED = 3
"""Steps under the profiler; the fastest one counts, in whose way the machine was the least."""

PRODUCTS = "matrix products"
ATTENTION = "the attention"
PAIRS = "vectors of pairs"
NODES = "nodes and the rest"


def training_step(recipe: Recipe, batches: list[GraphBatch]) -> Step:
    """A step of a new model, each time on the next batch, which a profiler sees by phases."""
    torch.manual_seed(0)
    model = recipe.build_model().train()
    optimizer = recipe.optimizer(model.parameters())
    numbers = iter(range(10**9))
    forward, backward, optimiser = PHASES

    def step() -> None:
        batch = batches[next(numbers) % len(batches)]
        with record_function(forward):
            loss = recipe.task.loss(model(batch, **recipe.task.model_options), batch)
        with record_function(backward):
            loss.backward()
        with record_function(optimiser):
            if recipe.grad_clip is not None:
                torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.grad_clip)
            optimizer.step()
            optimizer.zero_grad()

    return step


def read_by(shapes: Iterable[object], batch: GraphBatch, heads: int) -> str:
    """What tensors of these shapes are of: attention, pairs, or nodes.

    The pairs of a batch are ``[B, N, N]``, or flat, with N tokens. A tensor of the attention has
    one or two numbers for each head.
    """
    B, N = batch.mask.shape
    for shape in shapes:
        for tokens in (N, N + 1):  # N + 1 with a virtual node
            is_flat = B * tokens * tokens in shape
            if is_flat or shape.count(tokens) > 1:
                others = set(shape) - {B, tokens, B * tokens * tokens, 1}
                return ATTENTION if others <= {heads, 2 * heads} else PAIRS
    return NODES


def shares(recipe: Recipe, batch: GraphBatch) -> dict[str, float]:
    """Percent of a step by what is computed and of what; the step is one of the default form."""
    heads = recipe.build_model.args[0].num_heads
    step = training_step(recipe, [batch])
    step()
    found = []
    for _ in range(PROFILED):
        with profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
            step()
        times = Counter()
        for event in profiler.events():
            phase = outermost(event).name
            if phase not in PHASES:
                continue
            kind = kind_of(event.name)
            shapes = [shape for shape in event.input_shapes if shape and _is_shape(shape)]
            of = read_by(shapes, batch, heads)
            if phase == OPTIMISER or kind == PYTHON:
                name = f"other operators, {NODES}"
            elif kind == PRODUCTS and "bmm" in event.name:  # products of queries with keys, …
                name = f"{PRODUCTS}, {ATTENTION}"
            elif kind == PRODUCTS:
                name = f"{PRODUCTS}, {PAIRS if of == ATTENTION else of}"
            else:
                name = f"other operators, {of}"
            times[name] += event.self_cpu_time_total
        found.append(times)
    fastest = min(found, key=lambda times: times.total())
    return {name: round(100 * t / fastest.total(), 1) for name, t in sorted(fastest.items())}


def _is_shape(shape: object) -> bool:
    return isinstance(shape, list) and all(isinstance(size, int) for size in shape)


def batches_of(graphs: list[Data], recipe: Recipe) -> list[GraphBatch]:
    loader = DenseLoader(graphs, recipe.batch_size, shuffle=True, drop_last=True)
    return [batch for batch, _ in zip(loader, range(BATCHES), strict=False)]


def of_one_size(graphs: list[Data], count: int) -> list[Data]:
    """Molecules of the most common size, some of them several times if there are fewer."""
    ((size, _),) = Counter(graph.num_nodes for graph in graphs).most_common(1)
    chosen = [graph for graph in graphs if graph.num_nodes == size]
    return [chosen[i % len(chosen)] for i in range(count)]


def in_both_forms(recipe: Recipe, batches: list[GraphBatch], rounds: int) -> dict:
    """CPU time of a step in each form, and how many times as fast the fused one is."""
    given = recipe.build_model.args[0].form
    steps = {form: training_step(with_form(recipe, form), batches) for form in (given, "fused")}
    times = {form: [] for form in steps}
    for _ in range(WARM_UP + rounds):
        for form, step in steps.items():
            times[form].append(milliseconds(step))
    default, fused = (of_form[WARM_UP:] for of_form in times.values())
    ratios = [one / other for one, other in zip(default, fused, strict=True)]
    low, _, high = statistics.quantiles(ratios)
    nodes = torch.cat([batch.mask.sum(dim=1) for batch in batches])
    places = sum(batch.mask.shape[0] * batch.mask.shape[1] ** 2 for batch in batches)
    return {
        "real_pairs": round(float(nodes.square().sum()) / places, 3),
        "default": summary(default),
        "fused": summary(fused),
        "times_as_fast": round(statistics.median(ratios), 2),
        "quartiles": [round(low, 2), round(high, 2)],
    }


def measured(name: str, graphs: list[Data], rounds: int, batch: int) -> dict:
    recipe = get_recipe(name)
    if batch > 0:
        recipe = recipe.at(batch_size=batch)
    count = BATCHES * recipe.batch_size
    mixed = batches_of(encode(graphs[:count], *recipe.transforms), recipe)
    alike = batches_of(encode(of_one_size(graphs, count), *recipe.transforms), recipe)
    return {
        "recipe": name,
        "default_form": recipe.build_model.args[0].form,
        "batch_size": recipe.batch_size,
        "parameters": count_parameters(recipe.build_model()),
        "shares": shares(recipe, mixed[0]),
        "mixed sizes": in_both_forms(recipe, mixed, rounds),
        "one size": in_both_forms(recipe, alike, rounds),
    }


def measure(rounds: int, batch: int) -> dict:
    molecules = load_dataset("molecules").train
    return {"rows": [measured(name, molecules, rounds, batch) for name in RECIPES]}


if __name__ == "__main__":
    run("fused", measure, rounds=11, batch=0)
