"""Built pages without what no reader sees: unused styles, unseen marks, duplicate glyphs.

Of the styles of the theme and the extensions, three quarters are for classes that no page has. In
code, names and punctuation have the colour of the text around them, so they need no mark, and
neighbours of one colour need one mark. Each figure of matplotlib brings its own glyphs; a page
needs each of them once. The book's own scripts and styles come without comments and indentation.
Late among the extensions, because it reads what the others have written.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import tinycss2
from pages import built, update
from tinycss2.ast import Node

OURS = {"book.css", "icons.css", "pictures.css", "print.css"}
COMPOSED = "bs-"
"""Bootstrap puts the names of such classes together when it runs."""

OWN = (
    *OURS,
    "book.js",
    "search.js",
    "tour.js",
    "diagram.js",
    "twins/wall.js",
    "widgets/*.js",
    "pictures/*.js",
    "explainer/home.js",
    "explainer/models.js",
    "explainer/view.js",
)
"""The book's own styles and scripts, in ``_static``."""

COMMENT = re.compile(r"^[ \t]*(?://[^\n]*|/\*(?:(?!\*/).)*\*/[ \t]*)\n", re.DOTALL | re.MULTILINE)
INDENT = re.compile(r"^\s+", re.MULTILINE)
BLANK = r"(?:\s|/\*.*?\*/)*"
IN_STYLES = re.compile(rf'(?P<quoted>"[^"]*")|{BLANK}(?P<mark>[{{}};]){BLANK}|/\*.*?\*/', re.DOTALL)

CLASSES = re.compile(r'class="([^"]*)"')
SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL)
WORD = re.compile(r"[A-Za-z_][\w-]*")

CODE = re.compile(r'<div class="highlight">.*?</div>', re.DOTALL)
IN_CODE = re.compile(r'html\[data-theme="(\w+)"\] \.highlight(?: \.(\w+))?')
MARK = re.compile(r'<span class="(\w+)">([^<]*)</span>')
NEIGHBOURS = re.compile(r'(<span class="(\w+)">[^<]*)</span>(\s*)<span class="\2">(?=[^<]*</span>)')
OPERATOR = "o"
GLYPH = re.compile(r'<path id="[^"]+"(?: d="[^"]*")?[^>]*/>')  # a space has no d


def slim(app, error) -> None:
    if error is not None or app.builder.format != "html":
        return
    root = Path(app.outdir)
    alike = marks_alike(Path(root, "_static/pygments.css").read_text(encoding="utf-8"))
    words = set()
    for path, page in built(app, error):
        less = without_repeated_glyphs(with_few_marks(page, alike))
        update(path, page, less)
        for names in CLASSES.findall(less):
            words.update(names.split())
        for script in SCRIPT.findall(less):
            words.update(WORD.findall(script))
    for path in scripts(root):
        words.update(WORD.findall(path.read_text(encoding="utf-8")))
    for path in Path(root, "_static").rglob("*.css"):
        if path.name not in OURS:
            used = used_styles(path.read_text(encoding="utf-8"), words)
            path.write_text(used, encoding="utf-8")
    for path in (path for name in OWN for path in Path(root, "_static").glob(name)):
        code = bare(path.read_text(encoding="utf-8"))
        path.write_text(dense(code) if path.suffix == ".css" else code, encoding="utf-8")


def bare(code: str) -> str:
    """Code without indentation, empty lines and comments that have lines of their own."""
    return INDENT.sub("", COMMENT.sub("", code))


def dense(styles: str) -> str:
    """Styles without comments and without space beside braces and semicolons."""

    def less(part: re.Match) -> str:
        return part["quoted"] or part["mark"] or ""

    return IN_STYLES.sub(less, styles)


def scripts(root: Path) -> Iterable[Path]:
    """Those that can put a class on an element: not what the search reads."""
    for path in Path(root, "_static").rglob("*.js"):
        if path.name != "sections.js":
            yield path


def used_styles(styles: str, words: set[str]) -> str:
    """The rules that can apply to an element with classes among ``words``."""
    rules = tinycss2.parse_stylesheet(styles, skip_comments=True, skip_whitespace=True)
    return "".join(rule_text(rule, words) for rule in rules)


def rule_text(rule: Node, words: set[str]) -> str:
    if rule.type == "at-rule" and rule.lower_at_keyword in {"media", "supports"}:
        inside = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
        text = "".join(rule_text(each, words) for each in inside)
        return f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{text}}}" if text else ""
    if rule.type != "qualified-rule":
        return rule.serialize()
    kept = [each for each in selectors(rule.prelude) if can_apply(each, words)]
    if not kept:
        return ""
    return f"{','.join(map(tinycss2.serialize, kept))}{{{tinycss2.serialize(rule.content)}}}"


def selectors(prelude: list[Node]) -> list[list[Node]]:
    found = [[]]
    for part in prelude:
        if part == ",":
            found.append([])
        else:
            found[-1].append(part)
    return found


def can_apply(selector: list[Node], words: set[str]) -> bool:
    """Whether all its classes are known; those in ``:not()`` and the like are ignored."""
    pairs = pairwise(selector)
    classes = [name.value for dot, name in pairs if dot == "." and name.type == "ident"]
    return all(name in words or name.startswith(COMPOSED) for name in classes)


def marks_alike(styles: str) -> dict[str, str]:
    """For each mark of code, as "kn" for an import, one that looks like it in each mode.

    It is "" for what looks like code without a mark, and for operators, which would have the
    colour of strings.
    """
    looks: dict[str, dict[str, str]] = {}  # of a mark, or of "" for all code, by mode
    for rule in tinycss2.parse_stylesheet(styles, skip_comments=True, skip_whitespace=True):
        if rule.type != "qualified-rule":
            continue
        found = IN_CODE.fullmatch(tinycss2.serialize(rule.prelude).strip())
        if found:
            mode = found[1]
            mark = found[2] or ""
            only = "color" if mark == "" else None
            looks.setdefault(mark, {})[mode] = declared(rule.content, only)
    if "" not in looks:
        raise ValueError("the styles of code name no colour of code; expected one for each mode.")
    first: dict[tuple, str] = {}
    alike = {OPERATOR: ""}
    for mark in sorted(looks.keys() - alike.keys(), key=lambda mark: (len(mark), mark)):
        alike[mark] = first.setdefault(tuple(sorted(looks[mark].items())), mark)
    return alike


def declared(content: list[Node], only: str | None) -> str:
    """A rule's declarations, or that of one property alone, in a form that can be compared."""
    found = tinycss2.parse_declaration_list(content, skip_comments=True, skip_whitespace=True)
    return ";".join(
        f"{each.lower_name}:{tinycss2.serialize(each.value).strip()}"
        for each in found
        if only is None or each.lower_name == only
    )


def with_few_marks(page: str, alike: dict[str, str]) -> str:
    """The page's code in the same colours, with one mark for what is beside each other."""

    def marked(found: re.Match) -> str:
        mark = alike.get(found[1], found[1])
        return f'<span class="{mark}">{found[2]}</span>' if mark else found[2]

    def fewer(code: re.Match) -> str:
        text = MARK.sub(marked, code[0])
        while (joined := NEIGHBOURS.sub(r"\1\3", text)) != text:
            text = joined
        return text

    return CODE.sub(fewer, page)


def without_repeated_glyphs(page: str) -> str:
    seen = set()

    def first(match: re.Match) -> str:
        if match[0] in seen:
            return ""
        seen.add(match[0])
        return match[0]

    return GLYPH.sub(first, page)


def setup(app):
    app.connect("build-finished", slim, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
