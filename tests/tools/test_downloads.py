from types import SimpleNamespace

import pytest

from tools import downloads


def test_each_set_is_downloaded_afresh_and_compared_with_the_last_time(tmp_path, monkeypatch):
    digests, downloaded = {"zinc": "1", "ogbg-molhiv": "2", "pcqm4mv2": "3"}, []

    def load(name, source, root):
        assert not (root / f"{name}.npz").exists()
        (root / f"{name}.npz").touch()
        downloaded.append(name)
        return SimpleNamespace(checksum=digests[name])

    monkeypatch.setattr(downloads, "load_dataset", load)
    monkeypatch.setattr(downloads, "pcqm4mv2", lambda root: load("pcqm4mv2", None, root / "new"))
    (tmp_path / "new").mkdir()
    first = downloads.compare(tmp_path)
    assert first == "1  zinc\n2  ogbg-molhiv\n3  pcqm4mv2\n"
    (tmp_path / "new/pcqm4mv2.npz").unlink()
    assert downloads.compare(tmp_path) == first
    assert downloaded == [*digests] * 2
    (tmp_path / "new/pcqm4mv2.npz").unlink()
    digests["zinc"] = "other"
    with pytest.raises(RuntimeError, match="not those of the last time"):
        downloads.compare(tmp_path)
