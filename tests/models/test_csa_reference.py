"""CSA's attention beside the values of its authors' module."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from gtcourse.models import ChromaticSelfAttention, EdgeMaps, EdgeTerms

REFERENCE = np.load(Path(__file__).parents[1] / "reference" / "csa.npz")
DTYPES = pytest.mark.parametrize(
    ("dtype", "atol"), [(torch.float64, 1e-9), (torch.float32, 1e-5)], ids=["float64", "float32"]
)
EDGES = pytest.mark.parametrize("edges", ["shared", "unshared"])
FORMS = pytest.mark.parametrize("form", ["direct", "factorised", "chunked"])


def stored(name: str) -> torch.Tensor:
    return torch.from_numpy(REFERENCE[name])


def published(form: str, edges: str, dtype: torch.dtype) -> ChromaticSelfAttention:
    """Without an output projection, as the values are."""
    attention = ChromaticSelfAttention(16, 4, form=form)
    for name in ("query", "key", "value"):
        getattr(attention, name).weight.data = stored(f"{edges}.W_{name[0].upper()}").T
    attention.output = nn.Identity()
    return attention.to(dtype)


def terms(edges: str, dtype: torch.dtype) -> EdgeTerms:
    if edges == "shared":
        given = (stored(f"shared.{name}").permute(0, 3, 1, 2) for name in ("E", "E_value"))
        return EdgeTerms(*(part.to(dtype) for part in given))
    maps = EdgeMaps(16, 16, values=True, bias=False)
    maps.logits.weight.data, maps.values.weight.data = (
        stored(f"unshared.{name}").T for name in ("W_E", "W_EV")
    )
    return maps.to(dtype)(stored("E0").to(dtype))


@DTYPES
@EDGES
@FORMS
def test_the_attention_is_the_published_one(form, edges, dtype, atol):
    attention, mask, close = (
        published(form, edges, dtype),
        stored("mask"),
        {"rtol": 0, "atol": atol},
    )
    h, E = stored("h").to(dtype), terms(edges, dtype)
    assert bool((E.logits != E.logits.mT).any())
    z, a_tilde = attention(h, E, mask=mask, return_attention=True)
    for given in (z, attention(h, E, mask=mask)):  # the form asked for is that without filters
        torch.testing.assert_close(given[mask], stored(f"{edges}.out").to(dtype)[mask], **close)
    expected = stored(f"{edges}.a_tilde").to(dtype)
    torch.testing.assert_close(a_tilde.permute(0, 2, 3, 1)[mask], expected[mask], **close)
