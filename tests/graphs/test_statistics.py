"""Statistics of a dataset, worked out by hand on three chains; ZINC's carry their provenance."""

from __future__ import annotations

import numpy as np
import pytest

from gtcourse.graphs.statistics import (
    describe,
)
from tests.graphs.small import three_chains


def test_the_description_of_three_chains():
    """CO with y = 1.5, C=C=N with y = -2, a lone C with y = 0."""
    summary = describe(three_chains())
    assert summary["atoms"]["mean"] == 2
    assert summary["atoms"]["sd"] == pytest.approx(np.sqrt(2 / 3))
    assert summary["bonds"]["mean"] == 1
    assert summary["rings"]["max"] == 0
    assert summary["target"]["min"] == -2
    assert summary["atom_type_percent"]["C"] == pytest.approx(100 * 4 / 6)
    assert summary["bond_type_percent"] == pytest.approx({"SINGLE": 100 / 3, "DOUBLE": 200 / 3})
    assert summary["atoms_histogram"] == {1: 1, 2: 1, 3: 1}
    assert sum(summary["target_histogram"]) == 3
    assert summary["charged_percent"] == 0
