"""What the commands refuse by themselves, before they hand on what was typed."""

from __future__ import annotations


def refuse_what_cannot_be_meant(
    seeds: list[int], jobs: int, resume: bool, auto_resume: bool
) -> None:
    """Numbers that no run can have, and options that exclude each other."""
    from gtcourse.graphs.arguments import a_seed, at_least

    for seed in seeds:
        a_seed(seed=seed)
        if seeds.count(seed) > 1:
            raise ValueError(f"seed {seed} is given twice; expected each once, a run for each.")
    at_least(1, jobs=jobs)
    if resume and auto_resume:
        raise ValueError(
            "--resume wants a run that is there and --auto-resume begins one where none is; "
            "expected one of the two."
        )


def refuse_dataset_without_recipe(name: str | None) -> None:
    """A data set's name that would leave every table empty."""
    from gtcourse.recipes import RECIPES

    known = sorted({recipe.dataset for recipe in RECIPES.values()})
    if name is not None and name not in known:
        raise ValueError(f"no recipe is for {name!r}; expected one of {', '.join(known)}.")
