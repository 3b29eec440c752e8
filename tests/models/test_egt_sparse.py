"""EGT-Constrained on the list of its pairs: the dense layer's numbers and gradients."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from gtcourse import GraphBatch
from gtcourse.models import EGT, EGTLayer
from gtcourse.models.egt_sparse import SparseEGT, SparseEGTLayer
from tests.loops.egt import layer_loop
from tests.models.egts import CONFIGS, PLAIN, SMALL
from tests.models.graphormers import large_weights

CLOSE = {"rtol": 1e-10, "atol": 1e-10}
LAYERS = {
    "as in the paper": {},
    "ungated": {"gated": False},
    "clipped at 0.1": {"clip": 0.1},
    "unscaled, degree scaler": {"scaled": False, "degree_scaler": True},
    "simple": {"edge_channels": False},
    "nodes alone": {"update_edges": False},
    "pairs alone": {"update_nodes": False},
}
CONSTRAINED = replace(SMALL, variant="constrained")


@st.composite
def masks(draw):
    """Who hears whom among N nodes: any pairs, loops among them, in both directions or one."""
    N = draw(st.integers(1, 6))
    return torch.tensor(draw(st.lists(st.booleans(), min_size=N * N, max_size=N * N))).view(1, N, N)


@pytest.mark.holds("EGT, Eq. 12")
@given(mask=masks())
def test_a_layer_equals_the_loop_over_the_pairs_that_attend(mask):
    layer, (_, i, j) = large_weights(EGTLayer(8, 6, 2)), mask.nonzero().T
    h, e = torch.randn(mask.shape[1], 8).double(), torch.randn(*mask.shape, 6).double()
    attending = list(zip(i.tolist(), j.tolist(), strict=True))
    vectors = {pair: e[0][pair] for pair in attending}
    nodes, pairs, share = layer_loop(layer, list(h), vectors, set(attending), SMALL)
    got = SparseEGTLayer(layer)(h, e[mask], torch.stack([i, j]), return_attention=True)
    torch.testing.assert_close(got[0], torch.stack(nodes), **CLOSE)
    for row, pair in enumerate(attending):
        torch.testing.assert_close(got[1][row], pairs[pair], **CLOSE)
        torch.testing.assert_close(got[2][row], share[pair], **CLOSE)


@pytest.mark.parametrize("options", LAYERS.values(), ids=LAYERS)
@given(mask=masks())
def test_a_layer_equals_the_dense_one_on_any_pairs_and_so_do_its_gradients(options, mask):
    layer = large_weights(EGTLayer(8, 6, 2, **options))
    h = torch.randn(1, mask.shape[1], 8, dtype=torch.float64, requires_grad=True)
    e = torch.randn(*mask.shape, 6, dtype=torch.float64, requires_grad=True)
    inputs = [h, e, *layer.parameters()]
    dense = layer(h, e, mask=mask, return_attention=True)
    sparse = SparseEGTLayer(layer)(h[0], e[mask], mask[0].nonzero().T, return_attention=True)
    dense = dense[0][0], dense[1][mask], dense[2].permute(0, 2, 3, 1)[mask]
    for one, other in zip(sparse, dense, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)
    weights = [torch.randn_like(tensor) for tensor in dense]
    gradients = [
        torch.autograd.grad(
            sum((w * tensor).sum() for w, tensor in zip(weights, result, strict=True)),
            inputs,
            materialize_grads=True,
            allow_unused=True,
        )
        for result in (sparse, dense)
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, **CLOSE)


def test_of_a_pair_the_first_node_hears_the_second():
    layer = SparseEGTLayer(large_weights(EGTLayer(8, 6, 2)))
    h, e, pair = torch.randn(2, 8).double(), torch.randn(1, 6).double(), torch.tensor([[0], [1]])
    first, second = torch.stack([-h[0], h[1]]), torch.stack([h[0], -h[1]])  # one of them is changed
    assert not torch.allclose(layer(h, e, pair)[0][0], layer(second, e, pair)[0][0])
    torch.testing.assert_close(layer(h, e, pair)[0][1], layer(first, e, pair)[0][1], **CLOSE)


def test_graphs_beside_each_other_do_not_hear_each_other():
    layer = SparseEGTLayer(large_weights(EGTLayer(8, 6, 2)))
    h, e = torch.randn(5, 8).double(), torch.randn(4, 6).double()
    pairs = torch.tensor([[0, 1, 2, 4], [1, 0, 3, 4]])
    both, first = layer(h, e, pairs), layer(h[:2], e[:2], pairs[:, :2])
    torch.testing.assert_close(both[0][:2], first[0], **CLOSE)
    torch.testing.assert_close(both[1][:2], first[1], **CLOSE)


def test_dropout_of_the_weights_is_the_layers():
    layer = SparseEGTLayer(large_weights(EGTLayer(8, 6, 2, dropout=0.5)).train())
    h, e, pairs = torch.randn(2, 8).double(), torch.randn(4, 6).double(), torch.ones(2, 4).long()
    assert not torch.equal(layer(h, e, pairs)[0], layer(h, e, pairs)[0])
    layer.eval()
    assert torch.equal(layer(h, e, pairs)[0], layer(h, e, pairs)[0])


def test_the_parameters_are_the_dense_models_own():
    model = EGT(CONSTRAINED)
    assert {*map(id, SparseEGT(model).parameters())} == {*map(id, model.parameters())}


class _Widest(TorchDispatchMode):
    """The most numbers in a floating-point tensor that an operator makes."""

    numbers = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(result):
            if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                self.numbers = max(self.numbers, tensor.numel())
        return result


def test_no_number_of_a_pair_that_does_not_attend_is_written_forward_or_backward():
    N, d, config = 200, 8, replace(PLAIN, variant="constrained", target="node")
    ring = torch.eye(N, dtype=torch.bool).roll(1, 0)[None]
    batch = GraphBatch(torch.ones(1, N, 1).long(), ring | ring.mT, None, torch.ones(1, N).bool())
    widths = {}
    for model in (EGT(config), SparseEGT(EGT(config))):
        with _Widest() as widest:
            model(batch).sum().backward()
        widths[type(model)] = widest.numbers
    assert widths[SparseEGT] <= 3 * N * 2 * d  # three pairs a node; a network twice as wide
    assert widths[EGT] >= N * N * 2


@pytest.mark.parametrize("name", ["graph", "simple", "virtual nodes, constrained"])
def test_a_model_that_hears_more_than_neighbours_is_refused(name):
    with pytest.raises(ValueError, match="expected 'constrained' and none"):
        SparseEGT(EGT(CONFIGS[name]))


@pytest.mark.parametrize("options", [{"random_mask": 0.1}, {"virtual_nodes": 2}])
def test_a_layer_that_is_not_written_here_is_refused(options):
    with pytest.raises(ValueError, match="expected none of either"):
        SparseEGTLayer(EGTLayer(8, 6, 2, **options))
