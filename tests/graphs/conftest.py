"""The embedded molecules, built once for all test processes, and a machine without a network."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from gtcourse.graphs import GraphDataset, load_dataset


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The reader's own cache, so that tests and chapters build the molecules once together."""
    return Path(os.environ.get("GTCOURSE_DATA") or "~/.cache/gtcourse").expanduser()


@pytest.fixture(scope="session")
def molecules(data_root: Path) -> GraphDataset:
    return load_dataset("molecules", root=data_root)


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args, **kwargs):
        raise OSError("there is no network in this test")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
