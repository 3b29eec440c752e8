"""One function, several forms: the fast ones beside one another, on graphs of up to 40 nodes.

Predictions and gradients are compared in float64. Beside the loops they are in ``test_loops.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from torch import Tensor, nn

from benchmarks.flex_forms import graphormer_flex
from gtcourse.encodings import AddDegrees, AddPathEdges, AddPathTree, AddShortestPaths, encode
from gtcourse.graphs import GraphBatch, collate
from gtcourse.models import (
    CGT,
    BagTransformer,
    Graphormer,
    NeighbourTransformer,
)
from tests.models import csas, graphormers
from tests.models.graphormers import default_dtype
from tests.properties.graphs import BONDS, Example, Features, examples
from tests.properties.models import MODELS, assert_same
from tests.properties.variants import enough

Outputs = dict[str, Tensor]
"""Each form's output by the form's name."""


@dataclass(frozen=True)
class Forms:
    """Several ways to compute one function.

    Attributes:
        model: of the registry; build: makes it; say: each form's result for a batch.
        transforms, edges: what it reads; learns: whether gradients are compared as well.
    """

    model: str
    build: Callable[[], nn.Module]
    say: Callable[[nn.Module, GraphBatch], Outputs]
    transforms: tuple = ()
    edges: Features = BONDS
    learns: bool = True


def paths_and_trees(model: Graphormer, batch: GraphBatch) -> Outputs:
    outputs = {}
    for form, other in (("paths", "path_tree"), ("trees", "path_edges")):
        kept = {name: values for name, values in batch.encodings.items() if name != other}
        outputs[form] = model(replace(batch, encodings=kept))
    return outputs


def fused_and_explicit(model: nn.Module, batch: GraphBatch) -> Outputs:
    return {"fused": model(batch), "explicit": model(batch, return_attention=True)[0]}


def three_forms(model: CGT, batch: GraphBatch) -> Outputs:
    outputs = {}
    for form in ("factorised", "direct", "chunked"):
        model.config = replace(model.config, form=form)
        for layer in model.layers:
            layer.attention.form = form
        outputs[form] = model(batch)
    return outputs


def masked_or_bag(model: NeighbourTransformer, batch: GraphBatch) -> Outputs:
    return {"bag": BagTransformer.forward(model, batch), "no head masked": model(batch)}


def flex_graphormer(model: Graphormer, batch: GraphBatch) -> Outputs:
    """Between the projections of the first layer; gradients are for GPUs alone."""
    spatial, paths = model.bias.encodings
    tokens, attention = first_tokens(model, batch), model.layers[0].attention
    mask = F.pad(batch.mask, (1, 0), value=True)
    parts = (attention.query, attention.key, attention.value)
    z = graphormer_flex(
        *(attention.split_heads(part(tokens)) for part in parts),
        batch.encodings["distance"],
        spatial.scalars.weight,
        batch.mask,
        virtual=model.bias.virtual,
        edges=paths(batch),
    )
    written = attention(tokens, model.bias(batch), mask=mask)
    return {
        "biases written out": written,
        "biases looked up": attention.output(attention.join_heads(z)),
    }


def first_tokens(model: nn.Module, batch: GraphBatch) -> Tensor:
    h = model.embed(batch)
    return torch.cat([model.virtual_node.expand(len(h), 1, -1), h], dim=1)


def variant_of(model: str, name: str) -> dict:
    variant = MODELS[model].variants[name]
    return {
        "model": model,
        "build": variant.build,
        "transforms": variant.transforms,
        "edges": variant.edges,
    }


PATHS = AddDegrees(), AddShortestPaths(), AddPathEdges(5)
EVERY_PATH = (*PATHS, AddPathTree())
FORMS = {
    "Graphormer: trees of paths, and paths": Forms(
        "Graphormer", partial(Graphormer, graphormers.SMALL), paths_and_trees, EVERY_PATH
    ),
    "Graphormer: fused attention, and written out": Forms(
        **variant_of("Graphormer", "edges of paths"), say=fused_and_explicit
    ),
    "Graphormer: FlexAttention, and a bias": Forms(
        "Graphormer", partial(Graphormer, graphormers.SMALL), flex_graphormer, PATHS, learns=False
    ),
    **{
        f"CGT: three forms ({name})": Forms(
            "CGT",
            partial(CGT, config),
            three_forms,
            MODELS["CGT"].variants["walks"].transforms,
        )
        for name, config in {
            "categories of rings": csas.RINGS,
            "added rings": csas.DEEP,
            "monochrome": csas.MONO,
            "maps of each layer": csas.CONFIGS["maps of each layer"],
            "additive score": csas.CONFIGS["additive score"],
        }.items()
    },
    "BagTransformer: fused attention, and written out": Forms(
        **variant_of("BagTransformer", "walks"), say=fused_and_explicit
    ),
    "NeighbourTransformer: no head masked, and a bag": Forms(
        **variant_of("NeighbourTransformer", "0 masked"), say=masked_or_bag
    ),
    "NeighbourTransformer: fused attention, and written out": Forms(
        **variant_of("NeighbourTransformer", "walks"), say=fused_and_explicit
    ),
}


@cache
def built(name: str) -> nn.Module:
    torch.manual_seed(0)
    return csas.in_use(FORMS[name].build())


def compared(name: str, example: Example) -> None:
    forms, model = FORMS[name], built(name)
    with default_dtype(torch.float64):
        batch = collate(encode(example.graphs, *forms.transforms))
    with torch.set_grad_enabled(forms.learns):
        (first, expected), *others = forms.say(model, batch).items()
    weights = torch.randn(expected.shape, generator=example.generator, dtype=torch.float64)
    parameters = [*model.parameters()]
    learnt = forms.learns and gradients(expected, weights, parameters)
    for form, got in others:
        assert_same(got, expected, f"{form} beside {first}")
        if forms.learns:
            pairs = zip(gradients(got, weights, parameters), learnt, strict=True)
            for place, (one, other) in enumerate(pairs):
                assert_same(one, other, f"gradient {place} of {form} beside {first}")


def gradients(outputs: Tensor, weights: Tensor, parameters: list[Tensor]) -> tuple[Tensor, ...]:
    options = {"allow_unused": True, "materialize_grads": True, "retain_graph": True}
    return torch.autograd.grad((outputs * weights).sum(), parameters, **options)


# PyTorch warns, once a process, that nothing is fused without compilation: here that is meant.
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
@pytest.mark.parametrize("name", FORMS)
def test_forms_of_one_function_are_equal_and_so_are_their_gradients(name):
    forms = FORMS[name]

    @enough(0.25)
    @given(example=examples(edges=forms.edges))
    def they_are(example: Example) -> None:
        compared(name, example)

    they_are()
