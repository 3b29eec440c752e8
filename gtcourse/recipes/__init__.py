"""Every published configuration of the course, by name: ``get_recipe("gin-pe/cycles")``.

A recipe holds what a paper states: model, data, encodings, optimiser, schedule, and the parameter
count and result to compare with. Each paper's recipes are in a file of their own; where a run here
differs from the published one is in ``notes.toml``.
"""

from __future__ import annotations

from gtcourse.messages import shown
from gtcourse.names import check_recipe
from gtcourse.recipes.baselines import BASELINES, BENCHMARK, CYCLES, SIGNNET
from gtcourse.recipes.csa import CSA_RECIPES
from gtcourse.recipes.egt import EGT_RECIPES
from gtcourse.recipes.graphormer import GRAPHORMER
from gtcourse.recipes.grpe import GRPE_RECIPES
from gtcourse.recipes.recipe import Recipe
from gtcourse.recipes.small import SMALL_RECIPES

__all__ = ["RECIPES", "Recipe", "as_recipe", "get_recipe"]

PAPERS = (CYCLES, BASELINES, BENCHMARK, SIGNNET, GRAPHORMER, EGT_RECIPES, GRPE_RECIPES, CSA_RECIPES)
RECIPES: dict[str, Recipe] = {recipe.name: recipe for paper in PAPERS for recipe in paper}


def get_recipe(name: str) -> Recipe:
    """A recipe by name; an unknown name raises a ValueError with similar ones.

    Besides the published ones there are those of chapter 10's comparison, "csa-100k/molecules".
    """
    check_recipe(name)
    return RECIPES[name] if name in RECIPES else SMALL_RECIPES[name]


def as_recipe(recipe: Recipe | str) -> Recipe:
    """The recipe itself, or the one of this name; a ValueError for anything else."""
    if isinstance(recipe, str):
        return get_recipe(recipe)
    if not isinstance(recipe, Recipe):
        raise ValueError(f"recipe is {shown(recipe)}; expected a Recipe, or the name of one.")
    return recipe
