"""Every gradient of every attention beside differences of its values, in float64."""

import importlib
import pkgutil
import re

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from gtcourse import models
from gtcourse.models.frame_layers import READERS
from gtcourse.models.frame_models import FRAMES
from tests.numerics.attentions import ATTENTIONS
from tests.numerics.cases import Case, Graphs, differentiable
from tests.numerics.forms import LAYERS

READ_WEIGHTS = {
    "attention_by_hop",
    "attention_by_kind",
    "attention_entropy",
    "attention_rollout",
    "attention_times_gradient",
}
"""These look at weights that an attention has returned."""


@pytest.mark.parametrize("name", ATTENTIONS)
def test_gradients_of_inputs_and_parameters_are_those_of_differences(name):
    torch.manual_seed(0)
    function, given = differentiable(ATTENTIONS[name].build(Graphs()))
    assert gradcheck(function, given)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_second_derivatives_are_those_of_differences_or_refused(name):
    torch.manual_seed(0)
    case = ATTENTIONS[name].build(Graphs(sizes=(3,)))
    function, given = differentiable(case)
    if case.once is None:
        assert gradgradcheck(function, given, fast_mode=True)
    else:
        with pytest.raises(RuntimeError, match=case.once):
            gradgradcheck(function, given, fast_mode=True)


def test_no_attention_of_the_package_is_left_out():
    found = set()
    for module in pkgutil.iter_modules(models.__path__, f"{models.__name__}."):
        for name, part in vars(importlib.import_module(module.name)).items():
            own = getattr(part, "__module__", None) == module.name and not name.startswith("_")
            if own and re.search(r"attention$|^attend$|^attention|_flex$", name, re.I):
                found.add(name)
    covered = {attention.covers for attention in ATTENTIONS.values()}
    assert found - READ_WEIGHTS <= covered


def test_no_layer_of_chapter_tens_models_is_left_out():
    torch.manual_seed(0)
    modules = [part for one in ATTENTIONS.values() for part in one.build(Graphs()).modules()]
    assert {*READERS} <= {type(part) for part in modules}
    assert {frame.name for frame in FRAMES} - {*LAYERS} == {"SignNet"}  # GatedGCN's layer


class Doubled(torch.autograd.Function):
    """x², with a gradient that is twice what it should be."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, gradient):
        return 4 * ctx.saved_tensors[0] * gradient


def test_a_wrong_gradient_of_a_parameter_is_seen():
    layer = torch.nn.Linear(2, 2).double()
    right = Case(layer, lambda layer, x: layer(x), torch.ones(1, 2).double())
    wrong = Case(layer, lambda layer, x: x @ Doubled.apply(layer.weight), torch.ones(1, 2).double())
    assert gradcheck(*differentiable(right))
    with pytest.raises(RuntimeError, match="Jacobian mismatch"):
        gradcheck(*differentiable(wrong))
