"""Full disks, closed folders, several processes at once, and signals."""

from __future__ import annotations

import os

import pytest

if not hasattr(os, "fork"):
    pytest.skip("there is no fork on this system", allow_module_level=True)

from tests.faults.record import asked

PARTS = {("full", "closed"): 29, ("at_once", "signals"): 17}
"""And how many cases there are in them at the least."""


@pytest.mark.slow
@pytest.mark.parametrize("parts", PARTS)
def test_a_fault_is_one_sentence_and_the_next_run_has_the_same_result(parts):
    found = asked("cases", *parts)
    assert len(found) >= PARTS[parts]
    assert not [case for case in found if not case["passed"]]
