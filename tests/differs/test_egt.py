"""The rows of EGT: what is printed, what the authors' code computes, and what we compute."""

from dataclasses import replace

import torch

from experiments.differs import egt as forms
from gtcourse import collate
from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.models import EGT, EGTAttention
from gtcourse.models.egt import EdgeInput
from tests.encodings.graphs import of_edges
from tests.models.egts import SMALL, encoded
from tests.models.graphormers import large_weights


def attention_and_input(**options):
    torch.manual_seed(0)
    attention = large_weights(EGTAttention(8, 6, 2, **options))
    h, e = torch.randn(1, 4, 8).double(), torch.randn(1, 4, 4, 6).double()
    return attention, h, {"e": e, "mask": torch.ones(1, 4, 4, dtype=torch.bool)}


def test_as_meant_the_form_is_the_packages_attention():
    """Otherwise what the printed forms change would be measured against something else."""
    attention, h, given = attention_and_input(clip=0.5)
    z, heard = attention(h, **given)
    forms.as_printed(attention)
    again, heard_again = attention(h, **given)
    torch.testing.assert_close(again, z, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(heard_again, heard, rtol=1e-10, atol=1e-10)


def test_as_printed_no_node_hears_another():
    attention, h, given = attention_and_input()
    attention.qkv.weight.data[:16] = 0  # no query and no key: every weight is the pairs' affair
    other = h.clone()
    other[0, 1:] = torch.randn(3, 8).double()
    meant = (attention(h, **given)[0] - attention(other, **given)[0])[0, 0]
    assert meant.abs().max() > 1e-2
    forms.as_printed(attention, value_of="i")
    printed = (attention(h, **given)[0] - attention(other, **given)[0])[0, 0]
    torch.testing.assert_close(printed, torch.zeros(8).double())


def test_the_pairs_hear_the_input_of_the_softmax():
    attention, h, given = attention_and_input()
    _, heard, weights = attention(h, **given, return_attention=True)
    assert heard.min() < 0  # no weight is
    softmax = heard.permute(0, 3, 1, 2).softmax(-1)
    gate = attention.edge_input(given["e"])[..., 2:].sigmoid()
    torch.testing.assert_close(softmax * gate.permute(0, 3, 1, 2), weights)
    forms.as_printed(attention, heard="A")
    torch.testing.assert_close(attention(h, **given)[1], weights.permute(0, 2, 3, 1))


def test_without_the_scale_logits_are_larger_by_the_root_of_a_heads_width():
    scaled, h, given = attention_and_input(clip=1e6)
    plain = attention_and_input(clip=1e6, scaled=False)[0]
    shift = scaled.edge_input(given["e"])[..., :2]
    ratio = (plain(h, **given)[1] - shift) / (scaled(h, **given)[1] - shift)
    torch.testing.assert_close(ratio, torch.full_like(ratio, 2.0))  # a head is 4 wide
    changed = attention_and_input(clip=1e6)[0]
    forms.unscaled(changed)
    torch.testing.assert_close(changed(h, **given)[1], plain(h, **given)[1])


def test_the_larger_constant_leaves_small_vectors_smaller():
    found = forms.norms()
    variance = 0.1**2 / 12
    for name, eps in (("torch", 1e-5), ("keras", 1e-3)):
        assert abs(found[name] - (variance / (variance + eps)) ** 0.5) < 0.01


def test_egt_simple_reads_its_pairs_without_a_norm():
    """Twice the pairs' vectors shift the logits by twice as much; behind a norm by as much."""
    batch = collate(encoded(of_edges_with_features()))
    for variant, same in (("simple", False), ("full", True)):
        model = large_weights(EGT(replace(SMALL, variant=variant, norm_eps=1e-12)))
        layer, e = model.layers[0], model.edge_input(batch)
        shifts = [layer.attention.edge_input(layer.edge_norm(scale * e)) for scale in (1, 2)]
        assert torch.allclose(*shifts, atol=1e-6) == same
        bias = layer.attention.edge_input.bias
        assert torch.allclose(shifts[1] - bias, 2 * (shifts[0] - bias)) != same


def test_sixteen_masks_do_not_tell_a_node_from_its_neighbour_and_an_embedding_does():
    chain = of_edges(20, [(i, i + 1) for i in range(19)])
    (chain,) = encode([chain], AddShortestPaths())
    masks = forms.within_reach(chain.distance[0], 16)
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[1], masks[2])
    assert masks[17].sum() == 0
    assert forms.within_reach(torch.tensor([-1]), 16).sum() == 0
    assert torch.equal(masks.sum(dim=1)[1:17], torch.arange(16, 0, -1).float())
    inputs = EdgeInput((), 0, d_edge=6, max_distance=16)
    chain.x, chain.edge_attr = torch.zeros(20, 1).long(), torch.zeros(38, 1).long()
    vectors = inputs(collate([chain]))[0, 0]
    rows = (vectors[:, None] == inputs.structure.weight).all(dim=-1).long().argmax(dim=-1)
    assert rows.tolist() == [*range(17), 16, 16, 16]


def of_edges_with_features():
    graph = of_edges(3, [(0, 1), (1, 2)])
    graph.x, graph.edge_attr = torch.zeros(3, 1).long(), torch.tensor([[1], [2], [1], [2]])
    return graph


def test_every_linear_map_of_a_layer_has_a_shift_as_in_the_authors_code():
    model = EGT(SMALL)
    maps = [m for m in model.layers.modules() if isinstance(m, torch.nn.Linear)]
    assert len(maps) == 8 + 5  # the last layer has none for pairs that nobody reads
    assert all(m.bias is not None for m in maps)


@torch.no_grad()
def test_virtual_nodes_that_attend_to_padding_see_the_largest_graph_of_the_batch():
    small, large = encoded(of_edges_with_features(), chain_with_features(9))
    model = large_weights(EGT(replace(SMALL, virtual_nodes=2)))
    alone = model(collate([small]))
    torch.testing.assert_close(model(collate([small, large]))[:1], alone)
    forms.attend_to_padding(model)
    torch.testing.assert_close(model(collate([small])), alone)
    assert (model(collate([small, large]))[0] - alone[0]).abs() > 1e-3


def chain_with_features(n):
    graph = of_edges(n, [(i, i + 1) for i in range(n - 1)])
    graph.x, graph.edge_attr = torch.zeros(n, 1).long(), torch.ones(2 * n - 2, 1).long()
    return graph
