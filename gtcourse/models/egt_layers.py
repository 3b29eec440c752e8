"""EGT's attention and layer (Hussain et al., 2021): the pairs have vectors that change as well.

Shapes: B graphs, N nodes (padded), P pairs that are computed, H heads, d width of the nodes,
K = d / H, d_e width of the pairs.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gtcourse.models.pairs import Pairs


class EGTLayer(nn.Module):
    r"""Nodes attend to each other under their pairs' guidance, and the pairs learn of it.

    .. math::
        \hat h_i &= h_i + O_h \big\Vert_k \textstyle\sum_j
            \tilde A_{ij}^k V^k \operatorname{LN}(h_j), &
        h_i' &= \hat h_i + \operatorname{FFN}_h(\operatorname{LN}(\hat h_i)), \\
        \hat e_{ij} &= e_{ij} + O_e \big\Vert_k \hat H_{ij}^k, &
        e_{ij}' &= \hat e_{ij} + \operatorname{FFN}_e(\operatorname{LN}(\hat e_{ij}))

    (EGT, Eqs. 6 and 7.) Differs from the paper's print, which has :math:`V^k \hat h_i` in the sum
    and :math:`\tilde H` in the second line: what is summed is of node j, and what the pairs hear is
    the input of the softmax, before masking and gating. Without edge channels it is EGT-Simple
    (EGT, Eqs. 10 and 11); where the mask leaves neighbours and the node itself, EGT-Constrained
    (EGT, Eq. 12).

    Args:
        d_model: d; d_edge: d_e; num_heads: H, a divisor of d.
        node_multiplier, edge_multiplier: inner widths of the two networks over d and d_e.
        edge_channels: False for EGT-Simple: ``e`` is read as it is and stays so.
        update_nodes, update_edges: False in the last layer for what nobody reads.
        node_dropout, edge_dropout: after attention and after each network.
        norm_eps: of the norms; 1e-3 in the authors' first code (Keras), 1e-5 in PyTorch.
        attention: further arguments of :class:`EGTAttention`.

    Shapes:
        h: ``[B, N, d]``; e: ``[B, N, N, d_e]``, or ``[P, d_e]`` where ``pairs`` are given
        mask: True at nodes, ``[B, N]``, or at pairs, ``[B, N, N]``: the pairs that attend and have
            a vector. Others keep ``e`` as it is.
        returns: h and e; with ``return_attention`` also ``[B, H, N, N]``
    """

    def __init__(
        self,
        d_model: int,
        d_edge: int,
        num_heads: int,
        *,
        node_multiplier: float = 2.0,
        edge_multiplier: float = 2.0,
        edge_channels: bool = True,
        update_nodes: bool = True,
        update_edges: bool = True,
        node_dropout: float = 0.0,
        edge_dropout: float = 0.0,
        norm_eps: float = 1e-5,
        **attention,
    ):
        super().__init__()
        self.update_nodes, self.update_edges = update_nodes, update_edges and edge_channels
        self.node_norm = nn.LayerNorm(d_model, norm_eps)
        self.edge_norm = nn.LayerNorm(d_edge, norm_eps) if edge_channels else nn.Identity()
        self.attention = EGTAttention(
            d_model, d_edge, num_heads, aggregate=update_nodes, **attention
        )
        if self.update_nodes:
            self.node_network = _network(d_model, node_multiplier, norm_eps)
            self.node_dropout = nn.Dropout(node_dropout)
        if self.update_edges:
            self.edge_output = nn.Linear(num_heads, d_edge)
            self.edge_network = _network(d_edge, edge_multiplier, norm_eps)
            self.edge_dropout = nn.Dropout(edge_dropout)

    def forward(
        self,
        h: Tensor,
        e: Tensor,
        *,
        mask: Tensor | None = None,
        pairs: Pairs | None = None,
        return_attention: bool = False,
    ) -> tuple[Tensor, ...]:
        if pairs is None:
            pairs = Pairs.of(mask, h)
            h, rows, *attention = self(
                h, pairs.pack(e), pairs=pairs, return_attention=return_attention
            )
            return h, pairs.unpack(rows).where(pairs.mask[..., None], e), *attention

        z, logits, *attention = self.attention(
            self.node_norm(h), self.edge_norm(e), pairs=pairs, return_attention=return_attention
        )
        return *self.updated(h, e, z, pairs.pack(logits) if self.update_edges else None), *attention

    def updated(
        self, h: Tensor, e: Tensor, z: Tensor | None, heard: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Nodes and pairs, once they know what was gathered and the logits, ``[P, H]`` (Eqs. 6, 7).

        Args:
            z, heard: of the attention; None where nothing is updated by them.
        """
        if self.update_nodes:
            h = h + self.node_dropout(z)
            h = h + self.node_dropout(self.node_network(h))
        if self.update_edges:
            e = e + self.edge_dropout(self.edge_output(heard))
            e = e + self.edge_dropout(self.edge_network(e))
        return h, e


class EGTAttention(nn.Module):
    r"""Attention whose logits the pairs shift and whose weights they gate (EGT, Eqs. 4 and 5).

    .. math::
        \hat H = \operatorname{clip}(Q K^T / \sqrt{K}) + E, \qquad
        \tilde A = \operatorname{softmax}(\hat H) \odot \sigma(G)

    E and G are linear in the pairs' vectors. The dot product alone is clipped; :math:`\hat H`,
    which the pairs hear in turn, is not. Without gates it is that of EGT-Ungated (EGT, Eqs. 13 and
    14).

    Args:
        d_model: d; d_edge: d_e; num_heads: H, a divisor of d.
        gated: False for EGT-U, :math:`\tilde A = \operatorname{softmax}(\hat H)`.
        clip: the largest size of the scaled dot product.
        aggregate: False where only :math:`\hat H` is wanted.
        dropout, random_mask, degree_scaler: of the authors' later code, not of the paper:
            drop weights of :math:`\tilde A`; in training, leave out this share of the pairs from
            the softmax of each head (a node that would lose all of them keeps all); and multiply
            what a node has gathered by :math:`\log(1 + \sum_j \sigma(G_{ij}))`.
        scaled: False for that code of early 2022, which forgot to divide by :math:`\sqrt K`.
        virtual_nodes: the first so many nodes, to which ``degree_scaler`` does not apply.

    Shapes:
        h: ``[B, N, d]``, normalised; e: ``[P, d_e]``, normalised, of ``pairs``
        returns: ``[B, N, d]`` (None without ``aggregate``; zeros for a node without pairs) and the
            logits :math:`\hat H` ``[B, N, N, H]``; with ``return_attention`` also the weights
            :math:`\tilde A` ``[B, H, N, N]``, from before dropout

    Called on plain tensors, e may be ``[B, N, N, d_e]`` and come with a ``mask`` instead.
    """

    def __init__(
        self,
        d_model: int,
        d_edge: int,
        num_heads: int,
        *,
        gated: bool = True,
        clip: float = 5.0,
        aggregate: bool = True,
        dropout: float = 0.0,
        random_mask: float = 0.0,
        degree_scaler: bool = False,
        scaled: bool = True,
        virtual_nodes: int = 0,
    ):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(
                f"d_model = {d_model} is not a multiple of num_heads = {num_heads}; expected heads "
                "that divide it."
            )
        if degree_scaler and not gated:
            raise ValueError("degree_scaler sums the gates; expected gated = True beside it.")
        self.num_heads, self.gated, self.clip = num_heads, gated, clip
        self.random_mask, self.degree_scaler = random_mask, degree_scaler
        self.virtual_nodes = virtual_nodes
        self.scale = (d_model // num_heads) ** -0.5 if scaled else 1.0
        self.qkv = nn.Linear(d_model, 3 * d_model)
        # E and G in one product: the pairs are the longest table of the model.
        self.edge_input = nn.Linear(d_edge, (1 + gated) * num_heads)
        self.output = nn.Linear(d_model, d_model) if aggregate else None
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        h: Tensor,
        e: Tensor,
        *,
        mask: Tensor | None = None,
        pairs: Pairs | None = None,
        return_attention: bool = False,
    ) -> tuple[Tensor | None, ...]:
        if pairs is None:
            pairs = Pairs.of(mask, h)
            e = pairs.pack(e)
        query, key, value = self.qkv(h).unflatten(-1, (3, self.num_heads, -1)).unbind(-3)
        dot = query.transpose(1, 2) @ key.permute(0, 2, 3, 1) * self.scale  # [B, H, N, N]
        shift, *gates = pairs.unpack(self.edge_input(e)).chunk(1 + self.gated, dim=-1)
        logits = dot.clamp(-self.clip, self.clip) + shift.permute(0, 3, 1, 2)
        heard = logits.permute(0, 2, 3, 1)
        if self.output is None and not return_attention:
            return None, heard

        # Finite, so that a row of padding has a softmax; it is set to zero below.
        lowest = torch.finfo(logits.dtype).min
        allowed = self._allowed(pairs.mask[:, None], logits)
        attention = logits.masked_fill(~allowed, lowest).softmax(dim=-1)
        if self.gated:
            gate = gates[0].permute(0, 3, 1, 2).sigmoid()
            attention = attention * gate
        z = None
        if self.output is not None:
            gathered = self.dropout(attention) @ value.transpose(1, 2)  # [B, H, N, K]
            if self.degree_scaler:
                gathered = gathered * self._degree(gate, pairs.mask)
            z = self.output(gathered.transpose(1, 2).flatten(-2))
            z = z.masked_fill(~pairs.mask.any(dim=-1)[..., None], 0.0)
        if not return_attention:
            return z, heard
        return z, heard, attention.masked_fill(~pairs.mask[:, None], 0.0)

    def _allowed(self, mask: Tensor, logits: Tensor) -> Tensor:
        """Where the softmax looks, ``[B, 1 or H, N, N]``."""
        if not (self.training and self.random_mask):
            return mask
        kept = mask & (torch.rand_like(logits) >= self.random_mask)
        return kept | (mask & ~kept.any(dim=-1, keepdim=True))

    def _degree(self, gate: Tensor, mask: Tensor) -> Tensor:
        """The logarithm of each node's open gates, ``[B, H, N, 1]``."""
        degree = (gate * mask[:, None]).sum(dim=-1, keepdim=True).log1p()
        real = torch.arange(degree.shape[2], device=degree.device) >= self.virtual_nodes
        return degree.where(real[:, None], 1.0)


def _network(width: int, multiplier: float, norm_eps: float) -> nn.Sequential:
    """The same two-layer network for each node, or each pair: ``[…, width]`` to the same."""
    inner = round(multiplier * width)
    return nn.Sequential(
        nn.LayerNorm(width, norm_eps),
        nn.Linear(width, inner),
        nn.ELU(inplace=True),  # of the widest table there is, one copy less
        nn.Linear(inner, width),
    )
