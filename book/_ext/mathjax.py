"""Formulas are set when the book is built, by MathJax itself, so that no page has to do it.

V8, the JavaScript engine of Chromium and Node, comes as a Python package and runs the MathJax that
another package brings: neither Node nor a network is needed. A formula that MathJax cannot read is
a warning of the build. A page loads the styles (slim.py leaves those that some page needs) and the
fonts. MathJax takes widths from its own tables. Heights would change when the fonts arrive, because
a browser gives a line at least the height of its first font. MathJax therefore begins each list of
fonts with one of no height. The styles contain this font, so that it is there when the text is.
"""

import atexit
import base64
import importlib.util
import json
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import cache, partial
from html import escape, unescape
from pathlib import Path

from displays import in_lines
from docutils import nodes
from py_mini_racer import MiniRacer
from sphinx.application import Sphinx
from sphinx.ext.mathjax import html_visit_displaymath, html_visit_math
from sphinx.util import logging

NAME = "set_by_mathjax"
STYLES = "mathjax/mathjax.css"
FONTS = "output/chtml/fonts/woff-v2"
ZERO = "MathJax_Zero.woff"
FIRST_FONTS = ("MathJax_Main-Regular", "MathJax_Math-Italic")
"""Those of nearly all formulas; a page asks for them before its styles are there."""

# Stands in, with no height either, until a browser has read the fonts of a list. These are fonts
# of the reader's system: one of them is there at once, and which of them does not matter.
STAND_IN = """
@font-face {
  font-family: MJXNONE;
  src: local("Arial"), local("Helvetica"), local("Roboto"), local("Noto Sans"),
    local("Liberation Sans"), local("DejaVu Sans");
  ascent-override: 0%;
  descent-override: 0%;
  line-gap-override: 0%;
}
"""
POSITION = "position: relative"
"""Of each formula; the styles have it."""
LIST_OF_FONTS = re.compile(r"font-family: MJXZERO, [\w, -]*\w")

# Pages that are opened as files may not ask for fonts in advance.
PRELOAD = """<script>
if (location.protocol !== "file:") {
  for (const href of %s) {
    const font = { rel: "preload", as: "font", type: "font/woff", crossOrigin: "anonymous", href };
    document.head.append(Object.assign(document.createElement("link"), font));
  }
}
</script>"""

# The parts of MathJax's tex-chtml.js, without the menu and the loader of further parts. liteDOM
# stands in for the browser's document.
PARTS = [
    "startup",
    "core",
    "adaptors/liteDOM",
    "input/tex",  # with the AMS commands
    "output/chtml",
    "output/chtml/fonts/tex",
    "a11y/assistive-mml",
]

# The styles are those of all letters, not only of those that this build sets, because pages that
# Sphinx does not write again need theirs as well.
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
# An error is returned as text, because an exception's message would contain all of MathJax.
FUNCTIONS = """
const LONG = %d;
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
  const width = output.getBBox(formula, document).w;
  if (!display && width > LONG) letBreak(formula);
  return JSON.stringify({ html: adaptor.outerHTML(formula.typesetRoot), width });
}
const [BINARY, RELATION, OPENING, CLOSING, PUNCTUATION] = [2, 3, 4, 5, 6];  // TeX's classes
function letBreak(formula) {
  const { adaptor } = MathJax.startup;
  const math = adaptor.firstChild(formula.typesetRoot);
  const parts = adaptor.childNodes(math);
  const outside = [], commas = [], inside = [];  // of parentheses
  let depth = 0;
  formula.root.childNodes[0].childNodes.forEach(({ texClass }, at) => {
    depth += (texClass === OPENING) - (texClass === CLOSING);
    if (texClass === RELATION || texClass === BINARY && depth === 0) outside.push(parts[at]);
    else if (texClass === PUNCTUATION) commas.push(parts[at]);
    else if (texClass === BINARY) inside.push(parts[at]);
  });
  for (const part of [outside, commas, inside].find((places) => places.length) ?? [])
    if (adaptor.next(part)) adaptor.insert(adaptor.node("mjx-break"), adaptor.next(part));
  adaptor.setAttribute(formula.typesetRoot, "data-long", "");
}
const styles = () => MathJax.startup.adaptor.textContent(MathJax.chtmlStylesheet());
"""
LONG = 15
"""In em, of a formula in a line: from here on it may break, as in TeX, after a relation or a binary
operator outside parentheses. Without any, it breaks after commas, or else after the operators
inside. A phone's line has 20 em."""
TIMEOUT = 60
"""Seconds for one formula."""

TEX = re.compile(r"\\\((.*)\\\)|\\\[(.*)\\\]", re.DOTALL)
# The PDF joins pages with equations of the same number, whose ids would clash. The height of a row
# is NaN, because it is not known without a page. In HTML, MathML needs no namespace.
FLAWS = re.compile(r' id="mjx-eqn:[^"]*"| style="height: NaNem;"')
NEEDLESS = re.compile(r' xmlns="[^"]*"| unselectable="on"| texclass="\w+"')
# A numbered equation is centred: its left margin is as wide as its number.
LEFT_MARGIN = re.compile(r'<mjx-table style="[^"]*margin: 0 ([\d.]+)em')

PHONE = 18.2
"""In em, the width of a formula that a phone of 390 px shows at nine tenths of its size."""
WIDTH = re.compile(r"--width:([\d.]+)")

logger = logging.getLogger(__name__)


def mathjax_folder() -> Path:
    found = importlib.util.find_spec("sphinx-mathjax-offline")
    if found is None:
        raise RuntimeError("MathJax is missing: pip install 'gtcourse[book]' brings it")
    return Path(found.origin).parent / "static" / "mathjax"


@cache
def engine() -> MiniRacer:
    """V8 with MathJax, one for the process; Python could not exit unless V8 is closed before."""
    v8 = MiniRacer()
    atexit.register(v8.close)
    folder = mathjax_folder()
    parts = [(folder / f"{part}.js").read_text(encoding="utf-8") for part in PARTS]
    for script in (SETTINGS, "\n".join(parts), FUNCTIONS % LONG):
        v8.eval(script)
    return v8


@cache
def set_formula(tex: str, display: bool) -> str:
    """A formula as HTML with its TeX; a displayed one states its width, in em of its letters.

    Raises:
        ValueError: MathJax cannot read the formula; the message quotes its reason.
    """
    result = json.loads(engine().call("setFormula", tex, display, timeout_sec=TIMEOUT))
    if "error" in result:
        raise ValueError(f"MathJax cannot read {tex!r}: {result['error']}")
    html = NEEDLESS.sub("", FLAWS.sub("", result["html"]))
    margin = LEFT_MARGIN.search(html)
    width = result["width"] - (float(margin[1]) if margin else 0)
    # The first style is that of the container, which always has one.
    before, after = html.split(' style="', 1)
    own, after = after.split('"', 1)
    style = (f"--width:{width:.4g};" if display else "") + own.replace(POSITION, "").strip("; ")
    styled = f' style="{style}"' if style else ""
    return f'{before} data-tex="{escape(tex.strip())}"{styled}{after}'


def set_displayed(tex: str) -> str:
    """A displayed formula; one that is too wide for a phone comes a second time, in lines for it.

    ``book.css`` shows one of the two. The second has the first's TeX, which a reader may copy.
    """
    html = set_formula(tex, True)
    lines = in_lines(tex, lambda text: float(WIDTH.search(set_formula(text, True))[1]), PHONE)
    if lines is None:
        return html
    own = re.search(r' data-tex="[^"]*"', html)[0]
    narrow = re.sub(
        r' data-tex="[^"]*"', lambda _: f' data-on="phone"{own}', set_formula(lines, True)
    )
    return html.replace(own, f' data-on="laptop"{own}', 1) + narrow


def with_mathjax(visit: Callable) -> Callable:
    """Sphinx's visitor of a formula, changed so that MathJax sets the TeX that it writes."""
    set_tex = (
        set_displayed if visit is html_visit_displaymath else partial(set_formula, display=False)
    )

    def visit_and_set(self, node: nodes.Element) -> None:
        start = len(self.body)
        with suppress(nodes.SkipNode):
            visit(self, node)
        html = "".join(self.body[start:])
        try:
            html = TEX.sub(lambda tex: set_tex(unescape(tex[1] or tex[2])), html)
        except ValueError as error:
            logger.warning(str(error), location=node)
        self.body[start:] = [html]
        raise nodes.SkipNode

    return visit_and_set


def preload_fonts(app, page, template, context, doctree) -> None:
    if "<mjx-container" not in context.get("body", ""):
        return
    paths = [context["pathto"](f"_static/mathjax/{font}.woff", 1) for font in FIRST_FONTS]
    context["metatags"] = context.get("metatags", "") + PRELOAD % json.dumps(paths)


def write_styles_and_fonts(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    shutil.copytree(mathjax_folder() / FONTS, static / "mathjax", dirs_exist_ok=True)
    Path(static, STYLES).write_text(steady(engine().call("styles")), encoding="utf-8")


def steady(styles: str) -> str:
    """MathJax's styles, changed so that lines keep their heights when the fonts arrive."""
    zero = base64.b64encode(Path(mathjax_folder(), FONTS, ZERO).read_bytes()).decode()
    styles = styles.replace(f'"./{ZERO}"', f'"data:font/woff;base64,{zero}"')
    place = f'mjx-container[jax="CHTML"] {{ {POSITION} }}\n'
    return STAND_IN + place + LIST_OF_FONTS.sub(r"\g<0>, MJXNONE", styles)


def setup(app: Sphinx) -> dict:
    app.add_html_math_renderer(
        NAME,
        (with_mathjax(html_visit_math), None),
        (with_mathjax(html_visit_displaymath), None),
    )
    app.add_css_file(STYLES)
    app.connect("html-page-context", preload_fonts)
    app.connect("build-finished", write_styles_and_fonts)
    # V8 runs in one process, and a process that Sphinx forks would have a copy without its threads.
    return {"parallel_read_safe": True, "parallel_write_safe": False}
