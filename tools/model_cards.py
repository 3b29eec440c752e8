"""The pages of book/models: a card for each trained model that comes with the package.

python -m tools.model_cards check           the pages agree with the records
python -m tools.model_cards write           write the pages
python -m tools.model_cards measure FILE    measure the errors again; FILE is ZINC's graph file
python -m tools.model_cards draw FILE       draw each model's predictions for its test molecules

A card's numbers are those of the run's record, which is stored with its weights, and of
book/models/measured.json. ``measure`` also writes the fingerprints of the training molecules, with
which ``gtcourse predict`` compares molecules.
"""

import json
import re
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import torch
from matplotlib import pyplot as plt
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_dense_adj

from gtcourse import GraphDataset, load_dataset
from gtcourse.course.explorer import trained_on
from gtcourse.course.leaderboard import BEST_SIMPLE, line_to_beat
from gtcourse.course.plots.figures import INK, model_color, use_style
from gtcourse.course.records import measurement, recorded
from gtcourse.encodings import (
    AddDegrees,
    AddLaplacianEigenvectors,
    AddPathEdges,
    AddRandomWalks,
    AddRings,
    AddShortestPaths,
    AddSVD,
    Encoding,
)
from gtcourse.encodings.spectral import laplacian
from gtcourse.graphs.io import read_npz, replacing
from gtcourse.graphs.molecules import ATOM_TYPES, fingerprints, nearest_similarity
from gtcourse.names import WEIGHTS, record_stem
from gtcourse.predict import SIMILAR, Card, available_models, load
from gtcourse.recipes import RECIPES, get_recipe
from gtcourse.runs.record import (
    Record,
    Result,
    current_commit,
    device_name,
    installed_versions,
    read_results,
    record_in,
    results,
    write_json,
)
from tools.pages import device, listed, markdown_table, run, short, spans, together
from tools.paths import ROOT
from tools.result_figures import STYLE
from tools.result_tables import RESULTS, complete, differences, machines, share

FOLDER = ROOT / "book" / "models"
MEASURED = FOLDER / "measured.json"
PICTURES = ROOT / "book" / "_static" / "models"
HEADER = "<!-- written by python -m tools.model_cards write -->"
DATA = {"zinc": "ZINC-12k", "molecules": "the embedded molecules"}
EXPLAINED = {
    "zinc": "{train:,} molecules of the benchmark ZINC",
    "molecules": "{train:,} of the *embedded molecules*, 12,000 molecules from files that are "
    "installed with RDKit",
}
"""The training molecules, for readers who meet the data set for the first time."""

SOURCES = {
    "zinc": "ZINC-12k, a benchmark {cite:p}`dwivedi2023benchmarking` with 12,000 molecules of the "
    "database ZINC {cite:p}`irwin2012zinc`. The package does not contain these molecules, only "
    "fingerprints of them",
    "molecules": "12,000 molecules of two collections that are installed with RDKit: a screening "
    "library of the Walter and Eliza Hall Institute, and the open collection of the US National "
    "Cancer Institute ([the data](../../notebooks/data.ipynb))",
}
KINDS = {
    "csa": (
        "a Chromatic Graph Transformer (CGT), a graph Transformer that is built from layers of "
        "chromatic self-attention (CSA {cite:p}`menegaux2023csa`, "
        "[chapter 09](../../notebooks/09_csa.ipynb))"
    ),
    "grpe": (
        "a graph Transformer with graph relative positional encoding "
        "(GRPE {cite:p}`park2022grpe`, [chapter 08](../../notebooks/08_grpe.ipynb))"
    ),
    "egt": (
        "an Edge-augmented Graph Transformer "
        "(EGT {cite:p}`hussain2021egt`, [chapter 07](../../notebooks/07_egt.ipynb))"
    ),
    "graphormer": (
        "a Graphormer, a graph Transformer whose attention depends on distances "
        "({cite:t}`ying2021graphormer`, [chapter 06](../../notebooks/06_graphormer.ipynb))"
    ),
    "signnet": (
        "a GatedGCN, a message-passing network, which here reads eigenvectors through SignNet "
        "({cite:t}`lim2023signnet`, [chapter 05](../../notebooks/05_signnet.ipynb))"
    ),
}
NAMES = {
    "csa-100k/molecules": " It reads rings, so other pages call it *CSA with rings*. The "
    "names can mislead: `csa/zinc` does not read rings.",
    "csa-rings/zinc": " It reads the rings of a molecule, unlike `csa/zinc`.",
    "csa-rings-bounded/zinc": " It is the model `csa-rings/zinc` with one change: each attention "
    "logit is limited to the range from −5 to 5, which the paper does not do.",
    "csa/zinc": " It does not read the rings of a molecule, unlike `csa-rings/zinc`.",
    "egt-100k-spe-do/zinc": " In its name, *spe* stands for positional encodings from singular "
    "vectors, and *do* for the distance objective: in training, the model also predicts the "
    "distances between atoms. The distances are only the target of this objective. They are not an "
    "input.",
    "grpe-small/zinc": " Its size is the one that GRPE's paper calls small.",
}
"""What a name does not say, or what it means for this model alone."""

WORDS = {
    AddDegrees: "numbers of neighbours",
    AddLaplacianEigenvectors: "eight eigenvectors of the Laplacian",
    AddPathEdges: "bonds along shortest paths",
    AddRandomWalks: "random walks",
    AddRings: "rings",
    AddShortestPaths: "distances",
    AddSVD: "eight pairs of singular vectors of the adjacency matrix with self-loops (those of the "
    "largest singular values)",
}
"""What a model reads besides the types of atoms and bonds, by the encoding."""

INDEX = """\
(model-cards)=
# Model cards

These trained models come with the package. All of them predict *penalised logP*, a computed
score of a molecule: how much better it dissolves in oil than in water, on a logarithmic scale,
with penalties for large rings and for being hard to make. The score follows from [a
formula](../../notebooks/data.ipynb) whose terms RDKit computes, so you can check every prediction.
This makes the models good teaching examples. To predict another property, [train a model on your
own measurements](../../notebooks/your_molecules.ipynb), either from scratch or starting from one of
these models.

Which one should you use?

- For molecules like those of the benchmark ZINC, use `csa-rings-bounded/zinc`. It has the lowest
  error in the first table. The model that we fine-tune in [Your own
  molecules](../../notebooks/your_molecules.ipynb) is `csa-rings/zinc`.
- For molecules like the book's *embedded molecules*, 12,000 molecules from files that are installed
  with RDKit, use `csa-100k/molecules`. It has the lowest error in the second table. Both models
  read the rings of a molecule. `csa/zinc` is `csa-rings/zinc` without the rings, and
  `csa-rings-bounded/zinc` is `csa-rings/zinc` with bounded attention logits.
- For molecules of another kind, test several models on molecules whose values you know. We have not
  compared the models on such molecules.

The models in the second table are small. They were all trained under the same conditions, so that
[chapter 10](../../notebooks/10_one_framework.ipynb) can compare them. Four of them run in the
[explainer](../explainer.md). [Which model for my graphs?](../which_model.md) helps you choose a
model to train on your own data.

{zinc}

*Models that were trained on 10,000 molecules of ZINC, and their mean absolute errors (MAE) on
1,000 other molecules of ZINC. Each was trained with one seed. `csa-rings-bounded/zinc` and EGT were
trained for as many epochs as in the paper, and the others for far fewer. The table therefore
compares these particular models and does not rank the architectures.*

{molecules}

*Models that were trained on 4,000 of the embedded molecules, and their MAE on 1,000 other
embedded molecules. The last column is the mean ± standard deviation over the three runs of chapter
10, one for each seed. All errors are those recorded at the end of the runs. If the current code
gives a different error, the model's card says why.*

The two data sets differ (see [The data](../../notebooks/data.ipynb)), so an error in one table
cannot be compared with an error in the other. To get a prediction, run `gtcourse predict NAME
SMILES`. The command `gtcourse models` lists the names."""
PAGE = """\
(model-{stem})=
# {name}

This model predicts a molecule's *penalised logP*: how much better the molecule dissolves in oil
than in water, on a logarithmic scale, with penalties for large rings and for being hard to make
(see [the formula](../../notebooks/data.ipynb)). It was trained on {explained}.

```bash
gtcourse predict {name} CCO "c1ccccc1O"
```

You do not need a model to obtain penalised logP, because you can compute it exactly with RDKit. Use
this one to study how such a model works, or as a starting point for a model of your own.

The model is {kind}. It has {parameters:,} parameters.{note}{seeds}

## Accuracy

{verdict}
{choice}
```{{figure}} ../_static/models/{stem}.svg
:alt: {alt}

Test molecules ({own}). Left: each point is a molecule. For points on the line, the prediction
is exact. Right: the mean absolute error of molecules with similar numbers of atoms, in five
groups of 200. {by_size}
```

{accuracy}

*Errors of seed 0 on the 1,000 test molecules of each set. The last column is the 95th
percentile of the absolute error: 95 % of the molecules have a smaller one. It was computed for the
network only. The predictors from "mean" down are not neural networks. They were fitted to the same
training molecules, and are described in [The data](../../notebooks/data.ipynb).*

{other}

{trend} To see how much a molecule resembles the training molecules, look at the column
`similarity` that `gtcourse predict` prints. It is the Tanimoto similarity between your molecule
and the most similar training molecule: 1 if the two have the same small neighbourhoods of
atoms, and 0 if they share none. (The neighbourhoods are those of Morgan fingerprints of radius
2.) The table compares test molecules whose similarity is below {similar} to all others:

{unlike}

## Limits

- The target is computed, not measured. The error of {mae:.3f} says how well the model imitates a
  formula. It does not show how well the model would predict measurements.
- Training molecules have {smallest} to {largest} atoms, hydrogens not counted. We have not
  measured the error on larger molecules.{memory}
- The model reads the {elements} atom types of ZINC: {types}. Here the signs + and - mark a
  charge, and H1 to H3 give the number of hydrogens that the SMILES string writes in brackets,
  as in `C[NH3+]` or `C[C@H](N)O`. Other hydrogens are not counted, so the carbons of a chain
  are of type `C`. A molecule with any other atom, such as silicon or boron, gets no prediction,
  and the output states the reason. {seen}
- The model reads almost no stereochemistry: it does not distinguish mirror images. It does notice
  whether a stereocentre is marked at all: a carbon with one hydrogen is of type `C H1` with the
  mark, and of type `C` without it. The same molecule can therefore get a different prediction if
  you leave the mark out.
- A salt or a mixture is read as one molecule with several pieces. All training molecules consist
  of one piece, so the model has never seen a salt or a mixture. With `--largest-fragment`, only the
  largest piece is read.
- The model gives no error bar.{spread}{bases}{export}

## How it was trained

{about}
{training}

## Fine-tune it

```bash
gtcourse train {name} --csv my.csv --target activity \\
    --start {name} --epochs 20
```

The file `my.csv` needs a column `smiles` and a column with your measurements, here `activity`.
The option `--start` loads the weights of this model. Only the output head, which computes the
prediction from the vectors of the atoms, is initialised at random. Before the training begins, the
command prints how long it will take, and how well simple predictors do on the same test molecules.
Fine-tuning is worth the effort only if it beats them. In [Your own
molecules](../../notebooks/your_molecules.ipynb), a fine-tuned `csa-rings/zinc` has a much lower
error than the same model trained from scratch, but a ridge regression does even better.{tried}

## Data and licence

The data are {source}. The weights are part of the package, which is under the
[MIT licence](https://github.com/gtcourse/gtcourse/blob/main/LICENSE).

*Trained on {date} at commit `{commit}`: `{command}`{also}. Errors measured at
commit `{measured}`.*"""
CHOICE = """
The error of {now:.3f} is that of the current code. At the end of the run we measured
{recorded:.3f}{where}. The two differ because the model reads {vectors} {matrix} of each molecule.
If {value} is repeated, its {vectors} are not unique, and the code has to choose a basis. This is so
for {repeated} of the 1,000 test molecules, and the choice has changed since the run. With the old
choice, the current code gives {recorded:.3f} again.
"""
VECTORS = {
    "egt": ("singular vectors", "of the adjacency matrix", "a singular value"),
    "signnet": ("eigenvectors", "of the Laplacian", "an eigenvalue"),
}
"""What a model reads of which there are several choices, of which matrix, and for which value."""

BASES = {
    "egt": """
- The model reads singular vectors. Their signs are arbitrary, but the prediction depends on them.
  If a singular value is repeated, as in {repeated} of the 1,000 test molecules, the choice of its
  vectors is arbitrary as well. The package chooses by a fixed rule. On one machine, the choice does
  not depend on how the SMILES string is written. On another machine, rounding may lead to other
  vectors, and other code may choose differently. In the
  [explainer](../explainer.md) you can flip the signs in a small EGT and watch its prediction
  change.""",
    "signnet": """
- The model reads eigenvectors. It ignores their signs, but if an eigenvalue is repeated, the
  prediction depends on the choice of its eigenvectors. This is so for {repeated} of the 1,000 test
  molecules. The package chooses by a fixed rule. On one machine, the choice does not depend on how
  the SMILES string is written. On another machine, rounding may lead to other vectors, and other
  code may choose differently.""",
}
ALT = (
    "Left: predicted against exact penalised logP of 1,000 test molecules. The points lie along "
    "the diagonal, and a few lie far from it. Right: the mean absolute error against the number of "
    "atoms, for five groups of molecules. {by_size}"
)
MEMORY = """ The memory that a batch needs grows
  with the square of the number of atoms of its largest molecule."""
NUMBERS = {2: "two", 3: "three"}
SPREAD = " (mean ± standard deviation over several seeds)"
"""What a paper's number is."""
TRAINED_HERE = """
The model was trained for the comparison of
[chapter 10](../../notebooks/10_one_framework.ipynb). Its paper reports no error on these molecules,
so the error above cannot be compared with the paper's."""
ENSEMBLE = (
    " `gtcourse predict` uses the weights of seed 0. With `--ensemble`, it prints the mean and the "
    "standard deviation of the predictions of all three seeds that come with the package."
)
SPREAD_OF_SEEDS = """ The standard deviation that `--ensemble` prints shows only how
  much the three seeds differ."""
EXPORT = """
- The model cannot be exported to ONNX. It works on a list of bonds, whose length an exported
  program would have to know in advance
  ([your own molecules](../../notebooks/your_molecules.ipynb))."""


@cache
def measured() -> dict:
    return json.loads(MEASURED.read_text(encoding="utf-8"))


def records(name: str) -> list[Record]:
    """Of all seeds whose weights are shipped."""
    paths = sorted(WEIGHTS.glob(f"{record_stem(name, 0)[:-1]}[0-9]*.safetensors"))
    return [record_in(path) for path in paths]


def over_seeds(name: str) -> str:
    """The mean test error of chapter 10's runs, with its spread; empty for a published recipe."""
    if name in RECIPES:
        return ""
    errors = [record.result["test_mae"] for record in recorded(name)]
    return together(f"{mean(errors):.3f} ± {stdev(errors):.3f}")


def inputs(name: str) -> str:
    """What the model reads besides the types of atoms and bonds."""
    found = [type(each) for each in get_recipe(name).transforms]
    if "-do/" in name:  # of the distances only the second objective is made
        found.remove(AddShortestPaths)
    return ", ".join(WORDS[each] for each in found)


def index(cards: list[Card]) -> str:
    tables = {}
    for data in DATA:
        found = [card.name for card in cards if records(card.name)[0].data["name"] == data]
        columns = ["model", "inputs besides atoms and bonds", "parameters", "test MAE"]
        rows = []
        for name in found:
            record, *_ = records(name)
            link = f"[{name}](model-{name.replace('/', '-')})"
            error = f"{record.result['test_mae']:.3f}"
            rows.append([link, inputs(name), f"{record.parameters:,}", error])
        if data == "molecules":
            columns[-1] = "test MAE, seed 0"
            columns.append("test MAE, mean of three seeds")
            rows = [[*row, over_seeds(name)] for row, name in zip(rows, found, strict=True)]
        tables[data] = markdown_table(columns, rows)
    return INDEX.format(**tables)


def page(card: Card) -> str:
    record, *_ = found = records(card.name)
    kind = card.name.partition("-")[0].partition("/")[0]
    smallest, largest = card.atoms
    own = record.data["name"]
    errors = measured()["errors"][card.name][own]
    return PAGE.format(
        name=card.name,
        stem=card.name.replace("/", "-"),
        explained=EXPLAINED[own].format(train=record.data["sizes"]["train"]),
        kind=KINDS[kind],
        parameters=record.parameters,
        note=NAMES.get(card.name, ""),
        seeds=ENSEMBLE.format(name=card.name) if len(found) > 1 else "",
        verdict=verdict(card.name, record),
        alt=ALT.format(by_size=by_size_in_words(errors)),
        own=DATA[own],
        by_size=by_size_in_words(errors),
        accuracy=accuracy(card.name, record),
        choice=choice(card.name, record),
        other=other_set(card.name, own),
        trend=trend(card.name),
        similar=SIMILAR,
        seen=seen_types(own),
        unlike=unlike(card.name, own),
        mae=errors["mae"],
        smallest=smallest,
        largest=largest,
        memory="" if kind == "signnet" else MEMORY,
        elements=len(ATOM_TYPES),
        types=", ".join(f"`{name}`" for name in ATOM_TYPES),
        spread=SPREAD_OF_SEEDS if len(found) > 1 else "",
        bases=BASES.get(kind, "").format(repeated=errors["repeated"]),
        export=EXPORT if kind == "signnet" else "",
        about=about(card, record),
        training=training(card.name),
        tried=""
        if card.name == "csa-rings/zinc"
        else f"\nWe have not tried this with `{card.name}`.",
        source=SOURCES[own],
        date=record.date,
        commit=short(record.commit),
        command=record.command,
        also=" (the part on the GPU with `python -m experiments.captured`)"
        if "experiments.captured" in record.device
        else "",
        measured=short(measured()["commit"]),
    )


def about(card: Card, record: Record) -> str:
    """What it reads and predicts, and how it was trained."""
    sizes = record.data["sizes"]
    changed = record.config.get("changed", {})
    epochs = f"{record.config['epochs']} epochs"
    if card.name in RECIPES:
        published = RECIPES[card.name].epochs
        some = (
            "all" if record.config["epochs"] == published else f"{record.config['epochs']} of the"
        )
        epochs = f"{some} {published:,} epochs of the paper's recipe"
    trained = [str(each.seed) for each in records(card.name)]
    encodings = ", ".join(f"`{each!r}`" for each in get_recipe(card.name).transforms)
    rows = [
        ("predicts", card.target),
        ("inputs", f"types of atoms and bonds, {inputs(card.name)}"),
        ("encodings in the package", encodings),
        ("trained on", f"{DATA[record.data['name']]} ({sizes['train']:,} for training)"),
        (
            "validated, tested on",
            f"{sizes['val']:,} and {sizes['test']:,} other molecules of the same set",
        ),
        ("size of the molecules", f"{card.atoms[0]} to {card.atoms[1]} atoms, without hydrogens"),
        (
            "training",
            f"{epochs}, batches of {changed.get('batch_size', record.config['batch_size'])}",
        ),
        ("time", f"{record.seconds / 60:.0f} minutes, {where_trained(record)}"),
        ("weights included", f"seed{'s' if len(trained) > 1 else ''} {', '.join(trained)}"),
    ]
    if card.name in RECIPES and (changed := differences(recipe_result(card.name))):
        words = re.sub(r"\d+ size buckets", r"similar sizes within a batch (\g<0>)", changed)
        rows.insert(7, ("differs from the recipe", words.replace(" rate ", " learning rate ")))
    return markdown_table(("", ""), rows)


def where_trained(record: Record) -> str:
    """The device of a run, or the devices with their epochs if it moved between them."""
    return machines(record.device) if spans(record.device) else device(record.device)


@cache
def recipe_result(name: str) -> Result:
    """The recorded run whose weights are shipped, beside the paper's result."""
    return next(each for each in results(read_results([RESULTS])) if each.recipe.name == name)


def verdict(name: str, record: Record) -> str:
    """The error, and whether the best predictor without a neural network does better."""
    own = record.data["name"]
    beaten = line_to_beat(own, record.data["sizes"]["train"])
    best = beaten[BEST_SIMPLE]
    now = measured()["errors"][name][own]["mae"]
    text = (
        f"On 1,000 test molecules of the same set, the mean absolute error (MAE) is {now:.3f}. "
        "Always predicting the mean target of the training molecules gives an error of "
        f"{beaten['mean']:.3f}. "
        "The best simple predictor that we fitted reaches "
        f"{best:.3f}. It is a ridge regression on 1-WL colour counts, which describe the "
        "surroundings of each atom up to four bonds away, and it is fitted in seconds."
    )
    if name in RECIPES:
        assert now < best
        return f"{text} The network's error is {100 * now / best:.0f} % of that."
    errors = [run.result["test_mae"] for run in recorded(name)]
    number = NUMBERS[len(errors)]
    found = f"For chapter 10, we trained the network {number} times, with different seeds."
    found += f" The mean error is {over_seeds(name)}"
    if max(errors) < best:
        return f"{text}\n\n{found}, and each of the {number} networks beats the regression."
    if min(errors) > best:
        return f"{text}\n\n{found}, and the regression beats each of the {number} networks."
    return (
        f"{text}\n\n{found}. Some of the {number} networks are better than the regression and some "
        "are worse, so we call the two level."
    )


def training(name: str) -> str:
    """How much of the published training the model had, or what it was trained for."""
    if name not in RECIPES:
        return TRAINED_HERE
    result = recipe_result(name)
    average, deviation = result.paper
    own, *others = result.values  # the weights of seed 0 come with the package
    reached = f"It reaches a test error of {own:.3f}."
    if others:
        errors = listed(f"{error:.3f}" for error in others)
        with_seeds = "another seed" if len(others) == 1 else "other seeds"
        reached += f" Trained again with {with_seeds}, it reaches {errors}."
    paper = together(f"{average:.3f} ± {deviation:.3f}")
    if complete(result):
        text = "\nThe model was trained exactly as long as its paper describes"
        if name == "csa-rings-bounded/zinc":
            text += (
                ", but with bounded attention logits. Without the bound, our runs "
                "[diverged](../results/divergence.md) with both seeds, and so did a control that "
                f"differs from this run only in that it has no bound. {reached} The paper reports "
                f"{paper}{SPREAD}, and mentions no bound."
            )
            return text
        return f"{text}. {reached} The paper reports {paper}{SPREAD}."
    text = (
        f"\nDuring its training, the model saw only {100 * share(result):.2g} % as many molecules "
        f"as in its paper. {reached} With the complete training, the paper reports {paper}{SPREAD}."
    )
    if name == "csa-rings/zinc":
        text += (
            " We have not reached this: all our runs of the complete training "
            "[diverged](../results/divergence.md). With bounded attention logits, a run went "
            "through all 2,000 epochs ([csa-rings-bounded/zinc](model-csa-rings-bounded-zinc))."
        )
    return text


def by_size_in_words(errors: dict) -> str:
    """The errors of the smallest and of the largest test molecules."""
    atoms, maes = errors["atoms"], errors["mae by atoms"]
    middle = [f"{mae:.3f}" for mae in maes[1:-1]]
    return (
        f"For the 200 smallest test molecules, with {atoms[0]:.0f} atoms on average, the mean "
        f"absolute error is {maes[0]:.3f}. For the 200 largest, with {atoms[-1]:.0f} atoms, it is "
        f"{maes[-1]:.3f}. In the three groups between them, it is {listed(middle)}."
    )


def other_set(name: str, own: str) -> str:
    """How the error on the other data set depends on atom types that training did not have."""
    (data,) = set(DATA) - {own}
    error = measured()["errors"][name][data]
    new = error["with new atom types"]
    text = f"On {DATA[data]}, the other data set in the table, the error is {error['mae']:.3f}. "
    if not new:
        return (
            f"{text}These molecules come from another collection. All of their atom types occur in "
            "the training molecules, so new types cannot explain the larger error. We do not know "
            "what does."
        )
    return (
        f"{text}Of these 1,000 molecules, {new} contain an atom type that does not occur in the "
        "training molecules, such as `C H1`, a carbon whose hydrogen appears explicitly in the "
        "SMILES string, as in `[C@H]` (see Limits). Their "
        f"error is {error['mae with new atom types']:.3f}, and that of the others is "
        f"{error['mae without']:.3f}. So do not rely on this model for molecules with such types."
    )


def seen_types(own: str) -> str:
    """Which of the atom types occur where the model was trained."""
    if own == "zinc":
        known = measurement("zinc-statistics")["statistics"]["atom_type_percent"]
        return (
            "The list is that of the complete ZINC data set. Only "
            f"{len(known)} of the types occur among the 12,000 molecules of ZINC-12k, so "
            f"the model has learned nothing about the other {len(ATOM_TYPES) - len(known)}."
        )
    known = trained_on(own, 4000)["types"]
    missing = [f"`{kind}`" for at, kind in enumerate(ATOM_TYPES) if at not in known]
    return (
        f"The training molecules contain only {len(known)} of these types, and the model has "
        f"learned nothing about the other {len(missing)}: {', '.join(missing)}."
    )


def trend(name: str) -> str:
    """How the error depends on the similarity to the training molecules."""
    if all(each["mae unlike"] > each["mae like"] for each in measured()["errors"][name].values()):
        return (
            "On average, the error is larger for molecules that are unlike the training molecules."
        )
    return "Molecules that are unlike the training molecules do not always have a larger error."


def own_first(own: str) -> list[str]:
    """The data sets, first the one that a model was trained on."""
    return sorted(DATA, key=lambda data: data != own)


def accuracy(name: str, record: Record) -> str:
    """Errors on both sets, beside what needs no neural network."""
    own = record.data["name"]
    rows = []
    for data in own_first(own):
        error = measured()["errors"][name][data]
        where = DATA[data] if data == own else f"{DATA[data]} (another data set)"
        rows.append(("this model", where, f"{error['mae']:.3f}", f"{error['95 %']:.2f}"))
    beaten = line_to_beat(own, record.data["sizes"]["train"])
    rows += [(simple, DATA[own], f"{value:.3f}", "") for simple, value in beaten.items()]
    return markdown_table(("predicted by", "test molecules", "MAE", "95th percentile"), rows)


def choice(name: str, record: Record) -> str:
    """Why the error of ``gtcourse predict`` is not the one that the run recorded, if it is not."""
    of_run = record.result["test_mae"]
    now = measured()["errors"][name][record.data["name"]]
    if f"{of_run:.3f}" == f"{now['mae']:.3f}":
        return ""
    vectors, matrix, value = VECTORS[name.partition("-")[0]]
    return CHOICE.format(
        now=now["mae"],
        recorded=of_run,
        where="" if name in RECIPES else ", and this value is part of the mean error",
        vectors=vectors,
        matrix=matrix,
        value=value,
        repeated=now["repeated"],
    )


def count_repeated(graphs: list[Data], transforms: tuple[Encoding, ...]) -> int:
    """How many graphs have a repeated eigenvalue or singular value among those that are read."""
    repeated = 0
    for graph in graphs:
        A = to_dense_adj(graph.edge_index, max_num_nodes=graph.num_nodes)[0].bool()
        for transform in transforms:
            if isinstance(transform, AddLaplacianEigenvectors):
                values = torch.linalg.eigvalsh(laplacian(A, transform.normalization))
                values = values[int(transform.skip_first) :]
                number = transform.k
            elif isinstance(transform, AddSVD):
                values = torch.linalg.svdvals((A | torch.eye(len(A)).bool()).double())
                number = transform.rank
            else:
                continue
            # A value that equals the first one that is left out has a choice as well.
            repeated += bool((values.diff().abs()[:number] < 1e-9).any())
    return repeated


def unlike(name: str, own: str) -> str:
    """The errors on both sets by the similarity to the training molecules."""
    rows = []
    for data in own_first(own):
        by = measured()["errors"][name][data]
        rows.append(
            (DATA[data], f"{by['unlike']}", f"{by['mae unlike']:.3f}", f"{by['mae like']:.3f}")
        )
    below = f"number with a similarity below {SIMILAR}"
    columns = ("test molecules", below, "MAE of these", "MAE of the others")
    return markdown_table(columns, rows)


def pages() -> dict[Path, str]:
    cards = available_models()
    texts = {"index": index(cards)}
    texts |= {card.name.replace("/", "-"): page(card) for card in cards}
    return {FOLDER / f"{name}.md": f"{HEADER}\n\n{text}\n" for name, text in texts.items()}


def picture_of(name: str) -> Path:
    return PICTURES / f"{name.replace('/', '-')}.svg"


def described(name: str, mae: float) -> str:
    """What a picture says of itself, so that one of other weights is noticed."""
    return f"{name}: mean absolute error {mae:.3f}"


def old_pictures() -> list[str]:
    """A sentence for each model whose picture is missing or shows other predictions."""
    faults = []
    for card in available_models():
        own = records(card.name)[0].data["name"]
        expected = described(card.name, measured()["errors"][card.name][own]["mae"])
        path = picture_of(card.name)
        if not path.exists() or expected not in path.read_text(encoding="utf-8"):
            where = path.relative_to(ROOT)
            faults.append(f"{where} does not show {expected}; run tools.model_cards draw")
    return faults


def draw(file: Path) -> None:
    """Each model's predictions for the test molecules of its own data set."""
    use_style()
    PICTURES.mkdir(exist_ok=True)
    sets = both_sets(file)
    for card in available_models():
        predictor = load(card.name)
        graphs = sets[predictor.record.data["name"]].test
        exact = torch.cat([graph.y for graph in graphs])
        predicted = predictor.predict(graphs)
        sizes = torch.tensor([graph.num_nodes for graph in graphs])
        picture(card.name, exact, predicted, sizes)


def picture(name: str, exact: Tensor, predicted: Tensor, sizes: Tensor) -> None:
    """Predictions against exact values, and errors by the number of atoms; ``[1000]`` each."""
    error = (predicted - exact).abs()
    figure, (left, right) = plt.subplots(1, 2, figsize=(5.7, 2.6))
    ends = (exact.quantile(0.005).item(), exact.max().item())
    left.plot(ends, ends, color=INK, linewidth=1, zorder=1)
    color = model_color(name)
    look = {"s": 6, "color": color, "alpha": 0.5, "linewidths": 0}
    left.scatter(exact, predicted, **look, rasterized=True)
    limits = (ends[0] - 0.5, ends[1] + 0.5)
    left.set(xlabel="exact", ylabel="predicted", xlim=limits, ylim=limits)
    atoms, errors = by_size(error, sizes)
    right.plot(atoms, errors, "o-", color=color)
    right.set(xlabel="atoms", ylabel="mean absolute error", ylim=(0, 1.15 * max(errors)))
    about = {"Date": None, "Description": described(name, error.mean().item())}
    path = picture_of(name)
    figure.savefig(path, metadata=about, dpi=200)
    plt.close(figure)
    path.write_text(path.read_text().replace(INK, "currentColor").replace("*{", STYLE, 1))


def by_size(error: Tensor, sizes: Tensor) -> tuple[list[float], list[float]]:
    """The mean number of atoms and the mean error of five groups, the smallest molecules first."""
    groups = sizes.argsort(stable=True).chunk(5)
    atoms = [sizes[group].float().mean().item() for group in groups]
    return atoms, [error[group].mean().item() for group in groups]


def both_sets(file: Path) -> dict[str, GraphDataset]:
    """ZINC with its SMILES, and the embedded molecules."""
    smiles = bytes(read_npz(file)["smiles_utf8"]).decode().splitlines()
    zinc = load_dataset("zinc", file)
    for graph, text in zip(zinc.graphs, smiles, strict=True):
        graph.smiles = text
    return {"zinc": zinc, "molecules": load_dataset("molecules")}


def measure(file: Path) -> None:
    """Writes fingerprints of the training molecules, and errors on both sets."""
    sets = both_sets(file)
    zinc = sets["zinc"]
    embedded = sets["molecules"]
    known = {"zinc": fingerprints(graph.smiles for graph in zinc.train)}
    known["molecules"] = fingerprints(graph.smiles for graph in embedded.train[:4000])
    for data, bits in known.items():
        path = WEIGHTS / f"training-{data}-{len(bits)}.npz"
        with replacing(path) as temporary, open(temporary, "wb") as file:
            np.savez_compressed(file, morgan=bits)
    tested = {data: fingerprints(graph.smiles for graph in sets[data].test) for data in sets}
    errors: dict[str, dict[str, dict[str, float | list[float] | None]]] = {}
    for card in available_models():
        predictor = load(card.name)
        errors[card.name] = {}
        data_of_run = predictor.record.data
        own = known[data_of_run["name"]]
        training = sets[data_of_run["name"]].train[: data_of_run["sizes"]["train"]]
        types = torch.cat([graph.x[:, 0] for graph in training]).unique()
        for data, graphs in sets.items():
            y = torch.cat([graph.y for graph in graphs.test])
            error = (predictor.predict(graphs.test) - y).abs()
            like = torch.from_numpy(nearest_similarity(tested[data], own) >= SIMILAR)
            sizes = torch.tensor([graph.num_nodes for graph in graphs.test])
            atoms, of_sizes = by_size(error, sizes)
            new = torch.tensor(
                [not torch.isin(graph.x[:, 0], types).all() for graph in graphs.test]
            )
            errors[card.name][data] = {
                "mae": error.mean().item(),
                "95 %": error.quantile(0.95).item(),
                "unlike": int((~like).sum()),
                "mae unlike": error[~like].mean().item() if (~like).any() else None,
                "mae like": error[like].mean().item(),
                "with new atom types": int(new.sum()),
                "mae with new atom types": error[new].mean().item() if new.any() else None,
                "mae without": error[~new].mean().item(),
                "atoms": atoms,
                "mae by atoms": of_sizes,
                "repeated": count_repeated(graphs.test, predictor.transforms),
            }
        print(card.name, errors[card.name], flush=True)
    about = {"commit": current_commit(), "date": datetime.now(UTC).strftime("%Y-%m-%d")}
    about |= {"device": device_name(), "versions": installed_versions()}
    write_json(MEASURED, about | {"errors": errors})


def main() -> int:
    if sys.argv[1:2] == ["measure"]:
        measure(Path(sys.argv[2]))
        return 0
    if sys.argv[1:2] == ["draw"]:
        draw(Path(sys.argv[2]))
        return 0
    return run(pages, old_pictures)


if __name__ == "__main__":
    sys.exit(main())
