"""Full disks, closed folders, several processes at once, and signals."""

from __future__ import annotations

import pytest

from tests.faults.cases import PARTS
from tests.faults.record import asked

LEAST = {"full": 10, "closed": 18, "at_once": 7, "signals": 10}


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_a_fault_is_one_sentence_and_the_next_run_has_the_same_result(part):
    found = asked("cases", part)
    assert len(found) >= LEAST[part]
    assert not [case for case in found if not case["passed"]]
