"""Whether a recipe and data fit together: asked before anything is written or trained.

Data that a model cannot read would otherwise be found in the middle of an epoch, on a GPU as an
error of the device.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gtcourse.encodings import encode
from gtcourse.graphs.batch import collate
from gtcourse.graphs.dataset import SPLITS, GraphDataset
from gtcourse.shards.dataset import ShardedGraphs
from gtcourse.training.recipe import Recipe


def rehearse(recipe: Recipe, data: GraphDataset | ShardedGraphs) -> None:
    """Puts the graphs with the first and last category of each column through the recipe's model.

    An embedding that has rows for these has rows for all others. Of shards only the sizes of the
    splits are looked at: to find such graphs, all would have to be read.

    Raises:
        ValueError: a split is empty, or the model or the task cannot take a graph; the sentence
            names it.
    """
    for split in SPLITS:
        if not data.split_sizes[split]:
            raise ValueError(
                f"{data.name} ({data.source}) has no graphs in its split {split!r}; expected one "
                "or more in each."
            )
    if isinstance(data, GraphDataset):
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            take = partial(_take, recipe, recipe.build_model().eval(), data)
            numbers = extremes(data.graphs)
            try:
                take(numbers)
            except (ValueError, IndexError) as error:
                number, alone = _first(numbers, take, error)
                raise ValueError(
                    f"graph {number} of {data.name} does not fit {recipe.name}: "
                    f"{_sentence(alone, recipe)}"
                ) from None


def extremes(graphs: Sequence[Data]) -> list[int]:
    """Where the least and the greatest category of each column are; the first graph at least."""
    found = {0}
    for name in ("x", "edge_attr", "y"):
        values = [graph.get(name) for graph in graphs]
        if not all(isinstance(value, Tensor) for value in values) or values[0].is_floating_point():
            continue
        owner = torch.repeat_interleave(torch.tensor([len(value) for value in values]))
        rows = torch.cat(values)
        if rows.numel():
            rows = rows.reshape(len(owner), -1)
            places = torch.cat([rows.argmin(dim=0), rows.argmax(dim=0)])
            found |= {*owner[places].tolist()}
    return sorted(found)


def _take(recipe: Recipe, model: nn.Module, data: GraphDataset, numbers: Sequence[int]) -> None:
    graphs = encode([data.graphs[i] for i in numbers], *recipe.transforms)
    batch = collate(graphs, target=data.target)
    recipe.task.loss(model(batch, **recipe.task.asks), batch)


def _first(numbers: Sequence[int], take, together: Exception) -> tuple[int, Exception]:
    """The first graph that is refused on its own, or of those that are only together; and why."""
    for number in numbers:
        try:
            take([number])
        except (ValueError, IndexError) as error:
            return number, error
    return numbers[0], together


def _sentence(error: Exception, recipe: Recipe) -> str:
    if isinstance(error, IndexError):  # torch's, of an embedding or of a class
        expected = f"graphs like those of {recipe.dataset}"
        return f"it has a category or class beyond the model's; expected {expected}."
    return str(error)
