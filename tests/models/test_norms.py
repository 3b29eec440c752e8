"""Batch normalisation of padded nodes: by hand, by torch's own, and where there is nothing."""

import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import nn

from gtcourse.models.embeddings import FlatBatchNorm, NodeBatchNorm


def padded(sizes, width=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = (len(sizes), max(sizes), width)
    h = torch.randn(shape, generator=generator, dtype=torch.float64)
    mask = torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]
    return h, mask


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.booleans(), st.integers(0, 99))
def test_real_nodes_are_normalised_as_torch_does_it_without_padding(sizes, training, seed):
    h, mask = padded(sizes, seed=seed)
    assume(not training or mask.sum() > 1)  # torch refuses one row
    ours, theirs = NodeBatchNorm(3).double(), nn.BatchNorm1d(3).double()
    for layer in (ours, theirs):
        layer.train(training)
        layer.running_mean += 0.5
        layer.weight.data = torch.tensor([1.0, -2.0, 3.0]).double()
        layer.bias.data = torch.tensor([0.5, 0.0, -1.0]).double()
    h.requires_grad_()
    found, expected = ours(h, mask), theirs(h[mask])
    torch.testing.assert_close(found[mask], expected)
    assert (found[~mask] == 0).all()
    pull = torch.randn_like(found)  # a sum of squares would be the same for whatever h
    gradients = [
        torch.autograd.grad((out * pull_of).sum(), [h, *layer.parameters()])
        for out, pull_of, layer in ((found, pull, ours), (expected, pull[mask], theirs))
    ]
    torch.testing.assert_close(*gradients)
    torch.testing.assert_close(dict(ours.named_buffers()), dict(theirs.named_buffers()))


@pytest.mark.parametrize("norm", [NodeBatchNorm, FlatBatchNorm])
def test_one_node_takes_the_running_statistics_and_leaves_them_alone(norm):
    layer = norm(3).double()
    layer.running_mean += 1.0
    h, mask = padded([1])
    out = layer(h, mask) if norm is NodeBatchNorm else layer(h[mask])
    torch.testing.assert_close(out.flatten(), ((h - 1) / (1 + 1e-5) ** 0.5).flatten())
    torch.testing.assert_close(layer.running_mean, torch.ones(3, dtype=torch.float64))


def test_no_nodes_at_all_make_no_numbers_of_the_statistics():
    h, mask = padded([1])
    for layer, rows in ((NodeBatchNorm(3), (h[:0], mask[:0])), (FlatBatchNorm(3), (h[mask][:0],))):
        assert layer.double()(*rows).shape == rows[0].shape
        assert layer.running_mean.isfinite().all()
