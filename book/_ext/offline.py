"""Pages that need no other host, and ask none.

There are no live-code scripts, and each page tells the browser to refuse whatever else would be
loaded.
"""

import re
from pathlib import Path

from pages import built, update

INDEX = re.compile(
    r'<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>'
)

FONTAWESOME = re.compile(r"<(?:script|link)\b[^>]*fontawesome\.js[^>]*>\s*(?:</script>)?")

AUTO = re.compile(r'(<html\b[^>]*\bdata-theme=)"auto"')

ICONS = re.compile(r"(?:\.fa-[\w-]+::?before,?)+\{[^}]*\}")
"""In the theme's styles, the letter of a font of icons for each icon."""

MARKS = {
    "thebe": "",  # live code from a CDN
    "sphinx_highlight": "",  # marks the words of Sphinx's own search
    "design-tabs": "sd-tab-set",
    "sphinx-design": "sd-",  # cards and dropdowns
    "togglebutton": "admonition dropdown",
    "proof.css": 'class="proof',
    "mathjax.css": "<mjx-container",
}
"""What in a page needs a library; "" for one that no page needs."""

# Cells bring styles and scripts in their pages; file: is for a book that is read from the disk.
POLICY = "default-src 'self' file: data: blob: 'unsafe-inline'"


def drop_unused(app, page, template, context, doctree) -> None:
    """Extensions put their scripts and styles on every page; they stay where they have work."""
    body = context.get("body", "")
    unused = [library for library, mark in MARKS.items() if not mark or mark not in body]
    for files in ("script_files", "css_files"):
        context[files] = [
            file
            for file in context.get(files, [])
            if not any(is_from(library, file) for library in unused)
        ]


def is_from(library: str, file) -> bool:
    attributes = getattr(file, "attributes", {})
    return library in f"{getattr(file, 'filename', '')} {attributes.get('body', '')}".lower()


def drop_fontawesome(app, error) -> None:
    """icons.css draws the icons: the theme's script and letters of 1,900 icons are not needed."""
    if error is not None or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    for script in Path(static, "scripts").glob("fontawesome.js*"):
        script.unlink()
    styles = Path(static, "styles", "pydata-sphinx-theme.css")
    styles.write_text(ICONS.sub("", styles.read_text(encoding="utf-8")), encoding="utf-8")


def without_scripts(page: str) -> str:
    """The search page has its own index of sections; the theme loads Sphinx's on every page.

    The theme also names the script of the icons, which is not there.
    """
    return light(FONTAWESOME.sub("", INDEX.sub("", page)))


def light(text: str) -> str:
    """Without scripts nothing replaces the mode "auto", for which the theme has no colours."""
    return AUTO.sub(r'\1"light"', text, count=1)


def drop_scripts(app, error) -> None:
    for path, page in built(app, error):
        update(path, page, without_scripts(page))


def guard(app, page, template, context, doctree) -> None:
    meta = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    context["metatags"] = meta + context.get("metatags", "")


def setup(app):
    app.connect("html-page-context", drop_unused, priority=900)
    app.connect("html-page-context", guard, priority=900)
    app.connect("build-finished", drop_fontawesome)
    app.connect("build-finished", drop_scripts)
    app.add_css_file("icons.css")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
