"""GRPE's attention beside the values of its authors' module, and of the paper's equations."""

from pathlib import Path

import numpy as np
import pytest
import torch

from gtcourse.models import GRPEAttention, RelationTables

REFERENCE = np.load(Path(__file__).parents[1] / "reference" / "grpe.npz")
FORMS = {"paper": "key_column", "official": "query_row"}


def stored(name: str) -> torch.Tensor:
    return torch.from_numpy(REFERENCE[name])


def tables(form: str, dtype: torch.dtype) -> RelationTables:
    """All sums of a row of P and a row of E.

    Equations 6 and 7 let queries meet the tables called key; the authors' code, those called query.
    """
    query, key, value = (
        (stored(f"w.P_{name}")[:, None] + stored(f"w.E_{name}")).flatten(0, 1).to(dtype)
        for name in ("query", "key", "value")
    )
    if form == "paper":
        return RelationTables(key=key, query=query, value=value)
    return RelationTables(key=query, query=key, value=value)


@pytest.mark.parametrize(
    ("dtype", "atol"), [(torch.float64, 1e-9), (torch.float32, 1e-5)], ids=["float64", "float32"]
)
@pytest.mark.parametrize("form", FORMS)
def test_the_attention_is_the_published_one(form, dtype, atol):
    attention = GRPEAttention(16, 4, key_context=FORMS[form])
    for name in ("query", "key", "value", "output"):
        projection, letter = getattr(attention, name), name[0].upper()
        projection.weight.data = stored(f"w.W_{letter}")
        projection.bias.data = stored(f"w.b_{letter}")
    attention, padding = attention.to(dtype), stored("mask")
    relation = stored("distance_index") * 8 + stored("edge_index_table")
    assert bool((relation != relation.transpose(1, 2)).any())
    z, share = attention(
        stored("x").to(dtype), relation, tables(form, dtype), mask=~padding, return_attention=True
    )
    close = {"rtol": 0, "atol": atol}
    torch.testing.assert_close(z[~padding], stored(f"{form}.out").to(dtype)[~padding], **close)
    real = ~padding[:, None, :, None].expand_as(share)
    torch.testing.assert_close(share[real], stored(f"{form}.probs").to(dtype)[real], **close)
