"""Times of pages; how long is not a matter of tests, but what is measured is."""

import pytest

from benchmarks import pages
from tools.chromium import why_not

PAGE = """<!doctype html><title>A page</title><p>words</p><script>
window.bookReady = new Promise((done) => setTimeout(() => {
  performance.mark("formulas in sight");
  setTimeout(done, 50);
}, 200));
</script>"""


@pytest.fixture
def built(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "HTML", tmp_path)
    (tmp_path / "book").mkdir()
    path = tmp_path / "book" / "page.html"
    path.write_text(PAGE)
    return path


@pytest.mark.skipif(why_not() is not None, reason=str(why_not()))
def test_a_page_answers_when_its_formulas_in_sight_stand(built):
    content = pages.measure(2, pages.pages())
    (row,) = content["rows"]
    assert row["page"] == content["slowest"] == "book/page"
    assert row["parsed"]["ms"] < row["answers"]["ms"] < row["complete"]["ms"]
    assert row["answers"]["ms"] >= 200
    assert content["versions"]["chromium"]


def test_without_a_book_a_sentence_says_how_to_build_it(tmp_path, monkeypatch):
    monkeypatch.setattr(pages, "HTML", tmp_path)
    with pytest.raises(SystemExit, match="make book"):
        pages.pages()


def test_medians_and_quartiles_are_those_of_the_rounds(built):
    taken = [{"answers": float(ms)} for ms in (100, 300, 200, 400, 500)]
    assert pages.row(built, taken)["answers"] == {"ms": 300.0, "quartiles": [200.0, 400.0]}
