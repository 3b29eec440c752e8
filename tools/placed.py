"""Tables within pages: what stands between two marks is written, the rest is left alone."""

import re


def placed(text: str, tables: dict[str, str], mark: str) -> str:
    """The page with each table in the one place that is marked with its name."""
    for name, table in tables.items():
        begin, end = mark.split("{text}")
        pattern = re.escape(begin.format(name=name)) + r".*?" + re.escape(end.format(name=name))
        new = mark.format(name=name, text=table)
        text, count = re.subn(pattern, lambda _, new=new: new, text, flags=re.S)
        if count != 1:
            raise ValueError(f"the page has {count} places for the table {name!r}; expected one")
    return text
