"""The tables that pages take from records, run times and chapters.

python -m tools.tables check      the pages say what these say
python -m tools.tables write      make it so; then run make sync, for the chapters
python -m tools.tables measure    measure the memory of a training step on ZINC again
"""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from book._ext.core import PLANS, core_sections, core_text
from gtcourse import load_dataset
from gtcourse.course.costs import step_costs
from gtcourse.course.records import measurement
from gtcourse.encodings import encode
from gtcourse.graphs import collate
from gtcourse.recipes import RECIPES
from gtcourse.runs.record import read_results, results
from speed.shortest_paths import RING_ROUNDS
from tools.exercises import chapters, exercises, minutes
from tools.pages import device, markdown, placed, run, short
from tools.paths import NOTEBOOKS, ROOT, TEXTS
from tools.result_prose import PROSE, filled
from tools.result_tables import (
    MEMORY,
    RESULTS,
    divergence_tables,
    evidence,
    other_tasks_tables,
    published_tables,
    results_tables,
    runs_tables,
    table,
)
from tools.times import reading, run_times, running

METHODS = {
    "the authors' way, in Cython": "Floyd–Warshall in Cython",
    "SciPy, distances alone": "SciPy",
    "gtcourse": "gtcourse, `encode`",
    "gtcourse, computation alone": "gtcourse, computation alone",
    "gtcourse, form for GPUs": "gtcourse, matrix products",
}
"""The ways to find shortest paths, by their names in the record, in the order of the table."""
TAKES = re.compile(r"^\| Takes \|.*$", re.M)
READING = re.compile(r"\d+ to \d+ minutes to read a chapter")
HOURS = re.compile(r"about [\d½]+ hours to read, or about [\d½]+ hours for the core sections")
HOME = ROOT / "book" / "intro.md"
HOW_TO_READ = ROOT / "book" / "how_to_read.md"
TEACH = ROOT / "book" / "teach.md"


def title(chapter: Path) -> str:
    return re.search(r"^# (.+)$", chapter.read_text(encoding="utf-8"), re.M)[1]


# Results: the memory of a training step.


def measure() -> None:
    """Memory of a training step of each recipe that was run on ZINC, on as many molecules."""
    molecules = load_dataset("molecules").test
    found = {}
    for record in (r.records[0] for r in results(read_results([RESULTS])) if r.records):
        if record.data["name"] == "zinc":
            recipe = RECIPES[record.name]
            graphs = molecules[: record.config["batch_size"]]
            batch = collate(encode(graphs, *recipe.transforms))
            costs = step_costs(recipe.build_model(), recipe.task, batch)
            found[record.name] = round(costs.memory / 2**20)
    MEMORY.write_text(json.dumps(found, indent=1) + "\n")


# Benchmarks: the records of `python -m speed.models`, `speed.fused` and `speed.shortest_paths`.


def benchmark() -> dict:
    return measurement("models-benchmark")


def benchmark_tables() -> dict[str, str]:
    """Medians with their quartiles, and below them with what they were measured."""
    on_gpu = measurement("models-gpu-benchmark")
    rate = on_gpu["products_tflops"]["float32"]
    of_products = [f"{row['gflop'] / rate:.2f}" for row in on_gpu["rows"]]
    return {
        "models": models_table(1, benchmark()),
        "models on a GPU": models_table(
            2, on_gpu, {"matrix products, lower bound (ms)": of_products}
        ),
        "fused forms": fused_table(measurement("fused-benchmark")),
        "shortest paths": shortest_paths_table(measurement("shortest-paths-benchmark")),
    }


def models_table(number: int, record: dict, more: Mapping[str, Sequence[str]] | None = None) -> str:
    """Table ``number``: a row for each model, with ``more`` columns at the end."""
    rows = [
        {
            "model": row["model"] if row["peer"] else f"`{row['model']}`",
            "parameters": f"{row['parameters']:,}",
            "step, ms": quartiles(row["step"]),
            "forward, ms": quartiles(row["forward"]),
            "graphs/s": f"{row['graphs_per_second']:,}",
            "peak, MiB": f"{row['peak_mb']:.0f}",
            **{name: column[index] for name, column in (more or {}).items()},
        }
        for index, row in enumerate(record["rows"])
    ]
    on_cpu = record["device"].startswith("CPU")
    on = "one CPU thread" if on_cpu else "a GPU"
    clock = "processor time" if on_cpu else "wall-clock time"
    what = (
        f"Table {number}. The {clock} of a training step and of a forward pass on "
        f"{record['graphs']} molecules, measured on {on}. Step: forward pass, backward pass and "
        "optimiser. Peak: memory that tensors hold during a step, beyond weights and optimiser "
        "state."
    )
    return f"{table(rows)}\n{measured(what, record)}"


def fused_table(record: dict) -> str:
    """What the fused forms gain, and below it where the time of the default forms goes."""
    rows = []
    for row in record["rows"]:
        mixed = row["mixed sizes"]
        rows.append(
            {
                "recipe": f"`{row['recipe']}`",
                "molecules": str(row["batch_size"]),
                "pairs that are real": f"{100 * mixed['real_pairs']:.0f} %",
                "default form, ms": quartiles(mixed["default"]),
                "fused form, ms": quartiles(mixed["fused"]),
                "speed-up": ratio(mixed),
                "speed-up without padding": ratio(row["one size"]),
            }
        )
    kinds = sorted({kind for row in record["rows"] for kind in row["shares"]})
    where = [
        {"share of the default step": kind}
        | {f"`{row['recipe']}`": f"{row['shares'].get(kind, 0):.0f} %" for row in record["rows"]}
        for kind in kinds
    ]
    what = (
        "Table 3. The processor time of a training step in the default and in the fused form, and "
        "the median ratio of the two on the same batch. Without padding: all molecules have the "
        "most common size."
    )
    of_profile = (
        "*Table 4. Where the time of a step in the default form goes, according to PyTorch's "
        "profiler, on a batch of mixed sizes. Measured together with Table 3.*\n"
    )
    return f"{table(rows)}\n{measured(what, record)}\n{table(where)}\n{of_profile}"


def ratio(of_forms: dict) -> str:
    low, high = of_forms["quartiles"]
    return f"{of_forms['times_as_fast']:.2f} ({low:.2f}–{high:.2f})"


def measured(what: str, record: dict, rounds: str = "") -> str:
    """A caption: what the times of a record are, and with what and when they were measured."""
    rounds = rounds or f"{record['rounds']} rounds"
    versions = ", ".join(f"{name} {number}" for name, number in record["versions"].items())
    return (
        f"*{what} Each time is the median of {rounds}, with its quartiles in "
        f"brackets. Measured on {record['date']} at commit `{short(record['commit'])}` with "
        f"`{record['command']}`. Machine: {record['processor']}, {device(record['device'])}. "
        f"Versions: {versions}.*\n"
    )


def shortest_paths_table(record: dict) -> str:
    """Distances and path edges of molecules and larger graphs, and distances of rings."""
    rows = [
        (graphs, METHODS[row["method"]], quartiles(row), f"{row['times_the_authors']:.1f}")
        for graphs, methods in record["rows"].items()
        for row in sorted(methods, key=place)
    ]
    rows += [
        (f"a ring of {int(nodes):,} nodes", METHODS[row["method"]], quartiles(row), "")
        for nodes, methods in record["rings"].items()
        for row in sorted(methods, key=place)
    ]
    columns = ("graphs", "method", "ms", "speed-up over Floyd–Warshall")
    what = (
        f"Table 5. The processor time for all graphs of a row: {record['graphs']} molecules, ten "
        "random graphs of 100 nodes, two of 500 nodes, or one ring."
    )
    for_rings = min(record["rounds"], RING_ROUNDS)
    rounds = f"{record['rounds']} rounds ({for_rings} rounds for the rings)"
    return f"{markdown(columns, rows)}\n{measured(what, record, rounds)}"


def place(row: dict) -> int:
    return [*METHODS].index(row["method"])


def quartiles(times: dict) -> str:
    low, high = times["quartiles"]
    return f"{times['ms']:,.0f} ({low:,.0f}–{high:,.0f})"


# How to read, and for teachers: what a chapter takes.


def run_time_tables() -> dict[str, str]:
    rows = []
    for notebook in sorted(NOTEBOOKS.glob("*.ipynb")):
        run = run_times()[notebook.stem]
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
        of_chapter = {
            "chapter": f"[{title(path)}]({page}), [solutions]({solutions})",
            "read": f"{reading(text)} min",
            "run": running(path.stem),
            "exercises": f"{len(exercises(text))}, {minutes(text)} min",
        }
        rows.append(of_chapter)
    return {"what a chapter takes": table(rows)}


def with_running_time(chapter: Path) -> str:
    """The chapter's text with the time in its first table."""
    text = chapter.read_text(encoding="utf-8")
    row = f"| Takes | {running(chapter.stem)} on one CPU core |"
    text, count = TAKES.subn(row, text)
    if count != 1:
        raise ValueError(f"{chapter.name} has {count} rows that say what it takes; expected one")
    return text


def with_reading_times() -> str:
    """The home page's text with the shortest and the longest time to read a chapter."""
    text = HOME.read_text(encoding="utf-8")
    minutes_each = [reading(path.read_text(encoding="utf-8")) for path in chapters()]
    said = f"{min(minutes_each)} to {max(minutes_each)} minutes to read a chapter"
    text, count = READING.subn(said, text)
    if count != 1:
        raise ValueError(f"{HOME.name} says {count} times how long reading takes; expected once")
    return text


def with_hours(text: str) -> str:
    """A page's text with the hours that all chapters take to read, and those of their core."""
    texts = [path.read_text(encoding="utf-8") for path in chapters()]
    core = core_sections((ROOT / PLANS).read_text(encoding="utf-8"))
    complete = hours(sum(map(reading, texts)))
    essential = hours(sum(reading(core_text(each, core)) for each in texts))
    said = f"about {complete} hours to read, or about {essential} hours for the core sections"
    text, count = HOURS.subn(said, text)
    if count != 1:
        raise ValueError(f"a page says {count} times how long reading takes; expected once")
    return text


def hours(minutes_in_all: int) -> str:
    """Of minutes, to the nearest half: "9½"."""
    whole, half = divmod(round(minutes_in_all / 30), 2)
    return f"{whole or ''}{'½' if half else ''}"


PAGES: dict[Path, Callable[[], dict[str, str]]] = {
    RESULTS / "index.md": results_tables,
    RESULTS / "runs.md": runs_tables,
    RESULTS / "divergence.md": divergence_tables,
    RESULTS / "other_tasks.md": other_tasks_tables,
    RESULTS / "published.md": published_tables,
    ROOT / "book" / "benchmarks" / "index.md": benchmark_tables,
    HOW_TO_READ: run_time_tables,
    TEACH: teacher_tables,
    ROOT / "book" / "which_model.md": evidence,
}


def pages() -> dict[Path, str]:
    texts = {chapter: with_running_time(chapter) for chapter in sorted(TEXTS.glob("*.md"))}
    for page, tables in PAGES.items():
        text = placed(page.read_text(encoding="utf-8"), tables())
        if page in PROSE:
            text = filled(page, text)
        texts[page] = text
    texts[HOME] = with_reading_times()
    return texts | {page: with_hours(texts[page]) for page in (HOME, HOW_TO_READ, TEACH)}


def main() -> int:
    if sys.argv[1:] == ["measure"]:
        measure()
    return run(pages)


if __name__ == "__main__":
    sys.exit(main())
