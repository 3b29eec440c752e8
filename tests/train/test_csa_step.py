"""The kernels of a whole step of csa-rings, in Triton's interpreter on the CPU.

TRITON_INTERPRET=1 pytest tests/train/test_csa_step.py; Triton is installed with PyTorch for CUDA.
"""

import json
import math
import os
from contextlib import suppress
from dataclasses import replace
from functools import partial

import pytest
import torch
from torch.testing import assert_close

from gtcourse.encodings import encode
from gtcourse.graphs.dataset import collate
from gtcourse.graphs.loader import DenseLoader
from gtcourse.models import CGT
from gtcourse.recipes import get_recipe

pytest.importorskip("triton")
pytestmark = pytest.mark.skipif(
    os.environ.get("TRITON_INTERPRET") != "1", reason="TRITON_INTERPRET is not 1"
)

LAYERS = 2
SMALL_EPOCHS = 3


def small(clip: float, ablation: float = 0.0):
    """The recipe with two layers, and batches of four graphs."""
    recipe = get_recipe("csa-rings/zinc")
    config = recipe.build_model().config
    config = replace(config, num_layers=LAYERS, clip=clip, form="direct", edge_ablation=ablation)
    return recipe.at(build_model=partial(CGT, config), epochs=SMALL_EPOCHS, batch_size=4)


def model_with(recipe):
    """A model whose weights are not special, such as a batch norm's at the start."""
    torch.manual_seed(0)
    model = recipe.build_model()
    for parameter in model.parameters():
        parameter.data += 0.05 * torch.randn_like(parameter)
    return model


@pytest.mark.parametrize("clip", [0.5, 5.0, math.inf])
@pytest.mark.parametrize("ablation", [0.0, 0.5])
def test_a_step_has_the_gradient_and_the_statistics_of_the_direct_form(clip, ablation, molecules):
    from experiments import csa_complete, csa_step

    recipe = small(clip, ablation)
    data = encode(molecules.first(4), *recipe.transforms)
    model = model_with(recipe)
    graphs = csa_step.graphs_of(csa_complete.graphs_for(model, data), torch.device("cpu"))
    N = graphs.types.shape[1]
    fast = csa_step.Model(
        graphs,
        LAYERS,
        clip=clip,
        ablation=ablation,
        batch_size=4,
        decay=1.0,
        grad_clip=0.01,
        steps=1,
        precision="ieee",
    )
    packed = csa_complete.packed_weights(model.state_dict(), LAYERS)
    fast.values.copy_(packed["values"])
    fast.running.copy_(packed["running"])
    fast.running_walks.copy_(packed["running_walks"])
    fast.order.copy_(torch.tensor([2, 0, 1, -1]))
    fast.all_rates.copy_(torch.tensor([[0.1, 1 - 0.9, math.sqrt(1 - 0.999)]]))
    fast.first_seed.fill_(7)
    fast.step()

    batch = csa_complete.in_float64(collate([data.train[i] for i in (2, 0, 1)], num_nodes=N))
    model = model.double().train()
    if ablation > 0:
        factors = csa_complete.draw_ablation(7, LAYERS, 4 * N, N, ablation)
        assert set(factors.unique().tolist()) == {0.0, 2.0}
        assert abs(float(factors.mean()) - 1) < 0.1
        csa_complete.set_ablation(model, factors[:, : 3 * N])
    prediction = model(batch)
    loss = recipe.task.loss(prediction, batch)
    loss.backward()
    assert_close(fast.training.predictions[:3].double(), prediction, rtol=1e-5, atol=1e-5)
    assert float(fast.loss) / 3 == pytest.approx(loss.item(), rel=1e-5)
    gradients = {name: parameter.grad for name, parameter in model.named_parameters()}
    found = csa_step.unpacked(fast.grads[: fast.length], LAYERS)
    norm = torch.cat([gradient.flatten() for gradient in gradients.values()]).norm()
    for name, gradient in gradients.items():
        assert float((found[name] - gradient).norm()) < 1e-5 * float(norm), name
    for number, name in enumerate(csa_step.norm_names(LAYERS)):
        module = model.get_submodule(name)
        assert_close(fast.running[number, 0].double(), module.running_mean, rtol=1e-5, atol=1e-5)
        assert_close(fast.running[number, 1].double(), module.running_var, rtol=1e-5, atol=1e-5)
    module = model.node_encoding.walks.norm
    steps = csa_step.WALK_STEPS
    assert_close(fast.running_walks[0, :steps].double(), module.running_mean)
    assert_close(fast.running_walks[1, :steps].double(), module.running_var)
    # Where a bias comes before a batch norm, its gradient is rounding error, which Adam enlarges.
    assert norm > 0.01
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1, weight_decay=1.0)
    optimizer.step()
    moments = csa_step.unpacked(fast.first, LAYERS)
    updated = csa_step.unpacked(fast.values, LAYERS)
    for name, parameter in model.named_parameters():
        if float(gradients[name].norm()) > 1e-6 * float(norm):
            moment = optimizer.state[parameter]["exp_avg"]
            assert_close(moments[name].double(), moment, rtol=1e-3, atol=1e-8)
            assert_close(updated[name].double(), parameter.data, rtol=1e-3, atol=5e-3)


def test_the_order_of_the_graphs_is_that_of_the_loader(molecules):
    from experiments import csa_step

    loader = DenseLoader(molecules.first(50).train, 16, shuffle=True, seed=3)
    for epoch in (0, 7):
        expected = loader.graphs_of_batches(epoch)
        found = csa_step.batches_of(3, epoch, loader.num_graphs, 16)
        assert [each.tolist() for each in found] == [each.tolist() for each in expected]


def test_the_learning_rate_is_that_of_the_recipe():
    from experiments import csa_step

    recipe = get_recipe("csa-rings/zinc")
    optimizer = recipe.optimizer([torch.nn.Parameter(torch.zeros(1))])
    schedule = recipe.schedule(optimizer, 200)
    for step in range(200):
        rate = csa_step.rate_at(step, 200, 1e-3, recipe.schedule.keywords["warmup"])
        assert rate == pytest.approx(optimizer.param_groups[0]["lr"], rel=1e-9)
        optimizer.step()
        schedule.step()


def test_a_run_that_goes_on_in_the_kernels_has_the_curve_of_an_ordinary_run(
    molecules, tmp_path, monkeypatch
):
    from experiments import csa_complete, csa_step
    from gtcourse.runs import run

    recipe = small(clip=1.0)
    data = molecules.first(12)
    monkeypatch.setattr(csa_complete, "with_bound", lambda clip: recipe)

    def train(name: str, epochs: int) -> list[dict[str, float]]:
        def stop(model, row):
            if row["epoch"] == epochs - 1:
                raise KeyboardInterrupt

        with suppress(KeyboardInterrupt):
            run.train(
                recipe, data, command="test", out=tmp_path / name, resume=None, on_epoch_end=stop
            )
        return csa_complete.read_tensors(tmp_path / name / "last.ckpt")["history"]["epochs"]

    expected = train("whole", SMALL_EPOCHS)
    train("captured", 1)
    encoded = encode(data, *recipe.transforms)
    _, state = csa_complete.state_of_folder(tmp_path / "captured")
    content = csa_complete.graphs_for(recipe.build_model(), encoded)
    graphs = csa_step.graphs_of(content, torch.device("cpu"))
    going_on = csa_step.Run(graphs, state, "ieee")
    csa_step.check(going_on, csa_complete.expected(recipe, state, encoded))  # raises if it is off
    going_on.train_epoch()
    csa_complete.write_back(going_on.state(), tmp_path / "captured")
    found = train("captured", SMALL_EPOCHS)
    assert len(found) == len(expected) == SMALL_EPOCHS
    for row, other in zip(found, expected, strict=True):
        for column in ("lr", "train_loss", "val_mae"):
            assert row[column] == pytest.approx(other[column], rel=1e-3), (row["epoch"], column)
    note = json.loads((tmp_path / "captured" / "run.json").read_text())
    assert note["captured"][0]["first epoch"] == 1
    assert note["captured"][0]["end"] == 2


def test_a_wrong_gradient_or_validation_error_raises(molecules):
    from experiments import csa_complete, csa_step

    recipe = small(clip=1.0)
    data = encode(molecules.first(12), *recipe.transforms)
    model = model_with(recipe)
    state = {
        "settings": csa_complete.settings_of(recipe, 0),
        "steps": 0,
        "history": [],
        "best": None,
        "parts": [],
        **csa_complete.packed_weights(model.state_dict(), LAYERS),
    }
    state |= {name: torch.zeros_like(state["values"]) for name in ("first", "second")}
    content = csa_complete.graphs_for(model, data)
    run = csa_step.Run(csa_step.graphs_of(content, torch.device("cpu")), state, "ieee")
    expected = csa_complete.expected(recipe, state, data)
    csa_step.check(run, expected)
    for wrong in (
        {"gradient": expected["gradient"] * 1.01},
        {"val_mae": expected["val_mae"] + 0.01},
        {"loss": expected["loss"] + 0.01},
    ):
        with pytest.raises(RuntimeError, match=r"do not compute what the package computes"):
            csa_step.check(run, expected | wrong)
