"""On a phone: where the reader is, long code, what is too wide, and text that stays."""

import re
import time
from collections import Counter

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from tests.browser.visit import COME_NEAR, FRAMES
from tools.chromium import LAPTOP, PHONE
from tools.paths import HTML

CHAPTER = "notebooks/06_graphormer.html"
SHIFTS = """
  window.shifted = 0;
  new PerformanceObserver((list) => list.getEntries().forEach((one) => { shifted += one.value; }))
    .observe({ type: "layout-shift", buffered: true });
"""

# Formulas whose end cannot be scrolled to, and those that scroll without a fade or the keyboard.
CUT = """() => [...document.querySelectorAll("div.math")].flatMap((formula) => {
  const inner = formula.querySelector("mjx-container");
  const scrolling = [formula, inner].find((part) => part.scrollWidth > part.clientWidth + 4);
  if (!scrolling) return [];
  const marked = scrolling.tabIndex === 0 && scrolling.hasAttribute("data-more");
  const scrolls = getComputedStyle(scrolling).overflowX === "auto";
  scrolling.scrollLeft = scrolling.scrollWidth;
  const parts = [...inner.querySelectorAll("mjx-math > *")];
  const end = Math.max(...parts.map((part) => part.getBoundingClientRect().right));
  const reached = end <= scrolling.getBoundingClientRect().right + 1;
  return marked && scrolls && reached ? [] : [formula.textContent.trim().slice(0, 50)];
})"""


@pytest.fixture
def phone(page):
    page.set_viewport_size(PHONE)
    return page


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_after_scrolling_a_bar_names_the_section_and_opens_the_table_of_contents(phone, book, mode):
    phone.emulate_media(color_scheme=mode)
    phone.goto(f"{book}/{CHAPTER}", wait_until="domcontentloaded")
    bar = phone.locator("nav.where")
    expect(bar).to_have_count(1)
    expect(bar).to_be_hidden()
    assert bar.locator(".section").text_content() == "Contents"  # its name before the first section
    assert phone.locator(".bd-header-article").is_visible()
    phone.locator("#edges-along-the-shortest-path").evaluate("part => part.scrollIntoView()")
    bar.wait_for()
    assert bar.bounding_box()["height"] <= 44
    heading = phone.locator("#edges-along-the-shortest-path > h2")
    assert heading.bounding_box()["y"] > 44  # not below the bar
    title = bar.locator(".section")
    assert title.inner_text().strip() == "6.4 Edges along the shortest path"
    title.press("Enter")
    contents = phone.locator("dialog#pst-secondary-sidebar-modal")
    contents.wait_for()
    contents.locator("a", has_text="6.8 Where a bias is blind").click()
    phone.wait_for_function(
        "() => document.querySelector('nav.where .section').innerText.startsWith('6.8')"
    )


def test_wide_formulas_can_be_scrolled_to_their_end(phone, book):
    phone.goto(f"{book}/{CHAPTER}")
    phone.evaluate("window.bookReady")
    words = phone.locator(".more:not(details *)").first
    assert words.inner_text() == "scroll →"
    assert phone.evaluate(CUT) == []
    assert min(phone.evaluate(SHOWN)) >= 15  # those of the text beside it have 20 px


# The sizes of the displayed formulas that a phone shows; none of these scrolls.
SHOWN = """() => [...document.querySelectorAll("div.math mjx-container")]
  .filter((formula) => formula.checkVisibility())
  .map((formula) => (formula.scrollWidth > formula.clientWidth + 1 ? 0
    : parseFloat(getComputedStyle(formula).fontSize)))"""


def test_a_long_formula_in_a_line_breaks_within_its_paragraph(phone, book):
    phone.goto(f"{book}/notebooks/02_transformer.html")
    phone.evaluate("document.fonts.ready.then(() => true)")
    lines = """() => [...document.querySelectorAll(".bd-article mjx-container[data-long]")]
      .map((formula) => {
        const room = formula.closest("p, li").getBoundingClientRect();
        const boxes = [...formula.querySelectorAll("mjx-c")].map((c) => c.getBoundingClientRect());
        const inside = boxes.every((box) => box.left >= room.left && box.right <= room.right);
        return inside && Math.max(...boxes.map((box) => box.top)) - boxes[0].top > 10;
      })"""
    assert phone.evaluate(lines) == [True] * 3


# The code that a line folds, as text.
CODE = "fold => fold.nextElementSibling.textContent"


def test_long_code_is_a_line_that_a_tap_or_a_key_opens(phone, book):
    phone.goto(f"{book}/{CHAPTER}")
    phone.evaluate("window.bookReady")
    folds = phone.locator(".fold")
    lengths = [int(text.split()[0]) for text in folds.locator("span").all_inner_texts()]
    assert len(lengths) > 5
    assert min(lengths) > 15
    for one in folds.all():  # a comment of its code or the name that the code defines
        name = one.locator("b").inner_text()
        defined = re.fullmatch(r"Defines (\w+)", name)
        said = rf"(def|class) {defined[1]}\b" if defined else f"# {re.escape(name)}"
        assert re.search(f"^{said}", one.evaluate(CODE), re.MULTILINE), name
    fold = folds.first
    code = fold.locator("xpath=following-sibling::*")
    assert fold.bounding_box()["height"] >= 44
    expect(code).to_be_hidden()
    fold.click()
    expect(code).to_be_visible()
    fold.press("Enter")
    expect(code).to_be_hidden()
    fold.press("Space")
    expect(code).to_be_visible()
    assert fold.get_attribute("aria-expanded") == "true"


def test_a_link_into_folded_code_opens_it(phone, book):
    phone.goto(f"{book}/{CHAPTER}")
    phone.evaluate("window.bookReady")
    code = phone.locator(".fold + * pre").last
    code.evaluate("code => { code.firstElementChild.id = 'within'; location.hash = 'within'; }")
    expect(code).to_be_visible()
    assert 0 <= phone.locator("#within").bounding_box()["y"] < PHONE["height"]


def test_no_code_is_folded_in_print_on_a_laptop_or_without_scripts(phone, browser, book):
    phone.goto(f"{book}/{CHAPTER}")
    hidden = "all => all.filter((one) => !one.checkVisibility()).length"
    code = phone.locator(".fold + *")
    assert code.evaluate_all(hidden) == code.count() > 5
    phone.emulate_media(media="print")
    assert code.evaluate_all(hidden) == 0
    phone.emulate_media(media="screen")
    phone.set_viewport_size(LAPTOP)
    assert code.evaluate_all(hidden) == 0
    assert phone.locator(".fold").first.is_hidden()
    context = browser.new_context(viewport=PHONE, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{book}/{CHAPTER}")
    expect(page.locator(".fold").first).to_be_hidden()
    expect(page.locator(".fold + *").first).to_be_visible()
    context.close()


# The words of visible code that are on two lines.
TORN = """all => all.flatMap((code) => {
  const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const found = [];
  const range = document.createRange();
  for (let text = texts.nextNode(); text; text = texts.nextNode())
    for (const { index, 0: word } of text.data.matchAll(/\\w+/g)) {
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      if (range.getClientRects().length > 1) found.push(word);
    }
  return found;
})"""
SCROLLS = "all => all.filter((code) => code.scrollWidth > code.clientWidth + 1).length"


def test_code_goes_on_below_in_letters_of_twelve_pixels_and_its_names_stay_whole(phone, book):
    phone.goto(f"{book}/{CHAPTER}")
    phone.evaluate("window.bookReady")
    sizes = """all => [...new Set(all.map((one) => parseFloat(getComputedStyle(one).fontSize)))]"""
    assert min(phone.locator(".bd-article pre").evaluate_all(sizes)) >= 12
    phone.locator(".fold").first.click()
    code = phone.locator(".fold + * pre").first
    expect(code).to_have_css("white-space", "pre-wrap")
    assert code.locator(".line").count() > 0
    code = phone.locator("div[class^=highlight-] > .highlight > pre")
    assert code.evaluate_all(TORN) == []
    assert code.evaluate_all(SCROLLS) < code.count() / 6  # where a name is longer than a line
    assert phone.evaluate("document.documentElement.scrollWidth") == PHONE["width"]


@pytest.mark.parametrize("size", [PHONE, LAPTOP])
def test_the_button_that_enlarges_a_figure_takes_no_height_and_covers_nothing(page, book, size):
    page.set_viewport_size(size)
    page.goto(f"{book}/{CHAPTER}")
    shown = """button => {
      const { right, top, bottom, height } = button.getBoundingClientRect();
      const range = document.createRange();
      range.selectNodeContents(button.parentElement.querySelector("figcaption"));
      const drawn = [...button.parentElement.querySelectorAll("svg text, svg use"), range];
      const onPhone = innerWidth < 577;
      const mine = { left: right - 28 - 3 * onPhone, top: onPhone ? top + 5 : bottom - 28 };
      return drawn.flatMap((part) => [...part.getClientRects()]).filter((each) => each.width &&
        each.right > mine.left + 1 && each.bottom > mine.top + 1 && each.top < mine.top + 27)
        .length;
    }"""
    for figure in ("figure-6-1", "figure-6-2", "figure-6-3"):
        place = page.locator(f"#{figure}")
        above = place.locator(".cell_output").bounding_box()
        caption = place.locator("figcaption").bounding_box()
        assert caption["y"] - above["y"] - above["height"] < 12, figure
        button = place.locator(".enlarge")
        assert button.evaluate(shown) == 0, figure
        box = button.bounding_box()
        assert box["x"] + box["width"] <= size["width"], figure


def test_a_row_of_a_table_of_words_is_a_block_with_labels(phone, book):
    phone.goto(f"{book}/book/results/index.html")
    table = phone.locator("table.worded").first
    expect(table.locator("thead")).to_be_hidden()
    name, first = table.locator("tbody tr").first.locator("td:visible").all()[:2]
    assert first.bounding_box()["y"] >= name.bounding_box()["y"] + name.bounding_box()["height"]
    assert first.inner_text() == "graph Transformers: egt-100k-spe-do"
    phone.set_viewport_size(LAPTOP)
    expect(table.locator("thead")).to_be_visible()
    assert first.inner_text() == "egt-100k-spe-do"


def test_the_bar_of_a_phone_has_few_buttons_and_one_for_the_others(phone, book):
    phone.goto(f"{book}/{CHAPTER}")
    phone.evaluate("window.bookReady")
    bar = phone.locator(".bd-header-article .article-header-buttons")
    names = "all => all.filter((one) => one.checkVisibility()).length"
    buttons = bar.locator(":scope > button, :scope > .dropdown")
    assert buttons.evaluate_all(names) == 4  # the others, theme, search, contents
    more = bar.get_by_role("button", name="Run, download or edit this page")
    more.press("Enter")
    assert more.get_attribute("aria-expanded") == "true"
    assert buttons.evaluate_all(names) == 8
    rocket = bar.locator(".dropdown-launch-buttons > button")
    rocket.click()
    expect(bar.get_by_text("Colab")).to_be_visible()
    phone.set_viewport_size(LAPTOP)
    expect(more).to_be_hidden()


def test_the_words_about_scrolling_are_folded_with_their_table(phone, book):
    phone.goto(f"{book}/notebooks/11_what_attention_sees.html")
    phone.evaluate("window.bookReady")
    folded = phone.locator("details:not([open]) .more")
    assert folded.count() > 0
    assert folded.evaluate_all("all => all.filter((one) => one.checkVisibility()).length") == 0
    stray = """() => [...document.querySelectorAll(".more")]
      .filter((more) => more.nextElementSibling?.matches("details:not([open])")).length"""
    assert phone.evaluate(stray) == 0
    gaps = """() => [...document.querySelectorAll(".more")].filter((more) => more.checkVisibility())
      .map((more) => {
        const next = more.nextElementSibling;
        const scrolling = next.matches("[data-more]") ? next : next.querySelector("[data-more]");
        return scrolling.getBoundingClientRect().top - more.getBoundingClientRect().top;
      })"""
    assert 0 < max(phone.evaluate(gaps)) < 40


def test_the_answer_of_a_results_table_is_in_sight(phone, book):
    phone.goto(f"{book}/book/results/index.html")
    phone.evaluate("window.bookReady")
    heads = phone.locator("th", has_text=re.compile(r"^\s*(difference|share)\s*$")).all()
    boxes = [head.bounding_box() for head in heads]
    assert (
        sum(box["x"] + box["width"] <= PHONE["width"] - 20 for box in boxes) == 3
    )  # of its tables
    answers = """() => [...document.querySelectorAll(".bd-article table:has(thead)")].map((table) =>
      [...table.tHead.rows[0].cells].slice(0, 3).map((head) => head.textContent.trim()))"""
    assert phone.evaluate(answers).count(["recipe", "ours", "difference"]) == 2
    buttons = phone.locator("button.sort:visible, details > summary:visible")
    heights = buttons.evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
    assert len(heights) > 5
    assert min(heights) >= 44  # for a finger


@pytest.mark.parametrize("name", ["book/results/index", "notebooks/06_graphormer"])
def test_no_table_is_too_wide_by_a_few_pixels(phone, book, name):
    phone.goto(f"{book}/{name}.html")
    phone.evaluate("window.bookReady")
    excess = """() => [...document.querySelectorAll(
        ".bd-article :is(.pst-scrollable-table-container, .cell_output table)")]
      .map((frame) => frame.scrollWidth / frame.clientWidth)"""
    widths = phone.evaluate(excess)
    assert len(widths) > 4
    assert not [width for width in widths if 1 < width < 1.07]


@pytest.mark.parametrize("name", ["book/which_model", "notebooks/12_from_a_laptop_to_a_cluster"])
def test_a_long_name_in_the_text_breaks_after_a_dot(phone, book, name):
    """The pieces between two breaks are each on one line, if a line has room for them."""
    phone.goto(f"{book}/{name}.html")
    torn = """() => [...document.querySelectorAll(".bd-article :is(p, li) code .pre:has(wbr)")]
      .flatMap((name) => [...name.childNodes]).filter((part) => part.nodeType === 3)
      .filter((part) => {
        const range = document.createRange();
        range.selectNodeContents(part);
        return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
      }).map((part) => part.data)"""
    assert phone.locator(".bd-article :is(p, li) code wbr").count() > 0
    assert phone.evaluate(torn) == []


def test_a_results_figure_can_be_enlarged(phone, book):
    phone.goto(f"{book}/book/results/index.html")
    figure = phone.locator("figure:has(img)").first
    shown = figure.locator("img").bounding_box()["width"]
    figure.get_by_role("button", name="Enlarge").click()
    assert phone.locator("dialog.enlarged img").bounding_box()["width"] > 1.4 * shown


def test_the_caption_of_an_enlarged_figure_is_as_wide_as_the_phone(phone, book):
    phone.goto(f"{book}/notebooks/03_message_passing.html")
    phone.evaluate("window.bookReady")
    phone.locator("#figure-3-3").get_by_role("button", name="Enlarge").click()
    frame = phone.locator("dialog.enlarged > div")
    assert frame.evaluate("frame => frame.scrollWidth > frame.clientWidth + 100")
    for scrolled in (0, 100, 1000):
        frame.evaluate("(frame, to) => frame.scrollTo(to, 0)", scrolled)
        box = phone.locator("dialog.enlarged figcaption").bounding_box()
        assert 0 <= box["x"] < box["x"] + box["width"] <= PHONE["width"], scrolled


RINGED = "Attention of the ringed atom of aspirin"  # the caption of a drawing with a scale


def test_a_drawing_of_molecules_opens_at_its_own_size(phone, book):
    phone.goto(f"{book}/{CHAPTER}")
    figure = phone.locator("figure[id]", has_text=RINGED)
    shown = figure.locator("svg[role=img]").bounding_box()["width"]
    figure.get_by_role("button", name="Enlarge").click()
    assert phone.locator("dialog.enlarged svg").bounding_box()["width"] > 1.4 * shown


def test_a_click_enlarges_a_figure_to_a_laptops_window_with_its_scale_and_caption(page, book):
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{book}/{CHAPTER}")
    figure = page.locator("figure[id]", has_text=RINGED)
    shown = figure.locator("svg[role=img]").bounding_box()["width"]
    figure.locator("svg[role=img]").click()
    dialog = page.locator("dialog.enlarged")
    number = figure.get_attribute("id")
    assert number.startswith("figure-6-")
    assert page.locator(f"#{number}").count() == 1
    box = dialog.locator("svg").bounding_box()
    assert shown > 560
    assert box["width"] > shown
    scale = dialog.get_by_text("attention of the ringed atom", exact=True).bounding_box()
    assert box["y"] + box["height"] <= scale["y"]
    caption = dialog.locator("figcaption").bounding_box()
    assert scale["y"] < caption["y"] < caption["y"] + caption["height"] <= 800
    page.keyboard.press("Escape")
    figure.get_by_role("button", name="Enlarge").press("Enter")
    page.get_by_role("button", name="Close").click()
    assert dialog.count() == 0


# The smallest letters of each drawing, in pixels: matplotlib draws them as outlines of 100 units.
LETTERS = """() => [...document.querySelectorAll("article .cell > figure svg[role=img]")]
  .map((drawing) => {
  const scale = (part) => Math.hypot(part.getScreenCTM().a, part.getScreenCTM().b);
  const outlines = [...drawing.querySelectorAll("g[transform*=scale]")]
    .map((text) => 100 * scale(text));
  const legends = [...drawing.querySelectorAll(".legend")]
    .map((words) => scale(words) * parseFloat(getComputedStyle(words).fontSize));
  const sizes = [...outlines, ...legends];
  return sizes.length ? Math.min(...sizes) : null;
}).filter((size) => size !== null)"""


@pytest.mark.parametrize("name", ["03_message_passing", "06_graphormer", "09_csa"])
def test_letters_in_drawings_are_at_least_ten_pixels_high(phone, book, name):
    phone.goto(f"{book}/notebooks/{name}.html")
    phone.evaluate("window.bookReady")
    sizes = phone.evaluate(LETTERS)
    assert len(sizes) > 6
    assert min(sizes) >= 10


def test_rows_of_a_table_with_notes_are_not_higher_than_a_third_of_the_screen(phone, book):
    phone.goto(f"{book}/book/results/index.html")
    heights = [row.bounding_box()["height"] for row in phone.locator("tr:has(td.prose)").all()]
    assert heights
    assert max(heights) < phone.viewport_size["height"] / 3


@pytest.mark.parametrize(
    "name", ["book/results/index", "notebooks/02_transformer", "notebooks/09_csa"]
)
def test_text_does_not_shift_when_a_page_opens_at_a_section(browser, book, name):
    html = (HTML / f"{name}.html").read_text(encoding="utf-8")
    sections = BeautifulSoup(html, "html.parser").select("article section:has(> h2)")
    section = sections[len(sections) // 2]["id"]
    page = browser.new_page(viewport=PHONE)  # with nothing stored
    page.route("**/*.woff", late)
    page.add_init_script(SHIFTS)
    page.goto(f"{book}/{name}.html#{section}")
    page.evaluate("window.bookReady")
    page.evaluate("document.fonts.ready.then(() => true)")
    page.evaluate(FRAMES)  # the observer is told of the last shifts
    assert abs(page.locator(f"#{section}").bounding_box()["y"]) < 120
    assert page.evaluate("shifted") < 0.05
    page.close()


def late(route) -> None:
    """A font comes when the text has been painted."""
    time.sleep(0.2)
    route.continue_()


def test_the_wall_of_twins_shows_its_pairs_in_order(phone, book):
    phone.goto(f"{book}/notebooks/04_positional_encodings.html")
    phone.locator("#twins").evaluate(COME_NEAR)
    pairs = phone.locator("#twins .pair")
    pairs.first.wait_for()
    places = [(box["y"], box["x"]) for box in (pair.bounding_box() for pair in pairs.all())]
    assert len(places) == 10
    assert places == sorted(places)
    rows = Counter(y for y, _ in places)
    assert [*rows.values()] == [2] * 5
    heights = [pair.locator("svg").bounding_box()["height"] for pair in pairs.all()]
    assert max(heights) - min(heights) <= 4  # the border of a pair told apart is wider


def test_the_list_of_pages_opens_at_the_current_page(phone, book):
    phone.goto(f"{book}/book/bibliography.html")
    entry = phone.locator("dialog .bd-links a.current")
    phone.locator(".bd-header-article .primary-toggle").click()
    entry.wait_for()
    phone.wait_for_timeout(400)  # the list slides in
    box = entry.bounding_box()
    assert 0 <= box["y"] <= PHONE["height"] - box["height"]


def test_without_scripts_the_themes_bar_is_shown_and_no_heading_is_painted(browser, book):
    context = browser.new_context(viewport=PHONE, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{book}/book/how_to_read.html#budgets")
    assert page.locator("nav.where").count() == 0
    assert page.locator(".bd-header-article").bounding_box()["y"] == 0
    expect(page.locator("section:target > h2")).to_have_css("background-color", "rgba(0, 0, 0, 0)")
    context.close()


@pytest.mark.parametrize(
    ("chapter", "name", "control"),
    [
        ("01_self_attention", "score", "[data-score='0']"),
        ("03_message_passing", "ink", "input"),
        ("05_signnet", "flip", "[data-flip]"),
        ("07_egt", "tour", "input"),
        ("09_csa", "forget", "[data-state=without]"),
    ],
)
def test_the_result_of_a_picture_is_in_view_beside_the_control_that_changes_it(
    phone, book, chapter, name, control
):
    phone.goto(f"{book}/notebooks/{chapter}.html")
    host = phone.locator(f"#{name}")
    host.evaluate(COME_NEAR)
    pressed = host.locator(control).first
    pressed.evaluate("one => one.scrollIntoView({ block: 'center', behavior: 'instant' })")
    result = host.locator(".said").bounding_box()
    assert result["y"] > pressed.bounding_box()["y"]
    assert result["y"] + result["height"] <= PHONE["height"] + 1
    question = host.locator(".ask")
    question.evaluate("one => one.scrollIntoView({ block: 'end', behavior: 'instant' })")
    asked = question.bounding_box()
    assert host.locator(".said").bounding_box()["y"] >= asked["y"] + asked["height"] - 1


def test_a_chapter_offers_its_core_in_a_row_as_high_as_a_finger(phone, book):
    phone.goto(f"{book}/{CHAPTER}")
    phone.evaluate("window.bookReady")
    offer = phone.locator("label.core-only")
    assert re.fullmatch(r"Core only\s*about \d+ of \d+ minutes", offer.inner_text().strip())
    box = offer.bounding_box()
    assert box["height"] >= 44
    assert box["y"] + box["height"] < PHONE["height"] / 3
    before = phone.evaluate("document.documentElement.scrollHeight")
    offer.click()
    assert phone.evaluate("document.documentElement.scrollHeight") < 0.75 * before
    phone.reload()
    phone.evaluate("window.bookReady")
    expect(phone.get_by_role("checkbox", name="Core only")).to_be_checked()


def test_without_scripts_no_core_is_offered(browser, book):
    context = browser.new_context(viewport=PHONE, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{book}/{CHAPTER}")
    expect(page.locator("label.core-only")).to_be_hidden()
    context.close()


NAMES = """table => [...table.querySelectorAll("tbody td:first-child")].map((name) =>
  [name.getBoundingClientRect().width, name.scrollWidth - name.clientWidth])"""


def test_the_names_of_rows_leave_room_for_the_numbers_of_a_table_that_scrolls(phone, book):
    for name in ("10_one_framework", "your_molecules"):
        phone.goto(f"{book}/notebooks/{name}.html")
        phone.evaluate("window.bookReady")
        tables = phone.locator(".bd-article table[data-fit=scrolls]:visible").all()
        assert tables
        for table in tables:
            widths, excess = zip(*table.evaluate(NAMES), strict=True)
            assert max(widths) < 0.42 * PHONE["width"]
            assert max(excess) <= 1


def test_a_printed_table_of_formulas_is_a_block_for_each_row(phone, book):
    phone.goto(f"{book}/notebooks/10_one_framework.html")
    phone.evaluate("window.bookReady")
    table = phone.locator("#table-10-3 table")
    expect(table.locator("thead")).to_be_hidden()
    assert table.evaluate("table => table.scrollWidth <= table.clientWidth")
    assert table.locator("td:visible .label").first.inner_text().startswith("logit")


SIZES = """() => {
  const found = new Set();
  const article = document.querySelector(".bd-article");
  const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const near = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !near.getClientRects().length) continue;
    if (near.closest("mjx-container, svg, script, style, noscript, .enlarge")) continue;
    found.add(parseFloat(getComputedStyle(near).fontSize));
  }
  return [...found];
}"""


@pytest.mark.parametrize("size", [PHONE, LAPTOP])
def test_letters_have_few_sizes(page, book, size):
    page.set_viewport_size(size)
    found = set()
    for name in ("notebooks/10_one_framework", "book/results/index", "book/glossary"):
        page.goto(f"{book}/{name}.html")
        page.evaluate("window.bookReady")
        found.update(page.evaluate(SIZES))
    assert found <= {11, 12, 13, 14, 16, 18, 20, 24, 28, 36}
