"""How a model learns.

Each part is imported from its own module, as in ``from gtcourse.training.fit import fit``: the loop
and the tasks need Fabric and torchmetrics, which take seconds to import and which the models and
data do without. ``RECIPES``, ``Recipe`` and ``get_recipe`` are handed on when they are asked for.
"""


def __getattr__(name: str):
    if name not in ("RECIPES", "Recipe", "get_recipe"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from gtcourse import recipes

    return getattr(recipes, name)
