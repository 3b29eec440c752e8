"""Damaged files of each kind: what was in them, or one sentence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests.bad_input.fuzz import KINDS, Kind, accidents, after, outcome, whole


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_damaged_file_is_refused_or_read_as_it_was(tmp_path, kind: Kind):
    @settings(max_examples=max(100, settings.default.max_examples))
    @given(accidents(kind))
    def hold(happened):
        assert outcome(kind, after(kind, happened), tmp_path) in ("refused", "unchanged")

    hold()


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_whole_file_is_read_and_half_of_it_is_refused(tmp_path, kind: Kind):
    content = whole(kind)[0][kind.path]
    assert outcome(kind, content, tmp_path) == "unchanged"
    assert outcome(kind, content[: len(content) // 2], tmp_path) == "refused"


def test_something_else_that_is_read_is_found(tmp_path):
    kind = next(kind for kind in KINDS if kind.path == "a.npz")
    other = Kind(kind.name, kind.path, kind.write, lambda folder: (folder / "a.npz").read_bytes())
    with pytest.raises(AssertionError, match="something else was read"):
        outcome(other, b"else", tmp_path)
