"""What several extensions do at the end of a build: change the text of every page."""

from collections.abc import Callable
from pathlib import Path


def of_every_page(change: Callable[[str], str]) -> Callable:
    """A listener of ``build-finished`` that replaces each page by what ``change`` makes of it."""

    def rewrite(app, error) -> None:
        if error is not None or app.builder.format != "html":
            return
        for path in Path(app.outdir).rglob("*.html"):
            page = path.read_text(encoding="utf-8")
            changed = change(page)
            if changed != page:
                path.write_text(changed, encoding="utf-8")

    return rewrite
