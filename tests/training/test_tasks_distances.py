"""The second objective: distances as classes, held to a loop over pairs."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from gtcourse.encodings import AddShortestPaths, encode
from gtcourse.graphs import DenseLoader, collate
from gtcourse.training.fit import evaluate, fit
from gtcourse.training.tasks import graph_regression, with_distances
from tests.graphs.random_graphs import graph_of, graphs
from tests.loops.losses import distance_loss_loop

HOPS = 3


def path(n):
    return graph_of(n, [(i, i + 1) for i in range(n - 1)] + [(i + 1, i) for i in range(n - 1)])


def batched(data, extra=1):
    data = encode([graph.clone() for graph in data], AddShortestPaths())
    for graph in data:
        graph.y = graph.y.double()
    return collate(data, num_nodes=max(len(g.x) for g in data) + extra)


def outputs(batch, hops=HOPS, seed=0):
    """A prediction and logits, random at padding as well."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(*batch.adjacency.shape, hops + 1, generator=generator).double()
    return torch.randn(batch.num_graphs, generator=generator).double(), 3 * logits


def graph_by_graph(batch, logits):
    """The real part of each graph, as lists."""
    for b, n in enumerate(batch.sizes.tolist()):
        yield batch.encodings["distance"][b, :n, :n].tolist(), logits[b, :n, :n].tolist()


lists = st.lists(graphs(max_nodes=7), min_size=1, max_size=4)


@pytest.mark.parametrize("self_is_one_hop", [False, True])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
@given(data=lists, hops=st.integers(1, 4))
def test_the_loss_is_the_loop_over_pairs(reduction, self_is_one_hop, data, hops):
    batch = batched(data)
    prediction, logits = outputs(batch, hops)
    task = with_distances(graph_regression(), hops, 0.05, reduction, self_is_one_hop)
    pairs = distance_loss_loop(graph_by_graph(batch, logits), hops, reduction, self_is_one_hop)
    mae = sum(abs(p - y) for p, y in zip(prediction.tolist(), batch.y.tolist(), strict=True))
    loss = task.loss((prediction, logits), batch).item()
    assert loss == pytest.approx(mae / len(data) + 0.05 * pairs, rel=1e-12)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_pairs_that_are_all_too_far_add_nothing(reduction):
    batch, task = batched([path(2)]), with_distances(graph_regression(), HOPS, 1.0, reduction)
    batch.encodings["distance"] = torch.full((1, 3, 3), -1)
    prediction, logits = outputs(batch)
    logits.requires_grad_()
    loss = task.loss((prediction, logits), batch)
    loss.backward()
    assert loss.item() == graph_regression().loss(prediction, batch).item()
    assert (logits.grad == 0).all()


class Reader(nn.Module):
    """Atoms to a prediction; a vector for each pair to distance logits, where it is asked."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.nodes = nn.Embedding(28, 1)
        self.pairs = nn.Embedding(2, HOPS + 1)
        self.asked = []

    def forward(self, batch, *, return_distances=False):
        self.asked.append((self.training, return_distances))
        prediction = (self.nodes(batch.x[..., 0])[..., 0] * batch.mask).sum(1)
        if not return_distances:
            return prediction
        return prediction, self.pairs(batch.adjacency.long())


@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_fit_asks_in_training_and_only_there(precision):
    model, task = Reader(), with_distances(graph_regression(), HOPS, 0.05)
    data = encode([path(n) for n in (2, 3, 4)], AddShortestPaths())
    loader = DenseLoader(data, 3)
    (batch,) = loader
    before = model.pairs.weight.detach().clone()
    expected = task.loss(model(batch, return_distances=True), batch).item()
    model.asked.clear()
    history = fit(
        model, task, loader, DenseLoader(data, 2), epochs=2, precision=precision, progress=False
    )
    in_training, in_evaluation = (True, True), (False, False)
    assert model.asked == 2 * [in_training, in_evaluation, in_evaluation]
    assert history.epochs[0]["train_loss"] == pytest.approx(expected, rel=1e-2)
    assert not torch.equal(model.pairs.weight, before)  # learned from the distances alone
    assert evaluate(model, task, loader) == evaluate(model, graph_regression(), loader)
