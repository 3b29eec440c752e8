"""The results page: written from records, complete, and nothing on it without one."""

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
            run = f"| `{name.split('/')[0]}` | {printed}"
            assert run in PAGE or f"| `{name}` | test_mae | {printed}" in PAGE
    records = read_results([results.FOLDER])
    assert records
    for record in records:
        assert f"`{record.commit[:7]}`" in PAGE
        assert "+changes" not in record.commit
