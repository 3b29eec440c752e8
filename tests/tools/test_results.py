"""The results page: written from records, complete, and nothing on it without one."""

import pytest

from gtcourse.recipes import RECIPES
from gtcourse.training.results import read_results
from tools import results

PAGE = results.PAGE.read_text(encoding="utf-8")


def test_the_page_says_what_the_records_say():
    assert results.with_tables(PAGE) == PAGE


def test_every_recipe_on_zinc_has_a_row_and_every_record_too():
    for name, recipe in RECIPES.items():
        if recipe.dataset in ("zinc", "zinc-full"):
            printed = f"{recipe.paper_result['test_mae'][0]:g}"
            assert f"| `{name}` | {printed}" in PAGE or f"| `{name}` | test_mae | {printed}" in PAGE
    records = read_results([results.FOLDER])
    assert records
    for record in records:
        assert f"`{record.commit[:7]}`" in PAGE
        assert "+changes" not in record.commit


def test_a_page_without_a_place_for_a_table_is_refused():
    with pytest.raises(ValueError, match="0 places for the table 'zinc'; expected one"):
        results.with_tables(PAGE.replace("<!-- zinc", "<!-- zink"))


def test_times_are_written_for_people():
    assert [results.minutes(seconds) for seconds in (5.2, 89, 600)] == ["5 s", "89 s", "10 min"]


def test_a_commit_is_short_and_still_says_that_there_were_changes():
    commit = "0123456789abcdef0123456789abcdef01234567"
    assert results.short(commit) == "0123456"
    assert results.short(f"{commit}+changes") == "0123456+changes"
    assert results.short("gtcourse 0.1.0") == "gtcourse 0.1.0"
