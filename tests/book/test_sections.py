"""What the search knows of the pages, from one build to the next."""

import importlib
from types import SimpleNamespace

import pytest

from tools.paths import ROOT


@pytest.fixture
def sections(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    return importlib.import_module("sections")


def test_a_page_that_is_gone_is_not_found(sections):
    env = SimpleNamespace(sections_of_pages={"gone": ["a section"], "here": ["another"]})
    sections.forget(None, env, "gone")
    sections.forget(None, env, "never read")
    assert env.sections_of_pages == {"here": ["another"]}


def test_what_several_processes_have_read_is_collected(sections):
    env = SimpleNamespace(sections_of_pages={"first": ["a section"]})
    other = SimpleNamespace(sections_of_pages={"first": [], "second": ["another"]})
    sections.merge(None, env, {"second", "without sections"}, other)
    assert env.sections_of_pages == {"first": ["a section"], "second": ["another"]}
