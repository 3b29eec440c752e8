import pytest

from gtcourse.training.plan import PCQM4MV2_TRAIN, cost_plan


def test_a_thousand_graphs_a_second_take_an_hour_for_3_600_000():
    one, eight = cost_plan(1000.0, 1, graphs=3_600_000, devices=(1, 8))
    assert (one.hours, one.device_hours) == (1.0, 1.0)
    assert (eight.hours, eight.device_hours) == (0.125, 1.0)
    assert eight.graphs_per_second == 8000.0


def test_each_doubling_keeps_its_share_of_the_speed():
    one, two, eight = cost_plan(100.0, 10, devices=(1, 2, 8), efficiency=0.9)
    assert two.graphs_per_second == pytest.approx(180.0)
    assert eight.graphs_per_second == pytest.approx(800 * 0.9**3)
    assert eight.device_hours == pytest.approx(one.device_hours / 0.9**3)
    assert one.hours == pytest.approx(10 * PCQM4MV2_TRAIN / 100 / 3600)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"graphs_per_second": 0.0}, "graphs_per_second is 0.0; expected more than 0"),
        ({"epochs": 0}, "epochs is 0; expected more than 0"),
        ({"efficiency": 1.1}, "efficiency is 1.1; expected more than 0 and at most 1"),
        ({"devices": (1, 0)}, "devices holds 0; expected 1 or more"),
    ],
)
def test_a_plan_that_cannot_be_meant_is_refused(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        cost_plan(**{"graphs_per_second": 10.0, "epochs": 1} | options)
