"""A reader's run on ZINC is set up as the recorded run was, and ends when it is told to."""

import pytest
import torch

from gtcourse.course import on_zinc
from gtcourse.course.records import recorded
from gtcourse.recipes import get_recipe
from gtcourse.runs.run import at_budget


@pytest.mark.parametrize("name", on_zinc.BUDGETS)
def test_a_readers_run_has_the_settings_of_the_recorded_run(name, molecules):
    data = molecules.first(8)
    recipe, _ = at_budget(get_recipe(name), data, **on_zinc.BUDGETS[name])
    config = recorded(name)[0].config
    for key in ("epochs", "batch_size", "optimizer", "schedule", "grad_clip"):
        assert recipe.config()[key] == config[key], key


def test_without_epochs_the_recorded_errors_are_printed_and_nothing_is_trained(capsys):
    assert on_zinc.train_on_zinc("csa-rings/zinc", 0) is None
    curve = recorded("csa-rings/zinc")[0].curve
    assert f"{curve[0]['val_mae']:.3f} after 1, " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "epochs"),
    [
        ("csa-rings/zinc", [1, 5, 20, 100]),
        ("egt-100k-spe-do/zinc", [1, 5, 20, 100, 600]),
        ("graphormer-slim/zinc", [1, 5, 20, 90]),
        ("grpe-small/zinc", [1, 5, 20, 90]),
    ],
)
def test_the_expected_errors_end_with_the_last_recorded_epoch(name, epochs):
    expected = on_zinc.expected_errors(name)
    curve = recorded(name)[0].curve
    assert list(expected) == epochs
    assert expected[len(curve)] == curve[-1]["val_mae"]
    assert expected[5] == curve[4]["val_mae"]


def test_a_run_trains_for_the_requested_epochs(monkeypatch, capsys, molecules):
    few = molecules.first(12)
    monkeypatch.setattr(on_zinc, "data_for", lambda recipe, source: few)
    before = torch.random.get_rng_state()
    record = on_zinc.train_on_zinc("egt-100k-spe-do/zinc", 2)
    assert len(record.curve) == 2
    assert capsys.readouterr().out.count(" here, ") == 2
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    ("name", "epochs"),
    [("gin/zinc", 1), ("csa-rings/zinc", 101), ("egt-100k-spe-do/zinc", 601)],
)
def test_a_run_without_a_comparable_record_raises(name, epochs):
    with pytest.raises(ValueError, match="expected"):
        on_zinc.train_on_zinc(name, epochs)
