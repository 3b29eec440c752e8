"""Several processes: their shares of a batch, and one gradient."""

import pytest
import torch

from gtcourse.encodings.prepare import prepare
from gtcourse.train.loop import is_first_process, processes
from tests.train.forked import two_processes
from tests.train.tiny_data import tiny
from tests.train.two_processes import EVALUATED, MODELS, evaluated, gradients, main


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> dict[str, dict[str, torch.Tensor]]:
    """What two processes found."""
    folder = tmp_path_factory.mktemp("two")
    prepare(tiny("zinc", 40), folder / "graphs", stored=(), rows_per_part=6, progress=False)
    two_processes(main, folder)
    assert (folder / "parts" / "last.ckpt").is_file()
    return torch.load(folder / "two.pt", weights_only=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_two_processes_have_the_gradients_of_one_process(two, name):
    """With batch norm, with targets missing, and where the batch cannot be cut in half."""
    one = gradients(name)
    assert any(gradient.abs().max() > 1e-3 for gradient in one.values())
    torch.testing.assert_close(two[name], one, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_two_processes_that_accumulate_have_the_gradients_of_one_batch(two):
    """Of two batches, of four and three graphs, whose targets have other weights."""
    one = gradients("node targets")
    assert any(gradient.abs().max() > 1e-3 for gradient in one.values())
    torch.testing.assert_close(two["accumulated"], one, rtol=1e-10, atol=1e-12)


@pytest.mark.slow
def test_two_processes_resume_within_an_epoch_bit_for_bit(two):
    """Of a shuffled folder, with batch norm, and dropout, which each process draws for itself."""
    assert {*two["whole"]} == {*two["parts"]}
    assert all(torch.equal(two["parts"][name], value) for name, value in two["whole"].items())


@pytest.mark.slow
@pytest.mark.parametrize("name", EVALUATED)
def test_two_processes_evaluate_as_one_process(two, name):
    """Also where one of them has the only wrong prediction, or no target: none waits for it."""
    torch.testing.assert_close(two["evaluated"][name], evaluated(*EVALUATED[name]), equal_nan=True)


def test_torchruns_number_of_processes_takes_precedence(monkeypatch):
    assert processes(3) == (3, 1)
    assert is_first_process()
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "4")
    monkeypatch.setenv("GROUP_WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.setenv("RANK", "4")
    assert processes(1) == (4, 2)
    assert not is_first_process()
