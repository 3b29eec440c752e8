r"""EGT-Constrained on the list of its pairs (Hussain et al., 2021): nothing is N by N.

A node of EGT-Constrained attends to its neighbours and itself. The dense layer computes all N²
logits and throws most of them away; these work on the P pairs that attend, with the same weights
and the same result. A sparse graph has P in proportion to N.

Shapes: B graphs, n nodes of all of them, N nodes (padded), P pairs, H heads, d and d_e widths of
nodes and pairs, K = d / H.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.utils import scatter, softmax

from gtcourse.graphs.batch import GraphBatch
from gtcourse.models.egt import EGT
from gtcourse.models.egt_layers import EGTAttention, EGTLayer
from gtcourse.models.pairs import Pairs


class SparseEGT(nn.Module):
    """A constrained EGT that takes the same batches, and holds vectors of pairs that attend alone.

    The batch itself remains dense: its ``adjacency`` and a table of as many integers are N by N,
    once, where the dense model has H numbers for each pair in each layer.

    Args:
        model: with ``variant = "constrained"`` and no virtual nodes, each of which would attend to
            all. Its parameters are shared, not copied.

    Shapes:
        returns: what the model returns

    Raises:
        ValueError: the model is another one.
    """

    def __init__(self, model: EGT):
        super().__init__()
        config = model.config
        if config.variant != "constrained" or config.virtual_nodes:
            raise ValueError(
                f"the model has variant {config.variant!r} and {config.virtual_nodes} virtual "
                "nodes; expected 'constrained' and none."
            )
        self.model = model
        self.layers = nn.ModuleList(SparseEGTLayer(layer) for layer in model.layers)

    def forward(self, batch: GraphBatch) -> Tensor:
        pairs = Pairs(self.model.pairs(batch).mask)
        h, first = self.model.embed(batch).flatten(0, 1), self.model.edge_input(batch, pairs)
        e, pair_index = first, torch.stack(pairs.ends)
        for layer in self.layers:
            h, e = layer(h, e, pair_index)
        h, e = self.model.normed(h.unflatten(0, batch.mask.shape), e)
        return self.model.predict(batch, pairs, h, e, first)


class SparseEGTLayer(nn.Module):
    """An :class:`~gtcourse.models.egt_layers.EGTLayer` on the list of its pairs (EGT, Eq. 12).

    Args:
        layer: whose parameters are used, and shared.

    Shapes:
        h: ``[n, d]``, the nodes of one graph, or of several beside each other; e: ``[P, d_e]``
        pair_index: ``[2, P]``, each pair once; of a pair (i, j) node i hears node j, as row i of
            ``adjacency`` does. (In PyG's ``edge_index`` it is the first node that speaks.)
        returns: h and e; with ``return_attention`` also the weights ``[P, H]``

    Raises:
        ValueError: the layer has virtual nodes or a random mask, which are not written here.
    """

    def __init__(self, layer: EGTLayer):
        super().__init__()
        attention = layer.attention
        if attention.virtual_nodes or attention.random_mask:
            raise ValueError(
                f"the layer has {attention.virtual_nodes} virtual nodes and random_mask = "
                f"{attention.random_mask}; expected none of either."
            )
        self.layer = layer

    def forward(
        self, h: Tensor, e: Tensor, pair_index: Tensor, *, return_attention: bool = False
    ) -> tuple[Tensor, ...]:
        layer = self.layer
        z, logits, attention = _attend(
            layer.attention, layer.node_norm(h), layer.edge_norm(e), pair_index
        )
        h, e = layer.updated(h, e, z, logits)
        return (h, e, attention) if return_attention else (h, e)


def _attend(
    layer: EGTAttention, h: Tensor, e: Tensor, pair_index: Tensor
) -> tuple[Tensor | None, Tensor, Tensor]:
    """What nodes gather, ``[n, d]``, the logits and the weights, ``[P, H]`` (Eqs. 1 to 5, 12)."""
    i, j = pair_index
    query, key, value = layer.qkv(h).unflatten(-1, (3, layer.num_heads, -1)).unbind(1)  # [n, H, K]
    dot = (query[i] * key[j]).sum(dim=-1) * layer.scale
    shift, *gates = layer.edge_input(e).chunk(1 + layer.gated, dim=-1)
    logits = dot.clamp(-layer.clip, layer.clip) + shift
    attention = softmax(logits, i, num_nodes=len(h))  # over all that node i hears
    if layer.gated:
        gate = gates[0].sigmoid()
        attention = attention * gate
    if layer.output is None:
        return None, logits, attention
    message = layer.dropout(attention)[..., None] * value[j]  # [P, H, K]
    gathered = scatter(message, i, dim_size=len(h))
    if layer.degree_scaler:
        gathered = gathered * scatter(gate, i, dim_size=len(h)).log1p()[..., None]
    hears = torch.zeros(len(h), 1, dtype=torch.bool, device=h.device)
    z = layer.output(gathered.flatten(1)).where(hears.index_fill(0, i, True), 0.0)
    return z, logits, attention
