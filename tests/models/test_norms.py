"""Batch normalisation of padded nodes: by hand, by torch's own, and where there is nothing."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gtcourse.models.norms import FlatBatchNorm, NodeBatchNorm


def padded(sizes, width=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shape = (len(sizes), max(sizes), width)
    h = torch.randn(shape, generator=generator, dtype=torch.float64)
    mask = torch.arange(max(sizes)) < torch.tensor(sizes)[:, None]
    return h, mask


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.booleans(), st.integers(0, 99))
def test_real_nodes_are_normalised_as_torch_does_it_without_padding(sizes, training, seed):
    h, mask = padded(sizes, seed=seed)
    ours, theirs = NodeBatchNorm(3).double(), nn.BatchNorm1d(3).double()
    theirs.load_state_dict(ours.state_dict())
    ours.train(training)
    theirs.train(training)
    if training and mask.sum() < 2:
        return  # torch refuses it
    h.requires_grad_()
    (expected,) = torch.autograd.grad(theirs(h[mask]).square().sum() + h.sum(), h)
    h_theirs = theirs.eval()(h[mask]) if not training else None
    found = ours(h, mask)
    (gradient,) = torch.autograd.grad(found.square().sum() + h.sum(), h)
    torch.testing.assert_close(gradient, expected, rtol=1e-9, atol=1e-10)
    assert (found[~mask] == 0).all()
    torch.testing.assert_close(dict(ours.named_buffers()), dict(theirs.named_buffers()))
    if h_theirs is not None:
        torch.testing.assert_close(found[mask], h_theirs)


@pytest.mark.parametrize("norm", [NodeBatchNorm, FlatBatchNorm])
def test_one_node_takes_the_running_statistics_and_leaves_them_alone(norm):
    layer = norm(3).double()
    layer.running_mean += 1.0
    h, mask = padded([1])
    out = layer(h, mask) if norm is NodeBatchNorm else layer(h[mask])
    torch.testing.assert_close(out.flatten(), ((h - 1) / (1 + 1e-5) ** 0.5).flatten())
    torch.testing.assert_close(layer.running_mean, torch.ones(3, dtype=torch.float64))
    assert layer(h[:0], mask[:0]).shape == (0, 1, 3) if norm is NodeBatchNorm else True


def test_both_norms_agree():
    h, mask = padded([4, 2, 1])
    flat, of_nodes = FlatBatchNorm(3).double(), NodeBatchNorm(3).double()
    torch.testing.assert_close(of_nodes(h, mask)[mask], flat(h[mask]))
    torch.testing.assert_close(of_nodes.state_dict(), flat.state_dict())
