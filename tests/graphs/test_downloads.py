"""Downloads: by TLS, with certificates and digests looked at, and no member more than wanted."""

from __future__ import annotations

import io
import shlex
import ssl
import subprocess
import threading
import zipfile
from dataclasses import replace
from email.message import Message
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.request import HTTPSHandler, Request
from urllib.response import addinfourl

import pytest

from gtcourse.graphs import datasets, downloads
from gtcourse.graphs.downloads import Download, download, pin, pins
from gtcourse.graphs.files import file_sha256
from tests.graphs.served import Response, serve

URL = "https://data.example/sets.zip"
FILES = {"raw/train.txt": "sets/train.txt", "raw/test.txt": "sets/test.txt"}
PUBLISHED = Download(URL, FILES)


@pytest.fixture
def published(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    (folder / "raw").mkdir()
    for path in FILES:
        (folder / path).write_text(path)
    return folder


@pytest.fixture
def answers(monkeypatch, published) -> dict[str, bytes]:
    return serve(monkeypatch, [PUBLISHED], published)


def redirected(monkeypatch, target: str) -> None:
    """Every https address leads to ``target``, without a network."""

    def https_open(self, request: Request):
        headers = Message()
        headers["Location"] = target
        response = addinfourl(io.BytesIO(), headers, request.full_url, 302)
        response.msg = "Found"
        return response

    monkeypatch.setattr(HTTPSHandler, "https_open", https_open)


@pytest.mark.parametrize("url", ["http://data.example/sets.zip", "file:///etc/passwd", "sets.zip"])
def test_an_address_that_is_not_https_is_refused(tmp_path, url):
    with pytest.raises(ValueError, match="expected one that begins with https://"):
        download([Download(url, FILES)], tmp_path, tmp_path)


@pytest.mark.parametrize("target", ["http://data.example/sets.zip", "ftp://data.example/sets.zip"])
def test_a_redirection_away_from_https_is_refused(tmp_path, monkeypatch, target):
    redirected(monkeypatch, target)
    with pytest.raises(ValueError, match=f"the address is {target}; expected one that begins with"):
        download([PUBLISHED], tmp_path, tmp_path)


def test_a_certificate_that_nobody_signed_is_refused(tmp_path):
    """A server on this machine, with a certificate that it has signed itself."""
    subprocess.run(
        shlex.split(
            "openssl req -x509 -newkey rsa:2048 -nodes -days 1 -keyout key.pem -out cert.pem"
            " -subj /CN=localhost -addext subjectAltName=DNS:localhost"
        ),
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    server = HTTPServer(("localhost", 0), BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None  # the client hangs up, as it should
    threading.Thread(target=server.handle_request, daemon=True).start()
    url = f"https://localhost:{server.server_port}/sets.zip"
    try:
        with pytest.raises(OSError, match="certificate verify failed"):
            download([Download(url, FILES)], tmp_path, tmp_path)
    finally:
        server.server_close()


def test_all_addresses_of_the_course_are_https():
    published = datasets.PUBLICATIONS.values()
    urls = [download.url for each in published for download in each.downloads]
    assert len(urls) == 16
    assert all(url.startswith("https://") for url in urls)


@pytest.mark.parametrize("digest", ["sha256:" + 64 * "0", "md5:" + 32 * "0"])
def test_what_differs_from_its_published_digest_is_not_unpacked(tmp_path, answers, digest):
    with pytest.raises(
        ValueError, match=f"{URL} is not what was pinned: it has .*; expected {digest}"
    ):
        download([replace(PUBLISHED, digest=digest)], tmp_path, tmp_path)
    assert not (tmp_path / "raw").exists()


def test_what_has_its_published_digest_is_unpacked_and_pins_nothing(tmp_path, answers):
    (tmp_path / "archive").write_bytes(answers[URL])
    digest = f"sha256:{file_sha256(tmp_path / 'archive')}"
    assert download([replace(PUBLISHED, digest=digest)], tmp_path, tmp_path) == {}
    assert (tmp_path / "raw/test.txt").read_text() == "raw/test.txt"


def test_the_first_download_is_pinned_and_another_one_refused(tmp_path, answers, capsys):
    work = tmp_path / "work"
    work.mkdir()
    new = download([PUBLISHED], work, tmp_path)
    assert list(new) == [URL]
    pin(tmp_path, new)
    assert f"{URL} has sha256 {new[URL]}. No published one" in capsys.readouterr().err
    assert pins(tmp_path) == new
    assert download([PUBLISHED], work, tmp_path) == {}
    answers[URL] += b"\n"
    with pytest.raises(ValueError, match=f"expected sha256:{new[URL]}"):
        download([PUBLISHED], work, tmp_path)


def test_a_download_that_breaks_off_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "_open", lambda url: Response(b"half", length=8))
    with pytest.raises(ValueError, match=f"{URL} ended after 4 of 8 bytes"):
        download([PUBLISHED], tmp_path, tmp_path)


def test_a_download_without_an_end_is_refused(tmp_path, monkeypatch):
    class Endless(Response):
        def read(self, size: int) -> bytes:
            return bytes(size)

    monkeypatch.setattr(downloads, "LARGEST", 4 << 20)
    monkeypatch.setattr(downloads, "_open", lambda url: Endless(b""))
    with pytest.raises(ValueError, match=f"{URL} is larger than 0 GiB"):
        download([PUBLISHED], tmp_path, tmp_path)


def test_a_zip_bomb_is_not_unpacked(tmp_path, monkeypatch):
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in FILES.values():
            archive.writestr(member, bytes(8 << 20))
    assert len(bomb.getvalue()) < 1 << 16
    monkeypatch.setattr(downloads, "LARGEST", 4 << 20)
    monkeypatch.setattr(downloads, "_open", lambda url: Response(bomb.getvalue()))
    with pytest.raises(ValueError, match="the archive would unpack to 16,777,216 bytes"):
        download([PUBLISHED], tmp_path, tmp_path)
    assert not list(tmp_path.glob("raw/*"))


def test_an_archive_that_lacks_a_member_is_refused(tmp_path, answers, published):
    lacking = Download(URL, FILES | {"raw/val.txt": "sets/val.txt"})
    with pytest.raises(ValueError, match=r"the archive has no sets/val\.txt"):
        download([lacking], tmp_path, tmp_path)


def test_what_two_processes_pin_at_once_is_all_kept(tmp_path, capfd):
    def pin_some(first: int) -> None:
        for number in range(first, first + 25):
            pin(tmp_path, {f"file-{number}": "0" * 64})

    threads = [threading.Thread(target=pin_some, args=(first,)) for first in (0, 25)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {*pins(tmp_path)} == {f"file-{number}" for number in range(50)}
