"""One seed, one result: bit for bit where PyTorch promises it, within a bound elsewhere.

PyTorch promises that deterministic algorithms, "given the same input, and when run on the same
software and hardware", give the same output (``torch.use_deterministic_algorithms``). It promises
nothing across numbers of threads, which may add up in another order.
"""

import pytest
import torch

from tests.numerics.bits import in_letters
from tests.numerics.processes import CLOSE, differing, distance, processes


@pytest.fixture(scope="module")
def found():
    """Of one thread, of one thread with other hashes, and of four threads."""
    return processes((1, "0"), (1, "12345"), (4, "0"))


def test_another_process_and_other_hashes_give_the_same_bits(found):
    assert not differing(found[:2], "encodings", "data", "models", "training")


def test_a_step_is_the_same_bits_when_it_is_done_again(found):
    for process in found:
        for name, model in process["models"].items():
            assert model["bits"][0] == model["bits"][1], name


def test_encodings_and_data_are_the_same_bits_whatever_the_number_of_threads(found):
    assert not differing(found, "encodings", "data")


def test_gradients_of_other_numbers_of_threads_are_close(found):
    for name, model in found[0]["models"].items():
        assert distance(model, found[2]["models"][name]) < CLOSE, name


def test_other_bits_are_seen():
    one = {"data": {"a": "00", "b": "11"}, "training": "22"}
    assert not differing([one, one], "data", "training")
    assert differing(
        [one, {"data": {"a": "00", "b": "12"}, "training": "23"}], "data", "training"
    ) == [
        "data: b",
        "training: ",
    ]
    four, three = ({"numbers": in_letters(torch.tensor([1.0, -x]))} for x in (4, 3))
    assert distance(four, three) == 0.25
