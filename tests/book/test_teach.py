"""The teacher's page: its hours are hours of what is there."""

import re

import pytest

from tools.exercises import chapters, exercises
from tools.paths import ROOT

PAGE = (ROOT / "book" / "teach.md").read_text(encoding="utf-8")
TEXTS = {path.stem[:2]: path.read_text(encoding="utf-8") for path in chapters()}
HOURS = {
    number: re.findall(r"^\| (\d+) \| (.+) \|$", body, re.M)
    for number, body in re.findall(r"^### (\d\d) .+\n((?:(?!^##).*\n)*)", PAGE, re.M)
}


def test_every_chapter_has_its_row_and_its_hour():
    assert [*HOURS] == [*TEXTS]
    assert len(re.findall(r"^\| \[\d\d ", PAGE, re.M)) == len(TEXTS)
    for text in TEXTS.values():
        (title,) = re.findall(
            r"^# (.+)$", re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S), re.M
        )
        assert f"### {title}\n" in PAGE


@pytest.mark.parametrize("number", HOURS)
def test_an_hour_has_sixty_minutes_and_says_what_has_to_be_known_before(number):
    assert sum(int(minutes) for minutes, _ in HOURS[number]) == 60
    assert re.search(rf"^### {number} .+\n\nBefore it: .+\.$", PAGE, re.M)


@pytest.mark.parametrize("number", HOURS)
def test_an_exercise_of_the_hour_has_the_minutes_that_stand_beside_it(number):
    written = {str(exercise.number): exercise.minutes for exercise in exercises(TEXTS[number])}
    named = [(minutes, re.match(r"exercise (\d): ", what)) for minutes, what in HOURS[number]]
    planned = [(match[1], minutes) for minutes, match in named if match]
    assert planned
    assert all(written[exercise] == minutes for exercise, minutes in planned)
