"""Each line of code is an element, so that on a phone it can go on below its own indentation."""

import re

from sphinx.application import Sphinx

BLOCK = re.compile(
    r'(<div class="highlight-\w+ notranslate"><div class="highlight"><pre>)(.*?)(?=</pre>)', re.S
)
TAGS = re.compile("<[^>]*>")


def split_lines(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    if "body" in context:
        context["body"] = BLOCK.sub(with_lines, context["body"])


def with_lines(block: re.Match) -> str:
    """Pygments ends what it marks at the end of each line."""
    return block[1] + "".join(map(line, block[2].splitlines(keepends=True)))


def line(text: str) -> str:
    code = TAGS.sub("", text)
    indent = len(code) - len(code.lstrip(" "))
    style = f' style="--indent:{indent}ch"' if indent else ""
    return f'<span class="line"{style}>{text}</span>'


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", split_lines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
