import pytest

from tools import address

OWN = "gtcourse/gtcourse"
LINKS = [
    "git clone https://github.com/{}\n",
    'pip install "gtcourse @ git+https://github.com/{}"',
    "[x](https://colab.research.google.com/github/{}/blob/main/notebooks/01_x.ipynb)",
    "[x](https://colab.research.google.com/github/{}/blob/main/student/01_x.ipynb)",
    "https://mybinder.org/v2/gh/{}/main?urlpath=lab",
    'repository-code: "https://github.com/{}"',
    "see https://github.com/{}/issues.",
]


def test_no_other_spelling_of_the_address_exists():
    own = address.slug()
    wrong = {p.name: address.others(p.read_text(encoding="utf-8"), own) for p in address.files()}
    assert {name: found for name, found in wrong.items() if found} == {}


@pytest.mark.parametrize("link", LINKS)
def test_another_address_is_seen_and_mended(link):
    text = link.format("someone/gtcourse")
    assert address.others(text, OWN) == ["someone/gtcourse"]
    assert address.stamped(text, OWN) == link.format(OWN)


@pytest.mark.parametrize("link", LINKS[:6])
def test_another_repository_name_is_seen_too(link):
    text = link.format("someone/graphs.course")
    assert address.others(text, OWN) == ["someone/graphs.course"]
    assert address.stamped(text, OWN) == link.format(OWN)


@pytest.mark.parametrize("link", LINKS)
def test_our_own_address_passes(link):
    assert address.others(link.format(OWN), OWN) == []


def test_addresses_of_others_are_left_alone():
    text = "https://github.com/pyg-team/pytorch_geometric and https://github.com/a/b/blob/x.py"
    assert address.others(text, OWN) == []


def test_the_address_is_read_from_the_configuration(tmp_path):
    config = tmp_path / "_config.yml"
    config.write_text("repository: {url: https://github.com/me/fork/}\n")
    assert address.slug(config) == "me/fork"
