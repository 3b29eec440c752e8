r"""Graphs in FlexAttention: what a pair adds to its logit is looked up inside the kernel.

FlexAttention (Dong et al., 2024) takes a function of one logit's place, the *score modifier*, and
compiles it into the loop that makes the logits. Graphormer's bias is then a lookup by the distance
of the pair, and GRPE's contexts are two lookups by its relation: a small integer for each pair lies
in memory, and neither the logits nor a bias ``[B, H, N, N]``.

Everything here is a function of plain tensors. Without compilation PyTorch writes the logits out
after all, and warns of it; for the fused kernel, hand the compiled function on::

    fused = torch.compile(flex_attention, dynamic=False)
    graphormer_flex(query, key, value, distance, table, mask, attend=fused)

On a CPU, PyTorch 2.13 has the forward pass alone; without ``dynamic=False`` what it compiles for
another size is no valid C++, and with it each size is compiled for itself, the first eight. On a
GPU it has the backward pass as well; these functions have not been run there.

Shapes: B graphs, N nodes (padded), H heads, d width, K = d / H, T relations.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention import flex_attention as flex
from torch.nn.attention.flex_attention import flex_attention

from gtcourse.graphs.batch import UNREACHABLE
from gtcourse.models.grpe import RelationTables

ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
"""``(score, b, h, i, j)`` to the new score: of graph b, head h, query i and key j."""


def graphormer_flex(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    distance: Tensor,
    table: Tensor,
    mask: Tensor | None = None,
    *,
    virtual: Tensor | None = None,
    edges: Tensor | None = None,
    attend: Callable = flex_attention,
) -> Tensor:
    r"""Attention under Graphormer's biases, never written out (Graphormer, Eqs. 6 and 7).

    .. math:: A_{ij} = q_i \cdot k_j / \sqrt K + b_{\phi(i, j)} + c_{ij}

    The same as :class:`~gtcourse.models.graphormer.GraphormerAttention` between its projections.
    What is not covered: dropout of the weights, which FlexAttention does not have.

    Args:
        table: :math:`b`, the scalars' weight of
            :class:`~gtcourse.models.graphormer.SpatialEncoding`.
        mask: True at real nodes; False is never attended to. A row without keys gives zeros.
        virtual: [VNode]'s scalars, where token 0 is [VNode] and the other N tokens are the nodes.
        edges: :math:`c`, where there is one; it is read from memory.
        attend: ``flex_attention``, or what ``torch.compile`` made of it.

    Shapes:
        query, key, value: ``[B, H, N, K]``, or N + 1 tokens with ``virtual``
        distance: ``[B, N, N]`` integers (of 8 bits where they fit), -1 for unreachable
        table: ``[D + 2, H]``: unreachable, 0, 1, …, D and farther
        mask: ``[B, N]``; virtual: ``[H]``; edges: ``[B, H, N, N]``, of nodes alone
        returns: as ``query``

    Raises:
        ValueError: a tensor has another shape.
        NotImplementedError: a gradient is asked for on a CPU.
    """
    query, key, value = _without_training(query, key, value, table, virtual, edges)
    B, H, N, _ = query.shape
    N = N if virtual is None else N - 1
    _check_shapes(distance=(distance, (B, N, N)), mask=(mask, (B, N)), edges=(edges, (B, H, N, N)))
    # A compiled kernel would read beyond a table with fewer heads.
    _check_shapes(table=(table, (len(table), H)), virtual=(virtual, (H,)))
    score_mod = graphormer_score_mod(distance, table, mask, virtual=virtual, edges=edges)
    return attend(query, key, value, score_mod=score_mod)


def graphormer_score_mod(
    distance: Tensor,
    table: Tensor,
    mask: Tensor | None = None,
    *,
    virtual: Tensor | None = None,
    edges: Tensor | None = None,
) -> ScoreMod:
    """The score modifier alone; arguments as of :func:`graphormer_flex`."""
    last = len(table) - 1

    def nodes(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        row = (distance[b, i, j].to(torch.int32) - UNREACHABLE).clamp(max=last)
        score = score + table[row, h]
        if edges is not None:
            score = score + edges[b, h, i, j]
        return score if mask is None else torch.where(mask[b, j], score, -torch.inf)

    def tokens(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        of_nodes = nodes(score, b, h, (i - 1).clamp(min=0), (j - 1).clamp(min=0))
        return torch.where((i == 0) | (j == 0), with_virtual(score, b, h, j), of_nodes)

    def with_virtual(score: Tensor, b: Tensor, h: Tensor, j: Tensor) -> Tensor:
        score = score + virtual[h]
        if mask is None:
            return score
        return torch.where((j == 0) | mask[b, (j - 1).clamp(min=0)], score, -torch.inf)

    return nodes if virtual is None else tokens


def grpe_flex(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    relation: Tensor,
    tables: RelationTables,
    mask: Tensor | None = None,
    *,
    key_context: str = "key_column",
    attend: Callable = flex_attention,
) -> Tensor:
    r"""GRPE's attention, its contexts looked up in the kernel (GRPE, Eqs. 6 to 9).

    The same as :class:`~gtcourse.models.grpe.GRPEAttention` between its projections, but for
    dropout of the weights. The contexts cost next to nothing: both are products with T vectors,
    ``[B, H, N, T]``, of which a pair reads one number each.

    The value term does not come for nothing. It needs the weights of each relation added up, and
    FlexAttention keeps no weights. But it tells the logarithm of each softmax's denominator, and a
    softmax over all keys is one over relations of softmaxes over each relation's keys:

    .. math::
        z_i = \sum_t w_{it} \bigl(z_{it} + R^\text{value}_t\bigr), \qquad
        w_i = \operatorname{softmax}_t \log \sum_{j: r(i, j) = t} \exp a_{ij}.

    So every query is asked T times, once for each relation: exact, ``[B, H, N T, K]`` in memory in
    place of ``[B, H, N, N]``, and T times the work. It pays in memory where N is far above T K, on
    a GPU: PyTorch 2.13 does not compile the denominators for a CPU, and uncompiled it writes T
    times as many logits as without the value term.

    Args:
        relation: of :class:`~gtcourse.models.grpe.Relations`; tables: vectors for some of the
            terms, or all.
        mask, attend: as of :func:`graphormer_flex`; key_context: as of
            :class:`~gtcourse.models.grpe.GRPEAttention`.

    Shapes:
        query, key, value: ``[B, H, N, K]``; relation: ``[B, N, N]`` integers, 0 to T - 1
        mask: ``[B, N]``; returns: as ``query``

    Raises:
        ValueError: a tensor has another shape.
        NotImplementedError: a gradient is asked for on a CPU.
    """
    query, key, value = _without_training(query, key, value, *tables)
    B, _, N, _ = query.shape
    _check_shapes(relation=(relation, (B, N, N)), mask=(mask, (B, N)))
    by_query, by_key = relation_contexts(query, key, tables, key_context)
    if tables.value is None:
        return attend(query, key, value, score_mod=grpe_score_mod(relation, by_query, by_key, mask))

    vectors = _split_heads(tables.value, query)  # [H, T, K]
    T = vectors.shape[1]
    score_mod = grpe_score_mod(relation, by_query, by_key, mask, copies=T)
    asked = query.repeat_interleave(T, dim=2)  # [B, H, N T, K]
    z, lse = _with_denominators(attend, asked, key, value, score_mod)
    z, lse = z.unflatten(2, (-1, T)), lse.unflatten(2, (-1, T))
    alive = (lse > -torch.inf).any(dim=-1)
    # Finite, so that a row without keys has a softmax; what it gathers is set to zero.
    weights = lse.clamp(min=torch.finfo(lse.dtype).min).softmax(dim=-1).to(z.dtype)
    z = torch.einsum("bhnt,bhntk->bhnk", weights, z + vectors[None, :, None])
    return z.masked_fill(~alive[..., None], 0.0)


def grpe_score_mod(
    relation: Tensor,
    by_query: Tensor | None,
    by_key: Tensor | None,
    mask: Tensor | None = None,
    *,
    copies: int | None = None,
) -> ScoreMod:
    """The score modifier alone.

    Args:
        relation, mask: as of :func:`grpe_flex`.
        by_query, by_key: ``[B, H, N, T]``: what a query, or a key, adds in each relation.
        copies: T, where query i T + t is the node i that hears relation t alone.
    """

    def score_mod(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        node = i if copies is None else i // copies
        r = relation[b, node, j].to(torch.int32)
        if by_query is not None:
            score = score + by_query[b, h, node, r]
        if by_key is not None:
            score = score + by_key[b, h, j, r]
        if copies is not None:
            score = torch.where(r == i % copies, score, -torch.inf)
        return score if mask is None else torch.where(mask[b, j], score, -torch.inf)

    return score_mod


def relation_contexts(
    query: Tensor, key: Tensor, tables: RelationTables, key_context: str = "key_column"
) -> tuple[Tensor | None, Tensor | None]:
    """What each query and each key adds to a logit in each relation, ``[B, H, N, T]``, scaled.

    Args:
        query, key: ``[B, H, N, K]``; tables, key_context: as of :func:`grpe_flex`.
    """
    scale, by_query, by_key = query.shape[-1] ** -0.5, [], []
    if tables.key is not None:
        by_query.append(query @ _split_heads(tables.key, query).mT * scale)
    if tables.query is not None:
        context = key @ _split_heads(tables.query, query).mT * scale
        (by_key if key_context == "key_column" else by_query).append(context)
    if tables.bias is not None:
        by_query.append(tables.bias.T[:, None].expand(*query.shape[:3], -1))
    return sum(by_query) if by_query else None, sum(by_key) if by_key else None


def _with_denominators(
    attend: Callable, query: Tensor, key: Tensor, value: Tensor, score_mod: ScoreMod
) -> tuple[Tensor, Tensor]:
    """z, and the logarithm of each softmax's denominator, ``[B, H, N]``."""
    if not hasattr(flex, "AuxRequest"):  # an older PyTorch asks by another word
        return attend(query, key, value, score_mod=score_mod, return_lse=True)
    request = flex.AuxRequest(lse=True)
    z, extra = attend(query, key, value, score_mod=score_mod, return_aux=request)
    return z, extra.lse


def _split_heads(vectors: Tensor, query: Tensor) -> Tensor:
    """``[T, d]`` to ``[H, T, K]``."""
    return vectors.unflatten(-1, (query.shape[1], -1)).transpose(0, 1)


def _check_shapes(**given: tuple[Tensor | None, tuple[int, ...]]) -> None:
    for name, (tensor, shape) in given.items():
        if tensor is not None and tensor.shape != shape:
            raise ValueError(f"{name} is {[*tensor.shape]}; expected {[*shape]}.")


def _without_training(
    query: Tensor, key: Tensor, value: Tensor, *others: Tensor | None
) -> tuple[Tensor, ...]:
    """The first three as FlexAttention takes them: on a CPU, none that a gradient is wanted of."""
    if query.is_cuda:
        return query, key, value
    given = [tensor for tensor in (query, key, value, *others) if tensor is not None]
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in given):
        raise NotImplementedError(
            f"a gradient is asked for on the {query.device.type}, and FlexAttention's backward "
            "pass is written for GPUs alone; expected torch.no_grad() or, for training, the layers "
            "that write their bias out: GraphormerAttention, GRPEAttention."
        )
    return query.detach(), key.detach(), value.detach()
