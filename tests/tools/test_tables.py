"""The page of results is complete; ``tools.tables check`` compares its numbers."""

from gtcourse.recipes import RECIPES
from gtcourse.training.records import read_results
from tools import tables

PAGE = (tables.RESULTS / "index.md").read_text(encoding="utf-8")


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
