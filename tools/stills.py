"""Still pictures of what runs in the pages, for readers without scripts.

``python -m tools.stills`` opens the built book in Chromium and photographs each picture at its
start, in the light, into ``book/_static/stills``, and the explainer for the Readme. Run it when a
picture changes, then build the book again. ``python -m tools.stills readme`` photographs only the
explainer for the Readme.
"""

import sys
from io import BytesIO

from PIL import Image, ImageOps

from book._ext.pictures import PICTURES
from tools import chromium
from tools.paths import HTML, ROOT

OUT = ROOT / "book/_static/stills"
README = ROOT / "book/_static/readme.png"

PAGES = {name: page for name, (page, _) in PICTURES.items()} | {
    "twins": "notebooks/04_positional_encodings",
    "explainer": "book/explainer",
    "live": "book/intro",
}
READY = {"explainer": ".flow .result", "live": ".result"}
ALL_PARTS = "#model=graphormer&molecule=diazepam&head=5&atom=C0&to=N1"
"""Of the explainer, which shows one weight first; an address that names one shows all parts."""
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
.picture, #twins { border: 0 !important; min-height: 0 !important; padding: 0 !important; }
.picture :is(.said, .one) { min-height: 0 !important; }
"""

# The explainer alone, as wide as the Readme shows it.
ALONE = """
.bd-sidebar-primary, .bd-sidebar-secondary { display: none !important; }
.bd-main .bd-content .bd-article-container { max-width: none !important; padding: 0 !important; }
"""


def photograph_for_readme(page, address: str) -> None:
    page.set_viewport_size({"width": 1264, "height": 1400})
    page.goto(f"{address}/{PAGES['explainer']}.html{ALL_PARTS}")
    page.add_style_tag(content=QUIET + ALONE)
    place = page.locator("#explainer")
    place.locator(READY["explainer"]).first.wait_for()
    page.wait_for_timeout(500)  # until the drawings have the size of their new place
    image = Image.open(BytesIO(place.screenshot())).convert("RGB")
    ImageOps.expand(image, border=12, fill="white").quantize(256).save(README, optimize=True)


def photograph(page, address: str, name: str) -> bytes:
    """One picture as WebP."""
    page.goto(f"{address}/{PAGES[name]}.html{ALL_PARTS if name == 'explainer' else ''}")
    place = page.locator(f"#{name}")
    place.evaluate("place => place.scrollIntoView()")  # its script is loaded then
    place.locator(READY.get(name, "[role=status]")).first.wait_for()
    if name == "bet":
        place.locator(".end").first.press("Enter")  # with the answer
    if name == "fool":
        place.locator("[data-pair=sum]").press("Enter")  # a pair that the chosen layer confuses
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
        if sys.argv[1:] != ["readme"]:
            for name in PAGES:
                (OUT / f"{name}.webp").write_bytes(photograph(page, address, name))
        page = running.new_page(reduced_motion="reduce", color_scheme="light")
        photograph_for_readme(page, address)


if __name__ == "__main__":
    main()
