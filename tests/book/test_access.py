"""Where the built pages differ from what a screen reader needs, and how the build repairs it."""

from book._ext.access import accessible


def test_the_empty_corner_of_an_outputs_table_is_no_header():
    table = '<thead><tr><th style="a"></th><th>b</th></tr></thead><th class="head"> </th>'
    assert accessible(table) == (
        '<thead><tr><td style="a"></td><th>b</th></tr></thead><th class="head"> </th>'
    )


def test_the_list_of_pages_is_a_landmark_with_a_name():
    page = '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar">'
    assert 'role="complementary" aria-label="book" class=' in accessible(page)
