"""Formulas: in the line as plain text for the search, and as large as they will be from the start.

MathJax sets them after the page is shown. Until then each has about its room, and the text hardly
moves.
"""

import html
import re
import unicodedata

from docutils.utils.math import tex2unichar
from sphinx.application import Sphinx

SIGNS = tex2unichar.mathalpha | tex2unichar.mathbin | tex2unichar.mathrel | tex2unichar.mathord
SIGNS |= tex2unichar.mathopen | tex2unichar.mathclose
SIGNS |= tex2unichar.mathop | {
    "lVert": "‖",
    "rVert": "‖",
    "dots": "…",
    "|": "‖",
    "sqrt": "√",
    "phi": "φ",
    "sum": "Σ",
}
ACCENTS = {"hat": "\u0302", "tilde": "\u0303", "bar": "\u0304"}
LOW = str.maketrans("0123456789+-=()aehijklmnoprstuvx", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ")
HIGH = str.maketrans(
    "0123456789+-=()abcdefghijklmnoprstuvwxyzKLMNT⊤′",
    "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻᴷᴸᴹᴺᵀᵀ′",
)
GROUP = r"\s*(?:\{([^{}]*)\}|(\w))"  # what a command or a script takes
SPAN = re.compile(r'(<span class="math notranslate nohighlight")(>\\\((.*?)\\\)</span>)', re.S)
DISPLAYED = re.compile(
    r'(<div class="math notranslate nohighlight")(>\s*\\\[(.*?)\\\]</div>)', re.S
)

# How wide a formula is, in em of the text around it: each pattern, and the width of each of its
# matches, or of each letter in its groups. The numbers are fitted to the 750 formulas that the
# book's lines have and MathJax has set; half of the widths are right to 0.21 em.
SILENT = re.compile(
    r"\\(?:left|right|[bB]igg?[lrm]?|[dt]?frac|(?:text|display)style|limits|hat|tilde|bar|vec"
    r"|overline|math(?:cal|bb|bf|frak|scr))(?![A-Za-z])|\\[,;:! ]|~"
)
NAMES = r"\\(?:text\w*|math(?:rm|it|sf|tt)|operatorname)\s*"
FUNCTIONS = r"(?:log|ln|exp|sin|cos|tanh|max|min|det|deg|dim|softmax)"
RELATIONS = (
    r"(?:to|in|notin|leq?|geq?|neq?|approx|sim|equiv|subset(?:eq)?|supset(?:eq)?|propto|mid|ll|gg"
    r"|mapsto|iff|cong|\w*arrow)"
)
OPERATIONS = r"(?:cdot|times|odot|oplus|otimes|pm|cup|cap|circ|setminus)"
PIECES = [
    (re.compile(r"[_^]\s*(?:\{((?:[^{}]|\{[^{}]*\})*)\}|(\\[A-Za-z]+|.))"), 0.39),
    (re.compile(NAMES + r"\{([^{}]*)\}"), 0.71),
    (re.compile(rf"\\({FUNCTIONS})(?![A-Za-z])"), 0.63),
    (re.compile(rf"\\{RELATIONS}(?![A-Za-z])|[=<>:]"), 1.72),
    (re.compile(rf"\\{OPERATIONS}(?![A-Za-z])|(?<=[\w)}}\]])\s*[+\-*]"), 1.37),
    (re.compile(r"\\(?:sum|prod|[cl]?dots|bigoplus)(?![A-Za-z])"), 1.70),
    (re.compile(r"\\(?!ell)[A-Za-z]+|\\\|"), 0.84),
    (re.compile(r"\\ell|[ijltrf]"), 0.49),
    (re.compile(r"[a-z]"), 0.74),
    (re.compile(r"[A-Z]"), 1.09),
    (re.compile(r"\d"), 0.60),
    (re.compile(r"[^\s{}\\]"), 0.59),
]


def plain(tex: str) -> str:
    """A simple formula as text, "qᵢ ⋅ kⱼ / √K"; "…" if Unicode has no signs for it."""
    text = re.sub(r"\\(?:text|math\w+|operatorname)" + GROUP, _group, tex)
    text = re.sub(r"\\(hat|tilde|bar)" + GROUP, _accent, text)
    text = re.sub(r"\\[,;!: ]|\\(?:left|right|[bB]igg?[lr]?|quad|displaystyle)(?!\w)|~", " ", text)
    text = re.sub(r"\\[dt]?frac" + 2 * GROUP, _fraction, text)
    text = re.sub(r"\\([A-Za-z]+|\|)", lambda name: _sign(name[1]), text)
    for mark, signs in (("_", LOW), (r"\^", HIGH)):
        text = re.sub(mark + r"\s*(?:\{([^{}]*)\}|(.))", lambda m, to=signs: _script(m, to), text)
    text = re.sub(r"√ *\{(?!\w[₀-₉ₐ-ₜᵢ-ᵥⱼ]\})([^{}]{2,})\}", r"√(\1)", text).replace("√ ", "√")
    text = re.sub(r"([a-z]{2}) \(", r"\1(", " ".join(re.sub("[{}]", "", text).split()))
    return "…" if re.search(r"[\\^&]|_(?![A-Z]\b)", text) else text


def _group(found: re.Match) -> str:
    return found[1] or found[2] or ""


def _accent(found: re.Match) -> str:
    return unicodedata.normalize("NFC", (found[2] or found[3] or "") + ACCENTS[found[1]])


def _fraction(found: re.Match) -> str:
    above = found[1] or found[2]
    below = found[3] or found[4]
    return "/".join(part if len(part) < 2 else f"({part})" for part in (above, below))


def _sign(name: str) -> str:
    return SIGNS.get(name, f" {name} ")


def _script(found: re.Match, signs: dict[int, int]) -> str:
    letters = "".join((found[1] if found[1] is not None else found[2]).split())
    if all(ord(letter) in signs for letter in letters):
        return letters.translate(signs)
    return found[0][0] + letters


def width(tex: str) -> float:
    """About how wide a formula is, in em of the text around it."""
    total = 0.0
    rest = SILENT.sub("", tex)
    for pattern, each in PIECES:
        for found in pattern.finditer(rest):
            total += each * (len(letters(found)) if pattern.groups else 1)
        rest = pattern.sub(" ", rest)
    return total


def letters(found: re.Match) -> str:
    """What a script or a name shows; each command in it is one letter."""
    inside = "".join(group or "" for group in found.groups())
    return re.sub(r"[\s{}_^]", "", re.sub(r"\\[A-Za-z]+", "x", re.sub(NAMES, "", inside)))


def height(tex: str) -> float:
    """About how high a displayed formula is, with its margins, in em: the medians of the book's."""
    if r"\begin{" in tex:
        return 7.6
    limits = re.search(r"\\(?:sum|prod)(?![A-Za-z])", tex)
    fraction = re.search(r"\\d?frac(?![A-Za-z])", tex)
    return 6.4 if limits and fraction else 5.8 if limits or fraction else 4.3


def give_room(app: Sphinx, page: str, template: str, context: dict, doctree: object) -> None:
    def wide(found: re.Match) -> str:
        room = width(html.unescape(found[3]))
        return f'{found[1]} style="--room:{room:.3g}em"{found[2]}'

    def high(found: re.Match) -> str:
        return f'{found[1]} style="--high:{height(html.unescape(found[3]))}em"{found[2]}'

    if "body" in context:
        context["body"] = DISPLAYED.sub(high, SPAN.sub(wide, context["body"]))


def setup(app: Sphinx) -> dict:
    app.connect("html-page-context", give_room)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
