"""What is compiled is the same model; no test waits for a compiler."""

import os

import pytest
import torch

from benchmarks.compile import difference, measure, step, written_for
from benchmarks.compiling import Report, compare, empty_cache, reporting
from benchmarks.subjects import ENTRIES, molecules, subject
from gtcourse import load_dataset


@pytest.fixture(scope="module")
def csa():
    return subject(ENTRIES["csa"], molecules(load_dataset("molecules"), 4))


def test_csa_is_compiled_in_the_form_that_fuses_with_the_same_weights(csa):
    other = written_for("compiled", csa.model)
    assert {layer.attention.form for layer in other.layers} == {"direct"}
    assert {layer.attention.form for layer in csa.model.layers} == {"factorised"}
    torch.testing.assert_close(other(csa.graphs), csa.model(csa.graphs), rtol=1e-4, atol=1e-5)
    eager = written_for("eager", csa.model)
    assert eager is not csa.model
    torch.testing.assert_close(eager(csa.graphs), csa.model(csa.graphs), rtol=0, atol=0)


def test_a_step_predicts_with_the_weights_that_it_found_and_moves_them(csa):
    model = written_for("eager", csa.model)
    run = step("eager", model, csa.graphs)
    first, second = run().detach(), run().detach()
    torch.testing.assert_close(first, csa.model.train()(csa.graphs).detach())
    assert not torch.equal(first, second)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_a_difference_is_a_share_of_the_range():
    assert difference(torch.tensor([1.0, 2.5, 5.0]), torch.tensor([1.0, 2.0, 5.0])) == 0.12


def test_the_first_call_gives_its_result_and_the_second_its_memory():
    calls, report = [], Report((2,))

    def made() -> torch.Tensor:
        calls.append(len(calls))
        return torch.zeros(2**18)[:2] + len(calls)  # 1 MB

    run = reporting(made, report)
    run()
    assert report.result.tolist() == [1, 1]
    assert report.peak.item() == 0
    run()
    assert report.result.tolist() == [1, 1]
    assert report.peak.item() == pytest.approx(1, abs=0.01)


def test_results_of_other_processes_come_back():
    steps = {"one": lambda: torch.ones(3), "two": lambda: 2 * torch.ones(3)}
    rows, results = compare(steps, (3,), rounds=2)
    assert [row["method"] for row in rows] == ["one", "two"]
    assert results["two"].tolist() == [2, 2, 2]
    assert all(row["graph_breaks"] == 0 for row in rows)


def test_the_compilers_cache_is_empty_and_goes_again(monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", "/kept")
    monkeypatch.delenv("TORCHINDUCTOR_COMPILE_THREADS", raising=False)
    with empty_cache():
        folder = os.environ["TORCHINDUCTOR_CACHE_DIR"]
        assert os.listdir(folder) == []
    assert not os.path.exists(folder)
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/kept"
    assert "TORCHINDUCTOR_COMPILE_THREADS" not in os.environ
    with pytest.raises(KeyboardInterrupt), empty_cache():
        raise KeyboardInterrupt
    assert os.environ["TORCHINDUCTOR_CACHE_DIR"] == "/kept"


def test_a_small_comparison_without_the_compiler():
    content = measure(2, ("graphormer",), graphs=4, ways=("eager", "bf16-mixed"))
    (part,) = content["models"]
    eager, half = part["rows"]
    assert eager["difference"] == 0 < half["difference"] < 0.5
    assert min(eager["peak_mb"], half["peak_mb"]) > 0
