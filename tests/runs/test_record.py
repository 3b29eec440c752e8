"""Records on disk, and beside the papers' numbers."""

from dataclasses import replace

import pytest
import torch

from gtcourse.course.records import recorded
from gtcourse.graphs.io import file_sha256
from gtcourse.names import WEIGHTS
from gtcourse.recipes import RECIPES, get_recipe
from gtcourse.runs.record import (
    PACKAGE,
    Record,
    printed,
    read_model,
    read_results,
    read_weights,
    record_in,
    results,
    row,
    weights_sha256,
    with_deviation,
    write_record,
    write_weights,
)

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


def test_a_record_is_read_as_written_with_its_environment(tmp_path):
    record = a_run()
    write_record(record, tmp_path / "deep" / record.filename)
    assert read_results([tmp_path]) == [record]
    assert len(record.date) == 10
    assert {"python", "torch", "gtcourse"} <= {*record.versions}
    assert record.commit
    assert record.device


def test_a_run_counts_once_though_its_record_is_copied_or_its_folder_is_given_twice(tmp_path):
    runs = [a_run(seed) for seed in (0, 1)]
    for folder in ("runs", "copies"):
        for record in runs:
            write_record(record, tmp_path / folder / record.filename)
    assert read_results([tmp_path]) == runs
    assert read_results([tmp_path / "runs", tmp_path / "runs", tmp_path / "copies"]) == runs


def test_a_record_without_epochs_has_an_unknown_budget():
    config = {"changed": {"graphs": 16}}
    (found,) = of("csa-rings/zinc", [a_run(config=config)])
    assert found.budget == "unknown of 2,000 epochs, 16 graphs"


def test_weights_are_stored_with_their_checksum(tmp_path):
    record = a_run()
    weights = {"w": torch.arange(3.0)}
    with pytest.raises(ValueError, match="missing or damaged; expected the weights of 'csa-ri"):
        read_weights(record, tmp_path)
    write_weights(record, weights, tmp_path / record.weights_filename)
    torch.testing.assert_close(read_weights(record, tmp_path), weights)


def test_a_file_of_weights_holds_its_record_and_shared_tensors(tmp_path):
    record = a_run(curve=[{"epoch": 0, "val_mae": float("nan")}])
    path = tmp_path / "w.safetensors"
    shared = torch.arange(6.0).view(2, 3)
    weights = {
        "w": shared,
        "transposed": shared.T,
        "half": shared.bfloat16(),
        "steps": torch.tensor(3),
    }
    write_weights(record, weights, path)
    read, found = read_model(path)
    assert read == replace(record, curve=[{"epoch": 0, "val_mae": None}])
    assert read == record_in(path)
    assert {*found} == {*weights}
    for name, weight in weights.items():
        assert torch.equal(found[name], weight)
        assert found[name].dtype == weight.dtype
    before = path.read_bytes()
    write_weights(record, weights, path)
    assert path.read_bytes() == before


def test_weights_of_earlier_releases_are_read_and_their_checksum_compared(tmp_path):
    """A folder of 0.2: ``torch.save``, and the checksum of the file."""
    record = a_run()
    weights = {"w": torch.arange(3.0)}
    path = tmp_path / "weights" / "csa-rings-zinc-seed0.pt"
    path.parent.mkdir()
    torch.save(weights, path)
    record.weights = file_sha256(path)
    assert torch.equal(read_weights(record, tmp_path)["w"], weights["w"])
    path.write_bytes(path.read_bytes() + b"0")
    with pytest.raises(ValueError, match=r"seed0.pt is missing or damaged; expected the weights"):
        read_weights(record, tmp_path)


def test_every_shipped_model_has_its_weights_and_its_record():
    paths = sorted(WEIGHTS.glob("*.safetensors"))
    assert paths
    for path in paths:
        record, weights = read_model(path)
        assert path == PACKAGE / record.weights_filename
        assert weights_sha256(weights) == record.weights
        (same,) = (run for run in recorded(record.name) if run.seed == record.seed)
        assert same == record


def of(name, records):
    return [result for result in results(records) if result.recipe and result.recipe.name == name]


def test_seeds_with_the_same_budget_share_a_row_beside_the_papers_result():
    (found,) = of("csa-rings/zinc", [a_run(0, 0.3), a_run(1, 0.4)])
    assert row(found) == (
        "csa-rings/zinc",
        "test_mae",
        "0.056 ± 0.002",
        "0.350 ± 0.071 (2 seeds)",
        "+0.294",
        "10 of 2,000 epochs",
        "file: zinc.npz",
    )


@pytest.mark.parametrize(
    ("mean", "deviation", "text"),
    [
        (0.07, 0.003, "0.070 ± 0.003"),
        (0.97615, 0.0005, "0.97615 ± 0.00050"),
        (0.302, 0.02, "0.302 ± 0.020"),
    ],
)
def test_a_mean_and_its_deviation_have_equally_many_decimals(mean, deviation, text):
    assert with_deviation(mean, deviation) == text


def test_different_data_and_budgets_get_separate_rows():
    published = a_run(config=get_recipe("csa-rings/zinc").config())
    on_others = a_run(name="csa-rings/zinc-on-molecules", data=DATA | {"source": "embedded"})
    another_file = a_run(data=DATA | {"checksum": "1"})
    found = of("csa-rings/zinc", [a_run(), published, on_others, another_file])
    assert len(found) == 4
    assert {result.budget for result in found} == {"10 of 2,000 epochs", "the paper's"}
    assert {row(result)[-1] for result in found} == {"file: zinc.npz", "embedded"}


def test_every_recipe_with_a_printed_result_has_a_row():
    found = results([])
    assert {result.recipe.name for result in found} == {n for n in RECIPES if printed(RECIPES[n])}
    assert {row(result)[3:] for result in found} == {("not yet run", "", "", "")}
    assert {r.recipe.dataset for r in results([], dataset="zinc")} == {"zinc"}


def test_runs_on_own_data_or_with_own_models_are_not_compared_with_a_paper():
    config = a_run().config | {"changed": {"own_data": {"recipe": "csa-rings/zinc"}}}
    own_data = a_run(name="csa-rings/zinc-on-my", config=config, result={"test_auroc": 0.7})
    own_zinc = a_run(name="csa-rings/zinc", config=config, result={"test_mae": 0.9})
    own_model = a_run(name="mine/molecules", config={"epochs": 3}, result={"test_mae": 0.5})
    given = [own_data, own_zinc, own_model]
    found = [row(result) for result in results(given) if result.records]
    assert [line[:5] for line in found] == [
        ("mine/molecules", "test_mae", "", "0.500 (1 seed)", ""),
        ("csa-rings/zinc-on-my", "test_auroc", "", "0.700 (1 seed)", ""),
        ("csa-rings/zinc", "test_mae", "", "0.900 (1 seed)", ""),
    ]
    assert found[0][5] == "3 epochs"
