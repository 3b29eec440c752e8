"""The numbers in the sentences of book/results: filled in from the records, as its tables are.

A pattern is a part of a sentence with a place for each number, such as "{low:.3f}". It occurs once
on its page. Every number with decimals that no pattern fills is one of ``OTHER``, a setting or a
rounded number that the sentence itself gives as approximate.
"""

import math
import re
from collections.abc import Callable, Iterable
from decimal import ROUND_CEILING, Decimal
from functools import cache
from pathlib import Path
from statistics import mean, median

from experiments.csa_divergence import LAST
from gtcourse import load_dataset
from gtcourse.course.records import measurement, read_records, recorded
from gtcourse.recipes import RECIPES
from gtcourse.runs.record import Record, Result, read_results, results
from tools.pages import experiment, spans
from tools.result_tables import (
    RESULTS,
    VARIANTS,
    conditions,
    first_epoch_on_gpu,
    ridge_on_colours,
)

Numbers = dict[str, object]
PLACE = re.compile(r"\{\w+(?::[^}]*)?\}")
NUMBER = r"\d+(?:,\d{3})*(?:\.\d+)?"

RISE = 1.3
"""In the epoch of the jump, the training loss is more than so many times that of the one before."""

OTHER = {
    RESULTS / "index.md": (),
    RESULTS / "runs.md": ("0.001", "0.01", "0.02", "0.2"),
    RESULTS / "divergence.md": ("0.5", "0.4", "0.2", "2.13", "2.0"),
}
"""Numbers with decimals that are no numbers of a record."""


def filled(page: Path, text: str) -> str:
    """The text of a page with today's numbers in its sentences."""
    for pattern, values in PROSE[page].items():
        text = with_numbers(page, text, pattern, values())
    if missing := unfilled(page, text):
        raise ValueError(
            f"{page.name} has numbers that tools/result_prose.py does not fill: "
            f"{', '.join(missing)}"
        )
    return text


def with_numbers(page: Path, text: str, pattern: str, values: Numbers) -> str:
    """The text with a sentence that has today's numbers."""
    text, count = re.subn(expression(pattern), lambda _: pattern.format(**values), text)
    if count != 1:
        raise ValueError(
            f"{page.name} has {count} places for {pattern!r} of tools/result_prose.py; expected one"
        )
    return text


def expression(pattern: str) -> str:
    """The regular expression of a pattern with any numbers, each of which is a group."""
    parts = [re.escape(part) for part in PLACE.split(pattern)]
    return f"({NUMBER})".join(parts)


def unfilled(page: Path, text: str) -> list[str]:
    """Numbers with decimals in the sentences of a page, apart from those that a pattern fills."""
    for pattern in PROSE[page]:
        text = re.sub(expression(pattern), "", text)
    text = re.sub(
        r"<!-- (.+?): written by make tables -->.*?<!-- end of \1 -->", "", text, flags=re.S
    )
    text = re.sub(r"^```(?!\{figure\}).*?^```", "", text, flags=re.S | re.M)
    text = re.sub(r"\]\([^)]*\)|`[^`]*`", "", text)
    text = re.sub(r"([Ss]ection|Eqs?\.|Table) \d+(\.\d+)?", "", text)
    return [number for number in re.findall(r"\d+\.\d+", text) if number not in OTHER[page]]


# The records.


def run(name: str, seed: int = 0) -> Record:
    (found,) = (record for record in recorded(name) if record.seed == seed)
    return found


def variant(name: str) -> Record:
    (found,) = (record for record in read_records(VARIANTS) if record.name == name)
    return found


def on_zinc() -> list[Result]:
    return [each for each in results(read_results([RESULTS]), "zinc") if each.records]


def on_pattern() -> list[Result]:
    return [each for each in results(read_results([RESULTS]), "pattern") if each.records]


def paper(name: str) -> tuple[float, float]:
    return RECIPES[name].paper_result["test_mae"]


def between(numbers: Iterable[float]) -> Numbers:
    numbers = [*numbers]
    return {"low": min(numbers), "high": max(numbers)}


def around(numbers: Iterable[float], digits: int) -> Numbers:
    """The same, rounded to so many decimals, down and up."""
    numbers = [*numbers]
    return {"low": -above(-min(numbers), digits), "high": above(max(numbers), digits)}


def above(number: float, digits: int = 0) -> float:
    """The number rounded up to so many decimals; one that has no more is kept."""
    step = Decimal(1).scaleb(-digits)
    return float(Decimal(repr(float(number))).quantize(step, rounding=ROUND_CEILING))


# Results.


def machines_of_egt() -> Numbers:
    _, on_gpu, at_the_end = spans(run("egt-100k-spe-do/zinc").device)
    return {"gpu": on_gpu.epochs, "cpu": at_the_end.epochs}


def rise_of_egt() -> Numbers:
    gpu = machines_of_egt()["gpu"]
    curve = run("egt-100k-spe-do/zinc").curve
    return {"before": curve[gpu]["train_loss"], "after": curve[gpu + 1]["train_loss"]}


def deviations_of_gatedgcn_pe() -> Numbers:
    notes = RECIPES["gatedgcn-pe/zinc"].notes
    (printed,) = (note.printed for note in notes if note.about == "printed result")
    _, of_egt = printed["EGT's Table 1"]
    return {"graphormer": f"{paper('gatedgcn-pe/zinc')[1]:g}", "egt": f"{of_egt:g}"}


def without_bond_types() -> Numbers:
    """The error of the regression without bond types, and those of the models that it beats."""
    errors = [record.result["test_mae"] for record in recorded("gin-100k/zinc")]
    blind = ridge_on_colours(bonds=False, rounds=4)["test_mae"]
    return {"blind": blind, "gin": mean(errors), "best": min(errors)}


def gap_of_test_and_validation() -> Numbers:
    """The largest difference between the two errors of a run."""
    scores = [record.result for each in on_zinc() for record in each.records]
    return {"gap": max(abs(score["val_mae"] - score["test_mae"]) for score in scores)}


def errors_at_the_end(name: str) -> tuple[float, float]:
    """The training and the validation error of the last epoch, as means over the seeds."""
    last = [record.curve[-1] for record in recorded(name)]
    return mean(row["train_loss"] for row in last), mean(row["val_mae"] for row in last)


def gap_of_graphormer() -> Numbers:
    training, validation = errors_at_the_end("graphormer-slim/zinc")
    return {"gap": abs(round(validation, 3) - round(training, 3))}


def ratios_in_between() -> Numbers:
    """The validation error by the training error, of the models that the page calls in between."""
    found = [errors_at_the_end(f"{name}/zinc") for name in ("grpe-small", "csa", "csa-rings")]
    return between(validation / training for training, validation in found)


def of_csa_rings() -> Numbers:
    errors = [row["val_mae"] for row in run("csa-rings/zinc").curve]
    return {f"after_{n}": errors[n - 1] for n in (1, 2, 4, 5, 20, 50, 100)}


INDEX: dict[str, Callable[[], Numbers]] = {
    "EGT with about {parameters:,} parameters": lambda: {
        "parameters": round(run("egt-100k-spe-do/zinc").parameters, -3)
    },
    "GRPE with about {parameters:,} parameters": lambda: {
        "parameters": round(run("grpe-small/zinc").parameters, -4)
    },
    "a GPU the next {gpu}, and the CPU again the last {cpu} and the test": machines_of_egt,
    "the training loss rose from {before:.3f} to {after:.3f}": rise_of_egt,
    "errors of our three seeds lie between {low:.3f} and {high:.3f}": lambda: between(
        record.result["test_mae"] for record in recorded("gatedgcn-100k/zinc")
    ),
    "the error was {after:.3f}, [much closer": lambda: {"after": with_cosine()["after"]},
    "GRPE's give ± {graphormer}, and EGT's gives ± {egt}": deviations_of_gatedgcn_pe,
    "its error is {blind:.3f} ([table](colour-counts))": without_bond_types,
    "the three seeds of `gin-100k`, {gin:.3f}, but one of these seeds": without_bond_types,
    "slightly better than the regression, with {best:.3f}": without_bond_types,
    "the validation error and the test error differ by up to {gap:.3f}": gap_of_test_and_validation,
    "although it has only about {parameters:,} parameters": lambda: {
        "parameters": round(run("egt-100k-spe-do/zinc").parameters, -3)
    },
    "Its training and validation errors differ by only {gap:.3f}": gap_of_graphormer,
    "Their validation errors are {low:.1f} to {high:.1f} times": ratios_in_between,
    (
        "`csa-rings` reached {test:.3f} with bounded attention logits, where the paper, which "
        "mentions no bound, reports {mean:g} ± "
        "{deviation:g}"
    ): lambda: of_bounded_run(),
    "The difference is {distance:.1f} times the paper's standard deviation": (
        lambda: of_bounded_run()
    ),
    (
        "`csa-rings-bounded` reaches {test:.3f} after {epochs:,} epochs, and the paper reports "
        "{mean:g} ± {deviation:g} for `csa-rings`"
    ): lambda: of_bounded_run(),
    "A CPU computed the first {before} epochs of its run, a GPU the next {gpu:,}, and a CPU the "
    "last {after} and the test": lambda: epochs_on_gpu(),
    "otherwise the same up to its jump, jumped in epoch {control}": lambda: jump_of_control(),
    "took {low:.0f} to {high:.0f} minutes per seed": lambda: between(
        record.seconds / 60 for record in recorded("gin-100k/zinc")
    ),
    "They take about {seconds:.0f} seconds each": lambda: {
        "seconds": round(run("csa-rings/zinc").seconds / 100, -1)
    },
    "it was {after_1:.3f} after the first epoch and {after_2:.3f} after": of_csa_rings,
    (
        "{after_5:.2f} after 5 epochs, {after_20:.2f} after 20, {after_50:.2f} after 50 and "
        "{after_100:.2f} after 100"
    ): of_csa_rings,
    "in our run it rose to {after_4:.2f} after the fourth epoch": of_csa_rings,
}

# How the runs were made.


def gap_of_gatedgcn_pe() -> Numbers:
    published, _ = paper("gatedgcn-pe/zinc")
    ours = mean(record.result["test_mae"] for record in recorded("gatedgcn-pe/zinc"))
    return {"published": f"{published:g}", "gap": ours - published}


def with_cosine() -> Numbers:
    before = run("gatedgcn-pe/zinc").result["test_mae"]
    after = variant("gatedgcn-pe/zinc-cosine").result["test_mae"]
    return {"before": before, "after": after, "gap": after - paper("gatedgcn-pe/zinc")[0]}


def validation_of_gatedgcn_pe() -> Numbers:
    runs = recorded("gatedgcn-pe/zinc")
    runs += [variant(f"gatedgcn-pe/zinc-{name}") for name in ("signs-per-graph", "cosine")]
    return between(record.result["val_mae"] for record in runs)


def seeds_of_gatedgcn_pe() -> Numbers:
    first, second = (record.result["val_mae"] for record in recorded("gatedgcn-pe/zinc"))
    return {"mean": mean([first, second]), "first": first, "second": second}


def gap_of_bonds() -> Numbers:
    with_bonds = ridge_on_colours(bonds=True, rounds=4)
    without = ridge_on_colours(bonds=False, rounds=4)
    return {"gap": without["test_mae"] - with_bonds["test_mae"]}


def last_above_best(result: Result) -> list[float]:
    """Of each seed's validation score, the difference between the last epoch and the best."""
    monitor = f"val_{result.recipe.task.monitor}"
    return [abs(record.curve[-1][monitor] - record.result[monitor]) for record in result.records]


def last_epochs_of_gin() -> Numbers:
    gaps = {each.recipe.name: mean(last_above_best(each)) for each in on_zinc()}
    return {"small": gaps["gin-100k/zinc"], "large": gaps["gin/zinc"]}


def last_epochs_of_others() -> Numbers:
    ran = [each for each in results(read_results([RESULTS])) if each.records]
    others = [each for each in ran if not each.recipe.name.startswith("gin")]
    return {"bound": above(max(gap for each in others for gap in last_above_best(each)), 3)}


def errors_of_csa_with_buckets() -> Numbers:
    """Of 20 epochs; the sentence says that buckets raise the error with both seeds."""
    lowest = {
        (run["buckets"], run["seed"]): run["result"]["val_mae"]
        for run in experiment("csa-rings-buckets")["runs"]
    }
    without = [lowest[1, seed] for seed in (0, 1)]
    buckets = [lowest[8, seed] for seed in (0, 1)]
    if not all(more > less for more, less in zip(buckets, without, strict=True)):
        raise ValueError(
            "results/runs.md says that buckets raise the error of csa-rings for both seeds; the "
            f"record has {without} without them and {buckets} with them."
        )
    return {
        "first": without[0],
        "second": without[1],
        "third": buckets[0],
        "fourth": buckets[1],
    }


DEPTHS = (2, 4, 8, 16)


def of_graphormer(name: str) -> list[Record]:
    """The runs of one model of chapter 06 on the molecules, one for each seed."""
    return recorded(f"graphormer-{name}/molecules")


def test_errors(name: str) -> list[float]:
    return [record.result["test_mae"] for record in of_graphormer(name)]


@cache
def error_of_median(count: int) -> float:
    """The test error if the median of the first training targets is predicted."""
    molecules = load_dataset("molecules")
    guess = median(graph.y.item() for graph in molecules.train[:count])
    return mean(abs(graph.y.item() - guess) for graph in molecules.test)


def errors_of_depth() -> Numbers:
    """Mean errors; the page says which depths three seeds separate, and what did not learn."""
    test = {depth: test_errors(f"depth-{depth}") for depth in DEPTHS}
    constant = round(error_of_median(1000), 2)
    holds = (
        max(test[2]) > min(test[4])
        and max(test[2] + test[4]) < min(test[8])
        and max(test[8]) < min(test[16])
        and [round(error, 2) for error in test[16]].count(constant) == 2
    )
    if not holds:
        raise ValueError(f"results/runs.md does not describe these errors of depths: {test}")
    last = {
        depth: mean(record.curve[-1]["train_loss"] for record in of_graphormer(f"depth-{depth}"))
        for depth in DEPTHS
    }
    return {f"test_{depth}": mean(test[depth]) for depth in DEPTHS} | {
        f"train_{depth}": last[depth] for depth in DEPTHS
    }


def errors_with_flag() -> Numbers:
    """Mean test errors; the page says that the largest step size learns nothing."""
    names = {"without": "few", "small": "few-flag-0.001", "large": "few-flag-0.01"}
    names |= {"larger": "few-larger", "larger_with": "few-larger-flag-0.01"}
    errors = {key: test_errors(name) for key, name in names.items()}
    overlap = min(errors["small"]) < max(errors["without"])
    if not overlap or round(mean(errors["large"]), 2) != round(error_of_median(200), 2):
        raise ValueError(f"results/runs.md does not describe these errors with FLAG: {errors}")
    return {key: mean(found) for key, found in errors.items()}


ON_CYCLES = {"signnet": 12, "absolute": 40, "flips": 40}
"""Epochs of the encodings that take about the same time."""


def cycles_in_equal_time() -> Numbers:
    """The best validation accuracies of each encoding, in percent; the rates are constant."""
    found: Numbers = {}
    for name, epochs in ON_CYCLES.items():
        runs = recorded(f"cycles-curve-{name}/cycles")
        settings = {(len(run.curve), run.config["schedule"].split(",")[0]) for run in runs}
        if settings != {(epochs, "constant")}:
            raise ValueError(f"results/runs.md does not describe these runs of {name}: {settings}")
        found |= {
            f"{name}_{run.seed}": 100 * max(row["val_accuracy"] for row in run.curve)
            for run in runs
        }
    return found


def seconds_on_cycles() -> Numbers:
    of_epoch = measurement("cycles-epochs")["epoch_seconds"]
    totals = between(of_epoch[name] * epochs for name, epochs in ON_CYCLES.items())
    return {"signnet": of_epoch["signnet"], "absolute": of_epoch["absolute"]} | totals


def linear_map_at_a_higher_rate() -> Numbers:
    usual, fast = recorded("cycles-flips/cycles"), recorded("cycles-flips-fast/cycles")
    if {len(run.curve) for run in (*usual, *fast)} != {20}:
        raise ValueError("results/runs.md says that the linear map was trained for 20 epochs.")
    found: Numbers = {}
    for rate, accuracy, runs in (("low", "usual", usual), ("high", "fast", fast)):
        found[rate] = runs[0].config["schedule"].removeprefix("one cycle, peak ")
        found |= {
            f"{accuracy}_{run.seed}": 100 * run.result["test_accuracy_random_signs"] for run in runs
        }
    return found


RUNS: dict[str, Callable[[], Numbers]] = {
    "({signnet:.2f} s of CPU time instead of {absolute:.2f} s)": seconds_on_cycles,
    "which takes between {low:.0f} and {high:.0f} s each": seconds_on_cycles,
    (
        "are {signnet_0:.0f}, {signnet_1:.0f} and {signnet_2:.0f} % for SignNet, "
        "{absolute_0:.0f}, {absolute_1:.0f} and {absolute_2:.0f} % for absolute values, and "
        "{flips_0:.0f}, {flips_1:.0f} and {flips_2:.0f} % for the linear map"
    ): cycles_in_equal_time,
    (
        "At a peak rate of {high}, it reaches {fast_0:.0f}, {fast_1:.0f} and {fast_2:.0f} % on the "
        "test graphs, instead of {usual_0:.0f}, {usual_1:.0f} and {usual_2:.0f} % at {low}"
    ): linear_map_at_a_higher_rate,
    (
        "the mean test error is {test_2:.2f}, {test_4:.2f}, {test_8:.2f} and {test_16:.2f}, and "
        "the mean training error of the last epoch is {train_2:.2f}, {train_4:.2f}, {train_8:.2f} "
        "and {train_16:.2f}"
    ): errors_of_depth,
    (
        "The mean test error is {without:.2f} without FLAG, {small:.2f} with $\\alpha = 0.001$ and "
        "{large:.2f} with $\\alpha = 0.01$"
    ): errors_with_flag,
    "Its error is then {larger_with:.2f}, and {larger:.2f} without FLAG": errors_with_flag,
    "misses the published error, {published}, by {gap:.3f}": gap_of_gatedgcn_pe,
    ("of this seed falls from {before:.3f} to {after:.3f}. This is {gap:.3f} above"): with_cosine,
    "between {low:.3f} and {high:.3f}, so the validation error": validation_of_gatedgcn_pe,
    "The mean of {mean:.3f} in the table stands for two seeds, with {first:.3f} and {second:.3f}": (
        seeds_of_gatedgcn_pe
    ),
    "with four rounds by {gap:.3f}": gap_of_bonds,
    "are {first:.3f} and {second:.3f} without buckets, and {third:.3f} and {fourth:.3f}": (
        errors_of_csa_with_buckets
    ),
    "Our PATTERN has {train} graphs for training and {test} for the test": lambda: (
        on_pattern()[0].records[0].data["sizes"]
    ),
    "last epoch is worse than the best by {small:.3f} and {large:.3f}": last_epochs_of_gin,
    "the two validation errors differ by at most {bound:.3f}": last_epochs_of_others,
}

# The complete training of csa-rings.


def diverged(key: str) -> dict[int, float]:
    """Training loss by epoch."""
    return {row["epoch"]: row["train_loss"] for row in experiment("csa-rings-diverged")[key]}


def jump(key: str) -> int:
    """The epoch in which the training loss of a diverged run rises."""
    return epoch_of_jump(diverged(key))


def epoch_of_jump(losses: dict[int, float]) -> int:
    return next(
        epoch
        for epoch, loss in losses.items()
        if epoch > 100 and loss > RISE * losses.get(epoch - 1, math.inf)
    )


def steps() -> dict[int, tuple[float, float]]:
    """Loss and norm of the gradient of each step that was recorded of the epoch of the jump."""
    return {step: (loss, norm) for step, loss, norm in experiment("csa-rings-divergence")["steps"]}


def largest_norm_of_epochs() -> Numbers:
    rows = experiment("csa-rings-diverged")["cpu_again"]
    norms = (row["gradient_norm"]["100 %"] for row in rows if row["epoch"] <= 117)
    return {"norm": above(max(norms))}


def trials(start: int, implementation: str, pairs: str, also: str = "") -> list[dict]:
    """The trials of one row of the page's table."""
    wanted = (str(start), implementation, pairs, also)
    return [t for t in experiment("csa-rings-divergence")["trials"] if conditions(t) == wanted]


def losses(*row: object) -> list[float]:
    return [trial["loss"] for trial in trials(*row)]


def of_run() -> float:
    return mean(loss for loss, _ in [*steps().values()][-LAST:])


AGAIN = "drawn again"
SAME = "as in the run"
BOUND = "logits bounded by 5"


def of_bound() -> Numbers:
    (own,) = losses(220, "literal", SAME, BOUND)
    (without,) = losses(220, "literal", SAME)
    return {"own": own, "without": without}


def draws_with_bound() -> Numbers:
    free = between(losses(220, "literal", AGAIN))
    return {
        **between(losses(220, "literal", AGAIN, BOUND)),
        "free_low": free["low"],
        "free_high": free["high"],
    }


def norms_with_bound() -> Numbers:
    found = experiment("csa-rings-divergence")["trials"]
    bounded = max(trial["largest norm"] for trial in found if "clip" in trial)
    free = max(t["largest norm"] for t in trials(220, "literal", AGAIN))
    (own,) = trials(220, "literal", SAME)
    return {"bounded": above(bounded), "free": max(free, own["largest norm"])}


def high_of_later_steps() -> Numbers:
    found = losses(210, "fast", AGAIN) + losses(215, "fast", AGAIN)
    first, second = sorted(found)[-2:]
    return {"first": first, "second": second}


def lowest_with_a_step_left_out() -> Numbers:
    found = losses(220, "fast", SAME, "one of steps 220 to 225 left out")
    first, second, *_ = sorted(found)
    return {"first": first, "second": second}


def bounded() -> list[dict]:
    """The curve of the authors' code with bounded logits, from the first epoch on."""
    return experiment("csa-rings-authors")["from scratch, logits bounded by 5"]["curve"]


def our_bounded() -> list[dict]:
    """The curve of our code with bounded logits, from the first epoch on."""
    return experiment("csa-rings-bounded")["curve"]


def progress_of_bounded() -> Numbers:
    """The sentence says that the loss has not jumped."""
    curve = our_bounded()
    rise = largest_rise({row["epoch"]: row["train_loss"] for row in curve})
    if rise > RISE:
        raise ValueError(
            "results/divergence.md says that the run with bounded logits has not jumped; in its "
            f"record, the loss of an epoch is {rise:.2f} times that of the epoch before."
        )
    planned = experiment("csa-rings-bounded")["planned epochs"]
    if len(curve) != planned:
        raise ValueError(
            "results/divergence.md says that the run with bounded logits is complete; its record "
            f"has {len(curve)} of {planned} epochs."
        )
    return {
        "planned": planned,
        "rise": above(rise, 2),
        "last": curve[-1]["train_loss"],
    }


def control() -> dict[int, float]:
    """Training loss by epoch of the run that differs from the bounded one in the bound alone."""
    rows = experiment("csa-rings-bounded")["curve without the bound"]
    return {row["epoch"]: row["train_loss"] for row in rows}


def without_bound() -> list[dict[int, float]]:
    """Training losses by epoch of all runs without the bound."""
    return [*(diverged(key) for key in ("cpu", "gpu", "seed1")), control()]


def jump_of_control() -> Numbers:
    """Its epoch, and how many epochs later than that of the first run of the same seed it is."""
    epoch = epoch_of_jump(control())
    if epoch >= first_epoch_on_gpu():
        raise ValueError(
            "results/divergence.md says that a CPU computed both runs up to the control's jump; "
            f"this is in epoch {epoch}, and a GPU computed the run with the bound from epoch "
            f"{first_epoch_on_gpu()} on."
        )
    return {"control": epoch, "later": epoch - jump("cpu")}


def of_bounded_run() -> Numbers:
    """The errors of the complete run with bounded logits."""
    record = run("csa-rings-bounded/zinc")
    published, deviation = paper("csa-rings-bounded/zinc")
    return {
        "mean": published,
        "deviation": deviation,
        "distance": (record.result["test_mae"] - published) / deviation,
        "epochs": len(record.curve),
        "epoch": record.result["best_epoch"],
        "val": record.result["val_mae"],
        "test": record.result["test_mae"],
    }


def epochs_on_gpu() -> Numbers:
    """The epochs of that run that a GPU computed, counted from 0, and how many there are."""
    first_on_cpu, on_gpu, last_on_cpu = spans(run("csa-rings-bounded/zinc").device)
    return {
        "first": on_gpu.first,
        "last": on_gpu.last,
        "before": first_on_cpu.epochs,
        "gpu": on_gpu.epochs,
        "after": last_on_cpu.epochs,
    }


def losses_of_control() -> Numbers:
    """Of two epochs without the bound, in the changed code and in the run that diverged."""
    first, second, *_ = experiment("csa-rings-bounded")["curve without the bound"]
    then = diverged("cpu")
    if f"{first['train_loss']:.4f}" != f"{then[0]:.4f}":
        raise ValueError(
            "results/divergence.md says that the changed code has the same loss in the first epoch "
            f"as the run that diverged; the records have {first['train_loss']} and {then[0]}."
        )
    return {"first": then[0], "today": second["train_loss"], "then": then[1]}


def largest_rise(losses: dict[int, float]) -> float:
    """How much the loss grows at most from one epoch to the next after epoch 100, as a factor."""
    return max(losses[n] / losses[n - 1] for n in losses if n > 100 and n - 1 in losses)


def last_of_bounded() -> Numbers:
    curve = [row for row in bounded() if row["epoch"] >= 111]  # counted from 1
    return {
        **around((row["train_loss"] for row in curve), 3),
        "end": curve[-1]["epoch"] - 1,
        "norm": above(max(row["largest_norm"] for row in curve)),
    }


def of_authors() -> Numbers:
    curves = experiment("csa-rings-authors")["curves"]
    return {
        **around((row["train_loss"] for curve in curves.values() for row in curve), 3),
        "short": min(curve[-1]["epoch"] for curve in curves.values()),
        "long": curves["0"][-1]["epoch"],
    }


def authors_difference() -> Numbers:
    found = experiment("csa-rings-authors")["same function as ours"]
    return {"difference": 1e8 * max(v for k, v in found.items() if k.startswith("relative"))}


DIVERGENCE: dict[str, Callable[[], Numbers]] = {
    (
        "Seed 0 jumps in epoch {cpu} on the CPU and in epoch {gpu} on the GPU, and seed 1 in epoch "
        "{seed1}"
    ): lambda: {key: jump(key) for key in ("cpu", "gpu", "seed1")},
    "On the GPU it is {loss:.2f} in epoch {epoch}": lambda: {
        "epoch": max(diverged("gpu")),
        "loss": diverged("gpu")[max(diverged("gpu"))],
    },
    "The loss of seed 0 jumped in epoch {epoch} on a CPU": lambda: {"epoch": jump("cpu")},
    "and there it jumped in epoch {epoch}": lambda: {"epoch": jump("gpu")},
    "After the jump it never fell below {low:.2f}": lambda: around(
        (loss for epoch, loss in diverged("gpu").items() if epoch > jump("gpu")), 2
    ),
    "to a GPU at epoch 30. Its loss jumped in epoch {epoch}": lambda: {"epoch": jump("seed1")},
    "the norm before clipping never exceeds {norm:.0f}": largest_norm_of_epochs,
    "the mean over epoch 117, which is {loss:.2f}": lambda: {"loss": diverged("cpu")[117]},
    "these trials end at about {loss:.1f} instead of {of_run:.2f}": lambda: {
        "loss": mean(losses(205, "fast", AGAIN)),
        "of_run": of_run(),
    },
    "the four trials end between {low:.2f} and {high:.2f}": lambda: between(
        losses(220, "fast", AGAIN)
    ),
    "left out, the loss ends between {low:.2f} and {high:.2f}": lambda: between(
        losses(220, "fast", SAME, "one of steps 220 to 225 left out")
    ),
    "The loss ends lowest, at {first:.2f} and {second:.2f}": lowest_with_a_step_left_out,
    "all four trials end at {high:.2f} or below": lambda: between(
        losses(220, "fast", AGAIN, "0.1 × the learning rate")
    ),
    "one of four still ends at {high:.2f}": lambda: between(
        losses(220, "fast", AGAIN, "0.5 × the learning rate")
    ),
    "The trial without ablation ends at {low:.2f}": lambda: between(losses(220, "fast", "none")),
    "end at {first:.2f} and {second:.2f}, which is as high": high_of_later_steps,
    "is already between {low:.0f} and {high:.0f}, far above": lambda: between(
        experiment("csa-rings-divergence")["largest score"].values()
    ),
    "own draws the loss ends at {own:.2f} instead of {without:.2f}": of_bound,
    (
        "it ends between {low:.2f} and {high:.2f} instead of between {free_low:.2f} and "
        "{free_high:.2f}"
    ): draws_with_bound,
    (
        "the norm of the gradient never exceeds {bounded:.0f}. Without the bound it reaches "
        "{free:.0f}"
    ): norms_with_bound,
    (
        "With the bound, the loss keeps falling without a jump, to {loss:.2f} in epoch {epoch}"
    ): lambda: {
        "loss": our_bounded()[-1]["train_loss"],
        "epoch": our_bounded()[-1]["epoch"],
    },
    (
        "with a training loss of {first:.4f} in the first epoch, and from the second epoch on it "
        "differs slightly ({today:.4f} instead of {then:.4f})"
    ): losses_of_control,
    (
        "after {epochs:,} epochs, a test error of {test:.3f}, and the paper reports "
        "{mean:g} ± {deviation:g}"
    ): of_bounded_run,
    "The validation error is lowest after epoch {epoch}, with {val:.3f}": of_bounded_run,
    (
        "With the weights of this epoch, the test error is {test:.3f}. The paper reports {mean:g} "
        "± {deviation:g}"
    ): of_bounded_run,
    "A GPU computed epochs {first} to {last}, with other draws": epochs_on_gpu,
    (
        "has finished all of its {planned:,} epochs, and its loss never jumped. From epoch "
        "100 on, the mean loss of an epoch is at most {rise:.2f} times that of the epoch before. "
        "When the runs without the bound jumped, the loss rose by a factor of at least {jump:.0f} "
        "from one epoch to the next (for the first run of seed 0, on the CPU and on the GPU, in "
        "the second epoch of the jump). The loss of the last epoch is {last:.3f}"
    ): lambda: {
        **progress_of_bounded(),
        "jump": math.floor(min(map(largest_rise, without_bound()))),
    },
    "A CPU computed the epochs before epoch {epoch}, with the same draws": lambda: {
        "epoch": first_epoch_on_gpu()
    },
    "A control, the same run without the bound, jumped in epoch {control}": jump_of_control,
    "without the bound, with changed code, jumps in epoch {control}": jump_of_control,
    "did not jump in epoch {first}, but it did in epoch {control}": lambda: {
        "first": jump("cpu"),
        **jump_of_control(),
    },
    "and none later than in epoch {control}": jump_of_control,
    "the control jumped {later} epochs later than": jump_of_control,
    "After {epochs} epochs its loss has not jumped": lambda: {"epochs": len(bounded())},
    (
        "In epochs 110 to {end} the mean training loss of an epoch lies between {low:.3f} and "
        "{high:.3f}, and the norm of the gradient stays below {norm:.0f}"
    ): last_of_bounded,
    "the relative difference is at most {difference:.0f} · 10⁻⁸": authors_difference,
    (
        "None of the three jumped in epochs 117 to {short}. We continued the first of them up to "
        "epoch {long}, and it did not jump either. The mean training losses of the "
        "epochs lie between {low:.3f} and {high:.3f}"
    ): of_authors,
    "reports a standard deviation of {deviation:g} over ten seeds": lambda: {
        "deviation": paper("csa-rings/zinc")[1]
    },
}

PROSE = {
    RESULTS / "index.md": INDEX,
    RESULTS / "runs.md": RUNS,
    RESULTS / "divergence.md": DIVERGENCE,
}
