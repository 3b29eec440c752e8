"""pyproject.toml, both files of constraints and environment.yml say the same."""

import re
import tomllib

import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tools.paths import ROOT

CONDA_NAMES = {"pytorch-cpu": "torch"}
ONLY_IN_PYPROJECT = {  # the tests' own
    *("pytest", "pytest-xdist", "nbval", "hypothesis", "ruff"),
    *("playwright", "axe-playwright-python", "build", "setuptools"),
}


def by_name(lines) -> dict[str, Requirement]:
    requirements = [Requirement(line) for line in lines if not line.startswith("#")]
    return {canonicalize_name(r.name): r for r in requirements if r.name != "gtcourse"}


SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = [line for extra in SETTINGS["optional-dependencies"].values() for line in extra]
PROJECT = by_name(SETTINGS["dependencies"] + EXTRAS)
PINS, OLDEST = (
    by_name((ROOT / f"{name}.txt").read_text().splitlines())
    for name in ("constraints", "constraints-oldest")
)


def test_environment_yml_has_the_names_and_bounds_of_pyproject():
    *conda, pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    lines = [re.sub(r"^[\w-]+", lambda m: CONDA_NAMES.get(m[0], m[0]), line) for line in conda]
    environment = by_name(lines + [line for line in pip["pip"] if not line.startswith("-e")])
    wanted = {n: str(r.specifier) for n, r in PROJECT.items() if n not in ONLY_IN_PYPROJECT}
    found = {n: str(r.specifier) for n, r in environment.items() if n != "pip"}
    assert found == wanted | {"python": SETTINGS["requires-python"]}


def test_every_dependency_is_pinned_and_every_pin_satisfies_its_bound():
    assert {*PROJECT} <= {*PINS}
    for name, requirement in PROJECT.items():
        version = str(PINS[name].specifier).removeprefix("==")
        assert requirement.specifier.contains(version), f"{name}=={version} breaks {requirement}"


def test_the_oldest_versions_are_exactly_the_lower_bounds():
    bounds = {
        name: next(f"=={part.version}" for part in requirement.specifier if part.operator == ">=")
        for name, requirement in PROJECT.items()
    }
    assert {name: str(pin.specifier) for name, pin in OLDEST.items()} == bounds
