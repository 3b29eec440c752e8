"""Long lines of output and code, marked so that a phone can go on below and further to the right.

A line breaks between words. A word that is longer than a phone's row breaks after a bracket or a
comma and, in an output, after a dot or "="; a name in code stays whole. On wider windows nothing
changes. A long name in a text can break there as well, and after "/".
"""

import re
from functools import partial
from html import unescape

from pages import built, update

LONG = 38  #: characters in the row of a narrow phone
WORD = 34  #: of a word; it stands further to the right
ROW = 40  #: of a word in code and what is to its left
NAME = 21  #: of a name in a text, from which it can break

OUTPUT = re.compile(
    r'(<div class="output (?![^"]*\bsource\b)[^"]*"><div class="highlight"><pre>)(.*?)(</pre>)',
    re.DOTALL,
)
CODE = re.compile(
    r'(<div class="highlight-\w+ notranslate"><div class="highlight"><pre>)(.*?)(</pre>)', re.DOTALL
)
PART = re.compile(r"(<span[^>]*>)([^<]*)(</span>)|([^<]+)|(<[^>]*>)")
BREAK = re.compile(r"(?<=[(\[{,=.])(?=[^\s<])")
BREAK_OF_CODE = re.compile(r"(?<=[(\[{,])(?=[^\s<)\]}])")
NAMED = re.compile(rf'(<span class="pre">)([^<]{{{NAME},}})(</span>)')
BREAK_OF_NAME = re.compile(r"(?<=[(\[{,=./])(?=[^\s<])")
TAG = re.compile(r"<[^>]*>")
MARKED = '<span class="line"'


ALIGNED = re.compile(r"\S {2,}\S|\S +\|")


def with_long_lines(page: str) -> str:
    page = CODE.sub(lambda code: code[1] + broken(code[2], is_code=True) + code[3], page)
    return OUTPUT.sub(shown, page)


def shown(output: re.Match) -> str:
    """Long lines are broken, but a table in columns scrolls: broken, it cannot be read."""
    opening, code, closing = output.groups()
    if " aligned" in opening:  # a page that was not written again
        return output[0]
    if is_aligned(code):
        return opening.replace('class="output ', 'class="output aligned ', 1) + code + closing
    return opening + broken(code) + closing


def is_aligned(code: str) -> bool:
    """Whether most lines, and two at least, have columns that spaces or bars align."""
    lines = [line for line in unescape(TAG.sub("", code)).split("\n") if line.strip()]
    columns = sum(bool(ALIGNED.search(line)) for line in lines)
    return columns >= 2 and 2 * columns > len(lines)


def with_breakable_names(page: str) -> str:
    return NAMED.sub(lambda found: found[1] + BREAK_OF_NAME.sub("<wbr>", found[2]) + found[3], page)


def broken(code: str, *, is_code: bool = False) -> str:
    """An output or code in marks, its long lines each in a mark of its own."""
    if MARKED in code:  # a page that was not written again
        return code
    *lines, last = lines_of(code)
    return "".join(marked(f"{line}\n", is_code) for line in lines) + marked(last, is_code)


def lines_of(code: str) -> list[str]:
    """The lines; a mark over several lines, such as a docstring's, is repeated in each."""
    lines = [""]
    for opening, inside, closing, plain, other in PART.findall(code):
        lines[-1] += other
        for number, part in enumerate((inside or plain).split("\n")):
            if number:
                lines.append("")
            if part:
                lines[-1] += opening + part + closing
    return lines


def marked(line: str, is_code: bool) -> str:
    text = unescape(TAG.sub("", line)).rstrip("\n")
    if len(text) <= LONG:
        return line
    indent = len(text) - len(text.lstrip())
    longest = max(map(len, text.split()))
    if longest > WORD or (is_code and indent + 4 + longest > ROW):
        places = BREAK_OF_CODE if is_code else BREAK
        line = PART.sub(partial(breakable, places), line)
    return f'{MARKED} style="--indent:{indent}">{line}</span>'


def breakable(places: re.Pattern, part: re.Match) -> str:
    opening, inside, closing, plain, other = (group or "" for group in part.groups())
    return opening + places.sub("<wbr>", inside or plain) + closing + other


def with_breaks(page: str) -> str:
    return with_breakable_names(with_long_lines(page))


def break_lines(app, error) -> None:
    for path, page in built(app, error):
        update(path, page, with_breaks(page))


def setup(app):
    app.connect("build-finished", break_lines, priority=910)  # after slim.py took marks away
    return {"parallel_read_safe": True, "parallel_write_safe": True}
