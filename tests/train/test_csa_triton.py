"""CSA's Triton kernels, in Triton's interpreter on the CPU.

TRITON_INTERPRET=1 pytest tests/train/test_csa_triton.py; Triton is installed with PyTorch for CUDA.
"""

import math
import os
from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from experiments.captured import PaddedData, Run, check_triton
from gtcourse.encodings import encode
from gtcourse.graphs.dataset import collate
from gtcourse.recipes import Recipe
from tests.train.test_captured import CPU, small, train, train_epoch

pytest.importorskip("triton")
pytestmark = pytest.mark.skipif(
    os.environ.get("TRITON_INTERPRET") != "1", reason="TRITON_INTERPRET is not 1"
)


def two_layers(name: str) -> Recipe:
    recipe = small(name)
    return recipe.at(batch_size=4)


@pytest.mark.parametrize("clip", [math.inf, 0.1], ids=["no clip", "clip"])
@pytest.mark.parametrize("name", ["csa/zinc", "csa-rings/zinc"])
def test_the_kernels_have_the_gradients_of_the_direct_form(name, clip, molecules):
    from experiments.csa_triton import CGTOnGPU, with_features

    recipe = two_layers(name)
    data = encode(molecules.first(4), *recipe.transforms)
    batch = collate(data.train, num_nodes=1 + max(graph.num_nodes for graph in data.train))
    torch.manual_seed(0)
    config = replace(recipe.build_model().config, form="direct", clip=clip)
    model = CGTOnGPU(config)
    check_triton(model, recipe.task, batch)  # raises if it does not
    model.zero_grad()
    fast = with_features(model, batch)
    recipe.task.loss(model(fast), fast).backward()
    found = [parameter.grad.clone() for parameter in model.parameters()]
    model.zero_grad()
    recipe.task.loss(model(batch), batch).backward()
    for gradient, parameter in zip(found, model.parameters(), strict=True):
        assert_close(gradient, parameter.grad, rtol=1e-4, atol=1e-5)


def test_the_check_of_the_kernels_raises_on_a_wrong_gradient(molecules, monkeypatch):
    from experiments import csa_triton

    recipe = two_layers("csa/zinc")
    data = encode(molecules.first(2), *recipe.transforms)
    batch = collate(data.train)
    model = csa_triton.CGTOnGPU(recipe.build_model().config)
    monkeypatch.setattr(
        csa_triton, "factor_of", lambda terms, sizes: torch.ones_like(terms[..., 0, :])
    )
    with pytest.raises(RuntimeError, match=r"is off by .*expected 1e-3"):
        check_triton(model, recipe.task, batch)


def test_edge_ablation_draws_the_same_mask_from_the_same_generator_state(molecules):
    from experiments.csa_triton import CGTOnGPU

    config = replace(two_layers("csa/zinc").build_model().config, edge_ablation=0.5)
    model = CGTOnGPU(config).train()
    model.generator = torch.Generator()
    mask = torch.ones(2, 30, dtype=torch.bool)
    model.generator.manual_seed(1)
    first = model.ablation(mask)
    model.generator.manual_seed(1)
    assert torch.equal(model.ablation(mask), first)
    assert first.unique().tolist() == [0.0, 2.0]
    assert first.mean() == pytest.approx(1.0, abs=0.1)


def test_a_run_with_an_epoch_of_the_kernels_has_the_curve_of_an_ordinary_run(molecules, tmp_path):
    recipe = two_layers("csa-rings/zinc")
    data = molecules.first(10)
    expected = train(recipe, data, tmp_path / "whole", epochs=3)
    train(recipe, data, tmp_path / "captured", epochs=1)
    run = Run(recipe, tmp_path / "captured", PaddedData(recipe, data, CPU, use_triton=True), seed=0)
    train_epoch(run)
    run.save()
    found = train(recipe, data, tmp_path / "captured", epochs=3)
    for row, other in zip(found, expected, strict=True):
        for column in ("lr", "train_loss", "val_mae"):
            assert row[column] == pytest.approx(other[column], rel=1e-4), (row["epoch"], column)


@pytest.mark.parametrize(
    "changes", [{"dropout": 0.1}, {"chromatic": False}, {"num_heads": 1, "d_model": 48}]
)
def test_a_configuration_that_the_kernels_do_not_compute_raises(changes):
    from experiments.csa_triton import CGTOnGPU

    config = replace(two_layers("csa/zinc").build_model().config, **changes)
    with pytest.raises(ValueError, match="expected chromatic attention with shared maps"):
        CGTOnGPU(config)
