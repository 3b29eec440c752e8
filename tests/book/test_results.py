"""Numbers in the text of pages and chapters that no table and no cell shows: they are in a record.

The numbers of the results pages are written from the records (``tools/result_prose.py``).
"""

import ast
import re
from dataclasses import replace
from statistics import mean, median, stdev

import nbformat
import numpy as np
import pytest
from rdkit import Chem

from gtcourse import load, load_dataset
from gtcourse.course.exercises.chapter10 import small_molecules
from gtcourse.course.leaderboard import BEST_SIMPLE, line_to_beat
from gtcourse.course.plots import over_seeds
from gtcourse.course.records import measurement, read_records, recorded
from gtcourse.graphs.molecules import penalized_logp
from gtcourse.recipes import get_recipe
from tools.pages import experiment, listed
from tools.paths import NOTEBOOKS, ROOT, TEXTS
from tools.result_tables import RESULTS, VARIANTS, published_results, read_results, results


def test_the_cosine_schedule_ends_two_deviations_above_the_published_error():
    published, deviation = get_recipe("gatedgcn-pe/zinc").paper_result["test_mae"]
    (cosine,) = (r for r in read_records(VARIANTS) if r.name == "gatedgcn-pe/zinc-cosine")
    assert round((cosine.result["test_mae"] - published) / deviation) == 2


def test_a_recipe_without_a_printed_size_is_not_about_nothing():
    found = [each for each in results(read_results([RESULTS])) if each.recipe.name[:4] == "egt-"]
    assert re.search(r"^\| `egt-.* \| about \d", published_results(found), flags=re.MULTILINE)
    unknown = [replace(each, recipe=replace(each.recipe, paper_parameters=None)) for each in found]
    assert not re.search(r"^\| `egt-.* \| about", published_results(unknown), flags=re.MULTILINE)


def test_ignored_bond_types_raise_the_error_for_every_number_of_rounds():
    rows = measurement("colour-counts")["rows"]
    errors = {(row["bonds"], row["rounds"]): row["test_mae"] for row in rows}
    assert all(errors[False, rounds] > errors[True, rounds] for _, rounds in errors)


def test_the_cost_of_a_prediction_without_pytorch_is_that_of_the_record():
    record = experiment("without-pytorch-benchmark")
    alone, package = record["onnx"], record["package"]
    page = (ROOT / "book/onnx.md").read_text(encoding="utf-8")
    stated = [
        f"takes {alone['seconds']:.1f} s and {alone['peak_mib']:.0f} MiB of memory",
        f"take {package['seconds']:.1f} s and {package['peak_mib']:.0f} MiB",
        f"takes {alone['ms_alone']:.1f} ms if it is predicted by itself, and "
        f"{alone['ms_reading']:.1f} ms of this",
        f"take {alone['seconds_in_batches']:.1f} s in batches of {record['batch']}",
    ]
    assert [sentence for sentence in stated if sentence not in page] == []
    assert alone["seconds_in_batches"] < alone["ms_alone"] * record["molecules"] / 1000


def test_the_errors_on_the_page_on_onnx_are_those_of_its_model():
    page = (ROOT / "book/onnx.md").read_text(encoding="utf-8")
    (printed,) = re.findall(r"```text\n(.*?)```", page, re.S)
    smiles, values = zip(*map(str.split, printed.strip().splitlines()), strict=True)
    predicted = [float(value) for value in values]
    of_model = load("grpe-100k/molecules").predict([*smiles])
    assert predicted == pytest.approx(of_model.tolist(), abs=1e-3)
    exact = [penalized_logp(Chem.MolFromSmiles(text)) for text in smiles]
    assert f"are {numbers(exact, 3)}".replace("-", "\N{MINUS SIGN}") in page
    errors = [abs(a - b) for a, b in zip(predicted, exact, strict=True)]
    assert f"off by {numbers(errors, 2)}" in page
    (error, *_) = (run.result["test_mae"] for run in recorded("grpe-100k/molecules"))
    assert f"the mean absolute error of this model is {error:.2f}" in page
    assert min(graph.num_nodes for graph in load_dataset("molecules").train) == 9
    assert "have at least nine" in page


def test_the_memory_of_the_largest_ring_is_that_of_the_record():
    record = measurement("shortest-paths-benchmark")
    mib = record["peak_mb_of_rings"]["5000"]
    page = (ROOT / "book/benchmarks/index.md").read_text(encoding="utf-8")
    stated = (
        f"For this ring the package needs {mib['distances'] / 1024:.1f} GiB of memory, and "
        f"{mib['distances and path edges'] / 1024:.1f} GiB if it also stores the first "
        f"{record['longest_path_kept']} edges of each path."
    )
    assert stated in page


def chapter(number: str) -> str:
    (path,) = TEXTS.glob(f"{number}_*.md")
    return path.read_text(encoding="utf-8")


def numbers(values: list[float], digits: int) -> str:
    return listed(f"{value:.{digits}f}" for value in values)


def row_of(accuracies: list[float]) -> str:
    return ", ".join(f"{accuracy:.1f}" for accuracy in accuracies)


def test_the_code_that_trials_take_from_a_chapter_is_still_in_it():
    calls = [
        node
        for node in ast.walk(ast.parse((ROOT / "experiments/trials.py").read_text("utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "page"
    ]
    ends = [[ast.literal_eval(word) for word in call.args[:2]] for call in calls]
    assert len(ends) > 8
    assert [(number, end) for number, end in ends if end not in chapter(number)] == []


def test_the_trials_that_chapters_mention_are_recorded():
    found = {name: record["result"] for name, record in experiment("trials").items()}
    first = chapter("01")
    assert f"the error on eight tokens is still {found['longer_lookup']:.2f} (" in first
    mean = found["readouts"]["mean"]
    total = found["readouts"]["sum"]
    stated = (
        f"The error was between {min(mean):.3f} and {max(mean):.3f} with the mean readout, and "
        f"between {min(total):.3f} and {max(total):.3f} with the sum readout."
    )
    assert stated in first
    two = found["three_bonds"]["2 layers"]
    three = found["three_bonds"]["3 layers"]
    assert len({f"{accuracy:.2f}" for accuracy in two}) == 1
    reached = (
        f"two layers reached {two[0]:.2f} with each of three seeds, "
        f"and three layers reached {numbers(three, 2)}"
    )
    assert reached in chapter("03")
    walks = found["walk_steps"]
    short = found["short_walks"]
    degrees = found["degrees_for_walks"]
    inputs = {
        "nothing": degrees["nothing"],
        "its degree": degrees["degrees"],
        "walks of 2 steps": short["2 steps"],
        "walks of 4 steps": short["4 steps"],
        "walks of 5 steps": walks["5 steps"],
        "walks of 5 steps and its degree": degrees["degrees and 5 steps"],
        "walks of 6 steps": walks["6 steps"],
        "walks of 10 steps": walks["10 steps"],
    }
    rows = dict(re.findall(r"^\| (\w[\w ]+) \| [\d.]+ \| ([\d., ]+) \|$", chapter("04"), re.M))
    assert rows == {name: row_of(accuracies) for name, accuracies in inputs.items()}
    least = f"{min(walks['10 steps']):.1f}"
    assert f"with two other seeds with at least {least} % (section 4.9)" in chapter("04")
    assert f"as many steps as GIN-walks, and yet none reaches {least} %, as GIN-" in chapter("04")
    assert f"is right for at least {min(walks['6 steps']):.1f} % of them" in chapter("04")
    gain = (
        f"the accuracy from at most {max(degrees['nothing']):.1f} % "
        f"to at least {min(short['2 steps']):.1f} %"
    )
    assert gain in chapter("04")
    assert min(degrees["degrees"]) > max(degrees["nothing"])
    assert max(degrees["degrees"]) < min(short["2 steps"])
    assert max(degrees["degrees and 5 steps"]) < min(walks["5 steps"])
    assert min(short["4 steps"]) < max(walks["5 steps"])
    assert min(walks["5 steps"]) < max(short["4 steps"])
    (signnet,) = {f"{accuracy:.2f}" for accuracy in found["longer_signnet"]}
    assert f"with SignNet reaches {signnet} with each of three seeds" in chapter("06")
    assert f"an accuracy of {signnet} with each of the seeds 0 to 2" in chapter("06")
    longer = f"the bonds reach {numbers(found['longer_bonds'], 3)} with three seeds"
    assert longer in chapter("06")
    assert f"this model reaches {numbers(found['slow_bias'], 3)} with three seeds" in chapter("06")
    assert f"nearest neighbours scores an F1 of {found['two_nearest']:.3f}." in chapter("07")
    faster = found["simple_faster"]
    (same_seed,) = (run for run in recorded("egt-simple/molecules") if run.seed == 0)
    stated = (
        f"ends at {faster['test_mae']:.3f} at a rate of {faster['peak rate']} and "
        f"at {same_seed.result['test_mae']:.3f} at 0.002."
    )
    assert stated in chapter("07")
    heads = found["ten_seeds"]["2 heads"]
    failed = [error for error in heads if error > 0.001]
    assert [f"{error:.2f}" for error in failed] == ["0.47"]
    assert "below 0.001 nine times and ended at 0.47 once" in chapter("09")
    assert max(found["ten_seeds"]["1 head, colour"]) < 0.001
    attention = found["failed_heads"]["attention"]
    near = [f"{100 * share:.0f}" for share in attention["seed 2"]["near"]]  # of each head
    far = [f"{100 * share:.0f}" for share in attention["seed 2"]["far"]]
    stated = (
        f"{near[0]} percent of its attention to the near node of this type and "
        f"{far[0]} percent to the far one"
    )
    assert stated in chapter("09")
    assert f"gives these two nodes only {near[1]} and {far[1]} percent" in chapter("09")
    shares_of_chosen_nodes = []
    for seed in ("seed 0", "seed 1"):
        of_heads = zip(attention[seed]["near"], attention[seed]["far"], strict=True)
        shares_of_chosen_nodes += [max(of_near, of_far) for of_near, of_far in of_heads]
    least = f"{100 * min(shares_of_chosen_nodes):.0f}"
    assert f"gives at least {least} percent of its attention" in chapter("09")
    assert "all ten seeds ended below 0.0001" in chapter("09")
    assert max(found["failed_heads"]["2000 steps"]) < 0.0001
    assert max(found["failed_heads"]["peak rate 0.04"]) < 0.0001
    gated = over_seeds(found["gated_grpe"]).removesuffix(" (3 seeds)")
    assert f"with three seeds. The test error is {gated}." in chapter("10")
    faster = over_seeds(found["faster_bias"]).removesuffix(" (3 seeds)")
    slower = [run.result["test_mae"] for run in recorded("grid/graphormer, structure, sum")]
    slower = over_seeds(slower).removesuffix(" (3 seeds)")
    stated = f"lowers the error only from {slower} to {faster}."
    assert stated in chapter("10")


def outputs(number: str) -> str:
    """What the cells of a chapter's stored notebook printed."""
    (path,) = NOTEBOOKS.glob(f"{number}_*.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    printed = (output for cell in cells for output in cell.get("outputs", []))
    return "".join(output.get("text", "") for output in printed)


def test_chapter_07_reads_the_stored_run_from_its_own_output():
    printed = outputs("07")
    untrained = [float(auc) for auc in re.search("untrained, layer 4: (.+)", printed)[1].split()]
    length = float(re.search("length alone: (.+)", printed)[1])
    trained = [float(auc) for auc in re.search("layers 1 to 4: (.+)", printed)[1].split()]
    stated = (
        "The untrained models rank the edges about as well as chance. The trained model is level "
        "with the length alone after layer 1 and better after layer 2. Layer 4 no longer raises "
        "the AUC."
    )
    assert stated in chapter("07")
    assert all(abs(auc - 0.5) < 0.1 for auc in untrained)
    assert abs(trained[0] - length) < 0.02
    assert trained[1] > length + 0.05
    assert trained[3] <= trained[2]


def test_chapter_07_gives_the_sizes_of_the_recorded_models():
    (on_zinc,) = recorded("egt-100k-spe-do/zinc")
    text = chapter("07")
    size = f"has about {round(on_zinc.parameters, -3):,} parameters and an error of"
    assert f"{size} {on_zinc.result['test_mae']:.3f} on the test molecules" in text
    sizes = {
        (variant, task): round(recorded(f"{variant}/{task}")[0].parameters, -3)
        for variant in ("egt", "egt-simple", "egt-constrained", "egt-ungated")
        for task in ("molecules", "pattern", "tsp")
    }
    low, high = min(sizes.values()), max(sizes.values())
    assert f"Our models have {low:,} to {high:,} parameters." in text
    simple, full = sizes["egt-simple", "tsp"], sizes["egt", "tsp"]
    assert f"more parameters, {simple:,} instead of {full:,}," in text


def test_chapter_07_compares_rates_models_and_a_rule_on_small_tours_as_recorded():
    middle = {
        name: median(run.result["test_f1"] for run in recorded(name))
        for name in ("egt/tuned-tours", "egt-simple/tuned-tours", "egt-simple/few-tours")
    }
    full, simple, slower = middle.values()
    stated = (
        "at a rate of 0.002 instead of its best one, its median falls from "
        f"{simple:.2f} to {slower:.2f}."
    )
    assert stated in chapter("07")
    assert simple - slower > full - simple
    (rule,) = re.findall(r"two nearest (\S+), your layer", outputs("07"))
    beats = f"All ten of its runs beat the rule, and their median is {full:.2f}."
    assert beats in chapter("07")
    scores = [run.result["test_f1"] for run in recorded("egt/tuned-tours")]
    assert min(scores) > float(rule) + 0.01


def test_chapter_11_reads_the_preferences_of_heads_from_its_own_output():
    found = outputs("11")
    trained, untrained = (
        [
            int(count)
            for count in re.search(rf"^{of} +heads above 4, of 32: (.*)$", found, re.M)[1].split()
        ]
        for of in ("trained", "untrained")
    )
    stated = (
        f"{min(trained)} to {max(trained)} of their 32 heads give some relation more than four "
        "times an even share. Of the twenty untrained models, nineteen have "
        f"{sorted(untrained)[18]} such heads or fewer, and one has {max(untrained)}."
    )
    assert stated in chapter("11")
    assert len(trained) == 3
    assert len(untrained) == 20


def test_without_the_query_context_every_run_beats_every_run_with_scalars_and_values():
    scalars = [*errors_of("grpe-bias-value"), *errors_of("grpe-bias-value-fast")]
    assert max(errors_of("grpe-no-query")) < min(scalars)
    rates = {run.config["schedule"] for run in recorded("one-head-bias/speaker")}
    assert rates == {"one cycle, peak 0.002"}
    assert "Their peak learning rate is 0.002." in chapter("08")


def test_chapter_09_and_the_changelog_give_the_error_of_the_run_with_bounded_logits():
    (run,) = recorded("csa-rings-bounded/zinc")
    stated = f"reaches a test error of {run.result['test_mae']:.3f}"
    assert f"did not jump in {len(run.curve):,} epochs, and the model {stated}." in chapter("09")
    error = f"{run.result['test_mae']:.3f}"
    assert f"one run of all {len(run.curve):,} epochs reached {error} (section 9.13)" in chapter(
        "10"
    )
    published, _ = get_recipe("csa-rings-bounded/zinc").paper_result["test_mae"]
    gap = f"This is {run.result['test_mae'] - published:.3f} above the paper's mean"
    assert gap in chapter("09")
    assert stated in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_error_of_a_constant_in_the_exercise_on_scaffolds_is_the_stated_one():
    _, y, _ = small_molecules()
    error = float(abs(y - np.median(y)).mean())
    stated = f"the median of all {len(y)} values for every molecule gives an error of {error:.2f}"
    assert stated in chapter("10")


def test_the_shortened_runs_end_as_the_results_page_says():
    ends = {}
    for name in ("signnet", "graphormer-slim", "grpe-small", "csa", "csa-rings"):
        last = [run.curve[-1] for run in recorded(f"{name}/zinc")]
        published, _ = get_recipe(f"{name}/zinc").paper_result["test_mae"]
        training = mean(row["train_loss"] for row in last)
        validation = mean(row["val_mae"] for row in last)
        ends[name] = (training, validation, published)
    training, validation, _ = ends.pop("signnet")
    assert validation > 2 * training
    training, _, published = ends.pop("graphormer-slim")
    assert round(training / published) == 3
    assert all(training > published for training, _, published in ends.values())


def errors_of(name: str) -> list[float]:
    return [run.result["test_mae"] for run in recorded(f"{name}/molecules")]


def accuracies_on_cycles(name: str) -> list[float]:
    return [100 * run.result["test_accuracy"] for run in recorded(f"cycles-{name}/cycles")]


def test_chapter_05_states_the_recorded_accuracies_on_cycles():
    def percent(name: str) -> str:
        return listed(f"{accuracy:.0f}" for accuracy in accuracies_on_cycles(name))

    text = chapter("05")
    one_sided = f"reaches {percent('one-sign')} % with the three seeds"
    assert f"{one_sided}, and SignNet {percent('signnet')} %" in text
    assert f"the same networks applied to ones, reaches {percent('constant')} %" in text
    assert f"by construction ({percent('mlp')} %)" in text
    assert f"better than the linear map of the entries: it reaches {percent('absolute')} %" in text
    degrees = percent("curve-degrees")
    assert f"GatedGCN reaches only {degrees} % in recorded runs of 20 epochs" in text


def test_chapter_05_states_the_errors_of_a_bag_transformer_with_other_encodings():
    error = f"{np.mean(errors_of('bag-degrees')):.3f}"
    assert f"an atom's neighbours lowers the error to {error}" in chapter("05")
    entrywise = f"{np.mean(errors_of('bag-mlp')):.3f}"
    assert f"and entrywise SignNet (section 5.7) to {entrywise}" in chapter("05")
    linear, flips, without = (
        mean_and_deviation(errors_of(f"bag-{name}")) for name in ("laplacian", "flips", "no-pe")
    )
    with_signs = f"{linear} with the convention's signs and {flips} with random signs"
    assert f"{with_signs}, against {without} without an encoding" in chapter("05")


def test_chapter_05_adds_one_property_at_a_time():
    steps = ("laplacian", "mlp-one-sign"), ("mlp-one-sign", "mlp"), ("mlp", "signnet")
    networks, invariance, messages = (
        [b - a for a, b in zip(*map(accuracies_on_cycles, pair), strict=True)] for pair in steps
    )
    assert min(networks) > 20
    assert max(invariance) < 6
    assert max(messages) < 6


def test_without_the_invariance_random_signs_cost_5_to_20_points_on_cycles():
    """Chapter 05, section 5.7."""
    lost = [
        100 * (run.result["test_accuracy"] - run.result["test_accuracy_random_signs"])
        for name in ("one-sign", "mlp-one-sign")
        for run in recorded(f"cycles-{name}/cycles")
    ]
    assert (round(min(lost)), round(max(lost))) == (5, 20)


@pytest.mark.parametrize("base", ["bag", "gatedgcn"])
def test_on_molecules_one_arbitrary_sign_is_worse_than_none_with_every_seed(base):
    """Chapter 05, section 5.9."""
    on_ones, one_sign = errors_of(f"{base}-constant"), errors_of(f"{base}-one-sign")
    assert all(ones < one for ones, one in zip(on_ones, one_sign, strict=True))
    lost = np.mean(one_sign) - np.mean(on_ones)
    left = np.mean(errors_of(f"{base}-signnet")) - np.mean(on_ones)
    if base == "bag":
        assert abs(left) < np.std(on_ones)
    else:
        assert left / lost == pytest.approx(0.5, abs=0.05)


def test_chapter_09_states_the_errors_with_and_without_the_new_inputs():
    neither = mean(errors_of("csa-distances-alone"))
    both = mean(errors_of("csa-rings-distances"))
    text = chapter("09")
    grpe = mean(errors_of("grpe"))
    share = f"{100 * (neither - both) / (grpe - both):.0f} percent of this lead"
    assert f"Removing both raises it by {neither - both:.3f}, more than three times" in text
    stated = (
        f"For comparison, GRPE reaches {grpe:.3f} on the same molecules and after the same number "
        f"of epochs (section 8.9), so the model with both inputs that reads distances "
        f"({both:.3f}) is ahead of GRPE by {grpe - both:.3f}. The two inputs together are worth "
        f"{share}."
    )
    assert stated in text


def test_chapter_08_compares_the_terms_of_grpe_with_the_ridge_regression():
    ridge = line_to_beat(train=4000)[BEST_SIMPLE]
    (names,) = re.findall(r"^VARIANTS = (\[.+?\])", chapter("08"), re.MULTILINE | re.DOTALL)
    assert all(min(errors_of(name)) > ridge for name in ast.literal_eval(names))
    stated = f"as good as the ridge regression of section 8.9, whose error is {ridge:.3f}."
    assert stated in chapter("08")


def test_chapter_09_compares_the_parts_of_csa_with_the_ridge_regression_and_grpe():
    ridge = line_to_beat(train=4000)[BEST_SIMPLE]
    (names,) = re.findall(r"^EVERY = (\{.+?^\})", chapter("09"), re.MULTILINE | re.DOTALL)
    names = re.findall(r'"(csa[^"]*)",\n', names)
    assert len(names) == 12
    assert all(max(errors_of(name)) < ridge for name in names)
    text = chapter("09")
    assert f"better than the strongest baseline of section 9.10, at {ridge:.3f}." in text
    grpe = [run.config for run in recorded("grpe/molecules")]
    csa = [run.config for name in names for run in recorded(f"{name}/molecules")]
    assert {config["buckets"] for config in grpe + csa} == {4}
    (own,) = {run.config["relative_steps"] for run in recorded("csa-rings-distances/molecules")}
    (other,) = {config["max_distance"] for config in grpe}
    assert f"that counts separately ({own} in CSA, {other} in GRPE)" in text


def test_chapter_09_states_the_errors_of_one_head_per_band():
    rows = measurement("bands")["rows"]
    (of_eight,) = (r for r in rows if (r["arm"], r["bands"]) == ("as many heads as bands", 8))
    first, second, third = sorted(of_eight["errors"])
    chosen = min(of_eight["error_by_rate"].values())
    stated = (
        f"the eight heads end at {first:.3f}, {second:.2f} and {third:.2f}, although they "
        f"reached {chosen:.4f} with the seed"
    )
    assert stated in chapter("09")


def test_chapter_10_states_the_errors_of_csa_with_replaced_parts():
    inputs = errors_of("csa_distances-100k")
    bias = errors_of("csa_bias_attention-100k")
    both = errors_of("csa_bias_attention_distances-100k")
    csa, grpe = mean(errors_of("csa-100k")), mean(errors_of("grpe-100k"))
    text = chapter("10")
    of_layer = (
        f"With CSA's inputs, CSA's layer is worth 0.05 ({mean(bias):.3f} against {csa:.3f}). With "
        "GRPE's inputs, it is worth three times as much "
        f"({mean(both):.3f} against {mean(inputs):.3f})"
    )
    assert of_layer in text
    assert f"{mean(bias) - csa:.2f}" == "0.05"
    assert round((mean(both) - mean(inputs)) / 0.05) == 3
    assert abs(mean(both) - grpe) < stdev(both) + stdev(errors_of("grpe-100k"))
    shares = [100 * (mean(errors) - csa) / (grpe - csa) for errors in (inputs, bias)]
    of_both = (
        "With GRPE's inputs, CSA loses {:.0f} percent of its lead, "
        "and with bias attention {:.0f} percent."
    )
    assert of_both.format(*shares) in text
    between = (
        "inputs the errors lie between {:.3f} and {:.3f}, and with bias attention between {:.3f}"
    )
    assert between.format(min(inputs), max(inputs), min(bias)) in text
    firsts = [100 * (errors[0] - csa) / (grpe - csa) for errors in (bias, inputs)]
    one_seed = "bias attention costs {:.0f} percent of the lead and GRPE's inputs {:.0f}."
    assert one_seed.format(*firsts) in text
    assert bias[1] < inputs[1]  # the order is reversed


def test_chapter_10_states_the_errors_of_the_layers_in_one_model():
    large = {
        layer: [run.result["test_mae"] for run in recorded(f"large-grid/{layer}-structure")]
        for layer in ("grpe", "csa", "gatedgcn", "graphormer")
    }
    text = chapter("10")
    for layer, name in (
        ("grpe", "GRPE"),
        ("csa", "CSA"),
        ("gatedgcn", "GatedGCN"),
        ("graphormer", "Graphormer"),
    ):
        cells = map(mean_and_deviation, (errors_of_100k(layer), large[layer]))
        assert f"| {name} | {' | '.join(cells)} |" in text
    alike = f"reach the same error, {mean(large['grpe']):.3f} and {mean(large['csa']):.3f}."
    assert alike in text
    others = (
        f"reaches {mean(large['gatedgcn']):.3f} and Graphormer's {mean(large['graphormer']):.3f}."
    )
    assert f"GatedGCN's {others}" in text
    for layer in ("grpe", "csa", "gatedgcn"):
        theirs = mean(errors_of_100k(layer))
        assert f"({mean(large[layer]):.3f} instead of {theirs:.3f})" in text
    bonds = mean(run.result["test_mae"] for run in recorded("large-grid/grpe-bonds"))
    gained = bonds - mean(large["grpe"])
    assert f"All inputs lower this error by {gained:.2f}." in text
    left = mean(errors_of_100k("grpe")) - bonds
    assert f"its layer reaches an error that is {left:.2f} lower with the bonds alone" in text
    behind = mean(large["gatedgcn"]) - mean(large["csa"])
    assert f"it is only {behind:.2f} behind CSA's layer here" in text


def mean_and_deviation(errors: list[float]) -> str:
    return over_seeds(errors).removesuffix(" (3 seeds)")


def errors_of_100k(model: str) -> list[float]:
    return errors_of(f"{model}-100k")
