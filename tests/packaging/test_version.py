"""One version: the package's, the changelog's newest and the one to be cited."""

import re

import yaml

import gtcourse
from tools.paths import ROOT

CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
ENTRY = re.compile(r"^## \[(\d+\.\d+\.\d+)\] - (\d{4}-\d{2}-\d{2})$", re.M)
KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_newest_entry_is_the_packages_version_and_the_one_to_cite():
    version, date = ENTRY.findall(CHANGELOG)[0]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert version == gtcourse.__version__ == cited["version"]
    assert date == str(cited["date-released"])


def test_entries_fall_in_version_and_date_and_say_what_kind_of_change():
    entries = ENTRY.findall(CHANGELOG)
    assert len(entries) == len(re.findall(r"^## (?!\[Unreleased\]$)", CHANGELOG, re.M))
    ordered = sorted(entries, key=lambda entry: [int(part) for part in entry[0].split(".")])
    assert entries == ordered[::-1]
    assert [date for _, date in entries] == sorted((date for _, date in entries), reverse=True)
    assert {*re.findall(r"^### (.+)$", CHANGELOG, re.M)} <= KINDS
