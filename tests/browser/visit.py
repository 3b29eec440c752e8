"""What one visit of a page finds: on a phone in the light, then on a laptop in the dark."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from tools.chromium import LAPTOP, PHONE

HERE = {"file", "data", "blob", "about"}
GRAVE = {"serious", "critical"}

READY = "async () => { await window.bookReady; await document.fonts.ready; }"
# Two frames on, what observes sizes has been told of the last change.
FRAMES = """() => new Promise((done) =>
  requestAnimationFrame(() => requestAnimationFrame(done)))"""
# A picture or a widget is loaded when the reader comes near.
COME_NEAR = "place => place.scrollIntoView()"
AT_ONCE = "*, ::before, ::after { transition: none !important; animation: none !important }"
CONTRAST = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")

# What is wider than the window and does not scroll inside something of its own.
WIDE = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const inside = (e) => {
    for (let p = e.parentElement; p && p !== document.body; p = p.parentElement)
      if (getComputedStyle(p).overflowX !== "visible") return true;
    return false;
  };
  const named = (e) => e.tagName.toLowerCase() + (e.id ? "#" + e.id : "") +
    [...e.classList].map((c) => "." + c).join("");
  const found = [...document.querySelectorAll("body *")].filter((e) =>
    e.getBoundingClientRect().right > width + 1 && !inside(e));
  return [`scrolls to ${document.documentElement.scrollWidth} px`,
    ...found.slice(0, 3).map((e) => `${named(e)}: ${(e.textContent || "").trim().slice(0, 50)}`)];
}"""

# Texts that a reader cannot read: smaller than 11 px as drawn, in the page or in a shadow root.
SMALL = """host => {
  const found = new Set();
  const look = (node, near) => {
    if (node.nodeType === 3 && node.data.trim() && near.getClientRects().length) {
      const svg = near.closest("svg");
      const scale = svg && svg.viewBox.baseVal?.width ? svg.getScreenCTM().a : 1;
      const size = parseFloat(getComputedStyle(near).fontSize) * scale;
      if (size < 10.95) found.add(`${size.toFixed(1)} px: ${node.data.trim().slice(0, 30)}`);
    }
    if (!["STYLE", "SCRIPT", "NOSCRIPT"].includes(node.tagName))
      for (const child of node.childNodes) look(child, node.nodeType === 1 ? node : near);
  };
  look(host.shadowRoot ?? host, host);
  return [...found];
}"""

# What MathJax has not set, or could not set.
UNSET = """() => [...document.querySelectorAll(".math, mjx-merror")]
  .filter((formula) => !formula.querySelector("mjx-container") ||
    formula.querySelector("mjx-merror"))
  .map((formula) => formula.textContent.trim().slice(0, 80))"""

OUTWARD = """() => [...document.querySelectorAll("a[href^=http]")]
  .map((a) => a.href).filter((address) => !address.startsWith(location.origin))"""

# A picture is one thing with one name: axe-core needs minutes for the strokes inside.
EMPTY_PICTURES = """() => document.querySelectorAll("svg[role=img]").forEach((picture) =>
  picture.querySelectorAll(":scope > :not(title)").forEach((part) => part.remove()))"""

# Nor do the letters of a formula or the colours of code mean anything to axe-core. What scrolls
# keeps its width.
PLAIN_FORMULAS_AND_CODE = """() => {
  const formulas = [...document.querySelectorAll("mjx-math")];
  const widths = formulas.map((formula) => formula.scrollWidth);
  formulas.forEach((formula, at) => {
    const space = document.createElement("span");
    space.style = `display: inline-block; width: ${widths[at]}px`;
    formula.replaceChildren(space);
  });
  for (const code of document.querySelectorAll("pre:not(:has(a))"))
    code.textContent = code.textContent;
}"""


@dataclass
class Visit:
    """Lists of sentences, empty for a page without faults; and what leads where."""

    errors: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    wide: list[str] = field(default_factory=list)
    unset: list[str] = field(default_factory=list)
    inaccessible: list[str] = field(default_factory=list)
    faint: list[str] = field(default_factory=list)
    outward: list[str] = field(default_factory=list, compare=False)


def visit(page, address: str) -> Visit:
    """Opens the page in a window that has the size of a phone's, and looks at it in both modes."""
    found = Visit()
    page.goto("about:blank")  # else the page before is laid out again
    page.set_viewport_size(PHONE)
    watched = watch(page, found)
    show_in(page, "light")
    page.goto(address, wait_until="load")
    page.evaluate(READY)
    page.add_style_tag(content=AT_ONCE)  # else the window's new width arrives bit by bit
    found.wide = page.evaluate(WIDE)
    found.unset = page.evaluate(UNSET)
    found.outward = page.evaluate(OUTWARD)
    page.evaluate(EMPTY_PICTURES)
    found.inaccessible = grave_faults(page, ["scrollable-region-focusable"])
    page.set_viewport_size(LAPTOP)
    page.evaluate(FRAMES)
    found.faint = [f"light: {fault}" for fault in page.evaluate(CONTRAST)]
    show_in(page, "dark")
    found.faint += [f"dark: {fault}" for fault in page.evaluate(CONTRAST)]
    page.evaluate(PLAIN_FORMULAS_AND_CODE)
    found.inaccessible += grave_faults(page)
    for event, listener in watched:
        page.remove_listener(event, listener)
    return found


def show_in(page, mode: str) -> None:
    """Light or dark, as the reader's system asks for; the theme follows it."""
    page.emulate_media(color_scheme=mode, reduced_motion="reduce")
    if page.url != "about:blank":
        page.wait_for_function(
            "mode => [mode, undefined].includes(document.documentElement.dataset.theme)", arg=mode
        )


def watch(page, found: Visit) -> list[tuple]:
    """Lets the page's events fill ``errors`` and ``foreign``; returns who listens to what."""

    def on_console(message) -> None:
        if message.type == "error":
            found.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def on_request(request) -> None:
        if is_foreign(request.url):
            found.foreign.append(request.url)

    watched = [
        ("console", on_console),
        ("pageerror", lambda error: found.errors.append(str(error))),
        ("request", on_request),
    ]
    for event, listener in watched:
        page.on(event, listener)
    return watched


def is_foreign(address: str) -> bool:
    parts = urlsplit(address)
    return parts.scheme not in HERE and parts.hostname != "127.0.0.1"


def grave_faults(page, rules: list[str] | None = None) -> list[str]:
    """What axe-core calls serious or critical, each with the first element that has it.

    Args:
        rules: only these; else all but the one for contrast, which takes minutes on a long page.
    """
    if rules:
        options = {"runOnly": rules}
    else:
        slow = ("color-contrast", "region")  # the second is only of moderate impact
        options = {"rules": {rule: {"enabled": False} for rule in slow}}
    return [sentence(fault) for fault in violations(page, options) if fault["impact"] in GRAVE]


def all_faults(page) -> list[str]:
    """What axe-core finds of any weight, best practices among them: landmarks, the order of
    headings, the headers of tables, names and roles. Contrast is looked at by contrast.js.
    """
    page.evaluate(EMPTY_PICTURES)
    page.evaluate(PLAIN_FORMULAS_AND_CODE)
    found = violations(page, {"rules": {"color-contrast": {"enabled": False}}})
    return [sentence(fault) for fault in found]


# A link has to stand out from its text by more than its colour. The other check of axe-core accepts
# a difference in colour alone, and takes three quarters of the time on a long page.
BY_STYLE = {"link-in-text-block": {"enabled": False}}


def violations(page, options: dict) -> list[dict]:
    from axe_playwright_python.base import AXE_SCRIPT

    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    run = "async (options) => (await axe.run(document, options)).violations"
    given = {"resultTypes": ["violations"], "preload": False, "checks": BY_STYLE}
    return page.evaluate(run, given | options)


def sentence(fault: dict) -> str:
    first = fault["nodes"][0]
    why = first["failureSummary"].splitlines()[1].strip()
    return f"{fault['id']} in {len(fault['nodes'])} places, first {first['target'][0]}: {why}"
