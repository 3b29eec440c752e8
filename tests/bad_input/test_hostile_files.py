"""Files that were made to do harm: they are refused before they cost memory, and nothing runs."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import pytest

from tests.bad_input.bombs import BOMBS
from tests.bad_input.case import fault_of_form
from tests.bad_input.payload import Payload
from tests.bad_input.payloads import MARKER, PAIRS, tried

MOST_MIB = 128
"""What reading a bomb may take beyond what the process has."""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured in /proc")
def test_a_bomb_is_refused_before_it_costs_memory(tmp_path):
    command = [sys.executable, "-m", "tests.bad_input.bombs", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    measured = json.loads(done.stdout)
    assert [each["what"] for each in measured] == [*BOMBS]
    for each in measured:
        assert each["sentence"], f"{each['what']} was read"
        assert fault_of_form(each["sentence"]) is None, each
        assert each["peak_mib"] < MOST_MIB < each["declared_mib"] or "number" in each["what"], each


@pytest.mark.parametrize(
    ("kind", "carrier"), PAIRS, ids=lambda value: getattr(value, "name", value)
)
def test_no_file_runs_the_code_that_it_carries(tmp_path, kind, carrier):
    executed, said = tried(kind, carrier, tmp_path)
    assert not executed
    assert said is not None
    assert fault_of_form(str(said).replace(str(tmp_path), "")) is None


def test_the_payload_would_run_if_it_were_unpickled(tmp_path):
    pickle.loads(pickle.dumps(Payload(tmp_path / MARKER)))
    assert (tmp_path / MARKER).exists()
