"""Each malformed input is refused in one sentence, and leaves nothing behind."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.bad_input.case import Case, contents, fault_of_form
from tests.bad_input.catalogue import BOUNDARIES, CASES


def refusal(case: Case, folder) -> str:
    """The sentence, after nothing was written and nothing executed."""
    enter = case.make(folder)
    before = contents(folder)
    with pytest.raises(case.error) as raised:
        enter()
    assert type(raised.value) is case.error
    assert contents(folder) == before
    return str(raised.value.args[0])


@pytest.mark.parametrize("case", CASES, ids=str)
def test_it_is_refused_in_one_sentence_and_nothing_is_left_behind(tmp_path, case: Case):
    sentence = refusal(case, tmp_path)
    assert case.says.replace("{folder}", str(tmp_path)) in sentence
    assert fault_of_form(sentence.replace(str(tmp_path), "")) is None


def test_there_are_as_many_as_we_say_and_no_two_are_the_same():
    assert len(CASES) >= 60
    assert len(BOUNDARIES) >= 6
    assert [name for name, count in Counter(map(str, CASES)).items() if count > 1] == []


@pytest.mark.parametrize(
    ("sentence", "fault"),
    [
        ("x is 0; expected 1.\nTraceback", "more than one line"),
        ("x is 0; expected 1", "no full stop"),
        ("x is 0.", "not said what was expected"),
        ("x is " + "9" * 400 + "; expected 1.", "418 characters"),
        ("x is 0; expected 1.", None),
    ],
)
def test_a_sentence_of_another_form_is_found(sentence, fault):
    assert fault_of_form(sentence) == fault
