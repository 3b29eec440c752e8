"""The pictures to play with: data and answers, by pointer, by key and without scripts."""

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
from playwright.sync_api import expect

from book._ext.pictures import PICTURES
from experiments import pictures
from gtcourse.course import blindness, explorer
from gtcourse.course.exercises.chapter10 import SPECIAL_CASES
from gtcourse.models import Transformer, TransformerConfig, causal_mask
from gtcourse.models.attention import scaled_dot_product_attention
from gtcourse.predict import load
from tests.browser.visit import AT_ONCE, FRAMES, SMALL
from tools.chromium import PHONE
from tools.paths import ROOT

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


def test_the_metro_shows_what_the_general_form_computes():
    new = pictures.metro()
    old = stored("metro")
    assert new["atoms"] == old["atoms"]
    assert numbers(new["legs"]) == pytest.approx(numbers(old["legs"]), rel=0.1, abs=1e-13)
    for leg in old["legs"].values():
        assert leg["gaps"][0] > 0.1
        assert leg["gaps"][-1] < 1e-10


def test_the_metro_rides_only_where_a_containment_is_tested():
    code = (CODE / "metro.js").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in re.findall(r"^    [A-Z]+: (\[\[.*\]\]),$", code, re.M)]
    tested = {(case.general, case.special) for case in SPECIAL_CASES}
    assert {line[0][0] for line in lines} == {"CSA", "GRPE", "EGT"}
    for line in lines:
        assert {*pairwise(station for station, *_ in line)} <= tested


def test_the_weights_of_the_pair_are_those_of_the_shipped_models():
    new = pictures.pair()
    assert new["molecule"] == stored("pair")["molecule"]
    for here, there in zip(new["models"], stored("pair")["models"], strict=True):
        assert here["weight"]["scale"] == pytest.approx(there["weight"]["scale"], rel=1e-4)
        assert [words for words, _ in here["terms"]] == [words for words, _ in there["terms"]]


def test_the_bet_has_the_cuts_of_chapter_11():
    data = stored("bet")
    assert data["cuts"] == 156
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
    assert right == {"attended": 17, "gradient": 15, "edit": 19, "table": 22}


LAYERS = {
    "mean": blindness.VIEWS["GAT"],
    "once": replace(blindness.VIEWS["1-WL"], rounds=1),
    "sum": blindness.VIEWS["1-WL"],
    "distances": blindness.VIEWS["distances"],
    "walks": blindness.VIEWS["bag of return walks, 8 steps"],
}


def test_the_page_sees_of_small_graphs_what_the_views_of_chapter_10_see(page):
    """All connected graphs of up to 5 nodes, and the pairs that the picture starts from."""
    data = stored("fool")
    assert data == json.loads(pictures.text(pictures.fool()))
    graphs = [
        {"n": len(graph.atoms), "edges": np.argwhere(np.triu(graph.adjacency)).tolist()}
        for graph in blindness.connected_graphs(5)
    ]
    graphs += [graph for pair in data["pairs"].values() for graph in pair]
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


def test_egt_in_the_page_is_the_model_that_was_trained(page):
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


@pytest.fixture
def computed(page):
    """What a picture's script computes, for an expression of ``gtcourse.pictures``."""

    def run(name, expression, argument=None):
        shared = "".join(explorer.script(f"explainer/{part}") for part in ("layers", "colors"))
        code = (CODE / f"{name}.js").read_text("utf-8").strip()
        page.set_content(f"<script>{shared}{code}({json.dumps(stored(name))});</script>")
        return page.evaluate(expression, argument)

    return run


@pytest.mark.parametrize("name", ["score", "stack", "transformer", "ink", "basis"])
def test_the_data_of_a_picture_are_those_that_are_stored(name):
    assert json.loads(pictures.text(pictures.DATA[name]())) == stored(name)


def test_the_weights_of_moved_scores_are_those_of_attention_with_colours_as_keys(computed):
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


@pytest.mark.parametrize("layers", [0, 1, 3, 16])
def test_ink_spreads_as_the_powers_of_the_heads_means(computed, layers):
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
def test_a_stack_in_the_page_computes_what_pytorch_does(computed, kind, alone):
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


def test_the_shapes_in_the_picture_of_the_transformer_are_those_of_the_package(computed):
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
def test_every_turned_basis_of_the_picture_is_one_of_the_rings_eigenvectors(
    computed, degrees, flipped
):
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


@pytest.fixture(scope="module")
def without_scripts(browser):
    page = browser.new_page(java_script_enabled=False)
    yield page
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_picture_is_light_and_has_without_scripts_a_still_and_a_sentence(
    without_scripts, book, name
):
    page = without_scripts
    page.goto(f"{book}/{PAGES[name]}.html")
    assert page.locator(f"#{name} p").inner_text().startswith("With scripts")
    assert page.locator(f"#{name} img").evaluate("image => image.naturalWidth") > 300
    files = (f"pictures/{name}.data.js", f"stills/{name}.webp")
    assert sum(len(page.request.get(f"{book}/_static/{file}").body()) for file in files) < 150_000


@pytest.fixture
def picture(page, book, errors):

    def opened(name):
        page.goto(f"{book}/{PAGES[name]}.html", wait_until="domcontentloaded")
        host = page.locator(f"#{name}")
        host.locator("[role=status]").wait_for()
        page.evaluate(FRAMES)  # until it has been drawn in its width
        return host

    return opened


@pytest.mark.parametrize("name", PAGES)
def test_no_label_of_a_picture_is_smaller_than_11_pixels(picture, page, name):
    """Drawn on a phone, and again in a window that has become wide."""
    page.set_viewport_size({"width": PHONE["width"], "height": 900})
    host = picture(name)
    assert host.evaluate(SMALL) == []
    page.add_style_tag(content=AT_ONCE)
    page.set_viewport_size({"width": 1440, "height": 900})
    page.evaluate(FRAMES)
    assert host.evaluate(SMALL) == []


def test_a_score_moves_by_key_and_a_swap_of_values_shows_only_where_a_query_asks(picture):
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


def test_ink_is_dropped_by_key_and_reaches_one_hop_more_with_each_layer(picture):
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


def test_a_stack_without_residuals_loses_what_sets_its_tokens_apart(picture):
    host = picture("stack")
    said = host.locator("[role=status]")
    assert host.locator(".later canvas").count() == 4 * 12  # to be guessed
    host.locator("input").press("End")
    assert host.locator(".later canvas").count() == 0
    assert "nearly the same vector" in said.inner_text()
    lengths = [host.locator(f"[data-length={kind}]").inner_text() for kind in ("post", "pre")]
    assert lengths[0] == "4.00" != lengths[1]
    for name in ("residuals", "residuals, post-LN", "residuals, pre-LN"):
        host.get_by_role("button", name=name, exact=True).press("Enter")
        assert "nearly the same vector" not in said.inner_text()
    host.get_by_role("button", name="start again").press("Enter")
    assert "At the input" in said.inner_text()
    first = host.locator("canvas").nth(3).evaluate("canvas => canvas.toDataURL()")
    host.get_by_role("button", name="new random weights").press("Enter")
    assert host.locator("canvas").nth(3).evaluate("canvas => canvas.toDataURL()") != first


def test_the_transformer_is_followed_by_key_and_its_norms_leave_the_stream(picture, page):
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
def test_the_slider_and_the_part_that_it_marks_are_in_view(picture, page, size):
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


def test_a_turned_basis_changes_the_entries_and_not_the_projector(picture):
    host = picture("basis")
    said = host.locator("[role=status] b")
    before = said.all_inner_texts()
    host.locator("input").press("ArrowRight")
    turned = said.all_inner_texts()
    host.get_by_role("button", name="flip").press("Enter")
    flipped = said.all_inner_texts()
    assert before[2] == turned[2] == flipped[2] == "0.144"
    assert len({tuple(each[:2]) for each in (before, turned, flipped)}) == 3


def test_a_bet_by_key_is_answered_by_the_exact_change(picture, page):
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


def test_nothing_moves_after_a_bet_and_a_finger_finds_each_end_on_a_phone(picture, page):
    page.set_viewport_size(PHONE)
    host = picture("bet")
    height = host.bounding_box()["height"]
    ends = host.locator(".end")
    widths = "all => all.map((end) => end.getBoundingClientRect().width)"
    for molecule in stored("bet")["molecules"]:
        found = ends.evaluate_all(widths)
        assert len(found) == len(molecule["atoms"])
        assert min(found) >= 24
        ends.first.press("Enter")
        assert host.bounding_box()["height"] == height
        if host.locator("[data-next]").is_enabled():
            host.locator("[data-next]").click()
    assert host.locator("[data-next]").is_disabled()


def test_the_train_arrives_with_only_a_rounding_error(picture, page):
    host = picture("metro")
    opaque = """canvas => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        return data.filter((_, at) => at % 4 === 3).reduce((sum, alpha) => sum + alpha / 255, 0);
    }"""
    row = stored("metro")["legs"]["channels"]["weights"][0]
    shown = sum(min(1, weight / 100 * len(row[0]) / 4) for weight in numbers(row))
    assert host.locator("canvas").evaluate(opaque) == pytest.approx(shown, abs=1)
    train = host.locator("input")
    train.press("End")
    assert "Graphormer → Transformer" in host.locator("[role=status]").inner_text()
    assert "gap to Transformer is 0" in host.locator("[role=status]").inner_text()
    host.get_by_role("button", name="from EGT").click()
    assert "EGT → EGT-U: the gates open" in host.locator("[role=status]").inner_text()
    host.get_by_role("button", name="from GRPE").click()
    assert "GRPE → bias + value: the contexts" in host.locator("[role=status]").inner_text()


def test_the_ends_of_a_pair_move_by_key(picture, page):
    host = picture("pair")
    before = host.locator("[role=status]").inner_text()
    host.locator("[data-end=j]").press("ArrowRight")
    assert host.locator("[role=status]").inner_text() != before
    assert host.locator(".four section").count() == 4


def test_no_arc_of_a_pair_crosses_another_atom(picture):
    host = picture("pair")
    crossed = """host => [...host.querySelectorAll(".arcs path")].flatMap((arc) =>
      [...host.querySelectorAll(".disc")].filter((disc, atom) => ![4, 9].includes(atom) &&
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
        assert arcs == 0 or host.evaluate(beyond) < 1
    assert drawn > 100


def test_the_scalars_of_a_head_are_those_of_the_shipped_graphormer(picture):
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


def test_a_preset_changes_the_shown_head_alone(picture):
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


def test_shape_a_head_fits_into_a_small_laptops_window(picture, page):
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


def test_a_dragged_scalar_moves_once_a_frame_and_stops_where_the_drag_is_cancelled(picture):
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
    "stack": ("in the three with residuals", "4.00 (residuals, post-LN)"),
    "basis": ("the dot product of two nodes’ entries", "0.144 before and 0.144 after"),
    "bias": ("about half of it", "0.28 of 0.59"),
    "ink": ("7 layers and 1 layer", "0.125"),
    "tour": ("layer 4", "0.75 without layer 4"),
}


@pytest.mark.parametrize("name", GUESSES)
@pytest.mark.parametrize("guess", ["right", "wrong"])
def test_a_guess_is_answered_by_what_is_true(picture, name, guess):
    host = picture(name)
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
        "ink": (".which", "after 7 layers"),
        "tour": ("[data-gate][aria-pressed=true]", "4"),
    }
    part, words = shown[name]
    assert words in host.locator(part).inner_text()


@pytest.mark.parametrize(("name", "part"), [("tour", "city"), ("fool", "dot")])
def test_a_finger_finds_each_node_on_a_phone(picture, page, name, part):
    page.set_viewport_size(PHONE)
    host = picture(name)
    widths = "all => all.map((each) => each.getBoundingClientRect().width)"
    reaches = host.locator(".reach").evaluate_all(widths)
    assert len(reaches) == host.locator(f".{part}").count() > 0
    assert min(reaches) >= 24


def test_a_city_moves_by_key_and_a_closed_gate_changes_the_answer(picture, page):
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


def test_an_edge_is_drawn_and_erased_by_key_and_the_verdicts_follow(picture, page):
    host = picture("fool")
    said = host.locator("[role=status]")
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
