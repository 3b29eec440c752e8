"""The check that reads all chapters as one text."""

import pytest

from tools import chapters

EXERCISE = """### Exercise {n} · A task

*5 minutes, easy.* Do it.

```{{code-cell}} ipython3
def f(): ...


check_f(f)
```

*Hint.* Do.

<details>
<summary>Solution</summary>

x

</details>
"""
CHAPTER = """---
kernelspec: x
---

# 07 A model

You build a model.

| | |
|---|---|
| You build | it |
| You need | chapter 07 |
| Takes | 5 s on one CPU thread |
| Sources | a paper |
| Run it | here |

## 7.1 A failure

See section 7.2, and what $s_{ij}$ is.

```python
# section 9.99 of code is no reference
```

## 7.2 Exercises

EXERCISES
## 7.3 Summary

- One.
- Two $x$.
- Three {cite:p}`paper`. Why?
- Four.
- Five.

**Where to read on.** Nowhere.
""".replace("EXERCISES", "\n".join(EXERCISE.format(n=n) for n in (1, 2, 3)))


def test_a_whole_chapter_has_no_fault():
    assert chapters.faults(CHAPTER) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("You build a model.", "A model is built.", "promise"),
        ("You build a model.", "You build a model. And more.", "promise"),
        ("| Takes | 5 s on one CPU thread |\n", "", "card's rows"),
        ("## 7.2 Exercises", "## 7.4 Exercises", "numbered"),
        (EXERCISE.format(n=3), "", "2 exercises"),
        ("- Four.\n", "", "4 points"),
        ("## 7.3 Summary", "## 7.3 The end", "expected a summary"),
        ("**Where to read on.** ", "", "Where to read on"),
    ],
)
def test_what_a_chapter_lacks_is_named(old, new, fault):
    assert old in CHAPTER
    (found,) = chapters.faults(CHAPTER.replace(old, new))
    assert fault in found


def test_an_entry_of_the_glossary_without_a_use_is_named():
    page = ":::{glossary}\nhop\n  A step.\n\npre-LN, post-LN\n  A norm.\n:::"
    assert chapters.unused_terms(page, "hops, and post-LN") == []
    unused = ["glossary: pre-LN, post-LN stands in no chapter"]
    assert chapters.unused_terms(page, "a hop") == unused


def test_the_chapters_are_one_text():
    assert chapters.check() == []
