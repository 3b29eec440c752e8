"""pyproject.toml, both files of constraints and environment.yml say the same."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
CONDA_NAMES = {"pytorch-cpu": "torch"}
ONLY_IN_PYPROJECT = {  # the tests' own
    *("pytest", "pytest-xdist", "nbval", "hypothesis", "ruff"),
    *("playwright", "axe-playwright-python", "build", "setuptools"),
}


def by_name(lines) -> dict[str, Requirement]:
    requirements = [Requirement(line) for line in lines]
    return {canonicalize_name(r.name): r for r in requirements if r.name != "gtcourse"}


@pytest.fixture(scope="module")
def project() -> dict[str, Requirement]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [line for extra in settings["optional-dependencies"].values() for line in extra]
    return by_name(settings["dependencies"] + extras)


@pytest.fixture(scope="module")
def pins() -> dict[str, Requirement]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return by_name(line for line in lines if not line.startswith("#"))


@pytest.fixture(scope="module")
def oldest() -> dict[str, Requirement]:
    lines = (ROOT / "constraints-oldest.txt").read_text().splitlines()
    return by_name(line for line in lines if not line.startswith("#"))


@pytest.fixture(scope="module")
def environment() -> dict[str, Requirement]:
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    from_pip = next(entry["pip"] for entry in entries if isinstance(entry, dict))
    conda = [entry for entry in entries if isinstance(entry, str)]
    lines = [re.sub(r"^[\w-]+", lambda m: CONDA_NAMES.get(m[0], m[0]), line) for line in conda]
    return by_name(lines + [line for line in from_pip if not line.startswith("-e")])


def test_environment_yml_has_the_names_and_bounds_of_pyproject(project, environment):
    wanted = {n: str(r.specifier) for n, r in project.items() if n not in ONLY_IN_PYPROJECT}
    found = {n: str(r.specifier) for n, r in environment.items() if n not in ("python", "pip")}
    assert found == wanted


def test_python_has_the_same_bound(environment):
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert str(environment["python"].specifier) == settings["requires-python"]


def test_every_dependency_is_pinned_and_every_pin_satisfies_its_bound(project, pins):
    assert set(project) <= set(pins)
    for name, requirement in project.items():
        version = str(pins[name].specifier).removeprefix("==")
        assert requirement.specifier.contains(version), f"{name}=={version} breaks {requirement}"


def test_the_oldest_versions_are_exactly_the_lower_bounds(project, oldest):
    bounds = {
        name: next(part.version for part in requirement.specifier if part.operator == ">=")
        for name, requirement in project.items()
    }
    assert {name: str(pin.specifier) for name, pin in oldest.items()} == {
        name: f"=={version}" for name, version in bounds.items()
    }
