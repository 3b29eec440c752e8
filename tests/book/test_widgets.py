"""Widgets of stored outputs are drawn by today's scripts, which stand beside the page."""

from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.utils import new_document

from book._ext import widgets
from gtcourse.course.plots import interactive
from tests.course.plots.test_interactive import attention, calculator, heads, signs

WIDGETS = {"attention": attention, "calculator": calculator, "heads": heads, "signs": signs}


@pytest.fixture
def warnings(monkeypatch):
    """The pages that the extension has warned of."""
    pages = []

    def warn(message: str, location: str) -> None:
        pages.append(location)

    monkeypatch.setattr(widgets, "logger", SimpleNamespace(warning=warn))
    return pages


def separated(folder, html: str) -> str:
    """What a page has in the place of an output."""
    document = new_document("page")
    document += nodes.raw(html, html, format="html")
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=folder)
    widgets.separate(app, document, "page")
    return document[0].astext()


def stored_and_expected(kind: str, name: str) -> tuple[str, str, str, str]:
    """A widget with a former script, what the page has for it, its key, and today's script."""
    still, script = WIDGETS[kind](name).data.removesuffix("</script>").split("<script>")
    call = script[script.rindex('({"ink"') :]
    stored = f"{still}<script>(function () {{}}){call}</script>"
    key = still.split(f'data-{kind}="')[1].split('"')[0]
    place = still.replace(">", f' data-script="../_static/widgets/{key}.js">', 1)
    return stored, place, key, script


@pytest.mark.parametrize("kind", WIDGETS)
def test_a_widget_leaves_its_still_picture_in_the_page_and_its_script_beside_it(
    warnings, tmp_path, kind
):
    stored, place, key, script = stored_and_expected(kind, "one")
    assert separated(tmp_path, stored) == place
    assert (tmp_path / f"_static/widgets/{key}.js").read_text() == script
    assert script.startswith(interactive.code(kind))
    assert not warnings


def test_the_book_knows_every_kind_of_widget_that_the_package_writes():
    assert widgets.KINDS.split("|") == [*interactive.KINDS]
    assert [*WIDGETS] == [*interactive.KINDS]


def test_a_widget_of_an_unknown_kind_raises():
    with pytest.raises(ValueError, match="'maps' is no kind of widget; expected one of attention"):
        interactive._html("maps", {}, "")


@pytest.mark.parametrize("kinds", [("attention", "attention"), ("signs", "calculator")])
def test_two_widgets_of_an_output_have_a_script_each(warnings, tmp_path, kinds):
    both = [stored_and_expected(kind, name) for kind, name in zip(kinds, "ab", strict=True)]
    html = "<p>between</p>".join(stored for stored, *_ in both)
    expected = "<p>between</p>".join(place for _, place, *_ in both)
    assert separated(tmp_path, html) == expected
    for *_, key, script in both:
        assert (tmp_path / f"_static/widgets/{key}.js").read_text() == script
    assert not warnings


def test_a_widget_of_another_form_stays_and_is_warned_of(warnings, tmp_path):
    stored, *_ = stored_and_expected("signs", "one")
    other = stored.replace('({"ink"', '({"page"')
    assert separated(tmp_path, other) == other
    assert warnings == ["page"]
    readable, place, *_ = stored_and_expected("attention", "two")
    assert separated(tmp_path, other + readable) == other + place
    assert warnings == ["page", "page"]


def test_other_outputs_stay_in_the_page(warnings, tmp_path):
    html = "<p>no widget</p><script>draw()</script>"
    assert separated(tmp_path, html) == html
    assert not [*tmp_path.iterdir()]
    assert not warnings


def test_scripts_that_no_page_loads_any_more_are_removed(tmp_path):
    stored, place, key, _ = stored_and_expected("attention", "one")
    separated(tmp_path, stored)
    former = tmp_path / "_static/widgets/0123456789ab.js"
    former.write_text("")
    (tmp_path / "page.html").write_text(place)
    app = SimpleNamespace(builder=SimpleNamespace(format="html"), outdir=tmp_path)
    widgets.remove_stale(app, None)
    assert [path.stem for path in former.parent.iterdir()] == [key]
