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
from gtcourse.course.leaderboard import line_to_beat
from gtcourse.course.plots.figures import INK, model_color, use_style
from gtcourse.encodings import AddLaplacianEigenvectors, AddSVD, Encoding
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
from tools.pages import device, markdown_table, run, short, together
from tools.paths import ROOT
from tools.result_figures import STYLE
from tools.result_tables import RESULTS, complete, differs, share

FOLDER = ROOT / "book" / "models"
MEASURED = FOLDER / "measured.json"
PICTURES = ROOT / "book" / "_static" / "models"
HEADER = "<!-- written by python -m tools.model_cards write -->"
DATA = {"zinc": "ZINC-12k", "molecules": "the embedded molecules"}
KINDS = {
    "csa": ("a Chromatic Graph Transformer, which has CSA's layers", "09_csa", "chapter 09"),
    "grpe": ("a Transformer with GRPE", "08_grpe", "chapter 08"),
    "egt": ("an Edge-augmented Graph Transformer", "07_egt", "chapter 07"),
    "graphormer": ("a Graphormer", "06_graphormer", "chapter 06"),
    "signnet": ("a GatedGCN with SignNet", "05_signnet", "chapter 05"),
}
INDEX = """\
(model-cards)=
# Model cards

These trained models come with the package. All of them predict penalised logP, which RDKit can
also compute exactly. That makes them good for learning: you can check each prediction. For a
property of your own, [train on your measurements](../../notebooks/your_molecules.ipynb), from
scratch or from one of these models.

Which one should you take? On molecules like those of ZINC, `csa-rings/zinc` has the lowest error,
and it is the one that [Which model for my graphs?](../which_model.md) fine-tunes. The models with
100k in their names and molecules after the slash are small, and they were trained under the same
conditions to be compared in [chapter 10](../../notebooks/10_one_framework.ipynb). Four of them run
in the [explainer](../explainer.md).

{table}

*Mean absolute errors at the end of each run, on 1,000 test molecules of the set that the model was
trained on; ± is the standard deviation over seeds. A model predicts with
`gtcourse predict NAME SMILES`, and `gtcourse models` prints this list.*"""
PAGE = """\
(model-{stem})=
# {name}

This model is {kind} ([{chapter}](../../notebooks/{file}.ipynb)). It has {parameters:,} parameters
and predicts penalised logP. {purpose}

```bash
gtcourse predict {name} CCO "c1ccccc1O"
```

{about}

## Accuracy

```{{figure}} ../_static/models/{stem}.svg
:alt: {alt}

Test molecules ({own}). Left: each point is a molecule. For points on the line, the prediction is
exact. Right: the mean absolute error of molecules with similar numbers of atoms, in five groups of
200.
```

{accuracy}

*Mean absolute errors of seed 0 on the 1,000 test molecules of each set; 95 % of the molecules have
a smaller error than the last column says. From "mean" on, the predictors are not neural
networks.{seeds}*
{choice}
{trend} The column *similarity* of
`gtcourse predict` is the Tanimoto similarity to the nearest of them (Morgan fingerprints of radius
2). The table counts the test molecules with a similarity below {similar}:

{unlike}

## Limits

- The target is computed, not measured. An error of 0.1 means that the model imitates the
  formula well. It does not show how well the model would predict measurements.
- Training molecules have {smallest} to {largest} atoms, hydrogens not counted. We have not measured
  the error on larger molecules, and memory grows with the square of the number of atoms.
- The model knows the {elements} atom types of ZINC: {types}. `+` and `-` are charges. `H1` to `H3`
  give the number of hydrogens that the SMILES string writes in brackets, as in `C[NH3+]` or
  `C[C@H](N)O`. Other hydrogens are not counted, so the carbons of a chain are of type `C`. A
  molecule with any other atom, such as silicon or boron, gets no prediction, and the output states
  the reason.
- The model ignores stereochemistry: mirror images get the same prediction.
- A salt or a mixture is read as one molecule with several pieces. `--largest-fragment` reads the
  largest piece alone. All training molecules have one piece.
- A prediction comes without an error bar.{export}

## Fine-tune it

```bash
gtcourse train {name} --csv my.csv --target activity \\
    --start {name} --epochs 20
```

*Trained on {date} at commit `{commit}`: `{command}`. Errors measured at commit `{measured}`.*"""
CHOICE = """
At the end of its run the model had an error of {recorded:.3f}. It reads {vectors} of a graph. Where
a value is repeated, its vectors are not unique, and the code has to choose them. For {repeated} of
the 1,000 test molecules the model reads vectors of a repeated value, and the code that chooses them
has changed since the run. With the earlier choices, today's code gives {recorded:.3f} again.
"""
VECTORS = {"egt": "singular vectors", "signnet": "eigenvectors"}
"""What a model reads of which there are several choices."""

ALT = (
    "Left: predicted against exact penalised logP of 1,000 test molecules; the points lie along "
    "the diagonal, and a few lie far from it. Right: the mean absolute error against the number of "
    "atoms, for five groups of molecules."
)
EXPORT = """
- The model works on lists of edges, so it cannot be exported to ONNX."""


@cache
def measured() -> dict:
    return json.loads(MEASURED.read_text(encoding="utf-8"))


def records(name: str) -> list[Record]:
    """Of all seeds whose weights are shipped."""
    paths = sorted(WEIGHTS.glob(f"{record_stem(name, 0)[:-1]}[0-9]*.safetensors"))
    return [record_in(path) for path in paths]


def error_of(name: str) -> str:
    """The test error, with its spread if there are several seeds."""
    errors = [record.result["test_mae"] for record in records(name)]
    if len(errors) == 1:
        return f"{errors[0]:.3f} (1\N{NO-BREAK SPACE}seed)"
    return f"{mean(errors):.3f} ± {stdev(errors):.3f} ({len(errors)}\N{NO-BREAK SPACE}seeds)"


def index(cards: list[Card]) -> str:
    rows = [
        (
            f"[{card.name}](model-{card.name.replace('/', '-')})",
            DATA[records(card.name)[0].data["name"]],
            f"{records(card.name)[0].data['sizes']['train']:,}",
            f"{records(card.name)[0].parameters:,}",
            error_of(card.name),
        )
        for card in cards
    ]
    columns = ("model", "trained on", "molecules", "parameters", "test MAE")
    return INDEX.format(table=markdown_table(columns, rows))


def page(card: Card) -> str:
    record, *_ = found = records(card.name)
    kind, file, chapter = KINDS[card.name.partition("-")[0].partition("/")[0]]
    smallest, largest = card.atoms
    seeds = ""
    if len(found) > 1:
        seeds = f" With several seeds, the test error is {error_of(card.name)}."
    return PAGE.format(
        name=card.name,
        stem=card.name.replace("/", "-"),
        kind=kind,
        file=file,
        chapter=chapter,
        parameters=record.parameters,
        purpose=purpose(card.name),
        about=about(card, record),
        trend=trend(card.name),
        alt=ALT,
        own=DATA[record.data["name"]],
        accuracy=accuracy(card.name, record),
        seeds=seeds,
        choice=choice(card.name, record),
        unlike=unlike(card.name, record.data["name"]),
        smallest=smallest,
        largest=largest,
        elements=len(ATOM_TYPES),
        types=", ".join(f"`{name}`" for name in ATOM_TYPES),
        similar=SIMILAR,
        export=EXPORT if card.name.startswith("signnet") else "",
        date=record.date,
        commit=short(record.commit),
        command=record.command,
        measured=short(measured()["commit"]),
    )


def about(card: Card, record: Record) -> str:
    """What it predicts, from what, and how it was trained."""
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
    seeds = f"seed{'s' if len(trained) > 1 else ''} {', '.join(trained)}"
    rows = [
        ("predicts", card.target),
        ("trained on", f"{DATA[record.data['name']]} ({sizes['train']:,} for training)"),
        (
            "validated, tested on",
            f"{sizes['val']:,} and {sizes['test']:,} other molecules of the same set",
        ),
        ("size of the molecules", f"{card.atoms[0]} to {card.atoms[1]} atoms, without hydrogens"),
        ("reads", ", ".join(f"`{each!r}`" for each in get_recipe(card.name).transforms)),
        (
            "training",
            f"{epochs}, batches of {changed.get('batch_size', record.config['batch_size'])}",
        ),
        ("time", f"{record.seconds / 60:.0f} minutes, {device(record.device)}"),
        ("weights of", seeds),
    ]
    if card.name in RECIPES and (changed := differs(recipe_result(card.name))):
        rows.insert(6, ("differs from the recipe", changed))
    return markdown_table(("", ""), rows)


@cache
def recipe_result(name: str) -> Result:
    """The recorded run whose weights are shipped, beside the paper's result."""
    return next(each for each in results(read_results([RESULTS])) if each.recipe.name == name)


def purpose(name: str) -> str:
    """What the model is good for, and how much training it had."""
    learn = (
        "Use it to study how such a model works, or as a start for a model of your own. To know "
        "penalised logP you need no model, because RDKit computes it."
    )
    if name not in RECIPES:
        return f"{learn} The model was trained for the comparison of chapter 10."
    result = recipe_result(name)
    average, deviation = result.paper
    reached = f"its test error is {mean(result.values):.3f}"
    paper = together(f"{average:.3f} ± {deviation:.3f}")
    if complete(result):
        return (
            f"{learn} The model had the complete training that its paper describes, and {reached}. "
            f"The paper prints {paper}."
        )
    return (
        f"{learn} The model had only {100 * share(result):.2g} % of the training that its paper "
        f"describes, and {reached}. With the complete training, the paper reaches {paper}."
    )


def trend(name: str) -> str:
    """How the error depends on the similarity to the training molecules."""
    if all(each["mae unlike"] > each["mae like"] for each in measured()["errors"][name].values()):
        return "The error is larger for molecules that are unlike the training molecules."
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
    return markdown_table(("predicted by", "test molecules", "MAE", "95 % below"), rows)


def choice(name: str, record: Record) -> str:
    """Why the error of ``gtcourse predict`` is not the one that the run recorded, if it is not."""
    recorded = record.result["test_mae"]
    now = measured()["errors"][name][record.data["name"]]
    if f"{recorded:.3f}" == f"{now['mae']:.3f}":
        return ""
    vectors = VECTORS[name.partition("-")[0]]
    return CHOICE.format(recorded=recorded, vectors=vectors, repeated=now["repeated"])


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
    columns = ("test molecules", f"below {SIMILAR}", "their MAE", "MAE of the others")
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
        trained_on = predictor.record.data
        own = known[trained_on["name"]]
        training = sets[trained_on["name"]].train[: trained_on["sizes"]["train"]]
        types = torch.cat([graph.x[:, 0] for graph in training]).unique()
        for data, graphs in sets.items():
            y = torch.cat([graph.y for graph in graphs.test])
            error = (predictor.predict(graphs.test) - y).abs()
            like = torch.from_numpy(nearest_similarity(tested[data], own) >= SIMILAR)
            sizes = torch.tensor([graph.num_nodes for graph in graphs.test])
            atoms, of_sizes = by_size(error, sizes)
            new = torch.tensor([not graph.x[:, 0].isin(types).all() for graph in graphs.test])
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
