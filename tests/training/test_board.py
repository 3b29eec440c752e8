"""A run's curve for TensorBoard."""

import struct

from tensorboardX.proto.event_pb2 import Event

from gtcourse.training.records import Board


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
