"""What every model promises of every graph: one test a promise, all models, one registry."""

import copy
from collections import defaultdict

import pytest
import torch
from hypothesis import strategies as st
from torch import Tensor

from gtcourse import models
from gtcourse.graphs import GraphBatch, collate
from gtcourse.graphs.batch import ENCODINGS, PADDED_WITH_UNREACHABLE, UNREACHABLE
from tests.models.small import encoded as with_encodings
from tests.properties.graphs import Example, renumbered
from tests.properties.models import (
    MODELS,
    Variant,
    assert_same,
    in_use,
    is_nightly,
    try_on_graphs,
)

WITH_BATCH_NORMS = ("CGT", "SignNet", "GCN", "GIN", "GAT", "GatedGCN", "GT")
EVERY_MODEL = pytest.mark.parametrize("name", MODELS)
OTHER_LOOPS = defaultdict(
    tuple,
    GRPE=("fused, as the authors' code", "fused, two columns"),
    CGT=("fused, maps of each layer", "fused, no edge values"),
)
"""Fused variants with fewer terms or other heads than another one. For numbers in float32 numba
would compile their loops once more, which takes seconds for each."""
UP_TO_BASIS = ("laplacian_eigenvectors", "svd")
"""Encodings that are one of several right ones: renumbering moves the one that was stored."""


def encoded(example: Example, variant: Variant, dtype: torch.dtype = torch.float64) -> list:
    return with_encodings(*example.graphs, dtype=dtype, encodings=variant.transforms)


def test_every_model_of_the_package_is_tested():
    configured = {name.removesuffix("Config") for name in dir(models) if name.endswith("Config")}
    assert configured - {"Transformer"} <= {*MODELS}  # of sequences: test_sequences.py


@pytest.mark.holds("CS224W, S8")
@EVERY_MODEL
def test_permuting_the_nodes_permutes_the_outputs(name):
    try_on_graphs(renumbering, name, most=1)


@torch.no_grad()
def renumbering(name: str, chosen: str, example: Example) -> None:
    variant = MODELS[name].variants[chosen]
    (graph,) = encoded(example, variant)
    model = in_use(name, chosen)
    order = torch.randperm(graph.num_nodes, generator=example.generator)
    other = renumbered(example.graphs[0], order)
    (other,) = with_encodings(other, encodings=variant.transforms)
    for one in UP_TO_BASIS:
        if one in graph:
            other[one] = graph[one][order]
    before, after = (MODELS[name].outputs(model, collate([one]), variant) for one in (graph, other))
    for what, (expected, axes) in before.items():
        for axis in range(1, 1 + axes):
            expected = expected.index_select(axis, order)
        assert_same(after[what][0], expected, what)


def with_garbage(batch: GraphBatch, generator: torch.Generator) -> GraphBatch:
    """What stands at padding, and at pairs without an edge, is never read.

    A tree of paths and its distances are one thing, and are left: a model may raise where
    they do not belong together.
    """
    fill(batch.x, ~batch.mask, generator)
    if batch.edge_attr is not None:
        fill(batch.edge_attr, ~batch.adjacency, generator)
    for name, values in batch.encodings.items():
        left = name == "path_tree" or (name == "distance" and "path_tree" in batch.encodings)
        if ENCODINGS[name] and not left:
            fill(values, ~(batch.mask if ENCODINGS[name] == 1 else batch.pair_mask), generator)
    return batch


def make_padding_of_the_last(batch: GraphBatch) -> None:
    """A row of a batch that has not a single node."""
    batch.mask[-1] = False
    batch.adjacency[-1] = False
    for name, values in batch.encodings.items():
        values[-1] = UNREACHABLE if name in PADDED_WITH_UNREACHABLE else 0


def fill(values: Tensor, where: Tensor, generator: torch.Generator) -> None:
    count = (int(where.sum()), *values.shape[where.dim() :])
    if values.is_floating_point():
        values[where] = (100 * torch.randn(count, generator=generator)).to(values.dtype)
    else:
        values[where] = torch.randint(0, 3, count, generator=generator).to(values.dtype)


@EVERY_MODEL
def test_padding_and_other_graphs_do_not_change_the_outputs(name):
    others = {"extra": st.integers(0, 3), "nothing": st.booleans()}
    try_on_graphs(padding_and_company, name, others, most=4)


@torch.no_grad()
def padding_and_company(
    name: str, chosen: str, example: Example, extra: int, nothing: bool
) -> None:
    variant = MODELS[name].variants[chosen]
    graphs = encoded(example, variant)
    model = in_use(name, chosen)
    outputs = MODELS[name].outputs
    order = torch.randperm(len(graphs), generator=example.generator).tolist()
    together = [graphs[i] for i in [*order, *[0] * nothing]]
    batch = collate(together, num_nodes=example.longest + extra)
    if nothing:
        make_padding_of_the_last(batch)
    together = outputs(model, with_garbage(batch, example.generator), variant)
    assert all(bool(output.isfinite().all()) for output, _ in together.values())
    for place, i in enumerate(order):
        nodes = slice(graphs[i].num_nodes)
        for what, (expected, axes) in outputs(model, collate([graphs[i]]), variant).items():
            got = together[what][0][(place, *[nodes] * axes)]
            assert_same(got, expected[0], what)


@pytest.mark.parametrize("name", WITH_BATCH_NORMS)
def test_in_training_padding_does_not_change_predictions_gradients_or_statistics(name):
    dropout = [variant for variant in MODELS[name].variants if "dropout" in variant]
    try_on_graphs(training, name, {"extra": st.integers(1, 3)}, without=dropout)


def training(name: str, chosen: str, example: Example, extra: int) -> None:
    variant = MODELS[name].variants[chosen]
    found = []
    for more in (0, extra):
        batch = collate(encoded(example, variant), num_nodes=example.longest + more)
        batch = with_garbage(batch, example.generator)
        model = copy.deepcopy(in_use(name, chosen)).train()
        real = [..., batch.mask, batch.pair_mask][variant.level]
        prediction = model(batch)[real]
        prediction.sum().backward()
        gradients = {name: p.grad for name, p in model.named_parameters()}
        found.append({"prediction": prediction, **dict(model.named_buffers()), **gradients})
    # A node's variance may be tiny in a small batch; what is divided by it then is rounding.
    torch.testing.assert_close(found[1], found[0], rtol=1e-6, atol=1e-6)


@EVERY_MODEL
def test_outputs_and_gradients_are_finite(name):
    """In float32, and in bf16 as ``fit`` has it; at the start, and with weights grown large."""
    others = {"training": st.booleans(), "size": st.sampled_from((1.0, 4.0))}
    try_on_graphs(finite, name, others, without=() if is_nightly() else OTHER_LOOPS[name])


def finite(name: str, chosen: str, example: Example, training: bool, size: float) -> None:
    variant = MODELS[name].variants[chosen]
    torch.manual_seed(0)
    model = variant.build().train(training)
    for parameter in model.parameters():
        parameter.data *= size
    batch = collate(encoded(example, variant, torch.float32))
    inputs = [t for t in (batch.x, batch.edge_attr, *batch.encodings.values()) if t is not None]
    # Float16, in which features may be given, ends at 65,504: a derivative by one may be beyond.
    numbers = [t for t in inputs if t.is_floating_point() and t.dtype != torch.float16]
    inputs = [t.requires_grad_() for t in numbers]
    named = dict(model.named_parameters()) | {f"input {n}": t for n, t in enumerate(inputs)}
    # The fused forms refuse bf16 (tests/models/test_csa_fused.py and test_egt_fused.py).
    for half in (False,) if "fused" in chosen else (False, True):
        torch.manual_seed(example.seed)
        with torch.autocast("cpu", torch.bfloat16, enabled=half):
            results = MODELS[name].outputs(model, batch, variant)
        for what, (value, _) in results.items():
            assert bool(value.isfinite().all()), what
        # Linear: what a loss makes of large numbers is not the model's fault.
        loss = sum(
            (output.float() * torch.randn(output.shape)).sum() for output, _ in results.values()
        )
        gradients = torch.autograd.grad(loss, named.values(), allow_unused=True)
        for what, gradient in zip(named, gradients, strict=True):
            assert gradient is None or bool(gradient.isfinite().all()), what
        for what, value in model.named_buffers():
            assert bool(value.isfinite().all()), what
