"""How the run with bounded logits becomes a record of its recipe."""

import json
from dataclasses import replace

import pytest
import torch

from experiments import csa_bounded
from gtcourse.course.records import recorded
from gtcourse.runs.record import read_record, record_filename, write_record, write_weights
from tools.pages import spans

CPU = "CPU (x86_64, 1 thread)"


def part(first: int, end: int, device: str = "GPU") -> dict:
    return {"first epoch": first, "end": end, "device": device}


@pytest.mark.parametrize(
    ("captured", "expected"),
    [
        ([part(2, 5), part(5, 7)], [(CPU, 0, 1), ("GPU", 2, 6), (CPU, 7, 9)]),
        ([part(0, 3), part(5, 10)], [("GPU", 0, 2), (CPU, 3, 4), ("GPU", 5, 9)]),
        ([part(0, 4, "one"), part(4, 10, "other")], [("one", 0, 3), ("other", 4, 9)]),
        ([part(3, 4)], [(CPU, 0, 2), ("GPU", 3, 3), (CPU, 4, 9)]),
    ],
)
def test_the_device_of_a_record_names_the_machine_of_each_epoch(captured, expected):
    assert spans(csa_bounded.devices(captured, epochs=10, cpu=CPU)) == expected


def test_a_run_without_a_gpu_has_the_device_of_its_record():
    assert csa_bounded.devices([], epochs=10, cpu=CPU) == CPU


def finished_run(folder, seed: int):
    """The folder of a run, as :func:`gtcourse.runs.run.train` writes it, from the stored record."""
    (stored,) = recorded(csa_bounded.BOUNDED)
    config = stored.config | {"name": csa_bounded.NAME, "changed": {"build_model": "another"}}
    record = replace(stored, name=csa_bounded.NAME, config=config, seed=seed, device=CPU)
    (folder / "weights").mkdir(parents=True)
    write_weights(record, {"weight": torch.ones(2)}, folder / record.weights_filename)
    write_record(record, folder / record.filename)
    captured = [part(391, 1686, "NVIDIA H100 80GB HBM3"), part(1686, 1802, "NVIDIA H100 80GB HBM3")]
    note = {"seed": seed, "captured": captured}
    (folder / csa_bounded.RUN).write_text(json.dumps(note))
    lines = [",".join(stored.curve[0]), *(",".join(map(str, row.values())) for row in stored.curve)]
    (folder / "curve.csv").write_text("\n".join(lines))
    return stored


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Stores into a temporary folder in place of the repository."""
    for name in ("WEIGHTS", "RECORDS", "ROOT"):
        monkeypatch.setattr(csa_bounded, name, tmp_path)
    (tmp_path / "book/results").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(("seed", "option"), [(0, ""), (3, " --seed 3")])
def test_a_stored_run_is_one_of_the_recipe_with_its_bound(places, seed, option):
    stored = finished_run(places / "run", seed)
    csa_bounded.store(places / "run")
    found = read_record(places / "book/results" / record_filename(csa_bounded.BOUNDED, seed))
    assert (found.name, found.config) == (stored.name, stored.config)
    assert (found.device, found.seconds) == (stored.device, stored.seconds)
    assert found.command == stored.command + option
    (line,) = (places / "recipes.jsonl").read_text().splitlines()
    assert json.loads(line)["name"] == csa_bounded.BOUNDED


def test_a_run_with_other_settings_is_not_stored(places):
    finished_run(places / "run", seed=0)
    path = places / "run" / record_filename(csa_bounded.NAME, 0)
    record = read_record(path)
    record.config["transforms"] = ["AddRings(max_size=6)"]
    record.config["epochs"] = 100
    write_record(record, path)
    with pytest.raises(ValueError, match=r"zinc in epochs, transforms; expected a run with its"):
        csa_bounded.store(places / "run")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--store", "--data", "zinc12k.npz"], "not allowed with argument"),
        (["--store", "--seed", "1"], "--seed and --clip belong to --data"),
        (["--out", "record.json"], "--out and --control belong together"),
        ([], "one of the arguments --data --out --store is required"),
    ],
)
def test_options_that_do_not_belong_together_are_an_error(options, sentence, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["csa_bounded", "--folder", "folder", *options])
    with pytest.raises(SystemExit):
        csa_bounded.main()
    assert sentence in capsys.readouterr().err
