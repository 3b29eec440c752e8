"""Several columns of categories in one table of vectors, as Graphormer's authors lay it out."""

from __future__ import annotations

from functools import cache

import torch
from torch import Tensor

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.waiting import refuse

ALL = slice(None)

CATEGORY_STRIDE = 512
"""Rows of a table that belong to one column of categories, where there are several."""


def category_rows(values: Tensor, name: str, size: int) -> Tensor:
    """The row of each category in one table: value v of column c has row v + 512 c.

    Args:
        values: ``[..., F]`` whole numbers; name: what they are, for the sentence.
        size: rows of the table.

    Raises:
        ValueError: the values are floats, or one has no row.
    """
    if values.is_floating_point():
        raise ValueError(f"{name} is {values.dtype}; expected integer categories.")
    count = values.shape[-1]
    first = CATEGORY_STRIDE * torch.arange(count, device=values.device)  # row of each column
    if size <= CATEGORY_STRIDE * (count - 1):
        raise ValueError(
            f"{name} has {count} columns of categories; expected at most "
            f"{-(-size // CATEGORY_STRIDE)}, {CATEGORY_STRIDE} rows each, for a table of {size}."
        )
    most = size - first if count == 1 else (size - first).clamp(max=CATEGORY_STRIDE)
    return _checked(values, name, most) + first


def stacked_rows(values: Tensor, name: str, sizes: tuple[int, ...]) -> Tensor:
    """The same for columns of known sizes: the rows of column c follow those of column c - 1.

    Args:
        values: ``[..., F]`` whole numbers; sizes: the F columns' numbers of categories.

    Raises:
        ValueError: as :func:`category_rows`, or the values have another number of columns.
    """
    values, size = _of_columns(values, name, sizes)
    return values + size.cumsum(0) - size


def combinations(values: Tensor, name: str, sizes: tuple[int, ...]) -> Tensor:
    """One number for each combination of the columns' categories, ``[..., F]`` to ``[...]``.

    The first column counts in ones, each further one in as many as there are combinations of those
    before it.

    Args:
        values, sizes: as of :func:`stacked_rows`.

    Raises:
        ValueError: as :func:`stacked_rows`.
    """
    values, size = _of_columns(values, name, sizes)
    return (values * (size.cumprod(0) // size)).sum(dim=-1)


def edges_alone(batch: GraphBatch, rows: slice = ALL) -> Tensor:
    """The features of the edges, ``[B, R, N, F]``, with 0 where there is none.

    What stands there in the batch is no data, and must not be looked up.
    """
    return batch.edge_attr[:, rows].masked_fill(~batch.adjacency[:, rows, :, None], 0)


def _of_columns(values: Tensor, name: str, sizes: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """The values, each below its column's size, and the sizes ``[F]``."""
    if values.is_floating_point() or values.shape[-1] != len(sizes):
        raise ValueError(
            f"{name} has {values.shape[-1]} columns of {values.dtype}; expected {len(sizes)} of "
            "integer categories."
        )
    size = _on_device(sizes, values.device)
    return _checked(values, name, size), size


@cache
def _on_device(sizes: tuple[int, ...], device: torch.device) -> Tensor:
    """Moved once: a GPU would be waited for each time."""
    with torch.inference_mode(False):
        return torch.tensor(sizes, device=device)


def _checked(values: Tensor, name: str, sizes: Tensor) -> Tensor:
    """The values, each below its column's size ``[F]``."""
    # Checked here: a category too large would silently be another column, or another place.
    wrong = (values < 0) | (values >= sizes)

    def sentence() -> str:
        *_, column = wrong.nonzero()[0].tolist()
        where = f" in column {column}" if len(sizes) > 1 else ""
        return (
            f"{name} holds the category {int(values[wrong][0])}{where}; expected 0 to "
            f"{int(sizes[column]) - 1}."
        )

    refuse(wrong, sentence)
    return values.long()
