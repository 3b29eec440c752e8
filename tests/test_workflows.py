"""What runs on GitHub asks for little, and for what exists."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
TEXTS = {path.name: path.read_text() for path in (ROOT / ".github/workflows").glob("*.yml")}
ACTION = ROOT / ".github/actions/report/action.yml"


@pytest.fixture(params=sorted(TEXTS))
def workflow(request) -> dict:
    return yaml.safe_load(TEXTS[request.param])


def steps(workflow: dict) -> list[dict]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


def test_a_job_may_only_read_unless_it_says_what_it_writes(workflow):
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job.get("permissions", {}).get("contents", "read") == "read"


def test_every_checkout_leaves_no_credentials_behind(workflow):
    checkouts = [each for each in steps(workflow) if "checkout" in each.get("uses", "")]
    assert checkouts
    assert all(each["with"] == {"persist-credentials": False} for each in checkouts)


def test_no_actions_but_githubs_and_our_own_are_used(workflow):
    used = [each["uses"] for each in steps(workflow) if "uses" in each]
    assert all(re.match(r"actions/|\./\.github/actions/report$", name) for name in used)


def test_text_from_outside_reaches_no_shell(workflow):
    """A title or the name of a branch can hold commands; here a shell sees our own words alone."""
    scripts = [each["run"] for each in steps(workflow) if "run" in each]
    scripts += [each["run"] for each in yaml.safe_load(ACTION.read_text())["runs"]["steps"]]
    found = {name for text in scripts for name in re.findall(r"\$\{\{\s*([\w.]+)", text)}
    assert found <= {"matrix.target"}
    assert True in workflow  # YAML reads "on" as true
    assert "pull_request_target" not in workflow[True]


def test_every_make_target_that_is_asked_for_exists():
    targets = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))
    said = [part for text in TEXTS.values() for part in re.findall(r"\bmake ([a-z -]+[a-z])", text)]
    asked = {word for part in said for word in part.split()}
    asked |= set(re.findall(r"target: ([a-z-]+)", TEXTS["scheduled.yml"]))
    assert {
        "nightly",
        "faults",
        "audit",
        "downloads",
        "oldest",
        "package-tests",
    } <= asked
    assert asked <= targets
