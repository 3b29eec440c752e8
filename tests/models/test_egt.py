"""EGT beside the paper's equations, and what must hold for every graph."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gtcourse import collate
from gtcourse.models import EGT, EGTAttention, EGTConfig, EGTLayer, LaplacianEncoding
from tests.graphs.random_graphs import graph_of
from tests.loops.egt import layer_loop
from tests.models.egts import CONFIGS, SMALL, encoded
from tests.models.graphormers import large_weights

VARIANTS = pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


@pytest.mark.holds("EGT, Eqs. 4 to 7 and 10 to 14")
@pytest.mark.parametrize("options", [{}, {"gated": False}, {"edge_channels": False}, {"clip": 0.1}])
@given(allowed=st.lists(st.booleans(), min_size=16, max_size=16))
def test_the_layer_alone_equals_the_loop_on_plain_tensors(options, allowed):
    layer = large_weights(EGTLayer(8, 6, 2, **options))
    named = {"variant": "simple"} if "edge_channels" in options else options
    config = replace(SMALL, **named)
    generator = torch.Generator().manual_seed(0)
    h = torch.randn(1, 4, 8, generator=generator, dtype=torch.float64)
    e = torch.randn(1, 4, 4, 6, generator=generator, dtype=torch.float64)
    mask = torch.tensor(allowed).view(1, 4, 4)
    seen = {(i, j) for _, i, j in mask.nonzero().tolist()}
    pairs = {(i, j): e[0, i, j] for i in range(4) for j in range(4)}
    nodes, edges, share = layer_loop(layer, list(h[0]), pairs, seen, config)
    got_h, got_e, attention = layer(h, e, mask=mask, return_attention=True)
    torch.testing.assert_close(got_h[0], torch.stack(nodes), **CLOSE)
    for (i, j), row in edges.items():
        if (i, j) in seen:
            torch.testing.assert_close(got_e[0, i, j], row, **CLOSE)
        wanted = share.get((i, j), torch.zeros(2).double())
        torch.testing.assert_close(attention[0, :, i, j], wanted, **CLOSE)


@VARIANTS
def test_every_parameter_is_of_use_but_the_last_layers_values_and_gates_where_edges_are_read(
    config,
):
    """There the authors' projections of query, key and value, of bias and gate, are one as well."""
    two = encoded(graph_of(4, [(0, 1), (1, 2)]), graph_of(3, [(0, 2), (2, 1)], seed=3))
    model = large_weights(EGT(replace(config, clip=1e3)))  # a clipped logit has no gradient
    asks = {"return_distances": config.distance_hops > 0}
    only_edges = config.target == "edge" and config.variant != "simple"
    results = model(collate(two), **asks)
    sum(r.square().sum() for r in (results if isinstance(results, tuple) else [results])).backward()
    for name, p in model.named_parameters():
        used = p.grad.reshape(len(p), -1).any(dim=1) if p.grad is not None else [False]
        if name.endswith(("table.weight", "structure.weight")):
            assert used.any(), name
        elif only_edges and name.startswith("layers.1.attention.qkv"):
            assert used.tolist() == [True] * 16 + [False] * 8
        elif only_edges and name.startswith("layers.1.attention.edge_input"):
            assert used.tolist() == [True] * 2 + [False] * 2
        elif name.endswith("qkv.bias"):  # a key's bias shifts a whole row of logits
            assert used[:8].all(), name
            assert used[16:].all(), name
        elif name.endswith("edge_input.bias") and (
            config.variant == "simple" or name.startswith("layers.1")
        ):  # so does E's, where the pairs do not hear of it; what is left of it is rounding
            assert used[2:].all(), name
        else:
            assert all(used), name


def test_logits_are_clipped_before_the_pairs_are_heard():
    attention = large_weights(EGTAttention(8, 6, 2, clip=0.5))
    h, e = 100 * torch.randn(1, 3, 8).double(), torch.zeros(1, 3, 3, 6).double()
    attention.edge_input.bias.data = torch.tensor([9.0, -9, 0, 0]).double()
    _, logits = attention(h, e)
    assert logits[..., 0].max().item() == 9.5
    assert logits[..., 1].min().item() == -9.5


def test_random_masking_leaves_keys_out_in_training_and_no_node_without_any():
    attention = large_weights(EGTAttention(8, 6, 2, random_mask=0.5, gated=False))
    h, e = torch.randn(50, 4, 8).double(), torch.randn(50, 4, 4, 6).double()
    *_, whole = attention(h, e, return_attention=True)
    assert bool((whole > 0).all())
    *_, share = attention.train()(h, e, return_attention=True)
    assert 0.4 < float((share == 0).double().mean()) < 0.5
    torch.testing.assert_close(share.sum(-1), torch.ones(50, 2, 4).double())
    attention.random_mask = 1.0  # who would lose all keys keeps all
    *_, share = attention(h, e, return_attention=True)
    torch.testing.assert_close(share, whole)


def test_each_dropout_acts_in_training_alone():
    batch = collate(encoded(graph_of(4, [(0, 1), (1, 2)])))
    for name in ("node_dropout", "edge_dropout", "attention_dropout"):
        model = large_weights(EGT(replace(SMALL, **{name: 0.5})))
        assert torch.equal(model(batch), model(batch))
        model.train()
        assert not torch.equal(model(batch), model(batch))


def test_node_encodings_can_be_replaced():
    graph = graph_of(3, [(0, 1)])
    model = EGT(SMALL, [LaplacianEncoding(3, 8)])
    assert model(collate([graph])).shape == (1,)


def test_the_start_is_the_authors():
    torch.manual_seed(0)
    config = EGTConfig((400,), num_edge_types=(400,), svd_rank=8, virtual_nodes=8, distance_hops=3)
    model, linears = EGT(config), 0
    for name, module in model.named_modules():
        if isinstance(module, nn.Embedding):
            assert float(module.weight.detach().std()) == pytest.approx(0.05 / 3**0.5, rel=0.2), (
                name
            )
        if isinstance(module, nn.Linear):
            fans = sum(module.weight.shape)
            if min(module.weight.shape) > 2:
                assert float(module.weight.detach().std()) == pytest.approx(
                    (2 / fans) ** 0.5, rel=0.2
                ), name
            assert bool((module.bias == 0).all()), name
            linears += 1
    assert linears == 10 * (3 + 2 + 3) + 7
    for vectors in (model.virtual_nodes, model.edge_input.virtual, model.edge_input.no_edge):
        assert 0.02 < float(vectors.detach().std()) < 0.04
