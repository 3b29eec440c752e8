"""Chapter 10's table has the readout and the normalisation of each model of the leaderboard."""

import ast
import re

import pytest
import torch
from torch import nn

from experiments.leaderboard import ENTRIES
from gtcourse.graphs import collate
from gtcourse.models import EGT, GRPE, BagTransformer, Graphormer
from gtcourse.models.batch_norm import NodeBatchNorm
from tests.graphs.small import graph_of
from tools.paths import ROOT

CHAPTER = (ROOT / "book/chapters/10_one_framework.md").read_text(encoding="utf-8")
DESCRIBED = ast.literal_eval(re.search(r"^DESCRIBED = (\{.*?^\})", CHAPTER, re.M | re.S)[1])
EACH_MODEL = pytest.mark.parametrize("name", DESCRIBED)


def built(name: str) -> nn.Module:
    return ENTRIES[f"{name}-100k"].build_model()


def readout_of(model: nn.Module) -> str:
    """The readout, in the words of the chapter's table."""
    if isinstance(model, Graphormer):
        return "[VNode]"
    if isinstance(model, GRPE):
        return "[VNode]" if model.config.virtual_node else "sum"
    if isinstance(model, EGT):
        return "[VNode]" if model.config.virtual_nodes else "mean"
    if isinstance(model, BagTransformer):
        return "mean" if predicts_the_same_for_all_sizes(model) else "sum"
    return model.config.readout


def predicts_the_same_for_all_sizes(model: BagTransformer) -> bool:
    """Whether equal nodes, whose vectors are equal after every layer, are averaged."""
    graphs = [graph_of(nodes, []) for nodes in (2, 5)]
    for graph in graphs:
        graph.x = torch.ones_like(graph.x)
    model.eval()
    with torch.no_grad():
        two, five = model(collate(graphs))
    return torch.allclose(two, five, atol=1e-6)


def test_the_table_has_every_model_of_the_leaderboard():
    assert {f"{name}-100k" for name in DESCRIBED} == set(ENTRIES)


@EACH_MODEL
def test_the_table_has_each_models_normalisation(name):
    _, normalisation, _ = DESCRIBED[name]
    kinds = {"batch": (NodeBatchNorm, nn.BatchNorm1d), "layer": (nn.LayerNorm,)}
    modules = [*built(name).modules()]
    found = {kind for kind, norms in kinds.items() for part in modules if isinstance(part, norms)}
    assert found == {normalisation}


@EACH_MODEL
def test_the_table_has_each_models_readout(name):
    readout, _, _ = DESCRIBED[name]
    assert readout_of(built(name)) == readout
