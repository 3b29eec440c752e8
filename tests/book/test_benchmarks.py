"""Numbers in the text of the benchmarks page are those of the records."""

from statistics import median

from gtcourse.course.records import measurement, recorded
from gtcourse.recipes import get_recipe
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
    assert f"were {min(factors):.1f} to {max(factors):.1f} times as fast as on one CPU" in text()
    assert "about three times as long as one of GIN" in text()
    assert round(gpu["csa"] / gpu["gin"]) == 3
    assert "about nine times as long" in text()
    assert round(cpu["csa"] / cpu["gin"]) == 9
    assert "less than a third of CSA's time" in text()
    assert cpu["transformer"] < cpu["csa"] / 3
    assert f"takes between {cpu['gin']:.0f} ms (GIN) and {cpu['csa']:.0f} ms (CSA)" in text()
    assert (min(cpu.values()), max(cpu.values())) == (cpu["gin"], cpu["csa"])
    pytorch, ours = (f"{cpu[name]:.0f} ms" for name in ("nn.TransformerEncoder", "transformer"))
    assert f"{ours} with the package's Transformer and {pytorch} with `nn.T" in text()
    pyg, ours = f"{cpu['PyG GPSConv']:.0f} ms", f"{cpu['transformer']:.0f} ms"
    assert f"takes {pyg} with `GPSConv` and {ours} with the package's Transformer." in text()
    pyg, ours = f"{cpu['PyG TransformerConv']:.0f} ms", f"{cpu['gat']:.0f} ms"
    assert f"It takes {pyg} with `TransformerConv` and {ours} with GAT" in text()


def test_the_later_steps_take_the_stated_times():
    cpu, later = steps("models-benchmark"), measurement("steps-benchmark")
    assert later["versions"]["gtcourse"] == "0.11.0"
    assert later["clock"] == "processor time"
    now = {name: row["ms"] for name, row in later["step"].items()}
    longer = {name: round(100 * (now[name] / cpu[name] - 1)) for name in now}
    of_egt = longer.pop("egt")
    assert f"took {now['egt']:.0f} ms, {of_egt} % longer than in Table 1." in text()
    low, high = min(longer.values()), max(longer.values())
    assert f"The steps of the other models took {low} to {high} % longer." in text()
    assert round(now["csa"] / now["gin"]) == 9
    assert sorted(now, key=now.get)[-2:] == ["egt", "csa"] == sorted(cpu, key=cpu.get)[-2:]


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
    assert "about a seventh of the time" in text()
    assert molecules == 7
    scipy, ours = record["rings"]["5000"]
    low, high = scipy["quartiles"]
    assert f"{scipy['ms'] / 1000:.2f} s, and the package {ours['ms'] / 1000:.1f} s" in text()
    assert f"are {low / 1000:.2f} s and {high / 1000:.2f} s" in text()
    alone, with_edges = record["peak_mb_of_rings"]["5000"].values()
    assert f"{alone / 1024:.1f} GiB of memory, and {with_edges / 1024:.1f} GiB" in text()


def test_the_gains_of_the_fused_forms_are_those_of_the_record():
    csa, egt, grpe = measurement("fused-benchmark")["rows"]
    names = [row["recipe"].split("-")[0] for row in (csa, egt, grpe)]
    assert names == ["csa", "egt", "grpe"]
    for sizes, begin in (
        ("mixed sizes", "which the recipes use, it is"),
        ("one size", "There a step is"),
    ):
        of_csa, of_egt, of_grpe = (f"{row[sizes]['times_as_fast']:.2f}" for row in (csa, egt, grpe))
        gains = f"{of_csa} times as fast for CSA, {of_egt} times for EGT and {of_grpe} times for"
        assert f"{begin} {gains} GRPE." in text()
    gain = f"{csa['mixed sizes']['times_as_fast']:.2f} times as fast with the fused form."
    assert f"In batches of mixed sizes, a step of CSA is {gain}" in text()
    real = [100 * row["mixed sizes"]["real_pairs"] for row in (csa, egt, grpe)]
    assert f"only {min(real):.0f} % to {max(real):.0f} % of the pairs" in text()
    assert {row["one size"]["real_pairs"] for row in (csa, egt, grpe)} == {1.0}


def test_the_shares_and_bounds_of_the_attention_are_those_of_the_record():
    csa, egt, grpe = measurement("fused-benchmark")["rows"]
    products, others = (
        egt["shares"][f"{kind}, the attention"] for kind in ("matrix products", "other operators")
    )
    total = products + others
    assert (
        f"the attention takes {total:.0f} % of a step: {products:.0f} % for matrix products"
        in text()
    )
    assert f"and {others:.0f} % for other operators" in text()
    assert f"a step would be {1 / (1 - total / 100):.2f} times as fast" in text()
    total = sum(share for kind, share in grpe["shares"].items() if "attention" in kind)
    assert f"GRPE the attention takes {total:.0f} %" in text()
    assert f"a step could become at most {1 / (1 - total / 100):.2f} times as fast." in text()
    total = sum(share for kind, share in csa["shares"].items() if "attention" in kind)
    assert f"In CSA the attention takes {total:.1f} %" in text()
    assert f"would limit the speed-up to {1 / (1 - total / 100):.2f}." in text()
    assert csa["one size"]["times_as_fast"] > 1 / (1 - total / 100)
    assert "the vectors of pairs, which take half of a step" in text()
    assert round(sum(s for kind, s in csa["shares"].items() if "pairs" in kind)) == 50
    pairs = egt["shares"]["matrix products, vectors of pairs"]
    assert f"EGT spends {pairs:.0f} % of a step on matrix products of the vectors" in text()


def test_scipy_takes_less_time_than_encode_on_all_graphs():
    record = measurement("shortest-paths-benchmark")
    for rows in [*record["rows"].values(), *record["rings"].values()]:
        times = {row["method"]: row["ms"] for row in rows}
        assert times["SciPy, distances alone"] < times["gtcourse"]


def test_the_computation_alone_is_faster_than_scipy_on_molecules_only():
    for graphs, rows in measurement("shortest-paths-benchmark")["rows"].items():
        times = {row["method"]: row["ms"] for row in rows}
        alone = times["gtcourse, computation alone"] / times["SciPy, distances alone"]
        assert alone < 0.5 if graphs == "molecules" else alone > 1


def test_the_versions_of_chapter_12s_times_are_those_of_the_records():
    steps, stored = (measurement(f"{name}-benchmark") for name in ("models", "shards"))
    assert f"at the commit of these times (`{steps['commit'][:7]}`)" in text()
    assert f"version {stored['versions']['gtcourse']} of the package reached 37" in text()


def test_the_steps_on_stored_graphs_take_the_stated_times_in_both_versions():
    stored, later = measurement("shards-benchmark"), measurement("one-process")
    first, second = (
        f"{row['compared'][0]['ms'] / row['batches']:.0f} ms" for row in stored["loading"][:2]
    )
    assert f"64 molecules took {first} with Graphormer and {second} with CSA" in text()
    now, of_csa = (f"{row['step']['processor_ms']:.0f} ms" for row in later["rows"].values())
    version = later["versions"]["gtcourse"]
    assert f"took {first} and {second} in version {stored['versions']['gtcourse']}," in text()
    assert f"takes {now} and {of_csa} of processor time in version {version}." in text()


def test_a_process_in_training_takes_the_stated_share_of_time():
    stored = measurement("shards-benchmark")
    one_process = [rows[0]["graphs_per_second"] for rows in stored["processes"].values()]
    assert "at {} graphs per second and this CSA at {}.".format(*one_process) in text()
    for row, rate in zip(stored["loading"], one_process, strict=False):
        assert round(row["compared"][0]["graphs_per_second"] / rate, 1) == 2.6
    assert "takes 5 to 8 % more processor time than a step alone" in text()
    assert "takes less than 4 % of a step in training" in text()
    for found in measurement("one-process")["rows"].values():
        alone, in_training = found["step"], found["loading and step"]["processor_ms"]
        assert alone["quartiles"][0] < in_training < alone["quartiles"][1]
        assert 1.045 < in_training / alone["processor_ms"] < 1.085
        assert found["loading"]["processor_ms"] < 0.04 * in_training


def test_the_two_rates_of_the_plan_and_their_days_are_those_of_the_records():
    stored = measurement("shards-benchmark")["loading"]
    planned = next(row for row in stored if row["model"] == "csa-small/pcqm4mv2")
    measured = {
        "28": measurement("training-rate")["graphs_per_second"],
        "37": planned["compared"][0]["graphs_per_second"],
    }
    days = [3_378_606 * 300 / rate / 86_400 for rate in measured.values()]
    assert [f"{rate:.0f}" for rate in measured.values()] == [*measured]
    assert f"would need {days[1]:.0f} days instead of {days[0]:.0f}." in text()
    assert "about 90 times as fast" in text()
    assert 88 < planned["times_as_fast"] < 92
    (chapter,) = (ROOT / "book/chapters").glob("12_*.md")
    assert f"the run would take {days[1]:.0f} days" in chapter.read_text(encoding="utf-8")


def test_the_models_that_read_stored_graphs_have_the_stated_sizes():
    graphormer, csa, _ = measurement("shards-benchmark")["loading"]
    assert f"The CSA has {round(csa['parameters'], -3):,} parameters." in text()
    assert f"The Graphormer has {round(graphormer['parameters'], -3):,}, and" in text()
    model = get_recipe("csa-small/pcqm4mv2").build_model()
    assert sum(model.config.num_node_types) == 174
    assert "that a feature can take, 174 in all." in text()
