"""numba's stored loops, and the steps in them that another file has."""

import pytest

pytest.importorskip("numba")

from gtcourse.models import csa_fused, egt_fused, fused_loops, grpe_fused

LOOPS = {
    "CSA": csa_fused.loops_of(2, 3, False),
    "EGT": egt_fused.loops_of(2, 3, True, False),
    "GRPE": grpe_fused.loops_of(2, 3, True, True, False, True),
}


@pytest.mark.parametrize("model", LOOPS)
def test_every_loop_is_compiled_again_if_a_shared_step_changes(model):
    """numba's key of a stored function has the values that it reads of the enclosing function."""
    for loop in LOOPS[model]:
        read = [cell.cell_contents for cell in loop.py_func.__closure__]
        assert fused_loops.STEPS in read
