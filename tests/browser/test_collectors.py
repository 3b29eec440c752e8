"""What collects faults is shown pages that have them, one fault each, and pages without."""

from dataclasses import fields

import pytest

from tests.browser.visit import Visit, visit

GOOD = """<!doctype html><html lang="en"><head><title>A page</title>
<link rel="icon" href="data:,"><meta name="viewport" content="width=device-width">
<style>@media (prefers-color-scheme: dark) {
  body { background: #121212; color: #ddd }  a { color: #8bf }
}</style></head><body><main><h1 id="top">A page</h1><p>Some words and <a href="#top">a link</a>.</p>
<div style="overflow-x: auto" tabindex="0"><p style="width: 900px">wide, inside</p></div>
HERE</main></body></html>"""

KINDS = [field.name for field in fields(Visit) if field.compare]


@pytest.fixture
def look(page, tmp_path):
    def visited(addition: str) -> dict[str, list[str]]:
        path = tmp_path / "page.html"
        path.write_text(GOOD.replace("HERE", addition))
        found = visit(page, path.as_uri())
        return {name: getattr(found, name) for name in KINDS if getattr(found, name)}

    return visited


def test_a_good_page_has_no_faults(look):
    assert look("") == {}
    assert {*KINDS} == {kind for kinds, _, _ in BAD for kind in kinds.split()}


BAD = [
    ("errors", "<script>console.error('lost')</script>", "lost"),
    ("errors", "<script>nothing.at.all</script>", "nothing is not defined"),
    ("foreign errors", "<script src='https://cdn.net/x.js'></script>", "https://cdn.net/x.js"),
    ("foreign errors", "<script>fetch('https://cdn.net/x').catch(() => 0)</script>", "cdn.net/x"),
    ("wide", "<p style='width: 500px'>five hundred</p>", "five hundred"),
    ("unset", "<span class='math'>\\(x_1\\)</span>", "x_1"),
    ("unset", "<mjx-merror>Undefined control sequence</mjx-merror>", "Undefined"),
    ("unnamed inaccessible", "<img src='data:,'>", "data:,"),
    ("inaccessible", "<button></button>", "button-name"),
    ("inaccessible", "<div style='overflow: auto; height: 9px'><p>a<p>b</div>", "scrollable"),
    ("faint", "<p style='color: #888; background: white'>pale</p>", "light: 3.54 of 4.5 in p."),
    ("faint", "<p style='color: #000'>black</p>", "dark: 1.12 of 4.5 in p.: black"),
    ("faint", "<p style='opacity: .4'>half</p>", "in p.: half"),
    ("faint", "<svg><text y='20' fill='#eee'>drawn</text></svg>", "light"),
]  # fmt: skip


@pytest.mark.parametrize(("kinds", "addition", "words"), BAD)
def test_a_bad_page_is_seen(look, kinds, addition, words):
    found = look(addition)
    assert {*found} <= {*kinds.split()}
    assert any(words in fault for fault in found[kinds.split()[0]])


def test_text_within_a_shadow_is_judged(look):
    script = """<div id="h"></div><script>document.getElementById("h")
      .attachShadow({mode: "open"}).innerHTML = "<p style='color: #999'>inner</p>"</script>"""
    assert "inner" in look(script)["faint"][0]


def test_large_text_needs_less(look):
    large = "<p style='color: #808080; font-size: 24px; background: #fff'>large</p>"
    assert "faint" not in look(large)
    assert look(large.replace("24px", "23px"))["faint"]
