"""What a hostile file would carry: a pickle that, once it is unpickled, leaves a file."""

from __future__ import annotations

from pathlib import Path


class Payload:
    """Unpickled, it makes the file ``marker``."""

    def __init__(self, marker: Path):
        self.marker = marker

    def __reduce__(self):
        return (Path.touch, (self.marker,))
