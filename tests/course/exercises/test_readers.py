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
    "masked_attention_of_exponentials": "exp of a logit far below 0 is 0",
    "masked_attention_below_the_largest_logit": "the largest logit may be that of padding",
    "heads_of_every_third_channel": "head n has every H-th channel",
    "greedy_cut_afterwards": "`predict` is called again after `end`",
    "cached_step_with_swapped_results": "keys and values are swapped",
    "edge_softmax_up_to_the_last_target": "for `logits` = []",
    "edge_softmax_with_assigned_totals": "use index_add",
    "edge_softmax_in_the_order_of_targets": "in the order of the targets",
    "anchors_nearer_than_the_farthest": "stands for a missing path",
    "laplacian_rows_after_the_first": "the constant one, is missing",
    "laplacian_rows_in_half_precision": "got torch.float16",
    "svd_rows_without_small_values": "both should be the singular value 0.000613",
    "signs_of_which_half_are_negative": "the three signs of a single graph are never",
    "signs_of_which_an_even_number_is_negative": "the three signs of a single graph are never",
    "signs_without_an_axis": "the nodes of a graph have different signs",
    "signs_in_half_precision": "got torch.float16",
    "sum_over_signs_into_the_first_value": "`U` has been changed in place",
    "sum_over_the_signs_so_far": "the signs of earlier choices remain in U",
    "signnet_sum_of_one_column": "it got the shape [8, 1]",
    "signnet_sum_minus_one_zero": "it got the shape [1, 1]",
    "is_right_to_the_last_digit": "compare with a tolerance",
    "edge_bias_without_type_0": "edges of type 0 add nothing",
    "mean_head_of_infinite_keys": "have to be finite",
    "mean_head_of_weak_features": "W_Q or W_K has to be zero",
    "hashes": "-1 and -2 have the same hash",
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
    "distances_by_numbers_of_walks": "the number of walks becomes infinite, and",
    "distances_by_numbers_of_walks_in_double_precision": "infinite in double precision as well",
    "is_right_once": "rejects it after it has seen others",
    "first_five": "two nodes get equal colours",
    "gated_attention_filled_with_1000": "such as -10,000 gets weight",
    "gated_attention_filled_with_1e9": "such as -1e9 gets weight",
    "masked_attention_scaled_by_the_values": "divided by sqrt(d_v)",
    "cached_step_with_is_causal": "hides all keys but the first",
    "rayleigh_up_to_the_largest_index": "a size taken from the largest index",
    "signs_of_graphs_times_signs_of_columns": "draw each sign on its own",
    "heat_bias_of_the_normalised_laplacian": "divided by the roots of both nodes' degrees",
    "honest_error_up_to_the_largest_group": "the largest number is never tested",
    "ahead_of_sorted_in_place": "in place; work on a copy.",
    "heat_bias_above_a_millionth": "a small kernel is not 0",
    "pixel_rows_with_a_hundredth": "the roots of perfect squares are exact without it",
    "leave_out_filled_with_1000": "-1000 still gets weight",
    "padding_share_of_short_integers": "the square of 300 overflows in 16 bits",
    "distances_by_bytes": "8 bits are too few",
    "honest_error_of_whole_numbers": "the predictions are cut to whole numbers",
    "layer_of_eigenvectors": "renumbering the nodes changes the results",
    "blocks_in_a_list": "the weights of earlier blocks are still held",
    "blocks_of_one_query": "a sum runs over all N keys at once",
    "distances_of_leading_nodes": "padding can be at any position",
    "next_batch_of_fractional_epochs": "was called with 0.6",
    "next_batch_in_one_tensor": "a later call changes the result of an earlier one",
}


@pytest.mark.parametrize("wrong", CAUSES)
def test_the_message_names_the_cause(wrong):
    answers = wrong_answers.answers(*MODULES.values())  # none has been called yet
    check, answer = next(pair for pair in answers if pair[1].__name__ == wrong)
    assert CAUSES[wrong] in check(answer).message
