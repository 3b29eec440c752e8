"""Pages say what the records say, completely, and nothing without a record."""

import pytest

from gtcourse.recipes import RECIPES
from gtcourse.training.records import read_results
from tools import tables
from tools.pages import placed, stale

PAGE = (tables.RESULTS / "index.md").read_text(encoding="utf-8")


def test_pages_say_what_the_records_say():
    assert stale(tables.pages()) == []


def test_another_number_gives_another_page(monkeypatch):
    changed = tables.benchmark()
    changed["rows"][0]["graphs_per_second"] += 1000
    monkeypatch.setattr(tables, "benchmark", lambda: changed)
    assert stale(tables.pages()) == ["book/benchmarks/index.md is out of date; run make tables."]


def test_a_page_without_a_place_for_its_table_raises():
    with pytest.raises(ValueError, match="0 places for the table 'zinc'"):
        placed("A page.", {"zinc": "| a |"})


def test_every_recipe_on_zinc_has_a_row_and_every_record_too():
    for name, recipe in RECIPES.items():
        if recipe.dataset in ("zinc", "zinc-full"):
            printed = f"{recipe.paper_result['test_mae'][0]:g}"
            run = f"| `{name.split('/')[0]}` | {printed}"
            assert run in PAGE or f"| `{name}` | test_mae | {printed}" in PAGE
    records = read_results([tables.RESULTS])
    assert records
    for record in records:
        assert f"`{record.commit[:7]}`" in PAGE
        assert "+changes" not in record.commit
