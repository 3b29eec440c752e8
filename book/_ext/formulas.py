"""Formulas as plain text, for the search."""

import re
import unicodedata

from docutils.utils.math import tex2unichar

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
