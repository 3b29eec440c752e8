"""What is said of a wrong result is true of it, and can be seen in it."""

import torch

from gtcourse.course.exercises.diagnosis import place_of, relations


def test_numbers_are_printed_with_enough_digits_to_show_a_difference():
    got = torch.tensor([1.0003, 2.0], dtype=torch.float64)
    right = torch.tensor([1.0, 2.0], dtype=torch.float64)
    assert "is 1.0003, not 1." in place_of(got != right, got, right)


def test_multiples_of_rows_are_recognised_when_one_row_is_zero():
    right = torch.tensor([[1.0, 2.0, 4.0], [3.0, 1.0, 5.0], [0.0, 0.0, 0.0]])
    got = right * torch.tensor([[2.0], [3.0], [1.0]])
    found = relations(got, right, 1e-6)
    assert any("each row is a multiple" in sentence for sentence in found.values())


def test_a_relation_that_leaves_most_of_the_error_is_not_stated():
    """Nearly every entry is within the tolerance, and so are many multiples of the right ones."""
    right = torch.tensor([0.6667, 0.3333, 0.0, 0.0], dtype=torch.float64)
    got = torch.tensor([0.6655, 0.3327, 0.0009, 0.0009], dtype=torch.float64)
    assert not relations(got, right, 1e-3)
    assert "factor" in relations(0.9 * right, right, 1e-3)
