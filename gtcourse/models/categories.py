"""Vectors for the features of nodes and edges, which are categories or numbers, in all models.

A category outside the vocabulary of its column must never get the vector of another category. Three
checks make sure of it:

1. Where graphs enter, ``check_features`` of a model reads the features of all graphs. It raises a
   ValueError that names the graph, the column, the category and the vocabulary. ``fit``,
   ``evaluate`` and ``Predictor.predict`` call it before anything runs on an accelerator.
2. :class:`CategoryEmbedding` checks every batch that is on the CPU once more.
3. On an accelerator, and in a compiled or exported model, an exception would have to wait for the
   device. There the vector of an unknown category is NaN, and so are the prediction for its graph
   and the loss, at which ``fit`` stops.

Shapes:
    B: graphs in a batch
    N: nodes of the largest graph
    R: nodes i whose pairs (i, j) are read, N or fewer
    F: columns of features
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.arguments import check_choice, whole_number
from gtcourse.graphs.batch import GraphBatch
from gtcourse.graphs.check import check_batch
from gtcourse.messages import shown

ATTRIBUTE = {"node": "x", "edge": "edge_attr"}
ALL = slice(None)
"""All nodes i of a batch; a form that saves memory reads the pairs (i, j) of a few at a time."""

ROWS_OF_OLD_TABLE = 512
"""Rows that earlier releases had for each of several columns, whatever its vocabulary."""


class CategoryEmbedding(nn.Module):
    """A learned vector for each category of each column, summed over the columns.

    The vectors are the rows of one table, column after column, so that there is one look-up for all
    columns.

    Args:
        sizes: Number of categories of each column, or one number for one column. Those of a column
            are 0 to ``size - 1``.
        dim: Width of a vector.
        name: What the values are, for messages.
        num_sets: How many such tables there are; the argument ``which`` of a call chooses one.

    Shapes:
        values: ``[..., F]``, whole numbers
        which: ``[...]``, the table for each row of values; the first by default
        returns: ``[..., dim]``

    Raises:
        ValueError: Values are not whole numbers, or have another number of columns, or, on the CPU,
            one of them is not in the vocabulary of its column.
    """

    first_row: Tensor
    num_categories: Tensor

    def __init__(
        self, sizes: int | tuple[int, ...], dim: int, name: str = "values", *, num_sets: int = 1
    ):
        super().__init__()
        if isinstance(sizes, int):
            sizes = (sizes,)
        elif isinstance(sizes, Sequence):
            sizes = tuple(sizes)
        if not isinstance(sizes, tuple) or not sizes:
            raise ValueError(f"sizes is {shown(sizes)}; expected a number above 0 for each column.")
        sizes = tuple(whole_number("a size", size, 1) for size in sizes)
        dim = whole_number("dim", dim, 1)
        num_sets = whole_number("num_sets", num_sets, 1)
        self.sizes = sizes
        self.name = name
        self.weight = nn.Parameter(torch.empty(num_sets * sum(sizes), dim))
        num_categories = torch.tensor(self.sizes)  # [F]
        first_row = num_categories.cumsum(dim=0) - num_categories  # [F]
        self.register_buffer("num_categories", num_categories, persistent=False)
        self.register_buffer("first_row", first_row, persistent=False)
        self.register_load_state_dict_pre_hook(read_long_table)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the vectors as ``nn.Embedding`` does; a model may draw them in another way."""
        nn.init.normal_(self.weight)

    def extra_repr(self) -> str:
        return f"sizes={self.sizes}, dim={self.weight.shape[1]}"

    def forward(self, values: Tensor, which: Tensor | None = None) -> Tensor:
        # Where an unknown category cannot raise, rows() gives it the row of NaN that table() adds.
        table = self.weight if can_read(values) else self.table()
        vectors = F.embedding(self.rows(values, which), table)  # [..., F, dim]
        return vectors.sum(dim=-2)  # [..., dim]

    def of_rows(self, features: Tensor, mask: Tensor) -> Tensor:
        """The vectors ``[R, dim]`` where the mask ``[B, …]`` of features ``[B, …, F]`` is True.

        Raises:
            ValueError: As the module does; the sentence names the graph of an unknown category.
        """
        values = features[mask]  # [R, F]
        self.check_rows(values, features, mask)
        return self(values)

    def check_rows(self, values: Tensor, features: Tensor, mask: Tensor) -> None:
        """Raises a ValueError, on the CPU, if a row has no vector; the sentence names its graph.

        Args:
            values: The rows, ``[R, F]``, which do not show to which graph they belong.
            features: Where they are from, ``[B, …, F]``; read only for the sentence.
            mask: True at what may not be unknown, ``[B, …]``.
        """
        check_columns(values, self.sizes, self.name)
        if can_read(values) and not self.contains(values):
            self.check(features.masked_fill(~mask[..., None], 0))

    def rows(self, values: Tensor, which: Tensor | None = None) -> Tensor:
        """The row of :meth:`table` for each value, ``[..., F]``; that of NaN for an unknown one.

        Raises:
            ValueError: As the module does.
        """
        check_columns(values, self.sizes, self.name)
        rows = values.long()
        if len(self.sizes) > 1:
            rows = rows + self.first_row
        if which is not None:
            rows_of_set = sum(self.sizes)
            rows = rows + which[..., None] * rows_of_set
        if can_read(values):
            self.check(values)
            return rows
        row_of_nan = self.weight.shape[0]
        return rows.masked_fill(self.is_unknown(values), row_of_nan)

    def table(self) -> Tensor:
        """The rows of all categories and, as the last, one of NaN: ``[rows + 1, dim]``."""
        return F.pad(self.weight, (0, 0, 0, 1), value=torch.nan)

    def is_unknown(self, values: Tensor) -> Tensor:
        """True for each value that is not in the vocabulary of its column, ``[..., F]``."""
        values = values.long()
        return (values < 0) | (values >= self.num_categories.to(values.device))

    def contains(self, values: Tensor) -> bool:
        """Whether all values, ``[..., F]``, are in the vocabularies of their columns.

        It stores no tensor of their size, as :meth:`is_unknown` does.
        """
        for column, size in enumerate(self.sizes):
            of_column = values[..., column]
            if of_column.numel() > 0:
                lowest, highest = of_column.aminmax()
                if lowest < 0 or highest >= size:
                    return False
        return True

    def check(self, values: Tensor) -> None:
        """Raises a ValueError if a value, ``[..., F]``, has no vector; it reads all values."""
        check_columns(values, self.sizes, self.name)
        if not self.contains(values):
            is_unknown = self.is_unknown(values)
            raise ValueError(unknown_category(values, is_unknown, self.sizes, self.name))


class NumberEmbedding(nn.Linear):
    """A linear map of numbers of any precision: ``[..., F]`` to ``[..., dim]``.

    Args:
        num_features: Columns of numbers.
        dim: Width of a vector.
        name: What the values are, for messages.

    Raises:
        ValueError: A size is below 1, or the values have another number of columns.
    """

    def __init__(self, num_features: int, dim: int, name: str = "values", *, bias: bool = True):
        num_features = whole_number(f"the number of columns of {name}", num_features, 1)
        super().__init__(num_features, whole_number("dim", dim, 1), bias=bias)
        self.name = name

    def forward(self, values: Tensor) -> Tensor:
        self.check(values)
        return super().forward(values.to(self.weight.dtype))

    def of_rows(self, features: Tensor, mask: Tensor) -> Tensor:
        """The vectors ``[R, dim]`` where the mask ``[B, …]`` of features ``[B, …, F]`` is True."""
        return self(features[mask])

    def check(self, values: Tensor) -> None:
        """Raises a ValueError if there are more or fewer columns; it reads no value."""
        if values.shape[-1] != self.in_features:
            raise ValueError(
                f"{self.name} has {values.shape[-1]} columns; expected {self.in_features}."
            )


def feature_embedding(
    of: Literal["node", "edge"],
    num_types: tuple[int, ...],
    num_features: int,
    dim: int,
    *,
    bias: bool = False,
) -> CategoryEmbedding | NumberEmbedding:
    """A module that maps the features of nodes, ``x``, or of edges, ``edge_attr``, to vectors.

    Args:
        of: Whose features they are.
        num_types: Number of categories of each column; empty for numbers.
        num_features: Columns of numbers; 0 for categories.
        dim: Width of a vector.
        bias: Whether the linear map of numbers has a bias.

    Raises:
        ValueError: The features are of neither nodes nor edges, or they are both categories and
            numbers, or neither.
    """
    check_choice("of", of, list(ATTRIBUTE))
    if bool(num_types) == bool(num_features):
        without = "" if num_types else f", as of graphs without {ATTRIBUTE[of]}"
        raise ValueError(
            f"num_{of}_types is {num_types} and num_{of}_features is {num_features}{without}; "
            "expected exactly one of the two."
        )
    if num_types:
        return CategoryEmbedding(num_types, dim, ATTRIBUTE[of])
    return NumberEmbedding(num_features, dim, ATTRIBUTE[of], bias=bias)


def real_node_features(batch: GraphBatch) -> Tensor:
    """``x``, ``[B, N, F]``, with 0 at padding, where a batch may hold any value.

    Every Transformer reads its batch here first.

    Raises:
        ValueError: This is no :class:`~gtcourse.graphs.GraphBatch`.
    """
    check_batch(batch)
    return batch.x.masked_fill(~batch.mask[..., None], 0)


def real_edge_features(batch: GraphBatch, rows: slice = ALL) -> Tensor:
    """``edge_attr``, ``[B, R, N, F]``, with 0 where there is no edge; some rows of it, or all."""
    is_edge = batch.adjacency[:, rows, :, None]  # [B, R, N, 1]
    return edge_features(batch)[:, rows].masked_fill(~is_edge, 0)


def edge_features(batch: GraphBatch) -> Tensor:
    """``edge_attr``, ``[B, N, N, F]``; a ValueError if the graphs have none."""
    if batch.edge_attr is None:
        raise ValueError("edge_attr is missing; expected the features that the model reads.")
    return batch.edge_attr


def check_columns(values: Tensor, sizes: tuple[int, ...], name: str) -> None:
    """Raises a ValueError for a wrong dtype or number of columns; it reads no value."""
    if values.is_floating_point() or values.is_complex():
        raise ValueError(f"{name} has dtype {values.dtype}; expected whole numbers (categories).")
    if values.shape[-1] != len(sizes):
        raise ValueError(f"{name} has {values.shape[-1]} columns; expected {len(sizes)}.")


def can_read(values: Tensor) -> bool:
    """Whether values can be read now: not on an accelerator, and not while compiling."""
    return values.device.type == "cpu" and not torch.compiler.is_compiling()


def unknown_category(values: Tensor, is_unknown: Tensor, sizes: tuple[int, ...], name: str) -> str:
    """A sentence about the first unknown value of ``[..., F]``."""
    place = is_unknown.nonzero()[0].tolist()
    value = int(values[tuple(place)])
    column = place[-1]
    where = f" of graph {place[0]} of the batch" if len(place) > 2 else ""
    return (
        f"{name} has category {value} in column {column}{where}; expected 0 to {sizes[column] - 1}."
    )


def read_long_table(
    embedding: CategoryEmbedding, state_dict: dict[str, Tensor], prefix: str, *_: object
) -> None:
    """A hook that reads weights of earlier releases, with their tables of 512 rows a column."""
    name = f"{prefix}weight"
    stored = state_dict.get(name)
    if stored is None or len(stored) == len(embedding.weight):
        return
    if len(stored) // ROWS_OF_OLD_TABLE == len(embedding.sizes):
        parts = []
        for column, size in enumerate(embedding.sizes):
            first = ROWS_OF_OLD_TABLE * column
            parts.append(stored[first : first + size])
        state_dict[name] = torch.cat(parts)
