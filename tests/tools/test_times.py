"""A chapter's reading time counts its prose, and its running time is put into words once."""

import pytest

from tools import tables, times

TEXT = """---
jupytext: not prose
---

# A title

Two words. <details>five words that are folded</details>

```{code-cell} ipython3
not = prose
```

Don’t count $x$ or `code`.

## 1.9 Exercises

Not on the way.
"""


def test_reading_time_counts_the_prose_up_to_the_exercises():
    assert times.words(TEXT) == 9  # A title, Two words, Don’t count x or code
    assert times.reading(TEXT) == 5


@pytest.mark.parametrize(("minutes", "said"), [(575, "9½"), (305, "5"), (29, "½"), (44, "½")])
def test_hours_are_told_to_the_nearest_half(minutes, said):
    assert tables.hours(minutes) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (9, "a few seconds"),
        (24, "about half a minute"),
        (43, "about a minute"),
        (125, "about two minutes"),
    ],
)
def test_seconds_are_written_as_rounded_words(monkeypatch, seconds, said):
    monkeypatch.setattr(times, "run_times", lambda: {"01_a": {"seconds": seconds}})
    assert times.running("01_a") == said
