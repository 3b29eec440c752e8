from tools import everything

REPORT = '<testsuites><testsuite tests="7" skipped="1" failures="2" errors="1"/></testsuites>'


def test_a_report_is_counted(tmp_path):
    report = tmp_path / "r.xml"
    assert everything.counts(report) is None
    report.write_text(REPORT)
    assert everything.counts(report) == (3, 3)


def test_one_failing_part_fails_the_whole_and_the_rest_still_runs(monkeypatch, capsys):
    ran = []

    def run(part):
        ran.append(part)
        return (0, 1) if part == "checks" else (2, 0)

    monkeypatch.setattr(everything, "run", run)
    assert everything.main() == 1
    assert ran == everything.PARTS
    assert capsys.readouterr().out.splitlines()[-1] == "10 passed, 1 failed in 0.0 minutes"
