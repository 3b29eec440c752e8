"""A training step costs what it is known to cost: counted, not timed, so that no load disturbs it.

A copy more in each layer, a tensor of pairs that was not there, a loop over graphs: each is a count
that rises. Where a rise is meant, ``python -m tests.training.step_costs write`` keeps it.
"""

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch
from torch import nn
from torch_geometric.nn.dense import Linear as GraphLinear

from gtcourse.training.costs import StepCosts
from tests.training import step_costs
from tests.training.step_costs import Subject, compared, known, subjects, torch_release

SUBJECTS = subjects()
KNOWN = known()
ROOT = Path(__file__).parents[2]
one_torch = pytest.mark.skipif(
    torch_release() != KNOWN["torch"],
    reason=f"the counts are of torch {KNOWN['torch']}, and this is {torch_release()}",
)


@cache
def counted(name: str) -> StepCosts:
    return SUBJECTS[name].costs()


@one_torch
@pytest.mark.parametrize("name", SUBJECTS)
def test_a_step_costs_what_it_is_known_to_cost(name):
    changes = "; ".join(compared(KNOWN["costs"][name], counted(name)))
    assert not changes, (
        f"a training step of {name}: {changes}. Where that is meant: python -m "
        "tests.training.step_costs write"
    )


def test_each_model_is_known_and_no_other():
    assert KNOWN["costs"].keys() == SUBJECTS.keys()


def test_the_counts_are_of_the_torch_in_constraints():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    (version,) = (line.removeprefix("torch==") for line in lines if line.startswith("torch=="))
    assert ".".join(version.split(".")[:2]) == KNOWN["torch"]


# Products of matrices, by hand. Each is done once forward, and backward once for the gradient of
# either factor that has one; of a [n, a] matrix and an [a, b] matrix it takes 2 n a b.


def test_the_transformers_products_are_those_of_its_matrices_alone():
    """Four of d × d and two of d × d' for each row and layer; the head's for each graph.

    The kernel that attends on a CPU is not among PyTorch's counts; without numbers its two products
    for each pair are.
    """
    name, L, d, inner = "transformer-100k", 4, 56, 112
    for subject, pairs in ((name, 0), (f"{name} without numbers", 2 * d)):
        B, N = SUBJECTS[subject].batch().mask.shape
        layers = L * (B * N * (4 * d * d + 2 * d * inner) + B * N * N * pairs)
        assert counted(subject).flops == 3 * 2 * (layers + B * (d * d + d))


def between_pairs(name: str, model: nn.Module, B: int, N: int) -> int:
    """The products that are no linear map of an ``nn.Linear``."""
    config = getattr(model, "config", None)
    family = re.match("[a-z]*", name)[0]
    if family == "signnet":
        # Neighbours' sums, for 2 k columns: of one channel, then of phi's width and back.
        signnet = next(m.config for m in model.modules() if type(m).__name__ == "SignNet")
        channels = 1 + 2 * (signnet.phi_layers - 1) * signnet.phi_hidden
        return 2 * B * N * N * 2 * signnet.k * channels
    if family in ("gin", "gat", "gatedgcn"):
        return 0
    L, d = config.num_layers, config.d_model
    if family == "egt":  # q k and the weighted sum of v
        return 3 * 2 * L * B * N * N * 2 * d
    if family == "csa":  # q k; each channel's weighted sum is no product of matrices. E and E^value
        return 3 * 2 * (L * B * N * N * d + B * N * N * d * 2 * d)
    N = N + 1  # [VNode]
    both = 3 * 2 * L * B * N * N * 2 * d
    if family == "grpe":  # either context, and the values' relations, with T vectors
        return both + 3 * 2 * L * B * N * d * 3 * model.relations.num_relations
    # Eq. 7's table: x · w for each category and place, H by H.
    H = config.num_heads
    return both + 3 * 2 * config.num_edge_types * config.max_path_length * H * H


@pytest.mark.parametrize("name", [name for name in SUBJECTS if not name.startswith("transformer")])
def test_all_products_are_those_of_linear_maps_and_of_pairs(name):
    subject = SUBJECTS[name]
    model, batch = subject.build_model(), subject.batch()
    model = model.to(batch.mask.device).train()
    linear = []

    def count(module: nn.Module, inputs: tuple, output: torch.Tensor) -> None:
        (x,) = inputs
        forward = 2 * x.numel() * output.shape[-1]
        linear.append(forward * (2 + x.requires_grad))

    for module in model.modules():
        if isinstance(module, nn.Linear | GraphLinear):
            module.register_forward_hook(count)
    model(batch, **subject.task.asks)
    assert counted(name).flops == sum(linear) + between_pairs(name, model, *batch.mask.shape)


# The guard is seen to bite.


def in_each_layer(subject: Subject, change) -> nn.Module:
    model = subject.build_model()
    for layer in model.layers:
        layer.register_forward_hook(lambda layer, inputs, output: change(output))
    return model


class OneGraphAtATime(nn.Module):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, batch):
        return torch.cat([self.model(batch.select(i[None])) for i in torch.arange(len(batch.mask))])


def materialised(h: torch.Tensor) -> torch.Tensor:
    return h + 0 * (h[:, :, None] * h[:, None]).sum(dim=2)


def refused(name: str, model: nn.Module) -> dict[str, str]:
    sentences = compared(KNOWN["costs"][name], SUBJECTS[name].costs(model))
    return {sentence.partition(" ")[0]: sentence for sentence in sentences}


@one_torch
@pytest.mark.parametrize("name", ["graphormer-100k", "graphormer-slim/zinc", "gin-100k"])
def test_a_copy_more_in_each_layer_is_refused(name):
    found = refused(name, in_each_layer(SUBJECTS[name], torch.clone))
    before, layers = KNOWN["costs"][name], len(SUBJECTS[name].build_model().layers)
    assert found["allocations"].startswith(
        f"allocations rose from {before['allocations']:,} to {before['allocations'] + layers:,} (+"
    )
    assert "operations rose" in found["operations"]


@one_torch
def test_a_tensor_of_pairs_that_is_written_out_is_refused():
    name = "graphormer-100k"
    found = refused(name, in_each_layer(SUBJECTS[name], materialised))
    assert {"operations", "allocations", "activations"} <= found.keys()
    rise = SUBJECTS[name].costs(in_each_layer(SUBJECTS[name], materialised))
    B, N, d = 6, 25, 64  # with [VNode]
    assert rise.activations - KNOWN["costs"][name]["activations"] >= 4 * B * N * N * d


@one_torch
@pytest.mark.parametrize("name", ["transformer-100k", "csa-100k", "gin-100k"])
def test_a_loop_over_graphs_is_refused(name):
    found = refused(name, OneGraphAtATime(SUBJECTS[name].build_model()))
    assert "operations rose" in found["operations"]


@one_torch
def test_a_map_that_is_computed_twice_is_refused():
    name = "transformer-100k"
    subject = SUBJECTS[name]
    model = subject.build_model()
    query = model.encoder.layers[0].attention.query
    query.register_forward_hook(lambda layer, x, y: y + 0 * layer.forward(*x))
    assert "flops rose" in refused(name, model)["flops"]


@one_torch
def test_a_model_that_is_wider_is_refused():
    name = "transformer-100k"
    config = replace(SUBJECTS[name].build_model().config, d_hidden=113)
    model = type(SUBJECTS[name].build_model())(config)
    assert {"flops", "parameters", "gradients", "optimizer"} <= refused(name, model).keys()


COSTS = StepCosts(1000, 100, 100, 100, 100, 100, 1000, 1000)


def test_what_costs_as_much_is_no_change():
    assert compared(vars(COSTS), COSTS) == []


@pytest.mark.parametrize("field", ["flops", "operations", "allocations", "parameters"])
def test_one_more_is_a_rise_and_one_in_fifty_less_is_not_yet_a_fall(field):
    before = 1000
    known = vars(COSTS) | {field: before}
    (sentence,) = compared(known, replace(COSTS, **{field: before + 1}))
    assert sentence == f"{field} rose from 1,000 to 1,001 (+0.10%)"
    assert compared(known, replace(COSTS, **{field: before - 20})) == []
    (sentence,) = compared(known, replace(COSTS, **{field: before - 21}))
    assert sentence == f"{field} fell from 1,000 to 979 (-2.10%)"


@pytest.mark.parametrize("field", ["kept", "activations"])
def test_memory_may_rise_by_one_in_two_hundred(field):
    assert compared(vars(COSTS), replace(COSTS, **{field: 1005})) == []
    (sentence,) = compared(vars(COSTS), replace(COSTS, **{field: 1006}))
    assert sentence == f"{field} rose from 1,000 to 1,006 (+0.60%)"


@one_torch
def test_what_is_written_is_what_is_counted(tmp_path):
    step_costs.write(tmp_path / "costs.json", ["gin-100k"])
    written = json.loads((tmp_path / "costs.json").read_text())
    expected = {"gin-100k": vars(counted("gin-100k"))}
    assert written == {"torch": torch_release(), "costs": expected}
