import json
import struct
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path

import pytest
import torch
from tensorboardX.proto.event_pb2 import Event

from gtcourse.training.records import (
    Board,
    Record,
    read_record,
    read_weights,
    write_record,
    write_weights,
)


def a_record(**changes) -> Record:
    record = Record(
        name="bag/molecules",
        config={"epochs": 2},
        data={"name": "molecules", "source": "embedded"},
        seed=0,
        seconds=1.5,
        parameters=10,
        curve=[{"epoch": 0, "train_loss": 1.0}],
        result={"test_mae": 0.5},
        command="python -m tools.something",
    )
    return replace(record, **changes)


def test_a_record_says_where_it_ran(tmp_path):
    write_record(a_record(), tmp_path / "r.json")
    content = json.loads((tmp_path / "r.json").read_text())
    assert set(content) == {*asdict(a_record())}
    assert len(content["date"]) == 10
    assert {"python", "torch", "gtcourse"} <= set(content["versions"])
    assert content["commit"]
    assert content["device"]
    assert read_record(tmp_path / "r.json") == a_record(date=content["date"])


def test_weights_are_kept_with_their_checksum_and_nothing_else_is_read(tmp_path):
    record, weights = a_record(), {"w": torch.arange(3.0)}
    with pytest.raises(ValueError, match="weights of 'bag/molecules' with seed 0 are not stored"):
        read_weights(record, tmp_path)
    write_weights(record, weights, tmp_path)
    write_record(record, tmp_path / record.filename)
    record = read_record(tmp_path / record.filename)
    torch.testing.assert_close(read_weights(record, tmp_path), weights)
    path = tmp_path / "weights" / "bag-molecules-seed0.pt"
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(ValueError, match="is damaged; expected the file with"):
        read_weights(record, tmp_path)


def test_every_record_of_the_package_is_read():
    paths = sorted(Path(str(files("gtcourse") / "recorded")).glob("*-seed*.json"))
    assert paths
    for path in paths:
        assert read_record(path).filename == path.name


def events(path) -> list[Event]:
    """A record is its length, a checksum, the event, a checksum."""
    content, found = path.read_bytes(), []
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        found.append(Event.FromString(content[12 : 12 + length]))
        content = content[16 + length :]
    return found


def test_every_number_of_every_row_is_there_as_soon_as_it_is_written(tmp_path):
    board = Board(tmp_path / "tensorboard")
    for epoch in range(3):
        board.write({"train_loss": 0.5 * epoch, "val_mae": 2.0}, epoch)
        (path,) = (tmp_path / "tensorboard").iterdir()
        first, *rows = events(path)
        assert first.file_version == "brain.Event:2"
        assert [row.step for row in rows] == list(range(epoch + 1))
    board.close()
    numbers = {value.tag: value.simple_value for value in rows[-1].summary.value}
    assert numbers == {"train_loss": 1.0, "val_mae": 2.0}
    assert path.name.startswith("events.out.tfevents.")
