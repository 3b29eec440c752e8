"""The benchmarks' page: written from records, complete, and nothing on it without one."""

from tools import benchmarks
from tools.benchmark_numbers import decimal, digits, ratio, seconds, timed
from tools.benchmark_tables import TABLES

PAGE = benchmarks.PAGE.read_text(encoding="utf-8")
RECORDS = benchmarks.records()


def test_the_page_says_what_the_records_say():
    assert benchmarks.with_tables(PAGE) == PAGE


def test_every_record_is_on_the_page_and_every_table_has_a_record():
    assert {*RECORDS} == {*TABLES}
    for name in TABLES:
        assert PAGE.count(f"<!-- {name}: ") == PAGE.count(f"<!-- end of {name} -->") == 1


def test_a_number_that_changes_is_seen(monkeypatch):
    records = {name: dict(record) for name, record in RECORDS.items()}
    rows = [dict(row) for row in records["models"]["rows"]]
    rows[0]["graphs_per_second"] += 1000
    records["models"]["rows"] = rows
    monkeypatch.setattr(benchmarks, "records", lambda: records)
    assert benchmarks.with_tables(PAGE) != PAGE


def test_numbers_are_written_for_people():
    assert [ratio(value) for value in (1, 1.0, 0.456, 12)] == ["1", "1", "0.46", "12.00"]
    assert timed({"ms": 3.14, "quartiles": [3.0, 1234.5]}) == "3.1 (3.0–1,234)"
    assert [decimal(99.96), digits(9.994), digits(10.04)] == ["100.0", "9.99", "10.0"]
    assert seconds({"seconds": 1.234}) == "1.23"
    assert seconds({"seconds": 1.234, "quartiles": [1, 20]}) == "1.23 (1.00–20.0)"
