"""One seed, one result: bit for bit where PyTorch promises it, within a bound elsewhere.

PyTorch promises that deterministic algorithms, "given the same input, and when run on the same
software and hardware", give the same output (``torch.use_deterministic_algorithms``). It promises
nothing across numbers of threads, which may add up in another order.
"""

import base64
import json
import os
import subprocess
import sys

import numpy as np
import pytest

CLOSE = 1e-4
"""Gradients of two thread counts differ by at most this share of the largest: 1,700 roundings of
float32, and five times the largest difference that was met (SignNet's)."""


@pytest.fixture(scope="module")
def found() -> list[dict]:
    """Of one thread, of one thread with other hashes, and of four threads."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.numerics.bits", threads],
            env=os.environ | {"PYTHONHASHSEED": hashes},
            stdout=subprocess.PIPE,
        )
        for threads, hashes in (("1", "0"), ("1", "12345"), ("4", "0"))
    ]
    outputs = [process.communicate()[0] for process in started]
    assert not any(process.returncode for process in started)
    return [json.loads(output) for output in outputs]


def test_another_process_and_other_hashes_give_the_same_bits(found):
    assert found[0] == found[1]


def test_a_step_is_the_same_bits_when_it_is_done_again(found):
    for process in found:
        for name, model in process["models"].items():
            assert model["bits"][0] == model["bits"][1], name


def test_encodings_and_data_are_the_same_bits_whatever_the_number_of_threads(found):
    for part in ("encodings", "data"):
        assert found[0][part] == found[2][part]


def test_gradients_of_other_numbers_of_threads_are_close(found):
    for name, model in found[0]["models"].items():
        one, other = (
            np.frombuffer(base64.b64decode(numbers), np.float32)
            for numbers in (model["numbers"], found[2]["models"][name]["numbers"])
        )
        assert abs(one - other).max() / abs(one).max() < CLOSE, name
