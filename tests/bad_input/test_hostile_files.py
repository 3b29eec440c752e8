"""Damaged files and files that carry code: they are refused in one sentence, and nothing runs."""

from __future__ import annotations

import pickle

import pytest

from tests.bad_input.case import fault_of_form
from tests.bad_input.kinds import KINDS, outcome, whole
from tests.bad_input.payload import Payload
from tests.bad_input.payloads import MARKER, PAIRS, tried


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_whole_file_is_read_and_half_of_it_is_refused(tmp_path, kind):
    content = whole(kind)[0][kind.path]
    assert outcome(kind, content, tmp_path) == "unchanged"
    assert outcome(kind, content[: len(content) // 2], tmp_path) == "refused"


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
