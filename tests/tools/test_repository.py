"""Another repository's name in all files, for forks."""

import pytest

from tools.repository import renamed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("https://github.com/one/course", "https://github.com/two/fork"),
        ("git+https://github.com/one/course@v1", "git+https://github.com/two/fork@v1"),
        (
            "https://colab.research.google.com/github/one/course/blob/main/a.ipynb",
            "https://colab.research.google.com/github/two/fork/blob/main/a.ipynb",
        ),
        ("https://github.com/one/course-data", "https://github.com/one/course-data"),
        ("from one/course import", "from one/course import"),
    ],
)
def test_only_the_repositorys_own_addresses_are_replaced(text, expected):
    assert renamed(text, "one/course", "two/fork") == expected
