"""A run's curve for TensorBoard, written as the epochs end.

By tensorboardX's writer of event files, without the thread and the queue it otherwise has: where
the disk is full, the thread would die unheard, and the run wait for it for ever.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

from gtcourse.graphs.writing import in_a_sentence


class Board:
    """Appends rows to a new file in ``folder``; a run that is continued adds one more."""

    def __init__(self, folder: Path):
        from tensorboardX.event_file_writer import EventsWriter  # half a second to import

        self.folder = folder
        with in_a_sentence(folder):
            folder.mkdir(parents=True, exist_ok=True)
            # The file's name has the second in it, and a run may be continued in the same one.
            self._writer = EventsWriter(str(folder / "events"), filename_suffix=f".{os.getpid()}")

    def close(self) -> None:
        with suppress(OSError):  # what could not be written :meth:`write` has said
            self._writer.close()

    def write(self, row: dict[str, float], step: int) -> None:
        """One number for each name.

        Raises:
            OSError: the file cannot be written; one sentence says why.
        """
        from tensorboardX.proto.event_pb2 import Event
        from tensorboardX.proto.summary_pb2 import Summary

        values = [Summary.Value(tag=name, simple_value=value) for name, value in row.items()]
        event = Event(wall_time=time.time(), step=step, summary=Summary(value=values))
        with in_a_sentence(self.folder):
            self._writer.write_event(event)
            self._writer.flush()
