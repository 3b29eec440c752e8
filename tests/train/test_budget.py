import pytest
import torch

import gtcourse


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch):
    monkeypatch.delenv("GTCOURSE_BUDGET", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


CPU, GPU = {"epochs": 40, "graphs": 1000, "lr": 1e-3}, {"epochs": 400, "graphs": 10_000, "lr": 1e-3}


def test_the_device_decides_and_the_choice_is_printed(capsys, monkeypatch):
    assert gtcourse.budget(cpu=CPU, gpu=GPU) == CPU
    assert capsys.readouterr().out == "Budget cpu on cpu: epochs = 40, graphs = 1000, lr = 0.001\n"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert gtcourse.device().type == "cuda"
    assert gtcourse.budget(cpu=CPU, gpu=GPU) == GPU


def test_smoke_shrinks_whole_numbers_or_takes_what_it_is_given(monkeypatch):
    monkeypatch.setenv("GTCOURSE_BUDGET", "smoke")
    assert gtcourse.budget(cpu=CPU, gpu=GPU) == {"epochs": 2, "graphs": 50, "lr": 1e-3}
    assert gtcourse.budget(cpu=5, gpu=9) == 1
    assert gtcourse.budget(cpu=5, gpu=9, smoke=3) == 3
