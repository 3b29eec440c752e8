"""One function, several forms: the fast ones beside one another, on graphs of up to 40 nodes.

Predictions and gradients are compared in float64. Beside the loops they are in ``test_loops.py``.
"""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from torch import Tensor, nn

from gtcourse.encodings import AddDegrees, AddPathEdges, AddPathTree, AddShortestPaths
from gtcourse.graphs import GraphBatch, collate
from gtcourse.models import Graphormer
from speed.flex import graphormer_flex
from tests.models.small import encoded
from tests.properties.graphs import examples
from tests.properties.models import MODELS, assert_same, enough, in_use

Outputs = dict[str, Tensor]
"""Each form's output by the form's name."""


def paths_and_trees(model: Graphormer, batch: GraphBatch) -> Outputs:
    outputs = {}
    for form, other in (("paths", "path_tree"), ("trees", "path_edges")):
        read = {name: values for name, values in batch.encodings.items() if name != other}
        outputs[form] = model(replace(batch, encodings=read))
    return outputs


def fused_and_explicit(model: nn.Module, batch: GraphBatch) -> Outputs:
    return {"fused": model(batch), "explicit": model(batch, return_attention=True)[0]}


def biases_and_flex(model: Graphormer, batch: GraphBatch) -> Outputs:
    """Between the projections of the first layer."""
    spatial, paths = model.bias.encodings
    h = model.embed(batch)
    attention = model.layers[0].attention
    tokens = torch.cat([model.virtual_node.expand(len(h), 1, -1), h], dim=1)
    parts = (attention.query, attention.key, attention.value)
    z = graphormer_flex(
        *(attention.split_heads(part(tokens)) for part in parts),
        batch.encodings["distance"],
        spatial.scalars.weight,
        batch.mask,
        virtual=model.bias.virtual,
        edges=paths(batch),
    )
    written = attention(tokens, model.bias(batch), mask=F.pad(batch.mask, (1, 0), value=True))
    return {"written out": written, "looked up": attention.output(attention.join_heads(z))}


FORMS = [
    ("Graphormer", "edges of paths", paths_and_trees),
    ("Graphormer", "edges of paths", fused_and_explicit),
    ("Graphormer", "edges of paths", biases_and_flex),
    ("BagTransformer", "walks", fused_and_explicit),
    ("NeighbourTransformer", "walks", fused_and_explicit),
]
EVERY_PATH = (AddDegrees(), AddShortestPaths(), AddPathEdges(5), AddPathTree())


# PyTorch warns, once a process, that nothing is fused without compilation: here that is meant.
@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile:UserWarning")
@pytest.mark.parametrize(("name", "variant", "forms"), FORMS)
def test_all_forms_of_a_model_have_equal_outputs_and_gradients(name, variant, forms):
    model = in_use(name, variant)
    chosen = MODELS[name].variants[variant]
    transforms = EVERY_PATH if name == "Graphormer" else chosen.transforms
    learns = forms is not biases_and_flex  # whose gradients are for GPUs alone

    @enough(0.25)
    @given(example=examples(edges=chosen.edges))
    def they_are(example) -> None:
        batch = collate(encoded(*example.graphs, encodings=transforms))
        with torch.set_grad_enabled(learns):
            (first, expected), *others = forms(model, batch).items()
        weights = torch.randn(expected.shape, generator=example.generator, dtype=torch.float64)
        for form, got in others:
            assert_same(got, expected, f"{form} beside {first}")
            if learns:
                pairs = (gradients(output, weights, model) for output in (got, expected))
                for (place, one), (_, other) in zip(*pairs, strict=True):
                    assert_same(one, other, f"gradient of {place}, {form} beside {first}")

    they_are()


def gradients(output: Tensor, weights: Tensor, model: nn.Module) -> list[tuple[str, Tensor]]:
    options = {"allow_unused": True, "materialize_grads": True, "retain_graph": True}
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad((output * weights).sum(), parameters, **options)
    return [*zip(names, found, strict=True)]
