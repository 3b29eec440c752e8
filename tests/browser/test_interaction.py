"""What reacts to the reader: solutions, folded code, the mode, the search, a table's filter."""

import json
import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.visit import COME_NEAR
from tools.chromium import PHONE
from tools.paths import NOTEBOOKS

NUMBER = re.compile(r"\s*[−+-]?\d")
CHAPTERS = sorted(path.stem for path in NOTEBOOKS.glob("[01]*.ipynb"))
SOLUTION = "details:has(> summary:text-is('Solution'))"


@pytest.fixture
def chapter(page, book):
    """Opens a chapter by its number."""

    def opened(number: str):
        (name,) = (name for name in CHAPTERS if name.startswith(number))
        page.goto(f"{book}/notebooks/{name}.html", wait_until="domcontentloaded")
        return page

    return opened


@pytest.mark.parametrize("number", ["01", "07", "12"])
def test_solutions_are_collapsed(chapter, number):
    page = chapter(number)
    solutions = page.locator(SOLUTION)
    assert 3 <= solutions.count() <= 5
    assert solutions.evaluate_all("all => all.some((one) => one.open)") is False


def test_each_button_of_the_header_shows_that_it_has_the_focus(page, book):
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{book}/book/explainer.html", wait_until="domcontentloaded")
    page.evaluate("window.bookReady")
    buttons = page.locator(".bd-header-article button:visible")
    assert buttons.count() >= 5
    page.keyboard.press("Tab")  # so that the browser shows the focus
    for button in buttons.all():
        button.focus()
        ring = button.evaluate("button => getComputedStyle(button).outline")
        assert "solid 3px" in ring


def test_the_table_of_contents_highlights_the_section_in_view(chapter):
    page = chapter("01")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_load_state()
    page.locator("h3", has_text="Exercise 4").evaluate("heading => heading.scrollIntoView()")
    is_in_view = """() => {
      const list = document.querySelector(".bd-sidebar-secondary");
      const entry = [...list.querySelectorAll(".nav-link.active")].at(-1);
      if (!entry?.textContent.includes("Exercise 4")) return false;
      const [at, seen] = [entry, list].map((each) => each.getBoundingClientRect());
      return at.bottom <= seen.bottom && seen.bottom <= innerHeight;
    }"""
    page.wait_for_function(is_in_view)
    assert page.locator(".bd-sidebar-secondary").evaluate("list => list.scrollTop") > 0
    page.set_viewport_size({"width": 1280, "height": 400})
    page.wait_for_function(is_in_view)


def test_the_table_of_contents_highlights_the_section_after_jumps(chapter):
    """After each link of the list, after long steps of the wheel, and none above the first."""
    page = chapter("09")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_load_state()
    wrong = page.evaluate(
        """async () => {
          const frame = () => new Promise((done) => requestAnimationFrame(done));
          const list = document.querySelector(".bd-sidebar-secondary");
          const active = () => [...list.querySelectorAll(".nav-link.active")];
          const links = [...list.querySelectorAll(".nav-link[href^='#']")];
          const next = async () => {
            await new Promise((done) => setTimeout(done));
            await frame();
            await frame();
          };
          const wrong = [];
          for (const link of links) {
            link.click();
            await next();
            if (active().length !== 1 || active()[0] !== link) wrong.push(link.textContent);
          }
          dispatchEvent(new Event("wheel"));
          for (const link of links.slice(0, 8)) {
            const top = document.querySelector(link.hash).getBoundingClientRect().top;
            scrollTo({ top: top + scrollY + 40, behavior: "instant" });
            await next();
            if (active()[0] !== link) wrong.push(link.textContent);
          }
          scrollTo({ top: 0, behavior: "instant" });
          await next();
          return [links.length, wrong, active().length];
        }"""
    )
    assert wrong[0] > 15
    assert wrong[1:] == [[], 0]


def test_the_list_of_pages_scrolls_to_the_current_page(page, book):
    page.set_viewport_size({"width": 1280, "height": 800})
    in_view = """() => {
      const list = document.querySelector(".bd-sidebar-primary");
      const entry = [...list.querySelectorAll("a.current")].at(-1);
      const [at, seen] = [entry, list].map((each) => each.getBoundingClientRect());
      return at.top >= seen.top && at.bottom <= Math.min(seen.bottom, innerHeight);
    }"""
    for name in ("notebooks/01_self_attention", "book/bibliography", "notebooks/01_self_attention"):
        page.goto(f"{book}/{name}.html")
        page.wait_for_function(in_view)
    page.goto(f"{book}/book/bibliography.html")
    page.wait_for_function(in_view)
    page.goto(f"{book}/search.html")  # which is not in the list
    page.wait_for_function("() => document.querySelector('.bd-sidebar-primary').scrollTop === 0")


def test_a_formula_is_copied_as_tex(page, book):
    page.goto(f"{book}/notebooks/09_csa.html", wait_until="domcontentloaded")
    copied = page.evaluate(
        """() => {
          const formula = document.querySelector("#one-number-per-channel div.math");
          const range = document.createRange();
          range.setStartBefore(formula.previousElementSibling);
          range.setEndAfter(formula);
          getSelection().removeAllRanges();
          getSelection().addRange(range);
          const clipboardData = new DataTransfer();
          const how = { clipboardData, bubbles: true, cancelable: true };
          formula.dispatchEvent(new ClipboardEvent("copy", how));
          return clipboardData.getData("text/plain");
        }"""
    )
    assert "$E_{ij} \\in \\mathbb R^d$" in copied
    assert "$$a_{ij} = " in copied


def test_on_a_phone_long_lines_of_output_wrap_and_are_copied_unchanged(chapter):
    code = ".cell_output .highlight pre"
    page = chapter("02")
    written = page.locator(code).all_text_contents()
    page.set_viewport_size(PHONE)
    page.reload()
    lines = page.locator(f"{code} > .line")
    lines.first.wait_for(state="attached")
    assert page.locator(code).all_text_contents() == written
    assert any(len(line) > 50 for line in lines.all_text_contents())
    cut = page.locator(code).evaluate_all(
        "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).length"
    )
    assert cut == 0
    assert lines.first.evaluate("line => parseFloat(getComputedStyle(line).fontSize)") >= 12


def test_dark_mode_is_set_before_the_themes_script_runs(page, book):
    page.route("**/pydata-sphinx-theme.js*", lambda route: route.abort())
    page.emulate_media(color_scheme="dark")
    page.goto(f"{book}/book/intro.html")
    assert page.locator("html").get_attribute("data-theme") == "dark"


def test_the_mode_follows_the_system_until_the_reader_chooses(chapter):
    page = chapter("01")
    mode = page.locator("html")
    for system in ("dark", "light"):
        page.emulate_media(color_scheme=system)
        page.wait_for_function("m => document.documentElement.dataset.theme === m", arg=system)
    shown = mode.evaluate("html => getComputedStyle(document.body).backgroundColor")
    for _ in range(3):  # the button goes round: light, dark, as the system
        if mode.get_attribute("data-theme") == "light":
            page.locator("button.theme-switch-button").first.click()
    assert mode.get_attribute("data-theme") == "dark"
    expect(page.locator("body")).not_to_have_css("background-color", shown)


def test_the_search_opens_and_answers_before_the_themes_script_is_there(page, book, errors):
    asked = []

    def hold(route) -> None:
        asked.append(route)  # and not answered yet

    page.route("**/pydata-sphinx-theme.js*", hold)
    page.goto(f"{book}/book/intro.html", wait_until="commit")
    page.locator("#pst-search-dialog").wait_for(state="attached")
    page.keyboard.press("Control+k")
    field = page.locator("#pst-search-dialog input")
    expect(field).to_be_focused()
    page.keyboard.type("attention")
    results = page.locator("#pst-search-dialog .section-results .found a")
    assert results.count() == 0
    for route in asked:
        route.continue_()
    results.first.wait_for()
    page.keyboard.press("Control+k")  # from here on the theme's
    expect(field).to_be_hidden()
    page.keyboard.press("Control+k")
    expect(field).to_be_focused()


def test_the_search_says_that_it_searches_until_its_index_is_there(page, book):
    held = []

    def hold(route) -> None:
        held.append(route)

    page.route("**/sections.js*", hold)
    page.goto(f"{book}/book/intro.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("s")
    said = page.locator("#pst-search-dialog .section-results [role=status]")
    expect(said).to_have_text("Searching …")
    page.keyboard.type("oftmax")
    expect(said).to_have_text("Searching …")
    held[0].continue_()
    expect(said).to_contain_text("section")
    page.locator("#pst-search-dialog .found").first.wait_for()


def test_the_search_says_that_it_could_not_be_loaded(page, book):
    page.route("**/sections.js*", lambda route: route.abort())
    page.goto(f"{book}/book/intro.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("softmax")
    said = page.locator("#pst-search-dialog .section-results [role=status]")
    expect(said).to_have_text("The search could not be loaded. Reload the page to try again.")


def test_on_a_phone_the_search_has_a_button_to_close_it_and_no_tooltip_above_it(browser, book):
    phone = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = phone.new_page()
    page.goto(f"{book}/book/intro.html")
    page.evaluate("window.bookReady")
    page.wait_for_load_state()
    page.locator(".bd-header-article .search-button").first.tap()
    close = page.get_by_role("button", name="Close the search")
    box = close.bounding_box()
    assert min(box["width"], box["height"]) >= 40
    page.wait_for_timeout(300)  # until a tooltip would have appeared
    assert page.locator(".tooltip:visible").count() == 0
    close.tap()
    expect(page.locator("#pst-search-dialog")).to_be_hidden()
    phone.close()


def test_search_finds_definition_and_section_and_nothing_for_nonsense(page, book):
    page.goto(f"{book}/book/intro.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("attention bias")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=attention*bias")
    found = page.locator("#section-results .found a")
    assert "glossary.html#term-attention-bias" in found.first.get_attribute("href")
    second = found.nth(1).get_attribute("href")
    assert "06_graphormer.html#distance-as-an-attention-bias" in second
    excerpts = page.locator("#section-results mark").locator("xpath=..").all_text_contents()
    assert [bool(re.search(r"[\\…^$]", text)) for text in excerpts[:10]] == [False] * 10
    page.goto(f"{book}/search.html?q=qqqzzz")
    page.get_by_text("No results.").wait_for()


WHILE_TYPING = {
    "penalized logp": ["glossary.html#term-penalised-logP"],  # the book writes "penalised"
    "oversmoothing": ["glossary.html#term-over-smoothing"],  # and "over-smoothing"
    "normalization": ["normalisation"],
    "csa": ["glossary.html#term-CSA", "09_csa.html"],  # before the errata of its paper
    "graphfomer": ["glossary.html#term-Graphormer", "06_graphormer.html"],  # a letter wrong
    "laplacain eigenvectros": ["04_positional_encodings.html"],  # letters swapped
    "how do I train on my own csv file": ["your_molecules.html"],  # a question
    "penalised logp xqqzz": ["penalised-logP"],  # a word that is nowhere
    # A term: its definition, and then the section that introduces it.
    "softmax": ["glossary.html#term-softmax", "01_self_attention.html#one-token-three-steps"],
    "what are queries?": [
        "glossary.html#term-query",
        "01_self_attention.html#one-token-three-steps",
    ],
    "laplacian": [
        "glossary.html#term-Laplacian",
        "04_positional_encodings.html#the-laplacian",
    ],
    "pre-LN": [
        "glossary.html#term-post-LN-pre-LN",
        "02_transformer.html#where-the-norm-goes",
    ],
}
"""What is found first."""


def test_search_suggests_results_while_typing_in_either_spelling(page, book):
    page.goto(f"{book}/book/intro.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("attn")
    results = page.locator("#pst-search-dialog .section-results .found a")
    results.first.wait_for()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.tagName") == "A"
    field = page.locator("#pst-search-dialog input")
    for query, firsts in WHILE_TYPING.items():
        field.fill("qqqzzz")
        expect(results).to_have_count(0)
        field.fill(query)
        results.first.wait_for()
        links = results.evaluate_all("all => all.map((link) => link.href)")
        for link, first in zip(links[: len(firsts)], firsts, strict=True):
            assert first in link, query


FIRST_OF = {
    "layernorm": "glossary.html#term-layer-normalisation",
    "layer norm": "glossary.html#term-layer-normalisation",
    "batchnorm": "glossary.html#term-batch-normalisation",
    "pre-norm": "02_transformer.html#where-the-norm-goes",
    "QK^T": "01_self_attention.html#all-tokens-at-once",
    "query key value": "01_self_attention.html#one-token-three-steps",
    "sqrt d_k": "01_self_attention.html#why-divide-by-the-square-root",
    "softmax temperature": "01_self_attention.html#why-divide-by-the-square-root",
    "multihead attention": "01_self_attention.html#several-heads",
    "padding mask": "01_self_attention.html#batches-and-padding",
    "masking": "glossary.html#term-mask",
    "tokenization": "glossary.html#term-token",
    "tokenisation": "glossary.html#term-token",
    "skip connection": "glossary.html#term-residual-connection",
    "teacher forcing": "glossary.html#term-teacher-forcing",
    "learning rate warmup": "02_transformer.html#where-the-norm-goes",
    "O(n^2)": "03_message_passing.html#what-it-costs",
    "expressivity": "03_message_passing.html#what-message-passing-cannot-see",
    "oversquashing": "glossary.html#term-over-squashing",
    "1-WL": "glossary.html#term-Weisfeiler-Leman-test-1-WL",
    "weisfeiler lehman": "glossary.html#term-Weisfeiler-Leman-test-1-WL",
    "eigen vector": "glossary.html#term-eigenvector",
    "eigenvector sign": "05_signnet.html",
    "sign ambiguity": "05_signnet.html",
    "edge features": "06_graphormer.html#edges-along-the-shortest-path",
    "edge channels": "07_egt.html#a-vector-for-every-pair",  # the EGT paper's name
    "how do I predict my own molecule": "your_molecules.html#predict-for-a-table",
    "predict own molecule": "your_molecules.html#predict-for-a-table",
    "edge-augmented": "07_egt.html",
    "bias": "glossary.html#term-attention-bias",
    "neighbor": "03_message_passing.html#one-node-at-a-time",
    "VNode": "06_graphormer.html#vnode-the-layer-the-model",
    "RWPE": "glossary.html#term-RWSE",
    "graphgps": "after.html#message-passing-and-attention-side-by-side-gps",
    "out of memory": "12_from_a_laptop_to_a_cluster.html#two-ways-to-use-less-memory",
    "how to install": "intro.html#a-first-prediction",
    "install": "intro.html#a-first-prediction",
    "dataset": "notebooks/data.html",
    "sqrt": "01_self_attention.html#why-divide-by-the-square-root",
    "Graphormer ZINC MAE": "results/index.html",
    "how does Graphormer differ from EGT": "10_one_framework.html#nine-models-side-by-side",
    "CSA vs Graphormer": "10_one_framework.html#nine-models-side-by-side",
    "what does CSA stand for": "09_csa.html",
    "GAT": "03_message_passing.html#the-graph-attention-network",
    "gated gcn": "glossary.html#term-GatedGCN",
    "neighbor aggregation": "03_message_passing.html#one-node-at-a-time",
    "graph isomorphism": "glossary.html#term-isomorphic",
    "Fourier": "04_positional_encodings.html#slow-and-fast-eigenvectors",
    "LapPE": "04_positional_encodings.html#the-laplacian",
    "SVD": "07_egt.html#singular-vectors",
    "attn bias": "glossary.html#term-attention-bias",
    "phi(i,j)": "06_graphormer.html#distance-as-an-attention-bias",
    "[CLS]": "06_graphormer.html#vnode-the-layer-the-model",
    "E_ij": "notation.html",
    "GELU": "glossary.html#term-feed-forward-network",
    "learning rate": "02_transformer.html#where-the-norm-goes",
    "receptive field": "03_message_passing.html#how-far-information-travels",
    "ECFP": "glossary.html#term-Morgan-counts",
    "chirality": ".html#limits",
    "solubility": "your_molecules.html",
    "uncertainty": "your_molecules.html#predict-for-a-table",
    "fine-tuning": "your_molecules.html#train-on-a-csv-file",
    "pretrained model": "models/index.html",
    "interpretability": "11_what_attention_sees.html",
    "Vaswani": "02_transformer.html",
    "Rampášek": "after.html#message-passing-and-attention-side-by-side-gps",
    "syllabus": "teach.html",
    "prerequisites": "intro.html#is-it-for-you",
    "mistakes in the lecture": "errata.html",
    "run without GPU": "how_to_read.html#three-ways-to-use-the-book",
    "how long to train": "results/runs.html#the-records",
    "how long does Graphormer take to train?": "results/runs.html#the-records",
    "training time": "results/runs.html#the-records",
    "hours": "results/runs.html#the-records",
    "duration": "results/runs.html#the-records",
    "how long does it take": "how_to_read.html#how-long-the-pages-take-to-run",
    "how long does a chapter take to run": "how_to_read.html#how-long-the-pages-take-to-run",
    "invariance": "glossary.html#term-invariance",
    "permutation invariance": "glossary.html#term-invariance",
    "equivariant": "glossary.html#term-equivariance",
}


def test_typical_queries_have_the_right_first_result(search_page):
    page = search_page
    firsts = page.evaluate(
        "queries => queries.map((one) => search(one)[0]?.section.url ?? '')", [*FIRST_OF]
    )
    wrong = {
        q: url for q, url in zip(FIRST_OF, firsts, strict=True) if not url.endswith(FIRST_OF[q])
    }
    assert wrong == {}
    gone = """[...LEADS.flatMap(([, ...urls]) => urls), ...COMPARED, ...MEASURED]
      .filter((url) => !SECTIONS.some((section) => section.url === url))"""
    assert page.evaluate(gone) == []
    slips = page.evaluate("""['sqrt', 'BERT'].map((one) => {
      const slips = [];
      search(one, slips);
      return slips;
    })""")
    assert slips == [[], []]  # neither is "sort" or "best"
    notice = page.evaluate(
        """() => {
          const place = document.createElement("div");
          answer("laplacain eigenvector", place, "");
          return place.firstChild.textContent;
        }"""
    )
    assert notice.endswith("for “laplacian eigenvector”; the book has no “laplacain”")
    typed = page.evaluate(
        """() => {
          const place = document.createElement("div");
          answer("normalisatoin", place, "");
          return place.firstChild.textContent;
        }"""
    )
    assert typed.endswith("for “normalisation”; the book has no “normalisatoin”")
    cards = page.evaluate(
        "search('stereochemistry').map(({ section, more }) => [section.url.split('/')[1], more])"
    )
    assert cards[0][0] == "models"  # one of the cards, which counts the others
    assert cards[0][1] >= 7
    assert [place for place, _ in cards[1:] if place == "models"] == []
    titles = page.evaluate("search('softmax').map(({ section }) => section.title)")
    exercises = [at for at, title in enumerate(titles) if title.startswith("Exercise")]
    assert min(exercises) > titles.index("1.4 Why divide by the square root")
    apart = page.evaluate(
        """() => search("edge channels").slice(0, 5).map(({ section, asked }) =>
          inOneSentence(`${section.title}. ${section.text}`, asked))"""
    )
    assert apart == [True] * 5
    known = page.evaluate(
        """() => LEADS.flatMap(([, ...urls]) => urls)
          .filter((url) => !SECTIONS.some((section) => section.url === url))"""
    )
    assert known == []


QUERIES = json.loads(Path(__file__).with_name("queries.json").read_text(encoding="utf-8"))
"""What students type, and what should be found first: one section, or a term and its section."""


def test_what_students_type_finds_the_right_section_first(searching):
    assert len(QUERIES) >= 40
    wrong = {}
    for (query, wanted), found in zip(QUERIES.items(), searching(*QUERIES), strict=True):
        firsts = [each["url"] for each in found[: len(wanted)]]
        right = map(str.endswith, firsts, wanted)
        if len(firsts) < len(wanted) or not all(right):
            wrong[query] = firsts
    assert wrong == {}


def test_an_erratum_comes_after_the_chapters(searching):
    """Unless these have too few of the words."""
    with_errata = [
        [each["url"] for each in found]
        for found in searching("softmax bias", "laplacian sign", "attention dropout", "csa channel")
    ]
    for urls in with_errata:
        chapters = [at for at, url in enumerate(urls) if re.match(r"notebooks/\d", url)]
        errata = [at for at, url in enumerate(urls) if url.startswith("notebooks/errata")]
        assert not errata or chapters[0] < errata[0]
    assert any("errata" in url for urls in with_errata for url in urls)


def test_a_question_of_small_words_alone_finds_nothing(searching):
    assert [len(found) for found in searching("how do I", "what is it", "where is the")] == [0] * 3


def test_two_sections_of_a_page_with_the_same_title_are_both_found(searching):
    (found,) = searching("notation attention")
    urls = [each["url"] for each in found if each["url"].startswith("book/notation.html#")]
    titles = [each["title"] for each in found if each["url"] in urls]
    assert titles.count("Attention") == 2


def test_what_the_search_has_found_is_announced_in_a_line_that_stays(page, book):
    """A line that comes with its words is not read out."""
    page.goto(f"{book}/book/intro.html")
    line = page.locator("#pst-search-dialog .section-results [role=status]")
    expect(line).to_have_count(1)
    expect(line).to_be_empty()
    first = line.element_handle()
    page.keyboard.press("Control+k")
    for query, said in (("attention", "The 6 best of"), ("qqqzzz", "No results."), ("", "")):
        page.locator("#pst-search-dialog input").fill(query)
        expect(line).to_have_text(re.compile(f"^{re.escape(said)}" if said else "^$"))
        assert line.evaluate("(line, first) => line === first", first)


@pytest.fixture(scope="module")
def search_page(browser, book):
    """The search page with its index, for tests that only call its functions."""
    page = browser.new_page()
    page.goto(f"{book}/search.html?q=attention")
    page.locator("#section-results .found a").first.wait_for()
    yield page
    page.close()


@pytest.fixture
def searching(search_page):
    """Calls the page's search with each of some queries; the sections that it finds, best first."""
    every = "queries => queries.map((one) => search(one).map(({ section }) => section))"
    return lambda *queries: search_page.evaluate(every, [*queries])


POINTED = {
    "table 8.1": "08_grpe.html#table-8-1",
    "Tab. 8.1": "08_grpe.html#table-8-1",
    "fig 6.2": "06_graphormer.html#figure-6-2",
    "interactive 5.1": "05_signnet.html#interactive-5-1",
    "section 8.3": "08_grpe.html#relations-inside-the-logits",
    "8.3": "08_grpe.html#relations-inside-the-logits",
    "chapter 8": "08_grpe.html",
    "signnet exercise 2": "05_signnet.html#exercise-2-a-sum-over-all-signs",
    "equation (S14)": "05_signnet.html",
    "graphormer eq. 6": "06_graphormer.html",
}


def test_what_has_a_number_is_found_by_it(searching):
    firsts = [found[0]["url"] for found in searching(*POINTED)]
    wrong = {
        query: url
        for (query, end), url in zip(POINTED.items(), firsts, strict=True)
        if not (url.endswith(end) or url.split("#")[0].endswith(end))
    }
    assert wrong == {}


def test_an_equation_is_found_where_it_is_cited_and_nowhere_else(searching):
    sevens, egt, tables, none = searching("eq 7", "EGT equation 7", "table 2", "eq 99")
    cited = re.compile(
        r"\bEq(?:uation)?s?\.? [^.;]*(?<![\d.])7(?![\d.]*\d)|Eqs?\. [1-6] (?:to|–) \d"
    )
    assert len(sevens) > 5
    unsaid = [each for each in sevens if not cited.search(f"{each['title']}\n{each['text']}")]
    assert [each["url"] for each in unsaid] == []
    assert 0 < len(egt) < len(sevens)
    for each in egt:
        assert "EGT" in f"{each['title']} {each['page']} {each['text']}", each["url"]
    in_chapter_2 = [each["title"] for each in tables if each["title"].startswith("Table ")]
    assert in_chapter_2[0] == "Table 2.1"
    assert {title.split(".")[0] for title in in_chapter_2} == {"Table 2"}
    assert none == []


@pytest.mark.parametrize("query", ["eq 7", "equation 7", "Eq. 9"])
def test_a_number_alone_first_finds_the_ledgers_row_of_each_paper(searching, page, book, query):
    number = query.split()[-1]
    (found,) = searching(query)
    rows = [each for each in found if "number" in each]
    assert found[: len(rows)] == rows
    papers = [each["title"].split(",")[0] for each in rows]
    assert papers == ["Graphormer", "EGT", "GRPE", "CSA"]
    assert all(f", Eq. {number}: " in each["title"] for each in rows)
    assert all(re.match(r"Explained in \d+\.\d+ ", each["text"]) for each in rows)
    page.goto(f"{book}/{rows[0]['url']}")
    assert page.locator(":target").inner_text().startswith(f"Eq. {number}:")


def test_who_asks_how_to_install_reads_the_command(page, book):
    page.goto(f"{book}/search.html?q=install")
    page.locator("#section-results .found a").first.wait_for()
    first = page.locator("#section-results .found ~ p").all_inner_texts()[:2]
    assert any("pip install" in words for words in first)
    page.set_viewport_size(PHONE)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_code_and_the_teachers_page_come_last_unless_a_name_of_the_code_is_asked_for(searching):
    queries = ["attention", "training", "graph", "exercise", "eigenvectors"]
    for query, found in zip(queries, searching(*queries), strict=True):
        last = [each["url"].startswith(("book/api/", "book/teach")) for each in found]
        assert any(last), query
        assert last == sorted(last), query
    named = {
        "flip_signs": "models.signnet.html#gtcourse.models.signnet.flip_signs",
        "GraphBatch": "graphs.batch.html#gtcourse.graphs.batch.GraphBatch",
        "scaled_dot_product_attention()": "attention.scaled_dot_product_attention",
        "AddLaplacianEigenvectors": "spectral.AddLaplacianEigenvectors",
        "GINPhi": "models.signnet.GINPhi",
    }
    for (query, end), found in zip(named.items(), searching(*named), strict=True):
        assert found[0]["url"].endswith(end), query
    (models,) = searching("SignNet")
    assert "05_signnet" in models[0]["url"]  # the name of a model, not of its class


def test_a_reader_chooses_a_group_of_what_the_search_page_found(page, book, errors):
    page.goto(f"{book}/search.html?q=eigenvector")
    links = page.locator("#section-results .found a")
    links.first.wait_for()
    chips = page.locator("#section-results .groups button")
    said = page.locator("#section-results [role=status]")
    counts = {}
    for text in chips.all_inner_texts():
        name, count = text.rsplit(" ", 1)
        counts[name] = int(count)
    assert [*counts] == ["All", "Chapters", "Pages", "Glossary", "Code reference"]
    assert counts["All"] == sum(counts.values()) - counts["All"]
    places = {
        "Chapters": "/notebooks/",
        "Glossary": "glossary.html#",
        "Code reference": "/book/api/",
    }
    for name, count in counts.items():
        chip = page.locator("#section-results .groups button", has_text=name)
        chip.press("Enter")
        assert page.locator(".groups [aria-pressed=true]").inner_text() == f"{name} {count}"
        expect(chip).to_be_focused()
        hrefs = links.evaluate_all("all => all.map((link) => link.href)")
        assert len(hrefs) == min(count, 30)
        assert all(places.get(name, "") in href for href in hrefs)
        expect(said).to_have_text(
            f"The 30 best of {count} sections" if count > 30 else re.compile(f"^{count} section")
        )
    page.goto(f"{book}/book/intro.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("eigenvector")
    page.locator("#pst-search-dialog .found a").first.wait_for()
    assert page.locator("#pst-search-dialog .groups").count() == 0


def test_invariance_and_equivariance_find_each_others_sections(searching):
    queries = ("invariance", "equivariance", "permutation invariance")
    for query, found in zip(queries, searching(*queries), strict=True):
        assert {each["url"].split("/")[-1] for each in found[:3]} == {
            "glossary.html#term-invariance",
            "glossary.html#term-equivariance",
            "01_self_attention.html#order-does-not-matter",
        }, query


def test_the_search_field_stays_visible_when_the_list_of_pages_scrolls(page, book):
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{book}/book/glossary.html")
    page.locator(".bd-sidebar-primary").evaluate("list => list.scrollTo(0, list.scrollHeight)")
    field = page.locator(".bd-sidebar-primary .search-button-field")
    assert 0 <= field.bounding_box()["y"] < 40
    field.click()  # nothing lies above it
    page.locator("#pst-search-dialog input").wait_for()


def test_the_words_of_a_search_are_marked_in_the_titles_and_keys_go_through_them(page, book):
    page.goto(f"{book}/book/intro.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("attention bias")
    first = page.locator("#pst-search-dialog .found a").first
    expect(first.locator("mark")).to_have_text(["attention", "bias"])
    words = "e => getComputedStyle(e, '::after').content"
    assert "↑ and ↓" in page.locator("#pst-search-dialog [role=status]").evaluate(words)
    page.keyboard.press("ArrowDown")
    expect(first).to_be_focused()


def test_a_result_on_the_same_page_closes_the_search_and_comes_to_the_top(chapter):
    page = chapter("07")
    page.set_viewport_size(PHONE)
    page.wait_for_load_state()
    top = "document.getElementById('virtual-nodes').getBoundingClientRect().top"
    for presses in ((), ("ArrowDown", "ArrowDown", "Enter")):
        page.evaluate("scrollTo(0, 0)")
        page.keyboard.press("Control+k")
        dialog = page.locator("#pst-search-dialog")
        dialog.locator("input").fill("virtual node")
        result = dialog.locator(".found a[href$='07_egt.html#virtual-nodes']")
        result.wait_for()
        for key in presses:
            page.keyboard.press(key)
        if not presses:
            result.click()
        expect(dialog).to_be_hidden()
        page.wait_for_function(f"Math.abs({top} - 60) < 20")
        page.wait_for_timeout(100)  # until the focus would have gone back to the button
        assert abs(page.evaluate(top) - 60) < 20


def test_folded_code_a_caption_and_the_text_have_one_left_edge(chapter):
    page = chapter("06")
    left = """() => {
      const cell = document.querySelector("div.cell:has(> figure + details)");
      cell.querySelector("details").open = true;
      return [...cell.querySelectorAll("figcaption .caption-text, summary, .cell_input")].concat(
        cell.nextElementSibling).map((each) => Math.round(each.getBoundingClientRect().left));
    }"""
    edges = page.evaluate(left)
    assert len(edges) == 4
    assert len(set(edges)) == 1


def test_search_excerpts_contain_no_source_comments(page, book):
    page.goto(f"{book}/search.html?q=graphormer+centrality")
    page.locator("#section-results mark").first.wait_for()
    assert "make tables" not in page.locator("#section-results").inner_text()


def test_the_page_for_missing_pages_offers_a_search_of_the_book(page, book):
    page.goto(f"{book}/404.html")
    field = page.locator(".bd-search-container input")
    field.fill("virtual node")
    page.locator(".section-results .found a").first.click()
    page.wait_for_url("**/book/glossary.html#term-virtual-node")
    assert page.locator("#term-virtual-node").inner_text().startswith("virtual node")


def test_a_sentence_is_read_out_once_when_a_slider_rests(chapter):
    """While a line has aria-live off, a screen reader reads none of its changes."""
    for name, number in (("score", "01"), ("dial", "08")):
        page = chapter(number)
        picture = page.locator(f"#{name}")
        picture.evaluate(COME_NEAR)
        line = picture.locator("[role=status]").first
        slider = picture.locator("input[type=range]").first
        slider.wait_for()
        slider.focus()
        for _ in range(3):
            slider.press("ArrowRight")
            expect(line).to_have_attribute("aria-live", "off")
        said = line.inner_text()
        added = """line => new Promise((done) => {
          const watch = new MutationObserver((records) => {
            if (!records.some(({ addedNodes }) => addedNodes.length)) return;
            watch.disconnect();
            done([line.hasAttribute("aria-live"), line.innerText]);
          });
          watch.observe(line, { childList: true });
        })"""
        assert line.evaluate(added) == [False, said], name


def test_on_the_first_page_the_choice_of_a_model_changes_the_prediction(page, book):
    page.goto(f"{book}/book/intro.html")
    live = page.locator("#live")
    predicted, ringed, places, scales = [], [], set(), set()
    for button in live.locator("[data-model]").all():
        button.click()
        parts = (live, page.locator(".promise"))
        places.add(str([part.bounding_box() for part in parts]))
        said = live.locator(".result").inner_text()
        ringed.append(live.locator(".ring").count())
        scales.add(live.locator(".scale").inner_text())
        predicted.append(float(re.search(r"[−\d.]+(?= · exact)", said)[0].replace("−", "-")))
    assert len(predicted) == 4
    without = page.request.get(f"{book}/book/intro.html").text().split('<div id="puzzle">')[1]
    said_without = without.split("</noscript>")[0]
    assert all(f" {value:.2f}".replace("-", "−") in said_without for value in predicted)
    exact = float(said.split("exact ")[1].replace("−", "-"))
    gaps = sorted(abs(each - exact) for each in predicted)
    assert gaps[0] < 0.5
    assert gaps[1:] == pytest.approx([3] * 3, abs=0.5)
    puzzle = page.locator("#puzzle")
    hook = "Predicting diazepam’s penalised logP, three models are off by about\N{NO-BREAK SPACE}3"
    assert hook in puzzle.inner_text()
    assert puzzle.locator("circle").count() == 4
    assert puzzle.locator(".now").text_content().strip().startswith("CSA")
    why = puzzle.get_by_role("link", name="Why?").get_attribute("href")
    assert why.startswith("explainer.html#model=csa&molecule=diazepam")
    assert "lowers the exact value by 3.5" in live.locator(".why").inner_text()
    assert len(places) == 1  # nothing moves
    assert len(scales) == 1  # the colours of all models can be compared
    assert ringed == [0, 0, 0, 1]  # CSA reads rings


def test_no_node_encoding_separates_rook_and_shrikhande(chapter):
    page = chapter("04")
    twins = page.locator("#twins")
    twins.evaluate(COME_NEAR)
    twins.locator(".score").wait_for()
    rook = twins.locator(".pair").nth(4)
    apart = []
    for button in twins.locator("[data-encoding]").all():
        button.press("Enter")
        assert "apart" not in rook.get_attribute("class")
        apart.append(twins.locator(".pair.apart").count())
        assert f"tells {apart[-1]} of" in twins.locator(".score").inner_text()
    assert apart[0] == 2  # degrees
    assert max(apart) >= 7


@pytest.mark.parametrize("guess", ["right", "wrong"])
def test_a_guess_at_the_twins_is_answered_by_the_pair_that_no_encoding_tells_apart(chapter, guess):
    page = chapter("04")
    twins = page.locator("#twins")
    twins.evaluate(COME_NEAR)
    twins.locator(".score").wait_for()
    answers = twins.locator("[data-answer]")
    rook = "rook's graph 4 × 4, Shrikhande's graph"
    assert len(answers.all_inner_texts()) == 5
    answers.nth(answers.all_inner_texts().index(rook) - (guess == "wrong")).press("Enter")
    said = twins.locator(".ask").inner_text()
    assert said.startswith("Right." if guess == "right" else f"Not quite: {rook}.")
    best = re.search(
        r"more than (\d+) of the 10 pairs apart. These reach that number: (.*?)\.", said
    )
    for button in twins.locator("[data-encoding]").all():
        button.press("Enter")
        apart = twins.locator(".pair.apart").count()
        assert apart <= int(best[1])
        assert (apart == int(best[1])) == (button.inner_text() in best[2].split(", "))


def test_tables_are_filtered_by_words_and_sorted_by_a_column(page, book):
    page.goto(f"{book}/book/differs/index.html")
    page.locator(".filter input").fill("egt clip")
    rows = page.locator("#all-entries table tbody tr:visible")
    assert 0 < rows.count() < 5
    assert all("EGT" in row for row in rows.all_text_contents())
    page.goto(f"{book}/book/results/index.html")
    table = page.locator("table", has=page.get_by_role("button", name="ours")).first
    for reverse in (False, True):
        table.get_by_role("button", name="ours").press("Enter")
        found = table.locator("tbody td:nth-child(3)").all_text_contents()
        assert len(found) > 2
        assert found == sorted(found, reverse=reverse)


@pytest.mark.parametrize(
    ("number", "model"), [("06", "Graphormer"), ("07", "EGT"), ("08", "GRPE"), ("09", "CSA")]
)
def test_a_models_chapter_opens_it_in_the_explainer_and_names_it(chapter, number, model):
    page = chapter(number)
    note = page.locator(".of-explainer")
    assert f"The explainer runs the {model} of section 10.7" in note.inner_text()
    guesses = page.get_by_role("group", name="your guess").get_by_role("button")
    guesses.first.click()
    guesses.last.click()
    pressed = guesses.evaluate_all("all => all.map((each) => each.ariaPressed === 'true')")
    assert pressed == [False] * (guesses.count() - 1) + [True]
    page.get_by_role("button", name=f"Run a trained {model} here").click()
    page.locator("#explainer .flow .result").wait_for()
    chosen = page.locator("#explainer [data-model][aria-pressed=true]")
    assert chosen.inner_text() == model


def test_a_switch_folds_what_goes_deeper_than_the_core_and_links_open_it(chapter, errors):
    page = chapter("10")
    page.evaluate("window.bookReady")
    switch = page.get_by_role("checkbox", name="Core only")
    sizes = page.locator(".deeper").count(), page.locator("h2 > .core").count()
    visible = page.locator(".bd-article section > section > p:visible")
    everything = visible.count()
    assert not switch.is_checked()
    switch.press("Space")
    assert visible.count() < everything
    assert page.locator(".deeper > p:visible").count() == 0
    assert page.locator(".deeper > h2:visible").count() == sizes[0]

    table = page.locator(".deeper [id^='table-']").first
    page.evaluate("id => { location.hash = id; }", table.get_attribute("id"))
    expect(table).to_be_in_viewport()
    folded = page.get_by_role("button", name="Show", exact=True)
    assert folded.count() == sizes[0] - 1

    page = chapter("02")  # where it is remembered
    page.evaluate("window.bookReady")
    assert page.locator(".deeper > p:visible").count() == 0
    folded.first.press("Enter")
    assert page.locator(".deeper.open > p:visible").count() > 0
    assert page.locator(".deeper.open").count() == 1
    page.get_by_role("checkbox", name="Core only").press("Space")
    assert page.locator(".deeper > p:visible").count() > page.locator(".deeper").count()
    assert page.evaluate("localStorage.getItem('core-only')") is None
    drawn = page.locator("#transformer .whole").evaluate("e => e.viewBox.baseVal.width")
    assert drawn > 300  # as wide as its place, which had no width while it was folded


SMALL_LAPTOP = {"width": 1200, "height": 800}  # in which the contents take room from the text


@pytest.mark.parametrize("name", ["notebooks/09_csa", "book/results/index"])
def test_wide_tables_fit_the_column_of_a_laptop(page, book, name):
    page.goto(f"{book}/{name}.html", wait_until="domcontentloaded")
    page.evaluate("window.bookReady")
    page.set_viewport_size(SMALL_LAPTOP)
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.wait_for_function("""() => [...document.querySelectorAll(".bd-article table")]
      .every((table) => table.scrollWidth <= table.clientWidth)""")
    letters = page.locator("table[data-fit]").evaluate_all(
        "all => all.map((table) => parseFloat(getComputedStyle(table).fontSize))"
    )
    assert letters or name == "notebooks/07_egt"  # there all may fit as they are
    assert min(letters, default=12) >= 12


def test_the_filter_leaves_the_sections_that_have_a_row_for_its_words(page, book):
    page.goto(f"{book}/book/results/published.html", wait_until="domcontentloaded")
    page.evaluate("window.bookReady")
    sections = page.locator("#all-results h3")
    before = sections.count()
    page.get_by_role("searchbox", name="Filter rows").fill("gps table 3")
    left = sections.filter(visible=True)
    expect(left).to_have_count(1)
    expect(left).to_contain_text("PCQM4Mv2, validation MAE")
    expect(page.get_by_text("EGT in CSA’s Table 1")).to_be_visible()  # in another section
    page.get_by_role("searchbox", name="Filter rows").fill("")
    expect(left).to_have_count(before)


def test_a_table_that_fits_again_has_its_own_letters_again(chapter):
    """A window of 900 px shows no contents at the side, so that its text is wider."""
    page = chapter("09")
    page.evaluate("window.bookReady")
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    fitted = page.locator(".bd-article table[data-fit]")
    page.set_viewport_size(SMALL_LAPTOP)
    expect(fitted).not_to_have_count(0)
    in_laptop = fitted.count()
    page.set_viewport_size({"width": 900, "height": 800})
    expect(fitted).to_have_count(0)
    page.set_viewport_size(SMALL_LAPTOP)
    expect(fitted).to_have_count(in_laptop)


def test_folded_sections_are_printed(chapter):
    page = chapter("10")
    page.evaluate("window.bookReady")
    content = page.locator(".bd-article section.deeper > :not(h2):visible")
    page.emulate_media(media="print")
    unfolded = content.count()
    assert unfolded > 0
    page.emulate_media(media="screen")
    page.get_by_role("checkbox", name="Core only").press("Space")
    assert content.count() == 0
    page.emulate_media(media="print")
    printed = content.count()
    page.emulate_media(media="screen")
    assert printed == unfolded


def test_the_core_alone_is_shown_where_nothing_can_be_stored(chapter, errors):
    page = chapter("10")
    page.evaluate("window.bookReady")
    page.evaluate("() => { Storage.prototype.setItem = () => { throw new Error('full'); }; }")
    page.get_by_role("checkbox", name="Core only").press("Space")
    assert page.locator(".deeper > p:visible").count() == 0
    folded = page.get_by_role("button", name="Show", exact=True)
    assert folded.count() == page.locator(".deeper").count()


def test_the_text_width_does_not_depend_on_the_table_of_contents(page, book):
    page.goto(f"{book}/notebooks/03_message_passing.html", wait_until="domcontentloaded")
    width = "document.querySelector('.bd-article').clientWidth"
    with_list = page.evaluate(width)
    page.evaluate("document.querySelector('.bd-sidebar-secondary').remove()")
    assert page.evaluate(width) == with_list


@pytest.fixture
def diagram(chapter):
    """The diagram of Graphormer's layer."""
    page = chapter("06")
    page.wait_for_load_state()
    return page.locator(".diagram")


def test_a_box_of_a_diagram_shows_what_it_is_computed_from(diagram):
    page = diagram.page
    said = diagram.locator(".said")
    hint = said.inner_text()
    faded = diagram.locator("svg.tracing [data-box]:not(.on)")
    diagram.locator(".box[data-box=logits]").hover()
    expect(said).to_have_text(
        "QKᵀ/√dₖ + bias [H, N, N]: computed from Q = hWQ, K = hWK and bias; used in "
        "softmax over keys."
    )
    # Not what comes later, and not the values, which the logits do not read.
    names = faded.evaluate_all("all => [...new Set(all.map((each) => each.dataset.box))].sort()")
    assert names == ["add", "av", "ffn", "out", "softmax", "v"]
    page.mouse.move(1, 1)
    expect(said).to_have_text(hint)
    assert faded.count() == 0


def test_the_boxes_of_a_diagram_are_chosen_by_click_and_by_arrow_keys(diagram):
    page = diagram.page
    said = diagram.locator(".said")
    hint = said.inner_text()
    diagram.locator(".box[data-box=softmax]").click()
    page.mouse.move(1, 1)
    expect(said).to_contain_text("softmax over keys [H, N, N]: computed from QKᵀ/√dₖ + bias")
    diagram.locator(".box[data-box=softmax]").click()
    page.mouse.move(1, 1)
    expect(said).to_have_text(hint)
    diagram.focus()
    page.keyboard.press("ArrowUp")
    expect(said).to_contain_text("h = x + z⁻ + z⁺ [N, d]: computed from in- and out-degree")
    page.keyboard.press("ArrowUp")
    expect(said).to_contain_text("in- and out-degree [N]: an input")
    page.keyboard.press("Escape")
    expect(said).to_have_text(hint)


def test_printed_source_is_shown_as_code_without_broken_lines(page, book):
    page.set_viewport_size(PHONE)
    page.goto(f"{book}/notebooks/10_one_framework.html")
    page.locator(".cell_output .source > .fold").press("Enter")
    source = page.locator(".cell_output .source pre")
    assert source.inner_text().lstrip().startswith("def gatedgcn_terms(")
    expect(source).to_have_css("white-space", "pre")
    colours = source.locator("span").evaluate_all(
        "all => [...new Set(all.map((one) => getComputedStyle(one).color))]"
    )
    assert len(colours) > 2
    assert source.evaluate("pre => pre.scrollWidth > pre.clientWidth")
    expect(source).to_have_attribute("tabindex", "0")


def test_a_page_is_found_first_by_its_title_and_a_papers_equation_in_the_ledger(searching):
    own, equation = searching("own molecules", "GRPE equation 7")
    assert own[0]["url"] == "notebooks/your_molecules.html"
    assert "GRPE, Eq. 7: " in " ".join(each["title"] for each in equation[:6])


def test_the_search_dialog_leads_to_all_results_and_returns_the_focus(page, book):
    page.goto(f"{book}/book/intro.html")
    page.evaluate("window.bookReady")
    page.wait_for_load_state()
    page.keyboard.press("Control+k")
    page.locator("#pst-search-dialog input").fill("attention")
    every = page.locator("#pst-search-dialog .every a")
    expect(every).to_have_text(re.compile(r"^More of \d+ sections$"))
    assert every.get_attribute("href").endswith("search.html?q=attention")
    page.keyboard.press("Escape")
    expect(page.locator("#pst-search-dialog")).to_be_hidden()
    page.wait_for_function("document.activeElement !== document.body")


def test_one_entry_of_the_contents_is_marked_in_a_tall_window(chapter):
    page = chapter("08")
    page.set_viewport_size({"width": 1280, "height": 1540})
    page.wait_for_load_state()
    page.evaluate("window.bookReady")
    marked = page.evaluate(
        """async () => {
          const entries = ".bd-sidebar-secondary a:is(.active, [aria-current])";
          const frame = () => new Promise(requestAnimationFrame);
          const found = [];
          for (const section of document.querySelectorAll(".bd-article > section > section")) {
            const { bottom } = section.getBoundingClientRect();
            scrollTo({ top: bottom + scrollY - innerHeight, behavior: "instant" });
            // The page hears of it in the next frame, and the theme's observer in the one after.
            for (let frames = 0; frames < 3; frames++) await frame();
            found.push(document.querySelectorAll(entries).length);
          }
          return found;
        }"""
    )
    assert max(marked) == 1


def test_only_tables_of_numbers_and_longer_ones_are_sorted(page, book):
    page.goto(f"{book}/book/results/index.html")
    page.evaluate("window.bookReady")
    tables = page.locator(".bd-article table").evaluate_all(
        """all => all.map((table) => [
          table.querySelector("button.sort") !== null,
          [...table.tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.innerText)),
        ])"""
    )
    assert sum(is_sorted for is_sorted, _ in tables) > 3
    for is_sorted, rows in tables:
        columns = zip(*rows, strict=True)
        has_numbers = any(all(NUMBER.match(cell) for cell in column) for column in columns)
        is_named = all(row[0].strip() for row in rows)
        assert is_sorted == (is_named and (len(rows) >= 5 or (len(rows) >= 3 and has_numbers)))
