import pytest
import torch

import gtcourse


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch):
    monkeypatch.delenv("GTCOURSE_BUDGET", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)


CPU = {"epochs": 40, "graphs": 1000, "lr": 1e-3}
GPU = {"epochs": 400, "graphs": 10_000, "lr": 1e-3}


def test_the_budget_depends_on_the_device_and_is_printed(capsys, monkeypatch):
    assert gtcourse.budget(cpu=CPU, gpu=GPU) == CPU
    assert capsys.readouterr().out == "Budget cpu on cpu: epochs = 40, graphs = 1000, lr = 0.001\n"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert gtcourse.device().type == "cuda"
    assert gtcourse.budget(cpu=CPU, gpu=GPU) == GPU


def test_the_smoke_budget_uses_a_fiftieth_of_the_gpus_data_and_steps(monkeypatch):
    monkeypatch.setenv("GTCOURSE_BUDGET", "smoke")
    gpu = {"epochs": 400, "graphs": 10_000, "molecules": 60, "steps": 4000, "width": 70}
    cpu = {"epochs": 2, "graphs": 100, "molecules": 50, "steps": 10, "width": 48}
    small = {"epochs": 8, "graphs": 200, "molecules": 1, "steps": 80, "width": 70}
    assert gtcourse.budget(cpu=cpu, gpu=gpu) == small
    assert gtcourse.budget(cpu=5, gpu=200) == 4
    assert gtcourse.budget(cpu=(5, 6), gpu=(20, 300)) == (1, 6)
    assert gtcourse.budget(cpu=5, gpu=9, smoke=3) == 3
