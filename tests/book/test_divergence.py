"""The numbers in the text of the page "Why did csa-rings diverge?" are those of the records."""

import json
import re
from math import ceil, floor

import pytest

from gtcourse.course.records import measurement
from tools.paths import ROOT

RECORDS = ROOT / "experiments" / "records"


def record(name: str) -> dict:
    return json.loads((RECORDS / f"csa-rings-{name}.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "book/results/divergence.md").read_text(encoding="utf-8")


def between(values: list[float], digits: int) -> str:
    """The narrowest range of numbers with so many decimals that holds all values."""
    unit = 10**digits
    low = floor(unit * min(values)) / unit
    high = ceil(unit * max(values)) / unit
    return f"between {low:.{digits}f} and {high:.{digits}f}"


def rounded(values: list[float]) -> str:
    return f"between {min(values):.2f} and {max(values):.2f}"


def test_the_losses_that_chapter_09_draws_are_those_of_the_records():
    drawn = measurement("csa-divergence")["losses"]
    curves = {
        "seed 0": record("diverged")["cpu"],
        "seed 1": record("diverged")["seed1"],
        "control": record("bounded")["curve without the bound"],
    }
    assert drawn.keys() == curves.keys()
    for name, curve in curves.items():
        assert [epoch["epoch"] for epoch in curve] == list(range(len(curve)))
        assert [epoch["train_loss"] for epoch in curve] == drawn[name]


def of(trials: list[dict], **conditions: object) -> list[dict]:
    """The trials with these settings and, except for the draws, no others."""
    names = {name.replace("_", " "): value for name, value in conditions.items()}
    results = {"loss", "largest norm", "draw"}
    return [trial for trial in trials if {k: trial[k] for k in trial.keys() - results} == names]


def losses(trials: list[dict]) -> list[float]:
    return [trial["loss"] for trial in trials]


def test_the_losses_of_the_authors_code_are_in_the_stated_ranges(page):
    authors = record("authors")
    continued = authors["curves"]
    assert {seed: len(curve) for seed, curve in continued.items()} == {"0": 21, "1": 4, "2": 4}
    assert all(curve[0]["epoch"] == 117 for curve in continued.values())
    assert "in epochs 117 to 120. We continued the first of them up to epoch 137, and it" in page
    found = [epoch["train_loss"] for curve in continued.values() for epoch in curve]
    assert f"losses of the epochs lie {between(found, 3)}." in page
    same = authors["same function as ours"]
    differences = [value for name, value in same.items() if name.startswith("relative")]
    assert max(differences) == 4e-8
    assert "at most 4 · 10⁻⁸" in page


def test_the_losses_of_the_run_with_bounded_logits_are_in_the_stated_range(page):
    curve = record("authors")["from scratch, logits bounded by 5"]["curve"]
    assert f"After {len(curve)} epochs its loss has not jumped." in page
    assert max(epoch["train_loss"] for epoch in curve[20:]) < 0.5
    last = [epoch for epoch in curve if epoch["epoch"] >= 111]
    of_last = between([epoch["train_loss"] for epoch in last], 3)
    norm = ceil(max(epoch["largest_norm"] for epoch in last))
    end = curve[-1]["epoch"] - 1  # which the authors count from 1
    stated = (
        f"In epochs 110 to {end} the mean training loss of an epoch lies {of_last}, "
        f"and the norm of the gradient stays below {norm}."
    )
    assert stated in page


def test_our_run_with_bounded_logits_is_complete_and_never_jumps(page):
    found = record("bounded")
    curve = found["curve"]
    assert [row["epoch"] for row in curve] == [*range(len(curve))]
    assert len(curve) == found["planned epochs"]
    assert f"has finished all of its {len(curve):,} epochs" in page
    losses_of = [row["train_loss"] for row in curve]
    rises = [losses_of[n] / losses_of[n - 1] for n in range(101, len(losses_of))]
    assert f"is at most {ceil(100 * max(rises)) / 100:.2f} times that" in page
    assert max(rises) < 1.5
    jumps = []
    for name in ("cpu", "gpu", "seed1"):
        free = {row["epoch"]: row["train_loss"] for row in record("diverged")[name]}
        jumps.append(max(free[n] / free[n - 1] for n in free if n > 100 and n - 1 in free))
    assert f"the loss rose by a factor of at least {floor(min(jumps))} from one epoch" in page


def test_our_runs_jump_in_the_stated_epochs_and_never_recover(page):
    ours = record("diverged")
    jumps = {}
    for name in ("cpu", "gpu", "seed1"):
        curve = ours[name]
        before = {row["epoch"]: row["train_loss"] for row in curve}
        jumps[name] = next(n for n in before if n - 1 in before and before[n] > 1.5 * before[n - 1])
    assert jumps == {"cpu": 118, "gpu": 116, "seed1": 137}
    assert "jumped in epoch 118 on a CPU" in page
    assert "there it jumped in epoch 116" in page
    assert "from a CPU to a GPU at epoch 30. Its loss jumped in epoch 137" in page
    after = [row["train_loss"] for row in ours["gpu"] if row["epoch"] > jumps["gpu"]]
    assert f"never fell below {floor(100 * min(after)) / 100:.2f}" in page


def test_the_control_without_the_bound_jumps_within_two_epochs_and_never_recovers(page):
    found = record("bounded")
    losses_of = [row["train_loss"] for row in found["curve without the bound"]]
    epoch = next(n for n in range(101, len(losses_of)) if losses_of[n] > 1.5 * losses_of[n - 1])
    assert f"A control, the same run without the bound, jumped in epoch {epoch}." in page
    assert epoch < found["epochs on a GPU"][0]["first epoch"]
    assert losses_of[epoch + 1] > 0.95
    assert min(losses_of[epoch + 1 :]) > 0.8


def test_the_norms_before_the_jump_are_those_of_the_record(page):
    of_epochs = record("diverged")["cpu_again"]
    before = [row["gradient_norm"]["100 %"] for row in of_epochs if row["epoch"] < 118]
    stated = f"In epochs 97 to 117, the norm before clipping never exceeds {ceil(max(before))}."
    assert stated in page
    norms = {step: norm for step, _, norm in record("divergence")["steps"]}
    quiet = [norm for step, norm in norms.items() if step <= 226]
    assert re.search(rf"\| 205 to 226 \| [^|]* \| {min(quiet):.0f} to {max(quiet):.0f} \|", page)
    for step in range(227, 231):
        assert re.search(rf"\| {step} \| [^|]* \| {norms[step]:.0f} \|", page)
    first = min(step for step, norm in norms.items() if norm > 1.5 * max(quiet))
    assert first == 227
    assert (
        f"the norm rises to {norms[first]:.0f} only three steps before the loss exceeds 0.5" in page
    )


def test_the_loss_of_a_step_rises_after_the_norm(page):
    losses_of = {step: loss for step, loss, _ in record("divergence")["steps"]}
    jump = min(step for step, loss in losses_of.items() if loss > 0.5)
    quiet = [loss for step, loss in losses_of.items() if step < jump - 3]
    assert f"| 205 to {jump - 4} | {min(quiet):.2f} to {max(quiet):.2f} |" in page
    for step in range(jump - 3, jump + 1):
        assert f"| {step} | {losses_of[step]:.2f} |" in page


def test_the_shortened_run_ended_before_the_jumps(page):
    run = json.loads((ROOT / "book/results/csa-rings-zinc-seed0.json").read_text("utf-8"))
    assert f"it ended after {len(run['curve'])} epochs" in page
    assert len(run["curve"]) < 116


def test_the_trials_end_where_the_text_says(page):
    found = record("divergence")
    trials = found["trials"]
    (begin,) = {trial["from step"] for trial in trials if "without step" in trial}
    others = of(trials, from_step=begin)
    assert f"the four trials end {rounded(losses(others))}, and one of them jumps" in page
    assert sum(loss > 0.5 for loss in losses(others)) == 1
    left_out = losses([trial for trial in trials if "without step" in trial])
    assert f"the loss ends {rounded(left_out)}, and four of the six trials jump" in page
    assert sum(loss > 0.5 for loss in left_out) == 4
    assert f"at {left_out[0]:.2f} and {left_out[-1]:.2f}, if the step on the first or" in page
    slow = losses(of(trials, from_step=begin, factor_of_the_rate=0.1))
    assert f"all four trials end at {max(slow):.2f} or below" in page
    half = losses(of(trials, from_step=begin, factor_of_the_rate=0.5))
    assert f"one of four still ends at {max(half):.2f}" in page
    largest = found["largest score"].values()
    assert f"is already {between([*largest], 0)}, far above the bound of 5" in page


def test_so_many_trials_with_other_draws_jump_as_the_text_says(page):
    trials = record("divergence")["trials"]
    fast = of(trials, from_step=220)
    literal = of(trials, from_step=220, form="direct")
    late = losses([trial for trial in fast + literal if "draw" in trial])
    early = losses(of(trials, from_step=205))
    assert (len(late), sum(loss > 0.5 for loss in late)) == (8, 1)
    assert (len(early), sum(loss > 0.5 for loss in early)) == (4, 0)
    stated = "one of the eight trials from step 220 jumps, and none of the four from step 205"
    assert stated in page
    assert min(late) > max(early)


def test_of_the_trials_without_a_bound_one_jumped_and_with_it_none():
    trials = record("divergence")["trials"]
    unbounded = [
        trial
        for begin in (205, 210, 215, 220)
        for changed in ({}, {"form": "direct"})
        for trial in of(trials, from_step=begin, **changed)
        if "draw" in trial
    ]
    jumped = sum(loss > 0.5 for loss in losses(unbounded))
    assert (len(unbounded), jumped) == (20, 1)
    bounded = [trial for trial in trials if "clip" in trial]
    assert max(losses(bounded)) < 0.5
    assert len(bounded) == 8


def test_the_bounded_runs_record_has_the_curve_that_the_page_shows():
    path = ROOT / "book/results/csa-rings-bounded-zinc-seed0.json"
    run = json.loads(path.read_text(encoding="utf-8"))
    losses_of_run = [row["train_loss"] for row in run["curve"]]
    shown = [row["train_loss"] for row in record("bounded")["curve"]]
    assert losses_of_run == pytest.approx(shown, abs=5.1e-5)
    errors = [row["val_mae"] for row in run["curve"]]
    assert run["result"]["val_mae"] == min(errors) == errors[run["result"]["best_epoch"]]


def test_the_trials_with_bounded_logits_end_lower_than_those_without(page):
    trials = record("divergence")["trials"]
    free = of(trials, from_step=220, form="direct")
    bounded = of(trials, from_step=220, clip=5.0)
    assert len(free) == len(bounded) == 5
    assert all(low < high for low, high in zip(losses(bounded), losses(free), strict=True))
    stated = (
        f"ends at {losses(bounded)[0]:.2f} instead of {losses(free)[0]:.2f}. With the four other "
        f"draws it ends {rounded(losses(bounded)[1:])} instead of {rounded(losses(free)[1:])}."
    )
    assert stated in page
    every = [trial["largest norm"] for trial in trials if "clip" in trial]
    assert f"the norm of the gradient never exceeds {ceil(max(every))}." in page
    reached = max(trial["largest norm"] for trial in free)
    assert f"Without the bound it reaches {reached:.0f}." in page
