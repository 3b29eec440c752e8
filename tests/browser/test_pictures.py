"""The pictures to play with: data and answers, by pointer, by key and without scripts."""

import base64
import copy
import json
import re
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest
import torch
import torch.nn.functional as F
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from book._ext.pictures import BY_ARROWS, CAPTIONS, PICTURES, SHOWN
from experiments import pictures
from gtcourse import DenseLoader, load_dataset
from gtcourse.course import blindness, explorer
from gtcourse.course.exercises.chapter10 import SPECIAL_CASES
from gtcourse.course.records import measurement
from gtcourse.models import Transformer, TransformerConfig, causal_mask
from gtcourse.models.attention import scaled_dot_product_attention
from gtcourse.predict import load
from tests.browser.visit import AT_ONCE, COME_NEAR, FRAMES, SMALL
from tools import chromium
from tools.chromium import PHONE
from tools.paths import HTML, ROOT, TEXTS

CODE = ROOT / "book/_static/pictures"
PAGES = {name: page for name, (page, _) in PICTURES.items()}


def stored(name):
    return json.loads((CODE / f"{name}.json").read_text(encoding="utf-8"))


def numbers(data):
    """Every number in nested data, in order."""
    if isinstance(data, dict):
        data = [*data.values()]
    if isinstance(data, list):
        return [x for part in data for x in numbers(part)]
    return [data] if isinstance(data, int | float) else []


def test_chapter_10_prints_the_numbers_of_the_pair():
    stated = {}
    for line in (TEXTS / "10_one_framework.md").read_text(encoding="utf-8").splitlines():
        what, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4:
            stated[what] = cells
    data = stored("pair")
    i, j, n = 4, 9, len(data["molecule"]["symbols"])
    for at, model in enumerate(data["models"]):
        maps = {}
        for name, part in (*model["terms"], *((k, model.get(k)) for k in ("weight", "gate"))):
            if part is not None:
                numbers = np.frombuffer(base64.b64decode(part["data"]), dtype="<i2")
                maps[name] = numbers.reshape(-1, n, n) * part["scale"]
        weight = maps.pop("weight")
        head = int(weight[:, i, j].argmax())
        gate = f"{maps.pop('gate')[head, i, j]:.2f}" if "gate" in maps else ""
        product, *pair = [x[head * len(x) // len(weight), i, j] for x in maps.values()]
        expected = {
            "query · key": f"{product:.2f}",
            "term of the pair": f"{sum(pair):.2f}",
            "logit": f"{product + sum(pair):.2f}",
            "gate": gate,
            "weight (EGT: gated)": f"{weight[head, i, j]:.2f}",
            "mean over heads or channels": f"{weight[:, i, j].mean():.2f}",
        }
        for what, text in expected.items():
            assert stated[what][at] == text.replace("-", "−"), (model["name"], what)
        logits = sum(x[head * len(x) // len(weight), i] for x in maps.values())
        as_high = (logits > logits[j] - 0.01).sum() - 1  # the stored numbers are rounded
        others = {"EGT": 6, "GRPE": 2, "CSA": 1}  # as the text below the table states
        assert as_high == others.get(model["name"], as_high)


def test_the_metros_numbers_equal_the_general_form():
    new = pictures.metro()
    old = stored("metro")
    assert new["atoms"] == old["atoms"]
    assert numbers(new["legs"]) == pytest.approx(numbers(old["legs"]), rel=0.1, abs=1e-13)
    for leg in old["legs"].values():
        assert leg["gaps"][0] > 0.1
        assert leg["gaps"][-1] < 1e-10


def test_every_step_of_the_metro_is_a_tested_special_case():
    code = (CODE / "metro.js").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in re.findall(r"^    [A-Z]+: (\[\[.*\]\]),$", code, re.M)]
    tested = {(case.general, case.special) for case in SPECIAL_CASES}
    assert {line[0][0] for line in lines} == {"CSA", "GRPE", "EGT"}
    for line in lines:
        assert {*pairwise(station for station, *_ in line)} <= tested


def test_the_stored_pair_weights_equal_the_shipped_models():
    new = pictures.pair()
    assert new["molecule"] == stored("pair")["molecule"]
    for here, there in zip(new["models"], stored("pair")["models"], strict=True):
        assert here["weight"]["scale"] == pytest.approx(there["weight"]["scale"], rel=1e-4)
        assert [words for words, _ in here["terms"]] == [words for words, _ in there["terms"]]


def test_the_bets_numbers_equal_those_of_chapter_11():
    data = stored("bet")
    assert data["cuts"] == 150
    assert all(len(each["atoms"]) == len(each["worth"]) > 1 for each in data["molecules"])
    right = {}
    for name in ("attended", "gradient", "edit", "table"):
        chosen = [
            max(zip(map(abs, each[name]), each["worth"], strict=True)) for each in data["molecules"]
        ]
        best = [max(map(abs, each["worth"])) for each in data["molecules"]]
        right[name] = sum(
            abs(worth) > most - 1e-6 for (_, worth), most in zip(chosen, best, strict=True)
        )
    # What the page says where scripts do not run.
    assert right == {"attended": 18, "gradient": 15, "edit": 19, "table": 23}


LAYERS = {
    "mean": blindness.VIEWS["GAT"],
    "once": replace(blindness.VIEWS["1-WL"], rounds=1),
    "sum": blindness.VIEWS["1-WL"],
    "distances": blindness.VIEWS["distances"],
    "walks": blindness.VIEWS["bag of return walks, 8 steps"],
}


def test_verdicts_on_small_graphs_equal_the_views_of_chapter_10(page):
    """All connected graphs of up to 5 nodes, and the pairs that the picture starts from."""
    data = stored("fool")
    assert data == json.loads(pictures.text(pictures.fool()))
    graphs = [
        {"n": len(graph.atoms), "edges": np.argwhere(np.triu(graph.adjacency)).tolist()}
        for graph in blindness.connected_graphs(5)
    ]
    graphs += [graph for pair in (data["start"], *data["pairs"].values()) for graph in pair]
    own = []
    for graph in graphs:
        adjacency = np.zeros((graph["n"], graph["n"]))
        for i, j in graph["edges"]:
            adjacency[i, j] = adjacency[j, i] = 1
        own.append(blindness.unlabelled(adjacency))
    code = (CODE / "fool.js").read_text("utf-8").strip()
    page.set_content(f"<script>var gtcourse = {{}};{code}({json.dumps(data)});</script>")
    for name, view in LAYERS.items():
        run = "([graphs, layer]) => gtcourse.pictures.fool(graphs, layer).whole"
        found = page.evaluate(run, [graphs, name])
        classes = view.classes(own).tolist()
        assert len(set(found)) == len(set(classes)) == len(set(zip(found, classes, strict=True)))


def test_egt_in_the_page_equals_the_trained_model(page):
    layers = explorer.script("explainer/layers")
    code = (CODE / "tour.js").read_text("utf-8").strip()
    page.set_content(f"<script>{layers}{code}({(CODE / 'tour.json').read_text('utf-8')});</script>")
    example = stored("tour")["example"]
    found = page.evaluate(
        """([places]) => [...gtcourse.pictures.tour(places, new Set()).yes]""", [example["places"]]
    )
    shortest = page.evaluate(
        "([places]) => gtcourse.pictures.shortest(places)", [example["places"]]
    )
    n = len(example["places"])
    yes = torch.tensor(example["yes"])  # a half where there is no edge
    found = torch.tensor(found).reshape(n, n)
    edges = found > 0
    torch.testing.assert_close(found[edges], yes[edges], atol=2e-3, rtol=0)
    assert {frozenset(e) for e in shortest} == {frozenset(e) for e in example["tour"]}


@pytest.fixture(scope="module")
def computed(browser):
    """What a picture's script computes, for an expression of ``gtcourse.pictures``.

    Its functions keep nothing, so that one page serves all tests of a picture.
    """
    page = browser.new_page()
    shared = "".join(explorer.script(f"explainer/{part}") for part in ("layers", "colors"))
    shown = None

    def run(name, expression, argument=None):
        nonlocal shown
        if name != shown:
            code = (CODE / f"{name}.js").read_text("utf-8").strip()
            page.goto("about:blank")  # without what another picture has defined
            page.set_content(f"<script>{shared}{code}({json.dumps(stored(name))});</script>")
            shown = name
        return page.evaluate(expression, argument)

    yield run
    page.close()


@pytest.mark.parametrize(
    "name", ["score", "stack", "transformer", "ink", "basis", "dial", "padding"]
)
def test_stored_picture_data_equal_computed_data(name):
    assert json.loads(pictures.text(pictures.DATA[name]())) == stored(name)


def test_the_predictions_and_filters_without_rings_are_those_of_the_shipped_csa():
    found, expected = stored("forget"), pictures.forget()
    assert (found["channels"], found["axis"]) == (expected["channels"], expected["axis"])
    for here, there in zip(found["molecules"], expected["molecules"], strict=True):
        assert (here["name"], here["atom"]) == (there["name"], there["atom"])
        for name in ("value", "places", "symbols", "edge", "channel"):
            assert here[name] == there[name], name
        for state in ("with", "without"):
            prediction = there[state]["prediction"]
            assert here[state]["prediction"] == pytest.approx(prediction, abs=0.002)
            filters = [
                np.frombuffer(base64.b64decode(each[state]["filters"]), dtype=np.uint8).astype(int)
                for each in (here, there)
            ]
            assert np.abs(filters[0] - filters[1]).max() <= 1
            n = len(here["symbols"])
            sums = filters[0].reshape(found["channels"], n, n).sum(axis=-1)
            assert np.abs(sums - 255).max() <= n / 2
    assert [each["name"] for each in found["molecules"]] == [*pictures.RINGED]


def test_the_outputs_of_phi_are_those_of_the_shipped_signnet_for_an_eigenvector_and_its_negative():
    found = stored("flip")
    signnet = load("signnet-100k/molecules").model.eval().input.encoding
    assert found["channels"] == signnet.config.phi_out
    assert [each["name"] for each in found["molecules"]] == [*pictures.FLIPPED]
    for molecule in found["molecules"]:
        n = len(molecule["symbols"])
        adjacency = np.array(molecule["edge"]).reshape(n, n) >= 0
        np.fill_diagonal(adjacency, False)
        laplacian = np.diag(adjacency.sum(axis=0)) - adjacency
        eigenvalues, vectors = np.linalg.eigh(laplacian)
        columns = min(8, n - 1)
        assert np.diff(eigenvalues)[: columns + 1].min() > 0.01, "only the signs are free"
        of_each = vectors.T[1 : columns + 1]  # [k, n]
        u = np.array(molecule["u"]) / 100
        of_each = of_each * np.sign((of_each * u).sum(axis=1, keepdims=True))
        assert np.abs(u - of_each).max() <= 0.0051
        exact = torch.tensor(of_each.T, dtype=torch.float32)[None]  # [1, n, k]
        everywhere = torch.ones(1, n, columns, dtype=torch.bool)
        edges = torch.tensor(adjacency)[None]
        with torch.no_grad():
            for name, signed in (("plus", exact), ("minus", -exact)):
                outputs = signnet.phi(signed, everywhere, edges)[0].permute(1, 2, 0)
                assert np.abs(np.array(molecule[name]) / 100 - outputs.numpy()).max() < 0.006
            padded = F.pad(exact, (0, 8 - columns))
            sums = signnet.even(padded, edges, everywhere[..., 0])[0, :, :columns]
        shown = np.array(molecule["plus"]) + np.array(molecule["minus"])
        assert np.abs(shown / 100 - sums.permute(1, 2, 0).numpy()).max() < 0.011
        changed = np.array(molecule["plus"]) != np.array(molecule["minus"])
        assert changed.any(axis=(1, 2)).all(), "each flip can be seen"


def test_weights_of_moved_scores_equal_scaled_dot_product_attention(computed):
    values, scores = torch.tensor([9.0, 1, 6, 3]), torch.tensor([2.5, -4, 0, 8])
    found = computed(
        "score",
        """([scores, values]) => {
          const { weights, z } = gtcourse.pictures.score(scores, values);
          return [[...weights], z];
        }""",
        [scores.tolist(), values.tolist()],
    )
    z, weights = scaled_dot_product_attention(
        scores[None], torch.eye(4), values[:, None], return_attention=True
    )
    assert found[0] == pytest.approx(weights[0].tolist(), abs=1e-6)
    assert found[1] == pytest.approx(z.item(), abs=1e-5)


@pytest.mark.parametrize("place", [0, 1, 6])
def test_weights_of_a_turned_dial_equal_the_softmax_of_its_logits(computed, place):
    data = stored("dial")
    for signs in data["samples"]:
        weights, z = computed(
            "dial",
            """([place, signs]) => {
              const { weights, z } = gtcourse.pictures.dial(place, signs);
              return [[...weights], z];
            }""",
            [place, signs],
        )
        logits = torch.zeros(len(signs), dtype=torch.float64)
        if place > 0:
            logits[place - 1] = data["strength"]
        expected = logits.softmax(dim=0)
        assert weights == pytest.approx(expected.tolist(), abs=1e-6)
        assert z == pytest.approx(float(expected @ torch.tensor(signs).double()), abs=1e-6)


@pytest.mark.parametrize("layers", [0, 1, 3, 16])
def test_ink_spreads_as_powers_of_the_heads_averaging_matrices(computed, layers):
    for graph in stored("ink")["graphs"]:
        n = len(graph["places"])
        near = torch.eye(n, dtype=torch.float64)
        for i, j in graph["edges"]:
            near[i, j] = near[j, i] = 1
        near = near / near.sum(dim=1, keepdim=True)
        far = torch.full_like(near, 1 / n)
        found = computed(
            "ink", "([graph, layers]) => gtcourse.pictures.ink(graph, 2, layers)", [graph, layers]
        )
        for head, mean in (("near", near), ("far", far), ("both", (near + far) / 2)):
            assert found[head] == pytest.approx(mean.matrix_power(layers)[:, 2].tolist(), abs=1e-12)


@pytest.mark.parametrize("kind", ["plain", "residual", "post", "pre"])
@pytest.mark.parametrize("alone", [False, True])
def test_the_pages_stack_equals_pytorchs(computed, kind, alone):
    size = stored("stack")
    T, d, H = size["tokens"], size["width"], size["heads"]
    found = computed(
        "stack",
        """([kind, alone]) => {
          const { weights, after } = gtcourse.pictures.stack({ seed: 3, factor: 2, alone }, kind);
          const plain = ({ weight, bias }) => [[...weight.data], [...bias.data]];
          return { after: after.map((h) => [...h]), layers: weights.layers.map((layer) =>
            Object.fromEntries(Object.entries(layer).map(([name, map]) => [name, plain(map)]))) };
        }""",
        [kind, alone],
    )
    mask = torch.eye(T, dtype=torch.bool) if alone else None

    def norm(h):
        return F.layer_norm(h, (d,))

    def step(h, sublayer):
        if kind == "plain":
            return sublayer(h)
        if kind == "pre":
            return h + sublayer(norm(h))
        return norm(h + sublayer(h)) if kind == "post" else h + sublayer(h)

    h = torch.tensor(found["after"][0], dtype=torch.float64).reshape(T, d)
    for layer, expected in zip(found["layers"], found["after"][1:], strict=True):
        maps = {
            name: [torch.tensor(part, dtype=torch.float64) for part in parts]
            for name, parts in layer.items()
        }

        def apply(name, h, maps=maps):
            weight, bias = maps[name]
            return F.linear(h, weight.reshape(len(bias), -1), bias)

        def heads(x):
            return x.reshape(T, H, d // H).transpose(0, 1)

        def attention(h, apply=apply):
            parts = [heads(apply(name, h)) for name in ("query", "key", "value")]
            mixed = F.scaled_dot_product_attention(*parts, attn_mask=mask)
            return apply("output", mixed.transpose(0, 1).reshape(T, d))

        def network(h, apply=apply):
            return apply("outer", apply("inner", h).relu())

        h = step(step(h, attention), network)
        assert h.flatten().tolist() == pytest.approx(expected, rel=1e-7, abs=1e-9)


def test_the_shapes_in_the_transformer_picture_equal_the_packages(computed):
    size = stored("transformer")
    stages = computed("transformer", "() => gtcourse.pictures.transformer()")
    shown = [[size[axis] for axis in stage["shape"]] for stage in stages]
    model = Transformer(
        TransformerConfig(
            source_vocabulary=size["words"],
            target_vocabulary=size["words"],
            d_model=size["d"],
            num_heads=size["H"],
            d_hidden=size["hidden"],
            num_encoder_layers=size["layers"][0],
            num_decoder_layers=size["layers"][1],
        )
    ).eval()
    source = torch.randint(size["words"], (size["B"], size["N"]))
    target = torch.randint(size["words"], (size["B"], size["M"]))
    x = model.source_embedding(source)
    y = model.target_embedding(target)
    memory = model.encoder(x)
    encoder, decoder = model.encoder.layers[0], model.decoder.layers[0]
    causal = causal_mask(size["M"])
    computed_here = [
        source,
        x,
        encoder.attention(x, return_attention=True)[1],
        encoder.feed_forward[0](x),
        memory,
        target,
        y,
        decoder.attention(y, mask=causal, return_attention=True)[1],
        decoder.cross_attention(y, memory, return_attention=True)[1],
        decoder.feed_forward[0](y),
        model(source, target),
    ]
    assert shown == [[*tensor.shape] for tensor in computed_here]


@pytest.mark.parametrize("degrees", [0, 35, 200])
@pytest.mark.parametrize("flipped", [False, True])
def test_every_turned_basis_consists_of_eigenvectors_of_the_ring(computed, degrees, flipped):
    n = stored("basis")["nodes"]
    turned = "([n, degrees, flipped]) => gtcourse.pictures.basis(n, degrees, flipped)"
    found = computed("basis", turned, [n, degrees, flipped])
    vectors = np.array([found["u2"], found["u3"]]).T
    laplacian = nx.laplacian_matrix(nx.cycle_graph(n)).toarray()
    values, ours = np.linalg.eigh(laplacian)
    assert values[1:3] == pytest.approx([found["eigenvalue"]] * 2)
    assert laplacian @ vectors == pytest.approx(found["eigenvalue"] * vectors)
    assert vectors.T @ vectors == pytest.approx(np.eye(2))
    assert vectors @ vectors.T == pytest.approx(ours[:, 1:3] @ ours[:, 1:3].T)


ARTICLE = re.compile(r'(?<=<article class="bd-article">).*(?=</article>)', re.S)
PAGES_OF_THE_BOOK = re.compile(r'<nav class="bd-links bd-docs-nav".*?</nav>', re.S)
KEPT = r'<div id="{}" class="picture" data-script="[^"]*">.*?</div>|</?section.*?>|<h\d.*?</h\d>'


@pytest.fixture(scope="module")
def molecules():
    """Those of section 12.3."""
    return load_dataset("molecules").train[:4000]


@pytest.mark.parametrize(("batch_size", "buckets"), [(64, 1), (64, 16), (8, 1), (4, 62), (256, 32)])
def test_the_batches_of_an_epoch_in_the_page_are_those_of_the_loader(
    computed, molecules, batch_size, buckets
):
    loader = DenseLoader(molecules, batch_size, shuffle=True, seed=0, buckets=buckets)
    for epoch in (0, 3):
        found = computed(
            "padding",
            "([given, ...how]) => gtcourse.pictures.padding(given, ...how)",
            [stored("padding")["sizes"], batch_size, buckets, epoch],
        )
        # The loader gives them in another order.
        assert sorted(found) == sorted(rows.tolist() for rows in loader.graphs_of_batches(epoch))


@pytest.fixture(scope="module")
def alone(book, tmp_path_factory):
    """The address of each picture, in a chapter of nothing but headings: the layout of the text
    takes a second. The list of the book's pages is left out as well."""
    folder = tmp_path_factory.mktemp("pictures")
    (folder / "_static").symlink_to(HTML / "_static")
    for name, page in PAGES.items():
        chapter = (HTML / f"{page}.html").read_text(encoding="utf-8")
        chapter, removed = PAGES_OF_THE_BOOK.subn("", chapter)
        assert removed == 1
        kept = re.compile(KEPT.format(name), re.S)
        (folder / name).mkdir()
        (folder / name / "index.html").write_text(
            ARTICLE.sub(lambda at, kept=kept: "".join(kept.findall(at[0])), chapter),
            encoding="utf-8",
        )
    with chromium.served(folder) as address:
        yield {name: f"{address}/{name}/index.html" for name in PAGES}


@pytest.fixture(scope="module")
def without_scripts(browser):
    page = browser.new_page(java_script_enabled=False)
    yield page
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_without_scripts_a_picture_shows_a_small_image_and_a_sentence(
    without_scripts, alone, book, name
):
    page = without_scripts
    page.goto(alone[name])
    assert page.locator(f"#{name} p").first.inner_text().startswith("With scripts")
    assert page.locator(f"#{name} img").evaluate("image => image.naturalWidth") > 300
    files = (f"pictures/{name}.data.js", f"stills/{name}.webp")
    assert sum(len(page.request.get(f"{book}/_static/{file}").body()) for file in files) < 150_000


@pytest.mark.parametrize("where", sorted(set(PAGES.values())))
def test_pictures_are_numbered_in_order_and_the_text_of_their_section_links_to_them(book, where):
    page = BeautifulSoup((HTML / f"{where}.html").read_text(encoding="utf-8"), "html.parser")
    figures = page.select("figure.interactive")
    chapter = int(re.search(r"\d\d", where)[0])
    expected = {name for name in PAGES if PAGES[name] == where}
    shown = {figure.find("div").get("id") for figure in figures} - {"twins", None}
    assert shown == expected
    for count, figure in enumerate(figures, start=1):
        assert figure["id"] == f"interactive-{chapter}-{count}"
        name = figure.find("div").get("id")
        caption = figure.find("figcaption", recursive=False).get_text()
        if name is None:  # a widget that a cell shows
            assert figure.select("[data-attention], [data-calculator], [data-heads], [data-signs]")
            assert caption.strip().startswith(f"Interactive {chapter}.{count}. ")
            continue
        assert caption.strip().startswith(f"Interactive {chapter}.{count}. {CAPTIONS[name]}")
        links = figure.find_parent("section").select(f'p a[href="#{name}"]')
        assert [link.get_text() for link in links] in (
            ["picture below"],
            ["picture at the end of this section"],
        )


@pytest.fixture
def opened(page, errors):
    """Opens a page, and returns its picture."""

    def shown(address, name):
        page.goto(address, wait_until="domcontentloaded")
        host = page.locator(f"#{name}")
        host.evaluate(COME_NEAR)
        host.locator("[role=status]").wait_for()
        page.evaluate(FRAMES)  # until it has been drawn in its width
        return host

    return shown


@pytest.fixture
def picture(opened, alone):
    """Opens a picture in a page of its own."""
    return lambda name: opened(alone[name], name)


NARROW = {"width": PHONE["width"], "height": 900}
WIDE = {"width": 1440, "height": 900}
# Of each part with words: what it is, the size of its letters and its width.
SIZES = """host => [...host.querySelectorAll("*")]
  .filter((part) => part.textContent.trim() && part.getClientRects().length)
  .map((part) => [part.tagName, getComputedStyle(part).fontSize,
    Math.round(part.getBoundingClientRect().width)].join(" "))"""
ONE_OF_EACH_CHAPTER = [*{page: name for name, page in PAGES.items()}.values()]
OF_WEIGHTS = "(_, weights) => weights.map(gtcourse.colors.ofWeight)"  # [r, g, b] of each


def test_a_picture_that_cannot_be_loaded_shows_its_still_until_the_reader_comes_again(page, alone):
    page.route("**/bias.data.js", lambda route: route.abort())
    page.goto(alone["bias"])
    host = page.locator("#bias")
    host.evaluate(COME_NEAR)
    said = host.get_by_text("What you can play with here could not be loaded.")
    said.wait_for()
    still = host.locator("img")
    expect(still).to_be_visible()
    page.wait_for_function("() => document.querySelector('#bias img').naturalWidth > 300")
    assert not host.get_by_text("With scripts enabled").is_visible()
    assert host.get_by_text(SHOWN["bias"][:40]).is_visible()
    page.unroute("**/bias.data.js")
    host.evaluate("place => { place.style.marginTop = '9999px'; scrollTo(0, 0); }")
    page.evaluate(FRAMES)
    assert said.count() == 1
    host.evaluate(COME_NEAR)
    host.locator("[role=status]").wait_for()
    assert said.count() == still.count() == 0


def test_a_widget_that_cannot_be_loaded_keeps_its_table_and_says_so(page, book):
    page.route("**/widgets/*.js", lambda route: route.abort())
    page.goto(f"{book}/notebooks/01_self_attention.html", wait_until="domcontentloaded")
    host = page.locator("[data-attention]").first
    host.evaluate(COME_NEAR)
    host.get_by_text("could not be loaded").wait_for()
    assert host.locator("table").is_visible()


def test_a_picture_that_is_not_loaded_yet_is_printed_as_its_still(page, alone):
    page.route("**/bias.data.js", lambda route: None)  # which is never answered
    page.goto(alone["bias"], wait_until="domcontentloaded")
    still = page.locator("#bias .still")
    assert not still.is_visible()
    assert still.locator("img").evaluate("image => image.naturalWidth") == 0
    room = page.locator("#bias").bounding_box()["height"]
    page.emulate_media(media="null")  # else pdf() prints it as on a screen
    page.pdf()  # fetches the image, for which Chromium waits 2 seconds at most
    page.wait_for_function("() => document.querySelector('#bias .still img').naturalWidth > 300")
    printed = page.pdf().count(b"/Subtype /Image")
    page.emulate_media(media="print")
    expect(still).to_be_visible()
    assert not still.get_by_text("With scripts enabled").is_visible()
    assert still.get_by_text(SHOWN["bias"][:40]).is_visible()
    assert page.locator("#bias").bounding_box()["height"] < room  # no more than the still needs
    still.evaluate("still => still.remove()")
    assert page.pdf().count(b"/Subtype /Image") == printed - 1


@pytest.mark.parametrize("name", ["bias", "metro"])
def test_a_link_to_a_picture_that_is_not_loaded_yet_leads_to_it(page, book, name):
    page.goto(f"{book}/{PAGES[name]}.html", wait_until="domcontentloaded")
    host = page.locator(f"#{name}")
    assert host.locator("[role=status]").count() == 0
    page.locator(f'p a[href="#{name}"]').evaluate("link => link.click()")
    host.locator("[role=status]").wait_for()
    page.evaluate(FRAMES)
    bar = page.locator(".bd-header-article").bounding_box()["height"]
    assert 0 <= host.bounding_box()["y"] < bar + 100


@pytest.mark.parametrize("name", ["bias", "forget", "ink", "metro"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_scale_of_weights_names_the_weight_in_the_middle_of_its_colours(
    picture, page, name, scheme
):
    page.emulate_media(color_scheme=scheme)
    host = picture(name)
    scale = host.locator(".scale").first
    assert scale.inner_text().split()[-3:] == ["0", "0.25", "1"]
    middle = host.evaluate(OF_WEIGHTS, [0.25])[0]
    stops = scale.locator("i").first.evaluate("half => half.style.background").split("rgb(")[1:]
    assert stops[len(stops) // 2].startswith(", ".join(map(str, middle)) + ")")


@pytest.mark.parametrize("name", PAGES)
def test_no_label_of_a_picture_is_smaller_than_11_pixels(picture, page, name):
    """Drawn on a phone, and again in a window that has become wide."""
    page.set_viewport_size(NARROW)
    host = picture(name)
    assert host.evaluate(SMALL) == []
    page.add_style_tag(content=AT_ONCE)
    page.set_viewport_size(WIDE)
    page.evaluate(FRAMES)
    assert host.evaluate(SMALL) == []


@pytest.mark.parametrize("name", ONE_OF_EACH_CHAPTER)
def test_a_picture_has_the_sizes_in_a_page_of_its_own_that_it_has_in_its_chapter(
    opened, page, book, alone, name
):
    """Which other tests rely on, in a window that has become wide as in one that was wide."""

    def sizes(address) -> list[list[str]]:
        """In a narrow window, and when that has become wide."""
        page.goto("about:blank")
        page.set_viewport_size(NARROW)
        host = opened(address, name)
        narrow = host.evaluate(SIZES)
        page.add_style_tag(content=AT_ONCE)
        page.set_viewport_size(WIDE)
        page.evaluate(FRAMES)
        return [narrow, host.evaluate(SIZES)]

    in_chapter = sizes(f"{book}/{PAGES[name]}.html")
    assert sizes(alone[name]) == in_chapter
    page.goto("about:blank")  # in the wide window
    assert opened(alone[name], name).evaluate(SIZES) == in_chapter[1]
    assert min(map(len, in_chapter)) > (50 if name == "pair" else 10)
    assert in_chapter[0] != in_chapter[1]


def test_scores_move_by_keyboard_and_swapped_values_change_only_attended_outputs(picture):
    host = picture("score")
    said = host.locator("[role=status]")
    weights = host.locator(".weight")
    before = float(weights.first.inner_text())
    host.locator("[data-score='1']").press("End")
    assert float(weights.first.inner_text()) < before
    assert sum(map(float, weights.all_inner_texts())) == pytest.approx(1, abs=0.003)
    swap = host.get_by_role("button", name="swap the numbers")
    for ask, moves in (("ask for nothing", False), ("ask for green", True)):
        host.get_by_role("button", name=ask).click()
        z = said.locator("b").first.inner_text()
        swap.click()
        assert (said.locator("b").first.inner_text() != z) == moves


def test_a_query_context_follows_the_dial_and_a_bias_does_not(picture):
    host = picture("dial")
    data = stored("dial")
    signs = data["samples"][0]
    said = host.locator("[role=status]")

    def largest(head: str) -> int:
        cells = host.locator(f"[data-row={head}] td").all_inner_texts()[: len(signs)]
        return 1 + max(range(len(signs)), key=lambda j: float(cells[j]))

    for dial in (3, 4, 5):
        assert (largest("bias"), largest("context")) == (data["start"], dial)
        answer = "+" if signs[dial - 1] > 0 else "−"
        assert f"set to {dial}, so the answer is {answer}." in said.inner_text()
        assert host.locator("[data-row=context] td").last.inner_text() == f"{answer} ✓"
        host.locator("[data-slider=dial]").press("ArrowRight")
    count = signs.count(signs[data["start"] - 1])
    assert f"the bias is right {count} times, and the query context is right 8 times" in (
        said.inner_text()
    )
    host.locator("[data-slider=preferred]").press("Home")
    assert "the query context is right 8 times" in said.inner_text()
    cells = host.locator("[data-row=bias] td").all_inner_texts()
    assert set(cells[: len(signs)]) == {"0.13"}
    host.get_by_role("button", name="other signs").click()
    shown = host.locator("[data-row=signs] td").all_inner_texts()[: len(signs)]
    assert shown == ["+" if sign > 0 else "−" for sign in data["samples"][1]]


def test_a_model_without_rings_shows_its_own_prediction_and_filters(picture):
    host = picture("forget")
    molecules = stored("forget")["molecules"]
    said = host.locator("[role=status]")

    def minus(value: float) -> str:
        return f"{value:.2f}".replace("-", "−")

    for which, molecule in enumerate(molecules):
        host.locator(f"[data-molecule='{which}']").click()
        colors = []
        for state in ("with", "without"):
            host.locator(f"[data-state={state}]").click()
            prediction = minus(molecule[state]["prediction"])
            assert f"for {molecule['name']} is {prediction}." in said.inner_text()
            assert f"{state} the feature {prediction}" in host.locator(".now").text_content()
            discs = host.locator(".disc").all()
            colors.append([disc.get_attribute("fill") for disc in discs])
        assert colors[0] != colors[1]
        n = len(molecule["symbols"])
        rows = [
            np.frombuffer(base64.b64decode(molecule[state]["filters"]), dtype=np.uint8)
            .reshape(-1, n, n)[molecule["channel"] - 1, molecule["atom"]]
            .tolist()
            for state in ("with", "without")
        ]
        expected = [host.evaluate(OF_WEIGHTS, [share / 255 for share in row]) for row in rows]
        assert colors == [[f"rgb({r},{g},{b})" for r, g, b in row] for row in expected]
    atom = host.locator(".atom[aria-pressed=true]")
    before = atom.get_attribute("data-atom")
    atom.press("ArrowRight")
    assert host.locator(".atom[aria-pressed=true]").get_attribute("data-atom") != before
    host.locator("[data-channel]").press("Home")
    assert host.locator(".ride output").inner_text() == "1"


def test_a_flip_swaps_the_outputs_of_phi_and_leaves_their_sum(picture):
    host = picture("flip")
    parts = ("u", "plus", "minus", "sum")

    def shown() -> dict:
        found = {}
        for part in parts:
            figure = host.locator(f"[data-part={part}]")
            colors = [disc.get_attribute("fill") for disc in figure.locator(".disc").all()]
            number = float(figure.locator(".value").inner_text().split()[1].replace("−", "-"))
            found[part] = (colors, number, figure.locator(".change").inner_text())
        return found

    flip = host.locator("[data-flip]")
    chosen = host.locator("[data-part=u] .atom[aria-pressed=true]")
    for which, molecule in enumerate(stored("flip")["molecules"]):
        host.locator(f"[data-molecule='{which}']").click()
        for column in (0, len(molecule["u"]) - 1):
            host.locator(f"[data-column='{column}']").click()
            assert flip.inner_text() == f"flip the sign of u{chr(0x2082 + column)}"
            before = shown()
            assert {change for *_, change in before.values()} == {""}
            flip.press("Enter")
            after = shown()
            assert after["plus"][:2] == before["minus"][:2] != before["plus"][:2]
            assert after["minus"][:2] == before["plus"][:2]
            assert after["sum"][:2] == before["sum"][:2]
            assert after["u"][0] != before["u"][0]
            assert after["u"][1] == -before["u"][1]
            assert [after[part][2] for part in parts] == [*["changed"] * 3, "unchanged"]
            assert after["plus"][1] + after["minus"][1] == pytest.approx(after["sum"][1])
            atom = int(chosen.get_attribute("data-atom"))
            assert before["plus"][1] == molecule["plus"][column][1][atom] / 100  # in channel 2
            flip.press("Enter")
            assert shown() == before
    at = int(chosen.get_attribute("data-atom"))
    chosen.press("ArrowRight")
    now = (at + 1) % len(molecule["symbols"])
    assert shown()["u"][1] == molecule["u"][-1][now] / 100
    host.locator("[data-channel]").press("End")
    assert shown()["minus"][1] == molecule["minus"][-1][-1][now] / 100


def test_ink_reaches_one_more_hop_with_each_layer(picture):
    host = picture("ink")
    layers = host.locator("input")
    near = host.locator("[data-head=near] figcaption")
    layers.press("Home")
    for layer in range(8):  # from one end of a path of eight nodes
        assert f"reaches {layer + 1} of 8" in near.inner_text()
        layers.press("ArrowRight")
    assert "all nodes alike" in host.locator("[data-head=far] figcaption").inner_text()
    host.get_by_role("button", name="barbell").click()
    for _ in range(5):
        layers.press("ArrowLeft")
    assert "0.0056" in host.locator("[role=status]").inner_text()  # 1/180, as in section 3.6
    node = host.locator("[data-head=near] .goal[tabindex='0']")
    node.press("ArrowLeft")
    assert "comes from node 8" in host.locator("[role=status]").inner_text()
    layers.press("End")  # where all shares are 0.098
    assert "every node now has nearly the same share" in host.locator("[role=status]").inner_text()
    assert host.evaluate(NAMES_ON_NODES) == []


NAMES_ON_NODES = """host => {
  const click = (part) => part.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  const found = [];
  for (const graph of host.querySelectorAll("[data-graph]")) {
    click(graph);
    const svg = host.querySelector("[data-head=near] svg");
    const [, top, , height] = svg.getAttribute("viewBox").split(" ").map(Number);
    const spots = [...svg.querySelectorAll(".spot")].map((spot) => spot.getBBox());
    for (let node = 0; node < spots.length; node++) {
      click(svg.querySelector(`[data-node="${node}"]`));
      for (const name of svg.querySelectorAll(".called:not(:empty)")) {
        const { x, width } = name.getBBox();
        const row = Number(name.getAttribute("y"));
        const [high, low] = [row - 10, row + 1];  // of its letters
        const isOn = (spot) => spot.x + spot.width > x && spot.x < x + width &&
          spot.y + spot.height > high && spot.y < low;
        if (spots.some(isOn) || high < top || low > top + height)
          found.push(`${graph.textContent} ${node}: ${name.textContent}`);
      }
    }
  }
  return found;
}"""
"""Names of nodes that lie on a node or leave the drawing, whichever node the ink is dropped on."""


def test_tokens_become_nearly_equal_only_without_residuals(picture):
    host = picture("stack")
    said = host.locator("[role=status]")
    assert host.locator(".later canvas").count() == 4 * 9  # to be guessed
    host.locator("input").press("End")
    assert host.locator(".later canvas").count() == 0
    assert "nearly the same vector" in said.inner_text()
    lengths = [host.locator(f"[data-length={kind}]").inner_text() for kind in ("post", "pre")]
    assert lengths[0] == "4.00" != lengths[1]
    for name in ("residuals", "residuals, post-LN", "residuals, pre-LN"):
        host.get_by_role("button", name=name, exact=True).press("Enter")
        assert "nearly the same vector" not in said.inner_text()
    host.get_by_role("button", name="start again").press("Enter")
    assert "after block 3" in said.inner_text()
    first = host.locator("canvas").nth(3).evaluate("canvas => canvas.toDataURL()")
    host.get_by_role("button", name="new weights").press("Enter")
    assert host.locator("canvas").nth(3).evaluate("canvas => canvas.toDataURL()") != first


@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 800}])
def test_the_first_blocks_of_all_stacks_are_on_the_first_screen(picture, page, size):
    page.set_viewport_size(size)
    host = picture("stack")
    host.evaluate("host => host.scrollIntoView()")
    last = host.locator(".strips:not(.head)").last
    box = last.bounding_box()
    assert box["y"] > 0
    assert box["y"] + box["height"] <= size["height"]
    assert last.locator("span:not(.later) canvas").count() == 4  # the input and three blocks
    buttons = host.get_by_role("button", name="weights twice as large").bounding_box()
    assert buttons["y"] > box["y"] + box["height"]


def test_the_transformer_picture_is_navigated_by_keyboard_and_pre_ln_moves_the_norms(picture, page):
    host = picture("transformer")
    said = host.locator("[role=status]")
    slider = host.locator("input")
    slider.press("End")
    assert "[2, 5, 10]" in said.inner_text()
    host.locator(".part.now").press("ArrowLeft")
    assert page.evaluate("() => document.activeElement.ariaLabel") == "feed-forward"
    assert slider.input_value() == "9"
    on_stream = """whole => [...whole.querySelectorAll('.norm:not(.key *)')].filter((norm) =>
      [...whole.querySelectorAll('.sum')].some((sum) =>
        Number(norm.getAttribute('x')) + 15 === Number(sum.getAttribute('cx')))).length"""
    whole = host.locator(".whole")
    assert whole.evaluate(on_stream) == 5
    host.get_by_role("button", name="pre-LN").press("Enter")
    assert whole.evaluate(on_stream) == 2  # one after the last block of either side
    assert "reads the norm" in said.inner_text()


@pytest.mark.parametrize("size", [PHONE, {"width": 1280, "height": 800}])
def test_the_slider_and_the_marked_part_are_both_visible(picture, page, size):
    page.set_viewport_size(size)
    host = picture("transformer")
    host.locator(".hold").evaluate("hold => hold.scrollIntoView()")
    slider = host.locator("input")
    slider.press("Home")
    for _ in range(10):
        slider.press("ArrowRight")
        hold = host.locator(".hold").bounding_box()
        part = host.locator(".part.now").bounding_box()
        assert hold["y"] >= 0
        assert hold["y"] + hold["height"] <= part["y"]
        assert part["y"] + part["height"] <= size["height"]


def test_turning_the_basis_changes_the_entries_but_not_the_projector(picture):
    host = picture("basis")
    said = host.locator("[role=status] b")
    before = said.all_text_contents()
    host.locator("input").press("ArrowRight")
    turned = said.all_text_contents()
    host.get_by_role("button", name="flip").press("Enter")
    flipped = said.all_text_contents()
    assert before[2] == turned[2] == flipped[2] == "0.144"
    assert len({tuple(each[:2]) for each in (before, turned, flipped)}) == 3


def test_a_bet_by_keyboard_shows_the_exact_change(picture, page):
    host = picture("bet")
    first = stored("bet")["molecules"][0]
    host.locator(".end").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    said = host.locator("[role=status]").inner_text()
    assert f"{abs(first['worth'][1]):.2f}" in said
    assert "of 1" in host.locator("tbody").inner_text()
    page.keyboard.press("Enter")  # on to the next molecule
    assert "Molecule 2" in host.locator("[role=status]").inner_text()


def test_on_a_phone_a_bet_shifts_nothing_ends_can_be_tapped_and_the_drawing_fits(picture, page):
    """For each molecule. The drawing is as high as the tallest of them."""
    page.set_viewport_size(PHONE)
    host = picture("bet")
    height = host.bounding_box()["height"]
    ends = host.locator(".end")
    widths = "all => all.map((end) => end.getBoundingClientRect().width)"
    gaps_above_and_below = """host => {
      const frame = host.querySelector(".drawing").getBoundingClientRect();
      const discs = [...host.querySelectorAll(".disc")].map((disc) => disc.getBoundingClientRect());
      return [Math.min(...discs.map(({ top }) => top)) - frame.top,
        frame.bottom - Math.max(...discs.map(({ bottom }) => bottom))];
    }"""
    gaps = []
    for molecule in stored("bet")["molecules"]:
        found = ends.evaluate_all(widths)
        assert len(found) == len(molecule["atoms"])
        assert min(found) >= 24
        gaps += host.evaluate(gaps_above_and_below)
        ends.first.press("Enter")
        assert host.bounding_box()["height"] == height
        if host.locator("[data-next]").is_enabled():
            host.locator("[data-next]").click()
    assert host.locator("[data-next]").is_disabled()
    assert 0 <= min(gaps) < 10


def test_on_a_phone_the_bet_says_tap_and_names_only_ends_and_heteroatoms(browser, alone):
    phone = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = phone.new_page()
    page.goto(alone["bet"])
    host = page.locator("#bet")
    host.locator(".end").first.wait_for(state="attached")
    words = host.locator("p").first.inner_text()
    assert words.endswith("Tap an atom.")
    assert "Click" not in words
    molecule = stored("bet")["molecules"][0]
    named = [at for at, name in enumerate(host.locator(".name").all_text_contents()) if name]
    others = [at for at, symbol in enumerate(molecule["symbols"]) if symbol != "C"]
    assert named == sorted({*molecule["atoms"], *others})
    host.locator(".end").first.tap()
    assert "RDKit’s value changes" in host.locator("[role=status]").inner_text()
    phone.close()


def test_a_finger_drags_a_city_and_does_not_scroll_the_page(browser, alone):
    phone = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = phone.new_page()
    page.goto(alone["tour"])
    city = page.locator("#tour .city[data-city='4']")
    city.wait_for(state="attached")
    page.evaluate("document.body.style.paddingBottom = '2000px'")  # so that it could scroll
    city.scroll_into_view_if_needed()

    def middle() -> tuple[float, float]:
        box = city.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    (x, y), before = middle(), page.evaluate("scrollY")
    finger = phone.new_cdp_session(page)

    def touch(kind: str, *places: tuple[float, float]) -> None:
        points = [{"x": left, "y": top} for left, top in places]
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    touch("touchStart", (x, y))
    for step in range(1, 9):
        touch("touchMove", (x + 3 * step, y - 4 * step))
    page.evaluate(FRAMES)
    touch("touchEnd")
    assert middle() == pytest.approx((x + 24, y - 32), abs=1)
    assert page.evaluate("scrollY") == before
    phone.close()


def test_the_metros_weights_and_outputs_become_those_of_the_next_station(picture, page):
    host = picture("metro")
    drawn = """canvas => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const cells = Array.from({ length: data.length / 4 }, (_, cell) => 4 * cell);
        return cells.map((at) => [...data.slice(at, at + 3)]);
    }"""
    weights = numbers(stored("metro")["legs"]["channels"]["weights"][0])
    expected = host.evaluate(OF_WEIGHTS, [weight / 100 for weight in weights])
    assert host.locator("[data-side=here] .weights").evaluate(drawn) == expected
    pixels = "canvas => [...canvas.getContext('2d').getImageData(0, 0, canvas.width, 16).data]"

    def differ(kind):
        here, there = (
            host.locator(f"[data-side={side}] .{kind}").evaluate(pixels)
            for side in ("here", "there")
        )
        return here != there

    assert differ("weights")
    assert differ("outputs")
    said = host.locator("[role=status]")
    train = host.locator("input")
    steps = len(stored("metro")["legs"]["channels"]["weights"]) - 1
    for _ in range(steps):
        train.press("ArrowRight")
    assert "bias + value → bias attention" in said.inner_text()
    assert not differ("weights")  # the value of the pair is added after the softmax
    assert differ("outputs")
    train.press("End")
    assert "bias attention → Transformer" in said.inner_text()
    assert "no output of any atom differs" in said.inner_text()
    assert not differ("weights")
    assert not differ("outputs")
    host.get_by_role("button", name="from EGT").click()
    assert "EGT → EGT-U: the marked term is what the gate g holds back" in said.inner_text()
    host.get_by_role("button", name="from GRPE").click()
    assert "GRPE → bias + value: the marked term is the contexts" in said.inner_text()


def test_the_ends_of_a_pair_move_by_keyboard(picture, page):
    host = picture("pair")
    before = host.locator("[role=status]").inner_text()
    host.locator("[data-end=j]").press("ArrowRight")
    assert host.locator("[role=status]").inner_text() != before
    assert host.locator(".four section").count() == 4


def test_no_arc_of_a_pair_crosses_another_atom(picture):
    host = picture("pair")
    crossed = """host => [...host.querySelectorAll(".arcs path")].flatMap((arc) =>
      [...host.querySelectorAll(".disc")].filter((disc, atom) => ![6, 9].includes(atom) &&
        Array.from({ length: 30 }, (_, k) => arc.getPointAtLength(arc.getTotalLength() * k / 29))
          .some(({ x, y }) => Math.hypot(x - disc.cx.baseVal.value, y - disc.cy.baseVal.value) <
            disc.r.baseVal.value))).length"""
    assert host.locator(".arcs path").count() > 3
    assert host.evaluate(crossed) == 0


def test_the_arcs_of_a_pair_stay_inside_the_drawing(picture):
    host = picture("pair")
    beyond = """host => {
      const { width, height } = host.querySelector(".drawing svg").getBoundingClientRect();
      const boxes = [...host.querySelectorAll(".arcs path")].map((arc) => arc.getBBox());
      return Math.max(...boxes.flatMap((box) =>
        [-box.x, -box.y, box.x + box.width - width, box.y + box.height - height]));
    }"""
    end = host.locator('[data-end="j"]')
    drawn = 0
    for _ in range(int(end.get_attribute("aria-valuemax")) + 1):
        end.press("ArrowRight")
        arcs = host.locator(".arcs path").count()  # none from an atom to itself
        drawn += arcs
        paths = host.locator(".arcs path").evaluate_all(
            "all => all.map((arc) => arc.getAttribute('d'))"
        )
        assert all("L" in path for path in paths)  # a path of one point is none
        assert arcs == 0 or host.evaluate(beyond) < 1
    assert drawn > 100


def test_changing_a_heads_scalars_equals_changing_the_shipped_graphormer(picture):
    """Attention and prediction in the page, with a head's scalars at 0, against PyTorch's."""
    assert pictures.bias()["scalars"] == stored("bias")["scalars"]
    host = picture("bias")
    assert "Guess first" in host.locator(".ask").inner_text()
    host.get_by_role("button", name="about half").press("Enter")
    assert "Right." in host.locator(".ask").inner_text()
    said = host.locator(".said")
    expect(said).to_contain_text("Predicted penalised logP")
    model = copy.deepcopy(load("graphormer-100k/molecules"))
    scalars = model.model.bias.encodings[0].scalars.weight
    smiles = [stored("bias")["molecules"][0]["smiles"]]
    before = model.predict(smiles).item()
    with torch.no_grad():
        scalars[1:, 5] = 0
    after, attention = model.predict(smiles, return_attention=True)
    distance = torch.tensor(stored("bias")["molecules"][0]["distance"]).reshape(13, 13)
    left = attention[0][0, 5, 3][distance[3] == 3].sum()
    assert f"→ {left:.2f}" in said.inner_text()
    assert f"{before:.2f} → {after.item():.2f}" in said.inner_text()
    handle = host.locator(".handle").nth(1)
    handle.press("ArrowUp")
    assert handle.get_attribute("aria-valuenow") == "0.1"
    handle.press("End")
    assert handle.get_attribute("aria-valuenow") == "3.0"
    handle.press("Home")
    assert handle.get_attribute("aria-valuenow") == "-3.0"
    host.get_by_role("button", name="trained").press("Enter")
    assert host.locator(".amount").nth(3).text_content() == "0.59"


def test_a_preset_changes_only_the_head_shown(picture):
    host = picture("bias")
    changed = host.locator("[data-head].changed")
    for head in (2, 6):
        host.locator("[data-head]").nth(head - 1).click()
        host.get_by_role("button", name="all 0").click()
    host.get_by_role("button", name="trained", exact=True).click()
    assert changed.all_inner_texts() == ["2"]
    expect(host.locator(".said")).to_contain_text("Head 2 is changed, too.")
    host.get_by_role("button", name="reset all heads").click()
    assert changed.count() == 0


def test_the_bias_picture_fits_into_a_small_laptops_window(picture, page):
    page.set_viewport_size({"width": 1280, "height": 800})
    host = picture("bias")
    room = 800 - page.locator(".bd-header-article").bounding_box()["height"]
    heights = [host.bounding_box()["height"]]
    host.get_by_role("button", name="nothing").click()
    expect(host.locator(".said")).to_contain_text("Predicted penalised logP")
    for preset in ("all 0", "× 3", "sign flipped", "trained"):
        host.get_by_role("button", name=preset, exact=True).click()
        heights.append(host.bounding_box()["height"])
    assert max(heights) < room
    assert host.locator(".ask .choices").count() == 0


def test_a_dragged_scalar_moves_once_per_frame_until_the_drag_is_cancelled(picture):
    host = picture("bias")
    values = (
        host.locator(".handle")
        .nth(2)
        .evaluate(
            """async (handle) => {
          const { left, top } = handle.getBoundingClientRect();
          const send = (target, type, y) => target.dispatchEvent(
            new PointerEvent(type, { bubbles: true, cancelable: true, clientX: left, clientY: y }));
          const frame = () => new Promise(requestAnimationFrame);
          const seen = [];
          const value = () => seen.push(Number(handle.getAttribute("aria-valuenow")));
          value();
          send(handle, "pointerdown", top);
          for (const away of [10, 20, 30]) send(window, "pointermove", top - away);
          value();
          await frame();
          await frame();
          value();
          send(window, "pointercancel", top);
          send(window, "pointermove", top + 40);
          await frame();
          await frame();
          value();
          return seen;
        }"""
        )
    )
    assert values[1] == values[0]
    assert values[2] > values[1]
    assert values[3] == values[2]


# The right answers, and a number that the verdict gives.
GUESSES = {
    "score": ("only if the query asks for red", "the mean of the same numbers is 4.75"),
    "stack": ("in all three", "4.00 (residuals, post-LN)"),
    "basis": ("the dot product of two nodes’ entries", "0.144 before and 0.144 after"),
    "bias": ("about half of it", "0.95 with ×\u00a03 and 0.09 with"),
    "flip": ("it stays the same", "The sum stays at 0.65"),
    "ink": ("7 layers and 1 layer", "0.125"),
    "forget": ("a value above 0", "It predicts 1.52."),
    "dial": ("only those of the query context", "still gives 0.998 to distance 3"),
    "tour": ("layer 4", "0.75 without layer 4"),
    "transformer": ("cross-attention", "[2, 4, 5, 8]"),
    "pair": ("EGT", "0.107 and 0.011 (EGT)"),
    "metro": ("only the outputs", "at f = 0.5 both grids are the same"),
    "padding": ("38 %", "With 16 buckets, 9 % are padding"),
}


@pytest.mark.parametrize("name", GUESSES)
@pytest.mark.parametrize("guess", ["right", "wrong"])
def test_a_guess_shows_the_right_answer_in_a_picture_that_fits_a_small_laptop(picture, name, guess):
    host = picture(name)
    heights = [host.bounding_box()["height"]]
    right, number = GUESSES[name]
    answers = host.locator("[data-answer]")
    words = answers.all_inner_texts()
    chosen = words.index(right) if guess == "right" else words.index(right) - 1
    answers.nth(chosen).press("Enter")
    said = host.locator(".ask").inner_text()
    assert said.startswith("Right." if guess == "right" else f"Not quite: {right}.")
    assert number in said
    assert answers.count() == 0
    shown = {  # what the picture shows then
        "score": (".said", "Before the swap"),
        "stack": (".which", "after block 12"),
        "basis": (".which", "turned by 60°"),
        "bias": (".of-head", "head 6"),
        "flip": (".said", "at 14 of 14 atoms, and the sum at 0"),
        "ink": (".which", "after 7 layers"),
        "forget": (".said", "Without the ring feature"),
        "dial": (".said", "The dial is set to 6"),
        "tour": ("[data-gate][aria-pressed=true]", "4"),
        "transformer": (".which", "stage 9 of 11"),
        "pair": (".said", "C6 gives C9"),
        "metro": (".which", "f = 0.5"),
        "padding": (".said", "38 % are padding"),
    }
    part, words = shown[name]
    assert words in host.locator(part).inner_text()
    heights.append(host.bounding_box()["height"])
    assert max(heights) <= 752, "800 pixels, without the bar at the top"


@pytest.mark.parametrize(
    ("name", "part", "control"),
    [
        ("basis", ".said .answer", ".ride input"),
        ("forget", ".line .answer text", "[data-state=without]"),
    ],
)
def test_what_a_question_asks_for_is_covered_until_a_guess_or_a_move(picture, name, part, control):
    for reveal in ("[data-answer]", control):
        host = picture(name)
        answer = host.locator(part)
        expect(answer).to_be_hidden()
        assert "covered" in host.locator(".ask").inner_text()
        host.locator(reveal).first.press("ArrowRight" if reveal.endswith("input") else "Enter")
        expect(answer).to_be_visible()


@pytest.mark.parametrize(
    ("name", "control", "about"),
    [
        ("bias", "[data-head='2']", "aspirin, head 6"),
        ("forget", "[data-molecule='1']", "cyclooctyl acetate"),
        ("flip", "[data-column='1']", "caffeine, channel"),
        ("ink", "[data-graph]:not([aria-pressed=true])", "the path"),
        ("metro", "[data-line=EGT]", "the value of the pair"),
    ],
)
def test_a_question_shrinks_to_a_line_when_the_picture_moves_on(picture, name, control, about):
    host = picture(name)
    before = host.locator(".ask").bounding_box()["height"]
    pressed = host.locator(control).first
    pressed.scroll_into_view_if_needed()
    pressed.press("Enter")
    again = host.locator(".ask button")
    assert again.inner_text().startswith(f"Guess about {about}")
    assert host.locator(".ask").bounding_box()["height"] < before / 1.5
    again.press("Enter")
    right, number = GUESSES[name]
    host.get_by_role("button", name=right, exact=True).press("Enter")
    assert number in host.locator(".ask").inner_text()  # about what was asked


@pytest.mark.parametrize("name", PAGES)
def test_each_question_says_what_it_is_about(name):
    code = (CODE / f"{name}.js").read_text(encoding="utf-8")
    assert ("gtcourse.guess(" in code) == ("about:" in code)


def test_a_slider_that_is_moved_stays_in_place_while_the_question_shrinks(picture, page):
    page.set_viewport_size({"width": 1280, "height": 500})
    host = picture("basis")
    slider = host.locator(".ride input")
    slider.scroll_into_view_if_needed()
    page.evaluate("scrollBy(0, 100)")
    before = slider.bounding_box()["y"]
    slider.press("ArrowRight")
    page.evaluate(FRAMES)
    assert host.locator(".ask .again").count() == 1
    assert slider.bounding_box()["y"] == pytest.approx(before, abs=1)


def test_the_tour_opens_at_layer_1_and_counts_the_edges_it_finds(picture):
    host = picture("tour")
    assert host.locator("input").input_value() == "1"
    said = host.locator(".said").inner_text()
    example = stored("tour")["example"]
    n = len(example["places"])
    wanted = {frozenset(edge) for edge in example["tour"]}
    found = {
        frozenset((i, j))
        for i in range(n)
        for j in range(i)
        if example["yes"][i][j] + example["yes"][j][i] > 1
    }
    counts = f"{len(found & wanted)} of {len(wanted)} tour edges, and {len(found - wanted)} wrong"
    assert f"EGT finds {counts}" in said
    assert not re.search(r"\b1 wrong ones", said)
    steps = [host.locator("output").inner_text()]
    for _ in range(4):
        host.locator("input").press("ArrowRight")
        steps.append(host.locator("output").inner_text())
    assert steps == ["layer 1", "layer 2", "layer 3", "layer 4", "answer"]


def test_the_pair_says_which_head_and_which_mean_its_weights_are(picture):
    host = picture("pair")
    labels = host.locator("[data-model='0'] .step span").all_inner_texts()
    assert {"weight, head 3", "mean of all 8", "message, 0 to 5"} <= {*labels}
    host.locator("[data-model='0'] input").press("Home")
    host.locator("[data-end=j]").press("ArrowRight")
    assert host.locator("[data-model='0'] .which").inner_text() == "head 1"  # the reader's
    host.locator("[data-pair=table]").press("Enter")
    assert host.locator("[data-model='0'] .which").inner_text() == "head 7"
    assert "C4 gives C9" in host.locator(".said").inner_text()


def test_two_triangles_and_a_ring_fool_sums_over_neighbours(picture):
    """What chapter 10 asks the reader to draw, and what its folded answer says."""
    host = picture("fool")
    said = host.locator(".said")
    assert "tells these graphs apart" in said.inner_text()
    nodes = host.locator("[data-graph='1'] .dot")
    for i, j in ((0, 2), (2, 4), (0, 4), (1, 3), (3, 5), (1, 5)):
        assert "Fooled." not in said.inner_text()
        nodes.nth(i).press("Enter")
        nodes.nth(j).press("Enter")
    assert "Fooled." in said.inner_text()
    assert host.locator("[data-layer=distances] b").inner_text() == "apart"
    host.locator("[data-empty]").press("Enter")
    assert host.locator(".link").count() == 0
    assert nodes.count() == 6
    assert "the same graph" in said.inner_text()
    nodes.nth(0).press("Enter")
    nodes.nth(2).press("Enter")
    assert host.locator("[data-graph='0'] .link").count() == 0
    assert host.locator("[data-graph='1'] .link").count() == 1


def test_each_layer_but_the_walks_has_a_pair_one_edge_away(picture):
    walks = measurement("blindness")["small"]["views"]["bag of return walks, 8 steps"]
    assert walks["smallest"] is None
    host = picture("fool")
    near = host.locator("[data-near]")
    said = host.locator(".said")
    for layer in stored("fool")["pairs"]:
        host.locator(f"[data-pair={layer}]").press("Enter")
        assert "Fooled." in said.inner_text()
        edges = host.locator(".link").count()
        near.press("Enter")
        assert "With one more edge" in said.inner_text()
        assert host.locator(".link").count() == edges - 1
    host.locator("[data-layer=walks]").press("Enter")
    assert near.is_disabled()


def test_the_means_that_the_pair_names_are_those_of_the_shipped_models(picture):
    """Over all pairs and heads, for atoms one bond and two bonds apart; and no model falls on."""
    new = pictures.pair()
    n = len(new["molecule"]["symbols"])
    graph = nx.Graph((a, b) for a, b, _ in new["molecule"]["bonds"])
    hops = dict(nx.all_pairs_shortest_path_length(graph))
    host = picture("pair")
    host.locator("[data-answer]").first.press("Enter")
    said = host.locator(".ask").inner_text()
    for model in new["models"]:
        packed = np.frombuffer(base64.b64decode(model["weight"]["data"]), dtype="<i2")
        weights = packed.reshape(-1, n, n) * model["weight"]["scale"]
        means = [
            np.mean([weights[:, i, j] for i in range(n) for j in range(n) if hops[i][j] == d])
            for d in range(8)
        ]
        assert f"{means[1]:.3f} and {means[2]:.3f} ({model['name']})" in said
        assert any(here < there for here, there in pairwise(means[2:]))


@pytest.mark.parametrize(("one", "other"), [(4, 11), (11, 4), (0, 6), (6, 0)])
def test_a_press_between_two_cities_drags_the_nearer_one(picture, page, one, other):
    """Their places to touch overlap, and the one on top may be that of the other city."""
    host = picture("tour")
    host.locator("svg").scroll_into_view_if_needed()

    def middle(city: int) -> tuple[float, float]:
        box = host.locator(f".city[data-city='{city}']").bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    (x, y), there = middle(one), middle(other)
    page.mouse.move(x + 0.3 * (there[0] - x), y + 0.3 * (there[1] - y))
    page.mouse.down()
    page.mouse.move(x + 30, y - 20)
    page.evaluate(FRAMES)
    page.mouse.up()
    assert page.evaluate("document.activeElement.dataset.city") == str(one)
    assert middle(one) == pytest.approx((x + 30, y - 20), abs=1)
    assert middle(other) == pytest.approx(there, abs=0.1)


def test_an_end_of_a_pair_is_dragged_to_the_nearest_atom(picture, page):
    host = picture("pair")
    host.locator(".drawing").scroll_into_view_if_needed()
    end = host.locator("[data-end=j]")
    place = host.locator(".disc").nth(1).bounding_box()
    end.locator("circle").hover()
    page.mouse.down()
    page.mouse.move(place["x"] + 4, place["y"] + 4)
    page.evaluate(FRAMES)
    assert end.get_attribute("aria-valuetext") == "C1"
    page.mouse.up()
    page.mouse.move(place["x"] + 200, place["y"])
    page.evaluate(FRAMES)
    assert end.get_attribute("aria-valuetext") == "C1"


@pytest.mark.parametrize(("name", "part"), [("tour", "city"), ("fool", "dot")])
def test_nodes_are_large_enough_to_tap_on_a_phone(picture, page, name, part):
    page.set_viewport_size(PHONE)
    host = picture(name)
    widths = "all => all.map((each) => each.getBoundingClientRect().width)"
    reaches = host.locator(".reach").evaluate_all(widths)
    assert len(reaches) == host.locator(f".{part}").count() > 0
    assert min(reaches) >= 24


@pytest.mark.parametrize("name", ["score", "fool", "tour"])
def test_a_picture_keeps_its_height_when_its_sentence_gets_shorter(picture, page, name):
    """At one width; in a wider window it is as high as it is drawn."""
    page.set_viewport_size(PHONE)
    host = picture(name)
    page.evaluate(FRAMES)
    height = host.bounding_box()["height"]
    host.locator("[role=status]").first.evaluate("line => { line.style.display = 'none'; }")
    page.evaluate(FRAMES)
    assert host.evaluate("host => parseFloat(host.style.minHeight)") > 0
    assert host.bounding_box()["height"] == pytest.approx(height, abs=0.5)
    page.add_style_tag(content=AT_ONCE)
    page.set_viewport_size(WIDE)
    page.evaluate(FRAMES)
    page.evaluate(FRAMES)
    kept = host.bounding_box()["height"]
    host.evaluate("host => { host.style.minHeight = ''; }")
    assert host.bounding_box()["height"] == pytest.approx(kept, abs=0.5)


@pytest.mark.parametrize(("name", "part"), [("flip", ".atom"), ("ink", ".goal")])
def test_a_tap_beside_a_small_node_chooses_it(picture, page, name, part):
    page.set_viewport_size(PHONE)
    host = picture(name)
    nodes = host.locator("svg").first.locator(part)
    node = nodes.nth(3)
    node.scroll_into_view_if_needed()
    box = node.bounding_box()
    others = [each.bounding_box() for each in nodes.all()]
    beside = max(
        (
            (box["x"] + box["width"] / 2 + dx, box["y"] + box["height"] / 2 + dy)
            for dx, dy in ((14, 0), (-14, 0), (0, 14), (0, -14))
        ),
        key=lambda at: min(
            abs(at[0] - o["x"] - o["width"] / 2) + abs(at[1] - o["y"] - o["height"] / 2)
            for o in others
            if o != box
        ),
    )
    page.mouse.click(*beside)
    assert node.get_attribute("aria-pressed") == "true"


def test_moving_a_city_or_closing_gates_changes_the_predicted_tour(picture, page):
    host = picture("tour")
    edges = "svg => [...svg.querySelectorAll('.edge')].map((edge) => edge.outerHTML).join('')"
    before = host.locator("svg").evaluate(edges)
    host.locator(".city").first.press("ArrowRight")
    page.evaluate(FRAMES)  # it is drawn in the next one
    moved = host.locator("svg").evaluate(edges)
    assert moved != before
    assert page.evaluate("document.activeElement.dataset.city") == "0"
    host.get_by_role("button", name="close the gates of layer 1").click()
    assert host.locator("svg").evaluate(edges) != moved


def test_more_buckets_leave_less_padding_and_make_batches_differ_more(picture):
    host = picture("padding")
    said = host.locator("[role=status]")
    shares, ranges = [], []
    for _ in range(5):
        share, low, high = re.search(
            r"(\d+) % are padding\. .* between ([\d.]+) and ([\d.]+)\.$", said.inner_text()
        ).groups()
        shares.append(int(share))
        ranges.append(float(high) - float(low))
        host.locator("[data-slider=buckets]").press("ArrowRight")
    assert shares == [50, 37, 24, 15, 9]  # of 1 to 16 buckets
    assert ranges == sorted(ranges)
    assert f"buckets: {shares[0]} % of the pairs are padding" in SHOWN["padding"]


def test_a_batch_is_chosen_by_key_and_by_pointer(picture, molecules):
    host = picture("padding")
    sizes = torch.tensor(stored("padding")["sizes"])
    loader = DenseLoader(molecules, 64, shuffle=True, seed=0)
    stated = []
    for rows in loader.graphs_of_batches(0):
        n = sizes[rows]
        stored_pairs = len(n) * int(n.max()) ** 2
        share = 1 - int((n**2).sum()) / stored_pairs
        stated.append(f"{stored_pairs:,} pairs. {100 * share:.0f} % are padding.")
    slider = host.locator("[data-slider=at]")
    caption = host.locator(".one figcaption")
    for at in (1, 2):
        slider.press("ArrowRight")
        assert caption.inner_text().startswith(f"Batch {at + 1}: 64 molecules")
        assert any(each in caption.inner_text() for each in stated)
    epoch = host.locator(".epoch")
    epoch.click(position={"x": epoch.bounding_box()["width"] - 4, "y": 150})
    assert caption.inner_text().startswith("Batch 63: 32 molecules")
    assert slider.get_attribute("aria-valuetext") == "batch 63 of 63"
    host.locator("[data-epoch]").press("Enter")
    assert host.locator("[role=status]").inner_text().startswith("Epoch 1: 63 batches")


ARROWS = {
    "bet": ".end",
    "bias": ".drawing .atom",
    "flip": "[data-part=u] .atom",
    "fool": "[data-graph='0'] .dot",
    "forget": ".atom",
    "ink": "[data-head=near] .goal",
    "transformer": ".part",
}


def test_the_pictures_whose_arrow_keys_choose_are_all_here():
    called = {
        name for name in PICTURES if "gtcourse.arrows(" in (CODE / f"{name}.js").read_text("utf-8")
    }
    assert called == set(BY_ARROWS) == {*ARROWS, "pair"}  # an arrow moves an end of the pair


@pytest.mark.parametrize("name", ARROWS)
def test_arrow_keys_go_round_and_home_and_end_to_the_first_and_the_last(picture, page, name):
    host = picture(name)
    things = host.locator(ARROWS[name])
    count = things.count()
    focused = """([things, name]) => [...document.querySelectorAll(`#${name} ${things}`)]
        .sort((one, other) => (one.dataset.stage ?? 0) - (other.dataset.stage ?? 0))
        .indexOf(document.activeElement)"""

    def at():
        return page.evaluate(focused, [ARROWS[name], name])

    host.locator(f"{ARROWS[name]}[tabindex='0']").first.focus()
    steps = {"Home": 0, "ArrowRight": 1, "ArrowLeft": 0, "End": count - 1}
    up = name == "transformer"  # read from bottom to top
    steps |= {"ArrowUp" if up else "ArrowDown": 0}
    for key, expected in steps.items():
        page.keyboard.press(key)
        assert at() == expected, key
    page.keyboard.press("Control+ArrowRight")  # the browser's
    assert at() == 0
    page.keyboard.press("ArrowRight")
    tab_stops = host.locator(f"{ARROWS[name]}[tabindex='0']")
    assert tab_stops.count() == 1
    expect(tab_stops).to_be_focused()


def test_drawing_and_erasing_an_edge_by_keyboard_updates_the_verdicts(picture, page):
    host = picture("fool")
    said = host.locator("[role=status]")
    host.locator("[data-pair]").first.press("Enter")
    assert "Fooled." in said.inner_text()
    first = host.locator("[data-graph='0'] .dot").first
    edges = host.locator("[data-graph='0'] .link")
    before = edges.count()
    for count in (before - 1, before):  # nodes 1 and 2 share an edge
        first.press("Enter")
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        assert edges.count() == count
        assert ("Fooled." in said.inner_text()) == (count == before)


def test_what_stands_below_a_question_does_not_move_up_when_it_is_answered(picture):
    host = picture("forget")
    before = host.locator(".ask").bounding_box()["height"]
    host.locator("[data-answer]").first.press("Enter")
    assert host.locator(".ask").bounding_box()["height"] >= before - 1


def test_the_legend_of_the_tour_names_what_its_lines_are(picture):
    host = picture("tour")
    legend = host.locator(".of-edge")
    layer = host.locator("input")
    assert legend.inner_text().startswith("attention of layer 1")
    layer.press("End")
    assert legend.inner_text().startswith("EGT’s edges")
    assert host.locator("output").inner_text() == "answer"


def test_a_click_where_two_ends_overlap_cuts_the_nearer_one(picture):
    host = picture("bet")
    host.evaluate(
        """host => {
          const [one, other] = host.querySelectorAll(".end");
          const { left, top, width, height } = one.getBoundingClientRect();
          other.dispatchEvent(new MouseEvent("click", { bubbles: true, detail: 1,
            clientX: left + width / 2, clientY: top + height / 2 }));
        }"""
    )
    ends = host.locator(".end")
    assert "fallen" in ends.nth(0).get_attribute("class")
    assert "fallen" not in ends.nth(1).get_attribute("class")


def test_each_column_of_a_pair_marks_its_mean(picture):
    host = picture("pair")
    assert host.locator(".four section .step.mean").count() == 4
