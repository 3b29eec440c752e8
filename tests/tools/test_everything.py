from tools import everything


def test_one_failing_part_fails_the_whole_and_the_rest_still_runs(monkeypatch, capsys):
    ran = []

    def run(part):
        ran.append(part)
        return (0, 1) if part == "checks" else (2, 0)

    monkeypatch.setattr(everything, "run", run)
    assert everything.main() == 1
    assert ran == everything.PARTS
    assert capsys.readouterr().out.splitlines()[-1] == "10 passed, 1 failed in 0.0 minutes"
