"""The tables of book/results/index.md, from the records in that folder and in the package.

python -m tools.results check    the page says what the records say
python -m tools.results write    make it so
python -m tools.results measure  measures memory.json again
"""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean

from gtcourse.encodings import encode
from gtcourse.graphs import collate, load_dataset
from gtcourse.recipes import RECIPES
from gtcourse.training.costs import step_costs
from gtcourse.training.records import Record, recorded
from gtcourse.training.results import Result, read_results, results, row, spread
from tools.paths import ROOT
from tools.placed import placed

FOLDER = ROOT / "book" / "results"
PAGE = FOLDER / "index.md"
MARK = "<!-- {name}: written by python -m tools.results write -->\n{text}\n<!-- end of {name} -->"
MEMORY = json.loads((FOLDER / "memory.json").read_text())
CYCLES_SIZES = (200, 500, 1000, 5000)

Rows = list[tuple[str, ...]]


def markdown(columns: tuple[str, ...], rows: Rows) -> str:
    lines = [columns, ("---",) * len(columns), *rows]
    text = "\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"
    return text.replace(" ± ", "\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}")


def papers(found: list[Result], datasets: tuple[str, ...]) -> str:
    """Paper and recorded runs of each recipe that was run, and what the runs took."""
    rows = []
    for result in (r for r in found if r.recipe.dataset in datasets and r.records):
        name, _, paper, recorded, *_ = row(result)
        first, memory = result.records[0], MEMORY.get(name)
        speed = mean(graphs_per_second(record) for record in result.records)
        epochs = result.budget.split(" epochs")[0].replace("the paper's", "all")
        rows.append((f"`{name.split('/')[0]}`", paper, alone(recorded),
                     f"{first.result['steps']:,}", epochs, f"{first.parameters:,}",
                     f"{speed:,.0f}", f"{memory:,}" if memory else ""))  # fmt: skip
    columns = ("recipe", "paper", "ours", "steps", "epochs", "parameters", "graphs/s", "MiB")
    end = None if any(memory for *_, memory in rows) else -1
    return markdown(columns[:end], [row[:end] for row in rows])


def measure() -> None:
    """Memory of a training step of each recipe that was run on ZINC, on as many molecules."""
    molecules, found = load_dataset("molecules").test, {}
    for record in (r.records[0] for r in results(read_results([FOLDER])) if r.records):
        if record.data["name"] == "zinc":
            recipe, graphs = RECIPES[record.name], molecules[: record.config["batch_size"]]
            batch = collate(encode(graphs, *recipe.transforms))
            costs = step_costs(recipe.build_model(), recipe.task, batch)
            found[record.name] = round(costs.memory / 2**20)
    (FOLDER / "memory.json").write_text(json.dumps(found, indent=1) + "\n")


def alone(number: str) -> str:
    """Without the number of seeds, which the text above each table states."""
    return re.sub(r" \(\d+ seeds?\)", "", number)


def graphs_per_second(record: Record) -> float:
    """Training graphs by the wall time of the run, validation included."""
    return len(record.curve) * record.data["sizes"]["train"] / record.seconds


def not_run(found: list[Result]) -> str:
    """The recipes with a printed result and no recorded run, folded away."""
    rows = [
        (f"`{name}`", metric, paper)
        for name, metric, paper, recorded, *_ in map(row, found)
        if recorded == "not yet run"
    ]
    table = markdown(("recipe", "metric", "paper"), rows)
    return f"\n```{{dropdown}} {len(rows)} published results without a recorded run\n{table}\n```\n"


def runs(found: list[Result]) -> str:
    """Where those numbers are from: data, time, device, commit."""
    rows = [
        (f"`{record.name}`", record.data["source"], minutes(record.seconds), record.device,
         f"`{short(record.commit)}`", record.date)
        for result in found
        for record in result.records
    ]  # fmt: skip
    table = markdown(("run", "data", "time", "device", "commit", "date"), rows)
    return f"\n```{{dropdown}} Data, time, device and commit of each run\n{table}\n```\n"


def short(commit: str) -> str:
    """Seven figures of each commit, with the "+changes" that it may have had."""
    return re.sub(r"\b([0-9a-f]{7})[0-9a-f]{33}\b", r"\1", commit)


def minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def cycles() -> str:
    """The lecture's table: accuracy in percent, the lecture's and ours below each other."""
    rows = []
    for name in (name for name in RECIPES if name.endswith("/cycles")):
        printed = RECIPES[name].paper_result["test_accuracy"]
        ours = [
            [100 * run.result["test_accuracy"] for run in recorded(f"{name}-{size}")]
            for size in CYCLES_SIZES
        ]
        theirs = (
            f"{100 * printed[size][0]:.1f} ± {100 * printed[size][1]:.1f}" for size in printed
        )
        rows.append((f"`{name}`", "lecture", *theirs))
        rows.append(
            ("", "recorded", *(re.sub(r"(\.\d)\d\d", r"\1", alone(spread(v))) for v in ours))
        )
    return markdown(("recipe", "", *map(str, CYCLES_SIZES)), rows)


def tables() -> dict[str, str]:
    found = results(read_results([FOLDER]))
    return {
        "zinc": papers(found, ("zinc",)),
        "communities": papers(found, ("pattern", "cluster")),
        "not-run": not_run(found),
        "cycles": cycles(),
        "runs": runs(found),
    }


def with_tables(text: str) -> str:
    """The page with the tables of today."""
    return placed(text, tables(), MARK)


def write_or_check(what: str, page: Path, with_tables: Callable[[str], str]) -> int:
    """With the word "write", brings a page up to date; 1 if it says other than the records."""
    text = page.read_text(encoding="utf-8")
    new = with_tables(text)
    if sys.argv[1:] == ["write"]:
        page.write_text(new, encoding="utf-8")
        text = new
    wrong = text != new
    print(f"{what}: the page {'does not say' if wrong else 'says'} what the records say")
    return int(wrong)


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    sys.exit(write_or_check("Results", PAGE, with_tables))
