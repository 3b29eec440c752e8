"""What the fused forms of CSA, EGT and GRPE refuse."""

import sys
from dataclasses import replace

import pytest
import torch

from gtcourse.models import CGT, EGT, GRPE
from tests.models.fused_forms import batch_of
from tests.models.small import EGTS, GRPES, RINGED

MODELS = [(CGT, RINGED), (EGT, EGTS["graph"]), (GRPE, GRPES["all terms"])]

pytestmark = pytest.mark.parametrize(
    ("build", "config"), MODELS, ids=[build.__name__ for build, _ in MODELS]
)


def test_unknown_form_raises(build, config):
    with pytest.raises(ValueError, match=r"form is 'fast'; expected one of '.*', 'fused'"):
        replace(config, form="fast")


def test_missing_numba_raises_at_construction(monkeypatch, build, config):
    monkeypatch.setitem(sys.modules, "numba", None)
    build(config)
    expected = rf"install it with `pip install 'gtcourse\[fast\]'`, or use form='{config.form}',"
    with pytest.raises(ImportError, match=expected):
        build(replace(config, form="fused"))


def test_unsupported_precision_or_device_raises(build, config):
    model = build(replace(config, form="fused"))
    batch = batch_of(torch.float32)
    with (
        torch.autocast("cpu", torch.bfloat16),
        pytest.raises(ValueError, match=r"given torch.bfloat16 on cpu; expected float32 or"),
    ):
        model(batch)
    with pytest.raises(NotImplementedError, match="was given a tensor without values"):
        model.to("meta")(batch.to("meta"))
