"""The pages of a finished build, which several extensions read and change."""

from collections.abc import Iterator
from pathlib import Path

from sphinx.application import Sphinx


def built(app: Sphinx, error: Exception | None) -> Iterator[tuple[Path, str]]:
    """Each page's file and text; none if the build has failed or wrote no HTML."""
    if error is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        yield path, path.read_text(encoding="utf-8")


def update(path: Path, page: str, changed: str) -> None:
    """Writes a page's new text, if it differs from the one that was read."""
    if changed != page:
        path.write_text(changed, encoding="utf-8")
