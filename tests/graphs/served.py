"""The publishers' servers, without a network."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from gtcourse.graphs import downloads
from gtcourse.graphs.downloads import Download


class Response(io.BytesIO):
    """What urllib hands over, with as many bytes announced as there are."""

    def __init__(self, content: bytes, length: int | None = None):
        super().__init__(content)
        self.headers = {"Content-Length": str(len(content) if length is None else length)}


def serve(
    monkeypatch: pytest.MonkeyPatch, published: Iterable[Download], folder: Path
) -> dict[str, bytes]:
    """Answers for these addresses with what lies below ``folder``, until the test ends.

    Returns:
        The answers by address; changing one changes what is served.
    """
    answers = {each.url: content(each, folder) for each in published}
    monkeypatch.setattr(downloads, "_open", lambda url: Response(answers[url]))
    return answers


def content(published: Download, folder: Path) -> bytes:
    """What lies at an address, of the publisher's files below ``folder``."""
    if list(published.files.values()) == [""]:
        return folder.joinpath(*published.files).read_bytes()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as opened:
        for path, member in published.files.items():
            if (folder / path).exists():
                opened.writestr(member, (folder / path).read_bytes())
    return archive.getvalue()


def visible(folder: Path) -> list[str]:
    """What a folder holds, without its locks, which stay."""
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")
