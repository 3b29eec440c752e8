"""What a run is trained on: the data that a name or a path means, and the loaders of them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from gtcourse.encodings import Encoding, computed_on_device, encode, encode_batch
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.datasets import DOWNLOAD, GENERATED, NAMES, PUBLICATIONS, load_dataset
from gtcourse.graphs.files import brief
from gtcourse.graphs.loader import DenseLoader
from gtcourse.graphs.mapped import META, MappedGraphs, open_graphs
from gtcourse.graphs.ragged import SPLITS, GraphDataset
from gtcourse.training.budget import device
from gtcourse.training.recipe import Recipe

EMBEDDED = {"zinc": "molecules", "zinc-full": "molecules", "mnist": "digits"}
"""What stands in for data that has to be downloaded; communities, tours and cycles are made."""

EVALUATED_AT_ONCE = 4
"""Times the batch size: without gradients that many graphs fit into memory as easily."""

Graphs = GraphDataset | MappedGraphs
Loader = DenseLoader


def data_for(recipe: Recipe, source: str, root: Path | None = None) -> Graphs:
    """The data that a recipe is to be run on.

    Args:
        source: "embedded", without a network: what stands in for the recipe's data set, or our own
            graphs by its published rules; "real", the published graphs, downloaded; the name of
            another data set; or the path of an ``.npz`` graph file, of a publisher's folder, or of
            a folder that :func:`gtcourse.prepare.prepare` wrote.

    Raises:
        ValueError: there is no such data.
    """
    name = recipe.dataset
    if source == "embedded":
        name = EMBEDDED.get(name, name)
        if name not in GENERATED:
            raise ValueError(
                f"nothing embedded stands in for {name!r}; expected 'real', or the path of an .npz "
                "graph file."
            )
        return load_dataset(name, root=root)
    if source == "real":
        return load_dataset(name, DOWNLOAD if name in PUBLICATIONS else None, root=root)
    if source in NAMES:
        return load_dataset(source, root=root)
    if not exists(source):
        raise ValueError(
            f"data is {brief(Path(source))!r}; expected 'embedded', 'real', the path of an .npz "
            f"graph file or of a prepared folder, or one of {', '.join(NAMES)}."
        )
    if (Path(source) / META).is_file():
        return open_graphs(source)
    return load_dataset(name, source, root=root)


def exists(path: str) -> bool:
    """Whether there is something; a name that no file can have is that of nothing."""
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long; a null byte
        return False


def first(data: Graphs, count: int) -> Graphs:
    """The first ``count`` training graphs, and a quarter as many of the others."""
    if isinstance(data, MappedGraphs):
        return data.first(count)
    counts = dict(zip(SPLITS, (count, count // 4, count // 4), strict=True))
    kept = torch.cat(
        [
            (data.split == number).nonzero().flatten()[: max(1, counts[name])]
            for number, name in enumerate(SPLITS)
        ]
    )
    return replace(data, graphs=[data.graphs[int(i)] for i in kept], split=data.split[kept])


def loaders(
    recipe: Recipe, data: Graphs, seed: int, buckets: int, few_shapes: bool
) -> tuple[DenseLoader, DenseLoader, DenseLoader]:
    """Training, validation and test data with the recipe's encodings, on the device.

    Raises:
        ValueError: several buckets, or one with ``few_shapes``, do not fill a batch each; or the
            folder lacks an encoding that has to be stored.
    """
    count = data.split_sizes["train"]
    if (buckets > 1 or few_shapes) and count // buckets < recipe.batch_size:
        raise ValueError(
            f"{count} training graphs in {buckets} bucket(s) do not fill a batch of "
            f"{recipe.batch_size} in each; expected more graphs, smaller batches or fewer buckets."
        )
    options = {"few_shapes": few_shapes, "buckets": buckets, "device": device()}
    if isinstance(data, MappedGraphs):
        options["then"] = partial(_encoded, _missing(recipe, data))
    else:
        options["target"] = data.target
        data = encode(data, *recipe.transforms)
    # The last batch of a bucket would be one shape more, and an epoch has others to learn from.
    train = DenseLoader(
        data.train, recipe.batch_size, shuffle=True, seed=seed, drop_last=few_shapes, **options
    )
    at_once = EVALUATED_AT_ONCE * recipe.batch_size
    val, test = (DenseLoader(graphs, at_once, **options) for graphs in (data.val, data.test))
    return train, val, test


def _missing(recipe: Recipe, data: MappedGraphs) -> list[Encoding]:
    """The recipe's encodings that are not stored, which are computed for each batch."""
    computed = [t for t in recipe.transforms if repr(t) not in data.stored]
    missing = [repr(t) for t in computed if not computed_on_device(t)]
    if missing:
        raise ValueError(
            f"{data.folder} holds {', '.join(data.stored) or 'no encodings'}; {recipe.name} reads "
            f"{', '.join(missing)} as well, which has to be stored: expected a folder that was "
            f"prepared with --recipe {recipe.name}."
        )
    return computed


def _encoded(transforms: list[Encoding], batch: GraphBatch) -> GraphBatch:
    return encode_batch(batch, *transforms)
