"""From a batch to vectors, and from vectors to predictions: what the models share.

Shapes: B graphs, N nodes (padded), R rows, F features, d width, T targets, k eigenvectors, r pairs
of singular vectors, p steps of a random walk, H heads, E edges. Encodings of nodes are
``[B, N, d]``, of pairs ``[B, N, N, d]``; with ``rows``, of some rows i.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from operator import mul
from typing import Literal

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from gtcourse.graphs.batch import UNREACHABLE, GraphBatch

ALL = slice(None)

CATEGORY_STRIDE = 512
"""Rows of each column of categories in a table of Graphormer's and GRPE's authors."""


def category_rows(values: Tensor) -> Tensor:
    """Value v of column c has row v + 512 c, ``[..., F]``."""
    return values.long() + CATEGORY_STRIDE * torch.arange(values.shape[-1], device=values.device)


class CategoryEmbedding(nn.Embedding):
    """The sum of the rows of all columns, ``[..., F]`` to ``[..., d]``."""

    def forward(self, values: Tensor) -> Tensor:
        return super().forward(category_rows(values)).sum(dim=-2)


def offset_rows(values: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """Rows of a table in which the columns follow each other, with these sizes, ``[..., F]``."""
    columns = zip(values.long().unbind(-1), accumulate((0, *sizes)), strict=False)
    return torch.stack([column + first for column, first in columns], dim=-1)


def combinations(values: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """A number for each combination of categories, ``[..., F]`` to ``[...]``; column 0 in ones."""
    steps = accumulate((1, *sizes), mul)
    columns = zip(values.long().unbind(-1), steps, strict=False)
    return sum(column * step for column, step in columns)


def masked_edge_attr(batch: GraphBatch, rows: slice = ALL) -> Tensor:
    """Edge features ``[B, N, N, F]``, of some rows, with 0 where there is no edge and no data."""
    return batch.edge_attr[:, rows].masked_fill(~batch.adjacency[:, rows, :, None], 0)


class CastingLinear(nn.Linear):
    """A linear map of encodings, whatever their precision."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.to(self.weight.dtype))


class Features(nn.Module):
    """A linear map of F columns: of floats, or of categories (``types`` of them) as one-hot."""

    def __init__(self, types: tuple[int, ...], features: int, width: int, bias: bool = False):
        super().__init__()
        self.types = types
        self.table = nn.Embedding(sum(types), width) if types else None
        self.linear = None if types else CastingLinear(features, width, bias=bias)

    def forward(self, values: Tensor) -> Tensor:
        if self.table is None:
            return self.linear(values)
        return self.table(offset_rows(values, self.types)).sum(-2)


# Encodings of nodes


class LaplacianEncoding(nn.Module):
    """A linear map of the node's row of the k Laplacian eigenvectors (CS224W, S10).

    Added to a node's features it is GRPE, Eq. 5, which has no map. It is not invariant to the
    eigenvectors' signs; ``flip_signs`` draws them anew for each graph of a training batch, or, as
    "batch", once for all its graphs, as the code of benchmarking-gnns does.
    """

    def __init__(self, k: int, d_model: int, flip_signs: bool | Literal["batch"] = False):
        super().__init__()
        self.projection = CastingLinear(k, d_model)
        self.flip_signs = flip_signs

    def forward(self, batch: GraphBatch) -> Tensor:
        vectors = batch.encodings["laplacian_eigenvectors"]
        if self.training and self.flip_signs:
            graphs = vectors[:1] if self.flip_signs == "batch" else vectors
            vectors = vectors * _signs(graphs[:, :1])
        return self.projection(vectors)


class WalkEncoding(nn.Module):
    """A linear map of the probabilities of return after 1 … p steps of a random walk (RWSE).

    They are the encoding "rwse", ``[B, N, p]``, or else the diagonal of "random_walks". CSA applies
    a norm of real nodes first.
    """

    def __init__(self, steps: int, d_model: int, norm: nn.Module | None = None):
        super().__init__()
        self.norm = norm
        self.projection = CastingLinear(steps, d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        returns = batch.encodings.get("rwse")
        if returns is None:
            returns = batch.encodings["random_walks"].diagonal(dim1=1, dim2=2).mT
        if self.norm is not None:
            returns = self.norm(returns.to(self.projection.weight.dtype), batch.mask)
        return self.projection(returns)


class SVDEncoding(nn.Module):
    r"""A linear map of :math:`U\sqrt S \,\|\, V\sqrt S`, the r largest of the SVD (EGT, Eq. 9).

    In training ``flip_signs`` draws a sign for each pair :math:`(u_m, v_m)` of each graph
    ("pairs"), or for each node ("nodes"), as EGT's first code did. That is no symmetry of the SVD;
    the authors corrected it later.
    """

    def __init__(self, rank: int, d_model: int, flip_signs: str | None = None):
        super().__init__()
        self.projection = CastingLinear(2 * rank, d_model)
        self.flip_signs = {"pairs": flip_pairs, "nodes": flip_nodes, None: None}[flip_signs]

    def forward(self, batch: GraphBatch) -> Tensor:
        svd = batch.encodings["svd"]
        return self.projection(self.flip_signs(svd) if self.training and self.flip_signs else svd)


def flip_signs(vectors: Tensor) -> Tensor:
    """Multiplies each eigenvector of each graph, ``[B, N, k]``, by 1 or -1 (CS224W, S12).

    Differs from published code, where one sign for each column serves the whole batch
    (benchmarking-gnns, GraphGPS).
    """
    return vectors * _signs(vectors[:, :1])


def flip_pairs(svd: Tensor) -> Tensor:
    r"""Flips :math:`u_m` together with :math:`v_m` in the columns :math:`u_1 … u_r, v_1 … v_r`."""
    return svd * _signs(svd[:, :1, ::2]).repeat(1, 1, 2)


def flip_nodes(svd: Tensor) -> Tensor:
    r"""Multiplies a node's entries by one sign, which changes :math:`\hat u_i \cdot \hat v_j`."""
    return svd * _signs(svd[..., :1])


def _signs(like: Tensor) -> Tensor:
    return (2 * torch.randint(0, 2, like.shape, device=like.device) - 1).to(like)


# Graphormer's edges


def edge_vectors(batch: GraphBatch, table: nn.Embedding) -> Tensor:
    """Each edge's vector, the mean over its columns, ``[B, N, N, d]``; zeros elsewhere."""
    e = table(category_rows(masked_edge_attr(batch))).mean(dim=-2)
    return e.masked_fill(~batch.adjacency[..., None], 0.0)


class NodeEdges(nn.Module):
    """The features of the edges into a node, summed: edges "via node" of Table 5, ``[B, N, d]``."""

    def __init__(self, num_edge_types: int, d_model: int):
        super().__init__()
        self.edges = nn.Embedding(num_edge_types, d_model)

    def forward(self, batch: GraphBatch) -> Tensor:
        return edge_vectors(batch, self.edges).sum(dim=1)


class EdgeValues(nn.Module):
    r"""What attention carries beside the values, along edges: edges "via aggregation" of Table 5.

    Node i gets :math:`\sum_j A_{ij} e_{ji}` over the edges from j to it, each head on its own
    channels, with A ``[B, H, 1 + N, 1 + N]``, [VNode] included, before dropout. The paper does not
    spell this out; it is our reading.
    """

    def __init__(self, num_edge_types: int, d_model: int):
        super().__init__()
        self.edges = nn.Embedding(num_edge_types, d_model)

    def forward(self, attention: Tensor, batch: GraphBatch) -> Tensor:
        e = edge_vectors(batch, self.edges).unflatten(-1, (attention.shape[1], -1))
        z = torch.einsum("bhij,bjihk->bihk", attention[..., 1:, 1:], e)
        return F.pad(z.flatten(-2), (0, 0, 1, 0))


def mean_over_paths(batch: GraphBatch, table: Tensor) -> Tensor:
    """The mean of Graphormer, Eq. 7: a bag of table rows for each pair, ``[B, N, N, H]``."""
    if "path_edges" not in batch.encodings and "path_tree" in batch.encodings:
        return _along_trees(batch, table)
    distance = batch.encodings["distance"].long()
    path_edges = batch.encodings["path_edges"][..., : len(table), :]
    types, padding = table.shape[1], table.shape[0] * table.shape[1]
    step = torch.arange(path_edges.shape[-2], device=distance.device)
    ended = (step >= distance[..., None])[..., None]  # [B, N, N, L, 1]
    rows = step[:, None] * types + category_rows(path_edges)
    rows = rows.masked_fill(ended, padding).flatten(0, 2).flatten(1)
    table = F.pad(table.flatten(0, 1), (0, 0, 0, 1))
    mean = F.embedding_bag(rows, table, mode="mean", padding_idx=padding)
    return mean.unflatten(0, distance.shape)


def _along_trees(batch: GraphBatch, table: Tensor) -> Tensor:
    """The same where each path is its parent in ``AddPathTree`` and one edge, near pairs first."""
    distance, max_length = batch.encodings["distance"].long(), len(table)
    parent = batch.encodings["path_tree"].long().clamp(min=0)  # k, from which a path enters j
    graph, node = (torch.arange(size, device=parent.device) for size in parent.shape[:2])
    edge = batch.edge_attr[graph[:, None, None], parent, node]  # (k, j)
    rows = category_rows(edge.masked_fill(distance[..., None] < 1, 0))
    total = table.new_zeros(*distance.shape, table.shape[-1])
    parent = parent[..., None].expand_as(total)
    for length in range(1, int(distance.max()) + 1):
        step = total.gather(2, parent)
        if length <= max_length:
            step = step + F.embedding(rows, table[length - 1]).mean(dim=-2)
        total = torch.where((distance == length)[..., None], step, total)
    return total / distance.clamp(1, max_length)[..., None]


# EGT's inputs


class NodeInput(nn.Module):
    """Node features and one vector shared by all nodes: ``[B, N, d]``."""

    def __init__(self, types: tuple[int, ...], features: int, d_model: int):
        super().__init__()
        self.features = Features(types, features, d_model)
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, batch: GraphBatch) -> Tensor:
        return self.features(batch.x) + self.bias


class EdgeInput(nn.Module):
    r"""The pairs' vectors: one for the structure, one for the edge or its absence (Section 3.3).

    Structure is the adjacency with self-loops, or the distance up to ``max_distance``, where
    unreachable is farthest. (The authors' first code gives distances 0 and 1 one vector and
    unreachable its own; there are as many.) A virtual node i has a vector :math:`\tilde e_i` for
    its pairs with nodes, and :math:`(\tilde e_i + \tilde e_j) / 2` with a virtual node j.
    """

    def __init__(self, types, features: int, d_edge: int, max_distance=None, virtual_nodes=0):
        super().__init__()
        self.max_distance, q = max_distance, virtual_nodes
        self.structure = nn.Embedding(2 if max_distance is None else max_distance + 1, d_edge)
        self.virtual = nn.Parameter(torch.empty(q, d_edge)) if q else None
        self.features = self.no_edge = None
        if types or features:
            self.features = Features(types, features, d_edge)
            self.no_edge = nn.Parameter(torch.empty(d_edge))

    def forward(self, batch: GraphBatch) -> Tensor:
        edge, N = batch.adjacency, batch.mask.shape[1]
        if self.max_distance is None:
            row = (edge | torch.eye(N, dtype=torch.bool, device=edge.device)).long()
        else:
            row = clipped(batch.encodings["distance"], self.max_distance)
        e = self.structure(row)
        if self.features is not None:
            features = self.features(masked_edge_attr(batch))
            e = e + torch.where(edge[..., None], features, self.no_edge)
        if self.virtual is None:
            return e
        between = ((self.virtual[:, None] + self.virtual) / 2).expand(e.shape[0], -1, -1, -1)
        beside = self.virtual[:, None].expand(e.shape[0], -1, N, -1)  # [B, q, N, d_e]
        top = torch.cat([between, beside], dim=2)
        return torch.cat([top, torch.cat([beside.transpose(1, 2), e], dim=2)], dim=1)


def clipped(distance: Tensor, largest: int) -> Tensor:
    """Farther and unreachable pairs share the largest distance."""
    return distance.masked_fill(distance == UNREACHABLE, largest).clamp(max=largest)


# CSA's inputs


class FeaturesAndWalks(nn.Module):
    """Node features beside batch-normalised return probabilities (CSA, Section 3.5): ``[B, N, d]``.

    The linear map of float features has a bias, as in the authors' code.
    """

    def __init__(self, types, features: int, d_model: int, steps: int, d_position: int):
        super().__init__()
        self.features = Features(types, features, d_model - d_position, bias=True)
        self.walks = WalkEncoding(steps, d_position, NodeBatchNorm(steps)) if steps else None

    def forward(self, batch: GraphBatch) -> Tensor:
        h = self.features(batch.x)
        return h if self.walks is None else torch.cat([h, self.walks(batch)], dim=-1)


class PairEncoding(nn.Module):
    r""":math:`E^{(0)} = E^\text{bond} \,\|\, E^\text{RPE}` (CSA, Eq. 9), half of the width each.

    Arguments as of :class:`CGTConfig`. Without a relative encoding the bonds have all of the width.
    """

    def __init__(self, edge_types: tuple[int, ...], d_model: int, relative, steps: int, rings):
        super().__init__()
        half = d_model // 2 if relative else 0
        self.bonds = BondEncoding(edge_types, d_model - half, rings == "categorical")
        encodings = {"walks": PairWalkEncoding, "distances": DistanceEncoding}
        self.relative = encodings[relative](steps, half) if relative else None
        self.ring = nn.Embedding(2, d_model) if rings == "additive" else None

    def forward(self, batch: GraphBatch, rows: slice = ALL) -> Tensor:
        E = self.bonds(batch, rows)
        if self.relative is not None:
            E = torch.cat([E, self.relative(batch, rows)], dim=-1)
        return E if self.ring is None else E + self.ring(batch.encodings["ring"][:, rows].long())


class BondEncoding(nn.Module):
    r""":math:`E^\text{bond}`: the edge's vector, that of a node with itself, or of no edge.

    (CSA, Eq. 8.) A loop that is among the edges has its edge's vector. The vectors of several
    columns of categories are added; edges without features share one. ``with_rings``: pairs on a
    common ring have a second set of vectors, the Cartesian product of Section 3.4.
    """

    def __init__(self, edge_types: tuple[int, ...], width: int, with_rings: bool = False):
        super().__init__()
        self.edge_types, self.with_rings = edge_types, with_rings
        sets = 1 + with_rings
        self.edges = nn.Embedding(sets * sum(edge_types or (1,)), width)
        self.no_edge = nn.Embedding(sets, width)
        self.itself = nn.Embedding(1, width)

    def forward(self, batch: GraphBatch, rows: slice = ALL) -> Tensor:
        edge = batch.adjacency[:, rows]
        ring = batch.encodings["ring"][:, rows] if self.with_rings else torch.zeros_like(edge)
        ring = ring.long()
        row = ring[..., None] * sum(self.edge_types or (1,))
        if self.edge_types:
            row = row + offset_rows(masked_edge_attr(batch, rows), self.edge_types)
        e = torch.where(edge[..., None], self.edges(row).sum(-2), self.no_edge(ring))
        loop = torch.eye(edge.shape[-1], dtype=torch.bool, device=edge.device)[rows] & ~edge
        return torch.where(loop[..., None], self.itself.weight, e)


class DistanceEncoding(nn.Module):
    r""":math:`E^\text{SPDE}`: a vector for each shortest-path distance up to p (CSA, Eq. 11).

    Farther and unreachable pairs share one. Differs from the authors' code, in which distances of 4
    and more have another's vector by mistake, and unreachable pairs none.
    """

    def __init__(self, steps: int, width: int):
        super().__init__()
        self.vectors = nn.Embedding(steps + 2, width)  # itself, 1 to p, the rest

    def forward(self, batch: GraphBatch, rows: slice = ALL) -> Tensor:
        distance = batch.encodings["distance"][:, rows].long()
        return self.vectors(clipped(distance, self.vectors.num_embeddings - 1))


class PairWalkEncoding(nn.Module):
    r""":math:`E^\text{RWSE}`: linear in the probabilities of 1 … p steps from i to j (CSA, Eq. 12).

    A case of CSA, Eq. 10. With a bias, as in the authors' code; the paper has none.
    """

    def __init__(self, steps: int, width: int):
        super().__init__()
        self.projection = CastingLinear(steps, width)

    def forward(self, batch: GraphBatch, rows: slice = ALL) -> Tensor:
        return self.projection(batch.encodings["random_walks"][:, rows])


# Norms and heads


class NodeBatchNorm(nn.BatchNorm1d):
    """Batch normalisation over the real nodes of a padded batch, of all processes of a run.

    Without a mask all rows ``[R, d]`` are real, and torch's own kernel serves a single process.
    Fewer than two real nodes have no variance; the running statistics take its place then. Padding
    becomes zeros. No value is read on the host, so it never waits for a GPU.
    """

    def forward(self, h: Tensor, mask: Tensor | None = None) -> Tensor:
        if mask is None and not (self.training and (len(h) < 2 or several_processes())):
            return super().forward(h)
        real = h.new_ones(h.shape[:-1], dtype=torch.bool) if mask is None else mask
        real = real[..., None]
        mean, variance = self.running_mean, self.running_var
        if self.training:
            mean, variance = self._of_batch(h, real)
        scale = (variance + self.eps).rsqrt() * self.weight
        return ((h - mean) * scale + self.bias).masked_fill(~real, 0.0)

    def _of_batch(self, h: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of the real rows, ``[d]`` each; updates the running statistics."""
        h = h.to(torch.promote_types(h.dtype, torch.float32))
        nodes = tuple(range(h.dim() - 1))
        count = sum_over_processes(real.sum().to(h.dtype))
        mean = sum_over_processes((h * real).sum(nodes)) / count.clamp(min=1)
        variance = sum_over_processes(((h - mean).square() * real).sum(nodes)) / count.clamp(min=1)
        enough = count > 1
        with torch.no_grad():
            self.num_batches_tracked += 1
            unbiased = variance * count / (count - 1).clamp(min=1)
            step = self.momentum * enough.to(mean.dtype)
            self.running_mean += step * (mean - self.running_mean)
            self.running_var += step * (unbiased - self.running_var)
        mean = torch.where(enough, mean, self.running_mean)
        return mean, torch.where(enough, variance, self.running_var)


def several_processes() -> bool:
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def sum_over_processes(value: Tensor) -> Tensor:
    """The sum over the processes of a run, through which gradients flow to each of them."""
    if not several_processes():
        return value
    from torch.distributed.nn.functional import all_reduce

    return all_reduce(value)


def mean_pool(h: Tensor, mask: Tensor) -> Tensor:
    """The mean over each graph's real nodes, ``[B, d]`` (a READOUT: Graphormer, Eq. 2)."""
    weights = mask.to(h.dtype)[:, :, None]
    return (h * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)


def mlp(*widths: int, activation=nn.ReLU, norm=None) -> nn.Sequential:
    """Linear maps between these widths; between two of them an activation and then a norm."""
    layers = []
    for width, following in pairwise(widths[:-1]):
        layers += [nn.Linear(width, following), activation()]
        layers += [norm(following)] if norm else []
    return nn.Sequential(*layers, nn.Linear(*widths[-2:]))


def squeeze_one(prediction: Tensor) -> Tensor:
    """``[..., 1]`` to ``[...]``; several targets stay as they are."""
    return prediction.squeeze(-1) if prediction.shape[-1] == 1 else prediction
