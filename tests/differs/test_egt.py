"""The rows of EGT: what is printed, what the authors' code computes, and what we compute."""

from dataclasses import replace

import torch
from torch import Tensor, nn

from gtcourse import GraphBatch, collate
from gtcourse.models import EGT
from gtcourse.models.egt import EdgeInput, EGTAttention
from tests.models.small import EGT as SMALL
from tests.models.small import chain, encoded, large_weights


def attention_and_input(**options):
    torch.manual_seed(0)
    attention = large_weights(EGTAttention(8, 6, 2, **options))
    h = torch.randn(1, 4, 8).double()
    e = torch.randn(1, 4, 4, 6).double()
    return attention, h, e


def test_with_the_printed_equation_outputs_do_not_depend_on_other_nodes():
    attention, h, e = attention_and_input()
    attention.query.weight.data.zero_()  # no query and no key: all depends on the pairs
    attention.key.weight.data.zero_()
    other = h.clone()
    other[0, 1:] = torch.randn(3, 8).double()
    meant = (attention(h, e)[0] - attention(other, e)[0])[0, 0]
    assert meant.abs().max() > 1e-2
    as_printed(attention, value_of="i")
    printed = (attention(h, e)[0] - attention(other, e)[0])[0, 0]
    torch.testing.assert_close(printed, torch.zeros(8).double())


def test_the_edge_channel_receives_the_logits_not_the_weights():
    attention, h, e = attention_and_input()
    _, logits, weights = attention(h, e, return_attention=True)
    assert logits.min() < 0  # no weight is
    softmax = logits.permute(0, 3, 1, 2).softmax(-1)
    gate = attention.edge_gate(e).sigmoid()
    torch.testing.assert_close(softmax * gate.permute(0, 3, 1, 2), weights)
    as_printed(attention, passed_on="A")
    torch.testing.assert_close(attention(h, e)[1], weights.permute(0, 2, 3, 1))


def test_unscaled_logits_are_larger_by_the_square_root_of_the_head_width():
    scaled, h, e = attention_and_input(clip=1e6)
    plain = attention_and_input(clip=1e6, scaled=False)[0]
    shift = scaled.edge_bias(e)
    ratio = (plain(h, e)[1] - shift) / (scaled(h, e)[1] - shift)
    torch.testing.assert_close(ratio, torch.full_like(ratio, 2.0))  # a head is 4 wide


def test_a_larger_epsilon_in_layer_norm_reduces_the_spread():
    """Vectors that start within 0.05 of zero, behind a norm of PyTorch and of Keras."""
    torch.manual_seed(0)
    start = torch.empty(1000, 64).uniform_(-0.05, 0.05)
    variance = 0.1**2 / 12
    for eps in (1e-5, 1e-3):
        spread = nn.LayerNorm(64, eps)(start).std().item()
        assert abs(spread - (variance / (variance + eps)) ** 0.5) < 0.01


def test_egt_simple_does_not_normalise_the_edge_channel():
    """Twice the pairs' vectors shift the logits by twice as much; behind a norm by as much."""
    batch = collate(encoded(chain(1, 2)))
    for variant, same in (("simple", False), ("full", True)):
        model = large_weights(EGT(replace(SMALL, variant=variant, norm_eps=1e-12)))
        layer = model.layers[0]
        e = model.edge_input(batch)
        shifts = [layer.attention.edge_bias(layer.edge_norm(scale * e)) for scale in (1, 2)]
        assert torch.allclose(*shifts, atol=1e-6) == same
        bias = layer.attention.edge_bias.bias
        assert torch.allclose(shifts[1] - bias, 2 * (shifts[0] - bias)) != same


def test_distance_embeddings_separate_a_node_from_its_neighbour_but_sixteen_masks_do_not():
    (path,) = encoded(chain(*[0] * 19))
    masks = within_reach(path.distance[0], 16)
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[1], masks[2])
    assert masks[17].sum() == 0
    assert within_reach(torch.tensor([-1]), 16).sum() == 0
    assert torch.equal(masks.sum(dim=1)[1:17], torch.arange(16, 0, -1).float())
    inputs = EdgeInput((), 0, d_edge=6, max_distance=16)
    vectors = inputs(collate([path]))[0, 0]
    rows = (vectors[:, None] == inputs.structure.weight).all(dim=-1).long().argmax(dim=-1)
    assert rows.tolist() == [*range(17), 16, 16, 16]


def test_every_linear_map_of_a_layer_has_a_bias_as_in_the_authors_code():
    model = EGT(SMALL)
    maps = [m for m in model.layers.modules() if isinstance(m, nn.Linear)]
    assert len(maps) == 11 + 8  # the last layer has none for pairs that nobody reads
    assert all(m.bias is not None for m in maps)


@torch.no_grad()
def test_predictions_depend_on_the_batch_if_virtual_nodes_attend_to_padding():
    small, large = encoded(chain(1, 2), chain(*[1] * 8))
    model = large_weights(EGT(replace(SMALL, virtual_nodes=2)))
    alone = model(collate([small]))
    torch.testing.assert_close(model(collate([small, large]))[:1], alone)
    attend_to_padding(model)
    torch.testing.assert_close(model(collate([small])), alone)
    assert (model(collate([small, large]))[0] - alone[0]).abs() > 1e-3


def as_printed(attention: EGTAttention, *, value_of: str = "j", passed_on: str = "H"):
    """Replaces the attention of one layer by a form that the paper prints, or may mean.

    Args:
        value_of: whose value the sum of Eq. 6 has, "j" or, as printed, "i".
        passed_on: what Eq. 7 reads, the softmax's input "H" or, for the printed H with a tilde,
            the gated weights "A".
    """

    def forward(h: Tensor, e: Tensor):
        maps = (attention.query, attention.key, attention.value)
        query, key, value = (m(h).unflatten(-1, (attention.num_heads, -1)) for m in maps)
        dot = torch.einsum("bihk,bjhk->bhij", query, key) * attention.scale
        shift, gate = attention.edge_terms(e)
        logits = dot.clamp(-attention.clip, attention.clip) + shift
        weights = logits.softmax(-1) * gate.sigmoid()
        sender = "bhij,bjhk->bihk" if value_of == "j" else "bhij,bihk->bihk"
        z = attention.output(torch.einsum(sender, weights, value).flatten(-2))
        return z, (logits if passed_on == "H" else weights).permute(0, 2, 3, 1)

    attention.forward = forward


def attend_to_padding(model: EGT) -> None:
    """As the later code: the mask's rows of virtual nodes leave padding in."""
    plain = model.attention_mask

    def attention_mask(batch: GraphBatch) -> Tensor:
        mask = plain(batch).clone()
        mask[:, : model.config.virtual_nodes] = True
        return mask

    model.attention_mask = attention_mask


def within_reach(distance: Tensor, k: int) -> Tensor:
    """The authors' first structure: for 1 to k steps, whether j is that near, ``[…, k]``."""
    steps = torch.arange(1, k + 1)
    return ((distance[..., None] >= 0) & (distance[..., None] <= steps)).to(torch.float32)
