"""Import paths of release 0.2, which still work for one release and warn.

A module of ``MOVED`` is the very module of its new path. One of ``DIVIDED`` is made of the names
that have gone to several modules.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

MOVED = {
    "gtcourse.analysis": "gtcourse.interpret",
    "gtcourse.exercises": "gtcourse.course.exercises",
    "gtcourse.explore": "gtcourse.course.explorer",
    "gtcourse.graphs.benchmarks": "gtcourse.course.tasks",
    "gtcourse.graphs.datasets": "gtcourse.graphs.published",
    "gtcourse.graphs.files": "gtcourse.graphs.io",
    "gtcourse.graphs.ragged": "gtcourse.graphs.dataset",
    "gtcourse.inference": "gtcourse.predict",
    "gtcourse.plots": "gtcourse.course.plots",
    "gtcourse.prepare": "gtcourse.encodings.prepare",
    "gtcourse.recipes.base": "gtcourse.recipes.recipe",
    "gtcourse.training": "gtcourse.train",
    "gtcourse.training.costs": "gtcourse.course.costs",
    "gtcourse.training.fit": "gtcourse.train.loop",
    "gtcourse.training.flag": "gtcourse.train.flag",
    "gtcourse.training.leaderboard": "gtcourse.course.leaderboard",
    "gtcourse.training.own": "gtcourse.recipes.adapt",
    "gtcourse.training.records": "gtcourse.runs.record",
    "gtcourse.training.run": "gtcourse.runs.run",
    "gtcourse.training.tasks": "gtcourse.train.tasks",
}

DIVIDED = {
    "gtcourse.models.baselines": ("gtcourse.models.message_passing", "gtcourse.models.bag"),
    "gtcourse.models.embeddings": (
        "gtcourse.models.categories",
        "gtcourse.models.batch_norm",
        "gtcourse.models.mlp",
        "gtcourse.models.bag",
        "gtcourse.models.signnet",
        "gtcourse.models.graphormer",
        "gtcourse.models.egt",
        "gtcourse.models.csa",
    ),
}

NAMES = {"gtcourse.runs.record": {"recorded": "gtcourse.course.records"}}
"""Names that moved from a module that still exists to another one."""


class MovedModules(MetaPathFinder, Loader):
    """Finds a module under its old path: the very module of the new path, after a warning."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name not in DIVIDED and new_path(name) is None:
            return None
        return ModuleSpec(name, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        old = module.__name__
        if old in DIVIDED:
            gather(module, DIVIDED[old])
            return
        new = new_path(old)
        warnings.warn(
            f"{old} is now {new}; the old path will be removed in the next release.",
            FutureWarning,
            stacklevel=2,
        )
        assert new is not None  # or find_spec would not have found it
        current = import_module(new)
        # Its modules went to four places: it stays an empty package.
        if old != "gtcourse.training":
            sys.modules[old] = current


def gather(module: ModuleType, paths: Sequence[str]) -> None:
    """Gives a module the names that several modules define."""
    warnings.warn(
        f"{module.__name__} is now {', '.join(paths)}; the old path will be removed in the next "
        "release.",
        FutureWarning,
        stacklevel=3,
    )
    for path in paths:
        for name, value in vars(import_module(path)).items():
            if getattr(value, "__module__", None) == path:
                setattr(module, name, value)


def moved_attribute(module: str, name: str) -> object:
    """A name that moved from one module to another, after a warning."""
    home = NAMES[module].get(name)
    if home is None:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    warnings.warn(
        f"{module}.{name} is now {home}.{name}; the old path will be removed in the next release.",
        FutureWarning,
        stacklevel=3,
    )
    return getattr(import_module(home), name)


def new_path(name: str) -> str | None:
    """Where the module of an old path is now, or None for any other name."""
    for old in sorted(MOVED, key=len, reverse=True):
        if name == old or name.startswith(f"{old}."):
            return MOVED[old] + name.removeprefix(old)
    return None
