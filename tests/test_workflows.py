"""What runs on GitHub asks for little, and for what exists."""

import re

import pytest
import yaml

from tools.paths import ROOT

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


def test_only_githubs_and_our_own_actions_are_used_and_checkouts_leave_no_credentials(workflow):
    used = [each for each in steps(workflow) if "uses" in each]
    own = re.compile(r"actions/|\./\.github/actions/report$")
    assert all(own.match(each["uses"]) for each in used)
    checkouts = [each["with"] for each in used if "checkout" in each["uses"]]
    assert checkouts
    assert all(options == {"persist-credentials": False} for options in checkouts)


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
    assert {"nightly", "faults", "audit", "downloads", "oldest", "package-tests"} <= asked
    assert asked <= targets
