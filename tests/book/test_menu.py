"""The list of pages made of titles is the one that Sphinx makes of whole tables of contents."""

import pytest
from sphinx.application import Sphinx

TEXTS = {
    "index": """Book
====

.. toctree::
   :hidden:
   :caption: Part

   one
   folder/two
""",
    "one": """One
===

A section
---------

A part of it
~~~~~~~~~~~~

Another section
---------------

.. toctree::

   three
""",
    "three": "Three\n=====\n\nA section\n---------\n",
    "folder/two": "Two\n===\n",
}
OPTIONS = {"titles_only": True, "includehidden": True, "maxdepth": 4, "collapse": False}


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    """For each page two lists with the extension, Sphinx's own two, and one that has sections."""
    source = tmp_path_factory.mktemp("source")
    for name, text in TEXTS.items():
        path = source / f"{name}.rst"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    out = tmp_path_factory.mktemp("out")
    away = {"folder/away": "page.html"}  # a page that is in no list
    settings = {"extensions": ["menu"], "html_theme": "basic", "html_additional_pages": away}
    app = Sphinx(source, None, out, out, "html", settings, status=None, freshenv=True)
    found = {}

    def compare(app, page, template, context, doctree) -> None:
        both = OPTIONS, {**OPTIONS, "maxdepth": 1}
        found[page] = (
            [context["toctree"](**options) for options in both],
            [app.builder._get_local_toctree(page, **options) for options in both],
            context["toctree"](**{**OPTIONS, "titles_only": False}),
        )

    app.connect("html-page-context", compare, priority=900)
    app.build()
    return found


def test_the_list_of_pages_is_the_one_that_sphinx_makes(lists):
    assert {*lists} >= {*TEXTS, "genindex", "search", "folder/away"}
    for page, (ours, of_sphinx, _) in lists.items():
        assert ours == of_sphinx, page
        assert [each.count("<li") for each in ours] == [3, 2]
    # A page is marked in its own, and the addresses are those from its folder.
    assert len({ours[0] for ours, *_ in lists.values()}) == len(TEXTS) + 1


def test_a_list_with_sections_still_has_them(lists):
    for page, (*_, whole) in lists.items():
        assert whole.count("<li") == 7, page
