"""Numbers in the text of the benchmarks page are those of the records."""

import json
import re
from statistics import median

from gtcourse.course.records import measurement, recorded
from tools.pages import experiment
from tools.paths import ROOT


def text() -> str:
    return (ROOT / "book/benchmarks/index.md").read_text(encoding="utf-8")


def steps(name: str) -> dict[str, float]:
    return {row["model"]: row["step"]["ms"] for row in measurement(name)["rows"]}


def test_the_ratios_of_training_steps_are_those_of_the_records():
    cpu = steps("models-benchmark")
    gpu = steps("models-gpu-benchmark")
    factors = [cpu[name] / gpu[name] for name in cpu]
    assert f"by a factor of {min(factors):.1f} to {max(factors):.1f}." in text()
    assert "A step of EGT or CSA takes about seven times as long as one of GIN." in text()
    assert round(cpu["csa"] / cpu["gin"]) == round(cpu["egt"] / cpu["gin"]) == 7
    assert (min(cpu.values()), max(cpu.values())) == (cpu["gin"], cpu["egt"])
    pytorch, ours = (f"{cpu[name]:.0f} ms" for name in ("nn.TransformerEncoder", "transformer"))
    assert f"{ours} with the package's Transformer and {pytorch} with `nn.T" in text()
    assert f"to `GPSConv` ({cpu['PyG GPSConv']:.0f} ms)" in text()
    assert f"to `TransformerConv` ({cpu['PyG TransformerConv']:.0f} ms)" in text()
    assert f"is GAT ({cpu['gat']:.0f} ms)" in text()


def test_the_epochs_of_csa_rings_on_two_gpus_take_the_stated_times():
    replayed = experiment("csa-rings-diverged")
    assert replayed["devices"]["gpu"] == "NVIDIA H200"
    with_operators = median(epoch["seconds"] for epoch in replayed["gpu"])
    assert f"an epoch took {with_operators:.2f} s on an NVIDIA H200" in text()
    on_gpu = experiment("csa-rings-bounded")["epochs on a GPU"]
    assert {each["device"] for each in on_gpu} == {"NVIDIA H100 80GB HBM3"}
    numbers = len(replayed["gpu"]), on_gpu[0]["end"] - on_gpu[0]["first epoch"]
    first, second = (f"{number:,} epochs" for number in numbers)
    assert f"the median of {first} and the second that of {second}" in text()
    for each in on_gpu:
        assert f"it took {each['median seconds']:.2f} s on an NVIDIA H100" in text()
    parameters = recorded("csa-rings/zinc")[0].parameters
    assert f"a CSA with about {round(parameters, -4):,} parameters" in text()


def test_the_lower_bound_of_csas_products_is_that_of_the_record():
    record = measurement("models-gpu-benchmark")
    rate = record["products_tflops"]["float32"]
    csa = next(row for row in record["rows"] if row["model"] == "csa")
    assert f"{rate:.0f} TFLOP/s" in text()
    assert f"{csa['gflop'] / rate:.2f} ms of {csa['step']['ms']:.0f} ms" in text()


def test_the_times_of_shortest_paths_are_those_of_the_record():
    record = measurement("shortest-paths-benchmark")
    gain = {
        graphs: next(row["times_the_authors"] for row in rows if row["method"] == "gtcourse")
        for graphs, rows in record["rows"].items()
    }
    molecules, large = round(gain["molecules"]), round(gain["500 nodes"])
    assert f"{molecules} times as fast on molecules and {large} times" in text()
    scipy, ours = record["rings"]["5000"]
    assert f"{scipy['ms'] / 1000:.2f} s, and the package {ours['ms'] / 1000:.1f} s" in text()
    alone, with_edges = record["peak_mb_of_rings"]["5000"].values()
    assert f"{alone / 1024:.1f} GiB of memory, and {with_edges / 1024:.1f} GiB" in text()


def test_the_gains_of_the_fused_forms_are_those_of_the_record():
    csa, egt, grpe = measurement("fused-benchmark")["rows"]
    names = [row["recipe"].split("-")[0] for row in (csa, egt, grpe)]
    assert names == ["csa", "egt", "grpe"]
    for sizes, name in (
        ("mixed sizes", "batches of mixed sizes, which the recipes use"),
        ("one size", "molecules of one size, without padding"),
    ):
        gains = [f"{row[sizes]['times_as_fast']:.2f}" for row in (csa, egt, grpe)]
        assert f"| {name} | {' | '.join(gains)} |" in text()
    assert {row["one size"]["real_pairs"] for row in (csa, egt, grpe)} == {1.0}


def test_the_shares_and_bounds_of_the_attention_are_those_of_the_record():
    csa, egt, _ = measurement("fused-benchmark")["rows"]
    total = sum(share for kind, share in egt["shares"].items() if "attention" in kind)
    assert f"In EGT, the attention takes {total:.0f} % of a step" in text()
    assert f"a step would be {1 / (1 - total / 100):.2f} times as fast" in text()
    total = sum(share for kind, share in csa["shares"].items() if "attention" in kind)
    assert f"In CSA, the attention takes {total:.1f} %" in text()
    assert f"would limit the speed-up to {1 / (1 - total / 100):.2f}," in text()
    assert csa["one size"]["times_as_fast"] > 1 / (1 - total / 100)
    assert "the vectors of pairs, which take almost half of a step" in text()
    assert 47 < sum(s for kind, s in csa["shares"].items() if "pairs" in kind) < 50


def test_scipy_takes_less_time_than_encode_on_all_graphs():
    record = measurement("shortest-paths-benchmark")
    for rows in [*record["rows"].values(), *record["rings"].values()]:
        times = {row["method"]: row["ms"] for row in rows}
        assert times["SciPy, distances alone"] < times["gtcourse"]


def chapter() -> str:
    (path,) = (ROOT / "book/chapters").glob("12_*.md")
    return path.read_text(encoding="utf-8")


def outputs() -> str:
    """What the cells of chapter 12 print."""
    (path,) = (ROOT / "notebooks").glob("12_*.ipynb")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    of_cells = (output for cell in cells for output in cell.get("outputs", []))
    return "\n".join("".join(output.get("text", "")) for output in of_cells)


def test_the_times_of_an_epoch_in_chapter_12_are_those_of_the_record():
    rows = {row["method"]: row for row in measurement("epoch-benchmark")["rows"]}
    mixed, sixteen = rows["padded once, 1 bucket"], rows["padded once, 16 buckets"]
    shorter = 1 - sixteen["epoch_seconds"] / mixed["epoch_seconds"]
    assert f"with sixteen buckets is {shorter:.0%}".replace("%", " %") in chapter()
    on_cpu = steps("models-benchmark")["graphormer"]
    on_gpu = steps("models-gpu-benchmark")["graphormer"]
    assert f"a step of this Graphormer takes {on_cpu:.0f} ms (section 12.1)" in chapter()
    assert f"On the GPU of section 12.9, a step takes only {on_gpu:.0f} ms" in chapter()
    (output,) = re.findall(r"collate +([\d.]+) ms.*\nDenseLoader +([\d.]+) ms", outputs())
    collated, gathered = map(float, output)
    assert 0.06 < collated / on_cpu < 0.14  # "about a tenth"
    assert 0.29 < collated / (collated + on_gpu) < 0.4  # "about a third of its time"
    assert 0.16 < gathered / (gathered + on_gpu) < 0.24  # "about a fifth"
    assert "so collating adds about a tenth to it" in chapter()
    assert "spend about a third of its time waiting. With `DenseLoader`" in chapter()


def test_the_rates_in_chapter_12_are_those_of_the_record():
    stored = measurement("shards-benchmark")
    prepared = stored["prepared_per_second"]
    assert f"one process prepared {prepared:,} molecules per second" in chapter()
    assert round(3_746_620 / prepared / 60) == 40
    assert "PCQM4Mv2 takes 40 minutes" in chapter()
    graphormer = stored["loading"][0]["compared"]
    rates = {row["method"]: row["graphs_per_second"] for row in graphormer}
    loader, training = rates["loader"], rates["training step"]
    assert f"the loader prepared {loader:,} graphs per second for a Graphormer" in chapter()
    assert f"trained on {training} graphs per second, so" in chapter()
    assert f"the loader was {int(loader / training)} times as fast" in chapter()
    on_gpu = measurement("models-gpu-benchmark")["rows"]
    rate = next(row["graphs_per_second"] for row in on_gpu if row["model"] == "graphormer")
    assert f"trains on about {round(rate, -2):,} graphs per second" in chapter()
    assert round(loader / rate) == 3
    assert "only about three times as fast as the training" in chapter()
    gains = [2 * rows[1]["efficiency"] for rows in stored["processes"].values()]
    said = (
        "the training of Graphormer becomes faster by a factor of {:.1f}, and that of CSA only by "
        "a factor of {:.1f}."
    )
    assert said.format(*gains) in chapter()


def test_mixed_precision_and_compilation_take_the_stated_times():
    rows = {
        of["model"]: {row["method"]: row for row in of["rows"]}
        for of in measurement("compile-benchmark")["models"]
    }
    ratios = {
        model: {method: row["ms"] / of["eager"]["ms"] for method, row in of.items()}
        for model, of in rows.items()
    }
    gain = round(100 * (1 - ratios["csa"]["bf16-mixed"]))
    assert f"Mixed precision shortens CSA's step by {gain} %" in chapter()
    for model, overlap in (("csa", False), ("graphormer", True)):
        eager, mixed = (rows[model][of]["quartiles"] for of in ("eager", "bf16-mixed"))
        assert (mixed[1] > eager[0]) == overlap
    loss = round(100 * (ratios["graphormer"]["compiled"] - 1))
    said = f"Compilation makes Graphormer's step {loss} % longer, and does not shorten CSA's."
    assert said in chapter()
    assert ratios["csa"]["compiled"] > 1


def test_flex_attention_takes_the_stated_memory_and_saves_no_time():
    for of in measurement("flex-benchmark")["sizes"]:
        stored, flexible = of["compared"]
        assert flexible["peak_mb"] < stored["peak_mb"] / 2
        assert flexible["ms"] > stored["ms"]
    assert flexible["peak_mb"] < stored["peak_mb"] / 7  # of the graph of 1,024 nodes
    assert "less than a seventh for a graph of 1,024 nodes" in chapter()


def test_the_records_of_steps_on_a_cpu_were_measured_in_the_same_way():
    for name in ("models", "profile", "epoch", "compile", "flex", "shards", "fused"):
        record = measurement(f"{name}-benchmark")
        assert record["versions"]["gtcourse"] == "0.16.0"
        assert (record["clock"], record["keeps_memory"]) == ("processor time", True)
        assert (record["processor"], record["threads"]) == ("AMD EPYC", 1)
    assert "with version 0.16.0 of the package" in text()
