"""What several generators of pages share."""

import json

from tools import pages
from tools.pages import Span, experiment, listed, spans

H200 = "NVIDIA H200 for epochs 1 to 8 (python -m experiments.captured, compiled)"


def test_the_epochs_of_a_run_that_moved_between_machines_are_in_order():
    found = spans(f"{H200}, CPU (x86_64, 1 thread) for epochs 0 and 9 to 11")
    assert found == [
        Span("CPU (x86_64, 1 thread)", 0, 0),
        Span("NVIDIA H200", 1, 8),
        Span("CPU (x86_64, 1 thread)", 9, 11),
    ]
    assert [span.epochs for span in found] == [1, 8, 3]
    assert spans("A for epoch 0, B for epochs 1 to 2") == [Span("A", 0, 0), Span("B", 1, 2)]


def test_a_run_on_one_machine_has_no_spans():
    assert spans("CPU (x86_64, 1 thread(s))") == []


def test_words_are_listed_as_in_a_sentence():
    assert listed(["a"]) == "a"
    assert listed(word for word in "ab") == "a and b"
    assert listed(["a", "b", "c"]) == "a, b and c"


def test_an_experiments_record_is_read_by_its_name(tmp_path, monkeypatch):
    folder = tmp_path / "experiments" / "records"
    folder.mkdir(parents=True)
    (folder / "trial.json").write_text(json.dumps({"name": "sinθ"}), encoding="utf-8")
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    assert experiment("trial") == {"name": "sinθ"}
