"""Where there is no browser, a sentence says what is missing."""

from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from tools import chromium


def test_without_a_chromium_the_names_that_were_looked_for_are_said(monkeypatch):
    monkeypatch.setattr(chromium.shutil, "which", lambda _: None)
    assert "no Chromium" in chromium.why_not()
    assert "google-chrome" in chromium.why_not()


def test_a_folder_is_served_and_nothing_beside_it(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "page.txt").write_text("here")
    (tmp_path / "out.txt").write_text("not here")
    with chromium.served(tmp_path / "in") as address:
        assert urlopen(f"{address}/page.txt").read() == b"here"
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"{address}/../out.txt")
