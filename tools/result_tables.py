"""The tables of book/results: what the recorded runs reached, beside the papers' numbers.

Every number is a record's or a recipe's, and so is every "differs".
"""

import json
import math
import re
import tomllib
from collections.abc import Sequence
from decimal import Decimal
from statistics import mean, stdev
from typing import NamedTuple

from experiments.csa_divergence import LAST
from gtcourse.course.leaderboard import BEST_SIMPLE, line_to_beat
from gtcourse.course.records import measurement, read_records, recorded
from gtcourse.names import family_of
from gtcourse.recipes import RECIPES
from gtcourse.recipes.recipe import Note, as_text
from gtcourse.runs.record import Result, read_results, results, row, spread
from tools import differs
from tools.pages import device, experiment, listed, markdown, short, spans
from tools.paths import ROOT

RESULTS = ROOT / "book" / "results"
MEMORY = RESULTS / "memory.json"
OTHERS = RESULTS / "others.toml"
VARIANTS = ROOT / "experiments" / "records" / "variants.jsonl"
"""Runs of recipes with a changed setting, which no chapter reads."""
CYCLES_SIZES = (200, 500, 1000, 5000)
PUBLISHED = {"zinc": 10_000, "pattern": 10_000, "cluster": 10_000}
"""Training graphs of the published data sets."""
TESTED = {"pattern": 2_000, "cluster": 1_000}
"""Test graphs of those that are generated here in another number."""
FAST_BIAS = "graphormer-slim-fast-bias/zinc"
"""A shortened run of Graphormer, whose bias learned ten times as fast."""
CONTROLS = {
    "`gin-100k`": "gin-100k/zinc",
    "`gin-100k`, 8 size buckets": "gin-100k/zinc-buckets8",
    "`gat-100k`": "gat-100k/zinc",
    "`gat-100k`, 8 size buckets": "gat-100k/zinc-buckets8",
    "`gatedgcn-pe`": "gatedgcn-pe/zinc",
    "`gatedgcn-pe`, signs drawn for each molecule": "gatedgcn-pe/zinc-signs-per-graph",
    (
        "`gatedgcn-pe`, seed 0, cosine schedule over the same number of steps"
    ): "gatedgcn-pe/zinc-cosine",
    "`graphormer-slim`, 90 epochs": "graphormer-slim/zinc",
    (
        "`graphormer-slim`, 70 epochs, one-cycle learning rate, no gradient clipping, "
        "10 × the learning rate for the attention bias"
    ): FAST_BIAS,
}
ADDITIONS = [  # model, what is added, our runs on molecules and communities, ZINC, PATTERN
    ("EGT", "none", "egt", "egt", "0.302", "0.868"),
    ("EGT", "SVD", "egt-spe", "egt-spe", "0.520", "0.867"),
    ("EGT", "SVD, flipped by node", "egt-spe-node-flips", "", "0.223", "0.856"),
    ("EGT", "SVD, flipped by vector", "egt-spe-flips", "", "", ""),
    ("EGT", "SVD, flipped, distances summed", "egt-spe-do", "", "0.154", ""),
    ("EGT", "SVD, flipped, distances averaged", "egt-spe-do-mean", "", "", ""),
    ("EGT-Simple", "none", "egt-simple", "egt-simple", "0.383", "0.868"),
    ("EGT-Simple", "SVD", "", "egt-simple-spe", "", "0.867"),
    ("EGT-Simple", "SVD, flipped", "egt-simple-spe-flips", "", "0.266", ""),
    ("EGT-Constrained", "none", "egt-constrained", "egt-constrained", "0.232", "0.843"),
    ("EGT-Constrained", "SVD", "", "egt-constrained-spe", "", "0.866"),
    ("EGT-Constrained", "SVD, flipped", "egt-constrained-spe-flips", "", "0.174", ""),
    ("EGT-Constrained", "self-pairs", "", "egt-constrained-distance", "", ""),
]
"""What chapter 07 adds to EGT and its variants, and the results that the paper prints."""

MESSAGE_PASSING = ("gin", "gat", "gcn", "gatedgcn", "signnet")
"""How the names of recipes for message passing begin; the others are graph Transformers."""
FAMILIES = {
    "Message passing": MESSAGE_PASSING,
    "Graphormer": ("graphormer",),
    "EGT": ("egt",),
    "GRPE": ("grpe",),
    "CSA": ("csa",),
}
"""Sections about what differs from the published runs, and how the names of their recipes begin."""
PAPERS = {
    "Message passing": """\
All recipes except `signnet/zinc` are those of {cite:t}`dwivedi2023benchmarking`. The published
errors of these recipes are those that the papers on Graphormer {cite:p}`ying2021graphormer` and
EGT {cite:p}`hussain2021egt` quote from the benchmark. The recipe `signnet/zinc` is that of
{cite:t}`lim2023signnet`. The page [SignNet: paper, code and course](differs-signnet) compares
their code with the lecture and with the package.

Our runs say something about only two of these differences, the tested epoch and the size buckets.
For the two GINs, the validation error of the last epoch is clearly higher than the lowest one. Size
buckets raised the error of GIN and GAT. The largest difference of `signnet/zinc` is its budget: our
run covers only a small part of the published one. We do not know how much the other differences
matter.""",
    "Graphormer": """\
The paper is {cite:t}`ying2021graphormer`. The page [Graphormer: paper, code and
course](differs-graphormer) lists more differences. Some training settings are listed only here.

The largest difference is the budget: our run has 90 epochs instead of 10,000. We trained a model
with the authors' code, using the learning rates, batch size, clipping and dropout of this run. Over
the first quarter of the epochs, it reached [similar errors](budget-or-code), so the remaining
differences, such as the initial weights, seem to matter little in this phase. We do not know
whether they matter in a complete run.""",
    "EGT": """\
The paper is {cite:t}`hussain2021egt`. The page [EGT: paper, code and course](differs-egt)
lists more differences. Some training settings are listed only here.

For `egt-100k-spe-do/zinc`, our error agrees with the published one, so nothing suggests that any of
the differences below matters much. But we have only one seed. For `egt-100k/pattern`, the largest
differences are the number of epochs and the number of training graphs. We do not know how much the
others matter.""",
    "GRPE": """\
The paper is the first version of {cite:t}`park2022grpe`. The page [GRPE: paper, code
and course](differs-grpe) lists more differences. Some training settings are listed only here.

As for Graphormer, the largest difference is the budget, 90 epochs instead of 10,000. Over the first
quarter of our run, a model that we trained with the authors' code reached [similar
errors](budget-or-code).""",
    "CSA": """\
The paper is {cite:t}`menegaux2023csa`. The page [CSA: paper, code and course](differs-csa)
lists more differences. Some training settings are listed only here.

For `csa/zinc` and `csa-rings/zinc`, the largest difference is the budget: our runs have 100 epochs
instead of 2,000. `csa-rings-bounded/zinc` has all 2,000, but its attention logits are bounded, and
those of the paper are not. On PATTERN, the largest differences are the budget and the number of
training graphs. We do not know how much the others matter. One of them is that we update the
learning rate after each step, and the authors after each epoch. This is also true of all our
runs of `csa-rings/zinc` that [diverged](csa-diverged). We do not know whether this difference
played a part.""",
}
"""Where the recipes of a section are from."""
METRICS = {
    "train_mae": "training MAE",
    "val_mae": "validation MAE",
    "test_mae": "test MAE",
    "test_dev_mae": "test-dev MAE",
    "test_accuracy": "test accuracy",
    "test_f1": "test F1",
    "test_ap": "test AP",
    "test_auroc": "test ROC-AUC",
}
TITLES = {
    "zinc": "ZINC",
    "zinc-full": "Complete ZINC",
    "pcqm4m": "PCQM4M",
    "pcqm4mv2": "PCQM4Mv2",
    "pcqm4mv2-subset": "A tenth of PCQM4Mv2",
    "molpcba": "MolPCBA",
    "molhiv": "MolHIV",
    "pattern": "PATTERN",
    "cluster": "CLUSTER",
    "mnist": "MNIST",
    "cifar10": "CIFAR10",
    "tsp": "TSP",
}
"""The data sets of published results, in the order of their page."""
PRINTED_BY = {
    "Dwivedi et al., 2020": "the benchmark",
    "Dwivedi and Bresson, 2020": "the paper on the graph Transformer",
    "Lim et al., 2023, README of GraphPrediction": "SignNet, Readme of the code",
    "Ying et al., 2021": "Graphormer",
    "Hussain et al., 2021": "EGT",
    "Park et al., 2022, first version": "GRPE",
    "Menegaux et al., 2023": "CSA",
}
"""The papers of this course, by the name of the model that each introduces."""
AUTHORS = ("graphormer-slim", "grpe-small")
AS_IN_THE_RUN = "as in the run"
"""Of a trial of the diverging run that leaves out the same pairs in training."""
AGREEMENT = 12
"""Epochs from this one on are compared, when the first fast fall of the error is over."""
SMALL = {
    "egt/cluster": ("the community of a node, CLUSTER", "1/6"),
    "egt/digits": ("a handwritten digit", "1/10"),
    "grpe/digits": ("a handwritten digit", "1/10"),
}
MODELS = {
    "GIN": ("gin-100k/zinc", "gin-100k", None),
    "GatedGCN": ("gatedgcn-100k/zinc", "gatedgcn-100k", None),
    "GatedGCN, larger": ("gatedgcn/zinc", None, None),
    "GatedGCN with eigenvectors, larger": ("gatedgcn-pe/zinc", None, None),
    "SignNet on GatedGCN": ("signnet/zinc", "signnet-100k", None),
    "Graphormer": ("graphormer-slim/zinc", "graphormer-100k", "graphormer-slim/zinc-on-molhiv"),
    "EGT": ("egt-100k-spe-do/zinc", "egt-100k", None),
    "GRPE": ("grpe-small/zinc", "grpe-100k", None),
    "CSA": ("csa/zinc", "csa_without_rings-100k", "csa/zinc-on-molhiv"),
    "CSA with rings": ("csa-rings/zinc", "csa-100k", None),
    "CSA with rings and bounded logits": ("csa-rings-bounded/zinc", None, None),
}
"""Our run on ZINC, on the embedded molecules, and on ogbg-molhiv; None where there is none."""


def results_tables() -> dict[str, str]:
    """Of the page "Results"."""
    ran = [result for result in results(read_results([RESULTS])) if result.records]
    zinc = [result for result in ran if result.recipe.dataset == "zinc"]
    finished = [result for result in zinc if complete(result)]
    return {
        "summary": summary(zinc),
        "graph Transformers": reproductions([r for r in finished if not passes_messages(r)]),
        "message passing": reproductions([r for r in finished if passes_messages(r)]),
        "simple": simple(),
        "shortened": shortened([result for result in zinc if not complete(result)]),
        "ends": ends([result for result in zinc if not complete(result)]),
        "authors": authors(),
    }


def runs_tables() -> dict[str, str]:
    """Of the page "How the runs were made"."""
    ran = [result for result in results(read_results([RESULTS])) if result.records]
    return {
        "controls": controls(),
        "colours": colours(),
        "additions": additions(),
        "scores": scores(ran),
        "costs": costs(ran),
        "runs": runs(ran),
        "sizes": sizes(ran),
        "notes": notes(ran),
    }


def divergence_tables() -> dict[str, str]:
    """Of the page "The complete training of csa-rings diverged"."""
    return {"divergence": divergence(), "gradient norms": gradient_norms()}


def published_tables() -> dict[str, str]:
    """Of the page "Published results"."""
    return {"published": published_results(results(read_results([RESULTS])))}


def other_tasks_tables() -> dict[str, str]:
    """Of the page "Communities, digits and cycles"."""
    ran = [result for result in results(read_results([RESULTS])) if result.records]
    nodes = [result for result in ran if result.recipe.dataset in ("pattern", "cluster")]
    return {"communities": shortened(nodes), "small": small(), "cycles": cycles()}


def passes_messages(result: Result) -> bool:
    """Whether the model computes with neighbours only; if not, it is a graph Transformer."""
    return family_of(result.recipe.name) in MESSAGE_PASSING


def complete(result: Result) -> bool:
    """With the published epochs, batches, rates and schedule."""
    return not result.records[0].config["changed"]


OUTCOMES = [
    (1.0, "complete, within about one standard deviation of the paper"),
    (3.0, "complete, within three standard deviations"),
    (math.inf, "complete, farther from the paper"),
]
"""How far a run may be from the paper, in its standard deviations to one decimal, and in words."""


def summary(found: list[Result]) -> str:
    """The recipes by how far our error is from the paper's."""
    last = "shortened: no conclusion about the paper"
    families = ("graph Transformers", "message passing")
    names: dict[str, dict[str, list[str]]] = {
        words: {family: [] for family in families}
        for words in (*(words for _, words in OUTCOMES), last)
    }
    for result in found:
        words, name = outcome(result) if complete(result) else (last, recipe_name_of(result))
        family = "message passing" if passes_messages(result) else "graph Transformers"
        names[words][family].append(name)
    return table(
        [
            {"runs on ZINC": words} | {family: ", ".join(row[family]) for family in families}
            for words, row in names.items()
        ]
    )


def outcome(result: Result) -> tuple[str, str]:
    """How far a complete run is from its paper, and its name, with the difference if it is far."""
    average, deviation = result.paper
    gap = mean(result.values) - average
    distance = round(abs(gap) / deviation, 1)
    name = recipe_name_of(result)
    if distance > 1:
        name += f" ({'worse' if gap > 0 else 'better'} by {abs(gap):.3f})"
    return next(words for limit, words in OUTCOMES if distance <= limit), name


def reproductions(found: list[Result]) -> str:
    """Complete runs on ZINC, below the best predictor without a neural network."""
    rows = []
    for result in found:
        name, _, paper, ours, gap, *_ = row(result)
        epochs = mean(len(record.curve) for record in result.records)
        of_recipe = {
            "recipe": recipe_name(name),
            "paper": paper,
            "ours": alone(ours),
            "difference": gap.replace("-", "\N{MINUS SIGN}"),
            "seeds": str(len(result.records)),
            "epochs": f"{epochs:,.0f}",
            # Runs that end by a rule have no published number of epochs.
            "share": "" if result.recipe.stop_below_lr else f"{100 * share(result):.0f} %",
            "differs": buckets(result),
        }
        rows.append(of_recipe)
    return table(without_empty_columns(below_best_simple(rows)))


def below_best_simple(rows: list[dict[str, str]]) -> list[dict[str, str]]:
    """The rows of networks, after a row for the best predictor without a neural network."""
    ours = {"recipe": BEST_SIMPLE, "ours": f"{line_to_beat('zinc')[BEST_SIMPLE]:.3f}"}
    return [dict.fromkeys(rows[0], "") | ours, *rows]


def simple() -> str:
    """The predictors without a neural network."""
    errors = line_to_beat("zinc")
    return table(
        [{"predictor": name, "test MAE": f"{error:.3f}"} for name, error in errors.items()]
    )


def gradient_norms() -> str:
    """Losses and norms around the step at which the loss of the diverged run first exceeds 0.5."""
    steps = experiment("csa-rings-divergence")["steps"]
    jump = next(step for step, loss, _ in steps if loss > 0.5)
    groups = [[row for row in steps if row[0] < jump - 3]]
    groups += [[row] for row in steps if jump - 3 <= row[0] <= jump]
    rows = []
    for group in groups:
        numbers, losses, norms = zip(*group, strict=True)
        several = len(group) > 1
        rows.append(
            (
                f"{numbers[0]} to {numbers[-1]}" if several else f"{numbers[0]}",
                f"{min(losses):.2f} to {max(losses):.2f}" if several else f"{losses[0]:.2f}",
                f"{min(norms):.0f} to {max(norms):.0f}" if several else f"{norms[0]:.0f}",
            )
        )
    return markdown(("steps of epoch 118", "loss", "norm of the gradient"), rows)


def divergence() -> str:
    """The repeated steps of the diverging run: what was changed, and the loss of the last steps."""
    record = experiment("csa-rings-divergence")
    last = [loss for _, loss, _ in record["steps"][-LAST:]]
    losses = {("the run itself", "fast", AS_IN_THE_RUN, ""): [mean(last)]}
    for trial in record["trials"]:
        losses.setdefault(conditions(trial), []).append(trial["loss"])
    columns = ("from step", "implementation", "ablated pairs", "also changed")
    return table(
        [
            dict(zip(columns, changed, strict=True))
            | {"loss of each trial": " ".join(f"{loss:.2f}" for loss in of_trials)}
            for changed, of_trials in losses.items()
        ]
    )


def conditions(trial: dict) -> tuple[str, str, str, str]:
    """The step from which a trial repeats the run, the implementation, the draws, and the rest."""
    implementation = "literal" if "form" in trial or "clip" in trial else "fast"
    pairs = "drawn again" if "draw" in trial else AS_IN_THE_RUN
    also = ""
    if "without step" in trial:
        also = "one of steps 220 to 225 left out"
    elif "factor of the rate" in trial:
        also = f"{trial['factor of the rate']:g} × the learning rate"
    elif "edge ablation" in trial:
        pairs = "none"
    elif "clip" in trial:
        also = f"logits bounded by {trial['clip']:g}"
    return str(trial["from step"]), implementation, pairs, also


def scores(found: list[Result]) -> str:
    """Epochs, validation scores of the best and the last of them, and the test beside the paper."""
    rows = []
    for result in found:
        monitor = f"val_{result.recipe.task.monitor}"
        epochs = mean(len(record.curve) for record in result.records)
        best = mean(record.result[monitor] for record in result.records)
        last = mean(record.curve[-1][monitor] for record in result.records)
        of_recipe = {
            "recipe": f"`{result.recipe.name}`",
            "seeds": str(len(result.records)),
            "epochs, of at most": f"{epochs:,.0f} of {result.recipe.epochs:,}",
            "validation, best epoch": f"{best:.3f}",
            "validation, last epoch": f"{last:.3f}",
            "test": alone(spread(result.values)),
            "published": row(result)[2],
        }
        rows.append(of_recipe)
    error = f"{line_to_beat('zinc')[BEST_SIMPLE]:.3f}"
    return table([dict.fromkeys(rows[0], "") | {"recipe": BEST_SIMPLE, "test": error}, *rows])


def buckets(result: Result) -> str:
    """Batches of similar sizes, which no paper has."""
    count = result.records[0].config["buckets"]
    return f"{count} size buckets" if count > 1 else ""


def costs(found: list[Result]) -> str:
    """Parameters, graphs in a batch, and MiB of a training step where that was measured."""
    memory_of = json.loads(MEMORY.read_text())
    rows = []
    for result in found:
        memory = memory_of.get(result.recipe.name)
        of_recipe = {
            "recipe": f"`{result.recipe.name}`",
            "parameters": f"{result.records[0].parameters:,}",
            "graphs in a batch": f"{result.records[0].config['batch_size']}",
            "training step, MiB": f"{memory:,}" if memory else "",
        }
        rows.append(of_recipe)
    return table(rows)


def shortened(found: list[Result]) -> str:
    """Runs with less training than the paper's, by the share of it that they had."""
    rows = []
    for result in sorted(found, key=share, reverse=True):
        name, _, paper, ours, *_ = row(result)
        seen = f"{100 * share(result):.2g} %"
        if result.recipe.stop_below_lr:
            seen = f"at least {seen}"
        of_recipe = {
            "recipe": recipe_name(name),
            "paper": paper,
            "ours": alone(ours),
            "seeds": str(len(result.records)),
            "share": seen,
            "epochs": f"{len(result.records[0].curve)} of {result.recipe.epochs:,}",
            "what else differs": differences(result),
        }
        rows.append(of_recipe)
    if all(result.recipe.dataset == "zinc" for result in found):
        rows = below_best_simple(rows)
    return table(without_empty_columns(rows))


def ends(found: list[Result]) -> str:
    """The errors of shortened runs after their last epoch, in the order of their table.

    They are means over the seeds.
    """
    rows = []
    for result in sorted(found, key=share, reverse=True):
        name, _, paper, *_ = row(result)
        last = [record.curve[-1] for record in result.records]
        of_recipe = {
            "recipe": recipe_name(name),
            "training error": f"{mean(row['train_loss'] for row in last):.3f}",
            "validation error": f"{mean(row['val_mae'] for row in last):.3f}",
            "paper, test error": paper,
        }
        rows.append(of_recipe)
    return table(rows)


def table(rows: Sequence[dict[str, str]]) -> str:
    """A Markdown table of rows that have the same columns in the same order."""
    return markdown(rows[0], [row.values() for row in rows])


def without_empty_columns(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    filled = [column for column in rows[0] if any(row[column] for row in rows)]
    return [{column: row[column] for column in filled} for row in rows]


def molecules_seen(result: Result) -> tuple[float, float]:
    """Training graphs that our run saw, and at most the paper's, each as often as it was seen."""
    recipe = result.recipe
    record = result.records[0]
    ours = len(record.curve) * record.data["sizes"]["train"]
    published = recipe.epochs * PUBLISHED[recipe.dataset]
    if recipe.steps is not None:
        published = min(published, recipe.steps * recipe.batch_size)
    return ours, published


def share(result: Result) -> float:
    """Of the paper's training graphs, how many our run saw."""
    ours, published = molecules_seen(result)
    return ours / published


class Change(NamedTuple):
    """A setting of a run that is not the published one: what it is about, theirs and ours."""

    about: str
    published: str
    ours: str
    words: str
    """The same for a list of changes; empty where a table has a column of its own for it."""


def changes(result: Result) -> list[Change]:
    """What differs between the record and the recipe."""
    recipe = result.recipe
    config = result.records[0].config
    changed = config["changed"]
    found = []
    if "epochs" in changed:
        found.append(Change("epochs", f"{recipe.epochs:,}", f"{changed['epochs']:,}", ""))
    if "graphs" in changed:
        count = PUBLISHED[recipe.dataset]
        ours = changed["graphs"]
        words = f"{ours:,} training graphs instead of {count:,}"
        found.append(Change("training graphs", f"{count:,}", f"{ours:,}", words))
        count = TESTED[recipe.dataset]
        ours = result.records[0].data["sizes"]["test"]
        words = f"{ours:,} test graphs instead of {count:,}, all generated here"
        found.append(Change("test graphs", f"{count:,}", f"{ours:,}", words))
    if "batch_size" in changed:
        theirs, ours = recipe.batch_size, changed["batch_size"]
        words = f"batches of {ours} instead of {theirs}"
        found.append(Change("graphs in a batch", f"{theirs}", f"{ours}", words))
    if "optimizer" in changed:
        rate = float(re.search(r"lr=([\d.e-]+)", changed["optimizer"])[1])
        if rate != (published := recipe.optimizer.keywords["lr"]):
            words = f"rate {rate:g} instead of {published:g}"
            found.append(Change("largest learning rate", f"{published:g}", f"{rate:g}", words))
    if "schedule" in changed:
        names = {
            "warmup_then_cosine": "a cosine schedule",
            "halve_on_plateau": "halving the rate on a plateau",
        }
        new, old = (names[x.split("(")[0]] for x in (changed["schedule"], as_text(recipe.schedule)))
        found.append(Change("schedule of the learning rate", old, new, f"{new} instead of {old}"))
    if words := buckets(result):
        found.append(Change("size buckets", "none", words.split()[0], words))
    if spans(result.records[0].device):
        found.append(Change("machines", "", machines(result.records[0].device), ""))
    return found


def differences(result: Result) -> str:
    """What differs between the record and the recipe, apart from what has a column of its own."""
    return ", ".join(change.words for change in changes(result) if change.words)


def recipe_name(name: str) -> str:
    return f"`{name.split('/')[0]}`"


def recipe_name_of(result: Result) -> str:
    return recipe_name(result.recipe.name)


def alone(number: str) -> str:
    """Without the number of seeds, which a column or the text above each table states."""
    return re.sub(r" \(\d+ seeds?\)", "", number)


def colours() -> str:
    """Ridge regression on counts of 1-WL colours by rounds, with and without bond types."""
    record = measurement("colour-counts")
    found = {(row["bonds"], row["rounds"]): row for row in record["rows"]}
    rows = []
    for rounds in sorted({rounds for _, rounds in found}):
        read = found[True, rounds]
        blind = found[False, rounds]
        of_rounds = {
            "rounds": str(rounds),
            "colours": f"{read['colours']:,}",
            "training MAE": f"{read['train_mae']:.3f}",
            "test MAE": f"{read['test_mae']:.3f}",
            "test MAE, bond types ignored": f"{blind['test_mae']:.3f}",
            "pairs with equal counts": f"{read['equal_pairs']}",
            "their largest difference in target": f"{read['largest_gap']:.2f}",
        }
        rows.append(of_rounds)
    return table(rows)


def ridge_on_colours(*, bonds: bool, rounds: int) -> dict:
    """The errors of ridge regression on counts of 1-WL colours, with or without bond types."""
    rows = measurement("colour-counts")["rows"]
    (found,) = (each for each in rows if each["bonds"] is bonds and each["rounds"] == rounds)
    return found


def controls() -> str:
    """Runs on ZINC with changed settings, each below the run that it is compared with."""
    rows = []
    variants = read_records(VARIANTS)
    for name, of in CONTROLS.items():
        records = [record for record in variants if record.name == of] or recorded(of)
        training = mean(record.curve[-1]["train_loss"] for record in records)
        validation = mean(record.result["val_mae"] for record in records)
        errors = [record.result["test_mae"] for record in records]
        each = ", ".join(f"{error:.3f}" for error in errors) if len(errors) > 1 else ""
        of_run = {
            "run": name,
            "epochs": f"{mean(len(record.curve) for record in records):.0f}",
            "training error, last epoch": f"{training:.3f}",
            "best validation error": f"{validation:.3f}",
            "test error": alone(spread(errors)),
            "test error of each seed": each,
        }
        rows.append(of_run)
    ridge = ridge_on_colours(bonds=True, rounds=4)
    ours = {
        "run": BEST_SIMPLE,
        "training error, last epoch": f"{ridge['train_mae']:.3f}",
        "test error": f"{ridge['test_mae']:.3f}",
    }
    return table([dict.fromkeys(rows[0], "") | ours, *rows])


def additions() -> str:
    """EGT and its variants with singular vectors and the distance objective, beside the paper."""
    rows = []
    for model, addition, on_molecules, on_communities, zinc, pattern in ADDITIONS:
        of_molecules = recorded(f"{on_molecules}/molecules") if on_molecules else []
        of_communities = recorded(f"{on_communities}/pattern") if on_communities else []
        of_row = {
            "model": model,
            "added": addition,
            "ZINC (paper)": zinc,
            "molecules": ", ".join(f"{run.result['test_mae']:.3f}" for run in of_molecules),
            "PATTERN (paper)": pattern,
            "communities": ", ".join(
                f"{run.result['test_accuracy']:.2f}" for run in of_communities
            ),
        }
        rows.append(of_row)
    return table(rows)


def authors() -> str:
    """The authors' own code, trained here, beside our recorded run at the same budget."""
    rows = []
    for name in AUTHORS:
        theirs, ours = curves(name)
        first = AGREEMENT
        last = len(theirs) - 1
        reached = {}
        difference = {}
        for score in ("train_loss", "val_mae"):
            gaps = [theirs[n][score] - ours[n][score] for n in range(first, last + 1)]
            gap = f"{mean(gaps):+.3f} ± {stdev(gaps):.3f}"
            difference[score] = gap.replace("-", "\N{MINUS SIGN}")
            reached[score] = f"{theirs[last][score]:.3f}, {ours[last][score]:.3f}"
        of_recipe = {
            "recipe": recipe_name(name),
            "epochs": f"{len(theirs)} of {len(ours)}",
            "training loss: theirs, ours": reached["train_loss"],
            "validation error: theirs, ours": reached["val_mae"],
            "difference in training": difference["train_loss"],
            "difference in validation": difference["val_mae"],
        }
        rows.append(of_recipe)
    return table(rows)


def first_epoch_on_gpu() -> int:
    """From which epoch on a GPU computed the run of csa-rings with bounded logits."""
    return experiment("csa-rings-bounded")["epochs on a GPU"][0]["first epoch"]


def curves(name: str) -> tuple[list[dict], list[dict]]:
    """By epoch, the scores of the authors' code and of our run of the recipe."""
    theirs = json.loads((RESULTS / f"authors-{name.split('-')[0]}.json").read_text())["curve"]
    return theirs, recorded(f"{name}/zinc")[0].curve


def small() -> str:
    """Small models of chapters 07 and 08 on data that the papers have in another size."""
    rows = []
    for name, (what, chance) in SMALL.items():
        records = recorded(name)
        scores = [record.result["test_accuracy"] for record in records]
        sizes = records[0].data["sizes"]
        of_run = {
            "run": f"`{name}`",
            "predicts": what,
            "chance": chance,
            "test accuracy": alone(spread(scores)),
            "seeds": str(len(records)),
            "epochs": f"{len(records[0].curve)}",
            "graphs: training, test": f"{sizes['train']:,}, {sizes['test']:,}",
            "parameters": f"{records[0].parameters:,}",
        }
        rows.append(of_run)
    return table(rows)


def published_results(found: list[Result]) -> str:
    """Every result that the papers print, in a section for each data set and score, best first."""
    groups: dict[str, list[dict[str, str]]] = {}
    for result in found:
        name, _, data = result.recipe.name.partition("/")
        if data in TITLES and name != "csa-rings-bounded":  # which no paper has
            score = f"{TITLES[data]}, {METRICS[result.metric]}"
            groups.setdefault(score, []).append(printed_recipe(result))
    for score, models in tomllib.loads(OTHERS.read_text(encoding="utf-8")).items():
        for model, value, size, source in models:
            of_model = {"model": model, "paper": value, "our run": "", "parameters": size}
            groups.setdefault(score, []).append(of_model | {"printed in": source})
    order = [*TITLES.values()]
    sections = []
    for score in sorted(groups, key=lambda each: (order.index(each.partition(", ")[0]), each)):
        rows = sorted(
            groups[score],
            key=lambda each: float(each["paper"].partition(" ")[0]),
            reverse=not score.endswith("MAE"),
        )
        sections.append(f"\n### {score}\n{table(without_empty_columns(rows))}")
    count = sum(map(len, groups.values()))
    return "".join(sections) + f"\n*{count} results, in percent where the score is not an error.*\n"


def printed_recipe(result: Result) -> dict[str, str]:
    """The row of a recipe: what its paper prints, and what our complete run reached."""
    name, metric, paper, ours, *_ = row(result)
    recipe = result.recipe
    size = "" if recipe.paper_parameters is None else f"{recipe.paper_parameters:,}"
    # EGT's paper prints one rounded number for a whole table.
    if size and name.startswith("egt-"):
        size = f"about {size}"
    finished = bool(result.records) and complete(result) and recipe.dataset == "zinc"
    return {
        "model": recipe_name(name),
        "paper": paper if metric.endswith("mae") else in_percent(paper),
        "our run": alone(ours) if finished else "",
        "parameters": size,
        "printed in": printed_in(recipe.source.partition("; ")[0]),
    }


def in_percent(score: str) -> str:
    """A score between 0 and 1, with its standard deviation if it has one, in percent."""
    return " ± ".join(f"{Decimal(number).scaleb(2):f}" for number in score.split(" ± "))


def printed_in(source: str) -> str:
    """Where a result is printed, by the name of the model whose paper prints it."""
    for authors, name in PRINTED_BY.items():
        source = source.replace(authors, name)
    return re.sub(r"^(.+), as (.+), have it$", r"\2, from \1", source)


def runs(found: list[Result]) -> str:
    """Where the numbers are from; "CPU" is one thread of an x86-64 processor."""
    records = [record for result in found for record in result.records]
    records += [*read_records(VARIANTS), *recorded(FAST_BIAS)]
    records += [record for name in SMALL for record in recorded(name)]
    rows = [
        {
            "run": f"`{record.name}`",
            "seed": str(record.seed),
            "epochs": f"{len(record.curve):,}",
            "time": duration(record.seconds),
            "device": machines(record.device),
            "commit": f"`{short(record.commit)}`",
            "date": record.date,
        }
        for record in records
    ]
    data = {result.recipe.dataset: record.data for result in found for record in result.records}
    origins = " ".join(origin(name.upper(), data[name]) for name in data)
    return f"{table(rows)}\n*The recorded runs. {origins}*\n"


def machines(device_name: str) -> str:
    """A record's device; of several, how many epochs each computed, in their order."""
    parts = spans(device_name)
    if not parts:
        return one_machine(device_name)
    first, *others = parts
    begun = "the first epoch" if first.epochs == 1 else f"the first {first.epochs} epochs"
    epochs = [begun, *(f"the next {part.epochs:,}" for part in others)]
    epochs[-1] = f"the last {parts[-1].epochs:,}"
    names = [one_machine(part.machine) for part in parts]
    text = listed(f"{name} for {which}" for name, which in zip(names, epochs, strict=True))
    if "experiments.captured" in device_name:
        text += (
            ". On the GPU, the training step was compiled and captured as a CUDA graph "
            "(`python -m experiments.captured`)"
        )
    if "experiments.csa_complete" in device_name:
        text += (
            ". On the GPU, Triton kernels computed the whole training step "
            "(`experiments/csa_step.py`)"
        )
    return text


def one_machine(name: str) -> str:
    """A machine, "CPU" for one thread."""
    return device(name).replace("CPU (x86_64, 1 thread)", "CPU")


def origin(name: str, data: dict) -> str:
    """In sentences, where the graphs of runs are from."""
    if data["source"].startswith("file: "):
        return f"Those on {name} read the file `{data['source'].removeprefix('file: ')}`."
    generated = re.match(r"generated by gtcourse: ([\d,]+) graphs by the published", data["source"])
    sizes = data["sizes"]
    return (
        f"gtcourse generated {generated[1]} graphs of {name} by the published rules. "
        f"Each run on {name} used {sizes['train']:,} for training, "
        f"{sizes['val']:,} for validation and {sizes['test']:,} for the test."
    )


def evidence() -> dict[str, str]:
    """Of the page "Which model": every predictor on three kinds of molecules."""
    zinc = line_to_beat("zinc")
    embedded = line_to_beat(train=4000)
    hiv = line_to_beat("molhiv", 32_901)
    ran = [result for result in results(read_results([RESULTS])) if result.records]
    rows = [
        {
            "": name,
            "parameters (ZINC)": "",
            "ZINC, MAE": f"{zinc[name]:.3f}",
            "embedded, MAE": f"{embedded[name]:.3f}",
            "HIV, ROC-AUC": f"{hiv[name]:.3f}",
        }
        for name in zinc
        if name != "mean"
    ]
    forest = measurement("random-forest")["test_auroc"]
    of_forest = {
        "": "random forest on Morgan counts",
        "parameters (ZINC)": "",
        "ZINC, MAE": "",
        "embedded, MAE": "",
        "HIV, ROC-AUC": alone(spread(forest)),
    }
    rows.append(of_forest)
    for name, (on_zinc, on_embedded, on_hiv) in MODELS.items():
        of_recipe = [r for r in ran if r.recipe.name == on_zinc]
        result = max(of_recipe, key=lambda r: 1.0 if complete(r) else share(r))
        trained = "complete" if complete(result) else f"{100 * share(result):.2g} %"
        small = recorded(f"{on_embedded}/molecules") if on_embedded else []
        errors = [record.result["test_mae"] for record in small]
        score = recorded(on_hiv)[0].result["test_auroc"] if on_hiv else None
        of_model = {
            "": name,
            "parameters (ZINC)": f"{result.records[0].parameters:,}",
            "ZINC, MAE": f"{alone(spread(result.values))} ({trained})",
            "embedded, MAE": alone(spread(errors)) if errors else "",
            "HIV, ROC-AUC": f"{score:.3f}" if score else "",
        }
        rows.append(of_model)
    return {"evidence": table(rows)}


WHERE_PRINTED = "where the number of parameters is printed"
COMPARED = ("parameters", WHERE_PRINTED, "seeds")
"""Notes on what a table of its own compares, with the records' own numbers."""
NOT_MEASURED = "not measured"
BOUND = "bound of the logits"
NOT_COMPARED = "not compared"
NONE = "none"
AS_IN_THE_CODE = "as in the code"
MEASURED_ELSEWHERE = {
    "size buckets": "[measured for GIN, GAT and CSA with rings](buckets-and-schedules)",
    "tested epoch": "[validation errors of both epochs](scores-of-runs)",
    BOUND: "no error to compare with: every long run without the bound [diverged](csa-diverged)",
}
"""Whether, and for which models, this page measures the effect of a change, by what it changes."""


class Point(NamedTuple):
    """A row of a table of differences, without the recipes that it holds for."""

    about: str
    paper: str
    code: str
    here: str
    effect: str


def points(result: Result) -> list[Point]:
    """Where a run differs from the published one: what its record and its recipe's notes say."""
    rows = [
        Point(
            change.about,
            change.published,
            "",
            change.ours,
            MEASURED_ELSEWHERE.get(change.about, NOT_MEASURED),
        )
        for change in changes(result)
    ]
    for note in result.recipe.notes:
        if note.about in COMPARED:
            continue
        here = note.here
        if note.about == "printed result":
            here = f"we compare with {row(result)[2]}"
        rows.append(Point(note.about, note.paper, note.code, here, effect_of(note)))
    return rows


def effect_of(note: Note) -> str:
    """The effect on the error, if it was measured, or what else we know; with a link."""
    follows_code = note.here in (note.code, AS_IN_THE_CODE) and note.paper in ("", "not stated")
    if follows_code or note.about == "printed result":
        return NONE
    if note.entry:
        name, _, id = note.entry.partition("-")
        return effect_of_entry(name, differs.entry(name, id))
    if note.about == "tested epoch" and note.code != "the last":
        return NOT_MEASURED  # our errors are those of the last epoch and of the best
    return MEASURED_ELSEWHERE.get(note.about, NOT_MEASURED)


def effect_of_entry(name: str, row: dict) -> str:
    """The effect of a point with an entry of its own, a row of ``book/differs/NAME.toml``."""
    link = f"(differs-{name}-{row['id']})"
    if "no_effect" in row:
        return f"[none on ZINC]{link}, because {row['no_effect']}"
    if "both_trained" in row:
        return f"[{differs.errors_of_both(name, row)}]{link}, both trained"
    errors = differs.changed_errors(name, row)
    if errors is not None:
        before, after = errors
        return f"[{before:.3f} against {after:.3f}]{link}, changed after training"
    if "related" not in row:
        raise ValueError(
            f"book/differs/{name}.toml, {row['id']}: a note of a recipe names this entry, and no "
            "changed error was measured; expected both_trained, no_effect or related."
        )
    related = row["related"].format(**differs.measured(name, row))
    return f"{NOT_MEASURED}. [A related number]{link}: {related.replace('%', ' %')}"


def notes(found: list[Result]) -> str:
    """Where the runs differ from the published ones: a folded table for the runs of each point."""
    text = ""
    for family, beginnings in FAMILIES.items():
        of_family = [r for r in found if family_of(r.recipe.name) in beginnings]
        recipes_of: dict[Point, list[str]] = {}
        for result in of_family:
            for point in points(result):
                recipes_of.setdefault(point, []).append(f"`{result.recipe.name}`")
        points_of: dict[str, list[Point]] = {}
        for point, names in recipes_of.items():
            of_all = len(names) > 1 and len(names) == len(of_family)
            points_of.setdefault("All runs" if of_all else ", ".join(names), []).append(point)
        text += f"\n### {family}\n\n{PAPERS[family]}\n"
        for head in sorted(points_of, key=lambda head: head != "All runs"):
            text += f"\n:::{{dropdown}} {head}\n{points_table(points_of[head])}:::\n"
    return text


def points_table(found: list[Point]) -> str:
    """A row for each point, without the column of a side with which no point was compared."""
    rows = [
        {
            "setting": point.about,
            "paper": point.paper,
            "code": point.code,
            "our run": point.here,
            "effect on the error": point.effect,
        }
        for point in found
    ]
    shown = without_empty_columns(rows)[0]
    return table([{name: row[name] or NOT_COMPARED for name in shown} for row in rows])


def sizes(found: list[Result]) -> str:
    """Parameters and seeds: the paper's, its code's and ours."""
    rows = []
    for result in found:
        said = {about: ["", ""] for about in COMPARED}
        for note in result.recipe.notes:
            if note.about in COMPARED:
                said[note.about][0] += note.paper
                said[note.about][1] += note.code
        paper, code = said["parameters"]
        printed = f"{result.recipe.paper_parameters:,}"
        if place := said[WHERE_PRINTED][0]:
            printed += f", {place}"
        of_recipe = {
            "recipe": f"`{result.recipe.name}`",
            "parameters: paper": paper or printed,
            "parameters: code": code,
            "parameters: ours": f"{result.records[0].parameters:,}",
            "seeds: paper": said["seeds"][0],
            "seeds: code": said["seeds"][1],
            "seeds: ours": str(len(result.records)),
        }
        rows.append(of_recipe)
    return table(without_empty_columns(rows))


def duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def cycles() -> str:
    """The order of the models on CYCLES, the lecture's and ours, with the accuracies."""
    names = [name for name in RECIPES if name.endswith("/cycles")]
    rows = []
    for size in CYCLES_SIZES:
        printed = {n: RECIPES[n].paper_result["test_accuracy"][size] for n in names}
        ours = {
            name: [run.result["test_accuracy"] for run in recorded(f"{name}-{size}")]
            for name in names
        }
        reached = {name: (mean(values), stdev(values)) for name, values in ours.items()}
        rows.append((f"{size:,}", order(printed), order(reached)))
    return markdown(("training graphs", "lecture", "here"), rows)


def order(scores: dict[str, tuple[float, float]]) -> str:
    """From the best to the worst, in percent.

    A "≈" is between neighbours closer than the larger deviation.
    """
    best_first = sorted(scores, key=lambda name: scores[name][0], reverse=True)
    text = ""
    for before, name in zip([None, *best_first], best_first, strict=False):
        value, deviation = scores[name]
        if before is not None:
            gap = scores[before][0] - value
            text += " ≈ " if gap <= max(deviation, scores[before][1]) else " > "
        text += f"{recipe_name(name)} {100 * value:.1f} ± {100 * deviation:.1f}"
    return text
