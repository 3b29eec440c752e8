"""The rows of CSA: what is printed, what the authors' code computes, and what we compute."""

from dataclasses import replace

import torch
from torch import Tensor

from gtcourse import collate
from gtcourse.models import CGT, EdgeTerms
from tests.graphs.small import graph_of, of_edges
from tests.models.small import CGT as SMALL
from tests.models.small import encoded, large_weights, scale_queries


def small_batch():
    return collate(encoded(graph_of(4, [(0, 1), (1, 2), (2, 3)]), graph_of(3, [(0, 1), (1, 2)])))


@torch.no_grad()
def test_logits_are_scaled_by_the_square_root_of_the_head_width():
    model = large_weights(CGT(SMALL))
    batch = small_batch()
    layer = model.layers[0].attention
    h = model.node_encoding(batch)
    N = batch.mask.shape[1]
    nothing = EdgeTerms(torch.zeros(len(h), 2, N, N).double())
    q = layer.split_heads(layer.query(h))
    k = layer.split_heads(layer.key(h))
    _, attention = layer(h, nothing, return_attention=True)
    expected = (q @ k.mT / 4**0.5).softmax(dim=-1)  # a head is 4 wide
    torch.testing.assert_close(attention, expected)
    before = model(batch)
    scale_queries(model, 2**-0.5)  # two heads: by the root of 8
    _, attention = layer(h, nothing, return_attention=True)
    torch.testing.assert_close(attention, (q @ k.mT / 8**0.5).softmax(dim=-1))
    assert not torch.allclose(model(batch), before)


def test_changing_the_matrix_in_place_stores_wrong_path_lengths():
    chain = of_edges(20, [(i, i + 1) for i in range(19)])
    A = collate([chain]).adjacency[0].double()
    steps = torch.arange(20)[:, None].sub(torch.arange(20)).abs()
    for copied in (True, False):
        step = A.clone()
        reached = step.clone() if copied else step  # without a copy: a second name
        stored = reached.long()
        for length in range(2, 20):
            reached.copy_((reached @ step + reached > 0).double())
            stored[(reached > 0) & (stored == 0)] = length
        wanted = steps if copied else stored_lengths(steps)
        apart = steps > 0
        assert torch.equal(stored[apart], wanted[apart])
    lengths = torch.tensor([-1, 0, 1, 2, 3, 4, 5, 8, 9, 16, 17])
    stored = [-1, 0, 1, 2, 3, 3, 4, 4, 5, 5, 6]
    assert stored_lengths(lengths).tolist() == stored


@torch.no_grad()
def test_the_bias_of_the_walk_projection_can_be_folded_into_the_next_maps():
    model = large_weights(CGT(SMALL))
    batch = small_batch()
    before = model(batch)
    fold_shift(model)
    assert model.edge_encoding.relative.projection.bias.abs().max() == 0
    torch.testing.assert_close(model(batch), before, rtol=1e-10, atol=1e-10)


def test_parameter_counts_do_not_depend_on_heads_with_chromatic_logits():
    def parameters(heads, **options):
        model = CGT(replace(SMALL, num_heads=heads, **options))
        return sum(p.numel() for p in model.parameters())

    assert parameters(2) == parameters(4)
    assert parameters(2, chromatic=False) < parameters(4, chromatic=False)


def stored_lengths(distance: Tensor) -> Tensor:
    """What the authors' code stores as the length of a shortest path.

    Its loop changes the matrix that it multiplies with: after the round that stores 3, each round
    reaches twice as far as the one before. Distances 1, 2, 3, 4, 5 to 8, 9 to 16 are stored as
    1, 2, 3, 3, 4, 5.
    """
    doubled = distance.clamp(min=1).double().log2().ceil().long() + 1
    return torch.where(distance > 2, doubled, distance)


@torch.no_grad()
def fold_shift(model: CGT) -> None:
    """Takes the shift of the walks' map, which Eq. 12 has not, without changing the model."""
    projection = model.edge_encoding.relative.projection
    for maps in model.edge_maps:
        for linear in (maps.logits, maps.values):
            linear.bias += linear.weight[:, -projection.out_features :] @ projection.bias
    projection.bias.zero_()
