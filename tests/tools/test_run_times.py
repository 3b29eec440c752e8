import pytest

from tools import run_times


def test_the_tables_say_what_was_measured():
    assert [path.name for path, old, new in run_times.tables() if old != new] == []


def test_times_are_written_for_people():
    times = {"a": {"cpu": {"seconds": 34, "peak_memory_mb": 660}}}
    assert run_times.measured("a", times) == ("34 s", "0.7 GB")
    times["a"]["cpu"]["seconds"] = 164
    assert run_times.measured("a", times)[0] == "2 min 44 s"
    assert run_times.measured("b", times) == ("not measured", "not measured")


def test_an_old_table_is_replaced_and_a_page_without_a_place_is_refused():
    page = f"x\n{run_times.BEGIN}\nold\n{run_times.END}\ny"
    new = run_times.with_table(page, "| new |")
    assert "old" not in new
    assert "| new |" in new
    assert new.startswith("x")
    assert new.endswith("y")
    with pytest.raises(ValueError, match="no place"):
        run_times.with_table("x", "| new |")


def test_the_card_of_a_chapter_says_the_measured_time_and_keeps_what_is_said_of_a_gpu():
    card = "| You need | x |\n| Takes | about a minute; on a T4: not measured yet |\n| Run it | y |"
    assert run_times.with_card(card, "71 s").splitlines() == [
        "| You need | x |",
        "| Takes | 71 s on one CPU thread; on a T4: not measured yet |",
        "| Run it | y |",
    ]
    assert run_times.with_card("no card", "71 s") == "no card"
