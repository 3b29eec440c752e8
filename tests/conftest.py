"""One thread, and the same random examples each time; of a nightly run, other ones each night."""

import gc

gc.disable()  # until all is read, or the collector visits PyTorch ten times while it is read

import os
import socket
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from gtcourse import GraphDataset

# PyTorch is not read here, which takes seconds: the tests of the built pages do without it, and so
# does a process that only hands tests to others.
os.environ["OMP_NUM_THREADS"] = "1"
settings.register_profile(
    "ci",
    max_examples=30,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile(
    "nightly",
    parent=settings.get_profile("ci"),
    max_examples=2000,
    derandomize=False,
    print_blob=True,
)
settings.load_profile("ci")


def pytest_collection_finish(session: pytest.Session) -> None:
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    gc.freeze()  # what has been read so far stays to the end
    gc.set_threshold(20_000, 20, 20)  # exports and compilers make millions of objects
    gc.enable()


@pytest.fixture(scope="session")
def molecules() -> "GraphDataset":
    """From the reader's own cache, so that tests and chapters build them once together."""
    from gtcourse import load_dataset

    return load_dataset("molecules")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args, **kwargs):
        raise OSError("there is no network in this test")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
