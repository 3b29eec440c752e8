"""Frames with a slider: what they hold, what they must not, and, in a browser, what they do."""

import json
import re
import subprocess

import pytest
from matplotlib import pyplot as plt

from gtcourse import plots
from tools import chromium

BROWSER = chromium.executable()


ALTS = ("flat", "rising", "steep")


def drawings(names=("one", "two", "three"), size=(3, 2), alts=ALTS):
    plots.use_style()
    made = {}
    for height, (name, alt) in enumerate(zip(names, alts, strict=False)):
        figure, ax = plt.subplots(figsize=size)
        ax.plot([0, height])
        made[name] = plots.show(figure, alt, trim=False)
    return made


def page(choice="slope", **options):
    return plots.frames(drawings(), choice=choice, **options).data


def data_of(html):
    """What the script is called with."""
    return json.loads(re.search(r"\((\{\"ink\".*\})\);</script>$", html, re.S)[1])


def test_every_frame_has_its_picture_its_words_and_its_description():
    data = data_of(page())
    assert data["labels"] == ["one", "two", "three"]
    for picture, alt in zip(data["pictures"], ALTS, strict=True):
        assert f"role='img' aria-label='{alt}'" in picture
    assert len(set(data["pictures"])) == 3
    assert not plt.get_fignums()


def test_all_frames_are_of_one_size():
    boxes = {re.search(r"viewBox='([^']*)'", picture)[1] for picture in data_of(page())["pictures"]}
    assert boxes == {"0 0 216 144"}


def test_nothing_is_loaded_and_no_name_is_global():
    html = page()
    script = html[html.index("<script>") : html.index('({"ink"')]
    assert not re.search(r"fetch|import|require|XMLHttp|src=|url\(|https?:", script)
    assert re.sub(r"//.*\n", "", script.removeprefix("<script>")).lstrip().startswith("(function")


def test_words_are_text_and_not_markup():
    mean = '</script><!--<script><b>"&\u2028'
    html = plots.frames(drawings((mean, "two"), alts=[mean, "b"]), choice=mean).data
    still, script = html.split("<script>", 1)
    assert script.count("</script>") == 1
    assert "<!--" not in script
    assert "<b>" not in still
    assert data_of(html)["labels"][0] == mean


def test_without_scripts_the_frame_it_starts_with_is_seen():
    still = page(start=1).split("<script>")[0]
    assert "aria-label='rising'" in still
    assert "two. With scripts, slope can be chosen here." in still
    assert "aria-label='flat'" not in still


def test_the_same_figures_give_the_same_bytes_and_others_another_key():
    assert page() == page()
    assert data_of(page())["key"] != data_of(page(choice="other"))["key"]


def test_what_does_not_fit_is_refused_in_a_sentence():
    sizes = drawings(("one",)) | drawings(("two",), size=(4, 2))
    for pictures, options, words in (
        (drawings(("one",)), {}, "1 picture is too few for a slider; expected two or more"),
        (drawings(), {"start": 3}, "start is 3; expected 0 to 2"),
        (sizes, {}, "several sizes"),
    ):
        with pytest.raises(ValueError, match=words):
            plots.frames(pictures, choice="x", **options)


def test_more_than_a_phone_should_load_is_refused():
    figure, ax = plt.subplots(figsize=(3, 2))
    ax.scatter(range(10_000), [i * i % 997 for i in range(10_000)])
    pictures = drawings(("one",)) | {"two": plots.show(figure, "many dots", trim=False)}
    with pytest.raises(ValueError, match="expected 400 at most"):
        plots.frames(pictures, choice="x")


def test_molecules_can_be_frames():
    pictures = {
        smiles: plots.molecules(["CCO"], values=[[x, 0, 1]], limits=(0, 1), alt=f"{x} of one")
        for smiles, x in (("a", 0.0), ("b", 0.5))
    }
    data = data_of(plots.frames(pictures, choice="share").data)
    assert ["0.5 of one" in picture for picture in data["pictures"]] == [False, True]


def in_browser(tmp_path, body, *flags):
    path = tmp_path / "page.html"
    path.write_text(f"<!doctype html><meta charset=utf-8><body>{body}")
    return subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000",
         *flags, "--dump-dom", path.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    ).stdout  # fmt: skip


ACT = """<script>
  const [first, second] = [...document.querySelectorAll("[data-frames]")].map((h) => h.shadowRoot);
  const seen = (root) => root.querySelector("output").textContent + ", " +
    root.querySelector(".frames-stage svg").getAttribute("aria-label");
  const range = first.querySelector("input");
  const note = document.body.dataset;
  note.before = seen(first);
  range.value = 2;
  range.dispatchEvent(new Event("input"));
  note.after = seen(first);
  note.heard = range.getAttribute("aria-valuetext");
  note.second = seen(second);
  const button = second.querySelector("button");
  note.button = button ? button.textContent : "none";
  if (button) {
    button.click();
    note.playing = button.textContent;
    setTimeout(() => { note.end = `${seen(second)}, ${button.textContent}`; }, 1000);
  }
</script>"""


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_in_a_browser_the_slider_chooses_and_the_button_plays_to_the_end(tmp_path):
    dom = in_browser(tmp_path, page() + page(seconds=0.1) + ACT)
    said = dict(re.findall(r'data-(\w+)="([^"]*)"', re.search(r"<body[^>]*>", dom)[0]))
    assert said["before"] == "one, flat"
    assert said["after"] == "three, steep"
    assert said["heard"] == "three"
    assert said["second"] == "one, flat"
    assert (said["button"], said["playing"]) == ("Play", "Pause")
    assert said["end"] == "three, steep, Play"


@pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")
def test_in_a_browser_nothing_plays_for_who_wants_less_motion(tmp_path):
    dom = in_browser(tmp_path, page() + page(seconds=0.1) + ACT, "--force-prefers-reduced-motion")
    assert 'data-button="none"' in re.search(r"<body[^>]*>", dom)[0]
