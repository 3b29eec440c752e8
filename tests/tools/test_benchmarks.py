"""The benchmarks' page shows the record."""

from tools import benchmarks

PAGE = benchmarks.PAGE.read_text(encoding="utf-8")


def test_the_page_shows_the_record():
    assert benchmarks.with_tables(PAGE) == PAGE


def test_another_number_gives_another_page(monkeypatch):
    changed = benchmarks.record()
    changed["rows"][0]["graphs_per_second"] += 1000
    monkeypatch.setattr(benchmarks, "record", lambda: changed)
    assert benchmarks.with_tables(PAGE) != PAGE
