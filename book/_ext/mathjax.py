"""Formulas are set when the book is built, by MathJax itself, so that no page has to do it.

V8, the JavaScript engine of Chromium and Node, comes as a Python package and runs the MathJax that
another package brings: neither Node nor a network is needed. A formula that MathJax cannot read is
a warning of the build. A page loads the styles (slim.py leaves those that some page needs) and the
fonts. MathJax takes widths from its own tables, so nothing moves when the fonts arrive.
"""

import atexit
import importlib.util
import json
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from html import escape, unescape
from pathlib import Path

from docutils import nodes
from py_mini_racer import MiniRacer
from sphinx.application import Sphinx
from sphinx.ext.mathjax import html_visit_displaymath, html_visit_math
from sphinx.util import logging

NAME = "set_by_mathjax"
STYLES = "mathjax/mathjax.css"
FONTS = "output/chtml/fonts/woff-v2"
FIRST_FONTS = ("MathJax_Main-Regular", "MathJax_Math-Italic")
"""Those of nearly all formulas; a page asks for them before its styles are there."""

# Pages that are opened as files may not ask for fonts in advance.
ASK = """<script>
if (location.protocol !== "file:") {
  for (const href of %s) {
    const font = { rel: "preload", as: "font", type: "font/woff", crossOrigin: "anonymous", href };
    document.head.append(Object.assign(document.createElement("link"), font));
  }
}
</script>"""

# MathJax's own tex-chtml.js without its menu and what loads others; liteDOM is its document.
PARTS = [
    "startup",
    "core",
    "adaptors/liteDOM",
    "input/tex",  # with the AMS commands
    "output/chtml",
    "output/chtml/fonts/tex",
    "a11y/assistive-mml",
]

# The styles are those of all letters, because a page that is not written again needs its own.
SETTINGS = """
var window = globalThis, global = globalThis;
var MathJax = {
  startup: { typeset: false },
  chtml: { adaptiveCSS: false, fontURL: "." },
  tex: {
    packages: { "[-]": ["noundefined", "noerrors", "require", "autoload"] },
    formatError: (_, error) => { throw error; },
  },
};
"""
# An error's message leaves as text: as an exception it would bring all of MathJax along.
FUNCTIONS = """
MathJax.config.startup.ready();
function setFormula(tex, display) {
  const { adaptor, output, document } = MathJax.startup;
  MathJax.texReset();
  const formula = new document.options.MathItem(tex, document.inputJax[0], display);
  formula.setMetrics(16, 8, 1280, 1e6, 1);
  try {
    formula.convert(document);
  } catch (error) {
    return JSON.stringify({ error: error.message });
  }
  const html = adaptor.outerHTML(formula.typesetRoot);
  return JSON.stringify({ html, width: output.getBBox(formula, document).w });
}
const styles = () => MathJax.startup.adaptor.textContent(MathJax.chtmlStylesheet());
"""
LONGEST = 60  #: seconds for one formula

TEX = re.compile(r"\\\((.*)\\\)|\\\[(.*)\\\]", re.DOTALL)
# Numbers of equations would be ids twice, and the height of their row is not known without a page.
FLAWS = re.compile(r' id="mjx-eqn:[^"]*"| style="height: NaNem;"')
# A numbered equation is in the middle: as much room as its number takes is left free at its left.
LEFT_OF_NUMBERED = re.compile(r'<mjx-table style="[^"]*margin: 0 ([\d.]+)em')

logger = logging.getLogger(__name__)


def mathjax_folder() -> Path:
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None:
        raise RuntimeError("MathJax is missing: pip install 'gtcourse[book]' brings it")
    return Path(found.origin).parent / "static" / "mathjax"


@cache
def engine() -> MiniRacer:
    """V8 with MathJax; it is closed while Python still runs its thread, or Python would not end."""
    running = MiniRacer()
    atexit.register(running.close)
    folder = mathjax_folder()
    parts = [(folder / f"{part}.js").read_text(encoding="utf-8") for part in PARTS]
    for script in (SETTINGS, "\n".join(parts), FUNCTIONS):
        running.eval(script)
    return running


@cache
def set_formula(tex: str, display: bool) -> str:
    """A formula as HTML with its TeX; a displayed one states its width, in em of its letters.

    Raises:
        ValueError: what MathJax cannot read, in its words.
    """
    done = json.loads(engine().call("setFormula", tex, display, timeout_sec=LONGEST))
    if "error" in done:
        raise ValueError(f"MathJax cannot read {tex!r}: {done['error']}")
    html = FLAWS.sub("", done["html"])
    words = f'data-tex="{escape(tex.strip())}"'
    room = LEFT_OF_NUMBERED.search(html)
    width = done["width"] - (float(room[1]) if room else 0)
    said = f"--width:{width:.4g};" if display else ""
    start, rest = html.split('style="', 1)  # that of the container, which always has one
    return f'{start}{words} style="{said}{rest}'


def with_formula(visit: Callable) -> Callable:
    """Sphinx's visitor of a formula, whose TeX is then set."""
    display = visit is html_visit_displaymath

    def visited(self, node: nodes.Element) -> None:
        start = len(self.body)
        with suppress(nodes.SkipNode):
            visit(self, node)
        written = "".join(self.body[start:])
        try:
            written = TEX.sub(
                lambda found: set_formula(unescape(found[1] or found[2]), display), written
            )
        except ValueError as error:
            logger.warning(str(error), location=node)
        self.body[start:] = [written]
        raise nodes.SkipNode

    return visited


def ask_for_fonts(app, page, template, context, doctree) -> None:
    if "<mjx-container" not in context.get("body", ""):
        return
    paths = [context["pathto"](f"_static/mathjax/{font}.woff", 1) for font in FIRST_FONTS]
    context["metatags"] = context.get("metatags", "") + ASK % json.dumps(paths)


def write(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    shutil.copytree(mathjax_folder() / FONTS, static / "mathjax", dirs_exist_ok=True)
    Path(static, STYLES).write_text(engine().call("styles"), encoding="utf-8")


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer(
        NAME,
        (with_formula(html_visit_math), None),
        (with_formula(html_visit_displaymath), None),
    )
    app.add_css_file(STYLES)
    app.connect("html-page-context", ask_for_fonts)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
