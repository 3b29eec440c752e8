"""What an encoding is: a PyG transform that can also compute for many graphs at once.

Shapes: B graphs, N nodes (padded in a batch; graphs of one size are stacked without padding).
"""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields
from functools import cache, cached_property
from itertools import groupby
from typing import Any, ClassVar, TypeGuard, cast, get_type_hints, overload

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.transforms import BaseTransform, Compose
from tqdm import tqdm

from gtcourse.encodings.paths import shortest_paths
from gtcourse.graphs.arguments import whole_number
from gtcourse.graphs.batch import UNREACHABLE, GraphBatch
from gtcourse.graphs.check import check_batch
from gtcourse.graphs.dataset import GraphDataset, checked
from gtcourse.messages import shown

DISTANCES_AND_PATHS = ("distance", "path_edges", "path_tree")
PAIRS_AT_ONCE = 2**18  # in a stack of graphs, which amortises Python and fits into memory


@overload
def encode(  # type: ignore[overload-overlap] # a data set is iterable, but comes back as one
    graphs: GraphDataset, *transforms: BaseTransform
) -> GraphDataset: ...
@overload
def encode(graphs: Iterable[Data], *transforms: BaseTransform) -> list[Data]: ...
def encode(
    graphs: GraphDataset | Iterable[Data], *transforms: BaseTransform
) -> GraphDataset | list[Data]:
    """Copies of the graphs with what encodings or other PyG transforms compute, in this order.

    Encodings are not updated when the edges of a graph change later.

    Args:
        graphs: PyG graphs; a data set comes back as one.
        transforms: Encodings of this package, and other transforms of PyG. A ``Compose`` of PyG
            stands for its transforms.

    Raises:
        ValueError: A graph is malformed, a transform is not one, does not go with another one, or
            returns something else than a graph.
    """
    if isinstance(graphs, GraphDataset):
        return graphs.with_graphs(encode(list(graphs), *transforms))
    if isinstance(graphs, Data):
        raise ValueError(
            "expected a list of graphs, got a single graph, which AddX()(graph) takes."
        )
    if not isinstance(graphs, Iterable):
        raise ValueError(f"graphs is of type {type(graphs).__name__}; expected a list of graphs.")
    graphs = list(graphs)
    steps = list(_without_compose(transforms))
    check_together(steps)
    set_by: dict[str, Encoding] = {}
    for are_encodings, following in groupby(steps, computed_for_many):
        if are_encodings and graphs:
            graphs = _encoded(graphs, list(following), set_by)
        else:
            for transform in following:
                graphs = [_transformed(graph, transform) for graph in graphs]
    return graphs


def _without_compose(transforms: Iterable[object]) -> Iterator[BaseTransform]:
    """The transforms in their order, those of each ``Compose`` in its place.

    A ``Compose`` that contains a function, or of a class of one's own, stays as it is.

    Raises:
        ValueError: One of them is no transform.
    """
    for transform in transforms:
        if _is_of_transforms(transform):
            yield from _without_compose(transform.transforms)
        elif isinstance(transform, BaseTransform):
            yield transform
        else:
            raise ValueError(f"expected transforms after the graphs, got {shown(transform)}.")


def _is_of_transforms(transform: object) -> TypeGuard[Compose]:
    """Whether it is PyG's own ``Compose``, and all that it contains are transforms."""
    if not isinstance(transform, Compose) or type(transform) is not Compose:
        return False
    return all(isinstance(each, BaseTransform) for each in transform.transforms)


def _transformed(graph: Data, transform: BaseTransform) -> Data:
    """What a transform of PyG makes of a graph; a ValueError if that is no graph."""
    made = transform(graph)
    if isinstance(graph, Data) and not isinstance(made, Data):
        raise ValueError(
            f"{shown(transform)} returns an object of type {type(made).__name__} for a graph; "
            "expected a transform that returns one graph."
        )
    return made


def check_together(transforms: Sequence[BaseTransform]) -> None:
    """Raises a ValueError if an encoding does not go with another one of the transforms."""
    encodings = [transform for transform in transforms if isinstance(transform, Encoding)]
    for encoding in encodings:
        encoding.check_beside(encodings)


def _check_names(
    encoding: Encoding, computed: Mapping[str, Tensor], set_by: dict[str, Encoding]
) -> None:
    """Raises a ValueError if another encoding of the same call has set one of these attributes.

    Two encodings are the same if they are of one class and have the same fields.

    Args:
        encoding: what has computed them.
        computed: the attributes by their names.
        set_by: which encoding has set each attribute, to which these are added.
    """
    for name in computed:
        first = set_by.setdefault(name, encoding)
        same_class = type(first) is type(encoding)
        if not same_class or repr(vars(first)) != repr(vars(encoding)):
            raise ValueError(
                f"{first!r} and {encoding!r} both set {name} of a graph, which can hold one of "
                "them; expected one of the two."
            )


def _encoded(
    graphs: list[Data], encodings: list[Encoding], set_by: dict[str, Encoding]
) -> list[Data]:
    """Copies of all graphs with several encodings; those that read the same share distances.

    Args:
        graphs: the graphs without them.
        encodings: what is computed for many graphs at once.
        set_by: which encoding of the call has set each attribute, to which these are added.
    """
    encoded = [copy.copy(graph) for graph in graphs]
    attributes = {encoding.reads for encoding in encodings}
    if "edge_attr" in attributes:
        attributes -= {None}  # encodings that read no attribute are computed along with the others
    bar = tqdm(
        total=len(graphs) * len(attributes),
        desc=", ".join(type(encoding).__name__ for encoding in encodings),
        unit="graph",
        leave=False,
        delay=1,  # shown where it takes more than a second,
        disable=None,  # and in a terminal alone
    )
    with bar:
        for attribute in sorted(attributes, key=str):
            together = [
                encoding
                for encoding in encodings
                if encoding.reads == attribute
                or (encoding.reads is None and attribute == "edge_attr")
            ]
            ragged = checked(_edges_of(graphs, attribute), "graph")
            for members in _of_one_size(ragged.num_nodes):
                batch = ragged.batch(members)
                pairs = Pairs(batch.adjacency, batch.edge_attr)
                computed: set[str] = set()
                for encoding in together:
                    of_encoding = _computed(encoding, pairs)
                    _check_names(encoding, of_encoding, set_by)
                    computed |= of_encoding.keys()
                    for name, values in of_encoding.items():
                        # A copy each: a view would keep the whole stack alive, and be saved too.
                        for i, value in zip(members.tolist(), values, strict=True):
                            encoded[i][name] = value.clone().to(graphs[i].edge_index.device)
                for encoding in together:
                    if encoding.depends_on_stored:
                        for i, distance in zip(members.tolist(), pairs.distance, strict=True):
                            stored = _stored_distances_and_paths(graphs[i], computed)
                            encoding.check_stored(stored, distance, f"graph {i}")
                bar.update(len(members))
    return encoded


def _computed(encoding: Encoding, pairs: Pairs) -> dict[str, Tensor]:
    """What an encoding computes; a ValueError unless these are attributes of the graphs.

    An encoding can be the user's own.
    """
    computed = encoding.compute(pairs)
    if not isinstance(computed, Mapping):
        raise ValueError(
            f"{encoding!r} computes an object of type {type(computed).__name__}; expected a "
            "dictionary of tensors, by the names of the attributes."
        )
    B = len(pairs.adjacency)
    for name, values in computed.items():
        if not isinstance(name, str):
            raise ValueError(
                f"{encoding!r} computes an attribute with the name {shown(name)}; expected a "
                "string."
            )
        if not isinstance(values, Tensor) or values.shape[:1] != (B,):
            is_tensor = isinstance(values, Tensor)
            given = list(values.shape) if is_tensor else f"of type {type(values).__name__}"
            raise ValueError(
                f"{encoding!r} computes {name} {given}; expected a tensor [{B}, …], one entry for "
                f"each of {B} graphs of one size."
            )
    return computed


def _stored_distances_and_paths(graph: Data, computed: Set[str]) -> dict[str, Tensor]:
    """The distances and paths that a graph had before, except for those that are computed anew."""
    stored = {}
    for name in DISTANCES_AND_PATHS:
        if name not in computed and isinstance(graph.get(name), Tensor):
            stored[name] = graph[name].cpu()
    return stored


def _edges_of(graphs: list[Data], attribute: str | None) -> list[Data]:
    """The parts of the graphs that encodings read, on the CPU.

    They are the edges, and the edge attribute of that name as ``edge_attr``.
    """
    read = []
    for index, graph in enumerate(graphs):
        if isinstance(graph, Data) and not isinstance(graph, Batch):
            edges = Data(x=torch.zeros(graph.num_nodes or 0, 1))
            edges.edge_index = _on_cpu(graph.get("edge_index"))
            if attribute == "edge_attr":
                edges.edge_attr = _on_cpu(graph.get("edge_attr"))
            elif attribute is not None:
                edges.edge_attr = _weights(graph, attribute, index)
            graph = edges
        read.append(graph)
    return read


def _on_cpu(value: object) -> object:
    return value.cpu() if isinstance(value, Tensor) else value


def _weights(graph: Data, name: str, index: int) -> Tensor:
    """A number for each edge of graph ``index``, ``[E, 1]`` float64."""
    values = graph.get(name)
    if not isinstance(values, Tensor):
        given = f"no {name}" if values is None else f"{name} of type {type(values).__name__}"
        raise ValueError(
            f"graph {index} has {given}; expected a tensor with a weight for each edge."
        )
    if values.shape not in ((graph.num_edges,), (graph.num_edges, 1)) or values.is_complex():
        raise ValueError(
            f"graph {index} has {name} of {values.dtype} {list(values.shape)}; expected a weight "
            f"for each edge, [{graph.num_edges}] or [{graph.num_edges}, 1]."
        )
    if not values.isfinite().all():
        raise ValueError(f"graph {index} has {name} with NaN or infinity; expected finite weights.")
    return values.detach().cpu().double().reshape(-1, 1)


def encode_batch(batch: GraphBatch, *transforms: Encoding) -> GraphBatch:
    """The batch with what the transforms compute, as if each graph had been encoded before.

    Raises:
        ValueError: A transform is not computed for batches, or reads what the batch does not hold.
    """
    check_batch(batch, "encode_batch")
    check_together(transforms)
    pairs = Pairs(batch.adjacency, batch.edge_attr)
    computed: dict[str, Tensor] = {}
    set_by: dict[str, Encoding] = {}
    for transform in transforms:
        if not computed_in_batches(transform, batch.mask.device):
            raise ValueError(
                f"{transform!r} is not computed for a whole batch; expected it to be stored with "
                "the graphs: encode(graphs, transform), or a folder that is prepared with it."
            )
        if transform.reads not in (None, "edge_attr"):
            raise ValueError(
                f"{transform!r} reads {transform.reads!r}, which a batch does not hold; expected "
                'weight="edge_attr", or the encoding stored with the graphs.'
            )
        of_transform = _computed(transform, pairs)
        _check_names(transform, of_transform, set_by)
        computed |= of_transform
    if "distance" in computed:  # a padded node has none, not even to itself
        computed["distance"] = computed["distance"].where(batch.pair_mask, UNREACHABLE)
    stored = {
        name: tensor
        for name, tensor in batch.encodings.items()
        if name in DISTANCES_AND_PATHS and name not in computed
    }
    for transform in transforms:
        if stored and transform.depends_on_stored:
            distance = pairs.distance.where(batch.pair_mask, UNREACHABLE)
            transform.check_stored(stored, distance, "the batch")
    encodings = {**batch.encodings, **computed}
    return GraphBatch.of_checked(**vars(batch) | {"encodings": encodings})


def computed_for_many(transform: BaseTransform) -> TypeGuard[Encoding]:
    """Whether a transform is computed for many graphs at once.

    An encoding whose class has a ``forward`` or an ``encode`` of its own, as PyG's transforms have,
    is called with one graph at a time.
    """
    if not isinstance(transform, Encoding):
        return False
    kind = type(transform)
    return kind.forward is Encoding.forward and kind.encode is Encoding.encode


def computed_on_device(transform: BaseTransform) -> bool:
    """Whether :func:`encode_batch` computes this transform on every device."""
    return computed_for_many(transform) and transform.on_device


def computed_in_batches(transform: BaseTransform, device: torch.device) -> bool:
    """Whether :func:`encode_batch` computes this transform for batches on a device."""
    on_cpu = computed_for_many(transform) and transform.on_cpu and device.type == "cpu"
    return on_cpu or computed_on_device(transform)


@dataclass
class Pairs:
    """The relations of a stack of graphs that encodings are computed from.

    Attributes:
        adjacency: ``[B, N, N]`` bool, True for an edge from i to j.
        features: ``[B, N, N, F]``, the features of the edges, or None.
    """

    adjacency: Tensor
    features: Tensor | None = None

    @property
    def edge_attr(self) -> Tensor:
        """The features of the edges; a ValueError if there are none."""
        if self.features is None:
            raise ValueError(
                "the graphs have no edge_attr; expected the features that the encoding reads."
            )
        return self.features

    @cached_property
    def distance(self) -> Tensor:
        """Lengths of shortest paths, ``[B, N, N]``, computed once for all encodings."""
        return shortest_paths(self.adjacency)


@dataclass(eq=False)
class Encoding(BaseTransform):  # type: ignore[misc] # PyG has no types
    """Sets attributes that depend on a graph's edges alone; ``transform(data)`` for one graph.

    A pair encoding ``[n, n, …]`` cannot be a PyG data set's ``pre_transform``, nor go through PyG's
    ``DataLoader``: PyG joins graphs along one axis, and these have two.
    """

    reads_edge_attr: ClassVar[bool] = False
    """Whether it is computed from the edges' features, beside the edges themselves."""

    on_device: ClassVar[bool] = False
    """Whether :func:`encode_batch` computes it, on every device."""

    on_cpu: ClassVar[bool] = False
    """Whether :func:`encode_batch` computes it for batches on the CPU alone."""

    def __post_init__(self) -> None:
        kind = cast(Hashable, type(self))  # mypy takes a class for its instances
        hints = _types_of_fields(kind)
        for each in fields(self):
            value = getattr(self, each.name)
            least = 0 if each.name == "seed" else 1
            hint = hints[each.name]
            if hint is int or (hint == (int | None) and value is not None):
                setattr(self, each.name, whole_number(each.name, value, least))
            if hint is bool and not isinstance(value, bool):
                raise ValueError(f"{each.name} is {shown(value)}; expected True or False.")
            if hint == (str | None) and (not isinstance(value, str | None) or value == ""):
                raise ValueError(f"{each.name} is {shown(value)}; expected a name, or None.")

    @property
    def reads(self) -> str | None:
        """The name of the edge attribute that it is computed from, or None."""
        return "edge_attr" if self.reads_edge_attr else None

    def check_beside(self, others: Sequence[Encoding]) -> None:
        """Raises a ValueError if this encoding does not go with others of the same call."""

    @property
    def depends_on_stored(self) -> bool:
        """Whether :meth:`check_stored` has something to check."""
        return False

    def check_stored(self, stored: Mapping[str, Tensor], distance: Tensor, where: str) -> None:
        """Raises a ValueError if this encoding does not go with those of an earlier call.

        Args:
            stored: The encodings ``distance``, ``path_edges`` and ``path_tree``, as far as they
                were there before.
            distance: The exact distances, of the shape of a stored ``distance``.
            where: Which graph or batch it is, to begin the message.
        """

    @abstractmethod
    def compute(self, pairs: Pairs) -> dict[str, Tensor]:
        """The attributes that it sets, by name: values ``[B, …]``, one for each graph."""

    def forward(self, data: Data) -> Data:
        return self.encode([data])[0]

    def encode(self, graphs: list[Data]) -> list[Data]:
        """Copies of all graphs, each with its encodings."""
        return _encoded(graphs, [self], {})


@cache
def _types_of_fields(kind: type[Any]) -> dict[str, Any]:
    """The types of the fields of an encoding, by their names; a field's own type may be text."""
    return get_type_hints(kind)


class WeightedEncoding(Encoding):
    """An encoding of the matrix of edge weights, or of the adjacency where there are none.

    ``weight`` is the name of an edge attribute ``[E]`` or ``[E, 1]`` of finite numbers.
    """

    weight: str | None
    negative_weights: ClassVar[bool] = False

    @property
    def reads(self) -> str | None:
        return self.weight

    def matrix(self, pairs: Pairs) -> Tensor:
        """The weight of each edge, and 0 where there is none: ``[B, N, N]`` float64."""
        if self.weight is None:
            return pairs.adjacency.double()
        weights = pairs.edge_attr.double()
        if weights.shape[-1] != 1:
            raise ValueError(
                f"{self.weight} has {weights.shape[-1]} columns; expected one weight for each edge."
            )
        weights = torch.where(pairs.adjacency, weights[..., 0], 0.0)
        if not self.negative_weights and (weights < 0).any():
            raise ValueError(
                f"{self.weight} has the weight {weights.min():g}; expected weights of 0 or more "
                f"for {type(self).__name__}."
            )
        total = weights.abs().sum(dim=(-2, -1))  # [B]
        most = torch.finfo(torch.float32).max
        if (total > most).any():
            raise ValueError(
                f"{self.weight} has weights whose sum is {total.max():.3g}; expected at most "
                f"{most:.3g}, in another unit for instance."
            )
        return weights

    def __repr__(self) -> str:
        """As that of a dataclass, without ``weight`` where it is None.

        Folders of prepared graphs and records of runs name their encodings in this way, since
        before there were weights.
        """
        named = {each.name: getattr(self, each.name) for each in fields(self)}
        if self.weight is None:
            del named["weight"]
        arguments = ", ".join(f"{name}={value!r}" for name, value in named.items())
        return f"{type(self).__name__}({arguments})"


def _of_one_size(num_nodes: Tensor) -> Iterator[Tensor]:
    """The places of graphs of one size, size by size, in portions that fit into memory."""
    for size in num_nodes.unique().tolist():
        same = (num_nodes == size).nonzero().flatten()
        yield from same.split(max(1, PAIRS_AT_ONCE // size**2))
