"""Wrong answers that are right for usual inputs are rejected, and unusual right ones pass."""

import pytest

from tests.course.exercises import right_answers, wrong_answers
from tests.course.exercises.test_texts import MODULES


@pytest.fixture(autouse=True)
def on_a_busy_machine(monkeypatch):
    """Drawing ends after a quarter of this time, and a search for a hint after a tenth."""
    monkeypatch.setattr("gtcourse.course.exercises.checker.SECONDS", 200.0)


WRONG = wrong_answers.answers(*MODULES.values())
RIGHT = right_answers.answers(*MODULES.values())


def name(value):
    return value.__name__


@pytest.mark.parametrize(("check", "answer"), WRONG, ids=name)
def test_a_wrong_answer_is_rejected(check, answer):
    result = check(answer)
    assert result.passed is False
    assert "endless loop" not in result.message


@pytest.mark.parametrize(("check", "answer"), RIGHT, ids=name)
def test_a_right_answer_passes(check, answer):
    assert check(answer).passed, check(answer)


CAUSES = {
    "masked_attention_filled_with_1000": "such as -10,000 gets weight",
    "decoder_mask_of_bytes": "in 8 bits the token 256 is 0",
    "shift_matrix_of_single_precision": "have only single precision",
    "greedy_of_seven_words": "a model that writes 8, 0, 11, 7",
    "layers_from_both_ends": "edges are directed",
    "walk_matrix_in_half_precision": "expected single or double precision, got torch.float16",
    "walk_matrix_of_bytes": "every entry is 256 times the right one",
    "anchors_within_a_thousand": "is -1, not 1099",
    "signnet_sum_above_a_thousandth": "a column of small numbers is left out",
    "cached_step_with_scaled_keys": "do not scale them",
    "signs_except_the_first": "the sign of eigenvector 0 is positive in 100% of the graphs",
    "mean_head_with_minus_9": "use smaller scalars for them, or -inf",
    "filters_by_products": "average their logarithms",
    "distances_by_numbers_of_walks": "the number of walks becomes infinite",
    "is_right_once": "rejects it after it has seen others",
    "first_five": "two nodes get equal colours",
    "gated_attention_filled_with_1000": "such as -10,000 gets weight",
    "heat_bias_above_a_millionth": "a small kernel is not 0",
    "pixel_rows_with_a_hundredth": "the roots of perfect squares are exact without it",
    "leave_out_filled_with_1000": "-1000 still gets weight",
    "padding_share_of_short_integers": "the square of 300 overflows in 16 bits",
    "distances_by_bytes": "8 bits are too few",
    "next_batch_in_one_tensor": "a later call changes the result of an earlier one",
}


@pytest.mark.parametrize("wrong", CAUSES)
def test_the_message_names_the_cause(wrong):
    answers = wrong_answers.answers(*MODULES.values())  # none has been called yet
    check, answer = next(pair for pair in answers if pair[1].__name__ == wrong)
    assert CAUSES[wrong] in check(answer).message
