"""Numbers in the text of the page "Which model for my graphs?" are those of records and outputs."""

import json
import re
from importlib.resources import files
from statistics import mean, stdev

import pytest

from gtcourse.course.records import recorded
from tools.paths import ROOT


@pytest.fixture(scope="module")
def page() -> str:
    return (ROOT / "book/which_model.md").read_text(encoding="utf-8")


def test_the_errors_on_480_molecules_are_those_that_the_notebook_prints(page):
    notebook = (ROOT / "notebooks/your_molecules.ipynb").read_text(encoding="utf-8")
    outputs = [out for cell in json.loads(notebook)["cells"] for out in cell.get("outputs", [])]
    htmls = ["".join(out.get("data", {}).get("text/html", [])) for out in outputs]
    (shown,) = [html for html in htmls if "CSA, fine-tuned" in html]
    text = re.sub(r"<[^>]+>", " ", shown)

    def error(name: str) -> float:
        return float(re.search(rf"{name}\s+([\d.]+)", text)[1])

    stated = (
        f"is {error('CSA, from scratch'):.3f} for CSA trained from scratch and "
        f"{error('CSA, fine-tuned'):.3f} for the fine-tuned CSA. The ridge regression on Morgan "
        f"counts reaches {error('ridge on Morgan counts'):.3f}"
    )
    assert stated in page


def test_a_step_of_gatedgcn_takes_about_a_fifth_of_the_time_of_csas(page):
    record = (files("gtcourse.course.records") / "models-benchmark.json").read_text()
    steps = {row["model"]: row["step"]["ms"] for row in json.loads(record)["rows"]}
    assert "a training step takes about a fifth as long as one of CSA" in page
    assert round(steps["csa"] / steps["gatedgcn"]) == 5


def test_signnet_beats_graphormer_by_the_stated_difference(page):
    errors = [
        [run.result["test_mae"] for run in recorded(f"{model}-100k/molecules")]
        for model in ("signnet", "graphormer")
    ]
    signnet, graphormer = map(mean, errors)
    gap = graphormer - signnet
    assert f"their errors differ by {gap:.3f}, which is four times the larger" in page
    assert round(gap / max(map(stdev, errors))) == 4
