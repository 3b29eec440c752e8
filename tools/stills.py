"""Still pictures of what runs in the pages, for readers without scripts.

``python -m tools.stills`` opens the built book in Chromium and photographs each picture at its
start, in the light, into ``book/_static/stills``. Run it when a picture changes, then build the
book again.
"""

from io import BytesIO

from PIL import Image

from book._ext.pictures import PICTURES
from tools import chromium
from tools.paths import HTML, ROOT

OUT = ROOT / "book/_static/stills"

PAGES = {name: page for name, (page, _) in PICTURES.items()} | {
    "twins": "notebooks/04_positional_encodings",
    "explainer": "book/explainer",
    "live": "book/intro",
}
READY = {"explainer": ".flow .result", "live": ".result"}
WINDOW = {"width": 1280, "height": 1400}

# Nothing that a reader without scripts would try to use, and no bar of the page above the picture.
QUIET = """
.bd-header-article, .skip-link, #pst-skip-link, .picture > p:first-child, #twins > p:first-child,
:is(.picture, #twins, #live) :is(.choices, .ride, .hint, .ask, .guess),
:is(.picture, #twins, #live) button:not([data-kind], [data-norm]) {
  display: none !important;
}
.guessing .answer { visibility: visible !important; }
#score input { visibility: hidden !important; }
.picture, #twins { border: 0 !important; padding: 0 !important; }
"""


def photograph(page, address: str, name: str) -> bytes:
    """One picture as WebP."""
    page.goto(f"{address}/{PAGES[name]}.html")
    place = page.locator(f"#{name}")
    place.locator(READY.get(name, "[role=status]")).first.wait_for()
    if name == "bet":
        place.locator(".end").first.press("Enter")  # with the answer
    if name == "ink":
        for _ in range(2):
            place.locator("input").press("ArrowRight")
    if name == "dial":
        for _ in range(3):
            place.locator("[data-slider=dial]").press("ArrowRight")  # away from the bias's distance
    if name == "flip":
        place.locator("[data-flip]").press("Enter")
    if name in ("stack", "tour"):
        place.locator("input").press("End")  # with all blocks, with the model's answer
    page.add_style_tag(content=QUIET)
    page.wait_for_timeout(500)  # until the drawings have the size of their new place
    image = Image.open(BytesIO(place.screenshot()))
    held = BytesIO()
    image.save(held, "WEBP", quality=40, method=6)
    return held.getvalue()


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    with chromium.browser() as running, chromium.served(HTML) as address:
        page = running.new_page(
            viewport=WINDOW, reduced_motion="reduce", color_scheme="light", device_scale_factor=1.25
        )
        for name in PAGES:
            (OUT / f"{name}.webp").write_bytes(photograph(page, address, name))


if __name__ == "__main__":
    main()
