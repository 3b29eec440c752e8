from pathlib import Path

from tools import downloads


def test_each_set_is_downloaded_afresh_and_every_digest_told(tmp_path, monkeypatch):
    asked = []

    def load(name: str, source: str, root: Path) -> None:
        assert not (root / f"{name}.npz").exists()
        asked.append((name, source))
        (root / f"{name}.npz").touch()

    monkeypatch.setattr(downloads, "load_dataset", load)
    monkeypatch.setattr(downloads, "pcqm4mv2", lambda root: asked.append(root))
    (tmp_path / downloads.PINS).write_text("abc  https://data.example/zinc.zip\n")
    (tmp_path / "zinc.npz").touch()
    (tmp_path / "pcqm4m-v2").mkdir()
    assert "abc  https://data.example" in downloads.compare(tmp_path)
    assert asked == [("zinc", "download"), ("ogbg-molhiv", "download"), tmp_path]
    assert not (tmp_path / "pcqm4m-v2").exists()
