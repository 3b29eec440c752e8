"""Trials that chapters mention beside their own runs: the page's code with other settings or seeds.

    python -m experiments.trials NAME --out experiments/records/trials.json

NAME is that of a function below that is listed in TRIALS; its result takes the place of an older
one in the file. A page would take too long to run if it ran its trials, too. The code is that of
the chapter's cells, as far as a trial needs it, at the budget of a CPU.
"""

from __future__ import annotations

import argparse
import json
import re
from dataclasses import replace
from pathlib import Path

import torch
from torch.optim.lr_scheduler import OneCycleLR

from experiments import chapter07
from experiments.chapter10 import EPOCHS, load, run_of
from experiments.runs import origin, train
from gtcourse import load_dataset
from gtcourse.course.grid import Cell
from gtcourse.runs.record import write_json
from tools.paths import TEXTS

CELL = re.compile(
    r"^```\{code-cell\} ipython3\n(?:---\n.*?^---\n|:tags:[^\n]*\n\n?)?(.*?)^```$", re.M | re.S
)
SEEDS = range(3)


def page(chapter: str, until: str, changed: dict[str, str] | None = None) -> dict:
    """The names that a chapter's cells define before the first ``until``.

    Args:
        chapter: its number, such as "01".
        until: where the code ends, which may be within a cell.
        changed: code of the chapter, and what takes its place.
    """
    (path,) = TEXTS.glob(f"{chapter}_*.md")
    code = "\n".join(CELL.findall(path.read_text(encoding="utf-8")))
    for old, new in (changed or {}).items():
        if old not in code:
            raise ValueError(f"{path.name} has no code {old!r}; expected some to change.")
        code = code.replace(old, new)
    before, found, _ = code.partition(until)
    if not found:
        raise ValueError(f"{path.name} has no code {until!r}; expected some to end with.")
    names: dict = {"__name__": "__main__"}
    exec(compile(before, path.name, "exec"), names)  # noqa: S102
    return names


def longer_lookup() -> float:
    """Section 1.3: the error of the averaging model after ten times as many steps."""
    names = page("01", "torch.manual_seed(0)\nrows = []")
    torch.manual_seed(0)
    model = names["MeanLookup"]()
    steps = 4000
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    schedule = OneCycleLR(optimizer, 3e-3, total_steps=steps)
    for _ in range(steps):
        *inputs, answer = names["lookups"](128)
        loss = (model(*inputs) - answer).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    with torch.no_grad():
        *inputs, answer = names["lookups"](2000)
        return (model(*inputs) - answer).abs().mean().item()


def readouts() -> dict[str, list[float]]:
    """Section 1.10: test errors of the bag with a mean and with a sum as its readout."""
    names = page("01", "torch.manual_seed(0)\n_, counting_mae")
    errors = {}
    for readout, build in {"mean": names["Bag"], "sum": names["CountingBag"]}.items():
        errors[readout] = []
        for seed in SEEDS:
            torch.manual_seed(seed)
            errors[readout].append(names["train_model"](build(), lr=5e-3)[1])
    return errors


def three_bonds() -> dict[str, list[float]]:
    """Section 3.11: accuracies of two and three masked layers if the answer is three bonds away."""
    one_hop_more = {
        "two = (A @ A > 0) & (A == 0)": ("two = (A @ A @ A > 0) & (A @ A == 0) & (A == 0)"),
    }
    names = page("03", "_, accuracy = train_all(two_bonds_away", one_hop_more)
    data, label, size = (names[name] for name in ("data", "two_bonds_away", "size"))
    test = names["DenseLoader"]([label(g) for g in data.test], 500, device=names["where"])
    graphs = [label(graph) for graph in data.train[: size["graphs"]]]
    task = names["balanced_task"](graphs)
    deeper = page(
        "03",
        "_, accuracy = train_all(two_bonds_away",
        one_hop_more | {"d=32, layers=2": "d=32, layers=3"},
    )
    accuracies = {}
    for layers, code in {"2 layers": names, "3 layers": deeper}.items():
        models = [code["train"](4, seed, graphs, size["epochs"], task) for seed in SEEDS]
        evaluated = [names["evaluate"](model, task, test) for model in models]
        accuracies[layers] = [scores["accuracy"] for scores in evaluated]
    return accuracies


def walk_steps() -> dict[str, list[float]]:
    """Section 4.9: accuracies of GIN with walks of five, six and ten steps, in percent."""
    return of_walks((5, 6, 10))


def short_walks() -> dict[str, list[float]]:
    """Section 4.9: accuracies of GIN with walks of two and four steps, in percent."""
    return of_walks((2, 4))


def degrees_for_walks() -> dict[str, list[float]]:
    """Section 4.9: accuracies of GIN with degrees, with and without five steps, in percent."""
    both = "torch.cat([degrees, each.rwse], dim=1)"
    return {
        "nothing": accuracies(page("04", "variants = ["), "GIN"),
        "degrees": of_inputs("degrees", 7),
        "degrees and 5 steps": of_inputs(both, 12),
    }


def of_inputs(inputs: str, width: int) -> list[float]:
    """Accuracies of GIN with other numbers of each node in place of walks, in percent.

    Args:
        inputs: code for the numbers; ``degrees`` is one-hot and ``each.rwse`` are five steps.
        width: how many numbers they are.
    """
    changed = {
        "    return encode(graphs, eigenvectors, AddRandomWalks(10, pairs=False))": f"""
    graphs = encode(graphs, eigenvectors, AddRandomWalks(5, pairs=False))
    for each in graphs:
        degrees = each.edge_index[0].bincount(minlength=each.num_nodes)
        degrees = F.one_hot(degrees, 7).float()
        each.rwse = {inputs}
    return graphs
""",
        "WalkEncoding(10, d)": f"WalkEncoding({width}, d)",
    }
    return accuracies(page("04", "variants = [", changed), "GIN-walks")


def accuracies(names: dict, model: str) -> list[float]:
    """Accuracies of one of chapter 04's models on CYCLES, in percent."""
    models = [names["train"](model, seed) for seed in SEEDS]
    evaluated = [names["evaluate"](model, names["task"], names["test"]) for model in models]
    return [100 * scores["accuracy"] for scores in evaluated]


def of_walks(numbers: tuple[int, ...]) -> dict[str, list[float]]:
    """Accuracies of GIN with walks of so many steps, in percent."""
    found = {}
    for steps in numbers:
        of_so_many = {
            "AddRandomWalks(10, pairs=False))": f"AddRandomWalks({steps}, pairs=False))",
            "WalkEncoding(10, d)": f"WalkEncoding({steps}, d)",
        }
        found[f"{steps} steps"] = accuracies(page("04", "variants = [", of_so_many), "GIN-walks")
    return found


def longer_signnet() -> list[float]:
    """Section 6.6: accuracies of the model with SignNet after more molecules and epochs."""
    more = {'cpu={"graphs": 1000, "epochs": 4}': 'cpu={"graphs": 4000, "epochs": 12}'}
    names = page("06", "runs = three_seeds(", more)
    return [names["train"]("SignNet", seed)[1] for seed in SEEDS]


def longer_bonds() -> list[float]:
    """Section 6.6: accuracies of three layers of attention along the bonds, at a GPU's budget."""
    more = {'cpu={"graphs": 1000, "epochs": 4}': 'cpu={"graphs": 5000, "epochs": 12}'}
    names = page("06", "runs = three_seeds(", more)
    return [names["train"]("bonds, 3 layers", seed)[1] for seed in SEEDS]


def slow_bias() -> list[float]:
    """Section 6.6: accuracies of the model with distances if its bias learns at the common rate."""
    common_rate = {"groups(model, lr, 10)": "groups(model, lr, 1)"}
    names = page("06", "runs = three_seeds(", common_rate)
    return [names["train"]("distances", seed)[1] for seed in SEEDS]


def two_nearest() -> float:
    """Section 7.9: the F1 of the rule of the two nearest neighbours on the longer test tours."""
    names = page("07", "model, score = train(")
    return names["two_nearest"](load_dataset("tsp").test)


def simple_faster() -> dict[str, float]:
    """Section 7.9: EGT-Simple on molecules, seed 0, at a higher peak rate than all other runs."""
    name = "egt-simple/molecules"
    run = chapter07.RUNS[name]
    data = chapter07.load(run.data)
    rate = 5e-3
    found = train(name, replace(run, peak=rate), data, 0, "").result
    return {"peak rate": rate, "test_mae": found["test_mae"]}


def ten_seeds() -> dict[str, list[float]]:
    """Section 9.4: errors of two heads without colour, and of one head with it."""
    names = page("09", "FINDERS = {")
    return {
        "2 heads": [names["puzzle_error"](2, False, seed) for seed in range(10)],
        "1 head, colour": [names["puzzle_error"](1, True, seed) for seed in range(10)],
    }


def failed_heads() -> dict[str, dict | list[float]]:
    """Section 9.15: attention of two heads to the wanted nodes, and errors after other training."""
    names = page("09", "FINDERS = {")
    away = names["away"][0]
    error = names["puzzle_error"]
    attention = {}
    for seed in SEEDS:
        model = names["train_finder"](2, False, seed)
        types, numbers, _ = names["puzzles"](1000)
        wanted = types == types[:, :1] - names["TYPES"]  # [1000, 13]
        with torch.no_grad():
            h = model.types(types) + model.number(numbers[..., None])
            E = model.distance(names["away"]).permute(2, 0, 1)[None]
            E = E.unflatten(1, (2, -1)).mean(dim=2).repeat_interleave(E.shape[1] // 2, dim=1)
            layer = model.attention
            _, a = names["chromatic"](layer.query(h), layer.key(h), layer.value(h), E, 2)
        of_heads = a[:, :: a.shape[1] // 2, 0]  # [1000, 2, 13], of node 0
        bands = {"near": (away > 0) & (away < 4), "far": away > 3}
        attention[f"seed {seed}"] = {
            name: (of_heads * (wanted & band)[:, None]).sum(dim=2).mean(dim=0).tolist()
            for name, band in bands.items()
        }
    return {
        "attention": attention,
        "2000 steps": [error(2, False, seed, steps=2000) for seed in range(10)],
        "peak rate 0.04": [error(2, False, seed, peak=0.04) for seed in range(10)],
    }


def gated_grpe() -> list[float]:
    """Section 10.11: errors of the small model with section 10.3's layer, GRPE's with a gate."""
    names = page("10", "if EPOCHS:")
    return [names["trained"](seed, 10) for seed in SEEDS]


def faster_bias() -> list[float]:
    """Section 10.11: errors of Graphormer's small model if its bias learns ten times as fast."""
    cell = Cell("graphormer", "structure", "sum")
    run = replace(run_of(cell, EPOCHS), faster=lambda model: model.tables)
    runs = [train(cell.name, run, load(cell.inputs), seed, "") for seed in SEEDS]
    return [each.result["test_mae"] for each in runs]


TRIALS = {
    trial.__name__: trial
    for trial in (
        longer_lookup,
        readouts,
        three_bonds,
        walk_steps,
        short_walks,
        degrees_for_walks,
        longer_signnet,
        longer_bonds,
        slow_bias,
        two_nearest,
        simple_faster,
        ten_seeds,
        failed_heads,
        gated_grpe,
        faster_bias,
    )
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("name", choices=TRIALS)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    name: str = arguments.name
    found = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
    trial = TRIALS[name]
    about = {"what": trial.__doc__, "result": trial()}
    found[name] = about | origin(f"python -m experiments.trials {name}")
    write_json(arguments.out, {key: found[key] for key in TRIALS if key in found})


if __name__ == "__main__":
    main()
