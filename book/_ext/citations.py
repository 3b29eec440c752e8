"""Sources as sentences name them, from the bibliography: "Ying et al. (2021)".

The pages themselves are cited by ``sphinxcontrib-bibtex``. The search page and the student copies
show plain text.
"""

from functools import cache
from pathlib import Path

from pybtex.database import BibliographyData, Entry, parse_file

BIBLIOGRAPHY = Path(__file__).parents[1] / "references.bib"


def in_text(keys: str) -> str:
    """Sources as part of a sentence: "Lim et al. (2023)", with commas between several.

    Args:
        keys: their keys in the bibliography, with commas between them.
    """
    return ", ".join(f"{authors(entry)} ({entry.fields['year']})" for entry in entries(keys))


def in_parentheses(keys: str) -> str:
    """Sources after a sentence: "(Lim et al., 2023)", with semicolons between several."""
    cited = [f"{authors(entry)}, {entry.fields['year']}" for entry in entries(keys)]
    return f"({'; '.join(cited)})"


def authors(entry: Entry) -> str:
    """The last names of one or two authors, or the first one's and "et al."."""
    names = [" ".join(map(str, person.rich_last_names)) for person in entry.persons["author"]]
    if len(names) > 2 or names[-1] == "others":  # "and others" in the bibliography
        return f"{names[0]} et al."
    return " and ".join(names)


def entries(keys: str) -> list[Entry]:
    """The entries of the bibliography with these keys, with commas between them."""
    return [bibliography().entries[key.strip()] for key in keys.split(",")]


@cache
def bibliography() -> BibliographyData:
    """All sources of the book, read once."""
    return parse_file(str(BIBLIOGRAPHY), "bibtex")
