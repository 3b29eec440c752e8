"""The system's Chromium, and a server for a folder."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

NAMES = (
    "chromium-headless-shell",  # without what only a window needs, a quarter faster
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)
PHONE = {"width": 390, "height": 844}
LAPTOP = {"width": 1280, "height": 900}


def executable() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def browser() -> Iterator:
    """A Chromium that finds no host but this machine, so that a page that needs another fails."""
    from playwright.sync_api import sync_playwright

    arguments = ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
    if os.geteuid() == 0:
        arguments.append("--no-sandbox")
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=executable(), args=arguments)
        yield running
        running.close()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        """A line for every file would hide the tests' own."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder under an address of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
