"""The tables that pages take from records, run times and chapters.

python -m tools.tables check      the pages say what these say
python -m tools.tables write      make it so
python -m tools.tables measure    measure the memory of a training step on ZINC again
"""

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import mean

from gtcourse import load_dataset
from gtcourse.course.costs import step_costs
from gtcourse.course.records import measurement, recorded
from gtcourse.encodings import encode
from gtcourse.graphs import collate
from gtcourse.recipes import RECIPES
from gtcourse.runs.record import Record, Result, read_results, results, row, spread
from tools.exercises import FOLDED, HEADING, chapters, exercises, minutes
from tools.pages import markdown_table, placed, run
from tools.paths import NOTEBOOKS, ROOT, RUN_TIMES, TEXTS

RESULTS = ROOT / "book" / "results"
MEMORY = RESULTS / "memory.json"
CYCLES_SIZES = (200, 500, 1000, 5000)
WORDS_A_MINUTE = 150
HEADER, CODE = re.compile(r"\A---\n.*?\n---\n", re.S), re.compile(r"^```.*?^```$", re.M | re.S)


def markdown(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    return f"\n{markdown_table([*columns], rows)}\n"


def folded(title: str, table: str) -> str:
    return f"\n```{{dropdown}} {title}\n{table}\n```\n"


def short(commit: str) -> str:
    """Seven figures of each commit, with the "+changes" that it may have had."""
    return re.sub(r"\b([0-9a-f]{7})[0-9a-f]{33}\b", r"\1", commit)


def title(chapter: Path) -> str:
    return re.search(r"^# (.+)$", chapter.read_text(encoding="utf-8"), re.M)[1]


# Results: what the recorded runs reached.


def results_tables() -> dict[str, str]:
    found = results(read_results([RESULTS]))
    return {
        "zinc": papers(found, ("zinc",)),
        "communities": papers(found, ("pattern", "cluster")),
        "not-run": not_run(found),
        "cycles": cycles(),
        "runs": runs(found),
    }


def papers(found: list[Result], datasets: tuple[str, ...]) -> str:
    """Paper and recorded runs of each recipe that was run, and what the runs took."""
    memories, rows = json.loads(MEMORY.read_text()), []
    for result in (r for r in found if r.recipe.dataset in datasets and r.records):
        name, _, paper, recorded, *_ = row(result)
        first, memory = result.records[0], memories.get(name)
        speed = mean(graphs_per_second(record) for record in result.records)
        epochs = result.budget.split(" epochs")[0].replace("the paper's", "all")
        rows.append((f"`{name.split('/')[0]}`", paper, alone(recorded),
                     f"{first.result['steps']:,}", epochs, f"{first.parameters:,}",
                     f"{speed:,.0f}", f"{memory:,}" if memory else ""))  # fmt: skip
    columns = ("recipe", "paper", "ours", "steps", "epochs", "parameters", "graphs/s", "MiB")
    end = None if any(memory for *_, memory in rows) else -1
    return markdown(columns[:end], [row[:end] for row in rows])


def alone(number: str) -> str:
    """Without the number of seeds, which the text above each table states."""
    return re.sub(r" \(\d+ seeds?\)", "", number)


def graphs_per_second(record: Record) -> float:
    """Training graphs by the wall time of the run, validation included."""
    return len(record.curve) * record.data["sizes"]["train"] / record.seconds


def not_run(found: list[Result]) -> str:
    """The recipes with a printed result and no recorded run."""
    rows = [
        (f"`{name}`", metric, paper)
        for name, metric, paper, recorded, *_ in map(row, found)
        if recorded == "not yet run"
    ]
    table = markdown(("recipe", "metric", "paper"), rows)
    return folded(f"{len(rows)} published results without a recorded run", table)


def runs(found: list[Result]) -> str:
    """Where the numbers are from."""
    rows = [
        (f"`{record.name}`", record.data["source"], duration(record.seconds), record.device,
         f"`{short(record.commit)}`", record.date)
        for result in found
        for record in result.records
    ]  # fmt: skip
    table = markdown(("run", "data", "time", "device", "commit", "date"), rows)
    return folded("Data, time, device and commit of each run", table)


def duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


def cycles() -> str:
    """The lecture's table: accuracy in percent, the lecture's and ours below each other."""
    rows = []
    for name in (name for name in RECIPES if name.endswith("/cycles")):
        printed = RECIPES[name].paper_result["test_accuracy"].values()
        theirs = (f"{100 * value:.1f} ± {100 * deviation:.1f}" for value, deviation in printed)
        ours = [
            spread([100 * run.result["test_accuracy"] for run in recorded(f"{name}-{size}")])
            for size in CYCLES_SIZES
        ]
        rows.append((f"`{name}`", "lecture", *theirs))
        rows.append(("", "recorded", *(re.sub(r"(\.\d)\d\d", r"\1", alone(s)) for s in ours)))
    return markdown(("recipe", "", *map(str, CYCLES_SIZES)), rows)


def measure() -> None:
    """Memory of a training step of each recipe that was run on ZINC, on as many molecules."""
    molecules, found = load_dataset("molecules").test, {}
    for record in (r.records[0] for r in results(read_results([RESULTS])) if r.records):
        if record.data["name"] == "zinc":
            recipe, graphs = RECIPES[record.name], molecules[: record.config["batch_size"]]
            batch = collate(encode(graphs, *recipe.transforms))
            costs = step_costs(recipe.build_model(), recipe.task, batch)
            found[record.name] = round(costs.memory / 2**20)
    MEMORY.write_text(json.dumps(found, indent=1) + "\n")


# Benchmarks: the record of `python -m speed.models`.


def benchmark() -> dict:
    return measurement("models-benchmark")


def benchmark_tables() -> dict[str, str]:
    """Medians with their quartiles, and below them with what they were measured."""
    record = benchmark()
    rows = [
        (row["model"] if row["peer"] else f"`{row['model']}`", f"{row['parameters']:,}",
         quartiles(row["step"]), quartiles(row["forward"]), f"{row['graphs_per_second']:,}",
         f"{row['peak_mb']:.0f}")
        for row in record["rows"]
    ]  # fmt: skip
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    measured = (
        f"*{record['data']['source']}; {record['processor']}, {record['device']}; "
        f"{record['rounds']} rounds; {versions}; {record['date']}, commit "
        f"`{short(record['commit'])}`: `{record['command']}`.*\n"
    )
    columns = ("model", "parameters", "step, ms", "forward, ms", "graphs/s", "peak, MiB")
    return {"models": f"{markdown(columns, rows)}\n{measured}"}


def quartiles(times: dict) -> str:
    low, high = times["quartiles"]
    return f"{times['ms']:,.0f} ({low:,.0f}–{high:,.0f})"


# How to read, and for teachers: what a chapter takes.


def run_time_tables() -> dict[str, str]:
    times, rows = json.loads(RUN_TIMES.read_text()), []
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        run = times[notebook.stem]["cpu"]
        whole, seconds = divmod(run["seconds"], 60)
        time = f"{whole} min {seconds:02d} s" if run["seconds"] >= 100 else f"{run['seconds']} s"
        link = f"[{title(TEXTS / f'{notebook.stem}.md')}](../notebooks/{notebook.name})"
        rows.append((link, time, f"{run['peak_memory_mb'] / 1000:.1f} GB"))
    return {"run times": markdown(("chapter", "time on a CPU", "memory"), rows)}


def teacher_tables() -> dict[str, str]:
    rows = []
    for path in chapters():
        text = path.read_text(encoding="utf-8")
        section = re.search(r"^## (\d+\.\d+) Exercises$", text, re.M)[1]
        page = f"../notebooks/{path.stem}.ipynb"
        solutions = f"{page}#{section.replace('.', '')}-exercises"
        rows.append((f"[{title(path)}]({page}), [solutions]({solutions})", f"{reading(text)} min",
                     re.search(r"^\| Takes \| (.+) on one CPU core \|$", text, re.M)[1],
                     f"{len(exercises(text))}, {minutes(text)} min"))  # fmt: skip
    return {"what a chapter takes": markdown(("chapter", "read", "run", "exercises"), rows)}


def reading(text: str) -> int:
    """Minutes for the text of a chapter up to its exercises, in steps of five."""
    text = text[: HEADING.search(text).start()]
    for part in (HEADER, CODE, FOLDED):
        text = part.sub("", text)
    return max(5, 5 * round(len(text.split()) / WORDS_A_MINUTE / 5))


PAGES: dict[Path, Callable[[], dict[str, str]]] = {
    RESULTS / "index.md": results_tables,
    ROOT / "book" / "benchmarks" / "index.md": benchmark_tables,
    ROOT / "book" / "how_to_read.md": run_time_tables,
    ROOT / "book" / "teach.md": teacher_tables,
}


def pages() -> dict[Path, str]:
    return {
        page: placed(page.read_text(encoding="utf-8"), tables()) for page, tables in PAGES.items()
    }


if __name__ == "__main__":
    if sys.argv[1:] == ["measure"]:
        measure()
    sys.exit(run(pages))
