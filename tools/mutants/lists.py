"""The lists of mutants, and what one does to a copy of the package."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
AT_LEAST = 10
"""So many ways to break each model."""


@dataclass(frozen=True)
class Mutant:
    """One small way to break the package.

    Attributes:
        id: its name, of all lists; phrase: what is wrong in it.
        file: which file it changes, below the repository.
        before: text that is in the file once; after: what stands there instead.
        tests: what is run first: test files, tests, or beginnings of what pytest calls them.
    """

    id: str
    phrase: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    @property
    def module(self) -> str:
        return self.file.removesuffix(".py").replace("/", ".")

    def fault(self, root: Path) -> str | None:
        """Why it cannot be made of the package below ``root``; None if it can."""
        path = root / self.file
        if not path.is_file():
            return f"{self.file} is not there"
        count = path.read_text(encoding="utf-8").count(self.before)
        if count != 1:
            return f"its text is {count} times in {self.file}; expected once"
        return "it changes nothing" if self.before == self.after else None

    def apply(self, root: Path) -> None:
        """Breaks the package below ``root``."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(self.before, self.after), encoding="utf-8")


@dataclass(frozen=True)
class Model:
    """A model, or another part of the package, and the ways to break it.

    Attributes:
        file: the list's name; name: what it is called.
        builds: statements that have to run in spite of a mutant: a mutant that does not even build
            proves nothing about the tests.
    """

    file: str
    name: str
    builds: str
    mutants: tuple[Mutant, ...]


def read_models(folder: Path = FOLDER) -> list[Model]:
    """All lists of a folder, in alphabetical order.

    Raises:
        ValueError: two mutants have the same name.
    """
    models = [_read(path) for path in sorted(folder.glob("*.toml"))]
    names = [mutant.id for model in models for mutant in model.mutants]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two mutants are called {', '.join(twice)}; expected a name of its own.")
    return models


def _read(path: Path) -> Model:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    defaults = {"file": content.get("file"), "tests": content["tests"]}
    mutants = []
    for entry in content["mutant"]:
        given = defaults | entry
        mutants.append(Mutant(**given | {"tests": tuple(given["tests"])}))
    return Model(path.stem, content["name"], content["builds"], tuple(mutants))
