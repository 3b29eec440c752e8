"""``reset_parameters`` draws every weight anew, those of all children among them."""

import pytest
import torch

from gtcourse import models
from tests.models import small

MODELS = {
    "EGT": models.EGT(
        models.EGTConfig(d_model=8, d_edge=8, num_layers=2, svd_rank=2, virtual_nodes=2)
    ),
    "EGT, encodings": models.EGT(small.EGT, [models.LaplacianEncoding(2, 8)]),
    "Graphormer": models.Graphormer(small.GRAPHORMER),
    "Graphormer, nodes": models.Graphormer(small.GRAPHORMERS["edges at nodes"]),
    "Graphormer, encodings": models.Graphormer(
        small.GRAPHORMER, [models.WalkEncoding(3, 8)], [models.SpatialEncoding(2, 3)]
    ),
    "GRPE": models.GRPE(small.GRPE),
    "CGT": models.CGT(small.CGTS["categories of rings"]),
    "GRPEAttention": models.GRPEAttention(8, 2),
    "ChromaticSelfAttention": models.ChromaticSelfAttention(8, 2),
    "MultiHeadAttention": models.MultiHeadAttention(8, 2),
}


@pytest.mark.parametrize("name", MODELS)
def test_reset_parameters_changes_every_weight(name):
    model = MODELS[name]
    with torch.no_grad():
        for tensor in (*model.parameters(), *model.buffers()):
            if tensor.is_floating_point():
                tensor.fill_(100.0)
    model.reset_parameters()
    for what, tensor in (*model.named_parameters(), *model.named_buffers()):
        if tensor.is_floating_point():
            assert bool((tensor.abs() < 10).all()), what


def test_reset_graphormer_has_the_initial_distribution():
    torch.manual_seed(0)
    model = models.Graphormer(models.GraphormerConfig(d_model=256, num_layers=4))
    expected = {
        name: float(p.detach().std()) for name, p in model.named_parameters() if p.numel() > 1000
    }
    model.reset_parameters()
    for name, p in model.named_parameters():
        if name in expected:
            assert float(p.detach().std()) == pytest.approx(expected[name], rel=0.1, abs=1e-9), name


def test_building_a_model_does_not_change_the_weights_of_given_encodings():
    for build in (
        lambda encoding: models.EGT(small.EGT, [encoding]),
        lambda encoding: models.Graphormer(small.GRAPHORMER, [encoding]),
    ):
        encoding = models.LaplacianEncoding(2, 8)
        before = encoding.projection.weight.detach().clone()
        build(encoding)
        assert torch.equal(encoding.projection.weight, before)


def test_repr_shows_settings_that_have_no_parameters():
    text = repr(MODELS["EGT"]) + repr(MODELS["CGT"]) + repr(MODELS["GRPE"])
    text += repr(MODELS["Graphormer"])
    for part in (
        "sizes=(28,)",
        "num_heads=8, clip=5.0",
        "flip_signs=None",
        "score='dot', form='factorised'",
        "key_context='key_column'",
        "num_relations=",
        "max_length=3, reduce='mean'",
    ):
        assert part in text, part
