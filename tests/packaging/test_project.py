"""The project's own files agree: requirements, versions, and what runs on GitHub."""

import re
import tomllib

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import gtcourse
from tools.paths import PACKAGE, ROOT

CONDA_NAMES = {"pytorch-cpu": "torch"}
ONLY_IN_PYPROJECT = {  # the tests' own
    *("pytest", "pytest-xdist", "nbval", "hypothesis", "ruff", "import-linter", "deptry", "mypy"),
    *("playwright", "axe-playwright-python", "build", "setuptools", "packaging", "requests"),
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


def test_libraries_imported_by_name_are_declared_in_an_extra():
    """deptry cannot read these imports: ``require("sklearn.datasets", "scikit-learn")``."""
    extras = SETTINGS["optional-dependencies"]
    of_users = [line for name in {*extras} - {"book", "test"} for line in extras[name]]
    declared = by_name(SETTINGS["dependencies"] + of_users)
    text = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    named = by_name(re.findall(r'\brequire\("[\w.]+", "([^"]+)"\)', text))
    assert {*named} >= {"rdkit", "ogb", "dask"}
    assert {*named} <= {*declared}


# Versions.

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$", re.M)
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_newest_changelog_entry_matches_the_package_and_citation_versions():
    version, date = ENTRY.findall(CHANGELOG)[0]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert version == gtcourse.__version__ == cited["version"]
    assert date == str(cited["date-released"])


def test_changelog_entries_are_in_descending_order_with_known_headings():
    entries = ENTRY.findall(CHANGELOG)
    assert len(entries) == len(re.findall(r"^## (?!\[Unreleased\]$)", CHANGELOG, re.M))
    ordered = sorted(entries, key=lambda entry: [int(part) for part in entry[0].split(".")])
    assert entries == ordered[::-1]
    assert [date for _, date in entries] == sorted((date for _, date in entries), reverse=True)
    assert {*re.findall(r"^### (.+)$", CHANGELOG, re.M)} <= KINDS


# What runs on GitHub asks for little, and for what exists.

WORKFLOWS = {path.name: path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml")}
ACTION = ROOT / ".github/actions/report/action.yml"


@pytest.fixture(params=sorted(WORKFLOWS))
def workflow(request) -> dict:
    return yaml.safe_load(WORKFLOWS[request.param])


def steps(workflow: dict) -> list[dict]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_only_the_release_job_has_write_permission(workflow):
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        allowed = "write" if name == "release" else "read"
        assert job.get("permissions", {}).get("contents", "read") == allowed


def test_workflows_use_only_trusted_actions_and_checkouts_store_no_credentials(workflow):
    used = [each for each in steps(workflow) if "uses" in each]
    own = re.compile(r"actions/|\./\.github/actions/report$")
    assert all(own.match(each["uses"]) for each in used)
    checkouts = [each["with"] for each in used if "checkout" in each["uses"]]
    assert checkouts
    assert all(options == {"persist-credentials": False} for options in checkouts)


def test_workflows_pass_no_untrusted_text_to_a_shell(workflow):
    """A title or the name of a branch can hold commands; here a shell sees our own words alone."""
    scripts = [each["run"] for each in steps(workflow) if "run" in each]
    scripts += [each["run"] for each in yaml.safe_load(ACTION.read_text())["runs"]["steps"]]
    found = {name for text in scripts for name in re.findall(r"\$\{\{\s*([\w.]+)", text)}
    assert found <= {"matrix.target"}
    assert True in workflow  # YAML reads "on" as true
    assert "pull_request_target" not in workflow[True]


def test_every_make_target_used_by_ci_exists():
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    said = [
        part for text in WORKFLOWS.values() for part in re.findall(r"\bmake ([a-z -]+[a-z])", text)
    ]
    asked = {word for part in said for word in part.split()}
    asked |= set(re.findall(r"target: ([a-z-]+)", WORKFLOWS["scheduled.yml"]))
    assert {"nightly", "faults", "audit", "downloads", "oldest", "package-tests"} <= asked
    assert asked <= targets
