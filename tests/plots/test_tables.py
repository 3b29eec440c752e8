from gtcourse import plots


def test_a_table_reads_as_text_and_as_html():
    table = plots.table(["MAE", "paper", "run"], [["a < b", None, 0.12345], ["c", "0.1", 2]])
    assert repr(table).splitlines() == [
        "MAE    paper    run",
        "a < b      —  0.123",
        "c        0.1      2",
    ]
    html = table._repr_html_()
    assert "a &lt; b" in html
    assert ">0.123</td>" in html


def test_a_table_of_formulas_is_markdown_and_not_html():
    table = plots.formula_table(["model", "logit"], [["GIN", "$0$"], ["[a](b.py)", None]])
    assert table._repr_markdown_().splitlines() == [
        "| model | logit |",
        "| --- | --- |",
        "| GIN | $0$ |",
        "| [a](b.py) | — |",
    ]
    assert table._repr_html_ is None
    assert repr(table).startswith("model      logit")


def test_over_seeds_says_how_many():
    assert plots.over_seeds([0.1, 0.2, 0.3]) == "0.200 ± 0.100 (3 seeds)"
    assert plots.over_seeds([0.25]) == "0.250"
