"""The base of the configurations of all models, each of which checks itself when it is made.

The type of a field says which values are allowed; :func:`check_config` reads these types.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Self, Union, get_args, get_origin, get_type_hints

import numpy as np
import torch
from torch import nn
from torch_geometric.data import Data

from gtcourse.graphs.arguments import is_one_of
from gtcourse.graphs.check import check_graphs
from gtcourse.models.attention import check_heads

POSITIVE = "above 0"
POSITIVE_OR_INFINITE = "above 0 or infinite"
NOT_NEGATIVE = "that is 0 or more"
PROBABILITY = "from 0 to 1"

PositiveInt = Annotated[int, POSITIVE]
PositiveFloat = Annotated[float, POSITIVE]
Bound = Annotated[float, POSITIVE_OR_INFINITE]
NotNegativeInt = Annotated[int, NOT_NEGATIVE]
NotNegativeFloat = Annotated[float, NOT_NEGATIVE]
Probability = Annotated[float, PROBABILITY]
Categories = tuple[PositiveInt, ...]
"""The number of categories of each column, which are 0 to ``size - 1``."""

CATEGORIES = ("num_node_types", "num_edge_types")
"""The fields of this type, in all configurations that have them."""

MOST_CATEGORIES = 10_000_000
"""Categories of a column. A larger value is a number that was stored as an integer."""


@dataclass(frozen=True)
class Config:
    """The base of the configurations, which are frozen dataclasses.

    A field that is added in a later release needs a default with which the model computes what it
    computed before, because :meth:`complete` adds this default to earlier records.
    """

    def __post_init__(self) -> None:
        accept_numbers_of_numpy(self)
        accept_one_column(self)
        check_config(self)

    def check_unread(self, unread: Mapping[str, str]) -> None:
        """Raises a ValueError if a field is set that nothing reads with these values of the others.

        A field counts as set if its value is not the default.

        Args:
            unread: The names of such fields, and for each what the reason is, for the sentence.
        """
        values = vars(self)
        defaults = self.defaults()
        for name, reason in unread.items():
            if values[name] != defaults[name]:
                raise ValueError(
                    f"{name} is {values[name]!r} and {reason}, so that nothing reads it; expected "
                    f"{name}={defaults[name]!r}, the default."
                )

    @classmethod
    def defaults(cls) -> dict[str, object]:
        """The defaults of the fields that have one."""
        return {field.name: field.default for field in fields(cls) if field.default is not MISSING}

    @classmethod
    def complete(cls, recorded: Mapping[str, str]) -> dict[str, str]:
        """Recorded fields as today's release writes them.

        Fields that are missing, because they were added later, have their defaults. The first
        releases wrote a number for the categories of a single column, 28 for ``(28,)``.

        Args:
            recorded: The text of each field (``repr``), by its name. Other names are kept.
        """
        defaults = {name: repr(value) for name, value in cls.defaults().items()}
        completed = defaults | dict(recorded)
        for name in CATEGORIES:
            if name in defaults and completed[name].isdecimal():
                completed[name] = repr(as_columns(int(completed[name])))
        return completed


class GraphConfig(Config):
    """The base of the configurations of models that read graphs."""

    @classmethod
    def from_graphs(cls, graphs: Sequence[Data], **settings: object) -> Self:
        """A configuration for the features of these graphs.

        Whole numbers are categories, of which a column has one more than its largest value; floats
        are numbers. Pass all graphs, those for validation and testing too, because a category that
        occurs only there would be unknown to the model.

        Args:
            graphs: PyG graphs, as ``collate`` takes them.
            settings: All other fields, such as ``num_targets``.

        Raises:
            ValueError: A graph is malformed, the model cannot read such features, or a setting is
                not allowed.
        """
        check_graphs(graphs)
        sizes = feature_sizes(graphs)
        known = {field.name for field in fields(cls)}
        reads_categories = "num_edge_types" in known and "num_edge_features" not in known
        if sizes["num_edge_features"] and reads_categories:
            raise ValueError(
                f"edge_attr holds floats, but {cls.__name__} takes categories of edges; expected "
                "integers."
            )
        return cls(**{name: sizes[name] for name in sizes if name in known} | settings)


def feature_sizes(graphs: Sequence[Data]) -> dict[str, int | tuple[int, ...]]:
    """How many categories each column of nodes and edges has, or how many columns of floats."""
    sizes: dict[str, int | tuple[int, ...]] = {}
    for kind, name in (("node", "x"), ("edge", "edge_attr")):
        types: tuple[int, ...] = ()
        features = 0
        if graphs[0].get(name) is not None:
            values = torch.cat([graph[name] for graph in graphs])
            if values.dim() == 1:
                values = values[:, None]  # [rows of all graphs, columns]
            if values.is_floating_point():
                features = values.shape[1]
            elif len(values) == 0:  # no graph has an edge
                types = (1,) * values.shape[1]
            else:
                largest = values.long().amax(dim=0)  # [columns]; 255 + 1 is 0 in uint8
                if largest.max() >= MOST_CATEGORIES:
                    raise ValueError(
                        f"{name} has the value {int(largest.max())} in column "
                        f"{int(largest.argmax())}, and a model has a vector for each category from "
                        f"0 to the largest; expected categories below {MOST_CATEGORIES:,}, or "
                        "floats for numbers."
                    )
                types = tuple((largest + 1).tolist())
        sizes[f"num_{kind}_types"] = types
        sizes[f"num_{kind}_features"] = features
    return sizes


def check_given(model: object, config: object, expected: type[Config]) -> None:
    """Raises a ValueError if a model is given something else than its own configuration."""
    if not isinstance(config, expected):
        given = repr(config) if isinstance(config, str) else f"of type {type(config).__name__}"
        raise ValueError(
            f"config is {given} for the model {type(model).__name__}; expected its configuration, "
            f"{expected.__name__}."
        )


def check_module(name: str, module: object) -> None:
    """Raises a ValueError if a model is given something else than a module."""
    if not isinstance(module, nn.Module):
        raise ValueError(f"{name} is of type {type(module).__name__}; expected a module.")


def list_of_modules(name: str, modules: Iterable[nn.Module]) -> list[nn.Module]:
    """The modules that a model is given; a ValueError if this is no list of modules."""
    if not isinstance(modules, Iterable):  # a single one, for instance
        raise ValueError(f"{name} is of type {type(modules).__name__}; expected a list of modules.")
    listed = list(modules)
    for module in listed:
        check_module(f"an entry of {name}", module)
    return listed


def accept_numbers_of_numpy(config: Config) -> None:
    """Turns NumPy's numbers, such as a shape or a maximum gives, into Python's.

    A record holds the configuration as text, in which NumPy's numbers would look different.
    """
    for name, value in vars(config).items():
        if isinstance(value, np.generic):
            object.__setattr__(config, name, value.item())
        if isinstance(value, tuple):
            numbers = tuple(each.item() if isinstance(each, np.generic) else each for each in value)
            object.__setattr__(config, name, numbers)


def accept_one_column(config: Config) -> None:
    """Turns a number of categories into that of a single column: 28 into (28,), and 0 into ()."""
    for name in CATEGORIES:
        size = vars(config).get(name)
        if isinstance(size, int) and not isinstance(size, bool):
            object.__setattr__(config, name, as_columns(size))


def as_columns(size: int) -> tuple[int, ...]:
    """The number of categories of a single column as a field of ``CATEGORIES`` holds it."""
    return (size,) if size != 0 else ()


def check_config(config: Config) -> None:
    """Raises a ValueError, in one sentence, if a field has a value that its type does not allow.

    A ``Literal`` has to be one of its choices. A number, or each number of a tuple, has to be in
    the range of its type above. ``d_model`` has to be a multiple of ``num_heads``. Features of
    nodes and of edges are either categories or numbers.
    """
    values = vars(config)
    kind = type(config)
    for name, hint in types_of_fields(kind).items():  # type: ignore[arg-type]  # a class is hashable
        expected = what_is_expected(values[name], hint)
        if expected is not None:
            raise ValueError(f"{name} is {values[name]!r}; expected {expected}.")
    if "num_heads" in values:
        check_heads(values["d_model"], values["num_heads"])
    for types, features in (
        ("num_node_types", "num_node_features"),
        ("num_edge_types", "num_edge_features"),
    ):
        if values.get(types) and values.get(features):
            raise ValueError(
                f"{types} is {values[types]} and {features} is {values[features]}; expected only "
                "one of the two."
            )


@cache
def types_of_fields(kind: type[Any]) -> dict[str, Any]:
    """The types of the fields of a configuration, by their names.

    Python keeps them as text, and compiling it takes longer than checking the values. There are
    more than a hundred recipes, each with two configurations or more of a few kinds.
    """
    return get_type_hints(kind, include_extras=True)


def what_is_expected(value: object, hint: object) -> str | None:
    """Describes the values that a type allows, or returns None if ``value`` is one of them."""
    kind = get_origin(hint)
    arguments = get_args(hint)
    if kind in (Union, UnionType):  # a type, or None
        if value is None:
            return None
        (hint,) = (member for member in arguments if member is not NoneType)
        return what_is_expected(value, hint)
    if kind is Literal:
        choices = ", ".join(repr(choice) for choice in arguments)
        return None if is_one_of(value, arguments) else f"one of {choices}"
    if kind is tuple:
        if not isinstance(value, tuple):
            return "a tuple"
        if len(arguments) == 2 and arguments[1] is not Ellipsis and len(value) != 2:
            return "two values"
        faults = [what_is_expected(member, arguments[0]) for member in value]
        return next((f"each entry to be {fault}" for fault in faults if fault is not None), None)
    if kind is Annotated:
        number, rule = arguments
        if number is int and (not isinstance(value, int) or isinstance(value, bool)):
            return f"a whole number {rule}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"a number {rule}"
        if not is_in_range(value, rule):
            return f"a number {rule}"
    if hint is bool and not isinstance(value, bool):
        return "True or False"
    return None


def is_in_range(value: float, rule: str) -> bool:
    if rule == POSITIVE:
        return 0 < value < math.inf
    if rule == POSITIVE_OR_INFINITE:
        return value > 0
    if rule == NOT_NEGATIVE:
        return 0 <= value < math.inf
    return 0 <= value <= 1
