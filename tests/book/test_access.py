"""Where the built pages differ from what a screen reader needs, and how the build repairs it."""

from book._ext.access import accessible


def test_the_empty_corner_of_an_outputs_table_is_no_header():
    table = '<thead><tr><th style="a"></th><th>b</th></tr></thead><th class="head"> </th>'
    assert accessible(table) == (
        '<thead><tr><td style="a"></td><th>b</th></tr></thead><th class="head"> </th>'
    )


def test_an_empty_header_beside_others_in_a_table_of_the_text_is_a_cell():
    row = '<tr class="row-odd"><th class="head"><p></p></th><th class="head"><p>b</p></th></tr>'
    assert accessible(row).count("<th") == 1
    assert '<td class="head"></td>' in accessible(row)
    hidden = '<tr class="row-odd"><th class="head"><p></p></th><th class="head"><p></p></th></tr>'
    assert accessible(hidden) == hidden


def test_a_mean_and_its_deviation_stay_in_one_line_of_a_table():
    page = "<p>0.2 ± 0.1</p><table><tr><td>0.2 ± 0.1 (3 seeds)</td></tr></table>"
    assert accessible(page) == page.replace("<td>0.2 ± 0.1", "<td>0.2\u00a0±\u00a00.1")


def test_the_title_for_paper_is_no_second_heading():
    page = '<div id="jb-print-docs-body" class="onlyprint">\n <h1>01 A</h1></div><h1>01 A</h1>'
    assert accessible(page).count("<h1>") == 1
    assert '<p class="printed-title">01 A</p>' in accessible(page)


def test_the_list_of_pages_is_a_landmark_with_a_name():
    page = '<div id="pst-primary-sidebar" class="bd-sidebar-primary bd-sidebar">'
    assert 'role="complementary" aria-label="book" class=' in accessible(page)
