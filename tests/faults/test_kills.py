"""What a process leaves that is killed at any moment, the next one finishes."""

from __future__ import annotations

import os

import pytest

if not hasattr(os, "fork"):
    pytest.skip("there is no fork on this system", allow_module_level=True)

from tests.faults.jobs import KINDS
from tests.faults.record import asked

MOMENTS = 8
"""Of each kind; `make faults` and the recorded run take 20."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds", [("training", "fit"), ("shards", "caches", "download", "writing")]
)
def test_what_a_killed_process_began_the_next_one_finishes_with_the_same_result(kinds):
    found = asked("kills", *kinds, "--moments", str(MOMENTS))
    assert [kind["kind"] for kind in found] == [KINDS[kind].name for kind in kinds]
    for kind in found:
        moments = kind["moments"]
        assert len(moments) == MOMENTS
        lost = [moment for moment in moments if not moment["same_result"] or moment["rubbish"]]
        assert not lost
        by_lock = kind["kind"] != KINDS["writing"].name  # else they are kept for a day
        assert not by_lock or not any(moment["left_next_run"] for moment in moments)
        # On a busy machine the kills fall where they fall, but never all on the same moment.
        assert len({moment["phase"] for moment in moments}) >= 2
