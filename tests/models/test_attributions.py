"""Gradients, a node left out and heads that are silent, on each Transformer of the course."""

import copy
from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Data

from gtcourse.analysis import (
    ablated,
    attention_times_gradient,
    gradient_times_input,
    layers_of,
    leave_one_out,
)
from gtcourse.encodings import (
    AddDegrees,
    AddPathEdges,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
    AddSVD,
    encode,
)
from gtcourse.graphs.batch import collate
from gtcourse.models import (
    CGT,
    EGT,
    GRPE,
    BagTransformer,
    BagTransformerConfig,
    Graphormer,
    GRPEConfig,
)
from tests.loops.probes import difference_loop
from tests.models.csas import MONO, RINGS, STEPS, in_use
from tests.models.egts import SMALL as EGT_SMALL
from tests.models.graphormers import SMALL as GRAPHORMER_SMALL
from tests.models.graphormers import default_dtype

BAG = BagTransformerConfig(28, 8, 2, 2, 8)
GRPE_SMALL = GRPEConfig(d_model=8, num_heads=2, num_layers=2, max_distance=2)
MODELS = {
    "bag": lambda: BagTransformer(BAG),
    "graphormer": lambda: Graphormer(GRAPHORMER_SMALL),
    "egt": lambda: EGT(EGT_SMALL),
    "egt with virtual nodes": lambda: EGT(replace(EGT_SMALL, virtual_nodes=2)),
    "grpe": lambda: GRPE(GRPE_SMALL),
    "csa": lambda: CGT(RINGS),
    "csa, monochrome": lambda: CGT(MONO),
}
ALL = pytest.mark.parametrize("name", MODELS)
EXACT = {"rtol": 0, "atol": 1e-10}
TYPES, EDGES = [0, 1, 2, 0, 3], [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]


def model(name):
    return in_use(MODELS[name]())


def batch(*graphs, num_nodes=None):
    reads = AddDegrees(), AddShortestPaths(), AddPathEdges(3), AddSVD(2), AddRings(4)
    with default_dtype(torch.float64):
        some = encode(list(graphs), *reads, AddRandomWalks(STEPS))
        return collate(some, num_nodes=num_nodes)


def graph(types=TYPES, edges=EDGES):
    edges = [*edges, *((j, i) for i, j in edges)]
    bonds = [1 + (i + j) % 3 for i, j in edges]
    return Data(x=torch.tensor(types)[:, None], edge_index=torch.tensor(edges).T,
                edge_attr=torch.tensor(bonds)[:, None])  # fmt: skip


ONE, TWO = graph(), graph([4, 2, 2], [(0, 1), (1, 2)])


def first_input(model, batch):
    """What enters the first layer, and the prediction of anything else in its place."""
    seen = []
    hook = layers_of(model)[0].register_forward_pre_hook(
        lambda layer, arguments: seen.append(arguments[0].detach())
    )
    model(batch)
    hook.remove()

    def predict(h):
        with torch.no_grad():
            handle = layers_of(model)[0].register_forward_pre_hook(
                lambda layer, arguments: (h, *arguments[1:])
            )
            prediction = model(batch)
            handle.remove()
        return prediction.sum()

    return seen[0], predict


@ALL
def test_gradients_are_those_of_small_differences(name):
    some, of_model = batch(TWO, graph([1, 5], [(0, 1)])), model(name)
    h, predict = first_input(of_model, some)
    slopes, N = difference_loop(predict, h)[:, -3:], 3
    for from_mean in (False, True):
        got = gradient_times_input(of_model, some, from_mean=from_mean)
        for b, n in enumerate((3, 2)):
            nodes = h[b, -N:][:n]
            mean = sum(nodes) / n if from_mean else 0 * nodes[0]
            for i in range(n):
                expected = float(slopes[b, i] @ (nodes[i] - mean))
                assert abs(float(got[b, i]) - expected) < 1e-5 * (1 + abs(expected))
            assert (got[b, n:] == 0).all()


@ALL
def test_a_heads_weights_times_their_gradients_are_its_output_times_its_own(name):
    """z is linear in the weights: what the rows give sums to what z gives (Euler)."""
    some, of_model = batch(ONE, TWO), model(name)
    got = attention_times_gradient(of_model, some)
    outputs = []

    def keep(module, arguments):
        outputs.append(arguments[0])

    handles = [layer.attention.output.register_forward_pre_hook(keep)
               for layer in layers_of(of_model)]  # fmt: skip
    prediction, attention = of_model(some, return_attention=True)
    for handle in handles:
        handle.remove()
    assert got.shape == attention.shape
    gradients = torch.autograd.grad(prediction.sum(), outputs)
    virtual = got.shape[-1] - 5
    real = torch.cat([torch.ones(2, virtual).bool(), some.mask], dim=1)
    for layer, (z, g) in enumerate(zip(outputs, gradients, strict=True)):
        C = got.shape[2]
        expected = (z * g).unflatten(-1, (C, -1)).sum(dim=-1).mT  # [B, C, T]
        rows = got[:, layer].sum(dim=-1)
        where = real[:, None].expand_as(rows)
        torch.testing.assert_close(rows[where], expected[where], **EXACT)
        assert (got[:, layer].mT[where.logical_not()] == 0).all()


@ALL
def test_silencing_heads_is_losing_their_columns_of_the_projection(name):
    some, of_model = batch(ONE, TWO), model(name)
    usual, cut = of_model(some), copy.deepcopy(of_model)
    for layer, head in ((0, 1), (1, 0), (1, 1)):
        attention = layers_of(cut)[layer].attention
        K = attention.output.in_features // attention.num_heads
        attention.output.weight.data[:, head * K : (head + 1) * K] = 0
    with ablated(of_model, [(0, 1), (1, 0), (1, 1)]) as silent:
        torch.testing.assert_close(silent(some), cut(some), **EXACT)
        assert (silent(some) - usual).abs().min() > 1e-6
    torch.testing.assert_close(of_model(some), usual, **EXACT)
    with ablated(of_model, []):
        torch.testing.assert_close(of_model(some), usual, **EXACT)


@pytest.mark.parametrize("name", ["bag", "csa, monochrome"])
def test_a_node_without_edges_left_out_is_a_graph_without_it(name):
    lonely = graph([*TYPES, 6])
    some, of_model = batch(lonely, TWO), model(name)
    expected = of_model(some)[0] - of_model(batch(ONE, TWO))[0]
    torch.testing.assert_close(leave_one_out(of_model, some)[0, 5], expected, **EXACT)


@ALL
def test_attributions_move_with_the_nodes_and_do_not_see_padding(name):
    of_model = model(name)
    order = [3, 1, 4, 0, 2]  # the new number of each node
    moved = graph([TYPES[order.index(i)] for i in range(5)],
                  [(order[i], order[j]) for i, j in EDGES])  # fmt: skip
    # Bonds are by number in graph(); the same ones, then.
    moved.edge_attr, place = ONE.edge_attr, torch.tensor(order)
    plain, padded, other = batch(ONE), batch(ONE, num_nodes=7), batch(moved)
    if "svd" in plain.encodings:  # singular vectors have signs and, when equal, no order
        other.encodings["svd"] = torch.empty_like(plain.encodings["svd"]).index_copy(
            1, place, plain.encodings["svd"]
        )
    for attribute in (gradient_times_input, leave_one_out):
        usual = attribute(of_model, plain)[0]
        torch.testing.assert_close(attribute(of_model, padded)[0, :5], usual, **EXACT)
        assert (attribute(of_model, padded)[0, 5:] == 0).all()
        torch.testing.assert_close(attribute(of_model, other)[0, place], usual, **EXACT)


def test_behind_a_norm_the_gradient_along_a_vector_is_almost_zero():
    """Why ``from_mean`` is there: [VNode] hears each node through a LayerNorm."""
    of_model = in_use(Graphormer(replace(GRAPHORMER_SMALL, num_layers=1)))
    along, across = (
        gradient_times_input(of_model, batch(ONE), from_mean=m).abs().max() for m in (False, True)
    )
    assert along < 1e-2 * across
