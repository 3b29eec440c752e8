"""Recorded runs beside the papers' numbers."""

import json
from dataclasses import asdict, replace

import pytest

from gtcourse.recipes import RECIPES, get_recipe
from gtcourse.training.records import Record, read_results, results, row, write_record

DATA = {"name": "zinc", "source": "file: zinc.npz", "checksum": "0", "sizes": {"train": 1}}


def a_run(seed=0, mae=0.3, **changes) -> Record:
    record = Record(
        name="csa-rings/zinc",
        config=get_recipe("csa-rings/zinc").at(epochs=10).config(),
        data=DATA,
        seed=seed,
        seconds=1.0,
        parameters=346_405,
        curve=[{"epoch": 0}],
        result={"test_mae": mae},
        command="gtcourse train csa-rings/zinc",
    )
    return replace(record, **changes)


def of(name, records):
    return [result for result in results(records) if result.recipe.name == name]


def test_seeds_of_a_budget_are_one_row_beside_the_papers():
    (found,) = of("csa-rings/zinc", [a_run(0, 0.3), a_run(1, 0.4)])
    assert found.values == [0.3, 0.4]
    assert found.gap == pytest.approx(0.35 - 0.056)
    assert row(found) == (
        "csa-rings/zinc", "test_mae", "0.056 ± 0.002", "0.350 ± 0.071 (2 seeds)", "+0.294",
        "10 of 2,000 epochs", "file: zinc.npz",
    )  # fmt: skip


def test_other_data_and_other_budgets_are_rows_of_their_own():
    published = a_run(config=get_recipe("csa-rings/zinc").config())
    on_others = a_run(name="csa-rings/zinc-on-molecules", data=DATA | {"source": "embedded"})
    another_file = a_run(data=DATA | {"checksum": "1"})
    assert len(of("csa-rings/zinc", [a_run(), another_file])) == 2
    found = of("csa-rings/zinc", [a_run(), published, on_others])
    assert {result.budget for result in found} == {"10 of 2,000 epochs", "the paper's"}
    assert {result.data for result in found} == {"file: zinc.npz", "embedded"}


def test_every_recipe_with_a_printed_result_has_a_row():
    found = results([])
    assert {result.recipe.name for result in found} == {n for n in RECIPES if "/cycles" not in n}
    assert {row(result)[3:] for result in found} == {("not yet run", "", "", "")}
    assert {r.recipe.dataset for r in results([], dataset="zinc")} == {"zinc"}


def test_a_record_with_a_field_missing_is_no_result(tmp_path):
    write_record(a_run(), tmp_path / "deep" / "csa-rings-zinc-seed0.json")
    assert read_results([tmp_path]) == [a_run()]
    content = asdict(a_run(seed=1))
    del content["commit"]
    (tmp_path / "csa-rings-zinc-seed1.json").write_text(json.dumps(content))
    with pytest.raises(ValueError, match=r"seed1.json is no record .* values of commit"):
        read_results([tmp_path])


def test_a_run_of_a_recipe_of_ones_own_is_a_row_of_its_own(tmp_path):
    own = a_run(name="mine/molecules", config={"epochs": 3}, result={"test_mae": 0.5, "steps": 2})
    write_record(own, tmp_path / "mine-molecules-seed0.json")
    (found,) = [r for r in results(read_results([tmp_path])) if r.records]
    assert row(found) == (
        "mine/molecules", "test_mae", "", "0.500 (1 seed)", "", "3 epochs", "file: zinc.npz",
    )  # fmt: skip


def test_a_recipe_on_ones_own_data_is_not_compared_with_the_paper():
    config = a_run().config | {"changed": {"own_data": {"recipe": "csa-rings/zinc"}}}
    own = a_run(name="csa-rings/zinc-on-my", config=config, result={"test_auroc": 0.7})
    (found,) = [r for r in results([own]) if r.records]
    assert row(found)[:5] == ("csa-rings/zinc-on-my", "test_auroc", "", "0.700 (1 seed)", "")
